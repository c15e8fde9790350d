"""Volatile loads, and those of devices, are done though nobody reads what they load; others are not."""

import pytest

import orias

TEXT = """.version 8.2
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {
.reg .b64 %d<4>; .reg .b32 %r<20>; .reg .b16 %h<4>; .reg .pred %p<2>;
ld.param.u64 %d1, [a]; ld.param.u32 %r9, [n]; cvta.to.global.u64 %d1, %d1; mov.u32 %r10, 64; setp.eq.u32 %p1, %r9, 3;
BODY
ret; }
"""
KEPT = {
    "global": ("ld.volatile.global.u32 %r1, [%d1];", 1),
    "generic": ("ld.volatile.f32 %r1, [%d1];", 1),
    "shared": ("ld.volatile.shared.u32 %r1, [%r10];", 1),
    "bytes": ("ld.volatile.global.u8 %h1, [%d1];", 1),
    "vector": ("ld.volatile.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];", 1),
    "guarded": ("@%p1 ld.volatile.global.u32 %r1, [%d1];", 1),
    "device": ("ld.mmio.relaxed.sys.global.u32 %r1, [%d1];", 1),
    "feeds dead code": ("ld.volatile.global.u32 %r1, [%d1]; add.u32 %r2, %r1, 5; mul.lo.u32 %r3, %r2, %r2;", 1),
    "twice": ("ld.volatile.global.u32 %r1, [%d1]; ld.volatile.global.u32 %r1, [%d1];", 2),
    "read": ("ld.volatile.global.u32 %r1, [%d1]; st.global.u32 [%d1+4], %r1;", 1),
    "loop": (
        "mov.u32 %r2, 0; L: ld.volatile.global.u32 %r1, [%d1]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;",
        1,
    ),
}
GONE = ("ld.global.u32 %r1, [%d1];", "ld.relaxed.gpu.global.u32 %r1, [%d1];", "ld.shared.u32 %r1, [%r10];")


def loads(body: str, arch: str, level: int) -> int:
    listing = orias.compile(TEXT.replace("BODY", body), arch=arch, opt_level=level).disassemble()
    names = [x for line in listing.splitlines() for x in line.split() if x.startswith("LD") and not x.startswith("LDC")]
    return len(names)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str, arch: str) -> None:
    body, count = KEPT[name]
    for level in (0, 2, 3):
        found = loads(body, arch, level)
        assert found >= count if name == "loop" else found == count


@pytest.mark.parametrize("body", GONE)
def test_gone(body: str) -> None:
    assert loads(body, "sm_90", 3) == 0
