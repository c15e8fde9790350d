"""The function behind each key of the phase table."""

from typing import Final

from orias.diag import VerifyError
from orias.ori.ir import Func
from orias.passes import (
    rules_bytes,
    rules_float,
    rules_fold,
    rules_half,
    rules_int,
    rules_logic,
    rules_matrix,
    rules_mem,
    rules_pred,
)
from orias.passes.accumulators import propagate_accumulators
from orias.passes.barrier_reset import reset_barriers
from orias.passes.branches import optimize_branches
from orias.passes.dce import eliminate_dead
from orias.passes.dead_loops import remove_dead_loops
from orias.passes.elected import settle_elections
from orias.passes.equal_phis import compute_behind_phis
from orias.passes.expand import expand_wide
from orias.passes.fold_guard import fold_guarded_copies
from orias.passes.gvn import eliminate_common
from orias.passes.legalize import legalize
from orias.passes.licm import hoist_invariants
from orias.passes.pipeline import PassContext, PhaseFunction
from orias.passes.predicate import predicate_arms
from orias.passes.reassociate import reassociate_addresses
from orias.passes.remat import needs_many_registers, relieve_peaks
from orias.passes.returns import unify_returns
from orias.passes.simplify import simplify
from orias.passes.uniform import use_constant_operands
from orias.passes.uniform_chains import compute_uniformly
from orias.passes.unroll import unroll_loops

RULE_MODULES: Final = (
    rules_float,
    rules_half,
    rules_int,
    rules_logic,
    rules_matrix,
    rules_mem,
    rules_pred,
    rules_bytes,
    rules_fold,
)
"""Importing them fills ``simplify.RULES`` and ``simplify.FOLDERS``."""


def _verify(fn: Func, cx: PassContext) -> None:
    if cx.self_check:
        from orias.ori.verify import verify

        faults = verify(fn)
        if faults:
            raise VerifyError("\n".join(faults))


def _returns(fn: Func, cx: PassContext) -> None:
    unify_returns(fn)


def _dce(fn: Func, cx: PassContext) -> None:
    eliminate_dead(fn)


def _live_dead(fn: Func, cx: PassContext) -> None:
    eliminate_dead(fn)
    if remove_dead_loops(fn):
        optimize_branches(fn)
        eliminate_dead(fn)


def _simplify(fn: Func, cx: PassContext) -> None:
    simplify(fn)
    if fold_guarded_copies(fn):
        simplify(fn)


def _branches(fn: Func, cx: PassContext) -> None:
    if optimize_branches(fn):
        simplify(fn)


def _unroll(fn: Func, cx: PassContext) -> None:
    # A loop around one that was written out may have become a single block.
    for _ in range(3):
        if not unroll_loops(fn):
            break
        optimize_branches(fn)
        simplify(fn)


def _elections(fn: Func, cx: PassContext) -> None:
    if cx.opt_level > 0 and settle_elections(fn):
        simplify(fn)
        optimize_branches(fn)
        eliminate_dead(fn)


def _local_cse(fn: Func, cx: PassContext) -> None:
    if cx.opt_level == 1:
        eliminate_common(fn, across_blocks=False)


def _gvn(fn: Func, cx: PassContext) -> None:
    eliminate_common(fn)


def _licm(fn: Func, cx: PassContext) -> None:
    hoist_invariants(fn)


def _reassociate(fn: Func, cx: PassContext) -> None:
    if reassociate_addresses(fn):
        eliminate_dead(fn)
        eliminate_common(fn, across_blocks=cx.opt_level > 1)


def _remat(fn: Func, cx: PassContext) -> None:
    if needs_many_registers(fn):
        changed = compute_behind_phis(fn)
        if relieve_peaks(fn) or changed:
            eliminate_dead(fn)


def _expand(fn: Func, cx: PassContext) -> None:
    expand_wide(fn)


def _predicate(fn: Func, cx: PassContext) -> None:
    if predicate_arms(fn):
        optimize_branches(fn)


def _uniform(fn: Func, cx: PassContext) -> None:
    if compute_uniformly(fn):
        eliminate_dead(fn)
    use_constant_operands(fn)


def _legalize(fn: Func, cx: PassContext) -> None:
    legalize(fn, cx.opt_level > 0)


def _sync(fn: Func, cx: PassContext) -> None:
    from orias.passes.sync import insert_sync

    insert_sync(fn)


def _pre_ra(fn: Func, cx: PassContext) -> None:
    from orias.schedule.run import ScheduleOptions, pre_ra

    pre_ra(fn, ScheduleOptions(cx.opt_level, cx.serial, cx.register_usage))


def _allocate(fn: Func, cx: PassContext) -> None:
    from orias.regalloc.run import allocate_checked, allocate_registers

    if cx.self_check:
        allocate_checked(fn, cx.apart)
    else:
        allocate_registers(fn, cx.apart)


def _gmma(fn: Func, cx: PassContext) -> None:
    if propagate_accumulators(fn):
        # What only fed an accumulator that is not kept would live on in phis.
        eliminate_dead(fn)


def _settle_gmma(fn: Func, cx: PassContext) -> None:
    from orias.schedule.warpgroup import settle_warpgroups

    settle_warpgroups(fn, cx.opt_level)


def _barrier_reset(fn: Func, cx: PassContext) -> None:
    reset_barriers(fn)


def _post_ra(fn: Func, cx: PassContext) -> None:
    from orias.schedule.run import ScheduleOptions, post_ra

    post_ra(fn, ScheduleOptions(cx.opt_level, cx.serial))
    if cx.self_check:
        from orias.schedule.hazards import check_hazards

        faults = check_hazards(fn)
        if faults:
            raise VerifyError("\n".join(faults))


FUNCTIONS: Final[dict[str, PhaseFunction]] = {
    "verify": _verify,
    "returns": _returns,
    "dce": _dce,
    "live_dead": _live_dead,
    "simplify": _simplify,
    "branches": _branches,
    "unroll": _unroll,
    "elections": _elections,
    "local_cse": _local_cse,
    "gvn": _gvn,
    "licm": _licm,
    "reassociate": _reassociate,
    "remat": _remat,
    "expand": _expand,
    "predicate": _predicate,
    "uniform": _uniform,
    "legalize": _legalize,
    "sync": _sync,
    "pre_ra": _pre_ra,
    "allocate": _allocate,
    "gmma": _gmma,
    "settle_gmma": _settle_gmma,
    "barrier_reset": _barrier_reset,
    "post_ra": _post_ra,
}
