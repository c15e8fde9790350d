"""Planted faults: what :mod:`tests.check.plant` calls harmful, the checker finds."""

import random
from collections import Counter
from pathlib import Path

import pytest

from orias.check import check_cubin
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from orias.target.profile import profile_of_sm
from tests.check.plant import KINDS, Planter, patched, sections
from tests.corpus.test_corpus import FILES, NO_CORPUS
from tests.oracle import compile_or_none

PROGRAMS = sorted((Path(__file__).parents[1] / "kernels" / "ptx").glob("*.ptx"))
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
LARGEST = 16 * 700
"""Bytes of the largest function that is used: each fault is one run of the checker."""


def plant(files: list[Path], arch: str, wanted: int, each: int, work: Path) -> tuple[Counter[str], list[str]]:
    """Plant faults in what ptxas makes of the files: how many by kind, and those that the checker missed."""
    rng = random.Random(arch)
    rng.shuffle(files)
    planted: Counter[str] = Counter()
    missed: list[str] = []
    for path in files:
        data = compile_or_none(path, arch, ["-O3"], work)
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


@pytest.mark.parametrize("arch", ARCHES)
def test_sample(arch: str, tmp_path: Path) -> None:
    planted, missed = plant(list(PROGRAMS), arch, 24, 2, tmp_path)
    assert planted.total() == 24
    assert not missed


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("arch", ARCHES)
def test_corpus(arch: str, tmp_path: Path) -> None:
    """At least 99 of 100 harmful faults."""
    files = [f for f in FILES if f.stat().st_size < 100_000]
    planted, missed = plant(files, arch, 250, 4, tmp_path)
    assert planted.total() == 250 and len(planted) == len(KINDS)
    assert len(missed) * 100 <= planted.total(), missed
