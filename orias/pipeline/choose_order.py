"""The order before allocation, chosen by the time that the machine model gives the finished code."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from orias.analysis.liveness import Liveness, liveness
from orias.diag import CompileError, Unsupported
from orias.options import Options
from orias.ori.clone import clone, restore
from orias.ori.decisions import ORDER, Decision
from orias.ori.ir import Func, Inst
from orias.passes.dce import eliminate_dead
from orias.passes.remat import relieve_peaks
from orias.schedule.piece_body import SharedFacts
from orias.schedule.piece_orders import PieceOrders, Reach
from orias.schedule.plans import Order, Plan, most_live_words, order_of, plans, put_in_order, wider_plans, word_limit
from orias.schedule.scheduling import post_ra, pre_ra
from orias.target import features
from orias.target.register_steps import live_words, registers_that_hold, step_of, step_words, steps

if TYPE_CHECKING:
    from orias.pipeline.estimated_time import EstimatedTime
    from orias.pipeline.modelled_time import ModelledTime


def schedule_by_model(fn: Func, options: Options, allocate: Callable[[Func], None]) -> Func | None:
    """Orders a function before allocation; `allocate` runs the later phases up to `post_ra`, on copies that are tried out.

    Returns the copy that `finish` has made of the function in the order chosen, if there is one.
    """
    if options.opt_level == 0 or options.serial:
        return None
    # It is the same for all orders, which are orders within blocks.
    lv = liveness(fn)
    found = _in_order(fn, options, lv, allocate)
    if fn.kind != "entry" or fn.entry_regs or options.register_usage < 5:
        return found
    if sum(len(b.insts) for b in fn.blocks) > fn.knobs.sched_trial_max_inst:
        return found
    return _one_step_less(fn, found, options, lv, allocate)


def _in_order(fn: Func, options: Options, lv: Liveness, allocate: Callable[[Func], None]) -> Func | None:
    """As :func:`schedule_by_model`, with the instructions as they are."""
    shared = SharedFacts(fn, lv)
    ways = plans(fn, options.register_usage, lv, shared)
    if sum(len(b.insts) for b in fn.blocks) > fn.knobs.sched_trial_max_inst:
        pre_ra(fn, options, ways[0], lv, shared=shared)
        return None
    orders = _Orders(fn, options, lv, shared)
    if len(ways) == 1:
        given = most_live_words(fn, lv)
        put_in_order(fn, orders.order(ways[0]).order)
        if fn.kind != "entry" or options.register_usage < 5:
            return None
        if orders.order(ways[0]).reach.is_bounded:
            orders.restore()
            ways += wider_plans(fn, ways[0])
        elif fn.target.has(features.UNIFORM_BRANCHES) and most_live_words(fn, lv) >= given + fn.knobs.sched_words_saved:
            orders.restore()
            ways.append(Plan(False, given))
        else:
            return None
    return _best(fn, orders, ways, allocate)


def _one_step_less(
    fn: Func, found: Func | None, options: Options, lv: Liveness, allocate: Callable[[Func], None]
) -> Func | None:
    """Code with the registers of a higher occupancy, where a function in its order needs a few more, if that is faster.

    What idles through the fullest blocks, as invariants do that left a loop, is computed again after them, before allocation and
    then by the allocator, as far as it takes no spill.  `found`: the finished copy of the function, if there is one.
    """
    if found is None:
        count = registers_that_hold(most_live_words(fn, lv))
        step = _higher_step(fn, count)
        if not step or count - step > fn.knobs.sched_step_overshoot:
            return None
        # Alignment takes more registers than live words, joined values fewer.
        found = _finished_copy(fn, options, allocate)
        if found is None:
            return None
    step = _higher_step(fn, found.reg_count)
    if not step or found.reg_count - step > fn.knobs.sched_step_retry or _spills(found):
        return found
    less = clone(fn)
    if not relieve_peaks(less, lv, step):
        return found
    eliminate_dead(less)
    lv = liveness(less)
    pre_ra(less, options, Plan(False, live_words(step)), lv)
    if most_live_words(less, lv) > live_words(step) + fn.knobs.sched_step_words:
        return found
    less.max_regs = step
    trial = _finished_copy(less, options, allocate)
    if trial is None or _spills(trial):
        return found
    both = [_Trial(k, [], x, 0.0) for k, x in enumerate((found, trial))]
    times = _times(fn, both)
    faster = times[1].measure <= times[0].measure * (1 - fn.knobs.sched_step_gain / 1000)
    faster = faster and _work(trial) <= _work(found) * (1 + fn.knobs.sched_step_work / 1000)
    if fn.decisions is not None:
        measures = [x.measure for x in times]
        fn.decisions.append(_decision(both, measures, int(faster), "values computed again for more warps"))
    if not faster:
        return found
    restore(fn, less)
    return trial


def _work(fn: Func) -> float:
    """Instructions that a finished function executes, by the loops that they are in."""
    from orias.pipeline.estimated_time import loop_weight

    return sum(loop_weight(fn, b.depth) * len(b.insts) for b in fn.blocks)


def _higher_step(fn: Func, registers: int) -> int:
    """The most registers with which more warps fit than with `registers`; 0 if none are fewer."""
    from orias.pipeline.estimated_time import warps_with

    warps = warps_with(fn, registers)
    return max([s for s in steps(fn.target) if s < registers and warps_with(fn, s) > warps], default=0)


def _finished_copy(fn: Func, options: Options, allocate: Callable[[Func], None]) -> Func | None:
    """A copy of a function in its order after the rest of the phases; None if it fails in them."""
    out = clone(fn)
    try:
        allocate(out)
        post_ra(out, options)
    except (CompileError, Unsupported):
        return None
    return out


@final
class _Ordered:
    """An order of a function, the limits on live words that give it, and what it takes."""

    __slots__ = ("order", "reach", "sink")

    def __init__(self, sink: bool, reach: Reach, order: Order) -> None:
        self.sink: Final[bool] = sink
        """Whether it started from an order for few registers."""
        self.reach: Final[Reach] = reach
        self.order: Final[Order] = order


@final
class _Orders:
    """The orders that plans give one function, each found once."""

    __slots__ = ("fn", "found", "given", "lv", "options", "pieces", "shared")

    def __init__(self, fn: Func, options: Options, lv: Liveness, shared: SharedFacts) -> None:
        self.fn: Final[Func] = fn
        self.options: Final[Options] = options
        self.lv: Final[Liveness] = lv
        self.shared: Final[SharedFacts] = shared
        self.given: Final[list[list[Inst]]] = [b.insts for b in fn.blocks]
        """The instructions of the blocks as given, of which :meth:`order` has indices."""
        self.found: Final[list[_Ordered]] = []
        self.pieces: Final[dict[bool, list[list[PieceOrders]]]] = {}
        """The pieces of the blocks, in the order for few registers (True) and as given."""

    def restore(self) -> None:
        """Give the function its order as given."""
        for b, insts in zip(self.fn.blocks, self.given, strict=True):
            b.insts = insts

    def order(self, way: Plan) -> _Ordered:
        """The order by a plan; the function keeps its order."""
        limit = word_limit(self.fn, way)
        for found in self.found:
            if found.sink == way.sink and found.reach.holds(limit):
                return found
        for b in self.fn.blocks:
            b.insts = list(b.insts)
        pieces = self.pieces.setdefault(way.sink, [])
        reach = pre_ra(self.fn, self.options, way, self.lv, pieces, self.shared, self.pieces.get(not way.sink))
        found = _Ordered(way.sink, reach, order_of(self.given, self.fn))
        self.restore()
        self.found.append(found)
        return found


def _one_step_more(fn: Func, orders: _Orders, ways: list[Plan], estimated: "EstimatedTime") -> list[Plan]:
    """A plan with the registers of a still lower occupancy, where those of the lowest of some plans are not worth their warps.

    Of eight loads of four words each no more are under way with 40 registers than with 32, but all with 48.
    """
    wide = sorted([way for way in ways if not way.sink], key=lambda way: way.words)
    if len(wide) < 2:
        return []
    before, last = (orders.order(way).reach for way in wide[-2:])
    words = step_words(wide[-1].words + 1, wide[-1].words + 1)
    if not last.is_bounded or words > fn.max_regs - fn.knobs.sched_reg_reserve:
        return []
    pays = estimated.of(last.cycles, wide[-1].registers) < estimated.of(before.cycles, wide[-2].registers)
    return [] if pays else [Plan(False, words)]


@final
class _Trial:
    """A function in some order, allocated.  ``place``: the plan's place among all of them; ``time``: as estimated, with what spills cost."""

    __slots__ = ("fn", "order", "place", "time")

    def __init__(self, place: int, order: Order, fn: Func, time: float) -> None:
        self.place: Final[int] = place
        self.order: Final[Order] = order
        self.fn: Final[Func] = fn
        self.time: Final[float] = time


