"""Random programs whose threads run the same collectives on different sides of branches: our code and that of ptxas give the same."""

import random
from pathlib import Path

import numpy as np
import pytest

import orias
from tests.device import load
from tests.oracle import compile_or_none
from tests.rotation import LATER, rotating
from tests.sync.test_meeting_places import HEAD, TAIL

REGISTERS = range(2, 10)
"""%r2 to %r9 hold values of the program."""


class Program:
    """Code whose every path runs the same operations, in the same order."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(f"sides {number}")
        self.lines: list[str] = []
        self.labels = 0
        kinds = ["bfly", "idx", "ballot", "any", "match", "sync"]
        self.block([self.random.choice(kinds) for _ in range(self.random.randint(2, 5))], 3)

    def register(self) -> str:
        return f"%r{self.random.choice(REGISTERS)}"

    def work(self) -> None:
        for _ in range(self.random.randint(0, 3)):
            op = self.random.choice(("add.u32", "sub.u32", "xor.b32", "mul.lo.u32", "min.u32"))
            last = self.random.choice((self.register(), str(self.random.randint(1, 99))))
            self.lines.append(f"{op} {self.register()}, {self.register()}, {last};")
        if self.random.random() < 0.3:
            self.lines.append(f"ld.global.u32 {self.register()}, [%rd2+{128 * self.random.randint(0, 2)}];")

    def collective(self, kind: str) -> None:
        a, d = self.register(), self.register()
        if kind == "bfly":
            self.lines.append(f"shfl.sync.bfly.b32 {d}, {a}, {self.random.randint(1, 31)}, 31, -1;")
        elif kind == "idx":
            self.lines.append(f"shfl.sync.idx.b32 {d}, {a}, {self.register()}, 31, -1;")
        elif kind == "match":
            self.lines.append(f"and.b32 %r10, {a}, 3; match.any.sync.b32 {d}, %r10, -1;")
        elif kind == "sync":
            self.lines.append("bar.warp.sync -1;")
        elif kind == "ballot":
            self.lines.append(f"setp.gt.u32 %p2, {a}, 50; vote.sync.ballot.b32 {d}, %p2, -1;")
        else:
            self.lines.append(f"setp.eq.u32 %p2, {a}, 50; vote.sync.any.pred %p3, !%p2, -1; selp.u32 {d}, 3, {d}, %p3;")

    def block(self, kinds: list[str], depth: int) -> None:
        """Code that runs the operations."""
        self.work()
        if not kinds:
            return
        if depth == 0 or self.random.random() < 0.3:
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
    data = np.random.default_rng(7).integers(0, 100, 96).astype(np.uint32)
    out = np.zeros(96, np.uint32)
    load(cubin).launch("k", 1, 32, [out, data])
    return [int(x) for x in out[:32]]


def check(number: int, arch: str, folder: Path) -> None:
    text = Program(number).text(arch)
    (folder / "k.ptx").write_text(text)
    theirs = compile_or_none(folder / "k.ptx", arch, [], folder)
    assert theirs is not None
    want = results(theirs)
    for level in (0, 1, 3):
        got = results(orias.compile(text, arch=arch, opt_level=level, self_check=True).data)
        assert got == want, (number, arch, level)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_some(arch: str, tmp_path: Path) -> None:
    check(397, arch, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", *LATER])
def test_more(arch: str, tmp_path: Path) -> None:
    for number in rotating(range(3, 1_000_000), 12, f"sides {arch}"):
        check(number, arch, tmp_path)
