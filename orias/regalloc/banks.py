"""Register banks: which registers spread the sources of instructions over both banks.

The even registers are one bank, the odd ones the other; a bank serves one read a cycle (``docs/facts/machine.md``).  Three sources in one bank
cost most, two in one bank something where warps follow one another closely.
"""

from typing import Final, final

from orias.isa.operand import FIRST_VREG, K_R, in_file, lane_words, vreg
from orias.ori.ir import Inst
from orias.regalloc.coalesce import Classes, Cls

Source = tuple[Cls, int]
"""A word that an instruction reads: class and place."""
_EVEN: Final = sum(1 << n for n in range(0, 256, 2))
_ODD: Final = _EVEN << 1


@final
class _Reads:
    """An instruction that reads a class at `place`: the places of its other sources, and how often it executes."""

    __slots__ = ("others", "place", "weight")

    def __init__(self, weight: int, place: int, others: list[Source]) -> None:
        self.weight: Final[int] = weight
        self.place: Final[int] = place
        self.others: Final[list[Source]] = others


@final
class Banks:
    """The instructions of a function whose sources could be spread."""

    __slots__ = ("reads",)

    def __init__(self, classes: Classes) -> None:
        self.reads: Final[dict[Cls, list[_Reads]]] = {}
        """Of each class without alignment, the instructions in which it is a source beside others."""
        rg = classes.rg
        for point, inst in enumerate(rg.insts):
            if inst is None or len(inst.src) < 2 or inst.op.addr:
                continue
            sources = _sources(classes, inst)
            if len(sources) > 3 or len(set(sources)) < 2:
                continue
            weight = 1 << min(rg.fn.knobs.loop_weight_bits * rg.depth[point], 30)
            for s in dict.fromkeys(sources):
                if s[0].mod == 1:
                    others = [x for x in sources if x != s]
                    # A register that an instruction reads twice stands for two others where there are three.
                    self.reads.setdefault(s[0], []).append(
                        _Reads(weight, s[1], others * (3 - len(others)) if len(sources) == 3 else others)
                    )

    def disliked(self, c: Cls) -> tuple[int, int]:
        """Masks of registers for place 0 that put three sources of an instruction into one bank, and two: in more cases than they avoid."""
        three = two = 0
        for reads in self.reads.get(c, ()):
            taken = [s.slot + place & 1 for s, place in reads.others if s.slot >= 0]
            if not taken:
                continue
            odd = sum(taken)
            # Positive: odd registers are worse.
            towards = reads.weight * (2 * odd - len(taken))
            if reads.place & 1:
                towards = -towards
            two += towards
            if len(taken) == 2:
                three += towards
        return _worse(three), _worse(two)


def _worse(balance: int) -> int:
    if balance == 0:
        return 0
    return _ODD if balance > 0 else _EVEN


def _sources(classes: Classes, inst: Inst) -> list[Source]:
    """The words that an instruction reads from registers; pairs are in both banks anyway."""
    out: list[Source] = []
    for o in inst.src:
        if o >= FIRST_VREG and in_file(o, K_R):
            v = vreg(o)
            c = classes.of[v]
            first, words = lane_words(o, classes.rg.fn.vwidth[v])
            if c is not None and words == 1:
                out.append((c, classes.place[v] + first))
    return out
