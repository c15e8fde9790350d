"""multimem: operations on one address in the memories of several GPUs (from sm_90 on).

Forms of ptxas 13.0.88: ``ld_reduce`` is LDGMC, always strong at system scope.  ``red`` is the reduction of global
memory, for generic addresses too, at system scope by default.  ``st`` is an ordinary store
(:func:`orias.lower.memory.loads_stores.lower_st`).
"""

from typing import Final

from orias.isa.operand import K_R, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.atomics import native_name, vector_name
from orias.lower.memory.memory_operands import address, elements, gather, space_of, spread
from orias.lower.memory.ordering import fence, strong
from orias.ptx.ast import TYPE_BITS, Instr

_INTEGER: Final[dict[str, str]] = {
    "u32": "32", "b32": "32", "s32": "S32", "u64": "64", "b64": "64", "s64": "S64", "f64": "F64.RN",
}  # fmt: skip
_FLOAT: Final[dict[str, tuple[str, int]]] = {
    "f32": ("F32", 1), "f16": ("F16", 1), "bf16": ("BF16", 1), "f16x2": ("F16", 2), "bf16x2": ("BF16", 2),
    "e4m3": ("E4M3", 1), "e5m2": ("E5M2", 1), "e4m3x4": ("E4M3", 4), "e5m2x4": ("E5M2", 4),
}  # fmt: skip
"""PTX type -> (element name, elements per PTX element)."""


@lowers("multimem.ld_reduce", types="any")
def lower_ld_reduce(ctx: Ctx, i: Instr) -> None:
    """multimem.ld_reduce."""
    mods = i.sig.mods
    type_ = i.sig.types[-1]
    count = len(elements(i.ops[0]))
    operation = mods["op"].upper()
    if type_ in _INTEGER:
        kind = _INTEGER[type_]
    elif type_ in _FLOAT:
        name, per = _FLOAT[type_]
        kind = f"{name}{f'x{per * count}' if per * count > 1 else ''}.RN"
        if "acc::" in i.sig.text:
            operation = ctx.target.spelling("wide_sum") + operation
    else:
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    d = ctx.fn.new_vreg(K_R, max(1, TYPE_BITS[type_] * count // 32))
    group = address(ctx, i.ops[1], space_of(i.sig))
    ctx.b.emit(f"LDGMC.E.{operation}.{kind}.STRONG.SYS", [d], group, ctx.guard)
    spread(ctx, i.ops[0], d, type_)
    if mods.get("order") == "acquire":
        ctx.b.emit("CCTL.IVALL", [], [], ctx.guard)


@lowers("multimem.red", types="any")
def lower_multimem_red(ctx: Ctx, i: Instr) -> None:
    """multimem.red."""
    mods = i.sig.mods
    type_ = i.sig.types[-1]
    scope = mods.get("scope", "sys")
    if mods.get("order") == "release":
        fence(ctx, "ALL", scope, release_only=True)
    value = gather(ctx, i.ops[1], type_)
    width = max(1, TYPE_BITS[type_] * len(elements(i.ops[1])) // 32)
    if width > 1 and not is_reg(value):
        value = ctx.b.copy(value, width)
    name = vector_name(ctx, i, i.ops[1]) if "vec" in mods else native_name(mods["op"], type_)
    ctx.b.emit(f"REDG.E{name}{strong(ctx, scope)}", [], [*address(ctx, i.ops[0], space_of(i.sig)), value], ctx.guard)
