"""OriLoopUnrolling: full unrolling of loops with a known number of iterations.

As ptxas does (docs/facts/optimizer.md); the knobs UnrollFull... say how large a loop may come out.  Loops with ``.pragma "nounroll"``
stay.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.operand import (
    ABS,
    INV,
    K_P,
    NEG,
    NOT_PT,
    PT,
    Opnd,
    has_lane,
    has_suffix,
    imm,
    imm64,
    in_file,
    is_vreg,
    kind_of,
    reg,
    vreg,
)
from orias.ori.decisions import UNROLLED, Decision
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.loop_bodies import Body, copy_iteration, find_bodies, in_register, next_values
from orias.semantics.integers import constant64_of, evaluate, known

_COMPARE: Final = ("LT", "EQ", "LE", "GT", "NE", "GE")
_FOLDS_TO: Final = 4
"""Times the final size that the iterations may have before folding."""
_FOLDED: Final = frozenset(known()) | {"copy"}


def unroll_loops(fn: Func, budget: int) -> int:
    """Unroll innermost loops; about how many instructions that adds, at most `budget`, and 0 if none was unrolled."""
    if fn.no_unroll or fn.moves_stack:
        return 0
    forest = find_loops(fn, dominators(fn))
    if not forest.loops:
        return 0
    knobs = fn.knobs
    added = 0
    for body in find_bodies(fn, forest):
        iterations = _count_iterations(body, knobs.unroll_full_iterations)
        limit = min(knobs.unroll_full_inst_limit + iterations * knobs.unroll_full_inst_step, knobs.unroll_full_inst_max)
        size = iterations * _size(body)
        if iterations == 0 or size > min(limit, budget - added) or iterations * len(body.insts()) > _FOLDS_TO * limit:
            continue
        if fn.decisions is not None:
            text = f"the loop's {iterations} iterations are written out"
            numbers = {"iterations": iterations, "body": len(body.insts()), "block": body.header.id}
            fn.decisions.append(Decision(UNROLLED, body.latch.insts[-1].loc, text, numbers))
        _write_out(fn, body, iterations)
        added += max(1, size)
    return added


def _size(body: Body) -> int:
    """Instructions of an iteration, without what folding will most likely take away once counters are constants."""
    counters = {vreg(p.dst[0]) for p in body.phis() if constant64_of(p.src[body.entry]) is not None}
    size = 0
    for inst in body.insts():
        if inst.op is OP_PHI:
            continue
        unknown = [
            s for s in inst.src if s != PT and constant64_of(s) is None and not (is_vreg(s) and vreg(s) in counters)
        ]
        if not unknown and inst.guard == PT and inst.op.base in _FOLDED:
            counters.update(vreg(d) for d in inst.dst if is_vreg(d))
        elif not (
            inst.op.name in ("IADD3", "iadd64")
            and all(s in unknown or constant64_of(s) is not None for s in inst.src)
            and len(unknown) < 2
        ):
            size += not _is_offset(inst, unknown)
    return size


def _is_offset(inst: Inst, unknown: list[Opnd]) -> bool:
    """True for a base plus a multiple of a counter: an address with a constant offset, once the counter is a constant."""
    if len(unknown) != 1 or unknown[0] != inst.src[-1]:
        return False
    return inst.op.name in ("IMAD.WIDE", "IMAD.WIDE.U32", "iadd64")


# --- the number of iterations


def _count_iterations(body: Body, most: int) -> int:
    """How often the body runs; 0 if that is not known, or more than `most` times."""
    branch = body.goes_on
    phis, chain = _decide(body, branch)
    state: dict[int, int | None] = {vreg(p.dst[0]): constant64_of(p.src[body.entry]) for p in phis}
    for iteration in range(1, most + 1):
        seen = dict(state)
        for inst in chain:
            seen[vreg(inst.dst[0])] = _compute(inst, seen)
        goes_on = _value(branch, seen)
        if goes_on is None:
            return 0
        if not goes_on:
            return iteration
        state = {vreg(p.dst[0]): _value(p.src[1 - body.entry], seen) for p in phis}
    return 0


def _decide(body: Body, branch: Opnd) -> tuple[list[Inst], list[Inst]]:
    """What decides whether the loop goes on: phis of the header, and instructions in their order."""
    defs = body.defs()
    needed: set[int] = set()
    work = [branch]
    while work:
        o = work.pop()
        inst = defs.get(vreg(o)) if is_vreg(o) else None
        if inst is not None and inst.uid not in needed:
            needed.add(inst.uid)
            work.extend(inst.src)
    return [p for p in body.phis() if p.uid in needed], [i for i in body.insts() if i.uid in needed]


def _value(o: Opnd, seen: dict[int, int | None]) -> int | None:
    """The operand's value in one iteration: a pattern, or 0 and 1 for predicates; `seen` holds what is known of registers."""
    if o == PT:
        return 1
    if not is_vreg(o):
        return constant64_of(o)
    v = seen.get(vreg(o))
    if v is None or o & ABS or has_suffix(o) or has_lane(o):
        return None
    if in_file(o, K_P):
        return v ^ 1 if o & INV else v
    return -v if o & NEG else None if o & INV else v


def _compute(inst: Inst, seen: dict[int, int | None]) -> int | None:
    """The first result of an instruction, if it is known."""
    base = inst.op.base
    if inst.guard != PT or inst.op is OP_PHI:
        return None
    values: list[int] = []
    for s in inst.src:
        v = _value(s, seen)
        if v is None:
            return None
        values.append(v)
    if inst.op is OP_COPY:
        return values[0]
    if inst.op.name == "IADD3" or (base == "iadd64" and len(values) == 2):
        if len(inst.dst) != 1:
            return None
    elif base == "ISETP" or base == "isetp64":
        if len(values) != 3 or values[2] != 1 or inst.op.mods[0] not in _COMPARE:
            return None
        if base == "ISETP" and (inst.op.has("EX") or not inst.op.has("AND")):
            return None
    else:
        return None
    src: list[Opnd] = []
    for s, v in zip(inst.src, values, strict=True):
        src.append((PT if v else NOT_PT) if in_file(s, K_P) else imm64(v) if base[0] == "i" else imm(v))
    results = evaluate(inst.op, src)
    return None if results is None else results[0]


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
