"""The list scheduler: orders instructions inside blocks, before and after register allocation.

It works forward, cycle by cycle.  Of the instructions whose predecessors are placed, it takes one that can issue now
and is on the longest path to the end of the block; before allocation, within a limit on live registers
(:mod:`orias.schedule.piece_orders`).  Distances come from the latency tables, pipes are resources, and the original
order breaks ties.  No instruction leaves its block.

The exact order of ptxas is no goal (``docs/facts/scheduling.md``).
"""

from typing import Final

from orias.analysis.liveness import Liveness, liveness
from orias.isa.isa_table import load
from orias.ori.ir import ORDERING, Block, Func
from orias.schedule.arrivals import Arrivals
from orias.schedule.balance import Alternative, alu_surplus, fma_form, is_bound_to_alu
from orias.schedule.deps import Graph, build, is_whole
from orias.schedule.piece_body import SharedFacts
from orias.schedule.piece_orders import PieceOrders, Reach
from orias.schedule.pieces import (
    first_cycles,
    following,
    is_far_load,
    leads_to_loads,
    live_at,
    pieces_of,
    record_arrivals,
    release,
)
from orias.schedule.plans import Plan, block_pressure, plans, put_in_order, sink_all, word_limit
from orias.schedule.shared_sources import ReadCosts, has_many_reads, lost_cycles
from orias.timing.latency import Latency, latency
from orias.timing.units import NEEDS_WRITE, units

_FMA: Final = 1
"""The number of the FMA pipe in a piece."""


def schedule_virtual(
    fn: Func, register_usage: int = 5, plan: Plan | None = None, known: Liveness | None = None,
    pieces: list[list[PieceOrders]] | None = None, shared: SharedFacts | None = None,
    others: list[list[PieceOrders]] | None = None,
) -> Reach:  # fmt: skip
    """Reorder a function before register allocation (SSA or not); returns the limits that would give the same order.

    `register_usage` 0..10: how many registers may be used to hide latency (``-regUsageLevel``; 5 is the default).
    `plan`: one of :func:`plans`; by default the first.  `known`: the function's liveness, which no order changes.
    `pieces`: those of the blocks in the order from which the plan starts, to be added where there are none yet.  `others`: those in
    another order, used where it is the same.  `shared`: what they share.
    """
    lat = latency(fn.target.latency_class)
    lv = liveness(fn) if known is None else known
    facts = SharedFacts(fn, lv) if shared is None else shared
    if plan is None:
        plan = plans(fn, register_usage, lv, facts)[0]
    if plan.sunk is not None:
        put_in_order(fn, plan.sunk)
    elif plan.sink:
        sink_all(fn, lv, lat, facts, [block_pressure(fn, b, lv, facts.counting) for b in fn.blocks])
    limit = word_limit(fn, plan)
    reach = Reach()
    arrivals = Arrivals(fn.knobs.sched_branch_latency)
    for k, b in enumerate(fn.blocks):
        arrivals.enter(b)
        if pieces is None or k == len(pieces):
            parts = _virtual_pieces(fn, b, lat, facts, lv.live_out[b.id], others[k] if others else [])
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


def _virtual_pieces(
    fn: Func, b: Block, lat: Latency, facts: SharedFacts, live: int, others: list[PieceOrders]
) -> list[PieceOrders]:
    """The pieces of a block before allocation; `live`: the registers live at its end; `others`: its pieces in another order."""
    whole = is_whole(fn, b)
    places = pieces_of(b, True)
    after = live_at(b, {last for _, last in places}, live, facts.counting.registers)
    out: list[PieceOrders] = []
    for first, last in places:
        body = facts.body(fn, b, first, last, after[last], lat, whole)
        same = next((x for x in others if x.body is body), None)
        out.append(PieceOrders(first, body, lat, facts) if same is None else same)
    return out


