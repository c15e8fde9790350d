"""The values of the knobs of one kernel, as typed fields."""

from typing import Final, final

from orias.knobs.knob_table import KNOBS


@final
class Knobs:
    """A value for each knob of :data:`orias.knobs.knob_table.KNOBS`; a new object has the defaults.  It does not change once functions have it."""

    __slots__ = (
        "branch_opt_rounds",
        "disable_phases",
        "disable_pragma_knobs",
        "election_depth",
        "fused_product_readers",
        "hoist_budget",
        "hoist_constants_max_inst",
        "hoist_working_registers",
        "load_ahead_distance",
        "load_ahead_limit",
        "logic_readers",
        "local_choice_limit",
        "local_words_limit",
        "loop_rotation_inst_limit",
        "loop_weight_bits",
        "max_reg_count",
        "predication_half_accesses",
        "predication_exit_inst_limit",
        "predication_inst_limit",
        "predication_load_inst_limit",
        "predication_rounds",
        "reassociate_holders",
        "reassociate_terms",
        "reg_alloc_num_non_spill_trials",
        "reg_alloc_call_read_distance",
        "reg_alloc_trial_failures",
        "reg_alloc_coalesce_max_words",
        "reg_alloc_late_read_distance",
        "reg_alloc_max_spill_rounds",
        "reg_alloc_pack_budget",
        "reg_alloc_pack_trials",
        "reg_alloc_few_failures",
        "reg_alloc_few_failures_trials",
        "reg_alloc_remat_gain",
        "reg_alloc_remat_inst",
        "reg_alloc_remat_rounds",
        "reg_alloc_rest_distance",
        "reg_alloc_share_distance",
        "reg_alloc_share_spans",
        "reg_alloc_snug_reach",
        "reg_alloc_spill_together",
        "reg_alloc_spill_share",
        "reg_alloc_spill_budget",
        "reg_alloc_spill_step_failures",
        "reg_alloc_spill_step_most",
        "reg_tgt_extra_steps",
        "remat_inst_per_word",
        "remat_spilled_inst_per_word",
        "remat_spilled_words",
        "remat_condition_budget",
        "remat_max_blocks",
        "remat_peak_slack",
        "remat_peaks",
        "remat_places",
        "sched_branch_latency",
        "sched_equal_time",
        "sched_estimated_loop_iterations",
        "sched_held_back",
        "sched_held_cycles",
        "sched_held_cycles_most",
        "sched_loads_first_gain",
        "sched_look_ahead",
        "sched_many_loads",
        "sched_max_mem_dep",
        "sched_model_turns",
        "sched_move_up_limit",
        "sched_predicate_gain",
        "sched_predicate_limit",
        "sched_predicate_wait",
        "sched_pseudo_latency",
        "sched_read_sb_base_latency",
        "sched_ready_window",
        "sched_reg_preference",
        "sched_reg_preference_alone",
        "sched_reg_reserve",
        "sched_sink_max_inst",
        "sched_sink_predicates",
        "sched_sink_rounds",
        "sched_sink_window",
        "sched_spared_predicates",
        "sched_spill_penalty",
        "sched_split_words",
        "sched_bank_budget",
        "sched_shared_load_gain",
        "sched_shared_sources",
        "sched_bank_leaning",
        "sched_bank_losses",
        "sched_start_stall",
        "sched_step_overshoot",
        "sched_step_gain",
        "sched_step_retry",
        "sched_step_words",
        "sched_step_work",
        "sched_test_gain",
        "sched_test_slack",
        "sched_trial_max_inst",
        "sched_trial_most",
        "sched_trial_same_warps_slack",
        "sched_trial_slack",
        "sched_trial_spill_slack",
        "sched_trial_sure_inst",
        "sched_words_saved",
        "sched_war_latency",
        "sink_remat_max_inst",
        "switch_min_cases",
        "switch_spread",
        "tensor_address_depth",
        "unroll_ahead_loads",
        "unroll_divergent_loads",
        "unroll_full_inst_limit",
        "unroll_full_inst_max",
        "unroll_full_inst_step",
        "unroll_full_iterations",
        "unroll_growth_limit",
        "unroll_known_count",
        "unroll_rounds",
        "unroll_unknown_count",
        "unroll_unknown_inst_limit",
        "unroll_unknown_loads",
        "urf_branch_gain",
        "urf_factor_products",
        "urf_shared_factors",
        "urf_condition_budget",
        "urf_free_words",
        "urf_max_inst",
        "urf_peak_slack",
        "urf_rounds",
        "urf_saved_words",
        "vectorization_distance",
        "stored_values_limit",
    )

    disable_pragma_knobs: bool
    disable_phases: str
    max_reg_count: int
    branch_opt_rounds: int
    fused_product_readers: int
    logic_readers: int
    loop_rotation_inst_limit: int
    unroll_full_inst_limit: int
    unroll_full_inst_step: int
    unroll_full_inst_max: int
    unroll_growth_limit: int
    unroll_full_iterations: int
    unroll_rounds: int
    unroll_ahead_loads: int
    unroll_divergent_loads: int
    unroll_known_count: int
    unroll_unknown_count: int
    unroll_unknown_inst_limit: int
    unroll_unknown_loads: int
    election_depth: int
    hoist_budget: int
    hoist_working_registers: int
    hoist_constants_max_inst: int
    reassociate_terms: int
    reassociate_holders: int
    switch_min_cases: int
    switch_spread: int
    tensor_address_depth: int
    load_ahead_distance: int
    load_ahead_limit: int
    vectorization_distance: int
    predication_inst_limit: int
    predication_load_inst_limit: int
    predication_half_accesses: int
    predication_exit_inst_limit: int
    local_words_limit: int
    local_choice_limit: int
    stored_values_limit: int
    predication_rounds: int
    remat_peaks: int
    remat_peak_slack: int
    remat_inst_per_word: int
    remat_spilled_inst_per_word: int
    remat_spilled_words: int
    remat_places: int
    remat_condition_budget: int
    remat_max_blocks: int
    sink_remat_max_inst: int
    urf_peak_slack: int
    urf_free_words: int
    urf_max_inst: int
    urf_rounds: int
    urf_saved_words: int
    urf_condition_budget: int
    urf_branch_gain: int
    urf_shared_factors: int
    urf_factor_products: int
    reg_tgt_extra_steps: int
    sched_many_loads: int
    sched_trial_max_inst: int
    sched_trial_most: int
    sched_trial_slack: int
    sched_trial_spill_slack: int
    sched_trial_sure_inst: int
    sched_shared_load_gain: int
    sched_loads_first_gain: int
    sched_trial_same_warps_slack: int
    sched_estimated_loop_iterations: int
    sched_model_turns: int
    sched_spill_penalty: int
    sched_split_words: int
    sched_reg_preference: int
    sched_words_saved: int
    sched_equal_time: int
    sched_reg_preference_alone: int
    sched_ready_window: int
    sched_move_up_limit: int
    sched_predicate_limit: int
    sched_predicate_wait: int
    sched_predicate_gain: int
    sched_spared_predicates: int
    sched_test_gain: int
    sched_test_slack: int
    sched_reg_reserve: int
    sched_sink_rounds: int
    sched_sink_max_inst: int
    sched_sink_window: int
    sched_sink_predicates: int
    sched_max_mem_dep: int
    sched_read_sb_base_latency: int
    sched_pseudo_latency: int
    sched_war_latency: int
    sched_held_back: int
    sched_held_cycles: int
    sched_held_cycles_most: int
    sched_bank_budget: int
    sched_shared_sources: int
    sched_bank_leaning: int
    sched_bank_losses: int
    sched_start_stall: int
    sched_step_overshoot: int
    sched_step_retry: int
    sched_step_words: int
    sched_step_gain: int
    sched_step_work: int
    sched_look_ahead: int
    sched_branch_latency: int
    loop_weight_bits: int
    reg_alloc_num_non_spill_trials: int
    reg_alloc_trial_failures: int
    reg_alloc_coalesce_max_words: int
    reg_alloc_rest_distance: int
    reg_alloc_late_read_distance: int
    reg_alloc_call_read_distance: int
    reg_alloc_snug_reach: int
    reg_alloc_pack_trials: int
    reg_alloc_pack_budget: int
    reg_alloc_max_spill_rounds: int
    reg_alloc_spill_step_failures: int
    reg_alloc_spill_step_most: int
    reg_alloc_spill_together: int
    reg_alloc_spill_share: int
    reg_alloc_spill_budget: int
    reg_alloc_few_failures: int
    reg_alloc_few_failures_trials: int
    reg_alloc_remat_gain: int
    reg_alloc_remat_inst: int
    reg_alloc_remat_rounds: int
    reg_alloc_share_distance: int
    reg_alloc_share_spans: int

    def __init__(self) -> None:
        for knob in KNOBS:
            setattr(self, knob.field, knob.default)


DEFAULTS: Final = Knobs()
"""The knobs of a function for which nobody set any."""
