"""The pipeline: the 159 phases in their true order, each real, a no-op with its reason, or "later".

Order and names: optimizer inventory, section 1 (rebuilt from the reference; measured levels).  A phase is a function on
a function; :func:`run` walks the table.  The gate ``all`` means every optimisation level, ``O1`` and ``O2`` from that level
up; other gates (``arch``, ``gfx``, ``dbg``, ``flag``, ``off``, ``?``) only stand on rows that do nothing yet.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, final

from orias.ori.ir import Func


class Phase(NamedTuple):
    """One row: name, gate, key of the function that does it (empty: nothing runs), and why nothing runs."""

    name: str
    gate: str
    key: str
    reason: str


PHASES: Final[tuple[Phase, ...]] = (
    Phase("OriCheckInitialProgram", "all", "verify", ""),
    Phase("ApplyNvOptRecipes", "off", "", "off in the shipped tool"),
    Phase("PromoteFP16", "arch", "", "later: widen fp16 ops the target lacks"),
    Phase("AnalyzeControlFlow", "all", "", "analyses run where they are asked for"),
    Phase("AdvancedPhaseBeforeConvUnSup", "arch", "", "a hook that the targets leave empty"),
    Phase("ConvertUnsupportedOps", "all", "", "lowering emits only what the target has"),
    Phase("SetControlFlowOpLastInBB", "all", "returns", ""),
    Phase("AdvancedPhaseAfterConvUnSup", "arch", "", "a hook that the targets leave empty"),
    Phase("UpdateAfterConvertUnsupportedOps", "off", "", "metadata is never stale"),
    Phase("OriCreateMacroInsts", "all?", "", "later: form macro instructions"),
    Phase("ReportInitialRepresentation", "all", "", "dump point"),
    Phase("EarlyOriSimpleLiveDead", "all", "dce", ""),
    Phase("ReplaceUniformsWithImm", "?", "", "later: known constant-bank values to immediates"),
    Phase("OriSanitize", "off?", "", "off in the shipped tool"),
    Phase("GeneralOptimizeEarly", "O1", "simplify", ""),
    Phase("MergeEquivalentConditionalFlow", "O1", "", "later: merge equal conditional tails"),
    Phase("DoSwitchOptFirst", "O1", "", "later: compare chain to jump table"),
    Phase("OriBranchOpt", "O1", "branches", ""),
    Phase("OriPerformLiveDeadFirst", "O1", "live_dead", ""),
    Phase("OptimizeBindlessHeaderLoads", "O1", "", "not needed for compute kernels"),
    Phase("OriLoopSimplification", "O1", "", "later: inversion, preheader, single entry"),
    Phase("OriSplitLiveRanges", "all", "", "SSA gives each web its own register"),
    Phase("OriCopyProp", "O1", "simplify", ""),
    Phase("PerformPGO", "off", "", "off in the shipped tool"),
    Phase("OriStrengthReduce", "O1", "", "later: induction/mul simplification"),
    Phase("OriLoopUnrolling", "O2", "unroll", ""),
    Phase("GenerateMovPhi", "all", "", "lowering builds SSA"),
    Phase("OriPipelining", "O2", "", "later: software pipelining"),
    Phase("StageAndFence", "O2", "", "later: staging fences (MMA)"),
    Phase("OriRemoveRedundantBarriers", "O2", "", "later: drop redundant BAR/MEMBAR"),
    Phase("AnalyzeUniformsForSpeculation", "all", "elections", ""),
    Phase("SinkRemat", "O2", "", "OriDoRemat sinks and makes again"),
    Phase("OptimizeNaNOrZero", "?", "", "later: NaN/zero simplification"),
    Phase("GeneralOptimize", "O1", "simplify", ""),
    Phase("DoSwitchOptSecond", "O1", "", "later: switches again"),
    Phase("OriLinearReplacement", "O1", "", "later: branchy to select"),
    Phase("CompactLocalMemory", "O1", "", "later: pack local frame"),
    Phase("ConvertMemoryToRegisterOrUniform", "O1", "", "later: scalarise local arrays"),
    Phase("OriPerformLiveDeadSecond", "O1", "dce", ""),
    Phase("ExtractShaderConstsFirst", "gfx", "", "graphics only"),
    Phase("OriHoistInvariantsEarly", "O2", "licm", ""),
    Phase("Vectorization", "O1", "", "later: merge adjacent accesses"),
    Phase("EmitPSI", "gfx", "", "graphics only"),
    Phase("GeneralOptimizeMid", "O1", "simplify", ""),
    Phase("OptimizeNestedCondBranches", "O1", "", "later: a&&b to one branch"),
    Phase("ConvertVTGReadWrite", "gfx", "", "graphics only"),
    Phase("DoVirtualCTAExpansion", "arch", "", "not needed for compute kernels"),
    Phase("MarkAdditionalColdBlocks", "O1", "", "later: cold flags"),
    Phase("ExpandMbarrier", "arch", "", "later: mbarrier pseudo-ops"),
    Phase("ForwardProgress", "arch", "", "later: yield/progress insertion"),
    Phase("OptimizeUniformAtomic", "O1", "", "later: warp-aggregate atomics"),
    Phase("MidExpansion", "all", "", "nothing is left to expand here"),
    Phase("AdvancedPhaseAfterMidExpansion", "arch", "", "a hook that the targets leave empty"),
    Phase("GeneralOptimizeMid2", "all", "", "GeneralOptimizeMid reaches the fixed point"),
    Phase("AdvancedPhaseEarlyEnforceArgs", "arch", "", "a hook that the targets leave empty"),
    Phase("EnforceArgumentRestrictions", "all", "", "done once, at LateExpansionUnsupportedOps"),
    Phase("GvnCse", "O2", "gvn", ""),
    Phase("OriCommoning", "O1", "local_cse", ""),
    Phase("OriReassociateAndCommon", "O1", "reassociate", ""),
    Phase("ExtractShaderConstsFinal", "gfx", "", "graphics only"),
    Phase("OriReplaceEquivMultiDefMov", "O1", "", "later: merge equivalent moves"),
    Phase("OriPropagateVaryingFirst", "all", "", "analyses run where they are asked for"),
    Phase("OriDoRematEarly", "O2", "", "later: early remat"),
    Phase("LateExpansion", "all", "expand", ""),
    Phase("SpeculativeHoistComInsts", "O1", "", "later: hoist common code above branch"),
    Phase("RemoveASTToDefaultValues", "gfx", "", "graphics only"),
    Phase("GeneralOptimizeLate", "O1", "simplify", ""),
    Phase("OriLoopFusion", "off (knob 0)", "", "off in the shipped tool"),
    Phase("DoVTGMultiViewExpansion", "gfx", "", "graphics only"),
    Phase("OriSimpleLiveDead", "O1", "dce", ""),
    Phase("OriPerformLiveDeadThird", "O1", "live_dead", ""),
    Phase("OriRemoveRedundantMultiDefMov", "O1", "", "later: drop moves"),
    Phase("OriDoPredication", "O1", "predicate", ""),
    Phase("LateVectorization", "O1", "", "later: vectorise again"),
    Phase("LateOriCommoning", "O2", "gvn", ""),
    Phase("GeneralOptimizeLate2", "O1", "simplify", ""),
    Phase("OriHoistInvariantsLate", "O2", "licm", ""),
    Phase("SinkCodeIntoBlock", "O2", "", "later: sink into the using block"),
    Phase("DoKillMovement", "gfx", "", "graphics only"),
    Phase("DoTexMovement", "O2", "", "not needed for compute kernels"),
    Phase("OriDoRemat", "O1", "remat", ""),
    Phase("OriPropagateVaryingSecond", "all", "", "analyses run where they are asked for"),
    Phase("OptimizeSyncInstructions", "O1", "", "later: BSSY/BSYNC/WARPSYNC clean-up"),
    Phase("AdvancedPhaseLateExpandSyncInstructions", "arch", "", "a hook that the targets leave empty"),
    Phase("LateExpandSyncInstructions", "all", "sync", ""),
    Phase("ConvertAllMovPhiToMov", "all", "", "AllocateRegisters leaves SSA"),
    Phase("ConvertToUniformReg", "O1", "uniform", ""),
    Phase("LateArchOptimizeFirst", "arch", "", "later: per-SM peepholes"),
    Phase("UpdateAfterOptimize", "all", "", "metadata is never stale"),
    Phase("AdvancedPhaseLateConvUnSup", "arch", "", "a hook that the targets leave empty"),
    Phase("LateExpansionUnsupportedOps", "all", "legalize", ""),
    Phase("LateMergeEquivalentConditionalFlow (*)", "O1", "", "later: tail merge again"),
    Phase("OriHoistInvariantsLate2 (*)", "O2", "", "later: LICM 3"),
    Phase("LateExpansionUnsupportedOpsMid", "all", "", "done once, at LateExpansionUnsupportedOps"),
    Phase("ExpandJmxComputation", "all", "", "lowering writes the table read"),
    Phase("LateArchOptimizeSecond", "arch", "", "later: per-SM peepholes"),
    Phase("AdvancedPhaseBackPropVReg", "arch", "", "a hook that the targets leave empty"),
    Phase("OriBackCopyPropagate", "all", "", "AllocateRegisters coalesces"),
    Phase("OriSplitHighPressureLiveRanges", "O1", "", "later: split under pressure"),
    Phase("OriPerformLiveDeadFourth", "O1", "dce", ""),
    Phase("OriPropagateGmma", "all", "gmma", ""),
    Phase("InsertPseudoUseDefForConvUR", "O1", "", "not needed for compute kernels"),
    Phase("FixupGmmaSequence", "all", "", "PostExpansion settles warpgroup operations"),
    Phase("LateEnforceArgumentRestrictions", "all", "", "done once, at LateExpansionUnsupportedOps"),
    Phase("OriHoistInvariantsLate3", "O2", "", "later: LICM 4"),
    Phase("AdvancedPhaseSetRegAttr", "arch", "", "a hook that the targets leave empty"),
    Phase("OriSetRegisterAttr", "all", "", "AllocateRegisters knows the constraints"),
    Phase("OriCalcDependantTex", "O1", "", "not needed for compute kernels"),
    Phase("AdvancedPhaseAfterSetRegAttr", "arch", "", "a hook that the targets leave empty"),
    Phase("LateExpansionUnsupportedOps2", "all", "", "done once, at LateExpansionUnsupportedOps"),
    Phase("FinalInspectionPass", "all", "verify", ""),
    Phase("SetAfterLegalization", "all", "", "not needed for compute kernels"),
    Phase("ReportBeforeScheduling", "all", "", "dump point"),
    Phase("AdvancedPhasePreSched", "O1", "", "a hook that the targets leave empty"),
    Phase("ScheduleInstructions", "O1", "pre_ra", ""),
    Phase("UpdateAfterScheduleInstructions", "all", "", "metadata is never stale"),
    Phase("BackPropagateVEC2D", "gfx", "", "graphics only"),
    Phase("OriDoSyncronization", "O1", "", "later: hazard sync insertion"),
    Phase("UpdateAfterOriDoSyncronization", "all", "", "metadata is never stale"),
    Phase("ApplyPostSyncronizationWars", "arch", "", "later: WAR fixes"),
    Phase("ReportBeforeRegisterAllocation", "all", "", "dump point"),
    Phase("AdvancedPhaseAllocReg", "arch", "", "a hook that the targets leave empty"),
    Phase("AllocateRegisters", "all", "allocate", ""),
    Phase("ReportAfterRegisterAllocation", "all", "", "dump point"),
    Phase("UpdateAfterOriAllocateRegisters", "all", "", "metadata is never stale"),
    Phase("Get64bRegComponents", "all", "", "AllocateRegisters resolves lanes"),
    Phase("AdvancedPhasePostExpansion", "arch", "", "a hook that the targets leave empty"),
    Phase("PostExpansion", "all", "settle_gmma", ""),
    Phase("ApplyPostRegAllocWars", "all", "barrier_reset", ""),
    Phase("AdvancedPhasePostSched", "arch", "", "a hook that the targets leave empty"),
    Phase("OriRemoveNopCode", "all", "", "AllocateRegisters leaves no self-moves"),
    Phase("OptimizeHotColdInLoop", "O1", "", "later: move cold blocks in loops"),
    Phase("OptimizeHotColdFlow", "O1", "", "later: move cold blocks"),
    Phase("PostSchedule", "all", "post_ra", ""),
    Phase("AdvancedPhasePostFixUp", "arch", "", "a hook that the targets leave empty"),
    Phase("PlaceBlocksInSourceOrder", "all", "", "PostSchedule lays out blocks"),
    Phase("PostFixForMercTargets", "arch", "", "later: encoder fix-ups"),
    Phase("FixUpTexDepBarAndSync", "arch", "", "not needed for compute kernels"),
    Phase("AdvancedScoreboardsAndOpexes", "all", "", "PostSchedule sets control words"),
    Phase("ProcessO0WaitsAndSBs", "all", "", "PostSchedule sets control words"),
    Phase("PostFixUp", "arch", "", "later: per-SM fix-up"),
    Phase("MercConverter", "all", "", "the operations are the encoder's"),
    Phase("MercEncodeAndDecode", "all", "", "tests encode and decode"),
    Phase("MercExpandInstructions", "flag", "", "later: expand encoder pseudo-ops"),
    Phase("MercGenerateWARs1", "flag", "", "later: WAR hazards"),
    Phase("MercGenerateOpex", "all", "", "control words are part of the instruction"),
    Phase("MercGenerateWARs2", "flag", "", "later: WAR hazards after expansion"),
    Phase("MercGenerateSassUCode", "all", "", "orias.schedule.emit"),
    Phase("ComputeVCallRegUse", "all", "", "later: registers of indirect calls"),
    Phase("CalcRegisterMap", "all", "", "the register count is all the cubin needs"),
    Phase("UpdateAfterPostRegAlloc", "off", "", "metadata is never stale"),
    Phase("ReportFinalMemoryUsage", "dbg", "", "diagnostics of the original"),
    Phase("AdvancedPhaseOriPhaseEncoding", "arch", "", "a hook that the targets leave empty"),
    Phase("FormatCodeList", "all", "", "orias.schedule.emit"),
    Phase("UpdateAfterFormatCodeList", "off", "", "metadata is never stale"),
    Phase("DumpNVuCodeText", "all", "", "dump point"),
    Phase("DumpNVuCodeHex", "all", "", "dump point"),
    Phase("DebuggerBreak", "dbg", "", "diagnostics of the original"),
    Phase("NOP", "all", "", "not needed for compute kernels"),
)

_LEVEL: Final[dict[str, int]] = {"all": 0, "O1": 1, "O2": 2}
PhaseFunction = Callable[[Func, "PassContext"], None]
Hook = Callable[[str, Func], None]


@final
class PassContext:
    """What phases share: the optimisation level, options of single phases, and a hook.

    ``after`` is called with each phase's name and the function once the phase has run (dumps, timing, checks).
    ``skip`` names phases to leave out.
    """

    __slots__ = ("after", "apart", "opt_level", "register_usage", "self_check", "serial", "skip")

    def __init__(self, opt_level: int = 3) -> None:
        self.opt_level: int = opt_level
        self.self_check: bool = False
        """Verify the function between phases, and the results of allocation and scheduling."""
        self.serial: bool = False
        self.register_usage: int = 5
        self.apart: bool = False
        """Functions have sections of their own: calls are absolute."""
        self.skip: frozenset[str] = frozenset()
        self.after: Hook | None = None


def run(fn: Func, cx: PassContext, first: int = 0, last: int = len(PHASES)) -> None:
    """Run phases first..last-1 on a function."""
    from orias.passes.functions import FUNCTIONS

    for k in range(first, last):
        phase = PHASES[k]
        if phase.key:
            if cx.opt_level < _LEVEL[phase.gate] or phase.name in cx.skip:
                continue
            FUNCTIONS[phase.key](fn, cx)
        if cx.after is not None:
            cx.after(phase.name, fn)
