"""SetControlFlowOpLastInBB: one return per function, where all paths meet.

Threads that leave a function on different paths must come together before they go on in the caller; with a single return
block the function's own convergence barriers see to that.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.operand import K_R, PT, Opnd, in_file, is_bare, is_physical, is_reg, is_vreg, is_zero_reg, kind_of
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst

_RET: Final = "RET"


def unify_returns(fn: Func) -> None:
    """Give a function that returns in several places a single return block, with phis for what it returns."""
    if fn.kind == "entry":
        return
    ends = [b for b in fn.blocks if b.insts and b.insts[-1].op.base == _RET and b.insts[-1].guard == PT]
    if len(ends) < 2:
        return
    tails = [_tail(b) for b in ends]
    results = [[i.dst[0] for i in t] for t in tails]
    if any(r != results[0] for r in results):
        raise Unsupported(f"returns of {fn.name} leave results in different places", ends[0].insts[-1].loc)
    last = ends[0].insts[-1]
    join = fn.new_block()
    for k, d in enumerate(results[0]):
        value = fn.new_vreg(kind_of(d), 1)
        join.insts.append(fn.new_inst(OP_PHI, [value], [t[k].src[0] for t in tails], loc=last.loc))
    phis = list(join.insts)
    for d, phi in zip(results[0], phis, strict=True):
        join.insts.append(fn.new_inst(OP_COPY, [d], [phi.dst[0]], loc=last.loc))
    join.insts.append(fn.new_inst(last.op, list(last.dst), list(last.src), loc=last.loc))
    for b, t in zip(ends, tails, strict=True):
        del b.insts[len(b.insts) - 1 - len(t) :]
        fn.link(b, join)
    fn.blocks.append(join)


def _tail(b: Block) -> list[Inst]:
    """The copies to physical registers directly before the return."""
    out: list[Inst] = []
    for inst in reversed(b.insts[:-1]):
        if inst.op is not OP_COPY or inst.guard != PT or not _physical_r(inst.dst[0]):
            break
        s = inst.src[0]
        if is_reg(s) and not is_vreg(s) and not is_zero_reg(s):
            break
        out.append(inst)
    out.reverse()
    return out


def _physical_r(o: Opnd) -> bool:
    return in_file(o, K_R) and is_physical(o) and is_bare(o)
