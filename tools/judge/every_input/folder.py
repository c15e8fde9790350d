"""What the compiler's folder makes of an instruction's inputs: the instruction's code, each operation evaluated as constants are.

The code is straight: a load of one word, the instruction, a store of each output.  An operation whose meaning the folder does not have, or
whose operands are not known, has no known results; an output that depends on one is not folded.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.decode import Decoded
from orias.isa.op import Op
from orias.isa.operand import (
    INV,
    K_P,
    K_UP,
    NOT_PT,
    PT,
    Opnd,
    imm,
    imm64,
    imm_value,
    in_place_of,
    is_imm,
)
from orias.isa.operations import mnemonics_with
from orias.isa.widths import dst_width, src_width
from orias.semantics import floats, integers
from orias.semantics.floats import is_constant
from tools.judge.every_input.instructions import Instruction
from tools.judge.every_input.straight import Place, place_of, straight

_FLOATS: Final = frozenset(floats.foldable())
_INTEGERS: Final = frozenset(mnemonics_with("fold"))
_MOVES: Final = ("MOV", "CS2R")


class Step:
    """One operation: where its operands come from and its results go."""

    def __init__(self, d: Decoded) -> None:
        self.op: Final = d.op
        base = d.op.base
        self.evaluate: Final[Callable[[Op, list[Opnd]], list[int] | None] | None] = (
            _moved
            if base in _MOVES
            else floats.evaluate
            if base in _FLOATS
            else integers.evaluate
            if base in _INTEGERS
            else None
        )
        self.src: Final = [(o, place_of(o), src_width(d.op, k, o)) for k, o in enumerate(d.src)]
        self.guard: Final = (d.guard, place_of(d.guard))
        self.dst: Final = [(place_of(o), dst_width(d.op, k)) for k, o in enumerate(d.dst)]


def _moved(op: Op, src: list[Opnd]) -> list[int] | None:
    """MOV of a constant, and CS2R of the register that is zero."""
    return [imm_value(src[0]) if is_imm(src[0]) else 0] if is_constant(src[0]) or op.base == "CS2R" else None


class Folder:
    """The folder on one instruction for a target; raises NotStraight where its code has branches."""

    def __init__(self, i: Instruction, arch: str) -> None:
        code = straight(i, arch)
        self._before: Final = [Step(d) for d in code.before]
        self._start: Final = code.start
        self._stored: Final = (code.stored, place_of(code.stored), code.words)
        self._steps: Final = [Step(d) for d in code.steps]

    def result(self, word: int) -> int | None:
        """The output for an input; None where it is not folded."""
        known: dict[Place, int] = {}
        self._run(self._before, known)
        known[self._start] = word
        self._run(self._steps, known)
        o, place, width = self._stored
        if place is None:
            return imm_value(o) if is_imm(o) else 0
        return _value(known, place, width)

    def _run(self, steps: list[Step], known: dict[Place, int]) -> None:
        for step in steps:
            results = self._results(step, known)
            guard = self._taken(step, known)
            if guard is False:
                continue
            for k, (place, width) in enumerate(step.dst):
                if place is None:
                    continue
                value = results[k] if results is not None and k < len(results) and guard else None
                for half in range(width):
                    at = (place[0], place[1] + half)
                    if value is None:
                        known.pop(at, None)
                    else:
                        known[at] = value >> 32 * half & 0xFFFFFFFF

    @staticmethod
    def _taken(step: Step, known: dict[Place, int]) -> bool | None:
        """Whether the guard holds; None: that is not known."""
        o, place = step.guard
        if place is None:
            return not o & INV
        value = known.get(place)
        return None if value is None else bool(value) != bool(o & INV)

    @staticmethod
    def _results(step: Step, known: dict[Place, int]) -> list[int] | None:
        if step.evaluate is None:
            return None
        sources = []
        for o, place, width in step.src:
            if place is None:
                sources.append(o)
                continue
            value = _value(known, place, width)
            if value is None:
                return None
            if place[0] in (K_P, K_UP):
                sources.append(PT if bool(value) != bool(o & INV) else NOT_PT)
            else:
                sources.append(in_place_of(o, imm64(value) if width == 2 else imm(value)))
        return step.evaluate(step.op, sources)


def _value(known: dict[Place, int], place: Place, width: int) -> int | None:
    value = 0
    for half in range(width):
        word = known.get((place[0], place[1] + half))
        if word is None:
            return None
        value |= word << 32 * half
    return value
