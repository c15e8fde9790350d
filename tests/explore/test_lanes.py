"""What is known of addresses and branches without a run: against concrete values, and against runs in the simulator."""

import json
import random
from typing import Any

import pytest

pytest.importorskip("numpy", reason="numpy is not installed (pip install 'orias[sim]')")

import orias
from orias.explore.collect import of_compile, of_cubin
from orias.explore.lane_values import (
    INDEX,
    UNIFORM,
    WARP,
    Pattern,
    added,
    bitwise,
    exact,
    joined,
    multiplied,
    negated,
    pattern,
    shifted_left,
    shifted_right,
)
from orias.explore.recorded_run import Launch
from orias.options import Options
from tests.explore import programs
from tests.kernels.test_kernels import HERE, arguments, source

WORD = (1 << 32) - 1


def holds(p: Pattern, values: list[int]) -> bool:
    """Whether values of 32 threads are of a pattern."""
    if p.rows:
        return all(
            len({(v - lane) & WORD for v, lane, row in zip(values, p.lanes, p.rows, strict=True) if row == r}) == 1
            for r in set(p.rows)
        )
    rest = {(v - lane) & WORD for v, lane in zip(values, p.lanes, strict=True)}
    return len(rest) == 1 and rest.pop() % (1 << p.low) == 0


def test_patterns_hold() -> None:
    """Random computations on thread indices, constants and unknown numbers: the pattern is true of the values."""
    rng = random.Random(17)
    known = 0
    for _ in range(1200):
        unknown = rng.getrandbits(32)
        low = rng.randrange(0, 9)
        pool: list[tuple[Any, list[int]]] = [
            (pattern(5, INDEX), [(unknown >> 7 << 5) + k & WORD for k in INDEX]),
            (Pattern(32, INDEX), list(INDEX)),
            (pattern(low, UNIFORM.lanes), [unknown >> low << low] * WARP),
            (exact(c := rng.choice((1, 3, 4, 16, 24, 31, 0xFFFFFFF0, rng.getrandbits(8)))), [c] * WARP),
        ]
        for _ in range(4):
            (a, x), (b, y), (c3, z) = (rng.choice(pool) for _ in range(3))
            kind = rng.randrange(7)
            if kind == 0:
                new, got = added(a, b), [i + j & WORD for i, j in zip(x, y, strict=True)]
            elif kind == 1:
                new, got = multiplied(a, b), [i * j & WORD for i, j in zip(x, y, strict=True)]
            elif kind == 2:
                n = rng.randrange(0, 12)
                new, got = shifted_left(a, exact(n)), [i << n & WORD for i in x]
            elif kind == 3:
                n = rng.randrange(0, 12)
                new, got = shifted_right(a, exact(n)), [i >> n for i in x]
            elif kind == 4:
                new, got = negated(a), [-i & WORD for i in x]
            elif kind == 5:
                new, got = joined(a, b), rng.choice((x, y))
            else:
                table = rng.choice((0xC0, 0xFC, 0x3C, 0x96, 0xF8, rng.randrange(256)))
                new = bitwise((a, b, c3), table)
                got = [0] * WARP
                for m in range(8):
                    if table >> m & 1:
                        terms = [
                            (i if m & 4 else ~i) & (j if m & 2 else ~j) & (k if m & 1 else ~k)
                            for i, j, k in zip(x, y, z, strict=True)
                        ]
                        got = [g | t & WORD for g, t in zip(got, terms, strict=True)]
            if isinstance(new, Pattern):
                known += 1
                assert holds(new, got), (kind, a, b, c3, new, got)
            pool.append((new, got))
    assert known > 1500


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
@pytest.mark.parametrize("name", ["bitonic", "fft", "reduce"])
def test_estimates_are_what_a_run_takes(name: str, arch: str) -> None:
    """Sectors and bank turns of whole warps, as estimated and as the addresses of a run give them."""
    case = json.loads((HERE / "cases" / f"{name}.json").read_text())
    args, _ = arguments(case)
    launch = Launch(tuple(case["grid"]), tuple(case["block"]), args, case["kernel"], case["shared"])
    data, _ = of_compile([("k.ptx", source(name))], Options(arch), "", launch)
    section = next(s for s in data["sections"] if s["name"] == case["kernel"])
    sides = [x for m in section["memory"] for x in m["sides"] if x["takes"] is not None and "runs" in x]
    assert len(sides) >= 5
    assert all(x["runs"]["takes"] == pytest.approx(x["takes"], rel=0.25) for x in sides)
    assert max(row["executed"] for row in section["instructions"]) > 0


