"""Slot selection: every class gets registers that are free at all its points, without an interference graph.

The costs of a slot are register masks, one per kind: occupied (hard), misaligned (hard), must be saved in the prologue
(soft), preferred because of a copy (bonus).  The lowest register of the best kind wins.  In each file the widest
classes choose first; classes of equal width choose in order of their first point.
"""

from typing import Final, final

from orias.isa.op import F_PSEUDO
from orias.isa.operand import K_P, K_R, K_UP, K_UR, in_file, reg_id
from orias.knobs.knob_values import Knobs
from orias.ori.ir import CallInfo, Func
from orias.regalloc.banks import Banks
from orias.regalloc.coalesce import Classes, Cls, Seg
from orias.regalloc.files import FILES, kept, usable
from orias.regalloc.kept_ranges import KeptRanges, Span
from orias.regalloc.limits import missing_registers
from orias.regalloc.occupancy import Occupancy
from orias.regalloc.ranges import Ranges
from orias.target.register_steps import free_words
from orias.timing.units import NEEDS_READ, units

_BITS: Final = 256


def _aligned() -> dict[tuple[int, int], int]:
    out: dict[tuple[int, int], int] = {}
    for mod in (1, 2, 4, 8):
        for phase in range(mod):
            out[mod, phase] = sum(1 << n for n in range(phase, _BITS, mod))
    return out


_ALIGNED: Final = _aligned()
_ANY: Final = (1 << _BITS) - 1


@final
class Assignment:
    """Result of one attempt: classes without registers, and the highest register used in each file (-1: none)."""

    __slots__ = ("comforts", "failed", "highest", "lost", "packed", "shown", "used")

    def __init__(self) -> None:
        self.comforts: Comforts | None = None
        """What the first order of the R registers prefers."""
        self.shown: dict[int, KeptRanges] = {}
        """With -g: where the classes of each file hold variables."""
        self.lost: int = 0
        """With -g: how many registers in the last attempt a variable or another value has though a variable lies there."""
        self.packed: int = -1
        """The file of which ``failed`` has what the tightest packing left; -1: none."""
        self.failed: list[Cls] = []
        self.highest: dict[int, int] = dict.fromkeys(FILES, -1)
        self.used: dict[int, int] = dict.fromkeys(FILES, 0)
        """Mask of the allocated registers of each file."""


_LARGE: Final = 500
"""Classes with which a try takes long enough to be spared."""
_HOPELESS: Final = 6
"""Classes that fail in both of the first two tries from which on more tries have not been seen to succeed (docs/log/speed.md)."""
_IN_VAIN: Final = 3
"""The same: tries without progress."""
_THREADS_FIT: Final = 64
"""Registers with which blocks of 1,024 threads still fit."""
_ROOMY: Final = 61
"""With -g: how many registers are used before any other."""
_FEWER: Final = 56
"""The same in a second try, if values that fit in none of them took too many."""
_GROWTH: Final = 4
"""The same grows by this part of itself where variables lack registers."""
_CALLED: Final = 24
"""The same in functions that need no more, so that callers keep values in the others."""
_TEMPORARY: Final = 16
"""With -g: how many registers values used in one block take before others, at least."""


def clobber_mask(info: CallInfo, file: int) -> int:
    """Registers of a file that a call may change."""
    if file == K_R:
        return info.clobber_r
    if file == K_P:
        return info.clobber_p
    if file == K_UR:
        return info.clobber_ur
    if file == K_UP:
        return info.clobber_up
    return info.clobber_b


def lost_in_calls(fn: Func, file: int) -> int:
    """Registers of a file that the function's callees may change."""
    mask = 0
    for info in fn.calls.values():
        mask |= clobber_mask(info, file)
    return mask


def fixed_occupancy(rg: Ranges, file: int) -> Occupancy:
    """The points at which physical registers in the code, and calls, occupy registers."""
    occ = Occupancy(rg.points)
    for reg, flat in rg.phys.items():
        if in_file(reg, file):
            for i in range(0, len(flat), 2):
                occ.add(flat[i], flat[i + 1], 1 << reg_id(reg))
    for point, inst in rg.clobbers:
        mask = clobber_mask(rg.fn.calls[inst.uid], file)
        if mask:
            occ.add(point, point + 1, mask)
    if file == K_R:
        for start, end, mask in missing_registers(rg):
            occ.add(start, end, mask)
    return occ


