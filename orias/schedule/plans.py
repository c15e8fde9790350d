"""Plans: the ways to order a function before allocation that deserve a look, by the registers that each may use."""

from typing import Final, TypeAlias, final

from orias.analysis.liveness import Liveness, liveness, members
from orias.isa.operand import K_R
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.schedule.deps import is_whole
from orias.schedule.piece_body import SharedFacts
from orias.schedule.pieces import is_far_load, live_at, pieces_of
from orias.schedule.sink import Piece, few_registers
from orias.schedule.word_counts import WordCounting
from orias.target import features
from orias.target.register_steps import (
    lowest_step,
    most_words,
    registers_for,
    registers_of,
    step_that_holds,
    step_words,
)
from orias.timing.latency import Latency, latency

Order: TypeAlias = list[list[int]]
"""An order of a function's instructions: for each block, the indices of its instructions in the order before."""


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


def plans(
    fn: Func, register_usage: int = 5, known: Liveness | None = None, shared: SharedFacts | None = None
) -> list[Plan]:
    """The ways to order a function that deserve a look, the one with the highest occupancy first.

    Each uses the registers that leave the occupancy as it is, or fewer for a `register_usage` below 5 and more for one
    above.  Where an order that needs few registers has a higher occupancy than the order as given, both are there; also
    one that fills a step to its last register, where the order as given can, and one with the registers of the next lower
    occupancy (of the next two on sm_100 and later), if there are loads that could be under way together.  `known`: the
    function's liveness, `shared`: what its pieces share.
    """
    lv = liveness(fn) if known is None else known
    facts = SharedFacts(fn, lv) if shared is None else shared
    needs = [block_pressure(fn, b, lv, facts.counting) for b in fn.blocks]
    given = max(needs)
    if register_usage < 5:
        return [Plan(True, given * (register_usage + 5) // 20)]
    if fn.kind == "helper":
        # Values of the callers are in the registers above its own.
        return [Plan(False, given)]
    free = _free_words(fn)
    free = free * (15 + register_usage) // 20
    first = Plan(False, step_words(given, free))
    spills = given > most_words(fn.max_regs)
    facts.free_products = spills
    if first.words <= free and not spills:
        return [first]
    # Fewer words than this allow more warps than the order as given, or need no spills.
    wanted = next((n for n in range(given, -1, -1) if step_words(n, free) < first.words), -1)
    if spills:
        wanted = max(wanted, given - 1)
    kept = [list(b.insts) for b in fn.blocks]
    out = [first]
    tight = step_that_holds(given)
    if tight:
        out.insert(0, Plan(False, given, registers=tight))
    if wanted >= 0 and sink_all(fn, lv, latency(fn.target.latency_class), facts, needs, wanted):
        out[:0] = _sunk_plans(fn, Plan(True, step_words(max(needs), free), order_of(kept, fn)), first)
    for b, insts in zip(fn.blocks, kept, strict=True):
        b.insts = insts
    return out + wider_plans(fn, first)


def _sunk_plans(fn: Func, least: Plan, given: Plan) -> list[Plan]:
    """A plan that starts from an order for few registers, and those with the registers of the next lower occupancies, which its loads
    may use, below the plan for the order as given.
    """
    return [least] + [Plan(True, n, least.sunk) for n in _lower_steps(fn, least.words, 1) if n < given.words]


def wider_plans(fn: Func, first: Plan) -> list[Plan]:
    """Orders with more registers than another: all that blocks of this size leave free, and those of the next lower occupancies, if there are
    loads that could be under way together.
    """
    words = [most_words(registers_for(fn.warps()))]
    words += _lower_steps(fn, first.words)
    most = fn.max_regs - fn.knobs.sched_reg_reserve
    return [Plan(False, n) for n in sorted(set(words)) if first.words < n <= most]


def _lower_steps(fn: Func, words: int, more: int = 0) -> list[int]:
    """The words of the next lower occupancies than that of some words, if there are loads that could be under way together; `more`: so many
    more than the knob RegTgtExtraSteps has.
    """
    out: list[int] = []
    if any(_loads(b) >= fn.knobs.sched_many_loads for b in fn.blocks):
        # Values on the uniform datapath lower the need, and with it the step from which the next one counts.
        for _ in range(fn.knobs.reg_tgt_extra_steps + fn.target.has(features.UNIFORM_BRANCHES) + more):
            words = step_words(words + 1, words + 1)
            out.append(words)
    return out


def most_live_words(fn: Func, known: Liveness) -> int:
    """Maximum words of R registers live at once in the present order; `known`: the function's liveness."""
    counting = WordCounting(fn)
    return max(block_pressure(fn, b, known, counting) for b in fn.blocks)


def block_pressure(fn: Func, b: Block, lv: Liveness, known: WordCounting | None = None) -> int:
    """Maximum words of R registers live at once in a block in its present order; `known`: how the function's words count."""
    counting = WordCounting(fn) if known is None else known
    live = {x for v in members(lv.live_out[b.id]) for x in counting.split(v)}
    now = top = lv.words(fn, K_R).count(lv.live_out[b.id])
    for inst in reversed(b.insts):
        if inst.op is OP_PHI:
            break
        for d in counting.writes(inst):
            if d in live:
                live.discard(d)
                now -= counting.words(d)
        for s in counting.reads(inst):
            if s not in live:
                live.add(s)
                now += counting.words(s)
        if now > top:
            top = now
    return top


def _loads(b: Block) -> int:
    """Loads of a block from memory that may be far."""
    return sum(1 for inst in b.insts if is_far_load(inst))


def _free_words(fn: Func) -> int:
    """Live words that cost no occupancy on the function's SM."""
    return most_words(lowest_step(fn.target))


def sink_all(fn: Func, lv: Liveness, lat: Latency, facts: SharedFacts, needs: list[int], wanted: int = 1 << 30) -> bool:
    """Give the blocks that need more registers than are free an order that needs fewer; `needs`: live words of each, kept up.

    Stops, and returns False, when it shows that a block needs more than `wanted` words.
    """
    free = _free_words(fn)
    if any(facts.words.count(lv.live_out[b.id]) > wanted for b in fn.blocks):
        return False
    for k in sorted(range(len(needs)), key=lambda k: -needs[k]):
        if needs[k] > free:
            b = fn.blocks[k]
            _sink(fn, b, lv, lat, facts)
            needs[k] = block_pressure(fn, b, lv, facts.counting)
            if needs[k] > wanted:
                return False
    return True


def _sink(fn: Func, b: Block, lv: Liveness, lat: Latency, facts: SharedFacts) -> None:
    """Give the pieces of a block with high pressure an order that needs fewer registers."""
    whole = is_whole(fn, b)
    pieces = [x for x in pieces_of(b, True) if x[1] - x[0] > 2]
    after = live_at(b, {last for _, last in pieces}, lv.live_out[b.id], facts.counting.registers)
    for first, last in pieces:
        body = facts.body(fn, b, first, last, after[last], lat, whole)
        reads = [[s for s, _ in x.reads] for x in body.nodes]
        writes = [x.writes for x in body.nodes]
        order = few_registers(Piece(fn, body.graph, reads, writes, after[last], facts.counting))
        b.insts[first:last] = [b.insts[first + k] for k in order]
