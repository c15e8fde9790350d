"""How many registers each operand of an operation covers, from its name alone (``words`` in ``data/operations.isa``).

A physical operand names its first register only; a virtual register has its own width.  The widths agree register by
register with the live-range columns of ``nvdisasm -plr`` 13.5 over compiler output.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op
from orias.isa.operand import K_R, KIND_MASK, S_F32, S_U32, SUFFIX_MASK, SUFFIX_SHIFT, Opnd
from orias.isa.operations import facts

_SURFACES: Final = frozenset(("SULD", "SUST", "SURED"))
_COORDINATES: Final = 3


@final
class Widths:
    """Registers per operand of one operation: ``dst`` and ``src`` by position; positions beyond the end are 1."""

    __slots__ = ("dst", "src")

    def __init__(self, dst: list[int], src: list[int]) -> None:
        self.dst: Final[list[int]] = dst
        self.src: Final[list[int]] = src


_cache: dict[int, Widths] = {}


def widths(op: Op) -> Widths:
    """The widths of an operation's operands; raises Unsupported if the table does not have them."""
    w = _cache.get(op.ident)
    if w is None:
        f = facts(op.base)
        words = ([], []) if f is None else f.words(op.mods)
        if words is None:
            raise Unsupported(f"register widths of {op.name} are not known")
        w = _cache[op.ident] = Widths(words[0], words[1])
    return w


def src_width(op: Op, k: int, o: Opnd) -> int:
    """Number of registers of source operand `o` at position `k`.

    1 for a 32-bit address offset such as ``R4.U32``, and for ``R4.F32``, which is both values of a pair.
    """
    w = widths(op).src
    if k >= len(w):
        return 1
    suffix = (o & SUFFIX_MASK) >> SUFFIX_SHIFT
    if w[k] == 2 and (suffix == S_F32 or (suffix == S_U32 and o & KIND_MASK == K_R)):
        return 1
    return w[k]


def words_read(op: Op, k: int, width: int) -> int:
    """Of `width` registers of a source those that the operation reads: three coordinates of a surface stand in four.

    ptxas 13.0.88 overwrites the fourth while the operation is under way.
    """
    return _COORDINATES if op.base in _SURFACES and k == 1 and width > _COORDINATES else width


def dst_width(op: Op, k: int) -> int:
    """Number of registers of result `k`."""
    w = widths(op).dst
    return w[k] if k < len(w) else 1
