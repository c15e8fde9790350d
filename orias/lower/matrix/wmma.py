"""wmma: loads and stores of fragments, and products.

Fragments have the register layout of ptxas 13.0.88, so that objects of both compilers agree.  (The layout was found by
running ptxas's loads in the simulator on matrices of marked elements.)  A fragment of A or B consists of blocks of 8
rows (columns of B) and 16 bytes (f64: 32) of k, one register each: lane l holds the elements of row l / 4 from byte 4 *
(l % 4) on.  An accumulator consists of blocks of 8x8: lane l holds two adjacent elements of row l / 4 from column 2 *
(l % 4) on.  m8n32 computes the transposed product, and its accumulators are transposed, except for integers on sm_75.
"""

from typing import Final

from orias.isa.operand import K_NONE, NOT_PT, RZ, URZ, Opnd, imm, imm_value, is_imm, with_pair_lane, word
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.mma import CLASS, Product, multiply, narrowed, widened
from orias.lower.memory.memory_operands import address, elements, space_of
from orias.ptx.ast import TYPE_BITS, Instr, Operand
from orias.ptx.wmma_checks import shape_numbers

_OUTER_FIRST: Final = ((0, 0), (1, 0), (0, 1), (1, 1))
"""Blocks (outer, k) of 16 rows, in the register order of the first source of a product."""
_MAX_OFFSET: Final = 1 << 22


