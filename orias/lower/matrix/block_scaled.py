"""mma and mma.sp with block_scale: QMMA.SF and OMMA.SF.

The factors' scales are bytes of registers of some lanes.  A uniform register says which: bits 0 and 1 the byte of A's, bit 2
the pair of lanes in each quad, bits 3 and 4 the byte of B's, bits 5 and 6 the lane in each quad.  Names and that word are
read off ptxas 13.0.88 on sm_120a.
"""

from orias.isa.operand import K_R, NOT_PT, RZ, URZ, Opnd, imm, imm_value, is_imm, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.matrix.mma import joined
from orias.lower.matrix.tcgen05 import uniform
from orias.lower.memory.memory_operands import elements
from orias.ptx.ast import Instr, Operand
from orias.ptx.wmma_checks import shape_numbers


def _name(ctx: Ctx, i: Instr) -> str:
    """The name of the operation."""
    mods, types = i.sig.mods, i.sig.types
    m, n, k = shape_numbers(i.sig)
    eights = mods["kind"] == "kind::mxf8f6f4"
    kind = ("mxf8" if eights else "mxf4") + (".sp" if "sp" in mods else "")
    if not ctx.target.multiplies(f"{kind}.{m}x{n}x{k}"):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    head = f"{'QMMA' if eights else 'OMMA'}.SF{'.SP' if 'sp' in mods else ''}.{m}{n}{k}.F32.{types[1].upper()}.{types[2].upper()}"
    scales = ".UE4M3" if types[4] == "ue4m3" else ".E8"
    return head + scales + (".4X" if mods.get("scale_vec") == "scale_vec::4X" else "")


def _selector(ctx: Ctx, parts: list[tuple[Operand, int, int]]) -> Opnd:
    """The uniform register with the fields (operand, mask, lowest bit)."""
    fixed, word = 0, RZ
    for o, mask, low in parts:
        value = ctx.src(o, "u16")
        if is_imm(value) or value == RZ:
            fixed |= ((imm_value(value) if is_imm(value) else 0) & mask) << low
            continue
        field = ctx.b.r("LOP3.LUT", value, imm(mask), RZ, imm(0xC0), NOT_PT)
        if low:
            field = ctx.b.r("SHF.L.U32", field, imm(low), RZ)
        word = field if word == RZ else ctx.b.r("LOP3.LUT", word, field, RZ, imm(0xFC), NOT_PT)
    if word == RZ:
        return uniform(ctx, imm(fixed)) if fixed else URZ
    return uniform(ctx, ctx.b.r("LOP3.LUT", word, imm(fixed), RZ, imm(0xFC), NOT_PT) if fixed else word)


def multiply_scaled(ctx: Ctx, i: Instr) -> None:
    """mma and mma.sp with block_scale."""
    sparse = "sp" in i.sig.mods
    name = _name(ctx, i)
    src = [joined(ctx, [ctx.src(e, "b32") for e in elements(o)]) for o in i.ops[1:4]]
    scale_a, at_a, scale_b, at_b = i.ops[6 if sparse else 4 :]
    left, right = (ctx.src(elements(o)[0], "b32") for o in (scale_a, scale_b))
    if sparse:
        meta = ctx.src(i.ops[4], "b32")
        left = ctx.b.pack(*[x if is_reg(x) else ctx.b.copy(x) for x in (meta, left)], width=2)
    byte_a, lane_a, byte_b, lane_b = *at_a.elems, *at_b.elems
    selector = _selector(ctx, [(byte_a, 3, 0), (lane_a, 1, 2), (byte_b, 3, 3), (lane_b, 3, 5)])
    src += [x if is_reg(x) else ctx.b.copy(x) for x in (left, right)]
    src.append(selector)
    if sparse:
        src.append(imm(i.ops[5].value))
    d = ctx.fn.new_vreg(K_R, 4)
    ctx.b.emit(name, [d], src, ctx.guard)
    for j, e in enumerate(elements(i.ops[0])):
        ctx.write(e, ctx.word(d, j))
