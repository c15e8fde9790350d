"""The two entry points of scheduling: before and after register allocation."""

from typing import Final

from orias.analysis.liveness import Liveness
from orias.options import Options
from orias.ori.ir import OP_ACQUIRE, OP_AROUND, OP_IN_TURN, OP_KEEP, OP_NOP, Func
from orias.schedule.block_order import layout
from orias.schedule.fence_groups import gather_fences
from orias.schedule.joined_words import expand_joined
from orias.schedule.late_arrivals import arrive_late
from orias.schedule.list import schedule_physical, schedule_virtual
from orias.schedule.piece_body import SharedFacts
from orias.schedule.piece_orders import PieceOrders, Reach
from orias.schedule.plans import Plan
from orias.schedule.reuse import mark_reuse
from orias.schedule.scoreboard import assign
from orias.schedule.serial_scheme import schedule_serial
from orias.schedule.shared_gap import keep_apart
from orias.schedule.spread_reads import spread_reads
from orias.schedule.texture_quads import expand_quads, settle
from orias.schedule.zero_moves import clear_once

_DROPPED: Final = (OP_IN_TURN, OP_KEEP, OP_AROUND)


def pre_ra(
    fn: Func, options: Options, plan: Plan | None = None, known: Liveness | None = None,
    pieces: list[list[PieceOrders]] | None = None, shared: SharedFacts | None = None,
    others: list[list[PieceOrders]] | None = None,
) -> Reach:  # fmt: skip
    """Reorder instructions inside blocks before allocation; no change at -O0 and with ``Options.serial``.

    `plan`: one of :func:`orias.schedule.plans.plans`; by default the first.  `known` and what follows: see
    :func:`orias.schedule.list.schedule_virtual`.  Returns the limits on live words that give the same order.
    """
    if options.opt_level > 0 and not options.serial:
        return schedule_virtual(fn, options.register_usage, plan, known, pieces, shared, others)
    return Reach()


def post_ra(fn: Func, options: Options) -> None:
    """Set block order, branches and control words of an allocated function; its state becomes ``final``.

    At -O0 and with ``Options.serial`` nothing is reordered, and each instruction waits for the one before it.
    """
    expand_quads(fn)
    serial = options.serial or options.opt_level == 0
    if not serial:
        clear_once(fn)
        schedule_physical(fn)
        arrive_late(fn)
    _drop_order(fn)
    gather_fences(fn)
    joined = expand_joined(fn)
    layout(fn)
    if serial:
        schedule_serial(fn)
    else:
        _set_control_words(fn, joined)
    _name_acquires(fn)
    keep_apart(fn)
    settle(fn)
    fn.state = "final"


def _drop_order(fn: Func) -> None:
    """Remove what only keeps accesses, or keeps them in order: nothing moves or goes any more."""
    for b in fn.blocks:
        if any(i.op in _DROPPED for i in b.insts):
            b.insts = [i for i in b.insts if i.op not in _DROPPED]


def _name_acquires(fn: Func) -> None:
    """Acquires that are no instruction of their own become NOPs, which have their waits."""
    for inst in fn.insts():
        if inst.op is OP_ACQUIRE:
            inst.op = OP_NOP


def _set_control_words(fn: Func, joined: set[int]) -> None:
    """`joined`: the instructions whose registers must stay, by ``uid``."""
    kept = [list(b.insts) for b in fn.blocks]
    assign(fn)
    if spread_reads(fn, joined):
        # Without the NOPs that extend stall counts, which come anew too.
        for b, insts in zip(fn.blocks, kept, strict=True):
            b.insts = insts
        assign(fn)
    mark_reuse(fn)
