"""membar and fence."""

from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.ordering import acquire_fence, fence
from orias.ptx.ast import Instr


@lowers("membar", "fence", types="any")
def lower_fence(ctx: Ctx, i: Instr) -> None:
    """fence and membar (which is fence.sc); :func:`fence` shows what each level adds."""
    mods = i.sig.mods
    text = i.sig.text
    scope = mods.get("scope", "cta")
    if "mbarrier_init" in text:
        # ptxas emits no instruction; the pseudo operation keeps the accesses in order.
        ctx.b.emit("fence", [], [])
        return
    if mods.get("order") == "acquire" and "sync_restrict" in text:
        acquire_fence(ctx, "cta")
        return
    if mods.get("proxy") == "tensormap::generic":
        from orias.lower.memory.tensormap import tensormap_fence

        tensormap_fence(ctx, i)
        return
    if ".proxy." in text:
        _proxy_fence(ctx, text, scope)
        return
    order = mods.get("order", "sc" if i.sig.name == "membar" else "acq_rel")
    if order == "release" and "sync_restrict" in text:
        ctx.b.emit("MEMBAR.ALL.CTA", [], [], ctx.guard)
        ctx.b.emit("FENCE.VIEW.ASYNC.S", [], [], ctx.guard)
        return
    if order == "acquire":
        if scope == "cta":
            fence(ctx, "ALL", scope)
        else:
            acquire_fence(ctx, scope)
        return
    fence(ctx, "SC" if order == "sc" else "ALL", scope, release_only=order == "release")


def _proxy_fence(ctx: Ctx, text: str, scope: str) -> None:
    emit = ctx.b.emit
    guard = ctx.guard
    if "async::generic" in text:
        emit("MEMBAR.ALL.CTA", [], [], guard)
        emit("FENCE.VIEW.ASYNC.S", [], [], guard)
    elif ".async" in text:
        if text.endswith(".global"):
            emit("FENCE.VIEW.ASYNC.G", [], [], guard)
            return
        emit("MEMBAR.ALL.CTA" if text.endswith("shared::cta") else "MEMBAR.ALL.GPU", [], [], guard)
        emit("FENCE.VIEW.ASYNC.S", [], [], guard)
    elif "alias" in text.split("."):
        # As ptxas 13.0.88 with .finite, too.
        emit("MEMBAR.SC." + ctx.target.spelling("alias_scope"), [], [], guard)
        emit("CCTL.IVALL", [], [], guard)
    else:
        raise ctx.unsupported(f"'{text}'")