def test_branches_that_data_decides() -> None:
    """A run says how often such a branch split a warp; without one the advice says on what it depends."""
    import numpy as np

    values = np.zeros(96, np.uint32)
    values[32:64:2] = 1
    values[64:] = 1
    data, _ = of_compile(
        [("k.ptx", programs.BY_DATA)],
        Options("sm_80", 0),
        "",
        Launch((1,), (96,), [values, np.zeros(96, np.uint32), 96]),
    )
    (section,) = data["sections"]
    (at,) = [i for i, why in section["divergent"] if why == "data"]
    assert section["instructions"][at]["splits"] == [3, 1]
    (said,) = [a["text"] for a in section["advice"] if a["kind"] == "divergence" and a["instruction"] == at]
    assert "splits a warp: in the run 1 of the 3 times" in said and "loaded data" in said
    plain, _ = of_compile([("k.ptx", programs.BY_DATA)], Options("sm_80", 0))
    assert any(
        "may split a warp: its condition depends on loaded data" in a["text"] for a in plain["sections"][0]["advice"]
    )


def strided(factor: int) -> str:
    return programs.NEIGHBOURS.replace("mul.wide.u32 %d2, %r1, 4;", f"mul.wide.u32 %d2, %r1, {factor};")


@pytest.mark.parametrize(("factor", "takes"), [(4, 4), (8, 8), (32, 32), (128, 32)])
def test_distances(factor: int, takes: int) -> None:
    """Threads farther apart touch more sectors; the advice says so when it is more than the least."""
    data, _ = of_compile([("k.ptx", strided(factor))], Options("sm_80"))
    (section,) = data["sections"]
    (side,) = [x for m in section["memory"] if m["space"] == "global" for x in m["sides"]]
    assert (side["takes"], side["least"]) == (takes, 4)
    said = [a["text"] for a in section["advice"] if a["kind"] == "coalescing"]
    assert len(said) == (takes > 4) and all(f"{takes} sectors" in t for t in said)


def test_what_cannot_be_known_has_a_reason() -> None:
    """An address from memory, and rows of a length that the launch decides."""
    text = programs.UNKNOWN.replace(
        "  mov.u32 %r5, 0;\n",
        "  ld.global.u32 %r9, [%d2];\n  mul.wide.u32 %d3, %r9, 4;\n  add.s64 %d3, %d3, %d1;\n  ld.global.u32 %r5, [%d3];\n",
        1,
    )
    section = of_compile([("k.ptx", text)], Options("sm_80"))[0]["sections"][0]
    sides = [x for m in section["memory"] if m["kind"] == "load" for x in m["sides"]]
    assert [x["takes"] for x in sides] == [4, None] and "loaded data" in sides[1]["shape"]
    rows = programs.NEIGHBOURS.replace(
        "mul.wide.u32 %d2, %r1, 4;", "mul.lo.u32 %r9, %r1, %r0;\n  mul.wide.u32 %d2, %r9, 4;"
    )
    section = of_compile([("k.ptx", rows)], Options("sm_80"))[0]["sections"][0]
    (side,) = [x for m in section["memory"] if m["space"] == "global" for x in m["sides"]]
    assert side["takes"] == 32 and "row of its own" in side["shape"]


def test_divergence() -> None:
    """A branch on the thread index splits warps, one on a parameter does not, nor one that only whole warps take."""
    for text, splits in (
        (programs.LONG_ARM, 1),
        (programs.LONG_ARM.replace("setp.lt.s32 %c, %r1, %r0;", "setp.lt.s32 %c, %r0, 9;"), 0),
        (programs.LONG_ARM.replace("setp.lt.s32 %c, %r1, %r0;", "setp.lt.s32 %c, %r1, 64;"), 0),
        (programs.LONG_ARM.replace("setp.lt.s32 %c, %r1, %r0;", "setp.lt.s32 %c, %r1, 40;"), 1),
    ):
        section = of_compile([("k.ptx", text)], Options("sm_80", 1))[0]["sections"][0]
        assert len(section["divergent"]) == splits
        assert sum(a["kind"] == "divergence" for a in section["advice"]) == splits


def test_advice_on_spills() -> None:
    options = Options("sm_80")
    options.maxrregcount = 24
    section = of_compile([("k.ptx", programs.crowded(40))], options)[0]["sections"][0]
    (said,) = [a["text"] for a in section["advice"] if a["kind"] == "spills"]
    count = sum(m["space"] == "local" for m in section["memory"])
    assert said.startswith(f"{count} accesses of local memory")
    assert {a["kind"] for a in section["advice"]} <= set(
        of_cubin(orias.compile(programs.ARM, arch="sm_80").data, "k")["advice_kinds"]
    )
