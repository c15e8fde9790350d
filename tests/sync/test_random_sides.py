"""Random programs whose threads run the same collectives at different places: our code gives what that of ptxas does, or the interpreter.

The threads run them on sides of branches, under guards that exclude each other, and in different iterations of loops.  For the last two
ptxas's code waits for ever (``tests/sync/test_apart.py``).
"""

import random
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.sim.ptx import PtxImage
from tests.device import load
from tests.oracle import compile_or_none
from tests.rotation import LATER, rotating
from tests.sync.test_meeting_places import HEAD, TAIL

REGISTERS = range(2, 10)
"""%r2 to %r9 hold values of the program."""


class Program:
    """Code whose every path runs the same operations, in the same order; `apart`: not only on the sides of branches."""

    def __init__(self, number: int, apart: bool = False) -> None:
        self.random = random.Random(f"sides {number}{' apart' if apart else ''}")
        self.apart = apart
        self.lines: list[str] = []
        self.labels = 0
        self.tests = 0
        kinds = ["bfly", "idx", "ballot", "any", "match", "sync"]
        self.deepest = 2 if apart else 3
        count = self.random.randint(1, 3) if apart else self.random.randint(2, 5)
        self.block([self.random.choice(kinds) for _ in range(count)], self.deepest)

    def register(self) -> str:
        return f"%r{self.random.choice(REGISTERS)}"

    def work(self) -> None:
        for _ in range(self.random.randint(0, 3)):
            op = self.random.choice(("add.u32", "sub.u32", "xor.b32", "mul.lo.u32", "min.u32"))
            last = self.random.choice((self.register(), str(self.random.randint(1, 99))))
            self.lines.append(f"{op} {self.register()}, {self.register()}, {last};")
        if self.random.random() < 0.3:
            self.lines.append(f"ld.global.u32 {self.register()}, [%rd2+{128 * self.random.randint(0, 2)}];")

    def test(self) -> str:
        """A new predicate that depends on the thread."""
        self.tests += 1
        bit = self.random.choice((1, 2, 4))
        self.lines.append(
            f".reg .pred %t{self.tests}; and.b32 %r11, {self.register()}, {bit}; setp.ne.u32 %t{self.tests}, %r11, 0;"
        )
        return f"%t{self.tests}"

    def collective(self, kind: str, guard: str = "") -> None:
        a, d = self.register(), self.register()
        if kind == "bfly":
            self.lines.append(f"{guard}shfl.sync.bfly.b32 {d}, {a}, {self.random.randint(1, 31)}, 31, -1;")
        elif kind == "idx":
            self.lines.append(f"{guard}shfl.sync.idx.b32 {d}, {a}, {self.register()}, 31, -1;")
        elif kind == "match":
            self.lines.append(f"and.b32 %r10, {a}, 3; {guard}match.any.sync.b32 {d}, %r10, -1;")
        elif kind == "sync":
            self.lines.append(f"{guard}bar.warp.sync -1;")
        elif kind == "ballot":
            self.lines.append(f"setp.gt.u32 %p2, {a}, 50; {guard}vote.sync.ballot.b32 {d}, %p2, -1;")
        else:
            self.lines.append(f"setp.eq.u32 %p2, {a}, 50; {guard}vote.sync.any.pred %p3, !%p2, -1;")
            self.lines.append(f"{guard}selp.u32 {d}, 3, {d}, %p3;")

    def guarded(self, kind: str) -> None:
        """An operation under two or three guards of which one is true."""
        p = self.test()
        if self.random.random() < 0.3:
            q = self.test()
            self.lines.append(f"not.pred %p5, {q}; and.pred %p6, {p}, {q}; and.pred %p5, {p}, %p5;")
            guards = ["@%p6 ", "@%p5 ", f"@!{p} "]
        elif self.random.random() < 0.5:
            self.lines.append(f"not.pred %p5, {p};")
            guards = [f"@{p} ", "@%p5 "]
        else:
            guards = [f"@!{p} ", f"@{p} "]
        for guard in guards:
            self.work()
            if self.random.random() < 0.3:
                self.labels += 1
                self.lines.append(f"@{'' if guard[1] == '!' else '!'}{guard.strip('@! ')} bra G{self.labels};")
                self.work()
                self.collective(kind)
                self.lines.append(f"G{self.labels}:")
            else:
                self.collective(kind, guard)

    def iterations(self, kind: str) -> None:
        """A loop whose threads run an operation in one of two iterations each."""
        p = self.test()
        self.labels += 1
        now, mine, label = f"%now{self.labels}", f"%mine{self.labels}", f"I{self.labels}"
        self.lines.append(f".reg .b32 {now}, {mine}; mov.u32 {now}, 0; selp.u32 {mine}, 1, 0, {p};")
        self.lines.append(f"{label}: setp.ne.u32 %p5, {now}, {mine}; @%p5 bra {label}N;")
        self.work()
        self.collective(kind)
        self.lines.append(f"{label}N: add.u32 {now}, {now}, 1; setp.lt.u32 %p5, {now}, 2; @%p5 bra {label};")

    def block(self, kinds: list[str], depth: int) -> None:
        """Code that runs the operations."""
        self.work()
        if not kinds:
            return
        if depth == 0 or self.random.random() < 0.3:
            way = self.random.random() if self.apart else 1
            if way < 0.45:
                self.guarded(kinds[0])
            elif way < 0.6 and depth == self.deepest:
                self.iterations(kinds[0])
            else:
                self.collective(kinds[0])
            self.block(kinds[1:], depth)
            return
        cut = self.random.randint(1, len(kinds))
        self.labels += 2
        other, end = f"B{self.labels}", f"B{self.labels + 1}"
        self.lines.append(
            f"and.b32 %r11, {self.register()}, {self.random.choice((1, 2, 4))}; setp.ne.u32 %p4, %r11, 0; @%p4 bra {other};"
        )
        self.block(kinds[:cut], depth - 1)
        self.lines.append(f"bra {end}; {other}:")
        self.block(kinds[:cut], depth - 1)
        self.lines.append(f"{end}:")
        self.block(kinds[cut:], depth - 1)

    def text(self, arch: str) -> str:
        first = [f"mad.lo.u32 %r{n}, %r2, {n}, %r1;" for n in REGISTERS if n > 2]
        last = [f"mad.lo.u32 %r5, %r5, 31, %r{n};" for n in REGISTERS]
        return HEAD.format(arch=arch) + "\n".join([*first, *self.lines, *last]) + TAIL


