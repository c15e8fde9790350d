"""Why loops were not unrolled: what the passes of unrolling look at, told after they have run.

Only functions whose decisions are wanted come here (``Options.remarks``).
"""

from orias.analysis.cfg import Loop, dominators, find_loops
from orias.analysis.divergence import divergence
from orias.ori.decisions import NOT_UNROLLED, UNROLLED, Decision
from orias.ori.ir import Func
from orias.passes.licm import line_of
from orias.passes.loop_bodies import Body, find_bodies, obstacle, size_of_body
from orias.passes.partial_unroll import find_counter, least_copies, pays_apart


def note_loops(fn: Func, first_new: int) -> None:
    """Add a decision for each loop that stays as it was; `first_new`: blocks from this id on are copies that unrolling made."""
    if fn.decisions is None:
        return
    done = {d.numbers.get("block", -1) for d in fn.decisions if d.kind == UNROLLED}
    forest = find_loops(fn, dominators(fn))
    bodies = {body.header.id: body for body in find_bodies(fn, forest)}
    outer = {loop.parent.header.id for loop in forest.loops if loop.parent is not None}
    for loop in forest.loops:
        header = loop.header
        if header.id < first_new and header.id not in done:
            numbers = {"blocks": len(loop.blocks), "depth": loop.depth, "block": header.id}
            reason = _reason(fn, loop, header.id in outer, bodies.get(header.id))
            fn.decisions.append(Decision(NOT_UNROLLED, line_of(loop), reason, numbers))


def _reason(fn: Func, loop: Loop, has_inner: bool, body: Body | None) -> str:
    if fn.no_unroll or loop.header.no_unroll:
        return "the loop stays: the program forbids unrolling (nounroll)"
    if fn.moves_stack:
        return "the loop stays: the function moves its stack (alloca)"
    if has_inner:
        return "the loop stays: it has a loop inside"
    if body is None:
        return "the loop stays: its body has a call, a barrier of convergence, or more than one way in or out"
    if find_counter(body) is None:
        return "the loop stays: no counter with a constant step and an invariant bound decides when it ends"
    together = obstacle(body, True)
    if together is not None:
        return f"the loop stays: its body has {together.op.base}, which must not be copied"
    if not least_copies(body, fn.knobs):
        times, limit = fn.knobs.unroll_unknown_count, fn.knobs.unroll_unknown_inst_limit
        return f"the loop stays: its body has {size_of_body(body)} instructions, and {times} copies may have {limit} in all"
    if divergence(fn).branches[body.latch.id] and not pays_apart(body, fn.knobs):
        return "the loop stays: the threads of a warp run different numbers of iterations, and work together or load much in each"
    return "the loop stays: it runs too few iterations"
