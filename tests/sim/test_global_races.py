"""Races in global memory: seeded ones, and correct programs without an alarm."""

import json

import numpy as np
import pytest

import orias
from orias.sim import load
from orias.sim.checks.checker import Checker
from orias.sim.checks.global_race import NO_FENCE
from tests.kernels import test_kernels as kernels

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flags)
{
  .reg .b32 %r<12>;
  .reg .b64 %a<8>;
  .reg .pred %p<4>;
  ld.param.u64 %a0, [data];
  ld.param.u64 %a1, [flags];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r9, %nctaid.x;
  mad.lo.u32 %r2, %r1, 64, %r0;
  xor.b32 %r3, %r2, 32;
  add.u32 %r4, %r1, 1;
  setp.eq.u32 %p3, %r4, %r9;
  @%p3 mov.u32 %r4, 0;
  mad.lo.u32 %r4, %r4, 64, %r0;
  mad.wide.u32 %a2, %r2, 4, %a0;
  mad.wide.u32 %a3, %r3, 4, %a0;
  mad.wide.u32 %a4, %r4, 4, %a0;
  mad.wide.u32 %a5, %r1, 4, %a0;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  add.u32 %r5, %r2, 1000;
"""
"""%a2: a word of the thread's own; %a3: the word of the other warp; %a4: that of the next block; %a5: a word of the block."""
TAIL = "\nE: ret;\n}\n"
OWN, PARTNER, NEXT = "st.global.u32 [%a2], %r5;", "ld.global.u32 %r6, [%a3];", "ld.global.u32 %r6, [%a4];"
KEEP = "st.global.u32 [%a2+65536], %r6;"
BAR = "bar.sync 0;"
LAST_BLOCK = [
    "@%p0 st.global.u32 [%a5], %r5;",
    "membar.gl;",
    "@!%p0 bra E;",
    "COUNT;",
    "add.u32 %r7, %r7, 1;",
    "setp.ne.u32 %p2, %r7, %r9;",
    "@%p2 bra E;",
    "ld.global.u32 %r6, [%a0];",
    "ld.global.u32 %r8, [%a0+4];",
    "add.u32 %r6, %r6, %r8;",
    "st.global.u32 [%a1+8], %r6;",
    "st.global.u32 [%a1], 0;",
]
FLAG = [
    "@!%p0 bra E;",
    "@!%p1 bra WAIT;",
    "st.global.u32 [%a0], 7;",
    "FENCE;",
    "STORE [%a1], 1;",
    "bra E;",
    "WAIT: LOAD %r7, [%a1];",
    "setp.eq.u32 %p2, %r7, 0;",
    "@%p2 bra WAIT;",
    "ld.global.u32 %r6, [%a0];",
    "st.global.u32 [%a2], %r6;",
]
TURN = [
    "@%p0 ATOM.add.u32 %r7, [%a1], 1;",
    "SPIN: ld.volatile.global.u32 %r7, [%a1];",
    "setp.lt.u32 %p2, %r7, %r9;",
    "@%p2 bra SPIN;",
    BAR,
]


def replaced(lines, **words):
    for old, new in words.items():
        lines = [line.replace(old, new) for line in lines]
    return lines


GOOD = {
    "own words": [OWN, "ld.global.u32 %r6, [%a2];", KEEP],
    "barrier of the block": [OWN, BAR, PARTNER, KEEP, BAR, "st.global.u32 [%a3], %r0;"],
    "the last block sums": replaced(LAST_BLOCK, COUNT="atom.global.add.u32 %r7, [%a1], 1"),
    "volatile flag": replaced(FLAG, FENCE="membar.gl", STORE="st.volatile.global.u32", LOAD="ld.volatile.global.u32"),
    "release and acquire": replaced(
        FLAG, **{"FENCE;": ""}, STORE="st.release.gpu.global.u32", LOAD="ld.acquire.gpu.global.u32"
    ),
    "relaxed flag": replaced(
        FLAG, FENCE="fence.acq_rel.gpu", STORE="st.relaxed.gpu.global.u32", LOAD="ld.relaxed.gpu.global.u32"
    ),
    "barrier of the grid": [OWN, BAR, "membar.gl;", *replaced(TURN, ATOM="atom.global"), NEXT, KEEP],
    "barrier of the grid, release": [OWN, BAR, *replaced(TURN, ATOM="atom.release.gpu.global"), NEXT, KEEP],
    "the last block sums, fences of all": [
        OWN,
        "membar.gl;",
        BAR,
        "@%p0 atom.global.inc.u32 %r7, [%a1], 1000;",
        "@!%p0 bra E;",
        "add.u32 %r7, %r7, 1;",
        "setp.ne.u32 %p2, %r7, %r9;",
        "@%p2 bra E;",
        "ld.global.u32 %r6, [%a0+128];",
        "st.global.u32 [%a1+8], %r6;",
    ],
    "same value": ["st.global.u32 [%a0], 5;"],
    "all read": ["ld.global.u32 %r6, [%a0];", KEEP, NEXT, KEEP],
    "plain read and atomic": ["ld.global.u32 %r6, [%a1];", KEEP, "atom.global.add.u32 %r6, [%a1], 1;"],
    "counters": ["atom.global.add.u32 %r6, [%a1], 1;", "red.global.add.u32 [%a1], 1;"],
    "bytes of a word": ["cvt.u64.u32 %a6, %r2;", "add.u64 %a6, %a6, %a0;", "st.global.u8 [%a6], %r0;"],
    "barrier of the cluster": [
        OWN,
        "barrier.cluster.arrive.release.aligned;",
        "barrier.cluster.wait.acquire.aligned;",
        NEXT,
        KEEP,
    ],
}
BAD = {
    "read after write, another warp": [OWN, PARTNER, KEEP],
    "read after write, another block": [OWN, BAR, NEXT, KEEP],
    "write after read, another block": [NEXT, BAR, OWN, KEEP],
    "write after write, at once": ["st.global.u32 [%a0], %r1;"],
    "write after write, another block": [OWN, BAR, "st.global.u32 [%a4], %r0;"],
    "read after write, the last block counts without atomics": [
        *LAST_BLOCK[:3],
        "ld.global.u32 %r7, [%a1];",
        "add.u32 %r7, %r7, 1;",
        "st.global.u32 [%a1], %r7;",
        "ld.global.u32 %r6, [%a0];",
        "st.global.u32 [%a1+8], %r6;",
    ],
    "no fence, volatile flag": replaced(FLAG, **{"FENCE;": ""}, STORE="st.volatile.global.u32", LOAD="ld.volatile.global.u32"),
    "no fence, of the block alone": replaced(FLAG, FENCE="membar.cta", STORE="st.relaxed.gpu.global.u32", LOAD="ld.relaxed.gpu.global.u32"),
    "no fence, release of the block": replaced(FLAG, **{"FENCE;": ""}, STORE="st.release.cta.global.u32", LOAD="ld.acquire.gpu.global.u32"),
    "no fence, before the store": replaced(
        ["membar.gl;", *FLAG], **{"FENCE;": ""}, STORE="st.volatile.global.u32", LOAD="ld.volatile.global.u32"
    ),
    "no fence, barrier of the grid": [OWN, BAR, *replaced(TURN, ATOM="atom.global"), NEXT, KEEP],
    "no fence, the last block sums": [
        line for line in replaced(LAST_BLOCK, COUNT="atom.global.add.u32 %r7, [%a1], 1") if "membar" not in line
    ],
    "write after read, plain flag": [*FLAG[:3], "st.global.u32 [%a1], 1;", "bra E;", "WAIT: ld.global.u32 %r6, [%a1];", KEEP],
    "write after write, plain and atomic": ["@%p1 st.global.u32 [%a1], 5;", "@!%p1 atom.global.add.u32 %r6, [%a1], 1;"],
}  # fmt: skip


def check(lines, blocks=2, cluster=1):
    text = HEAD + "\n".join("  " + line for line in lines) + TAIL
    image = load(orias.compile(text, arch="sm_90", lineinfo=True, keep_warp_barriers=True).data)
    checker = Checker(image, "k", ("racecheck",))
    data, flags = np.zeros(1 << 16, np.uint32), np.zeros(16, np.uint32)
    image.launch("k", blocks, 64, [data, flags], timing=checker.start, cluster=cluster, max_steps=100_000)
    return checker.findings


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", GOOD)
def test_no_alarm_on_correct_synchronisation(name):
    cluster = 2 if "cluster" in name else 1
    assert [f.lines() for f in check(GOOD[name], cluster=cluster)] == []


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", BAD)
def test_races_are_found(name):
    kind, _, who = name.partition(", ")
    found = [f for f in check(BAD[name]) if f.kind == (NO_FENCE if kind == "no fence" else kind)]
    assert found
    later, earlier = found[0].spots
    assert "global address" in found[0].message and later.ptx and earlier.ptx
    assert (later.block != earlier.block) == (who != "another warp")


def test_blocks_of_different_batches():
    """700 blocks of 64 threads do not run together."""
    (found,) = check(
        ["setp.eq.u32 %p2, %r1, 600;", "@%p1 st.global.u32 [%a0], 5;", "@%p2 st.global.u32 [%a0], 6;"], blocks=700
    )
    assert [s.block[0] for s in found.spots] == [600, 0]


@pytest.mark.sweep
@pytest.mark.parametrize("name", kernels.NAMES)
def test_no_alarm_on_real_kernels(name):
    case = json.loads((kernels.HERE / "cases" / f"{name}.json").read_text())
    image = load(orias.compile(kernels.source(name), arch="sm_90", keep_warp_barriers=True).data)
    checker = Checker(image, case["kernel"], ("racecheck",))
    args, _ = kernels.arguments(case)
    sizes = tuple(case["grid"]), tuple(case["block"])
    image.launch(case["kernel"], *sizes, args, shared=case["shared"], timing=checker.start)
    assert [f.lines() for f in checker.findings] == []
