"""The order before allocation, chosen by the time that the machine model gives the finished code."""

from collections.abc import Callable

from orias.diag import CompileError, Unsupported
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.decisions import ORDER, Decision
from orias.ori.ir import Func
from orias.schedule.list import Plan, most_live_words, plans, wider_plans
from orias.schedule.scheduling import pre_ra
from orias.target import features
from orias.target.register_steps import STEPS, registers_of


def schedule_by_model(fn: Func, options: Options, finish: Callable[[Func], None]) -> Func | None:
    """Orders a function before allocation; `finish` runs the later phases, on copies that are tried out.

    Returns the copy that `finish` has made of the function in the order chosen, if there is one.
    """
    if options.opt_level == 0 or options.serial:
        return None
    ways = plans(fn, options.register_usage)
    if sum(len(b.insts) for b in fn.blocks) > fn.knobs.sched_trial_max_inst:
        pre_ra(fn, options, ways[0])
    elif len(ways) > 1:
        return _best(fn, options, ways, finish)
    elif fn.kind != "entry" or options.register_usage < 5:
        pre_ra(fn, options, ways[0])
    else:
        kept = [list(b.insts) for b in fn.blocks]
        pre_ra(fn, options, ways[0])
        if most_live_words(fn) < ways[0].words:
            return None
        for b, insts in zip(fn.blocks, kept, strict=True):
            b.insts = insts
        ways += wider_plans(fn, ways[0])
        return _best(fn, options, ways, finish)
    return None


def _best(fn: Func, options: Options, ways: list[Plan], finish: Callable[[Func], None]) -> Func | None:
    """Orders a function by the best of some plans; returns the finished copy, None if no plan could be finished."""
    from orias.pipeline.modelled_time import modelled_time

    least = -1.0
    tried: list[tuple[Plan, Func, float]] = []
    todo = list(ways)
    for way in todo:
        trial = clone(fn)
        pre_ra(trial, options, way)
        try:
            finish(trial)
        except (CompileError, Unsupported):
            continue
        spilled = trial.spill_stores + trial.spill_loads
        time = modelled_time(trial) * (1 + fn.knobs.sched_spill_penalty * spilled)
        tried.append((way, trial, time))
        over = trial.reg_count - registers_of(way.words)
        if 0 < over <= fn.knobs.sched_step_overshoot and len(todo) < 2 * len(ways):
            # The allocator needs a few registers more than live words: with as many words less the occupancy is as planned.
            todo.append(Plan(way.sink, way.words - over))
        if least < 0 or time < least:
            least = time
    # The model is not that exact: of orders with nearly the same time, one with which more warps fit.
    spare = fn.knobs.sched_reg_preference // (1 if fn.target.has(features.UNIFORM_BRANCHES) else 2)
    near = [x for x in tried if x[2] <= least + least * spare / 100]
    if not near:
        pre_ra(fn, options, ways[0])
        return None
    best, finished, _ = min(near, key=lambda x: (_step(x[1].reg_count) if spare else 0, x[2]))
    pre_ra(fn, options, best)
    if fn.decisions is not None:
        fn.decisions.append(_decision(tried, best))
    return finished


def _step(registers: int) -> int:
    """The register count up to which as many warps fit."""
    return next((s for s in STEPS if s >= registers), registers)


def _decision(tried: list[tuple[Plan, Func, float]], best: Plan) -> Decision:
    words: list[str] = []
    numbers: dict[str, int] = {}
    for k, (way, trial, time) in enumerate(tried):
        spills = f", {trial.spill_stores + trial.spill_loads} spilled bytes" if trial.spill_loads else ""
        words.append(f"{trial.reg_count} registers{spills}: {time:.0f}" + " (chosen)" * (way is best))
        numbers[f"registers_{k}"], numbers[f"time_{k}"] = trial.reg_count, round(time)
    return Decision(ORDER, 0, "orders of instructions by modelled time: " + "; ".join(words), numbers)
