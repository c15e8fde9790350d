"""Products of matrix fragments: the operations of ``mma.sync`` and ``wmma.mma``, and substitutes for those a target lacks.

Names and what is missing: ptxas 13.0.88 on every target from sm_75 to sm_121.  These products have no operation of their
own:
* f64 with m = 16 from sm_100 on: products of 8x8x4;
* 8-bit integers with m = 8 from sm_100 on: the upper half of a product of 16 rows stays unused;
* 4-bit integers from sm_90 on: the low and the high nibbles of every byte are multiplied as bytes;
* xor-popc on sm_90: ``popc(a ^ b) = popc(a & ~b) + popc(~a & b)``;
* bits from sm_100 on: every bit becomes a byte, 0 or 1 (xor-popc: 1 or -1);
* 8-bit floats on sm_90 and sm_100 to sm_110: their halves are unpacked to f16 and multiplied; the accumulator is added last, as in ptxas's code;
* m8n8k4 of f16 from sm_80 on: see :mod:`orias.lower.matrix.mma_m8n8k4`.
"""

from typing import Final, NamedTuple

from orias.isa.operand import (
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    S_H0_H0,
    S_H1_H1,
    Opnd,
    imm,
    is_reg,
    is_vreg,
    with_pair_lane,
    with_suffix,
    with_word_lane,
    without_lane,
)
from orias.lower.float.fp import neg_zero_half
from orias.lower.frame.context import Ctx
from orias.lower.matrix.sparse_fp8 import halves, rearranged
from orias.target import features

CLASS: Final[dict[str, str]] = {
    "f16": "f16", "bf16": "bf16", "tf32": "tf32", "f64": "f64", "b1": "b1", "s8": "int8", "u8": "int8", "s4": "int4",
    "u4": "int4", "e4m3": "fp8", "e5m2": "fp8", "e3m2": "fp6", "e2m3": "fp6", "e2m1": "fp6",
}  # fmt: skip
_FLOAT: Final[dict[str, str]] = {"f16": "", "bf16": ".BF16", "tf32": ".TF32"}


class Product(NamedTuple):
    """The shape of a product D = A B + C: m x n results with k products each (k of the dense matrix if A is sparse).

    Types are named as in PTX; C has the type of D.  ``sparse``: (metadata register, selector).  ``rnd`` (f64): rn, rz,
    rm, rp.
    """

    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    saturate: bool = False
    exclusive: bool = False
    rnd: str = "rn"
    sparse: tuple[Opnd, int] | None = None

    @property
    def kind(self) -> str:
        """Class of the multiplicands: fp6 if either has 6 or 4 bits."""
        kind = CLASS[self.a]
        return CLASS[self.b] if kind == "fp8" else kind


def is_native(ctx: Ctx, p: Product) -> bool:
    """Whether the target has one operation for the product."""
    kind = p.kind
    if kind == "b1":
        kind += ".xor" if p.exclusive else ".and"
    return ctx.target.multiplies(f"{kind}{'.sp' if p.sparse else ''}.{p.m}x{p.n}x{p.k}")


def multiply(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd] | None:
    """The registers of D (words; pairs for f64) from those of A, B and C; None if the target cannot compute the product."""
    if p.kind == "f64" and p.k == 16 and is_native(ctx, p):
        # ptxas has one operation, whose A takes 16 registers; a chain of two with k = 8 gives the same sum.
        half = p._replace(k=8)
        return _native(ctx, half, a[4:], b[2:], _native(ctx, half, a[:4], b[:2], c))
    if is_native(ctx, p):
        return _native(ctx, p, a, b, c)
    if not ctx.target.has(features.WIDENED_PRODUCTS):
        return None
    if p.kind == "f64" and p.m > 8:
        return _eighths(ctx, p, a, b, c)
    if p.kind == "int8" and p.m == 8:
        return _bytes(ctx, p, a, b, c)
    if p.kind == "int4":
        return _nibbles(ctx, p, a, b, c)
    if p.kind == "b1" and not is_native(ctx, p._replace(exclusive=False)):
        return _bits(ctx, p, a, b, c)
    if p.exclusive:
        return _exclusive(ctx, p, a, b, c)
    if p.kind == "fp8":
        return _unpacked(ctx, p, a, b, c)
    return None