def allocate(classes: Classes, file: int, result: Assignment, closely: bool = False) -> bool:
    """Choose a register for every class of a file (``Cls.slot``); if some find none, add them to ``failed`` and return False.

    `closely`: the tightest packing comes first, and what is preferred counts only if that has a place for all.
    """
    todo = [c for c in classes.all() if c.file == file]
    if not todo:
        return True
    todo.sort(key=usual_order)
    if not classes.rg.fn.names:
        failed = attempt(classes, file, todo, result, not closely)
        result.packed = file if closely else -1
        if closely and not failed:
            slots = [c.slot for c in todo]
            used = result.used[file]
            if attempt(classes, file, todo, result, True, once=True):
                for c, slot in zip(todo, slots, strict=True):
                    c.slot = slot
                result.used[file] = used
                result.highest[file] = used.bit_length() - 1
    else:
        failed = _attempt_shown(classes, file, todo, result)
    result.failed.extend(failed)
    return not failed


def _attempt_shown(classes: Classes, file: int, todo: list[Cls], result: Assignment) -> list[Cls]:
    """With -g: attempts with more and more registers, as long as variables lack some; returns as :func:`attempt`."""
    shown = result.shown[file] = KeptRanges(classes, todo)
    least = shown.peak + _TEMPORARY
    few = classes.rg.fn.kind != "entry"
    room = max(least, min(_ROOMY, max(shown.lasting_words + _TEMPORARY, _CALLED)) if few else _ROOMY)
    failed = attempt(classes, file, todo, result, True, roomy=room)
    if least <= _FEWER and not result.lost and result.highest[file] >= _THREADS_FIT - 1:
        failed = attempt(classes, file, todo, result, True, roomy=_FEWER)
    most = usable(classes.rg.fn, file).bit_length()
    while result.lost and room < most:
        room += room // _GROWTH
        failed = attempt(classes, file, todo, result, True, roomy=room)
    return failed


def allocate_again(classes: Classes, file: int, result: Assignment) -> bool:
    """Try other orders for one file, without preferences; if all classes fit, update `result` and return True.

    It is tried when there are enough registers at every point but the first order did not find an assignment: the
    tightest packing first, then the longest classes first, then repeatedly the classes first that failed before.  In a large
    function nothing is tried where the first order left very many classes, and it ends early where many fail in both of the first two
    tries, and where several tries left no fewer than those before.
    """
    todo = [c for c in classes.all() if c.file == file]
    failed = [c for c in result.failed if c.file == file]
    knobs = classes.rg.fn.knobs
    if len(todo) >= _LARGE and len(failed) > knobs.reg_alloc_trial_failures:
        return False
    fewest = len(todo) + 1
    in_vain = 0
    rest = [c for c in result.failed if c.file != file]
    todo.sort(key=usual_order)
    for k in range(max(knobs.reg_alloc_num_non_spill_trials, knobs.reg_alloc_few_failures_trials)):
        if k == 1:
            todo.sort(key=_longest)
        elif k > 1:
            first = set(failed)
            order = failed + [c for c in todo if c not in first]
            if order == todo:
                # What comes first already fails: it would again.
                break
            todo = order
        if k or result.packed != file:
            failed = attempt(classes, file, todo, result, False)
        if not failed:
            result.failed = rest
            return True
        in_vain = 0 if len(failed) < fewest else in_vain + 1
        fewest = min(fewest, len(failed))
        if k + 1 >= knobs.reg_alloc_num_non_spill_trials and fewest > knobs.reg_alloc_few_failures:
            break
        if len(todo) >= _LARGE and (in_vain >= _IN_VAIN or (k == 1 and fewest > _HOPELESS)):
            break
    result.failed = rest + failed
    return False


