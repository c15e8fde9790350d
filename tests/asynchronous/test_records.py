"""Records of barrier objects in the cubin: the operations that ptxas records, and as many objects."""

import pytest

from orias.cubin.reader import Reader
from tests.asynchronous.barrier_programs import hardware, objects
from tests.asynchronous.harness import Program
from tests.forms.run import our_cubin, ptxas_cubin

PROGRAMS = [(p, arch) for p in objects() + hardware() for arch in ("sm_80", "sm_90a") if p.sm <= int(arch[3:5])]


def facts(cubin: bytes) -> tuple[set[int], int]:
    kernel = Reader(cubin).kernels["k"]
    return {r[3] & 0x3F for r in kernel.mbarrier_records}, kernel.mbarrier_count


@pytest.mark.parametrize(("program", "arch"), PROGRAMS[::3], ids=lambda x: str(x))
def test_records(program: Program, arch: str) -> None:
    text = program.text(arch)
    ours, count = facts(our_cubin(text, arch, 3))
    theirs, wanted = facts(ptxas_cubin(text, arch, 3))
    # Nothing stands for mbarrier.inval (8) up to sm_89; ptxas puts a NOP there.
    assert ours == theirs - ({8} if arch == "sm_80" else set())
    assert count == wanted