def joined(ctx: Ctx, values: list[Opnd], words: int = 1) -> Opnd:
    """Several registers of `words` words each, as one value."""
    if len(values) == 1:
        return values[0] if is_reg(values[0]) else ctx.b.copy(values[0], words)
    if all(v == RZ or v == imm(0) for v in values):
        return RZ
    whole = without_lane(values[0])
    if is_vreg(values[0]) and ctx.fn.width(whole) == len(values) * words:
        part = with_pair_lane if words == 2 else with_word_lane
        if all(v == part(whole, j) for j, v in enumerate(values)):
            return whole
    return ctx.b.pack(*values, width=len(values) * words)


def _name(ctx: Ctx, p: Product) -> str:
    """The name of the operation."""
    kind = p.kind
    shape = f"{p.m}{p.n}{p.k}"
    sparse = ".SP" if p.sparse else ""
    if kind in _FLOAT:
        return f"HMMA{sparse}.{shape}.{p.d.upper()}{_FLOAT[kind]}"
    if kind == "f64":
        form = ctx.target.spelling("f64_shape").join((str(p.m), str(p.n), str(p.k)))
        return f"DMMA.{form}{'' if p.rnd == 'rn' else '.' + p.rnd.upper()}"
    if kind == "b1":
        return f"BMMA.{shape}.{'XOR' if p.exclusive else 'AND'}.POPC"
    if kind in ("fp8", "fp6"):
        return f"QMMA{sparse}.{shape}.{p.d.upper()}.{p.a.upper()}.{p.b.upper()}"
    return f"IMMA{sparse}.{shape}.{p.a.upper()}.{p.b.upper()}{'.SAT' if p.saturate else ''}"


