"""What the compiler's folder makes of an instruction's inputs: the instruction's code, each operation evaluated as constants are.

The code is straight: a load of one word, the instruction, a store of each output.  An operation whose meaning the folder does not have, or
whose operands are not known, has no known results; an output that depends on one is not folded.
"""

from collections.abc import Callable
from typing import Final

import orias
from orias.isa.decode import Decoded
from orias.isa.op import Op
from orias.isa.operand import (
    INV,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NOT_PT,
    PT,
    Opnd,
    imm,
    imm64,
    imm_value,
    in_place_of,
    is_hardwired,
    is_imm,
    kind_of,
    payload,
)
from orias.isa.operations import mnemonics_with
from orias.isa.widths import dst_width, src_width
from orias.semantics import floats, integers
from orias.semantics.floats import is_constant
from orias.sim import load
from tools.judge.every_input.instructions import Instruction

_FLOATS: Final = frozenset(floats.foldable())
_INTEGERS: Final = frozenset(mnemonics_with("fold"))
_MOVES: Final = ("MOV", "CS2R")
_FLOW: Final = frozenset(("BRA", "CALL", "BSSY", "EXIT"))
_FILES: Final = (K_R, K_UR, K_P, K_UP)
Place = tuple[int, int]
"""A register: file and number."""


def _kernel(i: Instruction, arch: str) -> str:
    version = "9.0" if int(arch[3:].rstrip("af")) >= 100 else "8.7"
    inputs = "mov.b32 {%a0, %a1}, %word;"
    if len(i.ins) == 1:
        inputs = {"b32": "mov.b32 %a0, %word;", "b16": "cvt.u16.u32 %a0, %word;"}[i.ins[0]]
    regs = [f".reg .{t} %a{k};" for k, t in enumerate(i.ins)] + [f".reg .{t} %o{k};" for k, t in enumerate(i.outs)]
    stores = []
    for k, t in enumerate(i.outs):
        if t == "pred":
            stores.append(f"selp.u32 %flag, 1, 0, %o{k}; st.global.u32 [%to+{8 * k}], %flag;")
        else:
            stores.append(f"st.global.{t} [%to+{8 * k}], %o{k};")
    return f""".version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
    .reg .b64 %from, %to; .reg .b32 %word, %flag; {" ".join(regs)} {i.decl}
    ld.param.u64 %from, [in]; ld.param.u64 %to, [out]; ld.global.b32 %word, [%from];
    {inputs}
    {i.body}
    {" ".join(stores)}
    ret;
}}
"""


class Unfoldable(Exception):
    """The code is not of this form."""


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
        self.src: Final = [(o, _place(o), src_width(d.op, k, o)) for k, o in enumerate(d.src)]
        self.guard: Final = (d.guard, _place(d.guard))
        self.dst: Final = [(_place(o), dst_width(d.op, k)) for k, o in enumerate(d.dst)]


def _registers(place: Place | None, width: int) -> set[Place]:
    return {(place[0], place[1] + k) for k in range(width)} if place is not None else set()


def _leading_to(steps: list[Step], wanted: set[Place]) -> list[Step]:
    """The steps that may write what is wanted, or what such a step reads."""
    kept = []
    for step in reversed(steps):
        if any(_registers(*d) & wanted for d in step.dst):
            kept.append(step)
            for _, place, width in step.src:
                wanted = wanted | _registers(place, width)
            wanted = wanted | _registers(step.guard[1], 1)
    return kept[::-1]


def _place(o: Opnd) -> Place | None:
    """The register of an operand; None for constants."""
    return (kind_of(o), payload(o)) if kind_of(o) in _FILES and not is_hardwired(o) else None


def _moved(op: Op, src: list[Opnd]) -> list[int] | None:
    """MOV of a constant, and CS2R of the register that is zero."""
    return [imm_value(src[0]) if is_imm(src[0]) else 0] if is_constant(src[0]) or op.base == "CS2R" else None


class Folder:
    """The folder on one instruction for a target; raises Unfoldable where the code is not straight."""

    def __init__(self, i: Instruction, arch: str) -> None:
        image = load(orias.compile(_kernel(i, arch), arch=arch).data)
        (code,) = (code for _, code, name in image._code if name == "k")
        steps: list[Step] = []
        start: Place | None = None
        for at in range(0, len(code), 16):
            d = image.table.decode(int.from_bytes(code[at : at + 16], "little"))
            if d.op.base == "LDG":
                start = _place(d.dst[0])
            elif d.op.base == "STG":
                break
            elif d.op.base in _FLOW:
                raise Unfoldable(i.name)
            elif start is not None:
                steps.append(Step(d))
        if start is None:
            raise Unfoldable(i.name)
        self._start: Final = start
        self._stored: Final = (d.src[-1], _place(d.src[-1]), 2 if d.op.has("64") else 1)
        self._steps: Final = _leading_to(steps, _registers(*self._stored[1:]))

    def result(self, word: int) -> int | None:
        """The output for an input; None where it is not folded."""
        known = {self._start: word}
        for step in self._steps:
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
        o, place, width = self._stored
        if place is None:
            return imm_value(o) if is_imm(o) else 0
        return _value(known, place, width)

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