def attempt(
    classes: Classes,
    file: int,
    todo: list[Cls],
    result: Assignment,
    comfort: bool,
    cap: int = _BITS,
    known: dict[Cls, int] | None = None,
    once: bool = False,
    roomy: int = _ROOMY,
) -> list[Cls]:
    """Assign registers up to number `cap` to the classes in the order of `todo`; returns the classes without a register.

    `known`: the registers of an earlier attempt in the same order, under the same preferences and a cap that was not lower
    (-1: none).  As long as they are within this cap, they are the choice again: every choice is the lowest register of the
    first set that has one, and a lower cap takes no register below itself from a set.  `once`: stop at the first failure.
    `roomy`: see :class:`Shown`.
    """
    rg = classes.rg
    fn = rg.fn
    avail = usable(fn, file) & ((2 << cap) - 1)
    costly = kept(fn, file)
    occ = fixed_occupancy(rg, file)
    banks: Banks | None = None
    late: LateReads | None = None
    if file == K_R and comfort:
        comforts = result.comforts
        if comforts is None:
            comforts = result.comforts = Comforts(classes)
        banks, late = comforts.banks, comforts.late
        late.start()
    shown: Shown | None = None
    if fn.names:
        if file not in result.shown:
            result.shown[file] = KeptRanges(classes, todo)
        shown = Shown(rg, file, occ, roomy, result.shown[file])
    if shown is not None and comfort:
        todo = sorted(todo, key=shown.order)
    for c in todo:
        c.slot = -1
    used = 0
    failed: list[Cls] = []
    tight = not comfort and shown is None
    dear = -2 << free_words(fn.target)
    reach = fn.knobs.reg_alloc_snug_reach
    for c in todo:
        slot = -2
        if known is not None:
            slot = known[c]
            if slot >= 0 and slot + max(c.words) > cap:
                known = None
                slot = -2
        if tight and len(c.words) == 1 and not c.pinned:
            place, segs = next(iter(c.words.items()))
            if slot == -2:
                slot = _choose_word(c, place, segs, occ, avail, costly & ~used, reach)
            if slot >= 0:
                c.slot = slot
                bit = 1 << (slot + place)
                used |= bit
                for s, e, _ in segs:
                    occ.add(s, e, bit)
            else:
                failed.append(c)
                if once:
                    break
            continue
        if slot == -2:
            three, two = (0, 0) if banks is None else banks.disliked(c)
            slot = _choose(
                c, occ, avail, costly & ~used, used if comfort else 0, shown, three, two, fn.knobs, late, dear
            )
        if slot < 0:
            failed.append(c)
            if once:
                break
            continue
        c.slot = slot
        for place, segs in c.words.items():
            bit = 1 << (slot + place)
            used |= bit
            for s, e, _ in segs:
                occ.add(s, e, bit)
            if late is not None:
                late.add(segs, bit)
        if shown is not None:
            shown.add(c)
    result.lost = 0 if shown is None else shown.lost
    result.used[file] = used
    result.highest[file] = used.bit_length() - 1
    return failed


