"""mma.m8n8k4 of f16: four products of 8x4 by 4x8 at once, one for each pair of quads (lanes 4q .. 4q+3 and 16+4q .. 16+4q+3).

sm_75 computes it by two or four operations, its steps.  Later targets have no operation: each lane fetches the rows and
columns of its results from the lanes of its pair and adds the products in f32, over rising k, the accumulator last, as
the subroutines of ptxas 13.0.88 do.
"""

from orias.isa.operand import NEG, NOT_PT, PT, RZ, S_H0_H0, S_H1_H1, Opnd, imm, is_reg, with_suffix, word
from orias.lower.frame.context import Ctx
from orias.lower.matrix.mma import joined, narrowed, widened
from orias.ptx.ast import Instr


def multiply_quads(ctx: Ctx, i: Instr, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    """The registers of D."""
    if ctx.target.multiplies("f16.quad"):
        return _steps(ctx, i, a, b, c)
    return _fetched(ctx, i, a, b, c)


def _steps(ctx: Ctx, i: Instr, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    d_type, c_type = i.sig.types[0], i.sig.types[3]
    layouts = f"{i.sig.mods['alayout']}.{i.sig.mods['blayout']}".upper()
    x, y = joined(ctx, a), joined(ctx, b)
    count = 4 if d_type == "f32" else 2
    parts = [joined(ctx, c[j : j + 2]) for j in range(0, len(c), 2)]
    out: list[Opnd] = []
    for s in range(count):
        d = ctx.fn.new_vreg(width=2)
        name = f"HMMA.884.{d_type.upper()}.{c_type.upper()}.STEP{s}.{layouts}"
        ctx.b.emit(name, [d], [x, y, parts[s * len(parts) // count]], ctx.guard)
        out += [ctx.word(d, 0), ctx.word(d, 1)]
    return out


def _masked(ctx: Ctx, x: Opnd, mask: int) -> Opnd:
    return ctx.b.r("LOP3.LUT", x, imm(mask), RZ, imm(0xC0), NOT_PT)


def _shuffle(ctx: Ctx, value: Opnd, lane: Opnd) -> Opnd:
    d = ctx.fn.new_vreg()
    ctx.b.emit("SHFL.IDX", [d, PT], [value, lane, imm(0x1F)], ctx.guard)
    return d


def _half(ctx: Ctx, value: Opnd, upper: bool) -> Opnd:
    return ctx.b.r("HADD2.F32", RZ | NEG, with_suffix(value, S_H1_H1 if upper else S_H0_H0))


def _line(ctx: Ctx, regs: list[Opnd], by_k: bool, first: Opnd, index: Opnd) -> list[Opnd]:
    """Four factors over k, as f32, of row (column) `index` in the pair of quads whose lowest lane is `first`.

    With ``by_k`` a lane holds one row over k, without it one k over the four rows of its quad.
    """
    b = ctx.b
    quad = b.r("LEA", b.r("SHF.R.U32.HI", RZ, imm(2), index), first, imm(4))
    at = _masked(ctx, index, 3)
    if by_k:
        lane = b.r("IADD3", quad, at, RZ)
        words = [_shuffle(ctx, x, lane) for x in regs]
        return [_half(ctx, words[k >> 1], bool(k & 1)) for k in range(4)]
    odd = b.setp("ISETP.NE.U32.AND", _masked(ctx, at, 1), RZ, PT)
    high = b.setp("ISETP.NE.U32.AND", _masked(ctx, at, 2), RZ, PT)
    out: list[Opnd] = []
    for k in range(4):
        lane = b.r("IADD3", quad, imm(k), RZ)
        low, up = (_shuffle(ctx, x, lane) for x in regs)
        pair = b.r("SEL", up, low, high)
        out.append(b.r("SEL", _half(ctx, pair, True), _half(ctx, pair, False), odd))
    return out


def _fetched(ctx: Ctx, i: Instr, a: list[Opnd], b: list[Opnd], c: list[Opnd]) -> list[Opnd]:
    emit = ctx.b.r
    d_type, c_type = i.sig.types[0], i.sig.types[3]
    a_by_k = i.sig.mods["alayout"] == "row"
    b_by_k = i.sig.mods["blayout"] == "col"
    x = [v if is_reg(v) else ctx.b.copy(v) for v in a]
    y = [v if is_reg(v) else ctx.b.copy(v) for v in b]
    lane = emit("S2R", word("SR_LANEID"))
    first = _masked(ctx, lane, 0xC)
    quad = emit("SHF.R.U32.HI", RZ, imm(4), lane)
    if d_type == "f16":
        # Each lane has one row of eight columns.
        rows = [emit("LEA", quad, _masked(ctx, lane, 3), imm(2))]
        columns = [ctx.b.copy(imm(j)) for j in range(8)]
        places = [(0, j) for j in range(8)]
    else:
        # PTX's layout of f32 results: rows r and r + 2 with r = lane & 1; columns c, c + 1, c + 4, c + 5 with c =
        # lane & 2.
        row = emit("LEA", quad, _masked(ctx, lane, 1), imm(2))
        rows = [row, emit("IADD3", row, imm(2), RZ)]
        column = _masked(ctx, lane, 2)
        columns = [emit("IADD3", column, imm(j), RZ) if j else column for j in (0, 1, 4, 5)]
        places = [(j >> 1 & 1, (j & 1) + 2 * (j >> 2)) for j in range(8)]
    lines = [_line(ctx, x, a_by_k, first, r) for r in rows]
    crossing = [_line(ctx, y, b_by_k, first, col) for col in columns]
    sums: list[Opnd] = []
    for r, col in places:
        total = emit("FMUL", lines[r][0], crossing[col][0])
        for k in range(1, 4):
            total = emit("FFMA", lines[r][k], crossing[col][k], total)
        sums.append(total)
    if c_type == "f32":
        addends = c
    elif d_type == "f16":
        addends = widened(ctx, c)
    else:
        addends = _spread_addends(ctx, c, lane, quad)
    total32 = [emit("FADD", s, v) for s, v in zip(sums, addends, strict=True)]
    return narrowed(ctx, total32) if d_type == "f16" else total32


def _spread_addends(ctx: Ctx, c: list[Opnd], lane: Opnd, quad: Opnd) -> list[Opnd]:
    """f16 accumulators (a row of eight per lane), moved to the lanes that hold the f32 results."""
    emit = ctx.b.r
    first = _masked(ctx, lane, 0x1C)
    upper = ctx.b.setp("ISETP.NE.U32.AND", _masked(ctx, lane, 2), RZ, PT)
    out: list[Opnd] = []
    for j in range(0, 8, 2):
        # Columns (lane & 2) + (0, 1) + (j & 4) are in one register of the lane that holds row (lane & 1) + (j & 2).
        source = emit("IADD3", first, _masked(ctx, lane, 1), imm(j & 2))
        low, high = (_shuffle(ctx, c[w + (2 if j & 4 else 0)], source) for w in (0, 1))
        pair = emit("SEL", high, low, upper)
        out += [_half(ctx, pair, False), _half(ctx, pair, True)]
    return out
