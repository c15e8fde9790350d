"""The list scheduler: orders instructions inside blocks, before and after register allocation.

It works forward, cycle by cycle.  Of the instructions whose predecessors are placed, it takes one that can issue now
and is on the longest path to the end of the block; before allocation, within a limit on live registers.  Distances come
from the latency tables, pipes are resources, and the original order breaks ties.  No instruction leaves its block.

The exact order of ptxas is no goal (``docs/facts/scheduling.md``).
"""

from typing import Final, TypeAlias, final

from orias.analysis.liveness import Liveness, WordCounts, liveness, members
from orias.isa.isa_table import load
from orias.isa.op import F_DISTANT, F_PSEUDO, F_TEXTURE
from orias.isa.operand import K_NONE, K_P, K_R, Opnd, is_vreg, lane_of, lane_range, vreg
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, ORDERING, Block, Func, Inst
from orias.schedule.arrivals import Arrivals
from orias.schedule.balance import Alternative, alu_surplus, fma_form, is_bound_to_alu
from orias.schedule.deps import Graph, build, estimate, is_fixed_point, is_whole, virtual_reads, virtual_writes
from orias.schedule.shared_sources import lost_cycles, shared_sources
from orias.schedule.sink import Piece, few_registers
from orias.target import features
from orias.target.register_steps import (
    SUB_PARTITIONS,
    most_words,
    registers_for,
    registers_of,
    step_that_holds,
    step_words,
)
from orias.timing.latency import Latency, latency
from orias.timing.units import NEEDS_WRITE, units

Order: TypeAlias = list[list[int]]
"""An order of a function's instructions: for each block, the indices of its instructions in the order before."""
"""Flags of operations that read memory; of these, those with F_DISTANT count as loads here."""
_FMA: Final = 1
"""The number of the FMA pipe in a piece."""
_TRIED: Final = 3
"""Instructions that lead to loads of which one may come before the best of all: bounds the time that the search takes."""


@final
class Plan:
    """How a function is ordered before allocation: ``sink``: for few registers first; ``words``: live words it may need.

    ``registers``: the register count that the allocator is expected to stay within.
    """

    __slots__ = ("registers", "sink", "sunk", "words")

    def __init__(self, sink: bool, words: int, sunk: Order | None = None, registers: int = 0) -> None:
        self.sink: Final[bool] = sink
        self.words: Final[int] = words
        self.registers: Final[int] = registers or registers_of(words)
        self.sunk: Final[Order | None] = sunk
        """With ``sink``: the order for few registers, if it is known."""


@final
class Reach:
    """The limits on live words that give the same order of a function: from ``least`` on, less than ``above``.

    ``cycles``: what each block of the function takes in that order, as far as the scheduler knows.
    """

    __slots__ = ("above", "cycles", "least")

    def __init__(self) -> None:
        self.least: int = 0
        self.above: int = 1 << 30
        self.cycles: list[int] = []

    def holds(self, limit: int) -> bool:
        """True if a limit gives the order for which this was found."""
        return self.least <= limit < self.above

    def narrow(self, other: "Reach") -> None:
        """Keep the limits that give another order too."""
        self.least = max(self.least, other.least)
        self.above = min(self.above, other.above)


def order_of(before: list[list[Inst]], fn: Func) -> Order:
    """The order of a function whose blocks had their instructions as in `before`."""
    out: Order = []
    for insts, b in zip(before, fn.blocks, strict=True):
        place = {inst: k for k, inst in enumerate(insts)}
        out.append([place[inst] for inst in b.insts])
    return out


def put_in_order(fn: Func, order: Order) -> None:
    """Give the instructions of a function an order."""
    for places, b in zip(order, fn.blocks, strict=True):
        insts = b.insts
        b.insts = [insts[k] for k in places]


def word_limit(fn: Func, plan: Plan) -> int:
    """Live words to which a plan limits a function."""
    return min(plan.words, fn.max_regs - fn.knobs.sched_reg_reserve)


