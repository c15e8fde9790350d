"""Work that waits until loads are under way, after allocation."""

import orias

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
STORED = (
    HEAD
    + """.visible .entry k(.param .u64 a, .param .u64 b) {
.reg .u64 %a, %b;
.reg .f32 %x;
ld.param.u64 %a, [a];
ld.param.u64 %b, [b];
ld.global.f32 %x, [%a];
st.global.f32 [%b], %x;
ret;
}
"""
)
BRANCHED = (
    HEAD
    + """.visible .entry k(.param .u64 a, .param .u64 b) {
.reg .u64 %a, %b;
.reg .f32 %x;
.reg .u32 %n;
.reg .pred %p;
ld.param.u64 %a, [a];
ld.param.u64 %b, [b];
ld.global.f32 %x, [%a];
mov.u32 %n, %tid.x;
setp.gt.u32 %p, %n, 7;
@%p bra L;
bar.sync 0;
ex2.approx.f32 %x, %x;
bar.sync 0;
L:
st.global.f32 [%b], %x;
ret;
}
"""
)


def places(text: str, *parts: str, **knobs: int) -> list[int]:
    """Where the first instructions with some texts are in the code."""
    lines = orias.compile(text, arch="sm_90", knobs=knobs).disassemble().splitlines()
    return [next(k for k, line in enumerate(lines) if part in line) for part in parts]


def test_constants_that_only_a_store_needs_come_after_a_load() -> None:
    load, constant = places(STORED, "LDG.E", "c[0x0][0x218]")
    assert load < constant
    load, constant = places(STORED, "LDG.E", "c[0x0][0x218]", SchedHeldCyclesMost=0)
    assert constant < load


def test_what_a_branch_waits_for_comes_before_a_load_for_which_nothing_here_waits() -> None:
    load, special = places(BRANCHED, "LDG.E", "SR_TID.X")
    assert special < load
