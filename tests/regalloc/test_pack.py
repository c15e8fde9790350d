"""Packing: kernels get about as many registers as their fullest point needs words, however many aligned tuples there are."""

import random

import pytest

from orias.isa.operand import K_R
from orias.ori.text import parse
from orias.regalloc.allocate import Assignment, allocate
from orias.regalloc.coalesce import coalesce
from orias.regalloc.files import FILES, usable
from orias.regalloc.pack import pack_registers
from orias.regalloc.pressure import Pressure
from orias.regalloc.ranges import Ranges
from orias.regalloc.register_allocation import prepare
from orias.target.register_steps import STEPS, SYSTEM_REGISTERS, step_of


def tuples_and_words(rng: random.Random, length: int, few: int = 20, many: int = 44) -> str:
    """A straight kernel in which quads, pairs and words of all lengths of life overlap: at least `few` of them, up to `many`."""
    code = ["  v256:R = S2R SR_TID.X"]
    live: list[tuple[int, int]] = []
    number = 257
    for _ in range(length):
        if len(live) < few or (len(live) < many and rng.random() < 0.5):
            width = rng.choice((1, 1, 1, 2, 4))
            name, kind = {1: ("LDS", "R"), 2: ("LDS.64", "R2"), 4: ("LDS.128", "R4")}[width]
            code.append(f"  v{number}:{kind} = {name} -, v256, URZ, 0x{16 * number % 4096:x}")
            live.append((number, width))
            number += 1
        else:
            v, width = live.pop(rng.randrange(min(len(live), rng.choice((3, many)))))
            code.append(f"  STS{ {1: '', 2: '.64', 4: '.128'}[width] } -, v256, URZ, 0x{16 * v % 4096:x}, v{v}")
    for v, width in live:
        code.append(f"  STS{ {1: '', 2: '.64', 4: '.128'}[width] } -, v256, URZ, 0x0, v{v}")
    return ".func k sm_90 entry ssa\nb0:\n" + "\n".join(code) + "\n  EXIT\n"


def test_holes_are_filled() -> None:
    lost = saved = 0
    for seed in range(6):
        fn = parse(tuples_and_words(random.Random(f"pack{seed}"), 300))
        prepare(fn)
        classes = coalesce(Ranges(fn))
        result = Assignment()
        assert all(allocate(classes, file, result) for file in FILES)
        before = result.highest[K_R]
        pack_registers(classes, result)
        need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
        high = fn.packed - 1 - SYSTEM_REGISTERS if fn.packed else result.highest[K_R]
        assert need <= high <= before
        saved += before - high
        lost += high - need
        # What is found stays where more warps fit with it; else the function has an estimate.
        assert result.highest[K_R] == before or step_of(
            fn.target, result.highest[K_R] + 1 + SYSTEM_REGISTERS
        ) < step_of(fn.target, before + 1 + SYSTEM_REGISTERS)
        # No two classes share a register at a point.
        taken: dict[tuple[int, int], int] = {}
        for c in classes.all():
            if c.file == K_R:
                assert c.slot % c.mod == c.phase
                for place, segs in c.words.items():
                    for s, e, _ in segs:
                        for p in range(s, e):
                            assert taken.setdefault((c.slot + place, p), id(c)) == id(c)
    assert saved >= 6
    assert lost <= 18


@pytest.mark.parametrize("seed", [4, 7, 28, 32, 54, 57])
def test_the_lowest_step_of_occupancy_is_met(seed: int) -> None:
    """One register more than the lowest step leaves free costs warps: what fits is packed below it."""
    fn = parse(tuples_and_words(random.Random(f"step{seed}"), 60, 8, 11))
    prepare(fn)
    classes = coalesce(Ranges(fn))
    result = Assignment()
    assert all(allocate(classes, file, result) for file in FILES)
    assert result.highest[K_R] + 1 + SYSTEM_REGISTERS > STEPS[0]
    pack_registers(classes, result)
    assert result.highest[K_R] + 1 + SYSTEM_REGISTERS <= STEPS[0]


def test_kernels_that_fit_all_warps_are_packed_from_sm_100_on() -> None:
    """Before sm_100 the first allocation stays, which spreads values over all registers that cost no warps."""
    saved = 0
    for seed in range(6):
        counts = []
        for arch in ("sm_90", "sm_100"):
            fn = parse(tuples_and_words(random.Random(f"small{seed}"), 60, 4, 7).replace("sm_90", arch))
            prepare(fn)
            classes = coalesce(Ranges(fn))
            result = Assignment()
            assert all(allocate(classes, file, result) for file in FILES)
            before = result.highest[K_R]
            assert before + 1 + SYSTEM_REGISTERS <= STEPS[0]
            pack_registers(classes, result)
            need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
            assert need <= result.highest[K_R] <= before
            counts.append((before, result.highest[K_R], need))
        assert counts[0][0] == counts[0][1] == counts[1][0]
        saved += counts[1][0] - counts[1][1]
    assert saved >= 6