@final
class Shown:
    """With -g: chooses registers so that values stay in theirs after their last use, for the debugger."""

    __slots__ = (
        "calls",
        "clobbered",
        "fn",
        "held",
        "kept",
        "lasting",
        "lost",
        "occ",
        "roomy",
        "temporary",
        "tight",
        "variables",
        "wanted",
    )

    def __init__(self, rg: Ranges, file: int, occ: Occupancy, roomy: int, shown: KeptRanges) -> None:
        self.fn: Final[Func] = rg.fn
        self.lasting: Final[set[Cls]] = shown.lasting
        self.kept: Final[dict[Cls, list[Span]]] = shown.spans
        """For each class that holds a variable the points at which a debugger shows it."""
        self.roomy: Final[int] = (1 << roomy) - 1
        """The registers that it chooses from."""
        self.lost: int = 0
        """How many classes have registers in which variables lie, or others lie where they are variables."""
        self.temporary: Final[int] = (1 << max(roomy - shown.lasting_words, _TEMPORARY)) - 1
        """Registers that values used in one block take before others: those that the other values leave, if each has its own."""
        self.tight: Final[bool] = shown.lasting_words >= roomy
        """Not every value that lasts can have a register of its own: each variable has one just where a debugger shows it."""
        self.calls: Final[bool] = bool(rg.clobbers)
        self.held: Final[Occupancy] = Occupancy(rg.points)
        """Where registers have any value, or calls change them."""
        for reg, flat in rg.phys.items():
            for start, end in zip(flat[::2], flat[1::2], strict=True) if in_file(reg, file) else ():
                self.held.add(start, end, 1 << reg_id(reg))
        clobbered = 0
        for point, inst in rg.clobbers:
            mask = self._lost(rg.fn.calls[inst.uid], file)
            self.held.add(point, point + 1, mask)
            clobbered |= mask
        self.clobbered: Final[int] = clobbered
        """Registers that some call changes."""
        self.occ: Final[Occupancy] = occ
        self.wanted: Final[Occupancy] = Occupancy(rg.points)
        """Where a register has, or had before, a variable or a value that is used in several blocks."""
        self.variables: Final[Occupancy] = Occupancy(rg.points)
        """Where a debugger shows a register as a variable."""

    def _lost(self, info: CallInfo, file: int) -> int:
        """The registers that a call changes, of those that the convention lets it change."""
        mask = clobber_mask(info, file)
        if info.exact or file != K_R or info.target is None:
            return mask
        return mask & (self.fn.callee_writes or {}).get(info.target, mask)

    def add(self, c: Cls) -> None:
        """A class has its registers."""
        kept = self.kept.get(c, [])
        self.lost += not self._is_free(c, c.slot)
        for place, segs in c.words.items():
            bit = 1 << (c.slot + place) if segs else 0
            for start, end, _ in segs:
                self.held.add(start, end, bit)
            for start, end in kept if bit else []:
                self.variables.add(start, end, bit)
            if bit and (not self.tight if kept else c in self.lasting):
                self.wanted.add(segs[0][0], self.wanted.size, bit)

    def order(self, c: Cls) -> tuple[int, bool, bool]:
        """Sort key: the program's variables come first, then values that are used in several blocks."""
        return _rank(c), c not in self.kept, c not in self.lasting

    def keeps(self, c: Cls, slot: int) -> bool:
        """Whether a class may have a register without harm to variables: to others, and to itself if it is one."""
        if c in self.kept and any(self.clobbered >> (slot + place) & 1 for place in c.words):
            return False
        return self._is_free(c, slot)

    def _is_free(self, c: Cls, slot: int) -> bool:
        kept = self.kept.get(c, [])
        for place, segs in c.words.items():
            bit = 1 << (slot + place)
            if any(self.held.taken(start, end) & bit for start, end in kept):
                return False
            if any(self.variables.taken(start, end) & bit for start, end in kept or [(s, e) for s, e, _ in segs]):
                return False
        return True

    def choose(self, c: Cls, ok: int, cost: int) -> int:
        """The register of `ok` for a class: if possible one without such a value, then that which is free for the longest time.

        Registers of `cost` are for values that are used in several blocks; without calls they are the last of those without such
        a value.  With calls, registers that no call changes come first for them.
        """
        lasts = c in self.lasting
        kept = self.kept.get(c, [])
        lasting = variable = held = 0
        for place, segs in c.words.items():
            for start, end in kept:
                held |= _moved(self.held.taken(start, end), place)
            for start, end in kept or [(s, e) for s, e, _ in segs]:
                lasting |= _moved(self.wanted.taken(start, end), place)
                variable |= _moved(self.variables.taken(start, end), place)
        rest = ok & ~variable & ~held or ok & ~variable or ok
        free = ok & ~lasting & ~variable & ~held
        if not lasts:
            ok = free & ~cost & self.temporary or free & ~cost
            ok = ok or rest & ~cost & self.temporary or rest & ~cost or rest
        elif self.calls:
            ok = free & ~self.clobbered or free & ~self.temporary or free or rest & ~self.clobbered or rest
        else:
            ok = free & ~cost & ~self.temporary or free & ~cost or free or rest
        if kept and self.calls:
            # Values that are read after a call need the registers that it may not change.
            called = 0
            for place in c.words:
                for start, end in kept:
                    called |= _moved(self.occ.taken(start, end), place)
            ok = ok & called or ok
        if self.tight and kept:
            # The next variables find long gaps in the other registers.
            return (ok & -ok).bit_length() - 1
        reach = 2
        while reach < 2 * self.occ.size:
            beside = 0
            for place, segs in c.words.items():
                if segs:
                    start, end = segs[0][0], segs[-1][1]
                    held = self.occ.taken(end, min(end + reach, self.occ.size))
                    if not lasts:
                        held |= self.occ.taken(max(0, start - reach), start)
                    beside |= _moved(held, place)
            if not ok & ~beside:
                break
            ok &= ~beside
            reach *= 2
        return (ok & -ok).bit_length() - 1


