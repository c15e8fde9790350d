"""Every knob: name, default, range, unit, the phase that reads it, and what it means.

A number that a heuristic uses, and that could be another without making code wrong, stands here and nowhere else.  Its
type is that of the default.  Passes read the value from ``Func.knobs`` (:mod:`orias.knobs.knob_values`), in the field
named after the knob (``UnrollFullInstLimit``: ``unroll_full_inst_limit``).

Knobs that mean the same as one of ptxas have its name (``docs/tuning.md``); their defaults are Orias's own.
"""

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Knob:
    """One knob.

    ``low``, ``high``: the range of a number, both inclusive (0 for other types); ``phase``: names of phases, or the
    part of the compiler that reads it; ``ptxas``: True if ptxas has a knob of this name and meaning.
    """

    __slots__ = ("about", "default", "high", "low", "name", "phase", "ptxas", "unit")

    def __init__(
        self, name: str, default: int | str, low: int, high: int, unit: str, phase: str, about: str, ptxas: bool = False
    ) -> None:
        self.name: Final[str] = name
        self.default: Final[int | str] = default
        self.low: Final[int] = low
        self.high: Final[int] = high
        self.unit: Final[str] = unit
        self.phase: Final[str] = phase
        self.about: Final[str] = about
        self.ptxas: Final[bool] = ptxas

    def __reduce__(self) -> "tuple[Callable[[str], Knob], tuple[str]]":
        """Settings travel between processes: the receiver has the same table, and a compiled class is not made anew."""
        return knob_named, (self.name,)

    @property
    def kind(self) -> str:
        """``bool``, ``int`` or ``str``."""
        return type(self.default).__name__

    @property
    def field(self) -> str:
        """The name of the field of :class:`orias.knobs.knob_values.Knobs`."""
        name = self.name
        words: list[str] = []
        start = 0
        for k in [k for k, ch in enumerate(name) if k and "A" <= ch <= "Z"]:
            if name[k - 1].islower() or (name[k - 1].isupper() and name[k + 1 : k + 2].islower()):
                words.append(name[start:k])
                start = k
        words.append(name[start:])
        return "_".join(words).lower()


_M: Final = 1_000_000