def _best(fn: Func, orders: _Orders, ways: list[Plan], allocate: Callable[[Func], None]) -> Func | None:
    """Orders a function by the best of some plans; returns the finished copy, None if no plan could be finished.

    The plans that spill the least come first, and of these those whose code is estimated to be the fastest; those that are estimated
    to spill more or to be slower by far than what is finished then are left out, and so are all after the first few
    (`SchedTrialMost`).  In a long function the estimate of an order that keeps what it promised is not questioned
    (`SchedTrialSureInst`).
    """
    from orias.pipeline.estimated_time import EstimatedTime, warps_with

    tried: list[_Trial] = []
    failed: list[Order] = []
    finished = 0
    estimated = EstimatedTime(fn)
    todo = [*ways, *_one_step_more(fn, orders, ways, estimated)]
    lacking = [max(0, way.words - fn.max_regs) for way in todo]
    """For each plan the live words that find no register."""
    # Each of these words is spilled, and bytes that are spilled weigh more than all else (SchedSpillPenalty).
    fewest = min(lacking) + fn.knobs.sched_trial_spill_slack
    promised = [
        estimated.of(orders.order(way).reach.cycles, way.registers) if words < fewest else 0.0
        for way, words in zip(todo, lacking, strict=True)
    ]
    """For each plan its estimated time; 0 for one that spills so much more that it counts only if no other can be finished."""
    places = sorted(range(len(todo)), key=lambda k: (lacking[k] >= fewest, promised[k], lacking[k]))
    long = sum(len(b.insts) for b in fn.blocks) >= fn.knobs.sched_trial_sure_inst
    least, warps = float("inf"), 0
    fuller: list[int] = []
    """Places of plans for as many registers as one that was tried, with more words; they come last."""
    at = 0
    while at < len(places) or fuller:
        if finished >= fn.knobs.sched_trial_most:
            break
        if at == len(places):
            places += fuller
            fuller = []
        place = places[at]
        at += 1
        way = todo[place]
        if lacking[place] >= fewest and tried:
            continue
        found = orders.order(way)
        order = found.order
        more = warps_with(fn, way.registers) > warps
        if order in failed or promised[place] > least * _slack(fn, more):
            continue
        same = next((x.fn for x in tried if x.order == order), None)
        trial = clone(fn) if same is None else same
        if same is None:
            put_in_order(trial, order)
            try:
                allocate(trial)
            except (CompileError, Unsupported):
                failed.append(order)
                continue
            finished += 1
        time = estimated.of(found.reach.cycles, trial.reg_count) * _penalty(trial)
        tried.append(_Trial(place, order, trial, time))
        if time < least:
            least, warps = time, warps_with(fn, trial.reg_count)
        if long and not _spills(trial) and warps_with(fn, trial.reg_count) >= warps_with(fn, way.registers):
            break
        words, over = way.words, (trial.packed or trial.reg_count) - way.registers
        if _spills(trial):
            # There are registers for all words, but not side by side where vectors need them.
            words, over = word_limit(fn, way), fn.knobs.sched_step_overshoot
        wanted = finished < fn.knobs.sched_trial_most and len(todo) < 2 * len(ways)
        if wanted and 0 < over <= fn.knobs.sched_step_overshoot:
            # The allocator needs a few registers more than live words, however tightly it packs them: with as many words less the
            # occupancy is as planned.
            other = Plan(way.sink, words - over, way.sunk)
            places.append(len(todo))
        elif wanted and place < len(ways) and not _spills(trial) and found.reach.is_bounded:
            # It needs fewer: with as many words more the occupancy is the same.
            step = min(way.registers, step_of(fn.target, trial.reg_count))
            if step <= trial.reg_count:
                continue
            other = Plan(way.sink, words + step - trial.reg_count, way.sunk, step)
            fuller.append(len(todo))
        else:
            continue
        todo.append(other)
        promised.append(estimated.of(orders.order(other).reach.cycles, other.registers))
        lacking.append(max(0, other.words - fn.max_regs))
    tried.sort(key=lambda x: x.place)
    if not tried:
        put_in_order(fn, orders.order(ways[0]).order)
        return None
    kept = _finished(_near(fn, tried), orders.options)
    if not kept:
        put_in_order(fn, orders.order(ways[0]).order)
        return None
    times = _times(fn, kept)
    best = _chosen(fn, kept, times)
    put_in_order(fn, kept[best].order)
    if fn.decisions is not None:
        fn.decisions.append(_decision(kept, [x.measure for x in times], best))
    return kept[best].fn