def _moved(mask: int, place: int) -> int:
    """A mask of registers of a word at some place, as one of the registers of place 0."""
    return mask >> place if place >= 0 else mask << -place


@final
class LateReads:
    """Registers that an operation has yet to read some time after it has issued."""

    __slots__ = ("at", "pending", "points", "rest", "roomy")

    def __init__(self, rg: Ranges) -> None:
        needs = units(rg.fn.target.sm).needs
        self.at: Final[bytearray] = bytearray(rg.points + 1)
        """1 at the points whose instruction reads its sources late."""
        for point, inst in enumerate(rg.insts):
            if inst is not None and not inst.op.flags & F_PSEUDO and needs(inst.op, inst.dst, inst.src) & NEEDS_READ:
                self.at[point] = 1
        knobs = rg.fn.knobs
        # Calls by the ABI take registers anyway, which are free between them.
        calls = any(not rg.fn.calls[inst.uid].exact for _, inst in rg.clobbers)
        self.rest: Final[int] = knobs.reg_alloc_call_read_distance if calls else knobs.reg_alloc_late_read_distance
        self.points: Final[int] = rg.points
        self.pending: list[int] = []
        """The registers that are still to be read, at each point."""
        self.roomy: Final[int] = (2 << free_words(rg.fn.target)) - 1 if rg.fn.kind == "entry" else 0
        """Registers that cost no occupancy."""

    def start(self) -> None:
        """Forget the registers of an earlier attempt."""
        self.pending = [0] * (self.points + 1)

    def add(self, segs: list[Seg], mask: int) -> None:
        """The registers of `mask` are given to a word with these intervals."""
        at = self.at
        pending = self.pending
        for _, e, _ in segs:
            if at[e]:
                for p in range(e + 1, min(e + 1 + self.rest, self.points)):
                    pending[p] |= mask

    def taken(self, segs: list[Seg], occ: Occupancy) -> int:
        """Registers in which a word with these intervals would wait for a late read, or make another word wait for its own."""
        out = 0
        at = self.at
        last = occ.size
        for s, e, _ in segs:
            out |= self.pending[s]
            if at[e]:
                out |= occ.taken(e + 1, min(e + 1 + self.rest, last))
        return out


@final
class Comforts:
    """What the choice of R registers prefers; the classes alone decide about it."""

    __slots__ = ("banks", "late")

    def __init__(self, classes: Classes) -> None:
        self.banks: Final[Banks] = Banks(classes)
        self.late: Final[LateReads] = LateReads(classes.rg)


_LONG: Final = 16
"""Width in words above which a class (the accumulator of a warpgroup operation) chooses before all others."""


def _rank(c: Cls) -> int:
    """Sort key: wide classes first, the widest of all, then those that are restricted to some registers."""
    if len(c.words) > _LONG:
        return -len(c.words)
    return -1 if c.least > 0 else 0


def usual_order(c: Cls) -> tuple[int, int, int]:
    """Sort key of the first order: classes that are hard to place, then the strictest alignment, then the first point."""
    return _rank(c), -c.mod, c.start()


def _longest(c: Cls) -> tuple[int, int, int]:
    return (
        _rank(c),
        -c.mod,
        -sum(e - s for segs in c.words.values() for s, e, _ in segs),
    )


