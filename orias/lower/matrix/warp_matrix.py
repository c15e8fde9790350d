"""ldmatrix, stmatrix, movmatrix, mma, mma.sp.  Names read off ptxas 13.0.88 on sm_75, 80, 89, 90, 100 and 120."""

from typing import Final

from orias.isa.operand import K_NONE, K_R, NEG, RZ, URZ, Opnd, const, imm, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.block_scaled import multiply_scaled
from orias.lower.matrix.mma import Product, joined, multiply
from orias.lower.matrix.mma_m8n8k4 import multiply_quads
from orias.lower.memory.memory_operands import address, elements, space_of, spread
from orias.ptx.ast import O_REG, Instr, Operand
from orias.ptx.wmma_checks import shape_numbers
from orias.target import features


def _window(ctx: Ctx, i: Instr, o: Operand) -> list[Opnd]:
    """The shared-window address of a matrix row, from a shared or generic address."""
    if space_of(i.sig) == "shared" or (o.var is not None and o.var.space == "shared"):
        return address(ctx, o, "shared")
    group = address(ctx, o, "")
    low = ctx.lo(group[1])
    if ctx.target.has_word("shared_window"):
        low = ctx.b.r("IADD3", low, const(0, ctx.target.word("shared_window")) | NEG, RZ)
    elif not is_reg(low):
        low = ctx.b.copy(low)
    return [K_NONE, low, URZ, group[3]]


_LAYOUTS: Final[dict[tuple[str, str, bool], str]] = {
    ("m8n8", "b16", False): ".16.M88", ("m8n8", "b16", True): ".16.MT88", ("m16n16", "b8", True): ".8.MT1616",
    ("m16n16", "b6x16_p32", True): ".U6x16P32TO8.MT1616", ("m16n16", "b4x16_p64", True): ".U4x16P64TO8.MT1616",
    ("m8n16", "b6x16_p32", False): ".U6x16P32TO8.M816", ("m8n16", "b4x16_p64", False): ".U4x16P64TO8.M816",
    ("m16n8", "b8", True): ".8.MT168",
}  # fmt: skip
"""Shape, type in memory, transposed -> modifiers of LDSM and STSM."""


def _matrix_name(i: Instr) -> str:
    mods = i.sig.mods
    layout = _LAYOUTS.get((mods.get("shape", ""), i.sig.types[-1], "trans" in mods))
    count = {"x1": "", "x2": ".2", "x4": ".4"}.get(mods.get("num", ""))
    return "" if layout is None or count is None else layout + count


@lowers("ldmatrix", types="any")
def lower_ldmatrix(ctx: Ctx, i: Instr) -> None:
    """ldmatrix: LDSM."""
    name = _matrix_name(i)
    if not name:
        raise ctx.unsupported(f"'{i.sig.text}'")
    dst = elements(i.ops[0])
    d = ctx.fn.new_vreg(K_R, len(dst))
    ctx.b.emit("LDSM" + name, [d], _window(ctx, i, i.ops[1]), ctx.guard)
    if len(dst) == 1:
        ctx.write(dst[0], d)
    else:
        spread(ctx, i.ops[0], d, "b32")


@lowers("stmatrix", types="any")
def lower_stmatrix(ctx: Ctx, i: Instr) -> None:
    """stmatrix: STSM."""
    name = _matrix_name(i)
    if not name or not ctx.target.has(features.STORE_MATRIX):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    group = _window(ctx, i, i.ops[0])
    ctx.b.emit("STSM" + name, [], [*group, fragment(ctx, i.ops[1], "b32")], ctx.guard)


@lowers("movmatrix", types="any")
def lower_movmatrix(ctx: Ctx, i: Instr) -> None:
    """movmatrix: MOVM."""
    if i.sig.mods.get("shape") != "m8n8" or i.sig.types[-1] != "b16":
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.define(i.ops[0], "MOVM.16.MT88", [ctx.src(i.ops[1], "b32")], 1)


def fragment(ctx: Ctx, o: Operand, type_: str) -> Opnd:
    """The registers of a fragment as one value."""
    return joined(ctx, [_word(ctx, e, type_) for e in elements(o)], 2 if type_ == "b64" else 1)


def _word(ctx: Ctx, o: Operand, type_: str) -> Opnd:
    """An element of a fragment; a predicate counts as all ones or zero."""
    if o.kind == O_REG and o.var is not None and o.var.type == "pred":
        return ctx.b.r("SEL", imm(0xFFFFFFFF), RZ, ctx.pred_src(o))
    return ctx.src(o, type_)


@lowers("mma", types="any")
def lower_mma(ctx: Ctx, i: Instr) -> None:
    """mma and mma.sp."""
    mods = i.sig.mods
    types = i.sig.types
    if "block_scale" in mods:
        multiply_scaled(ctx, i)
        return
    m, n, k = shape_numbers(i.sig)
    word_type = "b64" if types[1] == "f64" else "b32"
    a, b, c = ([ctx.src(e, word_type) for e in elements(o)] for o in i.ops[1:4])
    if mods["shape"] == "m8n8k4" and types[1] == "f16":
        d: list[Opnd] | None = multiply_quads(ctx, i, a, b, c)
    else:
        sparse = (ctx.src(i.ops[4], "b32"), i.ops[5].value) if "sp" in mods else None
        p = Product(
            m, n, k, types[0], types[1], types[2], "satfinite" in mods, mods.get("bool") == "xor", mods.get("rnd", "rn"), sparse
        )  # fmt: skip
        d = multiply(ctx, p, a, b, c)
    if d is None:
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    for e, value in zip(elements(i.ops[0]), d, strict=True):
        ctx.write(e, value)