def _chosen(fn: Func, kept: list[_Trial], times: "list[ModelledTime]") -> int:
    """The index of the fastest; of orders with nearly the same time, for the model is not that exact, of one with which more warps fit.

    Not of one that takes much longer where there is only one warp, to which other warps are no help.
    """
    spare = fn.knobs.sched_reg_preference * 2 // (2 if fn.target.has(features.UNIFORM_BRANCHES) else 3)
    fastest = min(times, key=lambda x: x.measure)
    least = fastest.measure + fastest.measure * spare / 100
    alone = fastest.alone + fastest.alone * fn.knobs.sched_reg_preference_alone / 100
    near = [k for k, x in enumerate(times) if x is fastest or (x.measure <= least and x.alone <= alone)]
    best = min(near, key=lambda k: (step_of(fn.target, kept[k].fn.reg_count) if spare else 0, times[k].measure))
    equal = [k for k in near if times[k].measure <= times[best].measure * (1 + fn.knobs.sched_equal_time / 1000)]
    return min(equal, key=lambda k: (kept[k].fn.reg_count, times[k].measure))


def _near(fn: Func, tried: list[_Trial]) -> list[_Trial]:
    """The trials that may be the fastest, as far as is known once they are allocated."""
    from orias.pipeline.estimated_time import warps_with

    best = min(tried, key=lambda x: x.time)
    warps = warps_with(fn, best.fn.reg_count)
    return [x for x in tried if x.time <= best.time * _slack(fn, warps_with(fn, x.fn.reg_count) > warps)]


