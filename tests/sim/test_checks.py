"""Seeded faults, and correct programs without an alarm: races, memory that nobody wrote, barriers."""

import contextlib

import numpy as np
import pytest

import orias
from orias.sim import load
from orias.sim.checks.checker import Checker, lines_of
from orias.sim.core.sim_errors import Deadlock

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>;
  .reg .b64 %a<4>;
  .reg .b64 %s<2>;
  .reg .pred %p<4>;
  .shared .align 8 .b8 buf[512];
  .shared .align 8 .b64 object;
  ld.param.u64 %a0, [out];
  mov.u32 %r0, %tid.x;
  mul.lo.u32 %r1, %r0, 4;
  mov.u32 %r2, buf;
  add.u32 %r3, %r2, %r1;
  xor.b32 %r4, %r1, 128;
  add.u32 %r4, %r2, %r4;
  setp.lt.u32 %p0, %r0, 32;
  cvt.u64.u32 %a1, %r1;
  add.u64 %a1, %a0, %a1;
"""
"""%r3: the thread's word of shared memory; %r4: that of its partner in the other warp; %p0: the first of two warps."""
TAIL = "\n  st.global.u32 [%a1], %r5;\n  ret;\n}\n"
WRITE, READ = "st.shared.u32 [%r3], %r0;", "ld.shared.u32 %r5, [%r4];"
BAR = "bar.sync 0;"
GOOD = {
    "barrier": [WRITE, BAR, READ],
    "both directions": [WRITE, BAR, READ, BAR, "st.shared.u32 [%r3], 7;", BAR, READ],
    "producer and consumer": [
        "@%p0 bra P;",
        "bar.sync 1, 64;",
        READ,
        "bra E;",
        "P: " + WRITE,
        "bar.arrive 1, 64;",
        "mov.u32 %r5, 0;",
        "E:",
    ],
    "barrier object": [
        "setp.eq.u32 %p1, %r0, 0;",
        "@%p1 mbarrier.init.shared.b64 [object], 64;",
        BAR,
        WRITE,
        "mbarrier.arrive.shared.b64 %s0, [object];",
        "W: mbarrier.test_wait.shared.b64 %p2, [object], %s0;",
        "@!%p2 bra W;",
        READ,
    ],
    "atomics": [
        "st.shared.u32 [%r2], 0;",
        BAR,
        "atom.shared.add.u32 %r6, [%r2], 1;",
        BAR,
        "ld.shared.u32 %r5, [%r2];",
    ],
    "same value": ["st.shared.u32 [%r2], 5;", BAR, "ld.shared.u32 %r5, [%r2];"],
    "one warp": ["@!%p0 bra E;", WRITE, "bar.warp.sync -1;", "ld.shared.u32 %r5, [%r3];", "E: mov.u32 %r5, 0;"],
    "bytes of a word": [
        "add.u32 %r3, %r2, %r0;",
        "st.shared.u8 [%r3], %r0;",
        "ld.shared.u8 %r5, [%r3];",
    ],
}
BAD = {
    "read after write": [WRITE, READ],
    "write after read": ["ld.shared.u32 %r5, [%r4];", WRITE],
    "write after write": [WRITE, "st.shared.u32 [%r4], 9;", "mov.u32 %r5, 0;"],
    "write after write, at once": ["st.shared.u32 [%r2], %r0;", "mov.u32 %r5, 0;"],
    "read after write, barrier of one side": [WRITE, "@%p0 bar.arrive 1, 64;", "@!%p0 bar.sync 1, 64;", READ],
    "write after write, plain and atomic": [
        "atom.shared.add.u32 %r6, [%r2], 1;",
        "@!%p0 st.shared.u32 [%r2], 99;",
        "atom.shared.add.u32 %r5, [%r2], 1;",
    ],
}


def check(lines, tools, threads=64):
    text = HEAD + "\n".join("  " + line for line in lines) + TAIL
    image = load(orias.compile(text, arch="sm_80", lineinfo=True, keep_warp_barriers=True).data)
    checker = Checker(image, "k", tools)
    out = np.zeros(threads, np.uint32)
    image.launch("k", 2, threads, [out], timing=checker.start)
    return checker.findings


