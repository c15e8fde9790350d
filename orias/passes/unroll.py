"""OriLoopUnrolling: full unrolling of loops with a known number of iterations.

As ptxas does (docs/facts/optimizer.md); the knobs UnrollFull... say how large a loop may come out.  Loops with ``.pragma "nounroll"``
stay.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import op
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
from orias.passes.addends import addends, is_plain_sum
from orias.passes.local_words import is_small
from orias.passes.loop_bodies import Body, copy_iteration, find_bodies, in_register, next_values
from orias.semantics.integers import constant64_of, evaluate, known

_COMPARE: Final = ("LT", "EQ", "LE", "GT", "NE", "GE")
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
    knobs = fn.knobs
    added = 0
    frame = _places_in_frame(fn)
    for body in find_bodies(fn, forest):
        runs = _iterations(body, knobs.unroll_full_iterations)
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


# --- the number of iterations


def _iterations(body: Body, most: int) -> list[tuple[int, ...]]:
    """The blocks (ids) that each iteration may run; nothing if it is not known how many there are, or more than `most`."""
    branch = body.goes_on
    inner = {b.id: b.insts[-1].guard for b in body.blocks[:-1] if len(b.succs) == 2}
    phis, chain = _decide(body, [branch, *inner.values()])
    state: dict[int, int | None] = {vreg(p.dst[0]): constant64_of(p.src[body.entry]) for p in phis}
    runs: list[tuple[int, ...]] = []
    for _ in range(most):
        seen = dict(state)
        for inst in chain:
            seen[vreg(inst.dst[0])] = _compute(inst, seen)
        goes_on = _value(branch, seen)
        if goes_on is None:
            return []
        runs.append(_reached(body, inner, seen))
        if not goes_on:
            return runs
        state = {vreg(p.dst[0]): _value(p.src[1 - body.entry], seen) for p in phis}
    return []


def _reached(body: Body, inner: dict[int, Opnd], seen: dict[int, int | None]) -> tuple[int, ...]:
    """The blocks that an iteration may run, by what is known of its branches."""
    reached = {body.header.id}
    for b in body.blocks[:-1]:
        if b.id in reached:
            taken = _value(inner[b.id], seen) if b.id in inner else None
            reached.update(s.id for k, s in enumerate(b.succs) if taken is None or k == taken)
    return tuple(b.id for b in body.blocks if b.id in reached)


def _decide(body: Body, branches: list[Opnd]) -> tuple[list[Inst], list[Inst]]:
    """What decides where an iteration goes: phis of the header, and instructions in their order."""
    defs = body.defs()
    needed: set[int] = set()
    work = list(branches)
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
