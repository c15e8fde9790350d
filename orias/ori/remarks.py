"""The remarks of phases on warpgroup operations: message texts of ptxas 13.0.88 by number.

A phase adds the number with a PTX line to ``Func.remarks``, or stores it in a field of the function;
``docs/scheduling.md`` has the conditions of each message.
"""

from typing import Final

EXTERN_CALL: Final = 7509
BOUNDARY: Final = 7510
PIPELINE_REGISTERS: Final = 7511
FUNCTION_REGISTERS: Final = 7512
WRITES_A: Final = 7513
READS: Final = 7514
WRITES: Final = 7515
INJECTED_WAIT: Final = 7517
DIVERGENT_WAIT: Final = 7518
INJECTED_ARRIVE: Final = 7519
DIVERGENT_ARRIVE: Final = 7520

_SERIALIZED: Final = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
_STAGE: Final = " a wgmma between start and end of the pipeline stage in the function '{1}'"

INJECTIONS: Final[dict[int, str]] = {
    INJECTED_ARRIVE: "warpgroup.arrive is injected in around line {0} by compiler to allow use of registers in GMMA in function '{1}'",
    INJECTED_WAIT: "warpgroup.wait is injected in around line {0} by compiler to allow use of registers defined by GMMA in function '{1}'",
}
"""Messages on inserted instructions, in the order of output.  {0} is the PTX line, {1} the function."""

REASONS: Final[dict[int, str]] = {
    DIVERGENT_ARRIVE: _SERIALIZED
    + "program dependence on compiler-inserted WG.AR in divergent path in the function '{1}'",
    EXTERN_CALL: _SERIALIZED + "the presence of Extern calls in the function '{1}'",
    BOUNDARY: _SERIALIZED + "wgmma pipeline crossing function boundary at a function call in the function '{1}'",
    DIVERGENT_WAIT: _SERIALIZED
    + "program dependence on compiler-inserted WG.DP in divergent path in the function '{1}'",
    PIPELINE_REGISTERS: _SERIALIZED + "insufficient register resources for the wgmma pipeline in the function '{1}'",
    FUNCTION_REGISTERS: _SERIALIZED + "insufficient register resources for the function '{1}'",
    WRITES_A: _SERIALIZED + "non wgmma instructions defining input registers of" + _STAGE,
    READS: _SERIALIZED + "non wgmma instructions reading accumulator registers of " + _STAGE,
    WRITES: _SERIALIZED + "non wgmma instructions defining accumulator registers of" + _STAGE,
}
"""Reasons why operations run one at a time, in order of precedence: only the first that holds is reported."""
