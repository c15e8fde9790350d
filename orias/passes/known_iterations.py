"""What the iterations of a loop do whose branches depend on counters with known values."""

from typing import Final

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
    vreg,
)
from orias.ori.ir import OP_COPY, OP_PHI, Inst
from orias.passes.loop_bodies import Body
from orias.semantics.integers import constant64_of, evaluate

_COMPARE: Final = ("LT", "EQ", "LE", "GT", "NE", "GE")


def known_iterations(body: Body, most: int) -> list[tuple[int, ...]]:
    """The blocks (ids) that each iteration may run, those that it may leave the loop for before its end among them.

    Nothing if it is not known how many iterations there are, or if there are more than `most`.
    """
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
    return tuple(sorted(reached))


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
