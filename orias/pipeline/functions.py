"""The function of each key of the table of phases."""

from collections.abc import Callable
from typing import Final, TypeAlias

from orias.analysis.liveness import Liveness, liveness
from orias.diag import VerifyError
from orias.options import Options
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
from orias.passes.balanced_addresses import balance_addresses
from orias.passes.barrier_reset import reset_barriers
from orias.passes.bit_tests import test_with_logic
from orias.passes.branches import optimize_branches
from orias.passes.compare_chains import make_jump_tables
from orias.passes.computed_places import choose_places
from orias.passes.constant_groups import group_constants
from orias.passes.constant_operands import use_constant_operands
from orias.passes.convergence import insert_sync
from orias.passes.dce import eliminate_dead
from orias.passes.dead_loops import remove_dead_loops
from orias.passes.distant_predicates import compute_conditions_again
from orias.passes.equal_phis import compute_after_phis
from orias.passes.expand import expand_wide
from orias.passes.fold_guard import fold_guarded_copies
from orias.passes.gvn import eliminate_common
from orias.passes.kept_loads import drop_second_readers
from orias.passes.legalize import legalize
from orias.passes.licm import hoist_invariants
from orias.passes.loads_ahead import load_before_branches
from orias.passes.local_words import promote_frame
from orias.passes.long_integers import fuse_words
from orias.passes.loop_decisions import note_loops
from orias.passes.loop_rotation import rotate_loops
from orias.passes.low_words import narrow_low_words
from orias.passes.masked_loads import keep_old_words
from orias.passes.merged_sums import merge_sums
from orias.passes.partial_unroll import unroll_partly
from orias.passes.predicate import predicate_arms
from orias.passes.reassociate import reassociate_addresses
from orias.passes.remat import needs_many_registers, relieve_peaks
from orias.passes.returns import unify_returns
from orias.passes.scaled_addresses import scale_addresses
from orias.passes.separate_exits import exit_separately
from orias.passes.shared_addends import share_addends
from orias.passes.shared_factors import share_factors
from orias.passes.simplify import simplified, simplify
from orias.passes.single_thread import resolve_elections
from orias.passes.spread_products import spread_products
from orias.passes.stored_values import reuse_stored
from orias.passes.tensor_addresses import share_tensor_addresses
from orias.passes.texture_components import leave_out_components
from orias.passes.undefined_values import begin_late
from orias.passes.uniform_atomics import combine_uniform_atomics
from orias.passes.uniform_chains import compute_uniformly
from orias.passes.unroll import unroll_loops
from orias.passes.whole_products import merge_products
from orias.passes.wide_accesses import widen_accesses
from orias.pipeline.choose_order import schedule_by_model
from orias.regalloc.register_allocation import allocate_checked, allocate_registers
from orias.regalloc.stack_guard import guard_frame
from orias.schedule.scheduling import post_ra
from orias.schedule.wgmma_groups import finish_warpgroups

PhaseFunction: TypeAlias = "Callable[[Func, Options], Func | None]"
Trace: TypeAlias = "Callable[[str, Func], None]"
"""Called after each phase with its name and the function."""

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
"""The import of these modules fills ``simplify.RULES`` and ``simplify.FOLDERS``."""


def _verify(fn: Func, o: Options) -> None:
    """Does nothing: :mod:`orias.pipeline.watch` runs the verifier after each phase."""


def _returns(fn: Func, o: Options) -> None:
    unify_returns(fn)


def _dce(fn: Func, o: Options) -> None:
    eliminate_dead(fn)
    drop_second_readers(fn)


def _live_dead(fn: Func, o: Options) -> None:
    eliminate_dead(fn)
    if remove_dead_loops(fn):
        optimize_branches(fn)
        eliminate_dead(fn)


def _simplify(fn: Func, o: Options) -> None:
    if fold_guarded_copies(fn, simplified(fn)):
        simplify(fn)


def _branches(fn: Func, o: Options) -> None:
    if optimize_branches(fn):
        simplify(fn)


def _rotate(fn: Func, o: Options) -> None:
    if rotate_loops(fn):
        simplify(fn)
        optimize_branches(fn)


def _unroll(fn: Func, o: Options) -> None:
    first_new = fn.next_block
    # Counters of which only the low word is read, as those of addresses of shared memory are, count as words.
    if narrow_low_words(fn):
        simplify(fn)
    # After an inner loop is unrolled, the loop around it may be a single block, which can be unrolled too.
    budget = fn.knobs.unroll_growth_limit
    for _ in range(fn.knobs.unroll_rounds):
        added = unroll_loops(fn, budget)
        if added == 0:
            break
        budget -= added
        optimize_branches(fn)
        simplify(fn)
    if unroll_partly(fn):
        simplify(fn)
        optimize_branches(fn)
    if fn.decisions is not None:
        note_loops(fn, first_new)


def _elections(fn: Func, o: Options) -> None:
    if resolve_elections(fn):
        simplify(fn)
        optimize_branches(fn)
        eliminate_dead(fn)


def _uniform_atomics(fn: Func, o: Options) -> None:
    if not fn.spares_uniform:
        combine_uniform_atomics(fn)