def _finished(trials: list[_Trial], options: Options) -> list[_Trial]:
    """Trials after the rest of the phases; without those that fail in it."""
    out: list[_Trial] = []
    done: list[Func] = []
    failed: list[Func] = []
    for x in trials:
        if x.fn not in done and x.fn not in failed:
            try:
                post_ra(x.fn, options)
                done.append(x.fn)
            except (CompileError, Unsupported):
                failed.append(x.fn)
        if x.fn in done:
            out.append(x)
    return out


def _slack(fn: Func, more: bool) -> float:
    """How many times the estimated time of the fastest plan so far another one may have; `more`: it allows more warps."""
    return 1 + (fn.knobs.sched_trial_slack if more else fn.knobs.sched_trial_same_warps_slack) / 100


def _times(fn: Func, tried: list[_Trial]) -> "list[ModelledTime]":
    """The modelled times of finished functions, with a penalty for spills; 0 for a single one about which nobody asks."""
    from orias.pipeline.modelled_time import ModelledTime, modelled_time

    if fn.decisions is None and all(x.fn is tried[0].fn for x in tried):
        return [ModelledTime(0.0, 0.0)] * len(tried)
    times: list[ModelledTime] = []
    for k, x in enumerate(tried):
        first = next(i for i, y in enumerate(tried) if y.fn is x.fn)
        if first < k:
            times.append(times[first])
            continue
        found = modelled_time(x.fn)
        times.append(ModelledTime(found.alone * _penalty(x.fn), found.measure * _penalty(x.fn)))
    return times


def _penalty(fn: Func) -> float:
    """What the time of a finished function counts for more because of its spills."""
    return 1.0 + fn.knobs.sched_spill_penalty * _spills(fn)


def _spills(fn: Func) -> int:
    """Bytes that a finished function spills."""
    return fn.spill_stores + fn.spill_loads


def _decision(tried: list[_Trial], times: list[float], best: int, what: str = "orders of instructions") -> Decision:
    words: list[str] = []
    numbers: dict[str, int] = {}
    for k, (x, time) in enumerate(zip(tried, times, strict=True)):
        trial = x.fn
        spills = f", {trial.spill_stores + trial.spill_loads} spilled bytes" if trial.spill_loads else ""
        words.append(f"{trial.reg_count} registers{spills}: {time:.0f}" + " (chosen)" * (k == best))
        numbers[f"registers_{k}"], numbers[f"time_{k}"] = trial.reg_count, round(time)
    return Decision(ORDER, 0, f"{what} by modelled time: " + "; ".join(words), numbers)