KNOBS: Final[tuple[Knob, ...]] = (
    # the driver
    Knob("DisablePragmaKnobs", False, 0, 0, "", "compile", "Ignore knobs in pragmas of the PTX text.", True),
    Knob("DisablePhases", "", 0, 0, "phases", "compile", "Phases to leave out, joined by '+'.", True),
    Knob("MaxRegCount", 255, 24, 255, "registers", "compile", "Registers that a kernel may have at most, next to directives and -maxrregcount."),
    # before allocation
    Knob("BranchOptRounds", 8, 1, 64, "rounds", "OriBranchOpt", "How often the clean-up of branches repeats at most."),
    Knob("FusedProductReaders", 3, 0, 64, "readers", "GeneralOptimize", "Readers of a product up to which each sum multiplies again in a fused operation."),
    Knob("LogicReaders", 2, 0, 64, "readers", "GeneralOptimize", "Readers of a logic operation up to which each takes it into its own table."),
    Knob("LoopRotationInstLimit", 24, 0, 1_000, "instructions", "OriLoopSimplification", "Size of the test at the top of a loop up to which it moves to the bottom.", True),
    Knob("UnrollFullInstLimit", 400, 0, 20_000, "instructions", "OriLoopUnrolling", "Size that a loop with a known number of iterations may come to when it is written out.", True),
    Knob("UnrollFullInstStep", 4, 0, 1_000, "instructions", "OriLoopUnrolling", "What each iteration adds to that size."),
    Knob("UnrollFullInstMax", 2_000, 0, 20_000, "instructions", "OriLoopUnrolling", "Size that no such loop exceeds."),
    Knob("UnrollGrowthLimit", 6_000, 0, 100_000, "instructions", "OriLoopUnrolling", "Size that all such loops of a function may come to together."),
    Knob("UnrollFullIterations", 1_024, 0, 4_096, "iterations", "OriLoopUnrolling", "Iterations that are written out at most."),
    Knob("UnrollRounds", 3, 0, 16, "loops", "OriLoopUnrolling", "Nested loops that are written out, from the innermost."),
    Knob("UnrollUnknownCount", 4, 2, 32, "iterations", "OriLoopUnrolling", "Iterations between two tests of a loop with an unknown number of iterations.", True),
    Knob("UnrollKnownCount", 8, 2, 32, "iterations", "OriLoopUnrolling", "Iterations between two tests of a loop with loads and a known number of iterations, at most.", True),
    Knob("UnrollUnknownInstLimit", 180, 0, 20_000, "instructions", "OriLoopUnrolling", "Size that these iterations may come to.", True),
    Knob("UnrollUnknownLoads", 12, 0, 1_000, "loads", "OriLoopUnrolling", "Loads of an iteration up to which such loops are unrolled: more keep the memory busy as they are."),
    Knob("UnrollAheadLoads", 12, 0, 1_000, "loads", "OriLoopUnrolling", "Loads of later iterations that go before the branches of the first.", True),
    Knob("UnrollDivergentLoads", 4, 0, 1_000, "loads", "OriLoopUnrolling", "Loads of an iteration up to which loops are unrolled that threads of a warp leave at different times.", True),
    Knob("ElectionDepth", 8, 1, 32, "conditions", "AnalyzeUniformsForSpeculation", "Nested conditions that are followed to find code of one thread."),
    Knob("HoistBudget", 16, 0, 1_024, "values", "OriHoistInvariantsEarly, OriHoistInvariantsLate", "Values that leave a loop at most.", True),
    Knob("HoistWorkingRegisters", 8, 0, 128, "registers", "OriHoistInvariantsEarly, OriHoistInvariantsLate", "Registers that the body of a loop is assumed to need next to what lives into it."),
    Knob("HoistConstantsMaxInst", 24, 0, 100_000, "instructions", "OriHoistInvariantsLate3", "Most instructions of a loop that constants leave: in longer ones they take more registers than time."),
    Knob("SwitchMinCases", 8, 0, 10_000, "comparisons", "DoSwitchOptFirst", "Comparisons of one value from which on they become a jump table (0: never)."),
    Knob("SwitchSpread", 4, 1, 64, "places", "DoSwitchOptFirst", "Places of a jump table for each comparison at most."),
    Knob("ReassociateTerms", 6, 1, 32, "terms", "OriReassociateAndCommon", "Terms of a sum up to which it is ordered anew."),
    Knob("ReassociateHolders", 16, 0, 1_024, "values", "OriReassociateAndCommon", "Values with a wanted sum that are looked at."),
    Knob("TensorAddressDepth", 64, 1, 1_024, "additions", "OriReassociateAndCommon", "Additions that are followed to find the base of an address in tensor memory."),
    Knob("LoadAheadDistance", 96, 0, 10_000, "instructions", "OriDoPredication", "Instructions over which loads go to an earlier block that runs as often."),
    Knob("LoadAheadLimit", 12, 0, 1_000, "loads", "OriDoPredication", "Loads that go to one block."),
    Knob("VectorizationDistance", 96, 0, 10_000, "instructions", "LateExpansion", "Distance of the first and the last of accesses that become one."),
    Knob("PredicationInstLimit", 8, 0, 256, "instructions", "OriDoPredication", "Size of an arm of a branch up to which it is executed under a predicate."),
    Knob("PredicationLoadInstLimit", 20, 0, 256, "instructions", "OriDoPredication", "The same for an arm that loads from global memory."),
    Knob("PredicationHalfAccesses", 2, 0, 256, "accesses", "OriDoPredication", "Accesses to memory in each of two arms from which on one of them stays after a branch, if others come to the place after them."),
    Knob("PredicationExitInstLimit", 4, 0, 256, "instructions", "OriDoPredication", "The same for an arm that ends the thread, without its EXIT."),
    Knob("LocalWordsLimit", 128, 0, 4_096, "words", "ConvertMemoryToRegisterOrUniform", "Largest frame of local variables that may become registers."),
    Knob("LocalChoiceLimit", 90, 0, 4_096, "elements", "ConvertMemoryToRegisterOrUniform", "Largest local array, in elements and in words, with computed places that may become registers."),
    Knob("StoredValuesLimit", 256, 0, 100_000, "stores", "GvnCse", "Stores whose values later loads of the thread may take.", True),
    Knob("PredicationRounds", 4, 0, 64, "rounds", "OriDoPredication", "Nested branches that become predicates, from the innermost."),
    Knob("RematPeaks", 3, 0, 64, "blocks", "OriDoRemat", "Blocks of high need of registers that are relieved."),
    Knob("RematPeakSlack", 6, 0, 255, "words", "OriDoRemat", "Distance from the highest need of the function within which a block counts as one of these."),
    Knob("RematInstPerWord", 2, 0, 64, "instructions", "OriDoRemat", "Instructions that are computed a second time for each word that a block need not hold."),
    Knob("RematSpilledInstPerWord", 6, 0, 64, "instructions", "OriDoRemat", "The same in a block that would spill a few words."),
    Knob("RematSpilledWords", 4, 0, 255, "words", "OriDoRemat", "How many words these are."),
    Knob("RematPlaces", 2, 0, 64, "blocks", "OriDoRemat", "Places where one value is computed again at most."),
    Knob("RematMaxBlocks", 2_000, 0, _M, "blocks", "OriDoRemat", "Functions with more blocks are left alone."),
    Knob("RematConditionBudget", 100_000, 0, 100 * _M, "instructions", "OriDoRemat", "Instructions of a block that are looked at to compute conditions again (0: none is computed again)."),
    Knob("SinkRematMaxInst", 4, 0, 64, "instructions", "OriDoRemat", "Instructions that move together behind a block at most."),
    Knob("URFPeakSlack", 10, 0, 255, "words", "ConvertToUniformReg", "Distance from the highest need of the function within which a register that a block holds counts as saved."),
    Knob("URFMaxInst", 60_000, 0, _M, "instructions", "ConvertToUniformReg", "Functions with more instructions are left alone."),
    Knob("URFFreeWords", 8, 0, 255, "words", "ConvertToUniformReg", "Live words up to which values stay in vector registers on sm_100 and later (before: those of the lowest step of occupancy)."),
    Knob("URFSavedWords", 1, 0, 255, "words", "ConvertToUniformReg", "Words that the fullest block must hold less for values to move where all warps fit (sm_100 and later)."),
    Knob("URFRounds", 8, 0, 64, "rounds", "ConvertToUniformReg", "How often what costs more than it saves is given back."),
    Knob("URFConditionBudget", 400, 0, 100_000, "instructions", "ConvertToUniformReg", "Instructions and readers that are looked at for the condition of one branch."),
    Knob("URFBranchGain", 64, 0, 64, "eighths", "ConvertToUniformReg", "What a uniform condition saves its branch, in eighths of an instruction."),
    Knob("URFSharedFactors", 24, 0, 63, "words", "ConvertToUniformReg", "Factors of products that go to uniform registers in a block that waits for the ports of the vector registers."),
    Knob("URFFactorProducts", 4, 1, 1_000, "products", "ConvertToUniformReg", "Products that such a factor has at least."),
    # scheduling before allocation
    Knob("RegTgtExtraSteps", 1, 0, 16, "steps", "ScheduleInstructions", "Lower occupancies whose registers are tried (one more on sm_100 and later, and one more from an order for few registers)."),
    Knob("SchedManyLoads", 4, 0, 1_024, "loads", "ScheduleInstructions", "Loads of a block from which on these are tried."),
    Knob("SchedTrialMaxInst", 20_000, 0, _M, "instructions", "ScheduleInstructions", "Functions with more instructions take the first plan instead of the fastest of several."),
    Knob("SchedTrialMost", 3, 1, 1_000, "orders", "ScheduleInstructions", "Orders that are allocated at most."),
    Knob("SchedTrialSlack", 20, 0, 10_000, "percent", "ScheduleInstructions", "Estimated time beyond the fastest finished plan from which on a plan with more warps is not finished."),
    Knob("SchedTrialSpillSlack", 32, 1, 10_000, "words", "ScheduleInstructions", "Live words without a register beyond those of the plan with the fewest from which on a plan is not finished."),
    Knob("SchedSharedLoadGain", 5, 0, 100, "percent", "ScheduleInstructions", "Cycles of a piece that must be saved for loads of shared memory to come early, or addresses load by load, where registers are short."),
    Knob("SchedLoadsFirstGain", 10, 0, 100, "percent", "ScheduleInstructions", "Cycles of a piece that must be saved for all that leads to its loads to come before the rest, where registers are short."),
    Knob("SchedTrialSureInst", 1_000, 0, _M, "instructions", "ScheduleInstructions", "Functions with so many instructions take the plan that is estimated to be the fastest, if it is finished without spills and with the warps that were planned."),
    Knob("SchedTrialSameWarpsSlack", 1, 0, 10_000, "percent", "ScheduleInstructions", "The same for a plan without more warps."),
    Knob("SchedEstimatedLoopIterations", 10, 1, 1_000, "iterations", "ScheduleInstructions", "Iterations that a loop counts for when plans are compared.", True),
    Knob("SchedModelTurns", 4, 1, 64, "iterations", "ScheduleInstructions", "Iterations that are played when plans are compared."),
    Knob("SchedSpillPenalty", 1, 0, 1_000, "bytes", "ScheduleInstructions", "Weight of a spilled byte when plans are compared (1: it counts as the whole time again)."),
    Knob("SchedRegPreference", 6, 0, 100, "percent", "ScheduleInstructions", "Modelled time that an order may lose to the fastest if more warps fit with its registers (two thirds as much before sm_100)."),
    Knob("SchedWordsSaved", 2, 0, 256, "words", "ScheduleInstructions", "Live words that an order must save to be tried where all warps fit in any case (from sm_100 on)."),
    Knob("SchedEqualTime", 2, 0, 1_000, "per mille", "ScheduleInstructions", "Modelled time that the order with the fewest registers may lose to the chosen one."),
    Knob("SchedRegPreferenceAlone", 40, 0, 1000, "percent", "ScheduleInstructions", "Modelled time of a warp alone that it may lose then."),
    Knob("SchedReadyWindow", 48, 1, 10_000, "instructions", "ScheduleInstructions, PostSchedule", "Ready instructions of which the next one is chosen."),
    Knob("SchedMoveUpLimit", 256, 0, 100_000, "instructions", "ScheduleInstructions", "Distance that an instruction may move up from its place."),
    Knob("SchedPredicateLimit", 6, 1, 7, "predicates", "ScheduleInstructions", "Predicates that an order may hold at once."),
    Knob("SchedTestSlack", 4, 0, 100_000, "cycles", "ScheduleInstructions", "Cycles off the longest path from which on a test waits for others, in one of the orders that are tried where predicates are short."),
    Knob("SchedTestGain", 1, 0, 100, "percent", "ScheduleInstructions", "Cycles of a piece that this must save."),
    Knob("SchedSparedPredicates", 2, 0, 7, "predicates", "ScheduleInstructions", "Predicates left for tests of a piece while others follow, where one is made that only code after the piece reads."),
    Knob("SchedPredicateWait", 60, 0, 100_000, "cycles", "ScheduleInstructions", "Wait for data, for want of predicates, from which on another order is tried, in which more of them are made than fit."),
    Knob("SchedPredicateGain", 10, 0, 100, "percent", "ScheduleInstructions", "Cycles of a piece that this must save."),
    Knob("SchedRegReserve", 10, 0, 128, "registers", "ScheduleInstructions", "Registers below the limit that are left to the allocator."),
    Knob("SchedSplitWords", 5, 1, 1_000, "words", "ScheduleInstructions", "Width of a register from which on each of its words counts on its own among the live ones."),
    Knob("SchedSinkRounds", 3, 0, 64, "rounds", "ScheduleInstructions", "How often the order with few registers is improved."),
    Knob("SchedSinkMaxInst", 3_000, 0, _M, "instructions", "ScheduleInstructions", "Longer pieces of code are improved once."),
    Knob("SchedSinkWindow", 32, 1, 10_000, "instructions", "ScheduleInstructions", "Ready instructions at either end of which the next one of that order is chosen."),
    Knob("SchedSinkPredicates", 6, 1, 7, "predicates", "ScheduleInstructions", "Predicates that the order with few registers may hold at once."),
    Knob("SchedMaxMemDep", 200, 1, 100_000, "accesses", "ScheduleInstructions, PostSchedule", "Accesses to memory after which all of them are taken as one.", True),
    Knob("SchedReadSBBaseLatency", 22, 1, 1_000, "cycles", "ScheduleInstructions, PostSchedule", "Assumed latency of a late result of which nothing is known.", True),
    Knob("SchedPseudoLatency", 4, 1, 1_000, "cycles", "ScheduleInstructions", "Assumed latency before an operation that only allocation resolves."),
    Knob("SchedWarLatency", 12, 1, 1_000, "cycles", "PostSchedule", "Assumed time until an operation has read its sources late."),
    Knob("SchedHeldBack", 24, 0, 10_000, "instructions", "PostSchedule", "Work of a piece of code up to which it waits until the piece's loads are under way."),
    Knob("SchedHeldCycles", 16, 0, 10_000, "cycles", "ScheduleInstructions", "Time for which work that needs registers waits for an instruction that leads to a load."),
    Knob("SchedHeldCyclesMost", 40, 0, 10_000, "cycles", "PostSchedule", "The same after allocation, until the first load, for constants and special registers from which no longer path leads to the end of the piece."),
    Knob("SchedStartStall", 2, 1, 8, "cycles", "PostSchedule", "Stall count of the reads of constants and special registers with which a kernel starts (sm_90 and later)."),
    Knob("SchedSharedSources", 50, 0, 1_000, "cycles", "PostSchedule", "What a read that the reuse cache spares is worth, or half a cycle less of waiting for a register bank, where collisions of register reads cost time."),
    Knob("SchedBankLeaning", 8, 0, 1_000, "instructions", "PostSchedule", "Of so many instructions one whose sources one bank could share better (one with three in a bank counts as three) makes values of a block change banks (0: never)."),
    Knob("SchedBankLosses", 15, 0, 1_000_000, "cycles", "PostSchedule", "Cycles lost to collisions in a thousand instructions of a piece with many reads of registers from which on an order in which they share factors is tried."),
    Knob("SchedBankBudget", 120, 0, 10_000, "instructions", "PostSchedule", "Instructions that are played for each instruction of a block whose register reads collide (0: nothing is changed)."),
    Knob("SchedStepOvershoot", 12, 0, 64, "registers", "ScheduleInstructions", "Registers beyond a step of occupancy up to which an order with fewer live words is tried."),
    Knob("SchedStepRetry", 4, 0, 64, "registers", "ScheduleInstructions", "Registers beyond a step of occupancy up to which values are computed again to stay within it."),
    Knob("SchedStepWords", 4, 0, 64, "words", "ScheduleInstructions", "Live words beyond those of the step up to which the allocator is to compute the rest again."),
    Knob("SchedStepGain", 8, 0, 1_000, "thousandths", "ScheduleInstructions", "By how much such code has to be faster."),
    Knob("SchedStepWork", 10, 0, 10_000, "thousandths", "ScheduleInstructions", "How many more instructions such code may execute."),
    Knob("SchedLookAhead", 16, 0, 1_024, "instructions", "ScheduleInstructions, PostSchedule", "Instructions behind a call, branch or other fixed point that should not have to wait for results from before it."),
    Knob("SchedBranchLatency", 6, 0, 1_000, "cycles", "ScheduleInstructions, PostSchedule", "Assumed time from the end of a block to the next one."),
    # allocation
    Knob("LoopWeightBits", 3, 0, 8, "bits", "AllocateRegisters, ConvertToUniformReg", "Logarithm of the iterations that a loop counts for."),
    Knob("RegAllocNumNonSpillTrials", 8, 1, 256, "tries", "AllocateRegisters", "Orders that are tried before something is spilled.", True),
    Knob("RegAllocFewFailuresTrials", 32, 1, 256, "tries", "AllocateRegisters", "The same where one of these left few values without a place."),
    Knob("RegAllocFewFailures", 2, 0, 1_000, "values", "AllocateRegisters", "What few of them are."),
    Knob("RegAllocTrialFailures", 24, 0, 100_000, "values", "AllocateRegisters", "Values without a place in the first order, in a function of hundreds, above which no other order is tried."),
    Knob("RegAllocCoalesceMaxWords", 16, 8, 64, "words", "AllocateRegisters", "Width that registers joined because of a move may come to."),
    Knob("RegAllocRestDistance", 8, 0, 1_024, "instructions", "AllocateRegisters", "Instructions that a register rests after its last use, where there are enough."),
    Knob("RegAllocLateReadDistance", 6, 0, 1_024, "instructions", "AllocateRegisters", "Instructions that a register rests after an operation that reads it late, where there are enough."),
    Knob("RegAllocCallReadDistance", 12, 0, 1_024, "instructions", "AllocateRegisters", "The same in functions that call others by the ABI, where registers are free between calls."),
    Knob("RegAllocSnugReach", 256, 1, 65_536, "instructions", "AllocateRegisters", "Distance within which the tightest packing looks for occupied registers."),
    Knob("RegAllocPackTrials", 12, 0, 1_000, "tries", "AllocateRegisters", "Tries to do with fewer registers."),
    Knob("RegAllocPackBudget", 60_000, 0, 100 * _M, "values", "AllocateRegisters", "Values that these tries may place."),
    Knob("RegAllocMaxSpillRounds", 60, 20, 1_000, "rounds", "AllocateRegisters", "How often spilling and allocation repeat before the kernel is refused."),
    Knob("RegAllocSpillStepFailures", 16, 1, 100_000, "values", "AllocateRegisters", "Values without a place among free registers for each register that the next round takes away where they live."),
    Knob("RegAllocSpillStepMost", 8, 1, 256, "registers", "AllocateRegisters", "The most registers that a round takes away there."),
    Knob("RegAllocSpillTogether", 16, 1, 100_000, "values", "AllocateRegisters", "Values without a place at the same point from which on a round takes away a share of their registers there."),
    Knob("RegAllocSpillShare", 4, 2, 256, "values", "AllocateRegisters", "Of so many of them, one register."),
    Knob("RegAllocSpillBudget", 200 * _M, 1_024, 2_000 * _M, "bits", "AllocateRegisters", "Work of the choice of what to spill."),
    Knob("RegAllocRematGain", 4, 1, 1_000, "", "AllocateRegisters", "How many times cheaper than a spill it is to compute a value again."),
    Knob("RegAllocRematInst", 6, 1, 64, "instructions", "AllocateRegisters", "Instructions that compute a value again, with those for its sources, where it would be spilled."),
    Knob("RegAllocRematRounds", 8, 0, 1_000, "rounds", "AllocateRegisters", "Rounds of spilling in which a value that is computed again may let others live longer."),
    Knob("RegAllocShareDistance", 12, 0, 10_000, "instructions", "AllocateRegisters", "Distance within which a reloaded value stays in its register for the next reader."),
    Knob("RegAllocShareSpans", 24, 1, 1_024, "spans", "AllocateRegisters", "Stretches of code through which a reloaded value is followed."),
)  # fmt: skip
"""All knobs, by phase."""

BY_NAME: Final[dict[str, Knob]] = {k.name.lower(): k for k in KNOBS}
"""Knobs by name in lower case: names are compared without case, as ptxas does."""


def knob_named(name: str) -> Knob:
    """The knob of this name."""
    return BY_NAME[name.lower()]