def _local_words(fn: Func, o: Options) -> None:
    if fn.frame_fixed:
        # The address of a local variable has 64 bits, of which accesses read the low word.
        narrow_low_words(fn)
        simplify(fn)
        eliminate_dead(fn)
        if not fn.guards_frame:
            # An access at a computed place is what the guard is for; ptxas keeps it, too.
            choose_places(fn)
        if promote_frame(fn):
            simplify(fn)


def _local_cse(fn: Func, o: Options) -> None:
    if reuse_stored(fn):
        simplify(fn)
    eliminate_common(fn, across_blocks=False)


def _gvn(fn: Func, o: Options) -> None:
    if reuse_stored(fn):
        simplify(fn)
    eliminate_common(fn)


def _licm(fn: Func, o: Options) -> None:
    hoist_invariants(fn)


def _licm_late(fn: Func, o: Options) -> None:
    if not any(fn.changes_uniform(i) for i in fn.insts()):
        hoist_invariants(fn, late=True)


def _switch(fn: Func, o: Options) -> None:
    make_jump_tables(fn)


def _reassociate(fn: Func, o: Options) -> None:
    changed = share_tensor_addresses(fn)
    if reassociate_addresses(fn) or changed:
        eliminate_dead(fn)
        eliminate_common(fn, across_blocks=o.opt_level > 1)


def _remat(fn: Func, o: Options) -> None:
    lv: Liveness | None = None
    begin_late(fn)
    if len(fn.blocks) > 1:
        lv = liveness(fn)
        if needs_many_registers(fn, lv):
            if compute_after_phis(fn):
                lv = None
            if relieve_peaks(fn, lv) or lv is None:
                lv = None
                eliminate_dead(fn)
    compute_conditions_again(fn, lv)


def _expand(fn: Func, o: Options) -> None:
    if o.opt_level > 0:
        narrow_low_words(fn)
    expand_wide(fn)
    if o.opt_level > 0:
        merge_products(fn)
    if o.opt_level > 1:
        widen_accesses(fn)


def _predicate(fn: Func, o: Options) -> None:
    if predicate_arms(fn):
        optimize_branches(fn)
    if o.opt_level >= 2:
        load_before_branches(fn)
    if keep_old_words(fn):
        simplify(fn)
    exit_separately(fn)


def _uniform(fn: Func, o: Options) -> None:
    if fn.spares_uniform:
        return
    if compute_uniformly(fn):
        eliminate_dead(fn)
    share_factors(fn)
    use_constant_operands(fn)
    group_constants(fn)


def _long_integers(fn: Func, o: Options) -> None:
    test_with_logic(fn)
    merge_sums(fn)
    changed = spread_products(fn)
    changed = scale_addresses(fn) or changed
    if share_addends(fn) or changed:
        eliminate_dead(fn)
    fuse_words(fn)
    balance_addresses(fn)


def _legalize(fn: Func, o: Options) -> None:
    legalize(fn, o.opt_level > 0)
    if o.opt_level > 0:
        leave_out_components(fn)


def _sync(fn: Func, o: Options) -> None:
    insert_sync(fn)


def _pre_ra(fn: Func, o: Options) -> Func | None:
    return schedule_by_model(fn, o, lambda trial: _up_to_post_ra(trial, o))


FINISH: Final = ["allocate", "settle_gmma", "barrier_reset", "post_ra"]
"""Keys of the phases after ScheduleInstructions."""


def _up_to_post_ra(fn: Func, o: Options) -> None:
    """The phases of :data:`FINISH` but the last, without their checks."""
    allocate_registers(fn, o.own_sections)
    _settle_gmma(fn, o)
    _barrier_reset(fn, o)


def _allocate(fn: Func, o: Options) -> None:
    guard_frame(fn)
    if o.self_check:
        allocate_checked(fn, o.own_sections)
    else:
        allocate_registers(fn, o.own_sections)


def _gmma(fn: Func, o: Options) -> None:
    if propagate_accumulators(fn):
        # Values that feed only an accumulator that is not kept would stay live in phis.
        eliminate_dead(fn)


def _settle_gmma(fn: Func, o: Options) -> None:
    finish_warpgroups(fn, o.opt_level)


def _barrier_reset(fn: Func, o: Options) -> None:
    reset_barriers(fn)


def _post_ra(fn: Func, o: Options) -> None:
    post_ra(fn, o)
    if o.self_check:
        from orias.schedule.hazard_check import check_hazards

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
    "rotate": _rotate,
    "unroll": _unroll,
    "elections": _elections,
    "uniform_atomics": _uniform_atomics,
    "local_words": _local_words,
    "local_cse": _local_cse,
    "gvn": _gvn,
    "licm": _licm,
    "licm_late": _licm_late,
    "reassociate": _reassociate,
    "switch": _switch,
    "remat": _remat,
    "expand": _expand,
    "predicate": _predicate,
    "uniform": _uniform,
    "long_integers": _long_integers,
    "legalize": _legalize,
    "sync": _sync,
    "pre_ra": _pre_ra,
    "allocate": _allocate,
    "gmma": _gmma,
    "settle_gmma": _settle_gmma,
    "barrier_reset": _barrier_reset,
    "post_ra": _post_ra,
}
