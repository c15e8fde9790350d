"""OriLoopUnrolling: partial unrolling of loops of one block with an unknown number of iterations.

The loop gets a copy that runs a few iterations between tests (the knob UnrollUnknownCount, here n).  The copy runs while so many iterations are sure
to follow; the loop itself runs the rest.  Loads of these iterations are then in one block, where the scheduler puts them
in front, and the loop's counter, test and branch cost once in n iterations (Muchnick, Advanced Compiler
Design and Implementation, 17.4.3).  ptxas 13.0.88 does the same.

With the counter x, its step c and the test ``x < b``, the copy tests ``x < b - (n - 1) * c``; it is skipped where
that difference wraps around.
"""

from typing import Final, NamedTuple

from orias.analysis.cfg import dominators, find_loops
from orias.analysis.divergence import divergence
from orias.analysis.known_bits import possible_bits
from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_FREE, F_PINNED, op
from orias.isa.operand import (
    INV,
    K_CONST,
    K_NONE,
    K_P,
    K_R,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    imm,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    kind_of,
    reg,
    vreg,
)
from orias.knobs.knob_values import Knobs
from orias.ori.decisions import UNROLLED, Decision
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.passes.unroll import clone_body, is_simple, mapped, phi_registers

_LARGEST_STEP: Final = 1 << 20
_NEVER: Final = F_CALL | F_CONVERGENT | F_FENCE | F_PINNED
_BRA: Final = op("BRA")
_ADD: Final = op("IADD3")
_OPPOSITE: Final = {"LT": "GE", "GE": "LT", "LE": "GT", "GT": "LE", "EQ": "NE", "NE": "EQ"}
_SWAPPED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_UP: Final = {"LT": "LT", "LE": "LE", "NE": "LT"}
_DOWN: Final = {"GT": "GT", "GE": "GE", "NE": "GT"}


class _Counter(NamedTuple):
    """The test of a loop: it goes on while ``next CMP bound``; ``next`` is ``phi`` plus ``step``."""

    phi: Inst
    next: Opnd
    step: int
    test: str
    """The comparison that goes on."""
    sign: str
    """``.U32`` or nothing."""
    bound: Opnd


def unroll_partly(fn: Func) -> bool:
    """Unroll the loops where it is worth it; True if there were any."""
    if fn.no_unroll or fn.moves_stack or not any(b in b.succs for b in fn.blocks):
        return False
    found: list[tuple[Block, _Counter]] = []
    for loop in find_loops(fn, dominators(fn)).loops:
        block = loop.header
        if len(loop.blocks) == 1 and not block.no_unroll and is_simple(block) and fits(block, fn.knobs):
            counter = find_counter(block)
            if counter is not None:
                found.append((block, counter))
    if not found:
        return False
    defs: list[Inst | None] = [None] * len(fn.vkind)
    for inst in fn.insts():
        for d in inst.dst:
            if is_vreg(d):
                defs[vreg(d)] = inst
    facts = divergence(fn)
    chosen = [
        (b, c)
        for b, c in found
        if not facts.branches[b.id] and not _few_iterations(defs, b, c, fn.knobs.unroll_unknown_count)
    ]
    if not chosen:
        return False
    homes: dict[int, int] = {}
    for block, _ in chosen:
        for inst in block.insts:
            for d in inst.dst:
                if is_vreg(d):
                    homes[vreg(d)] = block.id
    read = _read_elsewhere(fn, homes)
    ways_out: list[tuple[Block, list[Inst]]] = []
    renamed: dict[int, int] = {}
    for block, counter in chosen:
        if fn.decisions is not None:
            text = f"{fn.knobs.unroll_unknown_count} iterations run between two tests of the loop; a copy of the loop runs the rest"
            numbers = {"factor": fn.knobs.unroll_unknown_count, "body": len(block.insts), "block": block.id}
            fn.decisions.append(Decision(UNROLLED, block.insts[-1].loc, text, numbers))
        ways_out.append(_write(fn, block, counter, read, renamed))
    _rename(fn, homes, renamed)
    for out, phis in ways_out:
        for phi in phis:
            phi.src[0] = mapped(phi.src[0], renamed)
        out.insts[:0] = phis
    return True


# --- what to unroll


def fits(block: Block, knobs: Knobs) -> bool:
    """True if so many iterations of the body as the copy runs are small enough, and all of it may be copied."""
    size = 0
    for inst in block.insts:
        if inst.op is OP_PHI or inst.op.flags & F_FREE:
            continue
        if inst.op.flags & _NEVER and inst.op.base != "BRA":
            return False
        size += 1
    return size * knobs.unroll_unknown_count <= knobs.unroll_unknown_inst_limit


