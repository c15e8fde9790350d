"""Records of barrier objects in the cubin: the operations that ptxas records, and as many objects."""

import pytest

from orias.cubin.reader import Reader
from tests.asynchronous.barrier_programs import hardware, objects
from tests.asynchronous.harness import Program
from tests.forms.run import our_cubin, ptxas_cubin

PROGRAMS = [
    (p, arch)
    for p in objects() + hardware()
    if p.name != "mbarrier waits"
    for arch in ("sm_80", "sm_90a", "sm_100a", "sm_120a")
    if p.fits(arch)
]


# Of operations that share a line (in "mbarrier waits") the records are those of one kind.


def facts(cubin: bytes) -> tuple[set[int], int]:
    kernel = Reader(cubin).kernels["k"]
    return {r[3] & 0x3F for r in kernel.mbarrier_records}, kernel.mbarrier_count


@pytest.mark.parametrize(("arch", "none"), [("sm_90a", 63), ("sm_100a", 255), ("sm_120a", 255)])
def test_no_uniform_register(arch: str, none: int) -> None:
    """An address that is in no uniform register has the number of URZ."""
    text = next(p for p in objects() + hardware() if p.name.endswith("of each thread")).text(arch)
    for cubin in (our_cubin(text, arch, 3), ptxas_cubin(text, arch, 3)):
        records = Reader(cubin).kernels["k"].mbarrier_records
        assert any(r[1] != 255 and r[3] >> 16 == none for r in records)


@pytest.mark.parametrize(("program", "arch"), PROGRAMS[::5], ids=lambda x: str(x))
def test_records(program: Program, arch: str) -> None:
    text = program.text(arch)
    ours, count = facts(our_cubin(text, arch, 3))
    theirs, wanted = facts(ptxas_cubin(text, arch, 3))
    # Nothing stands for mbarrier.inval (8) up to sm_89; ptxas puts a NOP there.
    assert ours == theirs - ({8} if arch == "sm_80" else set())
    assert count == wanted
