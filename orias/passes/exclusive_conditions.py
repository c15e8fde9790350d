"""Conditions that exclude each other: no thread finds both true.

A condition is a predicate of SSA or its inverse.  What it says is a list of facts, each true where the condition is: the predicate
itself, and through the operations that made it, other predicates and comparisons of integers.
"""

from typing import Final, final

from orias.isa.op import op
from orias.isa.operand import INV, K_P, NOT_PT, PT, Opnd, bare, flags_of, imm_value, in_file, is_imm, is_vreg, vreg
from orias.ori.ir import OP_COPY, Func, Inst

_LT: Final = 1
_EQ: Final = 2
_GT: Final = 4
_RELATIONS: Final[dict[str, int]] = {
    "LT": _LT, "LE": _LT | _EQ, "EQ": _EQ, "NE": _LT | _GT, "GE": _GT | _EQ, "GT": _GT,
}  # fmt: skip
_PLOP3: Final = op("PLOP3.LUT")
_MOST_FACTS: Final = 16
"""Facts of a condition that are looked at: those of long chains of conjunctions are not worth the time."""


@final
class Fact:
    """A predicate with its value, or a comparison."""

    __slots__ = ("a", "b", "relation", "signed")

    def __init__(self, a: Opnd, b: Opnd, relation: int, signed: bool) -> None:
        self.a: Final[Opnd] = a
        """The first operand, or a predicate that is true (`relation` 0)."""
        self.b: Final[Opnd] = b
        self.relation: Final[int] = relation
        """Which of less, equal and greater may hold."""
        self.signed: Final[bool] = signed

    def excludes(self, other: "Fact") -> bool:
        """True if the two cannot both hold."""
        if not self.relation or not other.relation:
            return not self.relation and not other.relation and self.a == other.a ^ INV
        if self.a != other.a or self.signed != other.signed:
            return False
        if self.b == other.b:
            return not self.relation & other.relation
        if not is_imm(self.b) or not is_imm(other.b):
            return False
        mine, theirs = self._ranges(), other._ranges()
        return not any(low <= up and least <= high for low, high in mine for least, up in theirs)

    def _ranges(self) -> list[tuple[int, int]]:
        """The values that a comparison with a constant allows, as closed ranges."""
        c = imm_value(self.b) & 0xFFFFFFFF
        low, high = 0, 0xFFFFFFFF
        if self.signed:
            low, high = -(1 << 31), (1 << 31) - 1
            c -= c >> 31 << 32
        every = ((_LT, low, c - 1), (_EQ, c, c), (_GT, c + 1, high))
        return [(least, up) for bit, least, up in every if self.relation & bit and least <= up]


@final
class Conditions:
    """What the conditions of a function say."""

    __slots__ = ("_makers",)

    def __init__(self, fn: Func) -> None:
        self._makers: Final[dict[int, Inst]] = {
            vreg(d): inst for inst in fn.insts() for d in inst.dst if is_vreg(d) and in_file(d, K_P)
        }

    def facts(self, condition: Opnd) -> list[Fact]:
        """The facts that hold where a condition does."""
        out: list[Fact] = []
        work = [condition]
        while work and len(out) < _MOST_FACTS:
            o = work.pop()
            if not is_vreg(o):
                continue
            out.append(Fact(o, PT, 0, False))
            inst = self._makers.get(vreg(o))
            if inst is None or inst.guard != PT or bare(inst.dst[0]) != bare(o):
                continue
            holds = not flags_of(o) & INV
            if inst.op is OP_COPY:
                work.append(inst.src[0] if holds else inst.src[0] ^ INV)
            elif inst.op is _PLOP3:
                work += _implied(inst, holds)
            elif inst.op.base == "ISETP" and len(inst.src) == 3:
                self._compare(inst, holds, out, work)
        return out

    def _compare(self, inst: Inst, holds: bool, out: list[Fact], work: list[Opnd]) -> None:
        """What a comparison says that is joined with another condition."""
        a, b, other = inst.src
        joined = inst.op.has("AND")
        if not joined and not inst.op.has("OR"):
            return
        if not holds:
            other ^= INV
        if joined == holds:
            work.append(other)
        elif other != NOT_PT:
            # One of the two is false, or one of them true: nobody knows which.
            return
        relation = next((_RELATIONS[m] for m in inst.op.mods if m in _RELATIONS), 0)
        if not holds:
            relation ^= _LT | _EQ | _GT
        if relation:
            # Equality does not depend on signs.
            signed = not inst.op.has("U32") and relation not in (_EQ, _LT | _GT)
            out.append(Fact(a, b, relation, signed))


def _implied(inst: Inst, holds: bool) -> list[Opnd]:
    """The sources of a PLOP3 whose values follow from its result."""
    table = imm_value(inst.src[3])
    rows = [k for k in range(8) if (table >> k & 1 != 0) == holds and _possible(inst.src, k)]
    out: list[Opnd] = []
    for n, o in enumerate(inst.src[:3]):
        values = {k >> 2 - n & 1 for k in rows}
        if len(values) == 1:
            out.append(o if 1 in values else o ^ INV)
    return out


def _possible(src: list[Opnd], row: int) -> bool:
    """True if the constant sources of a PLOP3 have the values of a row of its table."""
    return all(is_vreg(o) or (row >> 2 - n & 1 != 0) == (not flags_of(o) & INV) for n, o in enumerate(src[:3]))
