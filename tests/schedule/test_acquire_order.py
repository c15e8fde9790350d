"""Accesses stay after an acquire, also where it is an instruction of shared memory that orders nothing by itself."""

import pytest

import orias
from tests.pipeline.test_listings import listing

ACQUIRES = {
    "ld.acquire.cta.shared.u32 %r2, [s];": "LDS",
    "ld.acquire.gpu.shared.u32 %r2, [s];": "LDS",
    "atom.acquire.cta.shared.exch.b32 %r2, [s], %r1;": "ATOMS",
    "atom.acq_rel.cta.shared.cas.b32 %r2, [s], 0, 1;": "ATOMS",
    "ld.acquire.cta.global.u32 %r2, [%d1+1024];": "STRONG",
    "ld.relaxed.cta.shared.u32 %r2, [s]; fence.acquire.sync_restrict::shared::cluster.cluster;": "LDS",
}


def instructions(arch: str, level: int, shared: str, body: str) -> list[str]:
    """The listing of a kernel that gets two pointers."""
    text = f"""
.version 8.8
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) {{
.reg .b64 %d<9>; .reg .b32 %r<9>; .shared .align 4 .b32 {shared};
{body}
ret; }}
"""
    return listing(orias.compile(text, arch=arch, opt_level=level).data)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("load", ["ld.global.u32 %r3, [%d1+64];", "ld.u32 %r3, [%d1+64];"])
@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("acquire", ACQUIRES)
def test_a_load_of_other_memory_stays_after_it(acquire: str, arch: str, level: int, load: str) -> None:
    """Its address is known long before, and it takes longer, for which the scheduler would have it first."""
    if "sync_restrict" in acquire and arch in ("sm_75", "sm_80"):
        pytest.skip("since sm_90")
    body = f"""
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 4, %d1;
{acquire}
{load}
add.u32 %r2, %r2, %r3; st.global.u32 [%d2], %r2;"""
    lines = instructions(arch, level, "s[4]", body)
    (first,) = (k for k, line in enumerate(lines) if ACQUIRES[acquire] in line)
    (second,) = (k for k, line in enumerate(lines) if "+0x40]" in line)
    assert first < second, "\n".join(lines)


@pytest.mark.parametrize("kind", ["volatile", "relaxed.cta"])
@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_strong_loads_of_shared_memory_stay_in_order(arch: str, level: int, kind: str) -> None:
    """A long chain waits for the second one, for which the scheduler would have it first: of one place it could then read what is older."""
    body = f"""
ld.param.u64 %d1, [p]; ld.param.u64 %d3, [q]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2;
ld.{kind}.shared.u32 %r5, [%r2+64];
ld.{kind}.shared.u32 %r6, [%r2+8];
mul.lo.u32 %r7, %r6, %r6; mul.lo.u32 %r7, %r7, %r6; mul.wide.u32 %d4, %r7, 4; add.u64 %d4, %d4, %d1; ld.global.u32 %r8, [%d4];
add.u32 %r5, %r5, %r8; st.global.u32 [%d3], %r5;"""
    lines = [x for x in instructions(arch, level, "s[256]", body) if "LDS" in x]
    assert ["+0x40]" in x for x in lines] == [True, False], "\n".join(lines)
