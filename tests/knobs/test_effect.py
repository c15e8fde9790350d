"""Changing a knob changes code."""

import functools

import pytest

import orias
from orias.knobs.knob_table import KNOBS
from tests.knobs import knob_kernels

SHOWN = {
    "MaxRegCount": ("KNOWN", "sm_80", 0, 24),
    "FusedProductReaders": ("PRODUCTS", "sm_80", 0, 0),
    "LogicReaders": ("KNOWN", "sm_80", 0, 0),
    "UnrollFullInstLimit": ("KNOWN", "sm_80", 0, 0),
    "UnrollFullInstMax": ("KNOWN", "sm_80", 0, 0),
    "UnrollGrowthLimit": ("KNOWN", "sm_80", 0, 0),
    "UnrollAheadLoads": ("BRANCHED", "sm_80", 0, 0),
    "UnrollDivergentLoads": ("APART", "sm_80", 0, 0),
    "SchedHeldBack": ("SUM", "sm_80", 0, 0),
    "SchedHeldCycles": ("SUM", "sm_80", 0, 0),
    "SchedHeldCyclesMost": ("KNOWN", "sm_90", 0, 0),
    "LoopRotationInstLimit": ("TOP", "sm_80", 0, 0),
    "UnrollFullIterations": ("KNOWN", "sm_80", 0, 0),
    "UnrollRounds": ("KNOWN", "sm_80", 0, 0),
    "UnrollUnknownCount": ("SUM", "sm_80", 0, 2),
    "UnrollUnknownInstLimit": ("SUM", "sm_80", 0, 0),
    "HoistBudget": ("INVARIANT", "sm_80", 0, 0),
    "HoistConstantsMaxInst": ("CHASE", "sm_80", 0, 0),
    "VectorizationDistance": ("VECTORS", "sm_80", 0, 0),
    "PredicationInstLimit": ("ARMS", "sm_80", 0, 0),
    "PredicationLoadInstLimit": ("ARMS", "sm_80", 0, 0),
    "PredicationExitInstLimit": ("ARMS", "sm_80", 0, 0),
    "PredicationRounds": ("ARMS", "sm_80", 0, 0),
    "URFMaxInst": ("SUM", "sm_100", 0, 0),
    "URFRounds": ("HELD", "sm_80", 0, 0),
    "SchedReadyWindow": ("SUM", "sm_80", 0, 1),
    "SchedMoveUpLimit": ("SUM", "sm_80", 0, 0),
    "SchedPredicateLimit": ("SUM", "sm_80", 0, 1),
    "SchedMaxMemDep": ("PRODUCTS", "sm_80", 0, 1),
    "SchedReadSBBaseLatency": ("SUM", "sm_100", 0, 1),
    "SchedWarLatency": ("HELD", "sm_80", 0, 1),
    "SchedStartStall": ("SUM", "sm_100", 0, 1),
    "LoopWeightBits": ("SUM", "sm_80", 0, 0),
    "RegAllocLateReadDistance": ("HELD", "sm_80", 0, 0),
    "RegAllocRestDistance": ("SUM", "sm_80", 0, 0),
    "RegAllocRematGain": ("HELD", "sm_80", 32, 1),
    "RegAllocShareDistance": ("HELD", "sm_80", 32, 0),
}
"""Knob -> the kernel of knob_kernels in which a value shows, target, register limit, and the value."""

