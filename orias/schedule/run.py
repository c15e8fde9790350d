"""Entry points of the scheduling room."""

from typing import final

from orias.ori.ir import Func
from orias.schedule.layout import layout
from orias.schedule.scoreboard import assign
from orias.schedule.serial import schedule_serial


@final
class ScheduleOptions:
    """``opt_level`` 0..3 (0: the serial scheme, no reordering); ``serial``: serial control words at any level."""

    __slots__ = ("opt_level", "serial")

    def __init__(self, opt_level: int = 3, serial: bool = False) -> None:
        self.opt_level: int = opt_level
        self.serial: bool = serial


def pre_ra(fn: Func, options: ScheduleOptions) -> None:
    """Reorder instructions of a function in state ``virtual``, before allocation."""


def post_ra(fn: Func, options: ScheduleOptions) -> None:
    """Block order, branches and control words of an allocated function; its state becomes ``final``."""
    layout(fn)
    if options.serial or options.opt_level == 0:
        schedule_serial(fn)
    else:
        assign(fn)
    fn.state = "final"
