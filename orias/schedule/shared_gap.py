"""Null accesses that keep LDGSTS and MEMBAR away from earlier accesses to shared memory.

From sm_80 on ptxas writes ``@!PT LDS RZ, [RZ]``, which does nothing, three times in front of LDGSTS and four times in front of
MEMBAR where an access to shared memory, a barrier or a place that control may reach from elsewhere lies before it.  No
document says why; since it is done at every level, it is taken for something the hardware needs.  Measured with ptxas 13.0.88 on
sm_80, 86, 89, 90, 100 and 120 (40 small kernels at -O0 and -O3):

- only in code that runs together with an LDGSTS, that is in kernels whose call graph has one, and in all code of -c and -g;
- accesses to global and local memory do not count; generic ones do;
- the beginning of a kernel counts as such a place from sm_90 on, the beginning of any other block everywhere;
- null accesses written for an earlier LDGSTS count: a MEMBAR behind it gets one more.

ptxas also counts a SHFL or MOVM in between for one of the three; here they are not counted, which adds one too many.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import INV, NONE, PT, RZ, URZ, imm
from orias.ori.ir import Func, Inst
from orias.schedule.ctl import NO_BARRIER, pack

NOTE: Final = "async_copies"
"""Entry of ``Func.notes``: the function may run together with an LDGSTS."""
_LDS: Final = op("LDS")
_BEFORE: Final[dict[str, int]] = {"LDGSTS": 3, "MEMBAR": 4}
_CLEAN: Final = 100
"""Stands for more null accesses than anything needs: there is nothing before to be kept away from."""
_SHARED: Final[frozenset[str]] = frozenset(
    (
        "LDS", "STS", "LDSM", "STSM", "ATOMS", "LD", "ST", "ATOM", "RED", "STAS", "REDAS", "SUST", "SULD",
        "BAR", "WARPSYNC", "BSYNC", "CALL", "UCGABAR_ARV", "UCGABAR_WAIT", "ARRIVES", "SYNCS", "WARPGROUP",
        "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "HGMMA", "IGMMA", "QGMMA", "BGMMA",
    )
)  # fmt: skip
"""Operations behind which null accesses are needed; beyond the measured ones all that touch shared memory or wait for others."""


def keep_apart(fn: Func) -> None:
    """Insert the null accesses.  Works on functions with control words, as the last change of their instructions."""
    if NOTE not in fn.notes or fn.target.sm < 80:
        return
    for k, b in enumerate(fn.blocks):
        seen = _CLEAN if k == 0 and fn.kind == "entry" and fn.target.sm < 90 else 0
        out: list[Inst] = []
        for inst in b.insts:
            base = inst.op.base
            for _ in range(seen, _BEFORE.get(base, 0)):
                null = fn.new_inst(_LDS, [RZ], [NONE, RZ, URZ, imm(0)], guard=PT | INV, loc=inst.loc)
                null.ctl = pack(1, False, NO_BARRIER, NO_BARRIER, 0)
                out.append(null)
                seen += 1
            if base in _SHARED:
                seen = 0
            elif base == "LDGSTS" and seen < _CLEAN:
                seen = _BEFORE[base]
            out.append(inst)
        b.insts = out