@pytest.mark.parametrize("name", GOOD)
def test_no_alarm_on_correct_synchronisation(name):
    assert [f.lines() for f in check(GOOD[name], ("racecheck", "synccheck"))] == []


@pytest.mark.parametrize("name", BAD)
def test_races_are_found(name):
    found = check(BAD[name], ("racecheck",))
    assert [f for f in found if f.kind == name.split(",")[0]], [f.lines() for f in found]
    one = found[0]
    assert len(one.spots) == 2 and all(s.ptx for s in one.spots) and one.spots[0].thread != one.spots[1].thread
    assert one.record()["places"][0]["address"] == one.spots[0].address


def test_shared_memory_that_nobody_wrote():
    found = check(["@%p0 " + WRITE, BAR, READ], ("initcheck",))
    assert [(f.tool, f.spots[0].thread[0] < 32) for f in found] == [("initcheck", True)]
    assert check([WRITE, BAR, READ], ("initcheck",)) == []


def test_wrong_barriers():
    # A register, because the text of a wrong number is refused.
    few = [
        "mov.u32 %r6, 48;",
        "add.u32 %r6, %r6, %r0;",
        "sub.u32 %r6, %r6, %r0;",
        "bar.sync 2, %r6;",
        "mov.u32 %r5, 0;",
    ]
    assert [f.kind for f in check(few, ("synccheck",))] == ["count"]
    lacks = ["shl.b32 %r6, 1, %r0;", "not.b32 %r6, %r6;", "bar.warp.sync %r6;", "mov.u32 %r5, 0;"]
    assert "mask" in [f.kind for f in check_or_hang(lacks)]


def check_or_hang(lines):
    """Findings of a program that may wait for ever."""
    text = HEAD + "\n".join("  " + line for line in lines) + TAIL
    image = load(orias.compile(text, arch="sm_80", keep_warp_barriers=True).data)
    checker = Checker(image, "k", ("synccheck",))
    with contextlib.suppress(Deadlock):
        image.launch("k", 1, 64, [np.zeros(64, np.uint32)], timing=checker.start)
    return checker.findings


def test_warps_that_wait_for_ever():
    """Two lanes of each warp wait for all others, which skip the instruction and wait for them at the end of the branch."""
    lines = [
        "and.b32 %r6, %r0, 31;",
        "setp.gt.u32 %p1, %r6, 1;",
        "mov.u32 %r5, 3;",
        "ld.global.u32 %r7, [%a0];",
        "@%p1 bra E;",
        "bar.warp.sync %r7;",
    ]
    text = HEAD + "\n".join("  " + line for line in [*lines, "mov.u32 %r5, 4;", "E:", BAR]) + TAIL
    image = load(orias.compile(text, arch="sm_90").data)
    out = np.full(64, 0xFFFFFFFF, np.uint32)
    with pytest.raises(Deadlock):
        image.launch("k", 1, 64, [out])
    result = image.launch("k", 1, 64, [out], tolerant=True)
    assert result.let_go >= 0 and "WARPSYNC" in image.compile(result.let_go).text()
    assert list(out) == [4, 4, *[3] * 30] * 2


INLINED = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<2>; .reg .b64 %a<2>;
  .loc 1 44 5
  ld.param.u64 %a0, [p];
  .loc 1 39 5, function_name $L, inlined_at 1 44 5
  ld.global.u32 %r0, [%a0];
  .loc 1 12 5, function_name $L, inlined_at 1 39 5
  st.global.u32 [%a0+4], %r0;
  .loc 1 45 1
  ret;
}
.file 1 "k.cu"
.section .debug_str
{
$L:
.b8 102,0
}
"""


def test_a_line_of_an_inlined_function_names_the_calls():
    image = load(orias.compile(INLINED, arch="sm_80", lineinfo=True).data)
    lines = {}
    for pc in range(image.reader.elf.section(".text.k").size // 16):
        lines[image.compile(pc).text().split(" ")[0]] = lines_of(image, pc)[0]
    assert lines["LDG.E"] == "k.cu:39 inlined at k.cu:44"
    assert lines["STG.E"] == "k.cu:12 inlined at k.cu:39 inlined at k.cu:44"
    assert lines["EXIT"] == "k.cu:45"