def schedule_virtual(
    fn: Func, register_usage: int = 5, plan: Plan | None = None, known: Liveness | None = None,
    pieces: "list[list[PieceOrders]] | None" = None,
) -> Reach:  # fmt: skip
    """Reorder a function before register allocation (SSA or not); returns the limits that would give the same order.

    `register_usage` 0..10: how many registers may be used to hide latency (``-regUsageLevel``; 5 is the default).
    `plan`: one of :func:`plans`; by default the first.  `known`: the function's liveness, which no order changes.
    `pieces`: those of the blocks in the order from which the plan starts, to be added where there are none yet.
    """
    lat = latency(fn.target.latency_class)
    lv = liveness(fn) if known is None else known
    if plan is None:
        plan = plans(fn, register_usage, lv)[0]
    if plan.sunk is not None:
        put_in_order(fn, plan.sunk)
    elif plan.sink:
        _sink_all(fn, lv, lat)
    limit = word_limit(fn, plan)
    reach = Reach()
    facts = _Facts(fn, lv)
    arrivals = Arrivals(fn.knobs.sched_branch_latency)
    for k, b in enumerate(fn.blocks):
        arrivals.enter(b)
        if pieces is None or k == len(pieces):
            parts = _virtual_pieces(fn, b, lat, facts, lv.live_out[b.id])
            if pieces is not None:
                pieces.append(parts)
        else:
            parts = pieces[k]
        reach.cycles.append(0)
        for piece in parts:
            order, cycles = piece.order(limit, arrivals, reach)
            reach.cycles[k] += cycles
            b.insts[piece.first : piece.first + len(order)] = [piece.insts[i] for i in order]
        arrivals.leave(b)
    return reach


def _virtual_pieces(fn: Func, b: Block, lat: Latency, facts: "_Facts", live: int) -> "list[PieceOrders]":
    """The pieces of a block before allocation; `live`: the registers live at its end."""
    whole = is_whole(fn, b)
    places = _pieces(b, True)
    after = _live_at(b, {last for _, last in places}, live)
    return [
        PieceOrders(
            first,
            _Virtual(
                _Body(fn, b, b.insts[first:last], _following(fn, b, last), after[last], lat, whole, facts), lat, facts
            ),
        )
        for first, last in places
    ]