def _choose(
    c: Cls,
    occ: Occupancy,
    avail: int,
    costly: int,
    used: int,
    shown: Shown | None,
    three: int,
    two: int,
    knobs: Knobs,
    late: LateReads | None,
    dear: int,
) -> int:
    """The register for place 0 of a class, or -1.

    `used` are the registers allocated so far.  One of them that has been free for a while is better than the lowest
    register, because the scheduler can then move the new value up past the last reader of the old one.  With -g
    `shown` chooses.  `three` and `two` are the registers that put as many sources of an instruction into one bank,
    `dear` those that may cost occupancy.
    """
    ok = _ALIGNED[c.mod, c.phase]
    if c.least > 0:
        ok &= -1 << c.least
    cost = 0
    for place, segs in c.words.items():
        taken = ~avail
        for s, e, _ in segs:
            taken |= occ.taken(s, e)
        if place >= 0:
            ok &= ~(taken >> place)
            cost |= costly >> place
        else:
            # Registers below 0 do not exist.
            ok &= ~((taken << -place) | (1 << -place) - 1)
            cost |= costly << -place
        if not ok:
            return -1
    best = -1
    most = 0
    for slot, weight in c.pinned:
        if weight > most and slot >= 0 and ok >> slot & 1:
            best = slot
            most = weight
    if best >= 0 and (shown is None or shown.keeps(c, best)):
        return best
    if shown is not None and ok & shown.roomy:
        return shown.choose(c, ok & shown.roomy, cost)
    if not used and ok & ~cost:
        if len(c.words) == 1:
            return _snug(c, occ, ok & ~cost, knobs.reg_alloc_snug_reach)
        if late is None:
            return _lowest(ok & ~cost & ~_exchanged(c) or ok & ~cost, two | dear)
    rested = ok & ~cost
    for place, segs in c.words.items():
        if not rested:
            break
        stale = ~used
        if segs:
            stale |= occ.before(segs[0][0], knobs.reg_alloc_rest_distance)
        rested &= ~_moved(stale, place)
    inside = ok & _within(used, c) & ~cost
    hazard = 0
    if late is not None and ok & ~cost & ~three:
        for place, segs in c.words.items():
            hazard |= _moved(late.taken(segs, occ), place)
        hazard |= _exchanged(c)
    if late is not None and hazard:
        roomy = ok & late.roomy & ~cost
        for choice in (rested & ~hazard & ~three, inside & ~hazard & ~three, roomy & ~hazard & ~three):
            if choice:
                return _lowest(choice, two)
    for choice in (rested & ~three, inside & ~three, rested):
        if choice:
            return _lowest(choice, two)
    if ok & ~cost:
        # A register more than needed may cost occupancy.
        return _lowest(ok & ~cost, two | dear)
    return (ok & -ok).bit_length() - 1


def _choose_word(c: Cls, place: int, segs: list[Seg], occ: Occupancy, avail: int, costly: int, reach: int) -> int:
    """As :func:`_choose`, of a class of one word that prefers nothing: the register for its place 0, or -1.

    The tightest packing makes most of its choices here.
    """
    taken = ~avail
    for s, e, _ in segs:
        taken |= occ.taken(s, e)
    ok = _ALIGNED[c.mod, c.phase] if c.mod > 1 else _ANY
    if c.least > 0:
        ok &= -1 << c.least
    if place:
        ok = ok & ~(taken >> place) if place > 0 else ok & ~((taken << -place) | (1 << -place) - 1)
        costly = costly >> place if place > 0 else costly << -place
    else:
        ok &= ~taken
    if not ok:
        return -1
    if not ok & ~costly:
        return (ok & -ok).bit_length() - 1
    return _snug(c, occ, ok & ~costly, reach)


def _exchanged(c: Cls) -> int:
    """The registers for place 0 with which words would be exchanged in place, in more moves."""
    out = 0
    for other, shift in c.crossed:
        if other.slot >= 0 and other.slot + shift >= 0:
            out |= 1 << (other.slot + shift)
    return out


def _lowest(choice: int, two: int) -> int:
    """The lowest register of a choice, if possible not of those in `two`."""
    choice = choice & ~two or choice
    return (choice & -choice).bit_length() - 1


def _snug(c: Cls, occ: Occupancy, ok: int, most: int) -> int:
    """The register of `ok` with the closest occupied points around a one-word class, at most `most` away, to leave long gaps to long values."""
    place, segs = next(iter(c.words.items()))
    start, end = segs[0][0], segs[-1][1]
    free = _moved(ok, -place)
    before, after = occ.ends[start], occ.starts[end]
    reach = 1
    while True:
        choice = free & before & after or free & (before | after)
        if choice:
            return (choice & -choice).bit_length() - 1 - place
        reach *= 4
        if reach > most:
            return (ok & -ok).bit_length() - 1
        before, after = occ.before(start, reach), occ.after(end, reach)


def _within(used: int, c: Cls) -> int:
    """Registers for place 0 with which no word of the class is above the highest register in use."""
    top = used.bit_length() - max(c.words)
    return (1 << top) - 1 if top > 0 else 0