def _native(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    words = 2 if p.kind == "f64" else 1
    src = [joined(ctx, a, words), joined(ctx, b, words), joined(ctx, c, words)]
    if p.sparse:
        src += [p.sparse[0], imm(p.sparse[1])]
    d = ctx.fn.new_vreg(K_R, len(c) * words)
    ctx.b.emit(_name(ctx, p), [d], src, ctx.guard)
    if len(c) == 1:
        return [d]
    return [with_pair_lane(d, j) if words == 2 else ctx.word(d, j) for j in range(len(c))]


def _bytes(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """8-bit integers; eight rows, where the target has no such product, as the first of sixteen."""
    if p.m > 8 or is_native(ctx, p):
        return _native(ctx, p, a, b, c)
    return _native(ctx, p._replace(m=16), [*a, RZ], b, [*c, RZ, RZ])[:2]


def _nibbles(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """4-bit integers as the upper halves of bytes: each product is 256 times too large, and a sum of 128 still fits."""
    emit = ctx.b.r

    def upper(x: Opnd) -> Opnd:
        return emit("LOP3.LUT", x, imm(0xF0F0F0F0), RZ, imm(0xC0), NOT_PT)

    def lower(x: Opnd) -> Opnd:
        return upper(emit("SHF.L.U32", x, imm(4), RZ))

    wide = p._replace(k=p.k // 2, a=p.a[0] + "8", b=p.b[0] + "8", saturate=False)
    total = _bytes(ctx, wide, [lower(x) for x in a], [lower(x) for x in b], [RZ] * len(c))
    total = _bytes(ctx, wide, [upper(x) for x in a], [upper(x) for x in b], total)
    if not p.saturate:
        return [emit("LEA.HI.SX32", t, x, imm(24)) for t, x in zip(total, c, strict=True)]
    out = []
    for t, x in zip(total, c, strict=True):
        part = emit("SHF.R.S32.HI", RZ, imm(8), t)
        out.append(_saturated_sum(ctx, part, x if is_reg(x) else ctx.b.copy(x)))
    return out


def _saturated_sum(ctx: Ctx, part: Opnd, c: Opnd) -> Opnd:
    """``part + c`` saturated to 32 signed bits: c is clamped first, and the sum cannot overflow."""
    name = ctx.target.spelling("signed_min_max")
    emit = ctx.b.r
    down = emit(name, part, RZ, PT)
    up = emit(name, part, RZ, NOT_PT)
    least = emit("IADD3", imm(0x80000000), down | NEG, RZ)
    most = emit("IADD3", imm(0x7FFFFFFF), up | NEG, RZ)
    held = emit(name, emit(name, c, least, NOT_PT), most, PT)
    return emit("IADD3", held, part, RZ)


def _eighths(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """f64: products of 8x8x4, for each half of the rows along rising k."""
    part = p._replace(m=8, k=4)
    out: list[Opnd] = []
    for row in (0, 1):
        total = c[2 * row : 2 * row + 2]
        for step in range(p.k // 4):
            total = _native(ctx, part, [a[2 * step + row]], [b[step]], total)
        out += total
    return out


def _bits(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """Bits as bytes: each word becomes eight words, of bits j, j + 8, j + 16 and j + 24.

    A 0 stands for 0, or (xor) for 1, and a 1 for 1 or -1: the sum of such products is k - 2 popc.
    """
    emit = ctx.b.r

    def spread(x: Opnd) -> list[Opnd]:
        words = []
        for j in range(8):
            y = emit("SHF.R.U32.HI", RZ, imm(j), x) if j else x
            y = emit("LOP3.LUT", y, imm(0x01010101), RZ, imm(0xC0), NOT_PT)
            if p.exclusive:
                y = emit("IMAD", y, imm(0xFE), ctx.b.copy(imm(0x01010101)))
            words.append(y)
        return words

    type_ = "s8" if p.exclusive else "u8"
    part = Product(16, 8, 32, "s32", type_, type_)
    tall = p.m == 16
    left, right = [spread(x) for x in a], [spread(x) for x in b]
    zero = [RZ] * 4
    total = zero if p.exclusive or not tall else c
    if not p.exclusive and not tall:
        total = [*c, RZ, RZ]
    for block, columns in enumerate(right):
        rows = left[2 * block : 2 * block + 2] if tall else left
        for j in range(0, 8, 2):
            x = [
                row[j + deep] if row is not None else RZ
                for deep in (0, 1)
                for row in (rows if tall else [rows[0], None])
            ]
            total = _native(ctx, part, x, columns[j : j + 2], total)
    if not p.exclusive:
        return total[: len(c)]
    out = []
    for t, z in zip(total[: len(c)], c, strict=True):
        half = emit("SHF.R.S32.HI", RZ, imm(1), t)
        out.append(emit("IADD3", z if is_reg(z) else ctx.b.copy(z), imm(p.k // 2), half | NEG))
    return out


def _exclusive(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    def inverted(x: Opnd) -> Opnd:
        return ctx.b.r("LOP3.LUT", RZ, x, RZ, imm(0x33), NOT_PT)

    both = p._replace(exclusive=False)
    total = _native(ctx, both, a, [inverted(x) for x in b], c)
    return _native(ctx, both, [inverted(x) for x in a], b, total)


def _unpacked(ctx: Ctx, p: Product, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """8-bit floats as f16, in two products; dense: over the lower two of every four k, then over the upper two."""
    half = p._replace(k=p.k // 2, a="f16", b="f16")
    total = [RZ] * len(c)
    if p.sparse:
        left, right, meta = rearranged(ctx, a, b, p.sparse[0], (p.a, p.b))
        for selector in (0, 1):
            part = half._replace(sparse=(meta, selector))
            total = _native(ctx, part, left[selector], right[selector], total)
    else:
        left = [list(x) for x in zip(*[halves(ctx, x, p.a) for x in a], strict=True)]
        right = [list(x) for x in zip(*[halves(ctx, x, p.b) for x in b], strict=True)]
        for x, y in zip(left, right, strict=True):
            total = _native(ctx, half, x, y, total)
    name = "HADD2" if p.d == "f16" else "FADD"
    return [ctx.b.r(name, t, x if is_reg(x) else ctx.b.copy(x)) for t, x in zip(total, c, strict=True)]


def widened(ctx: Ctx, c: list[Opnd]) -> list[Opnd]:
    """Two f32 values for each word of two f16."""
    out = []
    for x in c:
        word = x if is_reg(x) else ctx.b.copy(x)
        for suffix in (S_H0_H0, S_H1_H1):
            half = with_suffix(word, suffix)
            if ctx.target.has(features.WIDENS_HALF_TO_ZERO):
                out.append(ctx.b.r("HADD2.F32", RZ | NEG, half))
            else:
                out.append(ctx.b.r("HADD2.F32", half, neg_zero_half()))
    return out


def narrowed(ctx: Ctx, d: list[Opnd]) -> list[Opnd]:
    """Words of two f16 from f32 values."""
    out = []
    for j in range(0, len(d), 2):
        if not ctx.target.has(features.PACKS_HALF):
            low, high = ctx.b.r("F2F.F16.F32", d[j]), ctx.b.r("F2F.F16.F32", d[j + 1])
            out.append(ctx.b.r("PRMT", low, imm(0x5410), high))
        else:
            name = "F2FP" + ctx.target.spelling("f16_from_f32") + ".PACK_AB"
            out.append(ctx.b.r(name, d[j + 1], d[j]))
    return out
