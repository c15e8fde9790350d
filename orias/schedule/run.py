"""Entry points of the scheduling room."""

from typing import final

from orias.ori.ir import Func
from orias.schedule.layout import layout
from orias.schedule.list import schedule_physical, schedule_virtual
from orias.schedule.quads import expand_quads, settle
from orias.schedule.reuse import mark_reuse
from orias.schedule.scoreboard import assign
from orias.schedule.serial import schedule_serial
from orias.schedule.shared_gap import keep_apart
from orias.schedule.zeros import clear_once


@final
class ScheduleOptions:
    """``opt_level`` 0..3 (0: the serial scheme, no reordering); ``serial``: serial control words at any level;
    ``register_usage`` 0..10: how readily registers are spent."""

    __slots__ = ("opt_level", "register_usage", "serial")

    def __init__(self, opt_level: int = 3, serial: bool = False, register_usage: int = 5) -> None:
        self.opt_level: int = opt_level
        self.serial: bool = serial
        self.register_usage: int = register_usage


def pre_ra(fn: Func, options: ScheduleOptions) -> None:
    """Reorder instructions inside blocks before allocation (nothing at opt_level 0)."""
    if options.opt_level > 0 and not options.serial:
        schedule_virtual(fn, options.register_usage)


def post_ra(fn: Func, options: ScheduleOptions) -> None:
    """Block order, branches and control words of an allocated function; its state becomes ``final``."""
    expand_quads(fn)
    serial = options.serial or options.opt_level == 0
    if not serial:
        clear_once(fn)
        schedule_physical(fn)
    layout(fn)
    if serial:
        schedule_serial(fn)
    else:
        assign(fn)
        mark_reuse(fn)
    keep_apart(fn)
    settle(fn)
    fn.state = "final"
