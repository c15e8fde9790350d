"""The pipeline: the phases that run on each function, in order.

A phase is a function on a function (:mod:`orias.pipeline.functions`, by key).  Names and order are those of ptxas;
``data/documented_phases.txt`` lists all phases of ptxas, with the counterparts of those that are not here.
:mod:`orias.pipeline.runner` walks the table.
"""

from typing import Final, final


@final
class Phase:
    """One row: name, the optimisation levels that run it, key of its function, and what it does."""

    __slots__ = ("about", "key", "levels", "name")

    def __init__(self, name: str, levels: str, key: str, about: str) -> None:
        self.name: Final[str] = name
        self.levels: Final[str] = levels
        self.key: Final[str] = key
        self.about: Final[str] = about

    @property
    def required(self) -> bool:
        """True if the compiler cannot finish code without the phase, that is, if -O0 runs it."""
        return "0" in self.levels and self.key != "verify"


PHASES: Final[tuple[Phase, ...]] = (
    Phase("OriCheckInitialProgram", "0123", "verify", "the verifier, on the function as lowered"),
    Phase("SetControlFlowOpLastInBB", "0123", "returns", "one return per function"),
    Phase("EarlyOriSimpleLiveDead", "0123", "dce", "dead code"),
    Phase("GeneralOptimizeEarly", "123", "simplify", "rewrites of single operations"),
    Phase("DoSwitchOptFirst", "123", "switch", "chains of comparisons become jump tables"),
    Phase("OriBranchOpt", "123", "branches", "constant branches, unreachable and empty blocks"),
    Phase("OriPerformLiveDeadFirst", "123", "live_dead", "dead code, and loops without effect"),
    Phase("OriLoopSimplification", "123", "rotate", "loops are tested at the bottom"),
    Phase("OriCopyProp", "123", "simplify", "rewrites of single operations"),
    Phase("OriLoopUnrolling", "23", "unroll", "loops with a known number of iterations are written out, others by four iterations"),
    Phase("AnalyzeUniformsForSpeculation", "123", "elections", "loops over the threads of a warp run once where one will do"),
    Phase("GeneralOptimize", "123", "simplify", "rewrites of single operations"),
    Phase("ConvertMemoryToRegisterOrUniform", "123", "local_words", "local variables become registers"),
    Phase("OriPerformLiveDeadSecond", "123", "dce", "dead code"),
    Phase("OriHoistInvariantsEarly", "23", "licm", "loop-invariant code motion"),
    Phase("GeneralOptimizeMid", "123", "simplify", "rewrites of single operations"),
    Phase("OptimizeUniformAtomic", "123", "uniform_atomics", "threads that add to one word add their sum, by one of them"),
    Phase("GvnCse", "23", "gvn", "common subexpressions, across blocks"),
    Phase("OriCommoning", "1", "local_cse", "common subexpressions, within blocks"),
    Phase("OriReassociateAndCommon", "123", "reassociate", "addresses that differ by constants share one sum"),
    Phase("LateExpansion", "0123", "expand", "64-bit pseudo operations become operations on words"),
    Phase("GeneralOptimizeLate", "123", "simplify", "rewrites of single operations"),
    Phase("OriSimpleLiveDead", "123", "dce", "dead code"),
    Phase("OriPerformLiveDeadThird", "123", "live_dead", "dead code, and loops without effect"),
    Phase("OriDoPredication", "123", "predicate", "short conditional arms become guarded instructions"),
    Phase("LateOriCommoning", "23", "gvn", "common subexpressions, across blocks"),
    Phase("GeneralOptimizeLate2", "123", "simplify", "rewrites of single operations"),
    Phase("OriHoistInvariantsLate", "23", "licm", "loop-invariant code motion"),
    Phase("OriDoRemat", "123", "remat", "cheap values are rematerialised where registers are short"),
    Phase("LateExpandSyncInstructions", "0123", "sync", "convergence barriers, WARPSYNC and YIELD"),
    Phase("ConvertToUniformReg", "123", "uniform", "uniform registers, constant operands, constants that are loaded together"),
    Phase("LateArchOptimizeFirst", "123", "long_integers", "sums take conditions as carries and products, and go into minima; shifts go into shared addresses, they and constants into sums; 64-bit sums: one operation (sm_120), or words where the FMA pipe is busy"),
    Phase("LateExpansionUnsupportedOps", "0123", "legalize", "every operand gets a form that the target has"),
    Phase("OriPerformLiveDeadFourth", "123", "dce", "dead code"),
    Phase("OriPropagateGmma", "0123", "gmma", "accumulators of warpgroup operations"),
    Phase("OriHoistInvariantsLate3", "23", "licm_late", "loop-invariant loads of constants"),
    Phase("FinalInspectionPass", "0123", "verify", "the verifier, before scheduling"),
    Phase("ScheduleInstructions", "123", "pre_ra", "the order of instructions within blocks"),
    Phase("AllocateRegisters", "0123", "allocate", "physical registers, spills, the stack frame"),
    Phase("PostExpansion", "0123", "settle_gmma", "waits and arrivals of warpgroup operations"),
    Phase("ApplyPostRegAllocWars", "0123", "barrier_reset", "convergence barriers are cleared (sm_87)"),
    Phase("PostSchedule", "0123", "post_ra", "block order, branches, scheduling and control words"),
)  # fmt: skip

