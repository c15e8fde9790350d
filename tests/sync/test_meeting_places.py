"""Collectives on several sides of a divergent branch: all threads of the mask exchange, wherever they are, as PTX says."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from orias.sim.ptx.choice import CANONICAL
from tests.device import load
from tests.oracle import compile_or_none
from tests.rotation import with_later

HEAD = """\
.version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{{
    .reg .b64 %rd<4>;
    .reg .b32 %r<20>;
    .reg .pred %p<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd2];
    mov.u32 %r5, 77;
    and.b32 %r3, %r2, 1;
    setp.eq.u32 %p1, %r3, 1;
"""
TAIL = """
    st.global.u32 [%rd1], %r5;
    ret;
}
"""
SIDES = "    @%p1 bra B;\n    {}\n    bra E;\nB:\n    {}\nE:"

Values = list[int]
Case = tuple[str, int, Callable[[Values], Values]]
M = 0xFFFFFFFF


def sides(a: str, b: str) -> str:
    """Code that even values run, and code for odd ones."""
    return SIDES.format(a, b)


def exchange(values: Values, partner: Values) -> Values:
    return [values[p] for p in partner]


def shuffles(v: Values) -> Values:
    got = exchange([3 * x if x & 1 else x + 7 for x in v], [i ^ 2 if v[i] & 1 else i ^ 1 for i in range(32)])
    return [g + x if x & 1 else g * x for g, x in zip(got, v, strict=True)]


def butterflies(v: Values) -> Values:
    total = sum(2 * x + 1 if x & 1 else x for x in v)
    return [total + 5 if x & 1 else total for x in v]


def ballots(v: Values) -> Values:
    mask = sum((x < 30 if x & 1 else x > 50) << i for i, x in enumerate(v))
    return [mask ^ 1 if x & 1 else mask for x in v]


def matches(v: Values) -> Values:
    keys = [x + 1 & 3 if x & 1 else x & 3 for x in v]
    return [sum((k == key) << i for i, k in enumerate(keys)) for key in keys]


def thirds(v: Values) -> Values:
    """Three sides: odd values, even ones below 50, the others."""
    kind = [0 if x & 1 else 1 if x < 50 else 2 for x in v]
    mine = [(x, 2 * x, x + 9)[k] for x, k in zip(v, kind, strict=True)]
    got = exchange(mine, [i ^ 3 for i in range(32)])
    return [g + k for g, k in zip(got, kind, strict=True)]


def rounds(v: Values) -> Values:
    now = list(v)
    for _ in range(3):
        now = [
            x + g
            for x, g in zip(
                v,
                exchange([n * 3 if x & 1 else n for n, x in zip(now, v, strict=True)], [i ^ 4 for i in range(32)]),
                strict=True,
            )
        ]
    return now


def halves(v: Values) -> Values:
    """Lanes exchange within their half of the warp only."""
    return exchange([x + 1 if x & 1 else x + 2 for x in v], [i ^ 15 for i in range(32)])


def without_some(v: Values) -> Values:
    """Lanes 0 to 3 have ended."""
    mask = sum((x > 20) << i for i, x in enumerate(v) if i > 3)
    return [0 if i < 4 else mask + (x & 1) for i, x in enumerate(v)]


def sums_of_sums(v: Values) -> Values:
    total = sum(x + (x & 1) for x in v)
    most = max(total + (i if x & 1 else x) for i, x in enumerate(v))
    return [most - i if x & 1 else most + x for i, x in enumerate(v)]


def fives(v: Values) -> Values:
    got = exchange([x - 5 if x & 1 else x + 5 for x in v], [i ^ 3 for i in range(32)])
    return [g - 5 if x & 1 else g + 5 for g, x in zip(got, v, strict=True)]


def returned(v: Values) -> Values:
    got = exchange([x if x & 1 else x + 7 for x in v], [i ^ 3 for i in range(32)])
    return [g + (x & 1) for g, x in zip(got, v, strict=True)]


def butterfly(x: str) -> str:
    return "\n".join(f"shfl.sync.bfly.b32 %r6, {x}, {k}, 31, -1; add.u32 {x}, {x}, %r6;" for k in (16, 8, 4, 2, 1))


HINTED = "ld.global.L2::cache_hint.u32 %r{}, [%rd2+128], %rd4;"
LOOP = "mov.u32 %r7, 0; mov.u32 %r6, %r2; L{0}: {1} shfl.sync.bfly.b32 %r8, %r9, 4, 31, -1; add.u32 %r6, %r2, %r8; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 3; @%p2 bra L{0}; mov.u32 %r5, %r6;"

CASES: dict[str, Case] = {
    "shuffles": (
        sides(
            "add.u32 %r4, %r2, 7; shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1; mul.lo.u32 %r5, %r6, %r2;",
            "mul.lo.u32 %r4, %r2, 3; shfl.sync.bfly.b32 %r6, %r4, 2, 31, -1; add.u32 %r5, %r6, %r2;",
        ),
        75,
        shuffles,
    ),
    "butterflies": (
        sides(
            "mov.u32 %r4, %r2;" + butterfly("%r4") + "mov.u32 %r5, %r4;",
            "mad.lo.u32 %r4, %r2, 2, 1;" + butterfly("%r4") + "add.u32 %r5, %r4, 5;",
        ),
        75,
        butterflies,
    ),
    "ballots": (
        sides(
            "setp.gt.u32 %p2, %r2, 50; vote.sync.ballot.b32 %r5, %p2, -1;",
            "setp.lt.u32 %p3, %r2, 30; vote.sync.ballot.b32 %r5, %p3, -1; xor.b32 %r5, %r5, 1;",
        ),
        75,
        ballots,
    ),
    "all of them": (
        sides(
            "setp.lt.u32 %p2, %r2, 100; vote.sync.all.pred %p4, %p2, -1; selp.u32 %r5, 5, 6, %p4;",
            "setp.lt.u32 %p3, %r2, 99; vote.sync.all.pred %p4, !%p3, -1; selp.u32 %r5, 7, 8, %p4;",
        ),
        75,
        lambda v: [8 if x & 1 else 6 for x in v],
    ),
    "matches": (
        sides(
            "and.b32 %r4, %r2, 3; match.any.sync.b32 %r5, %r4, -1;",
            "add.u32 %r4, %r2, 1; and.b32 %r4, %r4, 3; match.any.sync.b32 %r5, %r4, -1;",
        ),
        75,
        matches,
    ),
    "a match of all": (
        sides(
            "mov.u32 %r4, 3; match.all.sync.b32 %r6|%p4, %r4, -1; selp.u32 %r5, %r6, 1, %p4;",
            "mov.u32 %r4, 3; match.all.sync.b32 %r6|%p4, %r4, -1; selp.u32 %r5, %r6, 2, %p4;",
        ),
        75,
        lambda v: [M] * 32,
    ),
    "a match of some": (
        sides(
            "mov.u32 %r4, 3; match.all.sync.b32 %r6|%p4, %r4, -1; selp.u32 %r5, %r6, 1, %p4;",
            "mov.u32 %r4, 4; match.all.sync.b32 %r6|%p4, %r4, -1; selp.u32 %r5, %r6, 2, %p4;",
        ),
        75,
        lambda v: [2 if x & 1 else 1 for x in v],
    ),
    "sums": (
        sides("redux.sync.add.u32 %r5, %r2, -1;", "add.u32 %r4, %r2, 1; redux.sync.add.u32 %r5, %r4, -1;"),
        80,
        lambda v: [sum(x + (x & 1) for x in v)] * 32,
    ),
    "an election": (
        sides(
            "elect.sync %r6|%p4, -1; selp.u32 %r5, 1, 0, %p4;",
            "elect.sync %r6|%p4, -1; selp.u32 %r5, 1, 0, %p4;",
        )
        + " vote.sync.ballot.b32 %r6, %p4, -1; popc.b32 %r5, %r6;",
        90,
        lambda v: [1] * 32,
    ),
    "a lane and its validity": (
        sides(
            "shfl.sync.up.b32 %r6|%p4, %r2, 1, 0, -1; selp.u32 %r5, %r6, 900, %p4;",
            "shfl.sync.up.b32 %r6|%p4, %r2, 3, 0, -1; selp.u32 %r5, %r6, 900, %p4;",
        ),
        75,
        lambda v: [v[i - d] if i >= (d := 3 if x & 1 else 1) else 900 for i, x in enumerate(v)],
    ),
    "three sides": (
        sides(
            "setp.lt.u32 %p2, %r2, 50; @!%p2 bra C;"
            "add.u32 %r4, %r2, %r2; shfl.sync.bfly.b32 %r6, %r4, 3, 31, -1; add.u32 %r5, %r6, 1; bra E;"
            "C: add.u32 %r4, %r2, 9; shfl.sync.bfly.b32 %r6, %r4, 3, 31, -1; add.u32 %r5, %r6, 2;",
            "shfl.sync.bfly.b32 %r5, %r2, 3, 31, -1;",
        ),
        75,
        thirds,
    ),
    "loops": (sides(LOOP.format(1, "mov.u32 %r9, %r6;"), LOOP.format(2, "mul.lo.u32 %r9, %r6, 3;")), 75, rounds),
    "halves": (
        "mov.u32 %r10, 0xffff; setp.gt.u32 %p5, %r1, 15; @%p5 mov.u32 %r10, 0xffff0000;"
        + sides(
            "add.u32 %r4, %r2, 2; shfl.sync.bfly.b32 %r5, %r4, 15, 31, %r10;",
            "add.u32 %r4, %r2, 1; shfl.sync.bfly.b32 %r5, %r4, 15, 31, %r10;",
        ),
        75,
        halves,
    ),
    "some have ended": (
        "setp.gt.u32 %p2, %r2, 20; setp.lt.u32 %p5, %r1, 4; @%p5 exit;"
        + sides(
            "vote.sync.ballot.b32 %r5, %p2, -1;",
            "vote.sync.ballot.b32 %r5, %p2, -1; add.u32 %r5, %r5, 1;",
        ),
        75,
        without_some,
    ),
    "two operations": (
        sides(
            "shfl.sync.bfly.b32 %r6, %r2, 1, 31, -1; setp.gt.u32 %p2, %r6, 50; vote.sync.ballot.b32 %r5, %p2, -1;",
            "shfl.sync.bfly.b32 %r6, %r2, 1, 31, -1; setp.gt.u32 %p2, %r6, 50; vote.sync.ballot.b32 %r5, %p2, -1;",
        ),
        75,
        lambda v: [sum((v[i ^ 1] > 50) << i for i in range(32))] * 32,
    ),
    "sums that sums follow": (
        sides(
            "redux.sync.add.u32 %r5, %r2, -1; add.u32 %r5, %r5, %r2; redux.sync.max.u32 %r6, %r5, -1; add.u32 %r5, %r6, %r2;",
            "add.u32 %r4, %r2, 1; redux.sync.add.u32 %r5, %r4, -1; add.u32 %r5, %r5, %r1; redux.sync.max.u32 %r6, %r5, -1; sub.u32 %r5, %r6, %r1;",
        ),
        80,
        sums_of_sums,
    ),
    "a policy in uniform registers": (
        ".reg .b64 %rd4; ld.param.u64 %rd4, [in]; ld.global.u64 %rd4, [%rd4+128];"
        + sides(
            f"{HINTED.format(7)} add.u32 %r4, %r2, %r7; shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1; {HINTED.format(8)} add.u32 %r5, %r5, %r8;",
            f"{HINTED.format(7)} sub.u32 %r4, %r2, %r7; shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1; {HINTED.format(8)} sub.u32 %r5, %r5, %r8;",
        ),
        80,
        fives,
    ),
    "before a return and after it": (
        "@%p1 bra B; add.u32 %r4, %r2, 7; shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1; st.global.u32 [%rd1], %r5; ret;"
        "B: shfl.sync.bfly.b32 %r5, %r2, 3, 31, -1; add.u32 %r5, %r5, 1;",
        75,
        returned,
    ),
    "before an exit and after it": (
        "@%p1 bra B; add.u32 %r4, %r2, 7; shfl.sync.bfly.b32 %r5, %r4, 3, 31, -1; st.global.u32 [%rd1], %r5; exit;"
        "B: shfl.sync.bfly.b32 %r5, %r2, 3, 31, -1; add.u32 %r5, %r5, 1; barrier.sync 0;",
        75,
        returned,
    ),
    "loads and stores around": (
        sides(
            "ld.global.u32 %r7, [%rd2+128]; add.u32 %r4, %r2, %r7; shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1; st.global.u32 [%rd1+128], %r6; ld.global.u32 %r5, [%rd2+128]; add.u32 %r5, %r5, %r6;",
            "ld.global.u32 %r7, [%rd2+256]; add.u32 %r4, %r2, %r7; shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1; st.global.u32 [%rd1+256], %r6; ld.global.u32 %r5, [%rd2+256]; add.u32 %r5, %r5, %r6;",
        ),
        75,
        lambda v: [
            g + (7 if x & 1 else 5)
            for g, x in zip(exchange([x + (7 if x & 1 else 5) for x in v], [i ^ 1 for i in range(32)]), v, strict=True)
        ],
    ),
}


def check(cubin: bytes, want: Callable[[Values], Values]) -> None:
    judge(load(cubin).launch, want)


def judge(launch: Callable[..., object], want: Callable[[Values], Values]) -> None:
    v = [int(x) for x in np.random.default_rng(5).integers(0, 100, 32)]
    data = np.array([*v, *[5] * 32, *[7] * 32], np.uint32)
    out = np.zeros(96, np.uint32)
    launch("k", 1, 32, [out, data])
    assert out[:32].tolist() == [x & M for x in want(v)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "meeting places"))
@pytest.mark.parametrize("name", CASES)
def test_sides_exchange(name: str, arch: str, tmp_path: Path) -> None:
    body, least, want = CASES[name]
    if int(arch[3:].rstrip("af")) < least:
        pytest.skip(f"the operation needs sm_{least}")
    text = HEAD.format(arch=arch) + body + TAIL
    for level in (0, 3):
        check(orias.compile(text, arch=arch, opt_level=level, self_check=True).data, want)
    (tmp_path / "k.ptx").write_text(text)
    theirs = compile_or_none(tmp_path / "k.ptx", arch, [f"-O{3 * (list(CASES).index(name) % 2)}"], tmp_path)
    assert theirs is not None
    check(theirs, want)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_of_ptx(name: str) -> None:
    """All threads together, and one after the other."""
    body, _, want = CASES[name]
    module = parse(HEAD.format(arch="sm_90") + body + TAIL, "k.ptx")
    for serial in (False, True):
        judge(PtxImage(module, "sm_90", CANONICAL._replace(serial=serial)).launch, want)


CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait; add.u32 %r5, %r2, 3;"


def test_collectives_of_the_whole_warp(tmp_path: Path) -> None:
    """ptxas -O0 brings threads together for cluster barriers with WARPSYNC.COLLECTIVE.ALL."""
    (tmp_path / "k.ptx").write_text(HEAD.format(arch="sm_90") + CLUSTER + TAIL)
    theirs = compile_or_none(tmp_path / "k.ptx", "sm_90", ["-O0"], tmp_path)
    assert theirs is not None
    check(theirs, lambda v: [x + 3 for x in v])