def find_counter(block: Block) -> _Counter | None:
    """The test that ends the loop, if it compares a counter with a bound."""
    defs = {vreg(d): i for i in block.insts for d in i.dst if is_vreg(d)}
    branch = block.insts[-1].guard
    if not is_vreg(branch) or not in_file(branch, K_P):
        return None
    test = defs.get(vreg(branch))
    if test is None or test.op.base != "ISETP" or test.guard != PT or vreg(test.dst[0]) != vreg(branch):
        return None
    mods = test.op.mods
    if (
        len(test.src) != 3
        or test.src[2] != PT
        or mods[0] not in _OPPOSITE
        or test.op.has("EX")
        or not test.op.has("AND")
    ):
        return None
    name = _OPPOSITE[mods[0]] if branch & INV else mods[0]
    left, right = test.src[0], test.src[1]
    if not _steps(left, defs):
        left, right, name = right, left, _SWAPPED[name]
    if not _steps(left, defs) or not _is_invariant(right, defs):
        return None
    add = defs[vreg(left)]
    source, by = add.src[0], add.src[1]
    if is_imm(source):
        source, by = by, source
    phi = defs.get(vreg(source)) if is_vreg(source) and is_bare(source) else None
    if phi is None or phi.op is not OP_PHI or not is_imm(by) or not is_bare(by):
        return None
    entry = 1 - block.preds.index(block)
    if phi.src[1 - entry] != left:
        return None
    step = _number(by, "")
    if step == 0 or abs(step) > _LARGEST_STEP or name not in (_UP if step > 0 else _DOWN):
        return None
    sign = ".U32" if test.op.has("U32") and name != "NE" else ""
    return _Counter(phi, left, step, name, sign, right)


def _steps(o: Opnd, defs: dict[int, Inst]) -> bool:
    """True for the plain result of an addition in the loop."""
    if not is_vreg(o) or not is_bare(o):
        return False
    d = defs.get(vreg(o))
    return d is not None and d.op is _ADD and len(d.dst) == 1 and d.guard == PT and d.src[2] == RZ


def _is_invariant(o: Opnd, defs: dict[int, Inst]) -> bool:
    if not is_bare(o):
        return False
    return is_imm(o) or o == RZ or in_file(o, K_CONST) or (is_vreg(o) and vreg(o) not in defs)


def _few_iterations(defs: list[Inst | None], block: Block, counter: _Counter, count: int) -> bool:
    """True if the number of iterations is known to be too small for the copy."""
    first = counter.phi.src[1 - block.preds.index(block)]
    low, high = (first, counter.bound) if counter.step > 0 else (counter.bound, first)
    if low != RZ and not (is_imm(low) and imm_value(low) >= 0):
        return False
    return possible_bits(defs, high) < count * abs(counter.step)


