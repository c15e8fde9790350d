"""Null accesses that separate LDGSTS and MEMBAR from earlier accesses to shared memory.

From sm_80 on, ptxas writes ``@!PT LDS RZ, [RZ]``, which has no effect, three times before LDGSTS and four times before
MEMBAR after an access to shared memory, a barrier, or the beginning of a block.  No document explains it.  ptxas does
it at every level, and Orias therefore treats it as a requirement of the hardware.  Measured with ptxas 13.0.88 on
sm_80, 86, 89, 90, 100 and 120 (40 small kernels at -O0 and -O3):

- it does so only in code that can run with an LDGSTS: in kernels whose call graph has one, and in all code with -c or -g;
- accesses to global and local memory do not count; generic ones do;
- the beginning of a kernel counts from sm_90 on, the beginning of any other block always;
- null accesses before an earlier LDGSTS count: a MEMBAR after it gets one more.

ptxas also counts a SHFL or MOVM in between as one of the three; here they do not count, which adds one null access too
many.
"""

from typing import Final

from orias.isa.op import F_TOUCHES_SHARED, op
from orias.isa.operand import INV, NONE, PT, RZ, URZ, imm
from orias.ori.ir import Func, Inst
from orias.target import features
from orias.timing.ctl import NO_BARRIER, pack

_LDS: Final = op("LDS")
_BEFORE: Final[dict[str, int]] = {"LDGSTS": 3, "MEMBAR": 4}
_CLEAN: Final = 100
"""More null accesses than any instruction needs: no earlier access requires separation."""


def keep_apart(fn: Func) -> None:
    """Insert the null accesses into a function with control words, as the last change of its instructions."""
    if not fn.beside_async_copies or not fn.target.has(features.ASYNC_COPIES):
        return
    for k, b in enumerate(fn.blocks):
        seen = _CLEAN if k == 0 and fn.kind == "entry" and not fn.target.has(features.SHARED_GAP_AT_ENTRY) else 0
        out: list[Inst] = []
        for inst in b.insts:
            base = inst.op.base
            for _ in range(seen, _BEFORE.get(base, 0)):
                null = fn.new_inst(_LDS, [RZ], [NONE, RZ, URZ, imm(0)], guard=PT | INV, loc=inst.loc)
                null.ctl = pack(1, True, NO_BARRIER, NO_BARRIER, 0)
                out.append(null)
                seen += 1
            if inst.op.flags & F_TOUCHES_SHARED:
                seen = 0
            elif base == "LDGSTS" and seen < _CLEAN:
                seen = _BEFORE[base]
            out.append(inst)
        b.insts = out