def results(cubin: bytes) -> list[int]:
    return run(load(cubin))


def run(image: Image | PtxImage) -> list[int]:
    data = np.random.default_rng(7).integers(0, 100, 96).astype(np.uint32)
    out = np.zeros(96, np.uint32)
    image.launch("k", 1, 32, [out, data])
    return [int(x) for x in out[:32]]


def check(number: int, arch: str, folder: Path, apart: bool) -> None:
    text = Program(number, apart).text(arch)
    want = run(PtxImage(parse(text, "k.ptx"), arch))
    if not apart:
        (folder / "k.ptx").write_text(text)
        theirs = compile_or_none(folder / "k.ptx", arch, [], folder)
        assert theirs is not None
        assert results(theirs) == want, (number, arch, "ptxas")
    for level in (0, 1, 3):
        got = results(orias.compile(text, arch=arch, opt_level=level, self_check=True).data)
        assert got == want, (number, arch, level, apart)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("number", "apart"), [(397, False), (364, True)])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_some(arch: str, number: int, apart: bool, tmp_path: Path) -> None:
    check(number, arch, tmp_path, apart)


@pytest.mark.sweep
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", *LATER])
def test_more(arch: str, apart: bool, tmp_path: Path) -> None:
    for number in rotating(range(3, 1_000_000), 8, f"sides {arch} {apart}"):
        check(number, arch, tmp_path, apart)
