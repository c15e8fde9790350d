"""OriLoopUnrolling: full unrolling of loops with a known number of iterations.

As ptxas does (docs/facts/optimizer.md); the knobs UnrollFull... say how large a loop may come out.  Loops with ``.pragma "nounroll"``
stay.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import op
from orias.isa.operand import (
    NOT_PT,
    PT,
    Opnd,
    is_vreg,
    kind_of,
    reg,
    vreg,
)
from orias.ori.decisions import UNROLLED, Decision
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.addends import addends, is_plain_sum
from orias.passes.known_iterations import known_iterations
from orias.passes.local_words import is_small
from orias.passes.loop_bodies import Body, copy_iteration, find_bodies, in_register, next_values
from orias.passes.untaken_exits import drop_untaken_exits
from orias.semantics.integers import constant64_of, known

_FRAME: Final = op("frame")
_LOCAL: Final = ("LDL", "STL")
_BRA: Final = op("BRA")
_FOLDS_TO: Final = 8
"""Times the final size that the iterations may have before folding."""
_FOLDED: Final = frozenset(known()) | {"copy"}


def unroll_loops(fn: Func, budget: int) -> int:
    """Unroll innermost loops; about how many instructions that adds, at most `budget`, and 0 if none was unrolled."""
    if fn.no_unroll or fn.moves_stack:
        return 0
    forest = find_loops(fn, dominators(fn))
    if not forest.loops:
        return 0
    if drop_untaken_exits(fn, forest):
        forest = find_loops(fn, dominators(fn))
    knobs = fn.knobs
    added = 0
    frame = _places_in_frame(fn)
    for body in find_bodies(fn, forest):
        runs = known_iterations(body, knobs.unroll_full_iterations)
        iterations = len(runs)
        limit = min(knobs.unroll_full_inst_limit + iterations * knobs.unroll_full_inst_step, knobs.unroll_full_inst_max)
        if iterations == 0 or iterations * len(body.insts()) > _FOLDS_TO * limit:
            continue
        sizes = _sizes(body, frame)
        size = sum(sizes[b] for reached in runs for b in reached)
        if size > min(limit, budget - added):
            continue
        if fn.decisions is not None:
            text = f"the loop's {iterations} iterations are written out"
            numbers = {"iterations": iterations, "body": len(body.insts()), "block": body.header.id}
            fn.decisions.append(Decision(UNROLLED, body.latch.insts[-1].loc, text, numbers))
        _write_out(fn, body, iterations)
        added += max(1, size)
    return added


def _places_in_frame(fn: Func) -> set[int]:
    """The registers with addresses in the frame, if it may become registers once they are constants."""
    if not fn.frame_fixed or not is_small(fn):
        return set()
    return {vreg(i.dst[0]) for i in fn.insts() if i.op is _FRAME}


def _sizes(body: Body, frame: set[int]) -> dict[int, int]:
    """Instructions of each block (id), without what folding will most likely take away once counters are constants.

    `frame` gets what is added to the addresses in it.
    """
    constants = _constants(body)
    sizes: dict[int, int] = {}
    for b in body.blocks:
        size = 0
        for inst in b.insts:
            if inst.op is OP_PHI or (b is body.latch and inst is b.insts[-1]) or _folds(inst, constants):
                continue
            unknown = _unknown(inst.src, constants)
            if _is_place(inst, unknown, frame):
                frame.add(vreg(inst.dst[0]))
            elif not (_is_step(inst, unknown) or _is_offset(inst, unknown) or _is_in_frame(inst, frame)):
                size += 1
        sizes[b.id] = size
    return sizes


def _constants(body: Body) -> set[int]:
    """The registers that most likely are constants in each iteration: phis that begin as constants and what is computed from them alone."""
    phis = [p for p in body.phis() if constant64_of(p.src[body.entry]) is not None]
    while True:
        constants = {vreg(p.dst[0]) for p in phis}
        for inst in body.insts():
            if inst.op is not OP_PHI and _folds(inst, constants):
                constants.update(vreg(d) for d in inst.dst if is_vreg(d))
        kept = [p for p in phis if not _unknown([p.src[1 - body.entry]], constants)]
        if len(kept) == len(phis):
            return constants
        phis = kept


def _folds(inst: Inst, constants: set[int]) -> bool:
    """True for a branch on a constant, and for an operation on constants alone."""
    if inst.op is _BRA:
        return is_vreg(inst.guard) and vreg(inst.guard) in constants
    return inst.guard == PT and inst.op.base in _FOLDED and not _unknown(inst.src, constants)


def _unknown(src: list[Opnd], constants: set[int]) -> list[Opnd]:
    """The sources that are not constants."""
    return [
        s
        for s in src
        if s not in (PT, NOT_PT) and constant64_of(s) is None and not (is_vreg(s) and vreg(s) in constants)
    ]


def _is_step(inst: Inst, unknown: list[Opnd]) -> bool:
    """True for a sum with a constant: what follows it adds both constants."""
    if not is_plain_sum(inst) or len(unknown) > 1:
        return False
    return all(s in unknown or constant64_of(s) is not None for s in inst.src)


def _is_offset(inst: Inst, unknown: list[Opnd]) -> bool:
    """True for a base plus a multiple of a counter: an address with a constant offset, once the counter is a constant."""
    if len(unknown) != 1 or unknown[0] != inst.src[-1]:
        return False
    return inst.op.name in ("IMAD.WIDE", "IMAD.WIDE.U32", "iadd64")


def _is_place(inst: Inst, unknown: list[Opnd], frame: set[int]) -> bool:
    """True for an address in the frame plus something known."""
    if len(unknown) != 1 or not is_vreg(unknown[0]) or vreg(unknown[0]) not in frame or inst.guard != PT:
        return False
    return unknown[0] in addends(inst)


def _is_in_frame(inst: Inst, frame: set[int]) -> bool:
    """True for an access to the frame at a place that will be a constant."""
    return inst.op.base in _LOCAL and is_vreg(inst.src[1]) and vreg(inst.src[1]) in frame


# --- writing the iterations out


def _write_out(fn: Func, body: Body, iterations: int) -> None:
    header, latch = body.header, body.latch
    before, after = header.preds[body.entry], body.after
    at = fn.blocks.index(header)
    first: list[Inst] = []
    now = {vreg(phi.dst[0]): in_register(fn, phi, phi.src[body.entry], first) for phi in body.phis()}
    new: list[Block] = []
    last = before
    for _ in range(iterations - 1):
        values = dict(now)
        copies = copy_iteration(fn, body, values)
        _lead(last, header, copies[0])
        copies[0].preds = [last]
        copies[0].insts[:0] = first
        first = []
        last = copies[-1]
        now = next_values(fn, body, values, last.insts)
        new.extend(copies)
    # The last iteration is the loop itself, so that what is read after the loop stays where it is.
    for phi in body.phis():
        d = phi.dst[0]
        phi.op = OP_COPY
        phi.src = [reg(kind_of(d), now[vreg(d)])]
    header.insts[:0] = first
    _lead(last, header, header)
    header.preds = [last]
    latch.insts.pop()
    latch.succs = [after]
    fn.blocks[at:at] = new


def _lead(b: Block, old: Block, to: Block) -> None:
    """Make the edge from a block to `old`, or its end without a successor, lead to another block."""
    b.succs = [to if s is old else s for s in b.succs] or [to]
