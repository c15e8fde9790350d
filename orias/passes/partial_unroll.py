"""OriLoopUnrolling: partial unrolling of loops with an unknown number of iterations.

The loop gets a copy that runs a few iterations between tests (the knob UnrollUnknownCount, here n).  The copy runs while so many iterations are sure
to follow; the loop itself runs the rest.  Loads of these iterations are then beside each other, where the scheduler puts them
in front, and the loop's counter, test and branch cost once in n iterations (Muchnick, Advanced Compiler
Design and Implementation, 17.4.3).  ptxas 13.0.88 does the same, also where threads of a warp run different numbers of iterations.

With the counter x, its step c and the test ``x < b``, the copy tests ``x < b - (n - 1) * c``; it is skipped where
that difference wraps around.

Where so many iterations are too long, half as many run between tests, if they load and nothing keeps the loads of several apart.

Where iterations load, half as many follow the copy once, if so many are left, so that fewer of the rest wait one after another.
"""

from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.analysis.divergence import divergence
from orias.analysis.known_bits import possible_bits
from orias.isa.op import F_DISTANT, F_FENCE, F_WRITE, op
from orias.isa.operand import (
    INV,
    K_CONST,
    K_NONE,
    K_P,
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    imm,
    imm64,
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
from orias.passes.access_size import is_load
from orias.passes.loads_ahead import load_ahead
from orias.passes.loop_bodies import (
    Body,
    copies_well,
    copy_iteration,
    find_bodies,
    mapped,
    next_values,
    size_of_body,
)

_LARGEST_STEP: Final = 1 << 20
_BRA: Final = op("BRA")
_ADD: Final = op("IADD3")
_ADD_WIDE: Final = op("iadd64")
_SUMS: Final[dict[str, tuple[int, ...]]] = {_ADD.name: (0, 1, 2), "IMAD": (2,), "LEA": (1,), "LEA.HI": (1,)}
"""Additions, with the sources that are addends."""
_WIDE_SUMS: Final[dict[str, tuple[int, ...]]] = {"iadd64": (0, 1), "IMAD.WIDE": (2,), "IMAD.WIDE.U32": (2,)}
_OPPOSITE: Final = {"LT": "GE", "GE": "LT", "LE": "GT", "GT": "LE", "EQ": "NE", "NE": "EQ"}
_SWAPPED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_UP: Final = {"LT": "LT", "LE": "LE", "NE": "LT"}
_DOWN: Final = {"GT": "GT", "GE": "GE", "NE": "GT"}


@final
class _Counter:
    """The test of a loop: it goes on while ``next CMP bound``; ``next`` is ``phi`` plus ``step``."""

    __slots__ = ("bound", "next", "phi", "slot", "step", "test", "unsigned", "wide")

    def __init__(
        self, phi: Inst, next: Opnd, step: int, slot: int, test: str, unsigned: bool, wide: bool, bound: Opnd
    ) -> None:
        self.phi: Final[Inst] = phi
        self.next: Final[Opnd] = next
        self.step: Final[int] = step
        """0: the loop does not change it, and it must be positive for the copy to run."""
        self.slot: Final[int] = slot
        """The source of the addition that is ``phi``."""
        self.test: Final[str] = test
        """The comparison that goes on."""
        self.unsigned: Final[bool] = unsigned
        self.wide: Final[bool] = wide
        """The counter has 64 bits."""
        self.bound: Final[Opnd] = bound


def unroll_partly(fn: Func) -> bool:
    """Unroll the loops where it is worth it; True if there were any."""
    if fn.no_unroll or fn.moves_stack:
        return False
    tree = dominators(fn)
    forest = find_loops(fn, tree)
    if not forest.loops:
        return False
    found: list[tuple[Body, _Counter]] = []
    for body in find_bodies(fn, forest):
        counter = find_counter(body)
        if counter is not None and least_copies(body, fn.knobs) and copies_well(body, True):
            found.append((body, counter))
    if not found:
        return False
    defs: list[Inst | None] = [None] * len(fn.vkind)
    for inst in fn.insts():
        for d in inst.dst:
            if is_vreg(d):
                defs[vreg(d)] = inst
    facts = divergence(fn)
    chosen = [
        (body, c, _copies(body, c, fn.knobs))
        for body, c in found
        if sum(i.op.flags & F_DISTANT != 0 for i in body.insts()) <= fn.knobs.unroll_unknown_loads
        and (not facts.branches[body.latch.id] or pays_apart(body, fn.knobs))
        and (c.step != 0 or (any(is_load(i) for i in body.insts()) and not _stores(body)))
        and not _few_iterations(defs, body, c, least_copies(body, fn.knobs))
    ]
    if not chosen:
        return False
    where: dict[int, int] = {}
    homes: dict[int, int] = {}
    for body, _, _ in chosen:
        for b in body.blocks:
            where[b.id] = body.header.id
            for inst in b.insts:
                for d in inst.dst:
                    if is_vreg(d):
                        homes[vreg(d)] = body.header.id
    read = _read_elsewhere(fn, where, homes)
    ways_out: list[tuple[Block, list[Inst]]] = []
    renamed: dict[int, int] = {}
    for body, counter, count in chosen:
        if fn.decisions is not None:
            text = f"{count} iterations run between two tests of the loop; a copy of the loop runs the rest"
            numbers = {"factor": count, "body": len(body.insts()), "block": body.header.id}
            fn.decisions.append(Decision(UNROLLED, body.latch.insts[-1].loc, text, numbers))
        always = [k for k, b in enumerate(body.blocks) if tree.dominates(b.id, body.latch.id)]
        ways_out.extend(_write(fn, body, counter, count, always, read, renamed))
    _rename(fn, where, homes, renamed)
    for out, phis in ways_out:
        for phi in phis:
            phi.src[0] = mapped(phi.src[0], renamed)
        out.insts[:0] = phis
    return True


# --- what to unroll


def least_copies(body: Body, knobs: Knobs) -> int:
    """Iterations that a copy of the loop runs; half of them if more are too long and there are loads that come together; 0 if all are too long."""
    size, most = size_of_body(body), knobs.unroll_unknown_inst_limit
    count = knobs.unroll_unknown_count
    if size * count <= most:
        return count
    half = count // 2
    return (
        half if half > 1 and size * half <= most and any(is_load(i) for i in body.insts()) and not _stores(body) else 0
    )


def _copies(body: Body, counter: _Counter, knobs: Knobs) -> int:
    """Iterations of the copy: of a loop with loads and a known number of iterations as many as leave no rest, if they are small enough."""
    least = least_copies(body, knobs)
    if any(is_load(i) for i in body.insts()):
        most = min(knobs.unroll_known_count, knobs.unroll_unknown_inst_limit // size_of_body(body))
        for count in range(most, least, -1):
            if _ends_with_copy(counter, counter.phi.src[body.entry], count):
                return count
    return least


def pays_apart(body: Body, knobs: Knobs) -> bool:
    """True if unrolling pays where threads of a warp run different numbers of iterations.

    There the rest costs a warp nearly as many iterations as the copy saves tests, so iterations must not load much already, and
    nothing may keep their loads apart.
    """
    loads = sum(is_load(i) for i in body.insts())
    return copies_well(body, False) and loads <= knobs.unroll_divergent_loads and not _stores(body)


def _stores(body: Body) -> bool:
    """True if loads of an iteration may not go before those of the one before."""
    return any(i.op.flags & (F_WRITE | F_FENCE) for i in body.insts())


def find_counter(body: Body) -> _Counter | None:
    """The test that ends the loop, if it compares a counter with a bound."""
    defs = body.defs()
    branch = body.goes_on
    if not is_vreg(branch) or not in_file(branch, K_P):
        return None
    test = defs.get(vreg(branch))
    if test is None or test.guard != PT or vreg(test.dst[0]) != vreg(branch):
        return None
    mods = test.op.mods
    wide = test.op.base == "isetp64"
    if not wide and (test.op.base != "ISETP" or test.op.has("EX") or not test.op.has("AND")):
        return None
    if len(test.src) != 3 or test.src[2] != PT or mods[0] not in _OPPOSITE:
        return None
    name = _OPPOSITE[mods[0]] if branch & INV else mods[0]
    left, right = test.src[0], test.src[1]
    slot = _phi_slot(body, left, defs, wide)
    if slot < 0:
        left, right, name = right, left, _SWAPPED[name]
        slot = _phi_slot(body, left, defs, wide)
    if slot < 0 or not _is_invariant(right, defs):
        return None
    add = defs[vreg(left)]
    phi = defs[vreg(add.src[slot])]
    unsigned = (test.op.has("U64") if wide else test.op.has("U32")) and name != "NE"
    by = [s for k, s in enumerate(add.src) if k != slot and s != RZ]
    if add.op in (_ADD, _ADD_WIDE) and len(by) == 1 and is_imm(by[0]) and is_bare(by[0]):
        step = _number(by[0], wide, False)
        if step == 0 or abs(step) > _LARGEST_STEP or name not in (_UP if step > 0 else _DOWN):
            return None
        return _Counter(phi, left, step, slot, name, unsigned, wide, right)
    return _Counter(phi, left, 0, slot, name, unsigned, wide, right) if name in ("LT", "LE") else None


def _phi_slot(body: Body, o: Opnd, defs: dict[int, Inst], wide: bool) -> int:
    """The source of the instruction that makes `o` to which it adds what the loop does not change: a phi that gets `o`; or -1."""
    if not is_vreg(o) or not is_bare(o):
        return -1
    d = defs.get(vreg(o))
    slots = (_WIDE_SUMS if wide else _SUMS).get(d.op.name, ()) if d is not None else ()
    if d is None or len(d.dst) != 1 or d.guard != PT:
        return -1
    for k in slots:
        phi = defs.get(vreg(d.src[k])) if k < len(d.src) and is_vreg(d.src[k]) and is_bare(d.src[k]) else None
        if phi is not None and phi.op is OP_PHI and phi in body.phis() and phi.src[1 - body.entry] == o:
            return k if all(_is_invariant(s, defs) for n, s in enumerate(d.src) if n != k) else -1
    return -1


def _is_invariant(o: Opnd, defs: dict[int, Inst]) -> bool:
    if not is_bare(o):
        return False
    return is_imm(o) or o in (RZ, PT) or in_file(o, K_CONST) or (is_vreg(o) and vreg(o) not in defs)


def _few_iterations(defs: list[Inst | None], body: Body, counter: _Counter, count: int) -> bool:
    """True if the number of iterations is known to be too small for the copy."""
    first = counter.phi.src[body.entry]
    low, high = (first, counter.bound) if counter.step > 0 else (counter.bound, first)
    if counter.step == 0 or (low != RZ and not (is_imm(low) and _number(low, counter.wide, False) >= 0)):
        return False
    if counter.wide:
        return is_imm(high) and 0 <= _number(high, True, False) < count * abs(counter.step)
    return possible_bits(defs, high) < count * abs(counter.step)


def _ends_with_copy(counter: _Counter, first: Opnd, count: int) -> bool:
    """True if the number of iterations is known, and a multiple of those of the copy."""
    if counter.step == 0 or not (is_imm(first) or first == RZ) or not (is_imm(counter.bound) or counter.bound == RZ):
        return False
    start = _number(first, counter.wide, counter.unsigned)
    bound = _number(counter.bound, counter.wide, counter.unsigned)
    way = bound - start
    if counter.test in ("LE", "GE"):
        way += 1 if counter.step > 0 else -1
    iterations = -(-way // counter.step)
    if iterations <= 0 or (counter.test == "NE" and way % counter.step):
        return False
    end = start + iterations * counter.step
    size = 1 << (64 if counter.wide else 32)
    return iterations % count == 0 and (0 <= end < size if counter.unsigned else -size // 2 <= end < size // 2)


def _number(o: Opnd, wide: bool, unsigned: bool) -> int:
    """The number that an immediate of 32 or 64 bits stands for."""
    size = 1 << (64 if wide else 32)
    value = 0 if o == RZ else imm_value(o) % size
    return value - size if not unsigned and value >= size // 2 else value


# --- writing the copy


def _compare(fn: Func, counter: _Counter, name: str, d: Opnd, a: Opnd, b: Opnd, also: Opnd = PT) -> Inst:
    """``d = a NAME b && also`` for values of the counter's type."""
    loc = counter.phi.loc
    if counter.wide:
        return fn.new_inst(op(f"isetp64.{name}.{'U64' if counter.unsigned else 'S64'}"), [d], [a, b, also], loc=loc)
    return fn.new_inst(op(f"ISETP.{name}{'.U32' if counter.unsigned else ''}.AND"), [d, PT], [a, b, also], loc=loc)


def _last_start(fn: Func, counter: _Counter, add: Inst, count: int, out: list[Inst]) -> tuple[Opnd, Opnd]:
    """What a counter must not reach for `count` iterations to follow, and whether the step is small enough for that; code goes to `out`."""
    loc = counter.phi.loc
    width = 2 if counter.wide else 1
    last = fn.new_vreg(K_R, width)
    if counter.step != 0:
        ahead = (count - 1) * counter.step
        if counter.wide:
            out.append(fn.new_inst(_ADD_WIDE, [last], [counter.bound, imm64(-ahead)], loc=loc))
        else:
            out.append(fn.new_inst(_ADD, [last], [counter.bound, imm(-ahead), RZ], loc=loc))
        return last, PT
    # The step is what the addition makes of zero.  From 1 to `most` it leads `count` iterations on without an overflow.
    by = fn.new_vreg(K_R, width)
    zero = imm64(0) if counter.wide else RZ
    out.append(fn.new_inst(add.op, [by], [zero if k == counter.slot else s for k, s in enumerate(add.src)], loc=loc))
    way, is_small = fn.new_vreg(K_R, width), fn.new_vreg(K_P)
    most = (1 << (63 if counter.wide else 31)) // count
    if counter.wide:
        out.append(fn.new_inst(op("imul64"), [way], [by, imm64(count - 1)], loc=loc))
        out.append(fn.new_inst(_ADD_WIDE, [last], [counter.bound, way | NEG], loc=loc))
        out.append(fn.new_inst(op("isetp64.LT.U64"), [is_small], [by, imm64(most), PT], loc=loc))
    else:
        out.append(fn.new_inst(op("IMAD"), [way], [by, imm(count - 1), RZ], loc=loc))
        out.append(fn.new_inst(_ADD, [last], [counter.bound, way | NEG, RZ], loc=loc))
        out.append(fn.new_inst(op("ISETP.LT.U32.AND"), [is_small, PT], [by, imm(most), PT], loc=loc))
    return last, is_small


def _write(
    fn: Func, body: Body, counter: _Counter, count: int, always: list[int], read: set[int], renamed: dict[int, int]
) -> list[tuple[Block, list[Inst]]]:
    """Put the copy of `count` iterations before the loop; the blocks where values of both loops come together, each with the phis that it needs.

    `always`: the blocks of the body that every iteration runs.
    """
    header, latch, entry = body.header, body.latch, body.entry
    before, after = header.preds[entry], body.after
    phis = body.phis()
    loc = latch.insts[-1].loc
    rest, join, out = (fn.new_block() for _ in range(3))
    name = (_UP if counter.step >= 0 else _DOWN)[counter.test]
    guard, last = _enough(fn, body, counter, count)

    # The copy.
    now: dict[int, int] = {}
    copies: list[Inst] = []
    for phi in phis:
        d = fn.new_vreg(kind_of(phi.dst[0]), fn.width(phi.dst[0]))
        copies.append(fn.new_inst(OP_PHI, [d], [phi.src[entry]], loc=phi.loc))
        now[vreg(phi.dst[0])] = vreg(d)
    main, values, now = _iterations(fn, body, count, now, always)
    main[0].insts[:0] = copies
    for phi, copy in zip(phis, copies, strict=True):
        copy.src.append(reg(kind_of(phi.dst[0]), now[vreg(phi.dst[0])]))
    goes_on = fn.new_vreg(K_P)
    step = mapped(counter.next, values)
    main[-1].insts.append(_compare(fn, counter, name, goes_on, step, last))
    main[-1].insts.append(fn.new_inst(_BRA, [], [], goes_on, loc=loc))

    # The rest, if there is one.
    more = NOT_PT if _ends_with_copy(counter, counter.phi.src[entry], count) else fn.new_vreg(K_P)
    if more != NOT_PT:
        rest.insts.append(_compare(fn, counter, counter.test, more, step, counter.bound))
    rest.insts.append(fn.new_inst(_BRA, [], [], more, loc=loc))
    for phi in phis:
        d = fn.new_vreg(kind_of(phi.dst[0]), fn.width(phi.dst[0]))
        join.insts.append(
            fn.new_inst(OP_PHI, [d], [phi.src[entry], reg(kind_of(d), now[vreg(phi.dst[0])])], loc=phi.loc)
        )
        phi.src[entry] = d

    # Values that are read after the loop come from the copy or from the loop.
    merged: list[Inst] = []
    for b in body.blocks:
        for inst in b.insts:
            for d in inst.dst:
                if is_vreg(d) and vreg(d) in read:
                    new = fn.new_vreg(kind_of(d), fn.width(d))
                    renamed[vreg(d)] = vreg(new)
                    merged.append(fn.new_inst(OP_PHI, [new], [mapped(d, values), d], loc=inst.loc))

    before.succs[before.succs.index(header)] = guard
    guard.preds, guard.succs = [before], [join, main[0]]
    main[0].preds = [guard, main[-1]]
    main[-1].succs = [rest, main[0]]
    rest.preds, rest.succs = [main[-1]], [out, join]
    join.preds, join.succs = [guard, rest], [header]
    header.preds[entry] = join
    latch.succs[latch.succs.index(after)] = out
    out.preds, out.succs = [rest, latch], [after]
    after.preds[after.preds.index(latch)] = out
    at = max(fn.blocks.index(b) for b in body.blocks)
    fn.blocks.insert(at + 1, out)
    at = fn.blocks.index(header)
    fn.blocks[at:at] = [guard, *main, rest, join]
    half = count // 2
    if half > 1 and more != NOT_PT and any(is_load(i) for i in body.insts()):
        return [_write_half(fn, body, counter, half, always, (out, merged)), (out, merged)]
    return [(out, merged)]


def _enough(fn: Func, body: Body, counter: _Counter, count: int) -> tuple[Block, Opnd]:
    """A block without edges that branches if at least `count` iterations follow, and what the counter must not reach for that."""
    guard = fn.new_block()
    loc = body.latch.insts[-1].loc
    name = (_UP if counter.step >= 0 else _DOWN)[counter.test]
    strict = "LT" if counter.step >= 0 else "GT"
    last, is_small = _last_start(fn, counter, body.defs()[vreg(counter.next)], count, guard.insts)
    is_real, enough = fn.new_vreg(K_P), fn.new_vreg(K_P)
    guard.insts.append(_compare(fn, counter, strict, is_real, last, counter.bound, is_small))
    guard.insts.append(_compare(fn, counter, name, enough, counter.phi.src[body.entry], last, is_real))
    guard.insts.append(fn.new_inst(_BRA, [], [], enough, loc=loc))
    return guard, last


def _write_half(
    fn: Func, body: Body, counter: _Counter, count: int, always: list[int], way_out: tuple[Block, list[Inst]]
) -> tuple[Block, list[Inst]]:
    """Put `count` iterations between the copy and the loop, which run once if so many are left.

    `way_out`: the block after the copy and the loop, and its phis, the loop's value last.  Returns the block after these iterations
    and the loop, and its phis.
    """
    after, merged = way_out
    header, latch, entry = body.header, body.latch, body.entry
    before = header.preds[entry]
    loc = latch.insts[-1].loc
    guard, _ = _enough(fn, body, counter, count)
    join, out = fn.new_block(), fn.new_block()
    main, values, now = _iterations(
        fn, body, count, {vreg(phi.dst[0]): vreg(phi.src[entry]) for phi in body.phis()}, always
    )
    more = fn.new_vreg(K_P)
    main[-1].insts.append(_compare(fn, counter, counter.test, more, mapped(counter.next, values), counter.bound))
    main[-1].insts.append(fn.new_inst(_BRA, [], [], more, loc=loc))
    for phi in body.phis():
        d = fn.new_vreg(kind_of(phi.dst[0]), fn.width(phi.dst[0]))
        join.insts.append(
            fn.new_inst(OP_PHI, [d], [phi.src[entry], reg(kind_of(d), now[vreg(phi.dst[0])])], loc=phi.loc)
        )
        phi.src[entry] = d
    inner: list[Inst] = []
    for phi in merged:
        d = phi.src[1]
        new = fn.new_vreg(kind_of(d), fn.width(d))
        inner.append(fn.new_inst(OP_PHI, [new], [mapped(d, values), d], loc=phi.loc))
        phi.src[1] = new
    before.succs[before.succs.index(header)] = guard
    guard.preds, guard.succs = [before], [join, main[0]]
    main[0].preds = [guard]
    main[-1].succs = [out, join]
    join.preds, join.succs = [guard, main[-1]], [header]
    header.preds[entry] = join
    latch.succs[latch.succs.index(after)] = out
    out.preds, out.succs = [main[-1], latch], [after]
    after.preds[after.preds.index(latch)] = out
    at = max(fn.blocks.index(b) for b in body.blocks)
    fn.blocks.insert(at + 1, out)
    at = fn.blocks.index(header)
    fn.blocks[at:at] = [guard, *main, join]
    return out, inner


def _iterations(
    fn: Func, body: Body, count: int, now: dict[int, int], always: list[int]
) -> tuple[list[Block], dict[int, int], dict[int, int]]:
    """`count` iterations one after another, from the phis' values `now`: their blocks, the values of the last, and the phis' values after it."""
    values = now
    out: list[Block] = []
    for _ in range(count):
        values = dict(now)
        blocks = copy_iteration(fn, body, values)
        if out:
            fn.link(out[-1], blocks[0])
        out.extend(blocks)
        now = next_values(fn, body, values, out[-1].insts)
    if len(body.blocks) > 1:
        spine = [out[n + k] for n in range(0, len(out), len(body.blocks)) for k in always]
        load_ahead(fn, out, spine, fn.knobs.unroll_ahead_loads)
    return out, values, now


def _read_elsewhere(fn: Func, where: dict[int, int], homes: dict[int, int]) -> set[int]:
    """The registers of `homes` that are read outside of their loops; `where`: the loop of each block."""
    found: set[int] = set()
    for b in fn.blocks:
        here = where.get(b.id, -1)
        for inst in b.insts:
            for o in inst.uses():
                if is_vreg(o) and homes.get(vreg(o), here) != here:
                    found.add(vreg(o))
    return found


def _rename(fn: Func, where: dict[int, int], homes: dict[int, int], renamed: dict[int, int]) -> None:
    """Make blocks outside of a value's loop read what it is after both loops."""
    for b in fn.blocks:
        here = where.get(b.id, -1)
        for inst in b.insts:
            for k, s in enumerate(inst.src):
                inst.src[k] = _renamed(s, here, homes, renamed)
            inst.guard = _renamed(inst.guard, here, homes, renamed)
            if inst.old != K_NONE:
                inst.old = _renamed(inst.old, here, homes, renamed)


def _renamed(o: Opnd, here: int, homes: dict[int, int], renamed: dict[int, int]) -> Opnd:
    return mapped(o, renamed) if is_vreg(o) and homes.get(vreg(o), here) != here else o
