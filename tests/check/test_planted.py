"""Planted faults: what :mod:`tests.check.plant` calls harmful, the checker finds, in ptxas's code and in ours."""

import random
from collections import Counter
from pathlib import Path

import pytest

import orias
from orias.check import check_cubin
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from orias.target.profile import profile_of_sm
from orias.tools.fuzz.generate import generate
from tests.check.one_word import HARMFUL, HARMLESS
from tests.check.plant import KINDS, Planter, patched, sections
from tests.corpus.test_corpus import FILES, NO_CORPUS
from tests.oracle import compile_or_none
from tools.judge.hazards import words

PROGRAMS = sorted((Path(__file__).parents[1] / "kernels" / "ptx").glob("*.ptx"))
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
LATER = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
LARGEST = 16 * 700
"""Bytes of the largest function that is used: each fault is one run of the checker."""


def plant(
    files: list[Path], arch: str, wanted: int, each: int, work: Path, ours: bool = False
) -> tuple[Counter[str], list[str]]:
    """Plant faults in what ptxas, or Orias, makes of the files: how many by kind, and those that the checker missed."""
    rng = random.Random(arch)
    rng.shuffle(files)
    planted: Counter[str] = Counter()
    missed: list[str] = []
    for path in files:
        data = _ours(path, arch) if ours else compile_or_none(path, arch, ["-O3"], work)
        if data is None:
            continue
        sm = Reader(data).sm
        for index, offset, code in sections(data):
            if len(code) > LARGEST:
                continue
            for fault in Planter(index, code, load(table_of_sm(sm)), profile_of_sm(sm).latency_class).some(rng, each):
                planted[fault.kind] += 1
                if not any(h.rule != "unknown" for h in check_cubin(patched(data, offset, fault))):
                    missed.append(f"{path.name}: {fault.kind} {fault.note} at {[hex(a) for a in fault.words]}")
                if planted.total() == wanted:
                    return planted, missed
    return planted, missed


def _ours(path: Path, arch: str) -> bytes | None:
    try:
        return orias.compile(path.read_text(), arch=arch).data
    except orias.CompileError:
        return None


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
def test_sample(arch: str, tmp_path: Path) -> None:
    planted, missed = plant(list(PROGRAMS), arch, 24, 2, tmp_path)
    assert planted.total() == 24
    assert not missed


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", LATER)
def test_sample_ours(arch: str, tmp_path: Path) -> None:
    planted, missed = plant(list(PROGRAMS), arch, 24, 3, tmp_path, ours=True)
    assert planted.total() == 24
    assert not missed


def one_word(data: bytes, each: int, seed: str) -> tuple[Counter[str], list[str]]:
    """Control words of a cubin changed one at a time: verdicts, and where the checker answers otherwise."""
    found = words(data, random.Random(seed), 10_000, each, 700)
    return Counter(found["counts"]), found["missed"]


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("arch", sorted({*ARCHES, *LATER}))
def test_one_word_at_a_time(arch: str, ours: bool, tmp_path: Path) -> None:
    """Every harmful change of a field is found, and none that every path proves harmless."""
    counts: Counter[str] = Counter()
    for path in random.Random(arch).sample(PROGRAMS, 3):
        data = _ours(path, arch) if ours else compile_or_none(path, arch, ["-O3"], tmp_path)
        if data is not None:
            more, missed = one_word(data, 5, path.name)
            assert not missed, path.name
            counts += more
    assert sum(n for k, n in counts.items() if f" {HARMFUL} " in k) > 15
    assert sum(n for k, n in counts.items() if f" {HARMLESS} " in k) > 15


@pytest.mark.sweep
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("arch", LATER)
def test_random_programs(arch: str, ours: bool, tmp_path: Path) -> None:
    """At least 49 of 50 faults, in programs with all that is new on these targets, and no finding without a fault.

    A few of the planted ones do no harm: a wait for a later operation of the same queue covers a dropped one, and ptxas
    was seen to leave some of the shortened distances.
    """
    files = []
    for seed in range(900, 920):
        files.append(tmp_path / f"{seed}.ptx")
        files[-1].write_text(generate(seed, 30, arch))
        data = _ours(files[-1], arch) if ours else compile_or_none(files[-1], arch, ["-O3"], tmp_path)
        assert data is not None and not [h.line() for h in check_cubin(data)]
    planted, missed = plant(files, arch, 250, 4, tmp_path, ours)
    assert planted.total() == 250 and len(planted) == len(KINDS)
    assert len(missed) * 50 <= planted.total(), missed


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("arch", ARCHES)
def test_corpus(arch: str, tmp_path: Path) -> None:
    """At least 99 of 100 harmful faults."""
    files = [f for f in FILES if f.stat().st_size < 100_000]
    planted, missed = plant(files, arch, 250, 4, tmp_path)
    assert planted.total() == 250 and len(planted) == len(KINDS)
    assert len(missed) * 100 <= planted.total(), missed
