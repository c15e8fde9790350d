"""Every opcode that the front end takes has a program, and programs of the generated families run."""

import re
from collections import defaultdict

import pytest

from orias.ptx.ast import TYPE_WORDS
from orias.ptx.opcode import split_name
from tests.asynchronous import barrier_programs, copy_programs, opcode_programs
from tests.forms import matrix_forms, wmma_forms
from tests.forms.items import items
from tests.forms.opcodes import ROWS, of_mma, of_rows, of_wmma
from tests.rotation import rotating
from tests.wgmma import forms as wgmma

IN_WGMMA = ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")
UNALIGNED = frozenset((("wgmma.fence", ("sync",)), ("wgmma.commit_group", ("sync",)), ("wgmma.wait_group", ("sync",))))
"""Opcodes that ptxas takes with a missing .aligned; the code is the same."""
ELSEWHERE = frozenset(("setmaxnreg.inc", "setmaxnreg.dec"))
"""Their effect is on registers alone: tests/asynchronous/test_setmaxnreg.py and every warp-specialised kernel."""


ORDERED = TYPE_WORDS | {"global", "shared", "shared::cta", "shared::cluster", "row", "col"}


def key(text: str) -> tuple[str, ...]:
    """An opcode without the order of its words, but of its spaces, types and layouts."""
    parts = text.split(".")
    ordered = tuple(w for w in parts if w in ORDERED)
    return (*sorted(w for w in parts if w not in ordered), *ordered)


def used(bodies: list[str]) -> set[tuple[str, ...]]:
    """Keys of the opcodes in PTX text."""
    found = set()
    for body in bodies:
        found.update(re.findall(r"(?:^|[;:\s{])([a-z]\w*(?:\.[\w:]+)+)", body))
    return {key(text) for text in found if split_name(text.split("."))}


def missing(wanted: set[str], have: set[tuple[str, ...]]) -> list[str]:
    return sorted(t for t in wanted if key(t) not in have)[:100]


@pytest.mark.sweep
def test_every_mma() -> None:
    have = used([f.body for f in matrix_forms.forms()])
    wanted = of_mma()
    assert len(wanted) > 190
    assert not missing(wanted, have)


@pytest.mark.sweep
def test_every_wmma() -> None:
    have = used([f.body for f in wmma_forms.forms()])
    wanted = of_wmma()
    assert len(wanted) > 590
    assert not missing(wanted, have)


@pytest.mark.in_turn(2)
def test_every_row() -> None:
    programs = barrier_programs.programs() + copy_programs.programs() + opcode_programs.programs()
    have = used(
        [p.body for p in programs]
        + [f.body for f in wmma_forms.transfers()]
        + [wgmma.module_text(wgmma.all_forms()[:1])]
    )
    wanted = {
        ".".join((name, *words))
        for name in ROWS
        if name not in ELSEWHERE
        for words in of_rows(name)
        if (name, tuple(w for w in words if w != "aligned")) not in UNALIGNED or "aligned" in words
    }
    assert len(wanted) > 800
    assert not missing(wanted, have)


def test_every_wgmma() -> None:
    """Types with every N, dense and sparse, A in both places; saturation with each list of integer types."""
    sizes = defaultdict(set)
    saturated = set()
    for f in wgmma.all_forms():
        sizes[f.d, f.a, f.b, f.registers, f.sparse].add(f.n)
        if f.saturate:
            saturated.add((f.a, f.b, f.registers, f.sparse))
    lists = [("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")]
    lists += [(d, a, b) for d in ("f16", "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    integers = [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
    for registers in (False, True):
        for sparse in (False, True):
            for types in lists:
                assert len(sizes[*types, registers, sparse]) == 32
            for types in integers:
                assert len(sizes[*types, registers, sparse]) == len(wgmma.INTEGER_N)
                assert (*types[1:], registers, sparse) in saturated
        assert len(sizes["s32", "b1", "b1", registers, False]) == len(wgmma.INTEGER_N)


PARTS = 4


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_generated(part: int) -> None:
    """Some of the programs that are made from the table, others every day."""
    runs = [
        (item, compiler, arch, level)
        for item in items(["opcodes"])
        for compiler in ("orias", "ptxas")
        for arch in ("sm_80", "sm_90a")
        for level in item.settings(compiler, arch)
    ]
    bad = [
        f"{i.name} {c} {a} -O{n}: {w}" for i, c, a, n in rotating(runs, 25, f"opcodes {part}") if (w := i.run(c, a, n))
    ]
    assert not bad, "\n".join(bad)
