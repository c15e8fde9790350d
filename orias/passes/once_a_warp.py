"""OriDoPredication, for operations that the hardware runs once a warp: copies by tensor maps, bulk copies, barriers in memory.

Their guard is a uniform predicate.  Where the warp runs as a whole a vote tells whether any thread takes the branch; an
operation under it runs as often as in the arm that only these threads enter: once.  The values that its operands come
from are read for all threads alike, or, where they differ, from a thread that takes the branch.  ptxas 13.0.88 does the
same (VOTEU.ANY, then ``@UP UTMALDG``), where ``elect.sync`` chose the thread and around ``mbarrier.init``.
"""

from typing import Final, final

from orias.analysis.divergence import Divergence, divergence
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_ALIGNED, F_READ, F_SIDE, F_WRITE, op
from orias.isa.operand import FIRST_VIRTUAL, K_NONE, K_UP, K_UR, PT, Opnd, in_file, is_vreg, reg
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst

_ANY: Final = reg(K_UP, FIRST_VIRTUAL)
_VOTE: Final = op("VOTEU.ANY")
_EFFECTS: Final = F_READ | F_WRITE | F_SIDE


@final
class OnceAWarp:
    """What arms of branches hold that runs once a warp, and its guards."""

    __slots__ = ("_div", "_fn", "_table")

    def __init__(self, fn: Func) -> None:
        self._fn: Final[Func] = fn
        self._table: Final[IsaTable] = load(fn.target.table)
        self._div: Divergence | None = None
        """Computed when asked for.  Fewer branches make a warp more whole, so it stays right while arms are converted."""

    def needed(self, b: Block, arm: Block) -> bool:
        """True if an arm of the branch at the end of block `b` has operations that run once a warp and can be guarded."""
        return any(self._runs_once(i) for i in arm.insts) and not self._divergence().regions[b.id]

    def takes(self, inst: Inst) -> bool:
        """True for an operation of an arm that :meth:`guard` guards, or that may run either way."""
        if self._runs_once(inst):
            return True
        return _reads(inst)

    def vote(self, b: Block, guard: Opnd) -> Opnd:
        """A uniform predicate, made at the end of `b`: true if the guard is in any thread."""
        up = self._fn.new_vreg(K_UP)
        b.insts.append(self._fn.new_inst(_VOTE, [up], [guard], loc=b.insts[-1].loc if b.insts else 0))
        return up

    def guard(self, inst: Inst, guard: Opnd, whole: Opnd) -> bool:
        """Guard an operation by the uniform predicate, or a read of a varying value by that of the threads; False for others."""
        if self._runs_once(inst):
            inst.guard = whole
        elif not _reads(inst):
            return False
        elif inst.op.base == "R2UR" and self._divergence().is_varying(inst.src[0]):
            inst.guard = guard
        return True

    def _divergence(self) -> Divergence:
        if self._div is None:
            self._div = divergence(self._fn)
        return self._div

    def _runs_once(self, inst: Inst) -> bool:
        """True for an operation with effects and no result whose guard is a uniform predicate; not of one that takes values of all lanes.

        ptxas 13.0.88 branches around a store to tensor memory, and no capsule states a guarded one by 16 lanes.
        """
        if (
            not inst.op.flags & _EFFECTS
            or inst.op.flags & F_ALIGNED
            or inst.guard != PT
            or any(is_vreg(d) for d in inst.dst)
        ):
            return False
        return self._table.accepts(inst.op, _ANY, inst.dst, inst.src)


def _reads(inst: Inst) -> bool:
    """True for a value that goes to a uniform register."""
    if inst.guard != PT or inst.old != K_NONE or len(inst.dst) != 1 or not in_file(inst.dst[0], K_UR):
        return False
    return inst.op.base == "R2UR" or inst.op is OP_COPY or inst.op is OP_PACK
