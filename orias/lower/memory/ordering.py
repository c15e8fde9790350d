"""Strength and order of accesses: ``.STRONG`` scopes, memory barriers, what acquires wait for."""

from typing import Final

from orias.lower.frame.context import Ctx
from orias.target import features

_MEMBAR_SCOPE: Final[dict[str, str]] = {"cta": "CTA", "cluster": "GPU", "gpu": "GPU", "gl": "GPU", "sys": "SYS"}


def strong(ctx: Ctx, scope: str) -> str:
    """``.STRONG.<scope>``, in the spelling of this target."""
    if scope == "cta":
        return ".STRONG." + ctx.target.spelling("cta_scope")
    return ".STRONG." + _MEMBAR_SCOPE[scope]


def fence(ctx: Ctx, kind: str, scope: str, release_only: bool = False) -> None:
    """A memory barrier of kind ALL (acquire-release) or SC, and the error barriers and L1 invalidation that follow it."""
    name = _MEMBAR_SCOPE[scope]
    guard = ctx.guard
    ctx.b.emit(f"MEMBAR.{kind}.{name}", [], [], guard)
    if name == "CTA":
        if kind == "ALL" and not release_only and ctx.target.has(features.CLUSTERS):
            ctx.b.emit("fence.ACQUIRE", [], [])
        return
    ctx.b.emit("ERRBAR", [], [], guard)
    if ctx.target.has(features.CLUSTERS):
        ctx.b.emit("CGAERRBAR", [], [], guard)
    if not release_only:
        ctx.b.emit("CCTL.IVALL", [], [], guard)


def acquire_fence(ctx: Ctx, scope: str) -> None:
    """What waits for an acquire operation: for scopes beyond the CTA, an invalidation of L1; else what becomes a NOP."""
    if _MEMBAR_SCOPE[scope] != "CTA":
        ctx.b.emit("CCTL.IVALL", [], [], ctx.guard)
    else:
        ctx.b.emit("fence.ACQUIRE", [], [])