def _blocks(m: int, n: int, k: int, which: str, type_: str) -> list[tuple[int, int]]:
    """The blocks (outer, k) of a fragment of A or B, in the order of its registers."""
    outer = m if which == "a" else n
    deep = 2 if type_ in ("f16", "bf16", "tf32") else 1
    if deep == 1:
        return [(o, 0) for o in range(outer // 8)]
    first = outer == 32 or (outer == 16 and which == "a")
    if first:
        return [(o + 2 * t, b) for t in range(outer // 16) for o, b in _OUTER_FIRST]
    return [(o, b) for o in range(outer // 8) for b in (0, 1)]


def _accumulator_blocks(m: int, n: int) -> list[tuple[int, int]]:
    """The blocks (row, column) of an accumulator, in the order of its registers."""
    if m == 16:
        return [(0, 0), (1, 0), (0, 1), (1, 1)]
    return [(o, 0) for o in range(m // 8)] if n == 8 else [(0, o) for o in range(n // 8)]


class _Place:
    """Addresses of the elements of a lane; :meth:`at` adds the offset of a block to the lane's own coordinates.

    ``contiguous`` and ``strided`` are the lane's coordinates along the two directions of the matrix, in elements.
    """

    def __init__(self, ctx: Ctx, o: Operand, i: Instr, ld: Opnd, bits: int, contiguous: Opnd, strided: Opnd) -> None:
        self.ctx = ctx
        space = space_of(i.sig)
        self.space: str = space
        self.shared: bool = space == "shared"
        group = address(ctx, o, space)
        self.offset: int = imm_value(group[3])
        self.bits: int = bits
        self.ld: Opnd = ld
        b = ctx.b
        base = group[1]
        width = 1 if self.shared else 2
        if base == RZ:
            base = b.copy(imm(0), width)
        size = max(1, bits // 8)
        if bits < 8:
            per = 8 // bits
            self.ld = (
                imm(imm_value(ld) // per) if is_imm(ld) else b.r("SHF.R.U32.HI", RZ, imm(per.bit_length() - 1), ld)
            )
        if contiguous != RZ:
            base = self._add(base, contiguous, imm(size))
        self.base: Opnd = self._add(base, self._scaled(strided, size), self.ld)
        self.size: int = size
        self.rows: dict[int, Opnd] = {0: self.base}

    def _scaled(self, value: Opnd, size: int) -> Opnd:
        return value if size == 1 else self.ctx.b.r("SHF.L.U32", value, imm(size.bit_length() - 1), RZ)

    def _add(self, base: Opnd, x: Opnd, y: Opnd) -> Opnd:
        """base + x * y, where x and y are unsigned words."""
        if self.shared:
            return self.ctx.b.r("IMAD", x, y, base)
        return self.ctx.b.r("IMAD.WIDE.U32", x, y, base, width=2)

    def at(self, strided: int, contiguous: int) -> list[Opnd]:
        """The address group of the element `strided` and `contiguous` elements after the lane's first one."""
        offset = self.offset + contiguous * self.bits // 8
        if is_imm(self.ld):
            offset += strided * self.size * imm_value(self.ld)
            strided = 0
            if offset > _MAX_OFFSET:
                return [K_NONE, self._add(self.base, imm(offset), imm(1)), URZ, imm(0)]
        base = self.rows.get(strided)
        if base is None:
            base = self._add(self.base, self.ld, imm(strided * self.size))
            self.rows[strided] = base
        return [K_NONE, base, URZ, imm(offset)]


def _lane_part(ctx: Ctx, shift: int, mask: int) -> Opnd:
    """``lane >> shift & mask`` (`mask` -1: no mask)."""
    b = ctx.b
    value = b.r("S2R", word("SR_LANEID"))
    if shift:
        value = b.r("SHF.R.U32.HI", RZ, imm(shift), value)
    return b.r("LOP3.LUT", value, imm(mask), RZ, imm(0xC0), NOT_PT) if mask >= 0 else value


def _load_name(ctx: Ctx, place: _Place, size: str) -> str:
    if place.shared:
        return ctx.target.spelling("shared_load") + size
    name = "LDG.E" if place.space == "global" else "LD.E"
    return name + size + ctx.target.spelling("system_scope")


def _load(ctx: Ctx, place: _Place, size: str, where: list[Opnd], width: int) -> Opnd:
    d = ctx.fn.new_vreg(width=width)
    ctx.b.emit(_load_name(ctx, place, size), [d], where, ctx.guard)
    return d


def _stride(ctx: Ctx, i: Instr, at: int, default: int) -> Opnd:
    return ctx.src(i.ops[at], "u32") if len(i.ops) > at else imm(default)


def _transposed(ctx: Ctx, value: Opnd) -> Opnd:
    d = ctx.fn.new_vreg()
    ctx.b.emit("MOVM.16.MT88", [d], [value], ctx.guard)
    return d


@lowers("wmma.load", types="any")
def lower_wmma_load(ctx: Ctx, i: Instr) -> None:
    """wmma.load.a, .b and .c."""
    which = i.sig.mods["mode"]
    values = _load_accumulator(ctx, i) if which == "c" else _load_factor(ctx, i, which)
    dst = elements(i.ops[0])
    for j, e in enumerate(dst):
        ctx.write(e, values[j % len(values)])


def _load_factor(ctx: Ctx, i: Instr, which: str) -> list[Opnd]:
    """Load the registers of a fragment of A or B."""
    m, n, k = shape_numbers(i.sig)
    type_ = i.sig.types[0]
    bits = TYPE_BITS[type_]
    outer = m if which == "a" else n
    blocks = _blocks(m, n, k, which, type_)
    along_k = (i.sig.mods["layout"] == "row") == (which == "a")
    ld = _stride(ctx, i, 2, k if along_k else outer)
    deep = 128 // bits  # f64 has one block along k
    if space_of(i.sig) == "shared" and (bits == 16 or (along_k and bits < 16)):
        return _load_rows(ctx, i, blocks, ld, bits, deep, along_k)
    quarter = _lane_part(ctx, 0, 3)
    eighth = _lane_part(ctx, 2, -1)
    per = max(1, 32 // bits)
    size = ".64" if bits == 64 else ""
    width = bits // 32 or 1
    if along_k or bits == 16:
        start = quarter if per == 1 else ctx.b.r("SHF.L.U32", quarter, imm(per.bit_length() - 1), RZ)
        if bits < 8:
            start = ctx.b.r("SHF.L.U32", quarter, imm(2), RZ)
        place = _Place(ctx, i.ops[1], i, ld, bits, start, eighth)
        if along_k:
            return [_load(ctx, place, size, place.at(8 * o, deep * b), width) for o, b in blocks]
        return [_transposed(ctx, _load(ctx, place, "", place.at(8 * b, 8 * o), 1)) for o, b in blocks]
    if bits > 16:
        place = _Place(ctx, i.ops[1], i, ld, bits, eighth, quarter)
        return [_load(ctx, place, size, place.at(deep * b, 8 * o), width) for o, b in blocks]
    place = _Place(ctx, i.ops[1], i, ld, bits, eighth, ctx.b.r("SHF.L.U32", quarter, imm(2), RZ))
    return [_gathered(ctx, place, o) for o, _ in blocks]


def _gathered(ctx: Ctx, place: _Place, o: int) -> Opnd:
    """Four bytes of a column, loaded one by one, as one word."""
    parts = [_load(ctx, place, ".U8", place.at(j, 8 * o), 1) for j in range(4)]
    low, high = (ctx.b.r("PRMT", parts[j], imm(0x0040), parts[j + 1]) for j in (0, 2))
    return ctx.b.r("PRMT", low, imm(0x5410), high)


def _load_rows(
    ctx: Ctx, i: Instr, blocks: list[tuple[int, int]], ld: Opnd, bits: int, deep: int, along_k: bool
) -> list[Opnd]:
    """Load blocks from shared memory by LDSM: every eight lanes give the row addresses of one block."""
    b = ctx.b
    row = _lane_part(ctx, 0, 7)
    out: list[Opnd] = []
    step = min(len(blocks), 4)
    first = blocks[:step]
    # What each of the two bits of the block number adds to the coordinates (strided, contiguous), in elements.
    strided, contiguous = row, RZ
    for bit in range(step.bit_length() - 1):
        o, kb = first[1 << bit]
        along = (8 * o, deep * kb) if along_k else (8 * kb, 8 * o)
        part = _lane_part(ctx, 3 + bit, 1)
        if along[0]:
            strided = b.r("LEA", part, strided, imm(along[0].bit_length() - 1))
        else:
            length = along[1] if bits >= 8 else along[1] * bits // 8
            shifted = b.r("SHF.L.U32", part, imm(length.bit_length() - 1), RZ)
            contiguous = shifted if contiguous == RZ else b.r("IADD3", contiguous, shifted, RZ)
    place = _Place(ctx, i.ops[1], i, ld, bits, contiguous, strided)
    name = f"LDSM.16.{'M88' if along_k else 'MT88'}" + {1: "", 2: ".2", 4: ".4"}[step]
    for j in range(0, len(blocks), step):
        o, kb = blocks[j]
        where = place.at(8 * o, deep * kb) if along_k else place.at(8 * kb, 8 * o)
        d = ctx.fn.new_vreg(width=step)
        b.emit(name, [d], where, ctx.guard)
        out += [d] if step == 1 else [ctx.word(d, w) for w in range(step)]
    return out


def _accumulator(
    ctx: Ctx, i: Instr, type_: str, ptr: Operand, stride: int
) -> tuple[_Place, bool, list[tuple[int, int]]]:
    """Addresses of an accumulator, whether a lane's pairs are adjacent in memory, (strided, contiguous) of the blocks."""
    m, n, _ = shape_numbers(i.sig)
    by_row = i.sig.mods["layout"] == "row"
    swapped = n == 32 and (type_ != "s32" or ctx.target.multiplies("int8.16x8x16"))
    ld = _stride(ctx, i, stride, n if by_row else m)
    neighbours = by_row != swapped
    bits = TYPE_BITS[type_]
    quarter = ctx.b.r("SHF.L.U32", _lane_part(ctx, 0, 3), imm(1), RZ)
    eighth = _lane_part(ctx, 2, -1)
    if neighbours or bits == 16:
        place = _Place(ctx, ptr, i, ld, bits, quarter, eighth)
    else:
        place = _Place(ctx, ptr, i, ld, bits, eighth, quarter)
    blocks = [(8 * r, 8 * c) if by_row else (8 * c, 8 * r) for r, c in _accumulator_blocks(m, n)]
    return place, neighbours, blocks


def _load_accumulator(ctx: Ctx, i: Instr) -> list[Opnd]:
    """Load the registers (f64: pairs) of an accumulator."""
    type_ = i.sig.types[0]
    bits = TYPE_BITS[type_]
    place, neighbours, blocks = _accumulator(ctx, i, type_, i.ops[1], 2)
    out: list[Opnd] = []
    for s, c in blocks:
        if bits == 16:
            value = _load(ctx, place, "", place.at(s, c), 1)
            out.append(value if neighbours else _transposed(ctx, value))
        elif neighbours:
            value = _load(ctx, place, f".{2 * bits}", place.at(s, c), bits // 16)
            out += [ctx.word(value, j) if bits == 32 else with_pair_lane(value, j) for j in (0, 1)]
        else:
            out += [_load(ctx, place, ".64" if bits == 64 else "", place.at(s + j, c), bits // 32) for j in (0, 1)]
    return out


@lowers("wmma.store", types="any")
def lower_wmma_store(ctx: Ctx, i: Instr) -> None:
    """wmma.store.d."""
    type_ = i.sig.types[0]
    bits = TYPE_BITS[type_]
    values = [ctx.src(e, f"b{max(bits, 32)}") for e in elements(i.ops[1])]
    place, neighbours, blocks = _accumulator(ctx, i, type_, i.ops[0], 2)
    name = "STS" if place.shared else "STG.E" if place.space == "global" else "ST.E"
    end = "" if place.shared else ctx.target.spelling("system_scope")
    per = 1 if bits == 16 else 2
    for x, (s, c) in enumerate(blocks):
        part = values[per * x : per * x + per]
        if bits == 16:
            value = part[0] if neighbours else _transposed(ctx, part[0])
            ctx.b.emit(name + end, [], [*place.at(s, c), value], ctx.guard)
        elif neighbours:
            value = ctx.b.pack(*part, width=bits // 16)
            ctx.b.emit(f"{name}.{2 * bits}{end}", [], [*place.at(s, c), value], ctx.guard)
        else:
            for j in (0, 1):
                size = ".64" if bits == 64 else ""
                ctx.b.emit(name + size + end, [], [*place.at(s + j, c), part[j]], ctx.guard)


@lowers("wmma.mma", types="any")
def lower_wmma_mma(ctx: Ctx, i: Instr) -> None:
    """wmma.mma: products of 16x8 or 8x8 parts; for m8n32, A and B are exchanged."""
    m, n, k = shape_numbers(i.sig)
    types = i.sig.types
    mods = i.sig.mods
    d_type, c_type = types[0], types[-1]
    a_type = "f16" if len(types) == 2 else types[1]
    kind = CLASS[a_type]
    word_type = "b64" if kind == "f64" else "b32"
    a, b, c = ([ctx.src(e, word_type) for e in elements(o)] for o in i.ops[1:4])
    if kind == "f16":
        a, b = a[: m * k // 64], b[: n * k // 64]
    if kind == "f16" and c_type == "f16" and d_type == "f32":
        c = widened(ctx, c)
    total = "f32" if "f32" in (d_type, c_type) else d_type
    product = Product(
        m, n, k, total, a_type, a_type, "satfinite" in mods, mods.get("bool") == "xor", mods.get("rnd", "rn")
    )
    d = _parts(ctx, i, product, a, b, c)
    if total != d_type:
        d = narrowed(ctx, d)
    for e, value in zip(elements(i.ops[0]), d, strict=True):
        ctx.write(e, value)


def _parts(ctx: Ctx, i: Instr, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """The registers of D, computed part by part."""
    old_integer = p.kind == "int8" and not ctx.target.multiplies("int8.16x8x16")
    if p.n == 32 and not old_integer:
        a, b = b, a
        p = p._replace(m=32, n=8)
    rows = 8 if p.m == 8 or old_integer else 16
    per_block = 1 if p.d == "f16" else 2
    deep = 2 if p.kind in ("f16", "bf16", "tf32") else 1
    steps = 2 if p.kind == "f16" and not ctx.target.multiplies("f16.16x8x16") else 1
    part = p._replace(m=rows, n=8, k=p.k // steps)
    out = list(c)
    blocks = rows // 8
    for column in range(p.n // 8):
        for row in range(p.m // rows):
            x = a[row * blocks * deep : (row + 1) * blocks * deep]
            y = b[column * deep : (column + 1) * deep]
            at = (row * blocks + column * (p.m // 8)) * per_block
            z = out[at : at + blocks * per_block]
            for s in range(steps):
                result = multiply(
                    ctx, part, x if steps == 1 else x[2 * s : 2 * s + 2], y if steps == 1 else y[s : s + 1], z
                )
                if result is None:
                    raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
                z = result
            out[at : at + blocks * per_block] = z
    return out
