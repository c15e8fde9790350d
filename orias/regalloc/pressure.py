"""Register pressure at each point, and which classes to spill where it exceeds the registers.

The choice is a static form of Belady's algorithm: the class that relieves most points per weighted reference of spill
code is spilled first, where points count by their square (as degrees of nodes in Bernstein et al., "Spill code minimization
techniques for optimizing compilers", 1989).  Values without uses in the region of high pressure are therefore spilled before those with uses.
"""

import heapq
from bisect import bisect_left
from collections.abc import Container, Mapping
from typing import Final, final

from orias.isa.op import F_WGMMA
from orias.isa.operand import FIRST_VREG, K_R, KIND_MASK, PAYLOAD_SHIFT, Opnd, in_file, is_vreg, reg_id, vreg
from orias.regalloc.allocate import clobber_mask
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import usable
from orias.regalloc.limits import missing_registers
from orias.regalloc.recompute import Again


@final
class Pressure:
    """Words needed minus registers available in one file, point by point (positive: too many)."""

    __slots__ = ("budget", "excess", "file")

    def __init__(self, classes: Classes, file: int, extra: list[int] | None) -> None:
        rg = classes.rg
        self.file: Final[int] = file
        self.budget: Final[int] = rg.fn.knobs.reg_alloc_spill_budget
        """Bits of work that the choice of what to spill may take."""
        diff = [0] * (rg.points + 1)
        for c in classes.all():
            if c.file == file:
                for segs in c.words.values():
                    for s, e, _ in segs:
                        diff[s] += 1
                        diff[e] -= 1
        avail = usable(rg.fn, file)
        room = bin(avail).count("1")
        fixed: dict[int, int] = {}
        for reg, flat in rg.phys.items():
            if in_file(reg, file):
                bit = 1 << reg_id(reg)
                for i in range(0, len(flat), 2):
                    for p in range(flat[i], flat[i + 1]):
                        fixed[p] = fixed.get(p, 0) | bit
        for point, inst in rg.clobbers:
            fixed[point] = fixed.get(point, 0) | clobber_mask(rg.fn.calls[inst.uid], file)
        if file == K_R:
            for start, end, mask in missing_registers(rg):
                for p in range(start, end):
                    fixed[p] = fixed.get(p, 0) | mask
        now = -room
        excess: list[int] = [0] * rg.points
        for p in range(rg.points):
            now += diff[p]
            excess[p] = now
        for p, mask in fixed.items():
            excess[p] += bin(mask & avail).count("1")
        if extra is not None:
            for p in range(rg.points):
                excess[p] += extra[p]
        self.excess: Final[list[int]] = excess


@final
class Candidate:
    """The cost of spilling one class (weighted references), and the points at which it still needs a register."""

    __slots__ = ("cls", "cost", "held", "stubs")

    def __init__(self, cls: Cls) -> None:
        self.cls: Final[Cls] = cls
        self.cost: int = 0
        self.held: int = 0
        """Words of other classes that live on instead."""
        self.stubs: set[int] = set()


