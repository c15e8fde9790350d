"""Collectives that threads of a warp run at places that are not the sides of one branch: under guards, before a return, in other iterations."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from orias.tools.validate.verify_compile import verify
from tests.device import load
from tests.oracle import compile_or_none
from tests.rotation import with_later
from tests.sync.test_meeting_places import CASES as MORE
from tests.sync.test_meeting_places import HEAD, TAIL, M, Values, exchange, sides

Case = tuple[str, int, Callable[[Values], Values]]


def pairs(v: Values) -> Values:
    """Odd values read what the next lane has, even ones the lane after it."""
    return exchange([x if x & 1 else i for i, x in enumerate(v)], [i ^ 1 if x & 1 else i ^ 2 for i, x in enumerate(v)])


def by_kind(v: Values) -> Values:
    return exchange([x + 100 * (x % 3) for x in v], [i ^ 5 for i in range(32)])


def nested(v: Values) -> Values:
    return exchange([x + 7 if x & 1 else x + 1 if x < 50 else x + 2 for x in v], [i ^ 3 for i in range(32)])


def ballot(v: Values) -> Values:
    return [sum((x < 30 if x & 1 else x > 50) << i for i, x in enumerate(v))] * 32


def rounds(v: Values) -> Values:
    now = list(v)
    for _ in range(3):
        now = [x + g for x, g in zip(v, exchange(now, [i ^ 1 for i in range(32)]), strict=True)]
    return now


def once(v: Values) -> Values:
    return exchange([x + (x & 1) for x in v], [i ^ 3 for i in range(32)])


A = "shfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;"
B = "shfl.sync.bfly.b32 %r5, %r1, 2, 31, -1;"
SHARED = """.shared .align 4 .b8 words[128]; mov.u64 %rd3, words; cvt.u32.u64 %r8, %rd3; shl.b32 %r7, %r1, 2;
    add.u32 %r7, %r7, %r8; xor.b32 %r9, %r7, 4; st.shared.u32 [%r7], %r2; {} ld.shared.u32 %r5, [%r9];"""
ITERATIONS = """mov.u32 %r7, 0; sub.u32 %r11, {}, 3;
L:  and.b32 %r8, %r7, 1; setp.ne.u32 %p2, %r8, %r3; add.u32 %r9, %r2, %r7;
    {}
    add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r11; @%p3 bra L;"""
EXCHANGE = "shfl.sync.bfly.b32 %r5, %r9, 3, 31, -1;"
COUNT = "ld.global.u32 %r10, [%rd2+128];" + ITERATIONS

CASES: dict[str, Case] = {
    "guards": (f"@%p1 {A} @!%p1 {B}", 75, pairs),
    "guards by two comparisons": (f"setp.ne.u32 %p2, %r3, 1; @%p1 {A} @%p2 {B}", 75, pairs),
    "guards by not": (f"not.pred %p2, %p1; @%p1 {A} @%p2 {B}", 75, pairs),
    "guards by and": (
        f"setp.lt.u32 %p3, %r1, 32; and.pred %p2, %p1, %p3; setp.eq.and.u32 %p4, %r3, 0, %p3; @%p2 {A} @%p4 {B}",
        75,
        pairs,
    ),
    "a guard and a branch": (f"@%p1 {A} @%p1 bra L; mov.u32 %r5, 3; {B} L:", 75, pairs),
    "branches one after the other": (
        f"@!%p1 bra L; {A} L: ld.global.u32 %r4, [%rd2+128]; @%p1 bra N; {B} N:",
        75,
        pairs,
    ),
    "cases of a switch": (
        """rem.u32 %r7, %r2, 3; setp.eq.u32 %p2, %r7, 0; setp.eq.u32 %p3, %r7, 1; setp.eq.u32 %p4, %r7, 2;
        @%p2 shfl.sync.bfly.b32 %r5, %r2, 5, 31, -1; add.u32 %r6, %r2, 100;
        @%p3 shfl.sync.bfly.b32 %r5, %r6, 5, 31, -1; add.u32 %r6, %r2, 200;
        @%p4 shfl.sync.bfly.b32 %r5, %r6, 5, 31, -1;""",
        75,
        by_kind,
    ),
    "guards on a side": (
        sides(
            """setp.lt.u32 %p2, %r2, 50; add.u32 %r4, %r2, 1; @%p2 shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1;
            add.u32 %r4, %r2, 2; @!%p2 shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1;""",
            "add.u32 %r4, %r2, 7; shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1;",
        ),
        75,
        nested,
    ),
    "ballots": (
        """setp.gt.u32 %p2, %r2, 50; setp.lt.u32 %p3, %r2, 30;
        @%p1 vote.sync.ballot.b32 %r5, %p3, -1; @!%p1 vote.sync.ballot.b32 %r5, %p2, -1;""",
        75,
        ballot,
    ),
    "votes": (
        """setp.gt.u32 %p2, %r2, 98; setp.lt.u32 %p3, %r2, 0;
        @%p1 vote.sync.any.pred %p4, %p3, -1; @!%p1 vote.sync.any.pred %p4, !%p2, -1; selp.u32 %r5, 1, 0, %p4;""",
        75,
        lambda v: [1] * 32,
    ),
    "sums": (
        "@%p1 redux.sync.add.u32 %r5, %r2, -1; @!%p1 redux.sync.add.u32 %r5, %r1, -1;",
        80,
        lambda v: [sum(x if x & 1 else i for i, x in enumerate(v))] * 32,
    ),
    "a match of all": (
        "mov.u32 %r4, 3; @%p1 match.all.sync.b32 %r5|%p4, %r4, -1; @!%p1 match.all.sync.b32 %r5, %r4, -1;",
        75,
        lambda v: [M] * 32,
    ),
    "an election": (
        "@%p1 elect.sync %r6|%p4, -1; @!%p1 elect.sync %r6|%p4, -1; vote.sync.ballot.b32 %r6, %p4, -1; popc.b32 %r5, %r6;",
        90,
        lambda v: [1] * 32,
    ),
    "barriers of the warp": (
        SHARED.format("@%p1 bar.warp.sync -1; @!%p1 bar.warp.sync -1;"),
        75,
        lambda v: exchange(v, [i ^ 1 for i in range(32)]),
    ),
    "barriers of the block": (
        SHARED.format("@%p1 barrier.sync 0; @!%p1 barrier.sync 0;"),
        75,
        lambda v: exchange(v, [i ^ 1 for i in range(32)]),
    ),
    "a loop": (
        """mov.u32 %r7, 0; mov.u32 %r6, %r2;
    L:  @%p1 shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1; @!%p1 shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1;
        add.u32 %r6, %r5, %r2; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 3; @%p2 bra L; mov.u32 %r5, %r6;""",
        75,
        rounds,
    ),
    "halves": (
        """mov.u32 %r10, 0xffff; setp.gt.u32 %p5, %r1, 15; @%p5 mov.u32 %r10, 0xffff0000;
        @%p1 shfl.sync.bfly.b32 %r5, %r2, 15, 31, %r10; @!%p1 shfl.sync.bfly.b32 %r5, %r2, 15, 31, %r10;""",
        75,
        lambda v: exchange(v, [i ^ 15 for i in range(32)]),
    ),
    "iterations": (COUNT.format("%r10", f"@%p2 bra S; {EXCHANGE} S:"), 75, once),
    "iterations under a guard": (COUNT.format("%r10", f"@!%p2 {EXCHANGE}"), 75, once),
    "two iterations": (ITERATIONS.format("5", f"@%p2 bra S; {EXCHANGE} S:"), 75, once),
}


def check(launch: Callable[..., object], want: Callable[[Values], Values]) -> None:
    v = [int(x) for x in np.random.default_rng(5).integers(0, 100, 32)]
    data = np.array([*v, *[5] * 32, *[7] * 32], np.uint32)
    out = np.zeros(96, np.uint32)
    launch("k", 1, 32, [out, data])
    assert out[:32].tolist() == [x & M for x in want(v)]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "threads apart"))
@pytest.mark.parametrize("name", CASES)
def test_threads_meet(name: str, arch: str) -> None:
    body, least, want = CASES[name]
    if int(arch[3:].rstrip("af")) < least:
        pytest.skip(f"the operation needs sm_{least}")
    text = HEAD.format(arch=arch) + body + TAIL
    for level in (0, 3):
        check(load(orias.compile(text, arch=arch, opt_level=level, self_check=True).data).launch, want)


@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_of_ptx(name: str) -> None:
    body, _, want = CASES[name]
    check(PtxImage(parse(HEAD.format(arch="sm_90") + body + TAIL, "k.ptx"), "sm_90").launch, want)


@pytest.mark.parametrize("level", [0, 3])
def test_ptxas_waits_for_ever(level: int, tmp_path: Path) -> None:
    """It sends threads to WARPSYNC.COLLECTIVE from both guarded operations, but keeps a BSYNC in between, where the others wait."""
    (tmp_path / "k.ptx").write_text(HEAD.format(arch="sm_90") + CASES["guards"][0] + TAIL)
    theirs = compile_or_none(tmp_path / "k.ptx", "sm_90", [f"-O{level}"], tmp_path)
    assert theirs is not None
    with pytest.raises(sim.SimError, match=r"no thread can run; waiting: .* BSYNC B0"):
        check(load(theirs).launch, pairs)


def test_other_operations_do_not_meet() -> None:
    """A shuffle up and one down are different operations: their threads wait for ever."""
    body = sides("shfl.sync.up.b32 %r5, %r2, 1, 0, -1;", "shfl.sync.down.b32 %r5, %r2, 1, 31, -1;")
    with pytest.raises(sim.SimError, match=r"waiting: \d+ at .*shfl.sync.up.b32; \d+ at .*shfl.sync.down.b32"):
        check(PtxImage(parse(HEAD.format(arch="sm_90") + body + TAIL, "k.ptx"), "sm_90").launch, pairs)


def test_what_separates_them() -> None:
    """Guarded operations with a barrier of the block in between, and those whose conditions may both hold, are not made one."""
    separate = f"@%p1 {A} bar.sync 0; @!%p1 {B}"
    other = f"setp.lt.u32 %p2, %r1, 7; @%p1 {A} @%p2 {B}"
    for body in (separate, other):
        listing = orias.compile(HEAD.format(arch="sm_90") + body + TAIL, arch="sm_90").disassemble()
        assert listing.count("SHFL.BFLY") == 2
        assert "WARPSYNC" not in listing


ONE_WARP = {"halves", "iterations", "iterations under a guard", "loads and stores around"}
"""Programs with masks of threads 0 to 31, with counts of iterations in memory, and whose warps write to the same place."""


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("name", sorted({*CASES, *MORE} - ONE_WARP))
def test_every_phase(name: str) -> None:
    """Ori before the places are made, and after."""
    body, _, _ = {**CASES, **MORE}[name]
    report = verify(HEAD.format(arch="sm_90") + body + TAIL, Options("sm_90", 3), 1)
    assert [f.text() for f in report.findings] == []
    assert report.cases == 1