NEEDS = {
    "LocalChoiceLimit": "a local array at computed places (tests/passes/cases/computed_places.txt)",
    "LocalWordsLimit": "local variables (tests/passes/cases/local_words.txt)",
    "StoredValuesLimit": "more than 256 stores to known places",
    "UnrollUnknownLoads": "a loop of 13 loads (tests/passes/cases/partial_unroll.txt)",
    "UnrollFullInstStep": "a loop that comes out at more than 400 instructions",
    "BranchOptRounds": "branches whose clean-up makes others foldable, nine times over",
    "ElectionDepth": "elect.sync below nine nested conditions",
    "HoistWorkingRegisters": "a loop close to a step of occupancy with invariant work in it",
    "SwitchMinCases": "eight comparisons of one value, each with a target of its own",
    "SwitchSpread": "the same, with constants far apart",
    "ReassociateTerms": "an address of more than six terms",
    "ReassociateHolders": "more than 16 sums of the same terms",
    "TensorAddressDepth": "a chain of 64 additions to an address in tensor memory (sm_100a)",
    "RematPeaks": "four blocks of high need",
    "RematPeakSlack": "two blocks of nearly the highest need",
    "RematInstPerWord": "values that two instructions compute again",
    "RematSpilledInstPerWord": "values that more instructions compute again (tests/passes/cases/remat.txt)",
    "RematSpilledWords": "the same",
    "RematPlaces": "a value with readers behind a peak in two places",
    "RematConditionBudget": "more conditions than predicates, with readers far apart (tests/passes/cases/distant_predicates.txt)",
    "RematMaxBlocks": "more than 2000 blocks",
    "SinkRematMaxInst": "a chain of computations that moves behind a peak",
    "URFFreeWords": "a kernel of several blocks that fits all warps (tests/passes/cases/uniform_chains.txt)",
    "URFSavedWords": "the same",
    "URFConditionBudget": "a condition whose values would stay in vector registers else (tests/passes/cases/uniform_chains.txt)",
    "URFBranchGain": "the same",
    "URFSharedFactors": "a block of products with factors in shared memory (tests/passes/cases/shared_factors.txt)",
    "URFFactorProducts": "the same",
    "URFPeakSlack": "uniform values held in a block of high need",
    "RegTgtExtraSteps": "more live values than the highest occupancy allows, and loads",
    "SchedManyLoads": "the same",
    "SchedTrialMaxInst": "several plans, of which the first is not the fastest",
    "SchedTrialMost": "more than four orders (tests/schedule/test_trials.py)",
    "SchedTrialSureInst": "a function of 1,000 instructions with several plans (tests/schedule/test_trials.py)",
    "SchedTrialSlack": "a plan that is estimated to be slower (tests/schedule/test_trials.py)",
    "SchedTrialSameWarpsSlack": "the same",
    "SchedSplitWords": "results of many words that are read in parts (tests/schedule/test_word_counts.py)",
    "SchedSharedLoadGain": "loads of shared memory where registers are short (tests/schedule/cases/piece_orders.txt)",
    "SchedLoadsFirstGain": "fragments that are read before addresses where registers are short (tests/schedule/cases/piece_orders.txt)",
    "SchedTrialSpillSlack": "plans that spill much more than others (tests/schedule/test_trials.py)",
    "SchedEstimatedLoopIterations": "plans between which a loop decides",
    "SchedModelTurns": "plans between which the first turns of a loop decide",
    "SchedSpillPenalty": "plans of which one spills",
    "SchedSparedPredicates": "a loop with more tests than predicates (tests/schedule/test_spared_predicates.py)",
    "SchedTestGain": "a loop with more tests than predicates (tests/schedule/test_spared_predicates.py)",
    "SchedTestSlack": "a loop with more tests than predicates (tests/schedule/test_spared_predicates.py)",
    "PredicationHalfAccesses": "two arms with accesses before a place that others reach (tests/passes/cases/predicate.txt)",
    "SchedPredicateGain": "more guarded loads than predicates (tests/schedule/test_spared_predicates.py)",
    "SchedPredicateWait": "more guarded loads than predicates (tests/schedule/test_spared_predicates.py)",
    "SchedRegPreference": "plans with other registers and nearly the same time",
    "SchedWordsSaved": "an order with fewer words where all warps fit (tests/schedule/test_trials.py)",
    "SchedEqualTime": "the same",
    "SchedRegPreferenceAlone": "the same, of which one takes a warp alone much longer (tests/pipeline/test_choose_order.py)",
    "SchedRegReserve": "a register limit close to the need",
    "SchedSinkRounds": "an order with few registers that a second round improves",
    "SchedSinkMaxInst": "the same in a piece of more than 3000 instructions",
    "SchedSinkWindow": "more than 64 ready instructions in such an order",
    "SchedSinkPredicates": "more than six live predicates in such an order",
    "LoadAheadDistance": "a load after an arm that stays (tests/passes/cases/loads_ahead.txt)",
    "LoadAheadLimit": "the same",
    "UnrollKnownCount": "a long loop with loads whose iterations four does not divide (tests/passes/cases/partial_unroll.txt)",
    "SchedPseudoLatency": "a group of registers whose words are ready at different times",
    "SchedStepOvershoot": "an order that needs a few registers more than a step of occupancy",
    "SchedStepRetry": "invariants that take a few registers more (tests/pipeline/test_choose_order.py)",
    "SchedStepWords": "the same",
    "SchedStepGain": "the same",
    "SchedStepWork": "the same",
    "RegAllocCallReadDistance": "a call by the ABI between stores of several values",
    "SchedLookAhead": "a branch whose condition need not be the last thing of its block",
    "SchedBranchLatency": "a load whose reader is in the next block, with other work there",
    "RegAllocNumNonSpillTrials": "a file that is nearly full, where the first order fails",
    "RegAllocFewFailuresTrials": "the same, where few find no place (tests/regalloc/test_register_limits.py)",
    "RegAllocFewFailures": "the same",
    "RegAllocTrialFailures": "a function of hundreds of values where dozens have no place",
    "RegAllocRematInst": "sums of constants where registers are short (tests/regalloc/cases/recompute.txt)",
    "RegAllocRematRounds": "a kernel that takes more than eight rounds of spilling",
    "RegAllocCoalesceMaxWords": "moves that join vectors to more than 16 words",
    "RegAllocSnugReach": "long values with gaps between them, allocated tightly",
    "RegAllocPackTrials": "an assignment with more registers than the need",
    "RegAllocPackBudget": "the same",
    "RegAllocMaxSpillRounds": "a kernel that 60 rounds do not fit",
    "RegAllocSpillStepFailures": "a kernel where many values have no place among free registers",
    "RegAllocSpillStepMost": "a kernel where hundreds of values have no place among free registers",
    "RegAllocSpillTogether": "a kernel where many values have no place at the same point",
    "RegAllocSpillShare": "a kernel where many values have no place at the same point",
    "RegAllocSpillBudget": "hundreds of thousands of candidates",
    "SchedSharedSources": "products whose reads collide (tests/schedule/test_spread_reads.py)",
    "SchedBankLosses": "the same",
    "SchedBankLeaning": "sources of which most are in one bank (the same)",
    "SchedBankBudget": "reads of registers that collide (tests/schedule/test_spread_reads.py)",
    "RegAllocShareSpans": "spilled values read in many blocks",
}
"""Knobs that no small kernel shows -> what code they take to matter."""


@functools.cache
def plain(kernel: str, arch: str, limit: int) -> bytes:
    return orias.compile(getattr(knob_kernels, kernel), arch=arch, maxrregcount=limit).data


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", SHOWN)
def test_a_change_shows(name: str) -> None:
    kernel, arch, limit, value = SHOWN[name]
    source = getattr(knob_kernels, kernel)
    assert orias.compile(source, arch=arch, maxrregcount=limit, knobs={name: value}).data != plain(kernel, arch, limit)


def test_a_phase_is_left_out() -> None:
    source = knob_kernels.KNOWN
    assert orias.compile(source, arch="sm_80", knobs={"DisablePhases": "OriLoopUnrolling"}).data != plain(
        "KNOWN", "sm_80", 0
    )


def test_every_knob_is_here() -> None:
    others = {"DisablePragmaKnobs", "DisablePhases"}  # tests/knobs/test_settings.py, and above
    assert set(SHOWN) | set(NEEDS) | others == {k.name for k in KNOBS} and not set(SHOWN) & set(NEEDS)