ORDER: Final[tuple[tuple[str, str, str], ...]] = (
    ("OriCheckInitialProgram", "SetControlFlowOpLastInBB", "it judges what lowering made"),
    ("GeneralOptimizeEarly", "DoSwitchOptFirst", "operands that are constants must be known"),
    ("DoSwitchOptFirst", "LateExpansion", "it extends what it loads from a table"),
    ("DoSwitchOptFirst", "LateExpandSyncInstructions", "no pass changes branches after barriers are there"),
    ("DoSwitchOptFirst", "LateExpansionUnsupportedOps", "constants go after the tables of the bank"),
    ("SetControlFlowOpLastInBB", "LateExpandSyncInstructions", "barriers bring threads together at the one return"),
    ("EarlyOriSimpleLiveDead", "GeneralOptimizeEarly", "lowering leaves reads that nobody needs"),
    ("GeneralOptimizeEarly", "OriBranchOpt", "constant conditions must be known"),
    ("OriLoopSimplification", "OriLoopUnrolling", "the body of a loop must be one block"),
    ("OriCopyProp", "OriLoopUnrolling", "the number of iterations must be a constant"),
    ("OriLoopUnrolling", "GvnCse", "iterations written out share computations"),
    ("OriLoopUnrolling", "ConvertMemoryToRegisterOrUniform", "places in arrays become constants"),
    ("AnalyzeUniformsForSpeculation", "LateExpandSyncInstructions", "it removes loops, which need barriers otherwise"),
    ("OriHoistInvariantsEarly", "OriReassociateAndCommon", "the invariant part of an address must be outside of the loop"),
    ("OriReassociateAndCommon", "LateExpansion", "it looks through 64-bit additions"),
    ("LateExpansion", "OriDoPredication", "an arm is judged by its real instructions"),
    ("LateExpansion", "LateOriCommoning", "the words of 64-bit values have common subexpressions too"),
    ("LateExpansion", "ConvertToUniformReg", "uniform registers hold words"),
    ("LateExpansion", "LateExpansionUnsupportedOps", "pseudo operations have no form in the table of a target"),
    ("OriDoPredication", "LateExpandSyncInstructions", "no pass changes branches after barriers are there"),
    ("OriBranchOpt", "LateExpandSyncInstructions", "no pass changes branches after barriers are there"),
    ("LateExpandSyncInstructions", "ConvertToUniformReg", "uniform registers need to know where warps are divided"),
    ("LateExpandSyncInstructions", "PostExpansion", "it reads which blocks divided warps are in (Func.parted)"),
    ("ConvertToUniformReg", "LateArchOptimizeFirst", "uniform registers hold words"),
    ("LateArchOptimizeFirst", "LateExpansionUnsupportedOps", "64-bit operations have operands that a form lacks too"),
    ("OriDoRemat", "ScheduleInstructions", "scheduling sees the final pressure"),
    ("ConvertToUniformReg", "LateExpansionUnsupportedOps", "operands that a form lacks go to registers last"),
    ("LateExpansionUnsupportedOps", "FinalInspectionPass", "afterwards nothing needs a form that the target lacks"),
    ("OriPropagateGmma", "AllocateRegisters", "accumulators of zeros get no registers"),
    ("LateExpansionUnsupportedOps", "OriHoistInvariantsLate3", "it puts constants into registers where they are used"),
    ("FinalInspectionPass", "ScheduleInstructions", "it judges what the passes made"),
    ("ScheduleInstructions", "AllocateRegisters", "it works on virtual registers"),
    ("AllocateRegisters", "PostExpansion", "it works on physical registers"),
    ("AllocateRegisters", "ApplyPostRegAllocWars", "it works on physical registers"),
    ("PostExpansion", "PostSchedule", "waits that it inserts get control words"),
    ("ApplyPostRegAllocWars", "PostSchedule", "moves that it inserts get control words"),
)  # fmt: skip
"""(a, b, why): phase a must run before phase b; :func:`orias.pipeline.order.check_order` verifies it."""
