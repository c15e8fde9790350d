"""The values of knobs that a search tries."""

from typing import Final

from orias.knobs.knob_settings import Setting, checked
from orias.target.register_steps import STEPS

SPACE: Final[dict[str, tuple[int | str, ...]]] = {
    "UnrollUnknownCount": (2, 3, 6, 8, 16),
    "UnrollUnknownInstLimit": (0, 90, 360, 720, 1440),
    "UnrollFullInstLimit": (0, 100, 200, 800, 1600),
    "UnrollFullIterations": (32, 512),
    "HoistBudget": (0, 4, 64),
    "HoistWorkingRegisters": (0, 16, 32),
    "PredicationInstLimit": (0, 4, 16),
    "PredicationLoadInstLimit": (0, 8, 40),
    "FusedProductReaders": (1, 8),
    "LogicReaders": (1, 4),
    "VectorizationDistance": (0, 400),
    "RematPeaks": (0, 8),
    "RematPeakSlack": (0, 20),
    "RematInstPerWord": (1, 4),
    "URFPeakSlack": (0, 40),
    "URFBranchGain": (1, 8),
    "RegTgtExtraSteps": (0, 2, 3),
    "SchedManyLoads": (1, 16),
    "SchedRegReserve": (4, 20),
    "SchedReadyWindow": (16, 200),
    "SchedMoveUpLimit": (64, 1000),
    "SchedPredicateLimit": (3, 6),
    "SchedReadSBBaseLatency": (10, 40),
    "SchedWarLatency": (6, 24),
    "SchedEstimatedLoopIterations": (2, 100),
    "LoopWeightBits": (1, 5),
    "RegAllocRestDistance": (0, 32),
    "RegAllocPackTrials": (0, 60),
    "DisablePhases": (
        "OriLoopUnrolling", "OriDoPredication", "OriDoRemat", "OriHoistInvariantsEarly+OriHoistInvariantsLate",
        "OriReassociateAndCommon", "ConvertToUniformReg", "GvnCse",
    ),
}  # fmt: skip
"""Name of a knob -> values beside its default.  Budgets of compile time are left out."""


def choices(registers: int, level: int, fixed: set[str]) -> list[Setting]:
    """The single changes of a search, in order: register budgets below `registers`, then the values of SPACE.

    `level`: the optimisation level, which says which phases there are to leave out; `fixed`: names of knobs that stay.
    """
    out = [checked("", "MaxRegCount", s) for s in sorted(STEPS, reverse=True) if s < registers]
    for name, values in SPACE.items():
        out += [checked("", name, v) for v in values]
    if level < 2:
        out = [s for s in out if s.knob.name != "DisablePhases"]
    return [s for s in out if s.knob.name not in fixed]