def schedule_physical(fn: Func) -> None:
    """Reorder an allocated function; control words are set afterwards."""
    lat = latency(fn.target.latency_class)
    table = load(fn.target.table)
    u = units(fn.target.latency_class)
    arrivals = Arrivals(fn.knobs.sched_branch_latency)
    for b in fn.blocks:
        arrivals.enter(b)
        whole = is_whole(fn, b)
        for first, last in pieces_of(b, False):
            piece = b.insts[first:last]
            graph = build(piece, following(fn, b, last), fn, lat, False, whole)
            before = arrivals.now
            order, at = _order(fn, graph, lat, [fma_form(i, table) for i in piece], arrivals, None)
            lost = lost_cycles(piece, order, at, table, u) if has_many_reads(piece) else 0
            if lost > fn.knobs.sched_bank_losses * len(piece) // 1000:
                least = at[order[-1]] + lost
                after = arrivals.now
                for spared in (1, 0):
                    arrivals.now = before
                    costs = ReadCosts(piece, table, u, spared)
                    other, at = _order(fn, graph, lat, [None] * len(piece), arrivals, costs)
                    length = at[other[-1]] + lost_cycles(piece, other, at, table, u)
                    if length < least:
                        least, order, after = length, other, arrivals.now
                arrivals.now = after
            b.insts[first:last] = [piece[k] for k in order]
        arrivals.leave(b)


def _order(
    fn: Func, graph: Graph, lat: Latency, others: list[Alternative | None], arrivals: Arrivals, costs: ReadCosts | None,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Order by latency alone, and the cycle of each instruction; `others` are FMA forms.

    They are taken where the pipe of the instruction is busy, and while the piece has so much ALU work that a full SM
    waits for that pipe.  `costs`: what the reads of the next
    instruction cost, if that counts.
    """
    n = len(graph.insts)
    u = units(fn.target.latency_class)
    height = graph.heights()
    waiting = list(graph.preds)
    ready = [k for k in range(n) if waiting[k] == 0]
    reads = [[r >> 8 for r in a.reads] for a in graph.touched]
    writes = [[w >> 8 for w in a.writes] for a in graph.touched]
    earliest = first_cycles(arrivals, reads, writes)
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
    leads, spare = leads_to_loads(graph)
    hold, reach, farthest = (
        spare <= fn.knobs.sched_held_back,
        fn.knobs.sched_held_cycles,
        fn.knobs.sched_held_cycles_most,
    )
    bonus = fn.knobs.sched_shared_sources
    late = [u.barriers(i.op) & NEEDS_WRITE != 0 for i in graph.insts]
    waited = freed = False
    now = 0
    while ready:
        best = -1
        # Of instructions that can issue at the same time the one on the longest path comes first, then the first as given.
        best_at, best_height = 1 << 60, 0
        switched = False
        fma_free = max(pipe_free[_FMA], now)
        held = False
        # Constants and special registers on no longer a path than this wait for what leads to loads.
        shorter = -1
        for k in ready[:window]:
            if not leads[k] and ((held and not (freed and late[k])) or (late[k] and height[k] <= shorter)):
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
            elif (
                hold
                and not held
                and not freed
                and leads[k]
                and at <= now + min(farthest, height[k])
                and max(shorter, best_height) + spare <= height[k]
            ):
                shorter = height[k] - spare
                if best < 0 or late[best] or leads[best]:
                    best, best_at, best_height, switched = k, at, height[k], other
            elif at <= best_at:
                worth = height[k]
                if costs is not None:
                    worth += bonus * costs.gain(k, at)
                if at < best_at or worth > best_height:
                    best, best_at, best_height, switched = k, at, worth, other
        ready.remove(best)
        waited = waited or (shorter >= 0 and not held)
        if waited and is_far_load(graph.insts[best]):
            # What is read after all loads would be later than they are where these are near.
            freed = True
        now = max(now, best_at)
        if costs is not None and keys[best]:
            costs.place(best, now)
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
        release(graph, best, now, earliest, waiting, ready)
        if pipe:
            now += 1
    record_arrivals(arrivals, lat, graph, out, at_cycle, now, reads, writes)
    return out, at_cycle