def _ends_with_copy(counter: _Counter, first: Opnd, count: int) -> bool:
    """True if the number of iterations is known, and a multiple of those of the copy."""
    if not (is_imm(first) or first == RZ) or not (is_imm(counter.bound) or counter.bound == RZ):
        return False
    start, bound = _number(first, counter.sign), _number(counter.bound, counter.sign)
    way = bound - start
    if counter.test in ("LE", "GE"):
        way += 1 if counter.step > 0 else -1
    iterations = -(-way // counter.step)
    if iterations <= 0 or (counter.test == "NE" and way % counter.step):
        return False
    end = start + iterations * counter.step
    return iterations % count == 0 and (0 <= end <= 0xFFFFFFFF if counter.sign else -(1 << 31) <= end < 1 << 31)


def _number(o: Opnd, sign: str) -> int:
    value = 0 if o == RZ else imm_value(o) & 0xFFFFFFFF
    return value if sign else value - ((value & 0x80000000) << 1)


# --- writing the copy


def _write(
    fn: Func, block: Block, counter: _Counter, read: set[int], renamed: dict[int, int]
) -> tuple[Block, list[Inst]]:
    """Put the copy before the loop; the block after both loops, and the phis that it needs."""
    back = block.preds.index(block)
    entry = 1 - back
    before, after = block.preds[entry], block.succs[0]
    phis = [i for i in block.insts if i.op is OP_PHI]
    body = [i for i in block.insts if i.op is not OP_PHI][:-1]
    loc = block.insts[-1].loc
    guard, main, rest, join, out = (fn.new_block() for _ in range(5))

    # Are there enough iterations for the copy?
    count = fn.knobs.unroll_unknown_count
    ahead = (count - 1) * counter.step
    name = (_UP if counter.step > 0 else _DOWN)[counter.test]
    test = op(f"ISETP.{name}{counter.sign}.AND")
    strict = op(f"ISETP.{'LT' if counter.step > 0 else 'GT'}{counter.sign}.AND")
    last = fn.new_vreg(K_R)
    is_real, enough = fn.new_vreg(K_P), fn.new_vreg(K_P)
    guard.insts.append(fn.new_inst(_ADD, [last], [counter.bound, imm(-ahead), RZ], loc=loc))
    guard.insts.append(fn.new_inst(strict, [is_real, PT], [last, counter.bound, PT], loc=loc))
    guard.insts.append(fn.new_inst(test, [enough, PT], [counter.phi.src[entry], last, is_real], loc=loc))
    guard.insts.append(fn.new_inst(_BRA, [], [], enough, loc=loc))

    # The copy.
    now: dict[int, int] = {}
    copies: list[Inst] = []
    for phi in phis:
        d = fn.new_vreg(kind_of(phi.dst[0]), fn.width(phi.dst[0]))
        copies.append(fn.new_inst(OP_PHI, [d], [phi.src[entry]], loc=phi.loc))
        now[vreg(phi.dst[0])] = vreg(d)
    main.insts.extend(copies)
    values = now
    for _ in range(count):
        values = dict(now)
        clone_body(fn, body, values, main.insts)
        now = phi_registers(fn, phis, back, values, main.insts)
    for phi, copy in zip(phis, copies, strict=True):
        ident = vreg(phi.dst[0])
        copy.src.append(reg(kind_of(phi.dst[0]), now[ident]))
    goes_on = fn.new_vreg(K_P)
    step = mapped(counter.next, values)
    main.insts.append(fn.new_inst(test, [goes_on, PT], [step, last, PT], loc=loc))
    main.insts.append(fn.new_inst(_BRA, [], [], goes_on, loc=loc))

    # The rest, if there is one.
    more = NOT_PT if _ends_with_copy(counter, counter.phi.src[entry], count) else fn.new_vreg(K_P)
    if more != NOT_PT:
        exact = op(f"ISETP.{counter.test}{counter.sign}.AND")
        rest.insts.append(fn.new_inst(exact, [more, PT], [step, counter.bound, PT], loc=loc))
    rest.insts.append(fn.new_inst(_BRA, [], [], more, loc=loc))
    for phi in phis:
        d = fn.new_vreg(kind_of(phi.dst[0]), fn.width(phi.dst[0]))
        join.insts.append(
            fn.new_inst(OP_PHI, [d], [phi.src[entry], reg(kind_of(d), now[vreg(phi.dst[0])])], loc=phi.loc)
        )
        phi.src[entry] = d

    # Values that are read after the loop come from the copy or from the loop.
    merged: list[Inst] = []
    for inst in block.insts:
        for d in inst.dst:
            if is_vreg(d) and vreg(d) in read:
                new = fn.new_vreg(kind_of(d), fn.width(d))
                renamed[vreg(d)] = vreg(new)
                merged.append(fn.new_inst(OP_PHI, [new], [mapped(d, values), d], loc=inst.loc))

    before.succs[before.succs.index(block)] = guard
    guard.preds, guard.succs = [before], [join, main]
    main.preds, main.succs = [guard, main], [rest, main]
    rest.preds, rest.succs = [main], [out, join]
    join.preds, join.succs = [guard, rest], [block]
    block.preds[entry] = join
    block.succs[0] = out
    out.preds, out.succs = [rest, block], [after]
    after.preds[after.preds.index(block)] = out
    at = fn.blocks.index(block)
    fn.blocks[at + 1 : at + 1] = [out]
    fn.blocks[at:at] = [guard, main, rest, join]
    return out, merged


def _read_elsewhere(fn: Func, homes: dict[int, int]) -> set[int]:
    """The registers of `homes` that blocks other than their own read."""
    found: set[int] = set()
    for b in fn.blocks:
        for inst in b.insts:
            for o in inst.uses():
                if is_vreg(o) and homes.get(vreg(o), b.id) != b.id:
                    found.add(vreg(o))
    return found


def _rename(fn: Func, homes: dict[int, int], renamed: dict[int, int]) -> None:
    """Make blocks other than its own read the value of a register after both loops."""
    for b in fn.blocks:
        for inst in b.insts:
            for k, s in enumerate(inst.src):
                inst.src[k] = _renamed(s, b.id, homes, renamed)
            inst.guard = _renamed(inst.guard, b.id, homes, renamed)
            if inst.old != K_NONE:
                inst.old = _renamed(inst.old, b.id, homes, renamed)


def _renamed(o: Opnd, block: int, homes: dict[int, int], renamed: dict[int, int]) -> Opnd:
    return mapped(o, renamed) if is_vreg(o) and homes.get(vreg(o), block) != block else o
