"""Records of barrier objects in the cubin: the operations that ptxas records, and as many objects."""

import pytest

from orias.cubin.reader import Reader
from tests.asynchronous.barrier_programs import hardware, objects
from tests.asynchronous.harness import Program
from tests.forms.run import our_cubin, ptxas_cubin

PROGRAMS = [
    (p, arch) for p in objects() + hardware() for arch in ("sm_80", "sm_90a", "sm_100a", "sm_120a") if p.fits(arch)
]


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


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("program", "arch"), PROGRAMS[::5], ids=lambda x: str(x))
def test_records(program: Program, arch: str) -> None:
    text = program.text(arch)
    ours, count = facts(our_cubin(text, arch, 3))
    theirs, wanted = facts(ptxas_cubin(text, arch, 3))
    # Nothing stands for mbarrier.inval (8) up to sm_89; ptxas puts a NOP there.
    assert ours == theirs - ({8} if arch == "sm_80" else set())
    assert count == wanted


ONE_LINE = """.version 8.6
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %rd<5>; .reg .b32 %r<3>; .reg .pred %p, %q; .shared .align 8 .b64 b[4];
ld.param.u64 %rd1, [p]; mov.u32 %r1, b;
mbarrier.init.shared.b64 [%r1], 4; mbarrier.init.shared.b64 [%r1+8], 4; bar.sync 0; {line}
selp.u32 %r2, 1, 2, %p; st.global.v2.u64 [%rd1], {{%rd2, %rd3}}; st.global.u32 [%rd1+16], %r2;
ret; }}
"""
LINES = (
    ("sm_80", "mbarrier.arrive.shared.b64 %rd2, [%r1]; mbarrier.arrive.noComplete.shared.b64 %rd3, [%r1+8], 1;"),
    ("sm_90", "mbarrier.arrive.shared.b64 %rd2, [%r1]; mbarrier.arrive.noComplete.shared.b64 %rd3, [%r1+8], 1;"
     " mbarrier.arrive_drop.shared.b64 %rd4, [%r1]; mbarrier.inval.shared.b64 [%r1]; mbarrier.inval.shared.b64 [%r1+8];"),
    ("sm_100", "mbarrier.arrive.noComplete.shared.b64 _, [%r1], 1; mbarrier.arrive_drop.noComplete.shared.b64 _, [%r1+8], 2;"
     " mbarrier.arrive_drop.noComplete.shared.b64 %rd2, [%r1+8], 1; mbarrier.arrive.noComplete.shared.b64 %rd3, [%r1], 1;"),
    ("sm_90", "mbarrier.try_wait.shared.b64 %q, [%r1], %rd1; mbarrier.test_wait.shared.b64 %p, [%r1], %rd2; and.pred %p, %p, %q;"
     " mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 16; mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 16;"),
)  # fmt: skip


@pytest.mark.parametrize(("arch", "line"), LINES)
def test_operations_of_one_line(arch: str, line: str) -> None:
    """Several operations on one line of PTX: each has its kind, and objects are counted once."""
    wait = " mbarrier.test_wait.shared.b64 %p, [%r1], %rd2;" if "test_wait" not in line else ""
    text = ONE_LINE.format(arch=arch, line=line + wait)
    ours, theirs = (Reader(c(text, arch, 3)).kernels["k"] for c in (our_cubin, ptxas_cubin))
    assert sorted(r[3] & 0x3F for r in ours.mbarrier_records) == sorted(r[3] & 0x3F for r in theirs.mbarrier_records)
    assert ours.mbarrier_count == theirs.mbarrier_count == 2
