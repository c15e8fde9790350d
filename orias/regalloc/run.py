"""The road through register allocation."""

from orias.analysis.cfg import dominators, find_loops, remove_unreachable
from orias.diag import Unsupported
from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR
from orias.ori.ir import Block, Func, Inst
from orias.regalloc.allocate import allocate
from orias.regalloc.calls import expand_calls
from orias.regalloc.coalesce import coalesce
from orias.regalloc.expand import Trace, expand
from orias.regalloc.files import RESERVE
from orias.regalloc.frame import finish_frame
from orias.regalloc.ranges import Ranges
from orias.regalloc.ssa_out import leave_ssa


def allocate_registers(fn: Func, relocatable: bool = False, trace: Trace | None = None) -> dict[int, int]:
    """From ``ssa`` (or ``virtual``) to ``allocated``; returns the mask of registers used per file (K_R ..).

    Calls of helpers need their clobber masks first (:func:`set_helper_clobbers`).
    Raises Unsupported if the registers cannot be made to suffice.
    """
    if fn.state == "ssa":
        prepare(fn)
    expand_calls(fn, relocatable)
    if trace is not None:
        trace.before = copy_function(fn)
    rg = Ranges(fn)
    classes = coalesce(rg)
    result = allocate(classes)
    if result.failed:
        raise Unsupported("out of registers")
    expand(classes, result.used, trace)
    used = result.used
    used[K_R] |= 2 | finish_frame(fn, used, 0)
    for reg in rg.phys:
        used[reg & 15] |= 1 << (reg >> 15)
    fn.reg_count = used[K_R].bit_length() + RESERVE
    return used


def copy_function(fn: Func) -> Func:
    """A copy for the checker: own instructions and blocks, shared facts."""
    new = Func(fn.name, fn.target, fn.kind)
    new.state = fn.state
    new.vkind = bytearray(fn.vkind)
    new.vwidth = bytearray(fn.vwidth)
    new.syms = fn.syms
    new.calls = fn.calls
    new.frame_fixed = fn.frame_fixed
    for b in fn.blocks:
        c = Block(b.id)
        c.insts = [Inst(i.op, list(i.dst), list(i.src), i.guard, i.old, i.loc, i.uid) for i in b.insts]
        new.blocks.append(c)
    return new


def prepare(fn: Func) -> None:
    """Leave SSA, with unreachable blocks gone and loop depths set."""
    remove_unreachable(fn)
    find_loops(fn, dominators(fn))
    leave_ssa(fn)


def set_helper_clobbers(helper: Func, used: dict[int, int], callers: list[Func]) -> None:
    """Tell every caller which registers the allocated `helper` changes (`used`: result of :func:`allocate_registers`)."""
    for fn in callers:
        for info in fn.calls.values():
            if info.kind == "helper" and info.target == helper.name:
                info.clobber_r = used[K_R] & ~2
                info.clobber_p = used[K_P]
                info.clobber_ur = used[K_UR]
                info.clobber_up = used[K_UP]
                info.clobber_b = used[K_B]