def plans(fn: Func, register_usage: int = 5, known: Liveness | None = None) -> list[Plan]:
    """The ways to order a function that deserve a look, the one with the highest occupancy first.

    Each uses the registers that leave the occupancy as it is, or fewer for a `register_usage` below 5 and more for one
    above.  Where an order that needs few registers has a higher occupancy than the order as given, both are there; also
    one that fills a step to its last register, where the order as given can, and one with the registers of the next lower
    occupancy (of the next two on sm_100 and later), if there are loads that could be under way together.  `known`: the
    function's liveness.
    """
    lv = liveness(fn) if known is None else known
    given = most_live_words(fn, lv)
    if register_usage < 5:
        return [Plan(True, given * (register_usage + 5) // 20)]
    if fn.kind == "helper":
        # Values of the callers are in the registers above its own.
        return [Plan(False, given)]
    free = _free_words(fn)
    free = free * (15 + register_usage) // 20
    first = Plan(False, step_words(given, free))
    if first.words <= free:
        return [first]
    # Fewer words than this allow more warps than the order as given.
    wanted = next((n for n in range(given, -1, -1) if step_words(n, free) < first.words), -1)
    kept = [list(b.insts) for b in fn.blocks]
    out = [first]
    tight = step_that_holds(given)
    if tight:
        out.insert(0, Plan(False, given, registers=tight))
    if wanted >= 0 and _sink_all(fn, lv, latency(fn.target.latency_class), wanted):
        out.insert(0, Plan(True, step_words(most_live_words(fn, lv), free), order_of(kept, fn)))
    for b, insts in zip(fn.blocks, kept, strict=True):
        b.insts = insts
    return out + wider_plans(fn, first)


def wider_plans(fn: Func, first: Plan) -> list[Plan]:
    """Orders with more registers than another: all that blocks of this size leave free, and those of the next lower occupancies, if there are
    loads that could be under way together.
    """
    words = [most_words(registers_for(fn.warps()))]
    if any(_loads(b) >= fn.knobs.sched_many_loads for b in fn.blocks):
        more = first.words
        # Values on the uniform datapath lower the need, and with it the step from which the next one counts.
        for _ in range(fn.knobs.reg_tgt_extra_steps + fn.target.has(features.UNIFORM_BRANCHES)):
            more = step_words(more + 1, more + 1)
            words.append(more)
    most = fn.max_regs - fn.knobs.sched_reg_reserve
    return [Plan(False, n) for n in sorted(set(words)) if first.words < n <= most]


def most_live_words(fn: Func, known: Liveness) -> int:
    """Maximum words of R registers live at once in the present order; `known`: the function's liveness."""
    return max(_pressure(fn, b, known) for b in fn.blocks)


def _loads(b: Block) -> int:
    """Loads of a block from memory that may be far."""
    return sum(1 for inst in b.insts if _is_load(inst))


def _free_words(fn: Func) -> int:
    """Live words that cost no occupancy on the function's SM."""
    return most_words(registers_for(fn.target.number("threads_per_sm") // 32 // SUB_PARTITIONS))


def _sink_all(fn: Func, lv: Liveness, lat: Latency, wanted: int = 1 << 30) -> bool:
    """Give the blocks that need more registers than are free an order that needs fewer.

    Stops, and returns False, when it shows that a block needs more than `wanted` words.
    """
    free = _free_words(fn)
    facts = _Facts(fn, lv)
    if any(facts.words.count(lv.live_out[b.id]) > wanted for b in fn.blocks):
        return False
    needs = [_pressure(fn, b, lv) for b in fn.blocks]
    for k in sorted(range(len(needs)), key=lambda k: -needs[k]):
        if needs[k] > free:
            b = fn.blocks[k]
            _sink(fn, b, lv, lat, facts)
            if _pressure(fn, b, lv) > wanted:
                return False
    return True


def _sink(fn: Func, b: Block, lv: Liveness, lat: Latency, facts: "_Facts") -> None:
    """Give the pieces of a block with high pressure an order that needs fewer registers."""
    whole = is_whole(fn, b)
    pieces = [x for x in _pieces(b, True) if x[1] - x[0] > 2]
    after = _live_at(b, {last for _, last in pieces}, lv.live_out[b.id])
    for first, last in pieces:
        body = _Body(fn, b, b.insts[first:last], [], after[last], lat, whole, facts)
        reads = [[s for s, _ in x.reads] for x in body.nodes]
        writes = [x.writes for x in body.nodes]
        order = few_registers(Piece(fn, body.graph, reads, writes, after[last]))
        b.insts[first:last] = [b.insts[first + k] for k in order]


def schedule_physical(fn: Func) -> None:
    """Reorder an allocated function; control words are set afterwards."""
    lat = latency(fn.target.latency_class)
    table = load(fn.target.table)
    u = units(fn.target.latency_class)
    arrivals = Arrivals(fn.knobs.sched_branch_latency)
    for b in fn.blocks:
        arrivals.enter(b)
        whole = is_whole(fn, b)
        for first, last in _pieces(b, False):
            piece = b.insts[first:last]
            graph = build(piece, _following(fn, b, last), fn, lat, False, whole)
            before = arrivals.now
            order, at = _order(fn, graph, lat, [fma_form(i, table) for i in piece], arrivals, [])
            shared = shared_sources(piece)
            lost = lost_cycles(piece, order, at, table, u) if shared else 0
            if lost > fn.knobs.sched_bank_losses * len(piece) // 1000:
                arrivals.now, after = before, arrivals.now
                other, at_other = _order(fn, graph, lat, [None] * len(piece), arrivals, shared)
                if at_other[other[-1]] + lost_cycles(piece, other, at_other, table, u) < at[order[-1]] + lost:
                    order = other
                else:
                    arrivals.now = after
            b.insts[first:last] = [piece[k] for k in order]
        arrivals.leave(b)


def _pieces(b: Block, virtual: bool) -> list[tuple[int, int]]:
    """Ranges of a block's instructions between those that no instruction may cross."""
    out: list[tuple[int, int]] = []
    first = 0
    for k, inst in enumerate(b.insts):
        if is_fixed_point(inst, virtual):
            if k > first:
                out.append((first, k))
            first = k + 1
    if len(b.insts) > first:
        out.append((first, len(b.insts)))
    return out


def _following(fn: Func, b: Block, last: int) -> list[Inst]:
    """The instructions after a piece that should not have to wait for its results."""
    return b.insts[last : last + fn.knobs.sched_look_ahead]


def _live_at(b: Block, places: set[int], live: int) -> dict[int, int]:
    """Registers live before the instructions at some indices of a block (or at its end), given those live after it."""
    out: dict[int, int] = {}
    for k in range(len(b.insts), -1, -1):
        if k in places:
            out[k] = live
        if k == 0 or b.insts[k - 1].op is OP_PHI:
            break
        for d in virtual_writes(b.insts[k - 1]):
            live &= ~(1 << d)
        for s in virtual_reads(b.insts[k - 1]):
            live |= 1 << s
    return out


def _pressure(fn: Func, b: Block, lv: Liveness) -> int:
    """Maximum words of R registers live at once in a block in its present order."""
    live = set(members(lv.live_out[b.id]))
    now = top = lv.words(fn, K_R).count(lv.live_out[b.id])
    vkind, vwidth = fn.vkind, fn.vwidth
    for inst in reversed(b.insts):
        if inst.op is OP_PHI:
            break
        for d in virtual_writes(inst):
            if d in live:
                live.discard(d)
                if vkind[d] == K_R:
                    now -= vwidth[d]
        for s in virtual_reads(inst):
            if s not in live:
                live.add(s)
                if vkind[s] == K_R:
                    now += vwidth[s]
        if now > top:
            top = now
    return top


def _order(
    fn: Func, graph: Graph, lat: Latency, others: list[Alternative | None], arrivals: Arrivals, shared: list[set[Opnd]],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Order by latency alone, and the cycle of each instruction; `others` are FMA forms.

    They are taken where the pipe of the instruction is busy, and while the piece has so much ALU work that a full SM
    waits for that pipe.  `shared`: the factors of each instruction, if the next one had better read one of them too.
    """
    n = len(graph.insts)
    height = graph.heights()
    waiting = list(graph.preds)
    ready = [k for k in range(n) if waiting[k] == 0]
    reads = [[r >> 8 for r in a.reads] for a in graph.touched]
    writes = [[w >> 8 for w in a.writes] for a in graph.touched]
    earliest = _first_cycles(arrivals, reads, writes)
    at_cycle = [0] * n
    keys = ["" if i.op in ORDERING else lat.pipe_key(i.op) for i in graph.insts]
    numbers: dict[str, int] = {"": 0, "FMA": _FMA}
    pipes = [numbers.setdefault(key, len(numbers)) for key in keys]
    """The number of the pipe of each instruction; 0: it takes none."""
    pipe_free = [0] * len(numbers)
    out: list[int] = []
    window = fn.knobs.sched_ready_window
    intervals = [lat.interval(i.op) if keys[k] else 0 for k, i in enumerate(graph.insts)]
    surplus, lean = alu_surplus(keys, intervals)
    patience = 1 if is_bound_to_alu(keys, intervals, others) else 0
    leads, spare = _leads(graph)
    hold, reach = spare <= fn.knobs.sched_held_back, fn.knobs.sched_held_cycles
    bonus = fn.knobs.sched_shared_sources
    factors: set[Opnd] = set()
    now = 0
    while ready:
        best = -1
        # Of instructions that can issue at the same time the one on the longest path comes first, then the first as given.
        best_at, best_height = 1 << 60, 0
        switched = False
        fma_free = max(pipe_free[_FMA], now)
        held = False
        for k in ready[:window]:
            if held and not leads[k]:
                continue
            at = earliest[k]
            free = pipe_free[pipes[k]]
            if free > at:
                at = free
            if now > at:
                at = now
            other = False
            if others[k] is not None and (at > now or lean > 0):
                elsewhere = max(earliest[k], fma_free)
                other = elsewhere < at or (lean > 0 and elsewhere <= at + (patience if surplus > 0 else 0))
                if other:
                    at = elsewhere
            if hold and not held and leads[k] and at <= now + reach:
                # From here on only what leads to loads.
                held = True
                best, best_at, best_height, switched = k, at, height[k], other
            elif at <= best_at:
                worth = height[k]
                if factors and not factors.isdisjoint(shared[k]):
                    worth += bonus
                if at < best_at or worth > best_height:
                    best, best_at, best_height, switched = k, at, worth, other
        ready.remove(best)
        if shared and keys[best]:
            factors = shared[best]
        now = max(now, best_at)
        at_cycle[best] = now
        out.append(best)
        form = others[best]
        if switched and form is not None:
            inst = graph.insts[best]
            inst.op, inst.src = form.op, form.src
            pipes[best] = _FMA
            intervals[best] = lat.interval(inst.op)
            surplus -= 1
            lean -= 1
        pipe = pipes[best]
        if pipe:
            pipe_free[pipe] = now + intervals[best]
        for s, cycles in graph.succs[best].items():
            if now + cycles > earliest[s]:
                earliest[s] = now + cycles
            waiting[s] -= 1
            if waiting[s] == 0:
                _insert(ready, s)
        if pipe:
            now += 1
    _record(arrivals, lat, graph, out, at_cycle, now, reads, writes)
    return out, at_cycle


def _leads(graph: Graph) -> tuple[bytearray, int]:
    """What loads from memory that may be far depend on, these included, and how many instructions neither lead to them nor wait for them."""
    n = len(graph.insts)
    leads, waits = bytearray(n), bytearray(n)
    for k in range(n - 1, -1, -1):
        if _is_load(graph.insts[k]):
            leads[k] = 1
            continue
        for s in graph.succs[k]:
            if leads[s]:
                leads[k] = 1
                break
    free = 0
    for k in range(n):
        if waits[k] or _is_load(graph.insts[k]):
            for s in graph.succs[k]:
                waits[s] = 1
        elif not leads[k]:
            free += 1
    return leads, free


def _is_load(inst: Inst) -> bool:
    """True for what reads memory that may be far."""
    flags = inst.op.flags
    return flags & F_DISTANT != 0 and (flags & F_TEXTURE != 0 or inst.op.loads())


def _first_cycles(arrivals: Arrivals, reads: list[list[int]], writes: list[list[int]]) -> list[int]:
    """When each instruction of a piece can issue at first: after the arrival of what it reads or overwrites."""
    pending = arrivals.now
    out = [0] * len(reads)
    if pending:
        for k in range(len(reads)):
            for registers in (reads[k], writes[k]):
                for r in registers:
                    if r in pending and pending[r] > out[k]:
                        out[k] = pending[r]
    return out


def _record(
    arrivals: Arrivals, lat: Latency, graph: Graph, order: list[int], at: list[int], end: int, reads: list[list[int]],
    writes: list[list[int]],
) -> None:  # fmt: skip
    """Tells what arrives after a piece: late results that none of its instructions waits for."""
    made: dict[int, int] = {}
    waited: set[int] = set()
    for k in order:
        for r in reads[k]:
            made.pop(r, None)
            waited.add(r)
        op = graph.insts[k].op
        left = 0
        if not op.flags & F_PSEUDO and lat.barriers(op) & NEEDS_WRITE:
            left = at[k] + estimate(op, graph.other_latency) - end
        for w in writes[k]:
            waited.add(w)
            if left > 0:
                made[w] = left
            else:
                made.pop(w, None)
    arrivals.passed(end, waited, made)


def _insert(ready: list[int], k: int) -> None:
    """Insert `k` into the ready list, which is in original order."""
    at = len(ready)
    while at and ready[at - 1] > k:
        at -= 1
    ready.insert(at, k)


@final
class _Node:
    """The registers of one instruction, for the pressure count."""

    __slots__ = ("gains", "gains_words", "reads", "writes")

    def __init__(self, fn: Func, inst: Inst) -> None:
        counts: dict[int, int] = {}
        for s in virtual_reads(inst):
            counts[s] = counts.get(s, 0) + 1
        self.reads: list[tuple[int, int]] = list(counts.items())
        """(register, number of times it is read)."""
        self.writes: list[int] = virtual_writes(inst)
        self.gains_words: bool = False
        """Whether it defines R registers; ``gains``: R registers or predicates."""
        self.gains: bool = False
        for d in self.writes:
            if fn.vkind[d] == K_R:
                self.gains = self.gains_words = True
            elif fn.vkind[d] == K_P:
                self.gains = True


@final
class _Meetings:
    """What the phis of a function name, found once for all blocks before them."""

    __slots__ = ("_edges", "_named")

    def __init__(self) -> None:
        self._edges: Final[dict[int, dict[int, list[int]]]] = {}
        self._named: Final[dict[int, dict[int, list[int]]]] = {}

    def edges(self, target: Block, b: Block) -> list[int]:
        """The places of a block among the predecessors of another."""
        found = self._edges.get(target.id)
        if found is None:
            found = self._edges[target.id] = {}
            for j, p in enumerate(target.preds):
                found.setdefault(p.id, []).append(j)
        return found.get(b.id, [])

    def others(self, phi: Inst, j: int, among: dict[int, list[int]]) -> list[int]:
        """Those of some registers that a phi names whole, as its result or on another edge than `j`, in its order."""
        named = self._named.get(phi.uid)
        if named is None:
            named = self._named[phi.uid] = {}
            for i, o in enumerate([*phi.src, phi.dst[0]]):
                if is_vreg(o) and not lane_of(o):
                    named.setdefault(vreg(o), []).append(i)
        small, large = (named, among) if len(named) < len(among) else (among, named)
        found = [(named[v], v) for v in small if v in large and named[v] != [j]]
        found.sort()
        return [v for _, v in found]


@final
class _Facts:
    """What the pieces of a function share: no order changes it."""

    __slots__ = ("meetings", "predicates", "words")

    def __init__(self, fn: Func, lv: Liveness) -> None:
        self.meetings: Final[_Meetings] = _Meetings()
        self.words: Final[WordCounts] = lv.words(fn, K_R)
        self.predicates: Final[WordCounts] = lv.words(fn, K_P)


@final
class _Body:
    """The instructions of a piece before allocation, what they read and write, and how they depend on each other."""

    __slots__ = ("fn", "graph", "needed_after", "nodes", "users")

    def __init__(
        self, fn: Func, b: Block, piece: list[Inst], following: list[Inst], live_after: int, lat: Latency, whole: bool,
        facts: _Facts,
    ) -> None:  # fmt: skip
        self.fn: Final[Func] = fn
        self.graph: Final[Graph] = build(piece, following, fn, lat, True, whole)
        self.nodes: Final[list[_Node]] = [_Node(fn, inst) for inst in piece]
        self.needed_after: Final[int] = live_after
        self.users: Final[dict[int, list[int]]] = {}
        """Readers of each register in the piece."""
        for k, node in enumerate(self.nodes):
            for s, _ in node.reads:
                self.users.setdefault(s, []).append(k)
        self._keep_coalescing(b, piece, facts.meetings)

    def _keep_coalescing(self, b: Block, piece: list[Inst], meetings: _Meetings) -> None:
        """Where a value replaces another one in the same register, keep the reads of the old value before the new one.

        This concerns the ``old`` value of a guarded instruction, and a phi of a successor whose new value is computed
        here: it replaces the phi itself in a loop, and the value of the other way around a conditional block.
        """
        made: dict[int, int] = {}
        for k, node in enumerate(self.nodes):
            for d in node.writes:
                made[d] = k
        new: list[tuple[int, int, int, int]] = []
        for k, inst in enumerate(piece):
            if inst.old != K_NONE and is_vreg(inst.old):
                new.append((vreg(inst.old), 0, self.fn.vwidth[vreg(inst.old)], k))
        for target in b.succs:
            for j in meetings.edges(target, b):
                for inst in target.insts:
                    if inst.op is not OP_PHI:
                        break
                    for old in meetings.others(inst, j, self.users):
                        if not self.needed_after >> old & 1:
                            self._add_makers(new, piece, made, inst.src[j], old, 0, self.fn.vwidth[old])
        for old, at, count, k in new:
            users = [u for u in self.users.get(old, ()) if self._reads_words(piece[u], old, at, count)]
            if all(u <= k for u in users):
                for u in users:
                    self.graph.edge(u, k, 0)

    def _add_makers(
        self, out: list[tuple[int, int, int, int]], piece: list[Inst], made: dict[int, int], value: Opnd, old: int, at: int,
        count: int,
    ) -> None:  # fmt: skip
        """Add what makes a value that replaces `count` words of `old` from word `at` on: (old, at, count, index in the piece).

        The sum of a 64-bit address reaches its phi through a copy or a pack of its words, which share its register in the end.
        """
        k = made.get(vreg(value), -1) if is_vreg(value) else -1
        if k < 0:
            return
        out.append((old, at, count, k))
        inst = piece[k]
        if inst.op is OP_COPY and len(inst.src) == 1 and not lane_of(inst.src[0]):
            self._add_makers(out, piece, made, inst.src[0], old, at, count)
        elif inst.op is OP_PACK:
            for part in inst.src:
                words = lane_range(lane_of(part), self.fn.vwidth[vreg(part)])[1] if is_vreg(part) else 1
                if is_vreg(part) and not lane_of(part):
                    self._add_makers(out, piece, made, part, old, at, words)
                at += words

    def _reads_words(self, inst: Inst, register: int, at: int, count: int) -> bool:
        """True if an instruction reads one of `count` words of a register from word `at` on."""
        for o in inst.uses():
            if is_vreg(o) and vreg(o) == register:
                first, words = lane_range(lane_of(o), self.fn.vwidth[register])
                if first < at + count and at < first + words:
                    return True
        return False


@final
class _Virtual:
    """The scheduler of one piece before allocation, which also limits register pressure.

    The registers of the piece have numbers from 0 up here; ``read`` and ``written`` name them as the function does.
    """

    __slots__ = (
        "fn",
        "graph",
        "height",
        "intervals",
        "kept",
        "lat",
        "leads",
        "left",
        "limit",
        "live_p",
        "live_r",
        "need",
        "nodes",
        "pipes",
        "placed",
        "predicates",
        "present",
        "read",
        "reads",
        "start_left",
        "start_live_p",
        "start_need",
        "unread",
        "users",
        "words",
        "writes",
        "written",
    )

    def __init__(self, body: _Body, lat: Latency, facts: _Facts) -> None:
        fn = body.fn
        graph = body.graph
        insts = graph.insts
        self.fn: Final[Func] = fn
        self.lat: Final[Latency] = lat
        self.graph: Final[Graph] = graph
        self.nodes: Final[list[_Node]] = body.nodes
        self.read: Final[list[list[int]]] = [[s for s, _ in node.reads] for node in self.nodes]
        self.written: Final[list[list[int]]] = [node.writes for node in self.nodes]
        numbers: dict[int, int] = {}
        for node in self.nodes:
            for s, _ in node.reads:
                numbers.setdefault(s, len(numbers))
            for d in node.writes:
                numbers.setdefault(d, len(numbers))
        self.reads: Final[list[list[tuple[int, int]]]] = [[(numbers[s], n) for s, n in x.reads] for x in self.nodes]
        """(register, number of times it is read) of each instruction."""
        self.writes: Final[list[list[int]]] = [[numbers[d] for d in node.writes] for node in self.nodes]
        self.words: Final[list[int]] = [fn.vwidth[v] if fn.vkind[v] == K_R else 0 for v in numbers]
        """Words of each R register; 0 for other files."""
        self.predicates: Final[list[int]] = [1 if fn.vkind[v] == K_P else 0 for v in numbers]
        """1 for each predicate, else 0."""
        self.kept: Final[list[bool]] = [body.needed_after >> v & 1 != 0 for v in numbers]
        """Whether each register is live after the piece."""
        self.users: Final[list[list[int]]] = [body.users.get(v, []) for v in numbers]
        """Readers of each register in the piece."""
        self.start_left: Final[list[int]] = [0] * len(numbers)
        """Number of reads of each register in the piece."""
        live = list(self.kept)
        now = facts.words.count(body.needed_after)
        predicates = facts.predicates.count(body.needed_after)
        self.start_need: Final[list[int]] = [0] * len(insts)
        """Words of R registers live before each instruction in the order as given."""
        for k in range(len(insts) - 1, -1, -1):
            for d in self.writes[k]:
                if live[d]:
                    live[d] = False
                    now -= self.words[d]
                    predicates -= self.predicates[d]
            for s, count in self.reads[k]:
                self.start_left[s] += count
                if not live[s]:
                    live[s] = True
                    now += self.words[s]
                    predicates += self.predicates[s]
            self.start_need[k] = now
        self.start_live_p: Final[int] = predicates
        self.height: Final[list[int]] = graph.heights()
        self.leads: Final[bytearray] = _leads(graph)[0]
        self.intervals: Final[list[int]] = [0 if i.op.flags & F_PSEUDO else lat.interval(i.op) for i in insts]
        pipes: dict[str, int] = {"": 0}
        self.pipes: Final[list[int]] = [
            0 if i.op.flags & F_PSEUDO else pipes.setdefault(lat.pipe_key(i.op), len(pipes)) for i in insts
        ]
        """The number of the pipe of each instruction; 0: it takes none."""
        self.limit: int = 0
        self.left: list[int] = []
        """Number of reads of each register that are not placed yet."""
        self.live_p: int = 0
        self.present: bytearray = bytearray()
        """1 for the registers that placed instructions have defined."""
        self.unread: list[int] = []
        """For each register the index in ``users`` of its last reader that is not placed yet; the last of all if there is none here."""
        self.need: list[int] = []
        """Words of R registers live before each unplaced instruction if the unplaced ones keep their present order."""
        self.placed: bytearray = bytearray()

    def _restart(self, limit: int) -> None:
        """Nothing is placed; `limit`: live words."""
        self.limit = limit
        self.left = list(self.start_left)
        self.live_p = self.start_live_p
        self.present = bytearray(len(self.words))
        self.unread = [len(users) - 1 for users in self.users]
        self.need = list(self.start_need)
        self.placed = bytearray(len(self.nodes))

    def _change(self, k: int, counts: list[int]) -> int:
        """Change of the live registers if an instruction is placed, of which `counts` has the words."""
        left, kept = self.left, self.kept
        change = 0
        for d in self.writes[k]:
            if not self.present[d] and (left[d] or kept[d]):
                change += counts[d]
        for s, count in self.reads[k]:
            if left[s] == count and not kept[s]:
                change -= counts[s]
        return change

    def _place(self, k: int, first: int) -> None:
        """Place an instruction; `first` is the first unplaced one in the present order."""
        self.live_p += self._change(k, self.predicates)
        left, kept, present, placed, need = self.left, self.kept, self.present, self.placed, self.need
        placed[k] = 1
        for d in self.writes[k]:
            words = self.words[d]
            if k > first and words and not present[d] and (self.start_left[d] or kept[d]):
                for i in range(first, k):
                    need[i] += words
        for s, count in self.reads[k]:
            left[s] -= count
            users = self.users[s]
            at = self.unread[s]
            if users[at] != k or kept[s]:
                continue
            while at >= 0 and placed[users[at]]:
                at -= 1
            self.unread[s] = at
            words = self.words[s]
            if k > first and words:
                for i in range(users[at] + 1 if at >= 0 else first, k):
                    need[i] -= words
        for d in self.writes[k]:
            present[d] = 1

    def _fits(self, k: int, first: int, reach: Reach) -> bool:
        """True if an instruction may be placed now: registers suffice for its results up to its present position."""
        if not self.nodes[k].gains:
            return True
        more = self._change(k, self.predicates)
        if more > 0 and self.live_p + more > self.fn.knobs.sched_predicate_limit:
            return False
        more = self._change(k, self.words)
        if more <= 0 or k == first:
            return True
        words = max(self.need[first:k]) + more
        if words <= self.limit:
            reach.least = max(reach.least, words)
            return True
        reach.above = min(reach.above, words)
        return False

    def _choose(self, best: int, at: int, starts: list[int], ready: list[int], near: int, reach: Reach) -> int:
        """The next instruction: the best that fits, but what leads to a load and can issue by `near` before others that need registers.

        `best` can issue at cycle `at`, and is the best of all; `starts`: when the ready instructions can, as far as they are asked for.
        """
        height, leads, first = self.height, self.leads, ready[0]
        rank = (at, -height[best], best)
        if not self._fits(best, first, reach):
            for rank in sorted([(starts[i], -height[ready[i]], ready[i]) for i in range(len(starts))])[1:]:
                if self._fits(rank[2], first, reach):
                    break
            else:
                # Nothing fits: the present order is known to stay within its registers.
                return first
        best = rank[2]
        if leads[best] or not self.nodes[best].gains_words:
            return best
        others: list[tuple[int, int, int]] = []
        for i in range(len(starts)):
            k = ready[i]
            if leads[k] and starts[i] <= near:
                other = (starts[i], -height[k], k)
                if other > rank:
                    others.append(other)
        others.sort()
        for _, _, k in others[:_TRIED]:
            if self._fits(k, first, reach):
                return k
        return best

    def run(self, limit: int, arrivals: Arrivals, reach: Reach) -> tuple[list[int], int]:
        """The order under a limit on live words, as indices into the piece, and its cycles; `reach` is narrowed to the limits that give the same.

        The next instruction is the best that fits, but what leads to a load and can issue soon comes before others that need
        registers.
        """
        self._restart(limit)
        graph = self.graph
        height, pipes = self.height, self.pipes
        n = len(graph.insts)
        waiting = list(graph.preds)
        ready = [k for k in range(n) if waiting[k] == 0]
        earliest = _first_cycles(arrivals, self.read, self.written)
        at_cycle = [0] * n
        pipe_free = [0] * (max(pipes, default=0) + 1)
        out: list[int] = []
        window, ahead = self.fn.knobs.sched_ready_window, self.fn.knobs.sched_move_up_limit
        held = self.fn.knobs.sched_held_cycles
        now = 0
        while ready:
            first = ready[0]
            farthest = first + ahead
            best, best_at, best_height = -1, 1 << 60, 0
            starts: list[int] = []
            for k in ready[:window]:
                if k > farthest:
                    break
                at = earliest[k]
                free = pipe_free[pipes[k]]
                if free > at:
                    at = free
                if now > at:
                    at = now
                starts.append(at)
                if at < best_at or (at == best_at and height[k] > best_height):
                    best, best_at, best_height = k, at, height[k]
            best = self._choose(best, best_at, starts, ready, now + held, reach)
            ready.remove(best)
            pipe = pipes[best]
            now = max(now, earliest[best], pipe_free[pipe])
            at_cycle[best] = now
            out.append(best)
            self._place(best, first)
            if pipe:
                pipe_free[pipe] = now + self.intervals[best]
            for s, cycles in graph.succs[best].items():
                if now + cycles > earliest[s]:
                    earliest[s] = now + cycles
                waiting[s] -= 1
                if waiting[s] == 0:
                    _insert(ready, s)
            now += 1
        _record(arrivals, self.lat, graph, out, at_cycle, now, self.read, self.written)
        return out, now


@final
class _Found:
    """An order of a piece: what was under way when it began and when it had ended, and the limits on live words that give it."""

    __slots__ = ("after", "before", "cycles", "order", "reach")

    def __init__(
        self, before: dict[int, int], after: dict[int, int], reach: Reach, order: list[int], cycles: int
    ) -> None:
        self.cycles: Final[int] = cycles
        self.before: Final[dict[int, int]] = before
        self.after: Final[dict[int, int]] = after
        self.reach: Final[Reach] = reach
        self.order: Final[list[int]] = order


@final
class PieceOrders:
    """A piece of a block before allocation, from instruction ``first`` on, and the orders that it had so far."""

    __slots__ = ("_found", "_scheduler", "first", "insts")

    def __init__(self, first: int, scheduler: _Virtual) -> None:
        self.first: Final[int] = first
        self.insts: Final[list[Inst]] = scheduler.graph.insts
        self._scheduler: Final[_Virtual] = scheduler
        self._found: Final[list[_Found]] = []

    def order(self, limit: int, arrivals: Arrivals, reach: Reach) -> tuple[list[int], int]:
        """The order under a limit on live words, as indices into ``insts``, and its cycles; `reach` is narrowed to the limits that give the same."""
        found = next((x for x in self._found if x.reach.holds(limit) and x.before == arrivals.now), None)
        if found is None:
            before = arrivals.now
            own = Reach()
            order, cycles = self._scheduler.run(limit, arrivals, own)
            found = _Found(before, arrivals.now, own, order, cycles)
            self._found.append(found)
        else:
            arrivals.now = found.after
        reach.narrow(found.reach)
        return found.order, found.cycles
