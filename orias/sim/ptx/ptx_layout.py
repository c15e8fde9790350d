"""Layout of a PTX module's variables in the interpreter: call slots, frames, shared memory, data."""

from orias.ptx.ast import TYPE_BITS, Function, Var

CALL_ALIGN = 16
"""Alignment in bytes of frames and of areas of call slots."""


def align_of(v: Var) -> int:
    """Alignment in bytes: declared, or the size of the element (for vectors, of the whole vector)."""
    return v.align or max(1, TYPE_BITS[v.type] // 8) * v.vec


def place(variables: list[Var], top: int = 0) -> tuple[list[int], int]:
    """Ascending byte offsets of variables from `top` on, and the end of the last one."""
    out: list[int] = []
    for v in variables:
        a = align_of(v)
        top = -(-top // a) * a
        out.append(top)
        top += v.size
    return out, top


def formal_size(v: Var) -> int:
    """Bytes of a parameter or result; registers occupy whole words."""
    return 4 * max(1, TYPE_BITS[v.type] // 32) * v.vec if v.space == "reg" else v.size


def slots(f: Function) -> tuple[list[int], int]:
    """For each result and parameter of a call, its distance in bytes below the caller's frame; and the bytes of all slots."""
    formals = [*f.rets, *f.params]
    offsets: list[int] = []
    top = 0
    for v in formals:
        a = max(align_of(v), 4)
        top = -(-top // a) * a
        offsets.append(top)
        top += max(formal_size(v), 4)
    total = -(-top // CALL_ALIGN) * CALL_ALIGN
    return [total - o for o in offsets], total
