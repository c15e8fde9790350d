"""The order before allocation, chosen by the time that the machine model gives the finished code."""

from collections.abc import Callable
from typing import Final, final

from orias.analysis.liveness import Liveness, liveness
from orias.diag import CompileError, Unsupported
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.decisions import ORDER, Decision
from orias.ori.ir import Func, Inst
from orias.schedule.list import (
    Order,
    PieceOrders,
    Plan,
    Reach,
    most_live_words,
    order_of,
    plans,
    put_in_order,
    wider_plans,
    word_limit,
)
from orias.schedule.scheduling import pre_ra
from orias.target import features
from orias.target.register_steps import STEPS, registers_of


def schedule_by_model(fn: Func, options: Options, finish: Callable[[Func], None]) -> Func | None:
    """Orders a function before allocation; `finish` runs the later phases, on copies that are tried out.

    Returns the copy that `finish` has made of the function in the order chosen, if there is one.
    """
    if options.opt_level == 0 or options.serial:
        return None
    # It is the same for all orders, which are orders within blocks.
    lv = liveness(fn)
    ways = plans(fn, options.register_usage, lv)
    if sum(len(b.insts) for b in fn.blocks) > fn.knobs.sched_trial_max_inst:
        pre_ra(fn, options, ways[0], lv)
        return None
    orders = _Orders(fn, options, lv)
    if len(ways) == 1:
        put_in_order(fn, orders.order(ways[0]))
        if fn.kind != "entry" or options.register_usage < 5 or most_live_words(fn, lv) < ways[0].words:
            return None
        orders.restore()
        ways += wider_plans(fn, ways[0])
    return _best(fn, orders, ways, finish)


@final
class _Orders:
    """The orders that plans give one function, each found once."""

    __slots__ = ("fn", "found", "given", "lv", "options", "pieces")

    def __init__(self, fn: Func, options: Options, lv: Liveness) -> None:
        self.fn: Final[Func] = fn
        self.options: Final[Options] = options
        self.lv: Final[Liveness] = lv
        self.given: Final[list[list[Inst]]] = [b.insts for b in fn.blocks]
        """The instructions of the blocks as given, of which :meth:`order` has indices."""
        self.found: Final[list[tuple[bool, Reach, Order]]] = []
        """Whether an order started from one for few registers, the limits on live words that give it, and the order."""
        self.pieces: Final[dict[bool, list[list[PieceOrders]]]] = {}
        """The pieces of the blocks, in the order for few registers (True) and as given."""

    def restore(self) -> None:
        """Give the function its order as given."""
        for b, insts in zip(self.fn.blocks, self.given, strict=True):
            b.insts = insts

    def order(self, way: Plan) -> Order:
        """The order by a plan; the function keeps its order."""
        limit = word_limit(self.fn, way)
        for sink, reach, order in self.found:
            if sink == way.sink and reach.holds(limit):
                return order
        for b in self.fn.blocks:
            b.insts = list(b.insts)
        reach = pre_ra(self.fn, self.options, way, self.lv, self.pieces.setdefault(way.sink, []))
        order = order_of(self.given, self.fn)
        self.restore()
        self.found.append((way.sink, reach, order))
        return order


@final
class _Trial:
    """A function in some order, finished."""

    __slots__ = ("fn", "order", "way")

    def __init__(self, way: Plan, order: Order, fn: Func) -> None:
        self.way: Final[Plan] = way
        self.order: Final[Order] = order
        self.fn: Final[Func] = fn


def _best(fn: Func, orders: _Orders, ways: list[Plan], finish: Callable[[Func], None]) -> Func | None:
    """Orders a function by the best of some plans; returns the finished copy, None if no plan could be finished."""
    tried: list[_Trial] = []
    failed: list[Order] = []
    todo = list(ways)
    for way in todo:
        order = orders.order(way)
        if order in failed:
            continue
        same = next((x.fn for x in tried if x.order == order), None)
        trial = clone(fn) if same is None else same
        if same is None:
            put_in_order(trial, order)
            try:
                finish(trial)
            except (CompileError, Unsupported):
                failed.append(order)
                continue
        tried.append(_Trial(way, order, trial))
        over = trial.reg_count - registers_of(way.words)
        if 0 < over <= fn.knobs.sched_step_overshoot and len(todo) < 2 * len(ways):
            # The allocator needs a few registers more than live words: with as many words less the occupancy is as planned.
            todo.append(Plan(way.sink, way.words - over, way.sunk))
    if not tried:
        put_in_order(fn, orders.order(ways[0]))
        return None
    times = _times(fn, tried)
    # The model is not that exact: of orders with nearly the same time, one with which more warps fit.
    spare = fn.knobs.sched_reg_preference // (1 if fn.target.has(features.UNIFORM_BRANCHES) else 2)
    least = min(times)
    near = [k for k, time in enumerate(times) if time <= least + least * spare / 100]
    best = min(near, key=lambda k: (_step(tried[k].fn.reg_count) if spare else 0, times[k]))
    put_in_order(fn, tried[best].order)
    if fn.decisions is not None:
        fn.decisions.append(_decision(tried, times, best))
    return tried[best].fn


def _times(fn: Func, tried: list[_Trial]) -> list[float]:
    """The modelled times of finished functions, with a penalty for spills; 0 for a single one about which nobody asks."""
    if fn.decisions is None and all(x.fn is tried[0].fn for x in tried):
        return [0.0] * len(tried)
    from orias.pipeline.modelled_time import modelled_time

    times: list[float] = []
    for k, x in enumerate(tried):
        first = next(i for i, y in enumerate(tried) if y.fn is x.fn)
        if first < k:
            times.append(times[first])
            continue
        spilled = x.fn.spill_stores + x.fn.spill_loads
        times.append(modelled_time(x.fn) * (1 + fn.knobs.sched_spill_penalty * spilled))
    return times


def _step(registers: int) -> int:
    """The register count up to which as many warps fit."""
    return next((s for s in STEPS if s >= registers), registers)


def _decision(tried: list[_Trial], times: list[float], best: int) -> Decision:
    words: list[str] = []
    numbers: dict[str, int] = {}
    for k, (x, time) in enumerate(zip(tried, times, strict=True)):
        trial = x.fn
        spills = f", {trial.spill_stores + trial.spill_loads} spilled bytes" if trial.spill_loads else ""
        words.append(f"{trial.reg_count} registers{spills}: {time:.0f}" + " (chosen)" * (k == best))
        numbers[f"registers_{k}"], numbers[f"time_{k}"] = trial.reg_count, round(time)
    return Decision(ORDER, 0, "orders of instructions by modelled time: " + "; ".join(words), numbers)