def candidates(
    classes: Classes, file: int, temps: set[int], constants: Container[Cls], again: Mapping[Cls, Again]
) -> list[Candidate]:
    """The classes of a file that may be spilled: all except those that consist of spill temporaries.

    `constants` and those of `again` need no memory: they are rematerialised.
    """
    rg = classes.rg
    fn = rg.fn
    table: dict[Cls, Candidate] = {}
    for point, inst in enumerate(rg.insts):
        if inst is None:
            continue
        weight = 4 << min(fn.knobs.loop_weight_bits * rg.depth[point], 30)
        # Operand tests are inlined here: calls would cost plain Python more than the work between them.
        for o in inst.dst:
            if o >= FIRST_VREG and o & KIND_MASK == file:
                _count(classes, o, weight, point, table)
        # A reload is just before the instruction, where the values live after the previous instruction are live.
        for o in inst.src:
            if o >= FIRST_VREG and o & KIND_MASK == file:
                _count(classes, o, weight, point - 1, table)
        if inst.guard >= FIRST_VREG and inst.guard & KIND_MASK == file:
            _count(classes, inst.guard, weight, point - 1, table)
    for inst in rg.insts:
        # Accumulators are never spilled: operations on them are pending most of the time.
        if inst is not None and inst.op.flags & F_WGMMA and is_vreg(inst.dst[0]):
            c = classes.of[vreg(inst.dst[0])]
            if c is not None:
                table.pop(c, None)
    for v in temps:
        c = classes.of[v]
        if c is not None and all(m in temps for m, _ in c.members):
            table.pop(c, None)
    gain = fn.knobs.reg_alloc_remat_gain
    for c, x in table.items():
        if c in constants:
            x.cost = max(1, x.cost // gain)
        elif c in again:
            # Each further operation costs as much of what is left of a spill as the first one does of a spill.
            x.cost = max(1, x.cost * (gain - 1 + again[c].count) // gain**2)
            x.held = again[c].held
    return list(table.values())


def _count(classes: Classes, o: Opnd, weight: int, point: int, table: dict[Cls, Candidate]) -> None:
    """Count a reference to a virtual register."""
    c = classes.of[o >> PAYLOAD_SHIFT]
    if c is not None:
        x = table.get(c)
        if x is None:
            x = table[c] = Candidate(c)
        x.cost += weight
        x.stubs.add(point)


@final
class _Crowd:
    """The points that lack registers (a sample if there are very many), and how many words each lacks."""

    __slots__ = ("open", "planes", "points", "spare")

    def __init__(self, excess: list[int], limit: int) -> None:
        points = [p for p, x in enumerate(excess) if x > 0]
        if len(points) > limit:
            step = -(-len(points) // limit)
            # The worst point of each stretch represents the others; later rounds handle points that this one missed.
            points = [max(points[i : i + step], key=excess.__getitem__) for i in range(0, len(points), step)]
        self.points: Final[list[int]] = points
        self.planes: Final[list[int]] = []
        """Bit i of plane k is bit k of the words that point i lacks; one operation subtracts a class at all points."""
        most = max((excess[p] for p in points), default=0)
        for k in range(most.bit_length()):
            digits = "".join("1" if excess[p] >> k & 1 else "0" for p in reversed(points))
            self.planes.append(int(digits, 2))
        self.open: int = (1 << len(points)) - 1
        """Bit i: point i still lacks registers."""
        self.spare: Final[list[int]] = []
        """Bit i of plane k is bit k of the words that point i gains beyond those that it lacks."""

    def masks(self, x: Candidate) -> list[int]:
        """For each word of the class, the points (as bits) that gain a register if the class is spilled."""
        points = self.points
        stubs = 0
        for p in x.stubs:
            i = bisect_left(points, p)
            if i < len(points) and points[i] == p:
                stubs |= 1 << i
        out: list[int] = []
        for segs in x.cls.words.values():
            mask = 0
            for s, e, _ in segs:
                i = bisect_left(points, s)
                j = bisect_left(points, e)
                if j > i:
                    mask |= (1 << j) - (1 << i)
            mask &= ~stubs
            if mask:
                out.append(mask)
        if x.held:
            # What lives on does so at no more points than the value.
            out = sorted(out, key=int.bit_count)[: -x.held]
        return out

    def gain(self, masks: list[int]) -> int:
        """Words, point by point, that spilling a class with these masks gives to points that still lack them."""
        if len(masks) == 1:
            return (masks[0] & self.open).bit_count()
        # Where a point lacks fewer words than the class has there, the others are no gain.
        planes, left, total = list(self.planes), self.open, 0
        for mask in masks:
            borrow = mask & left
            if borrow:
                total += borrow.bit_count()
                left = _subtract(planes, borrow)
        return total

    def take(self, masks: list[int]) -> None:
        """Account for spilling a class with these masks."""
        for mask in masks:
            _add(self.spare, mask & ~self.open)
            self.open = _subtract(self.planes, mask & self.open)

    def give_back(self, masks: list[int]) -> bool:
        """Undo :meth:`take` for a class with these masks, if all points that gain by it have enough without it; True if so."""
        planes = list(self.spare)
        for mask in masks:
            some = 0
            for plane in planes:
                some |= plane
            if mask & ~some:
                return False
            _subtract(planes, mask)
        self.spare[:] = planes
        return True


def _add(planes: list[int], carry: int) -> None:
    """Adds one at some points (as bits)."""
    k = 0
    while carry:
        if k == len(planes):
            planes.append(0)
        planes[k], carry = planes[k] ^ carry, planes[k] & carry
        k += 1


def _subtract(planes: list[int], borrow: int) -> int:
    """Subtracts one at some points (as bits), none of which is zero; returns the points that are not zero after it."""
    left = 0
    for k, plane in enumerate(planes):
        planes[k] = plane ^ borrow
        borrow &= ~plane
        left |= planes[k]
    return left


def choose_victims(pressure: Pressure, pool: list[Candidate]) -> list[Cls]:
    """Classes of `pool`, which are of the file, to spill so that no point lacks registers, as far as possible."""
    crowd = _Crowd(pressure.excess, max(1024, pressure.budget // (1 + len(pool))))
    heap: list[tuple[float, int, Candidate, list[int]]] = []
    serial = 0
    for x in pool:
        masks = crowd.masks(x)
        if masks:
            heap.append((_score(x.cost, crowd.gain(masks)), serial, x, masks))
            serial += 1
    heapq.heapify(heap)
    taken: list[tuple[Candidate, list[int]]] = []
    while heap and crowd.open:
        _, _, x, masks = heapq.heappop(heap)
        gain = crowd.gain(masks)
        if not gain:
            continue
        # Gains only shrink: an entry with an old score returns to the heap with its new one unless it is still the
        # best.
        score = _score(x.cost, gain)
        if heap and score > heap[0][0]:
            serial += 1
            heapq.heappush(heap, (score, serial, x, masks))
            continue
        taken.append((x, masks))
        crowd.take(masks)
    # What was chosen later may have made an earlier choice needless; the dearest is asked first.
    needless = {x.cls for x, masks in sorted(taken, key=lambda t: -t[0].cost) if crowd.give_back(masks)}
    return [x.cls for x, _ in taken if x.cls not in needless]


def _score(cost: int, gain: int) -> float:
    """What spilling a class costs for what it gains; few victims that gain much are better than many, each of which has its own stubs."""
    return cost / gain**2


def room_left(pressure: Pressure, victims: list[Cls], pool: list[Candidate]) -> list[int]:
    """Registers of the file that are free at each point after the victims are spilled (negative: still lacking)."""
    gone = set(victims)
    room = [-x for x in pressure.excess]
    change = [0] * (len(room) + 1)
    for x in pool:
        if x.cls in gone:
            stubs = sorted(x.stubs)
            for segs in list(x.cls.words.values())[x.held :]:
                for s, e, _ in segs:
                    change[s] += 1
                    change[e] -= 1
                    for p in stubs[bisect_left(stubs, s) : bisect_left(stubs, e)]:
                        room[p] -= 1
    freed = 0
    for p in range(len(room)):
        freed += change[p]
        room[p] += freed
    return room
