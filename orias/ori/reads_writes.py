"""What an instruction reads and writes, as :func:`orias.analysis.access.accesses` finds it."""

from typing import Final, final

from orias.isa.op import Op
from orias.isa.operand import PT, Opnd


@final
class Access:
    """``reads``: ``unit << 8 | source position``; ``writes``: ``unit << 8 | word of the result << 4 | result position``.

    With an operation and operands: what an instruction with these reads and writes, which stays with it (``Inst.access``).
    """

    __slots__ = ("_dst", "_guard", "_op", "_src", "reads", "writes")

    def __init__(
        self, op: Op | None = None, dst: list[Opnd] | None = None, src: list[Opnd] | None = None, guard: Opnd = PT
    ) -> None:
        self.reads: list[int] = []
        self.writes: list[int] = []
        self._op: Final[Op | None] = op
        self._dst: Final[list[Opnd] | None] = None if dst is None else dst[:]
        self._src: Final[list[Opnd] | None] = None if src is None else src[:]
        self._guard: Final[Opnd] = guard

    def of(self, op: Op, dst: list[Opnd], src: list[Opnd], guard: Opnd) -> bool:
        """True if this is what an instruction with this operation and these operands reads and writes."""
        return self._op is op and self._guard == guard and self._src == src and self._dst == dst
