"""prefetch, applypriority, discard: hints to the caches."""

from typing import Final

from orias.isa.operand import (
    RZ,
)
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import address, space_of
from orias.ptx.ast import Instr

_PREFETCH: Final[dict[str, str]] = {"L1": "PF1", "L2": "PF2", "L2::evict_last": "PML2", "L2::evict_normal": "PF2"}


_HINTS: Final[dict[str, str]] = {"applypriority": "DML2", "discard": "RML2", "prefetchu": "PF1"}


@lowers("prefetch", "prefetchu", "applypriority", "discard", types="any")
def lower_hint(ctx: Ctx, i: Instr) -> None:
    """Cache hints, in the operations that ptxas uses; none for local memory."""
    if "tensormap" in i.sig.mods:
        from orias.lower.memory.tensormap import invalidate

        ctx.begin_guarded()
        invalidate(ctx, i.ops[0], ".PF")
        ctx.end_guarded()
        return
    space = space_of(i.sig)
    if space == "local":
        return
    if "valid_addr" in i.sig.mods:
        # A load without a result: the address is one that may be read.
        name = "LDG.E.U8" if space == "global" else "LD.E.U8"
        ctx.b.emit(name, [RZ], address(ctx, i.ops[0], space), ctx.guard)
        return
    level = i.sig.mods.get("level", "") or i.sig.mods.get("evict2", "")
    kind = _HINTS.get(i.sig.name) or _PREFETCH.get(i.sig.mods.get("evict2", "") or level)
    if kind is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.b.emit(f"CCTL.E.{kind}", [], address(ctx, i.ops[0], space), ctx.guard)
