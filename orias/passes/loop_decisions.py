"""Why loops were not unrolled: what the passes of unrolling look at, told after they have run.

Only functions whose decisions are wanted come here (``Options.remarks``).
"""

from orias.analysis.cfg import Loop, dominators, find_loops
from orias.analysis.divergence import divergence
from orias.ori.decisions import NOT_UNROLLED, UNROLLED, Decision
from orias.ori.ir import Func
from orias.passes.licm import line_of
from orias.passes.partial_unroll import find_counter, fits
from orias.passes.unroll import is_simple


def note_loops(fn: Func, first_new: int) -> None:
    """Add a decision for each loop that stays as it was; `first_new`: blocks from this id on are copies that unrolling made."""
    if fn.decisions is None:
        return
    done = {d.numbers.get("block", -1) for d in fn.decisions if d.kind == UNROLLED}
    for loop in find_loops(fn, dominators(fn)).loops:
        header = loop.header
        if header.id < first_new and header.id not in done:
            numbers = {"blocks": len(loop.blocks), "depth": loop.depth, "block": header.id}
            fn.decisions.append(Decision(NOT_UNROLLED, line_of(loop), _reason(fn, loop), numbers))


def _reason(fn: Func, loop: Loop) -> str:
    block = loop.header
    if fn.no_unroll or block.no_unroll:
        return "the loop stays: the program forbids unrolling (nounroll)"
    if fn.moves_stack:
        return "the loop stays: the function moves its stack (alloca)"
    if len(loop.blocks) > 1:
        return f"the loop stays: its body has {len(loop.blocks)} blocks, and only loops of one block are unrolled"
    if not is_simple(block):
        return "the loop stays: its body has a call, a barrier of convergence, or more than one way in"
    if find_counter(block) is None:
        return "the loop stays: no counter with a constant step and an invariant bound decides when it ends"
    if not fits(block, fn.knobs):
        return "the loop stays: its body is too large, or has an operation that must not be copied"
    if divergence(fn).branches[block.id]:
        return "the loop stays: the threads of a warp run different numbers of iterations"
    return "the loop stays: it runs too few iterations"
