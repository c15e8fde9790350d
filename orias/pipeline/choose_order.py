"""The order before allocation, chosen by the time that the machine model gives the finished code."""

from collections.abc import Callable

from orias.diag import CompileError, Unsupported
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.ir import Func
from orias.pipeline.modelled_time import modelled_time
from orias.schedule.list import Plan, plans
from orias.schedule.scheduling import pre_ra


def schedule_by_model(fn: Func, options: Options, finish: Callable[[Func], None]) -> None:
    """Orders a function before allocation.  `finish` runs the later phases, on copies that are tried out."""
    if options.opt_level == 0 or options.serial:
        return
    ways = plans(fn, options.register_usage)
    if len(ways) > 1 and sum(len(b.insts) for b in fn.blocks) <= fn.knobs.sched_trial_max_inst:
        pre_ra(fn, options, _best(fn, options, ways, finish))
    else:
        pre_ra(fn, options, ways[0])


def _best(fn: Func, options: Options, ways: list[Plan], finish: Callable[[Func], None]) -> Plan:
    best, least = ways[0], -1.0
    for way in ways:
        trial = clone(fn)
        pre_ra(trial, options, way)
        try:
            finish(trial)
        except (CompileError, Unsupported):
            continue
        spilled = trial.spill_stores + trial.spill_loads
        time = modelled_time(trial) * (1 + fn.knobs.sched_spill_penalty * spilled)
        if least < 0 or time < least:
            best, least = way, time
    return best
