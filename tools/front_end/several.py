"""Programs with two to four independent faults: changed instructions, odd ones, declarations, directives and functions of one module.

They show in which order messages come, and where an assembler gives up.
"""

import random

from orias.target.profile import TARGETS
from tools.front_end import directives, instructions, odd
from tools.front_end.instructions import VERSIONS, Line, Program, head, kernel

_PARTS = ("instruction", "instruction", "instruction", "odd", "odd", "statement", "item", "function", "use")
_USES = ("mov.u32 %b32_1, nowhere;", "bra nowhere;", "call nobody;", "@%pred_1 bra L9;", "L8:", "L8: L8:", "add.u32 %b32_1, %b32_2;", "ad.u32 %b32_1, %b32_2, 1;",
         "mov.f32 %f32_1, %b64_1;", ".reg .b32 again; .reg .b32 again;", "ld.global.u32 %b32_1, [undeclared];", "st.shared.u32 [nowhere+4], %b32_1;",
         "setp.eq.u32 %b32_1, %b32_2, 0;", "ret", "call (%b32_1), fn1, (%b32_2, %b32_3);", "call fn0, (%b32_1);", "mov.u64 %b64_1, fn0;", "bar.sync 0", "foo %b32_1;",
         "add.s32.bar %b32_1, %b32_2, %b32_3;", "cvt.u32.f32 %b32_1, %f32_1;", "shfl.down.b32 %b32_1, %b32_2, 1, 31;", "atom.global.add.f32 %b32_1, [%b64_1], 1;")  # fmt: skip
"""Mistakes that people make, and right instructions."""


class Maker:
    """Makes programs; the same seed makes the same programs."""

    def __init__(self, lines: list[Line], seed: int, targets: tuple[str, ...] = tuple(TARGETS)) -> None:
        self.random = random.Random(seed)
        self.targets = targets
        self.changed = instructions.Maker(lines, seed + 1, targets)
        self.odd = odd.Maker(lines, seed + 2, targets)
        self.directives = directives.Maker(seed + 3, targets)

    def program(self) -> Program:
        """The next program."""
        r = self.random
        target = r.choice(self.targets)
        top = head("9.0" if r.random() < 0.7 else r.choice(VERSIONS), target)
        items: list[str] = []
        statements: list[str] = []
        after: list[str] = []
        for _ in range(r.choice([2, 2, 3, 3, 4])):
            part = r.choice(_PARTS)
            if part == "item":
                items.append(self.directives.item(r.choice(["ITEM", "VARIABLE", "INIT"])))
            elif part == "function":
                r.choice([items, after]).append(self.directives.item(r.choice(["FUNC", "PROTO"])))
            else:
                statements.append(self._statement(part))
        body = kernel("\n ".join(statements))
        text = "\n".join([*items, body, *after]) + "\n"
        return Program(target, " ; ".join([*items, *statements, *after])[:200], top, f"\n{text}")

    def _statement(self, part: str) -> str:
        r = self.random
        if part == "use":
            return r.choice(_USES)
        if part == "statement":
            return self.directives.item("STATEMENT")
        return self.changed.text() if part == "instruction" else self.odd.text()
