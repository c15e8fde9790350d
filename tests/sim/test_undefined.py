"""Registers and local memory that nobody wrote: uses that are found, and code where it does not matter without an alarm."""

import numpy as np
import pytest

import orias
from orias.sim import load
from orias.sim.checks.checker import Checker

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .b32 %r<12>;
  .reg .b64 %a<4>;
  .reg .f32 %f<4>;
  .reg .pred %p<4>;
  .local .align 4 .b8 room[64];
  .shared .align 4 .b8 buf[512];
  ld.param.u64 %a0, [out];
  ld.param.u32 %r8, [n];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a1, %r0, 4;
  add.u64 %a1, %a0, %a1;
  mov.u32 %r2, 5;
  setp.lt.u32 %p0, %r0, %r8;
  and.b32 %r1, %r0, 3;
  shl.b32 %r1, %r1, 2;
  mov.u32 %r7, room;
  add.u32 %r7, %r7, %r1;
"""
"""%r9, %f3 and %p3 are never written; %p0 holds in the first `n` = 20 threads; %r7: a place in local memory."""
STORE = "st.global.u32 [%a1], %r2;"
TAIL = "\nE: ret;\n}\n"
GOOD = {
    "masked": ["and.b32 %r3, %r9, %r8;", "and.b32 %r3, %r3, 8;", "add.u32 %r2, %r2, %r3;", STORE],
    "not selected": ["add.u32 %r3, %r9, %r0;", "setp.ge.u32 %p1, %r8, 1;", "selp.b32 %r2, %r0, %r3, %p1;", STORE],
    "minimum with zero": ["min.u32 %r3, %r9, %r8;", "shr.u32 %r3, %r3, 5;", "add.u32 %r2, %r2, %r3;", STORE],
    "written in a branch": ["@!%p0 bra N;", "mov.u32 %r4, %r0;", "N: mov.u32 %r2, 1;", "@%p0 add.u32 %r2, %r4, 7;", STORE],
    "byte": ["shl.b32 %r3, %r9, 8;", "or.b32 %r3, %r3, 7;", "st.global.u8 [%a1], %r3;"],
    "local memory": ["st.local.u32 [%r7], %r0;", "ld.local.u32 %r2, [%r7];", STORE],
    "generic local memory": [
        "cvt.u64.u32 %a2, %r7;", "cvta.local.u64 %a2, %a2;", "st.u32 [%a2], %r0;", "ld.u32 %r2, [%a2];", STORE,
    ],
    "shared memory that nobody reads": [
        "mov.u32 %r4, buf;", "add.u32 %r4, %r4, %r1;", "and.b32 %r3, %r9, 0xff00;", "st.shared.u32 [%r4], %r3;", "bar.sync 0;", "ld.shared.u8 %r2, [%r4];",
        STORE,
    ],
    "generic shared memory, written again": [
        "mov.u32 %r4, buf;", "add.u32 %r4, %r4, %r1;", "cvt.u64.u32 %a2, %r4;", "cvta.shared.u64 %a2, %a2;", "st.u32 [%a2], %r9;",
        "st.shared.u32 [%r4], %r0;", "bar.sync 0;", "ld.u32 %r2, [%a2];", STORE,
    ],
    "a reduction of lanes that count": [
        "mov.u32 %r4, buf;", "mad.lo.u32 %r4, %r0, 4, %r4;", "setp.lt.u32 %p1, %r0, 20;", "@%p1 ld.global.u32 %r3, [%a0];",
        "st.shared.u32 [%r4], %r3;", "bar.sync 0;", "ld.shared.u32 %r2, [%r4];", "selp.u32 %r2, %r2, 0, %p1;", STORE,
    ],
    "lanes that do not count": [
        "and.b32 %r3, %r0, 31;", "setp.lt.u32 %p1, %r3, 4;", "@%p1 ld.global.u32 %r4, [%a0];", "shfl.sync.idx.b32 %r2, %r4, 3, 31, -1;",
        STORE,
    ],
}  # fmt: skip
BAD = {
    "stored": (["add.u32 %r2, %r9, %r0;", STORE], "a stored value"),
    "stored in shared memory": (
        ["mov.u32 %r4, buf;", "add.u32 %r4, %r4, %r1;", "st.shared.u32 [%r4], %r9;", "bar.sync 0;", "ld.shared.u32 %r2, [%r4];", STORE],
        "a stored value",
    ),
    "one byte in shared memory": (
        [
            "mov.u32 %r4, buf;", "add.u32 %r4, %r4, %r1;", "and.b32 %r3, %r9, 0xff00;", "st.shared.u32 [%r4], %r3;", "bar.sync 0;",
            "ld.shared.u8 %r2, [%r4+1];", STORE,
        ],
        "a stored value",
    ),
    "an atomic on it": (
        ["mov.u32 %r4, buf;", "add.u32 %r4, %r4, %r1;", "st.shared.u32 [%r4], %r9;", "bar.sync 0;", "atom.shared.add.u32 %r2, [%r4], 1;"],
        "read of 4 bytes of shared memory at 0x0 that nobody wrote",
    ),
    "one bit": (["and.b32 %r2, %r9, 1024;", STORE], "a stored value"),
    "float": (["cvt.rn.f32.u32 %f0, %r0;", "add.f32 %f0, %f0, %f3;", "st.global.f32 [%a1], %f0;"], "a stored value"),
    "float as integer": (["cvt.rzi.u32.f32 %r2, %f3;", STORE], "a stored value"),
    "written in a branch": (["@%p0 ld.global.u32 %r4, [%a0];", "add.u32 %r2, %r4, 7;", STORE], "a stored value"),
    "accumulator": (
        [
            "mov.u32 %r3, 0;", "L: add.u32 %r9, %r9, %r3;", "add.u32 %r3, %r3, 1;", "setp.lt.u32 %p1, %r3, %r8;",
            "@%p1 bra L;", "st.global.u32 [%a1], %r9;",
        ],
        "a stored value",
    ),
    "address": (["and.b32 %r3, %r9, 4;", "cvt.u64.u32 %a2, %r3;", "add.u64 %a1, %a1, %a2;", STORE], "an address"),
    "branch": (["setp.lt.s32 %p1, %r9, %r0;", "@%p1 bra E;", "bar.sync 0;", STORE], "a branch or predicate"),
    "comparison with zero": (["setp.eq.s32 %p1, %r9, 0;", "@%p1 bra E;", STORE], "a branch or predicate"),
    "local memory": (["ld.local.u32 %r2, [%r7];", STORE], "a stored value"),
    "part of local memory": (["@%p0 st.local.u32 [%r7], %r0;", "ld.local.u32 %r2, [%r7];", STORE], "a stored value"),
    "lanes": (["@%p0 ld.global.u32 %r4, [%a0];", "shfl.sync.idx.b32 %r2, %r4, 25, 31, -1;", STORE], "a stored value"),
}  # fmt: skip


def check(lines, arch="sm_80"):
    text = HEAD + "\n".join("  " + line for line in lines) + TAIL
    image = load(orias.compile(text, arch=arch, lineinfo=True, keep_warp_barriers=True).data)
    checker = Checker(image, "k", ("initcheck",))
    image.launch("k", 2, 40, [np.zeros(64, np.uint32), 20], timing=checker.start)
    return checker.findings


@pytest.mark.parametrize("name", GOOD)
def test_no_alarm_where_it_does_not_matter(name):
    assert [f.lines() for f in check(GOOD[name])] == []


@pytest.mark.parametrize("name", BAD)
def test_use_of_what_nobody_wrote(name):
    lines, what = BAD[name]
    found = check(lines)
    assert [(f.tool, f.message.split(" depends")[0]) for f in found] == [("initcheck", what)], [
        f.lines() for f in found
    ]
    assert all(s.ptx for s in found[0].spots)


PRINT = """.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[7] = {37, 117, 32, 37, 117, 10, 0};
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
  .local .align 8 .b8 a[16];
  mov.u32 %r0, %tid.x; st.local.u32 [a], %r0;
  STORE
  PRINT
  PRINT
  ret;
}
""".replace(
    "PRINT",
    """mov.u64 %d0, a; cvta.local.u64 %d0, %d0; mov.u64 %d1, text; cvta.global.u64 %d1, %d1;
  { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d0; call (z), vprintf, (x, y); }""",
)


@pytest.mark.parametrize(
    ("store", "threads"),
    [
        ("st.local.u32 [a+4], %r0;", 0),
        ("st.local.u32 [a+4], %r3;", 4),
        ("", 4),
        ("setp.ne.u32 %p, %r0, 2; @%p st.local.u32 [a+4], %r0;", 1),
    ],
)
def test_what_printf_prints(store, threads):
    image = load(orias.compile(PRINT.replace("STORE", store), arch="sm_80", keep_warp_barriers=True).data)
    checker = Checker(image, "k", ("initcheck",))
    result = image.launch("k", 1, 4, [np.zeros(64, np.uint32), 20], timing=checker.start)
    assert len(result.output.splitlines()) == 8 and result.output.startswith("0 ")
    assert [f.message.split(" depends")[0] for f in checker.findings] == ["what printf prints"] * (2 * bool(threads))
    assert all(f.spots[0].thread == (2, 0, 0) for f in checker.findings if threads == 1)
