"""Seeded faults of asynchronous copies, clusters, proxies and threads of a warp, and the same programs without them."""

import numpy as np
import pytest

import orias
from orias.sim import SimError, load
from orias.sim.checks.checker import Checker

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
  .reg .b32 %r<16>;
  .reg .b64 %a<8>;
  .reg .pred %p<8>;
  .shared .align 128 .b8 buf[1024];
  .shared .align 8 .b64 object;
  ld.param.u64 %a0, [out];
  ld.param.u64 %a1, [in];
  mov.u32 %r0, %tid.x;
  mul.lo.u32 %r1, %r0, 4;
  mov.u32 %r2, buf;
  add.u32 %r3, %r2, %r1;
  xor.b32 %r4, %r3, 128;
  xor.b32 %r5, %r3, 4;
  cvt.u64.u32 %a2, %r1;
  mov.u32 %r15, %ctaid.x;
  mul.wide.u32 %a3, %r15, 256;
  add.u64 %a3, %a3, %a2;
  add.u64 %a3, %a0, %a3;
  add.u64 %a2, %a1, %a2;
  xor.b32 %r14, %r15, 1;
  setp.eq.u32 %p0, %r0, 0;
  setp.lt.u32 %p1, %r0, 32;
  mov.u32 %r6, 0;
"""
"""%r3: the thread's word of shared memory, %r4 and %r5: of a thread of the other warp and of its neighbour; %r14: the other block."""
TAIL = "\nE: st.global.u32 [%a3], %r6;\n  ret;\n}\n"
BAR = "bar.sync 0;"
SMALL = "cp.async.ca.shared.global [%r3], [%a2], 4;"
OTHER = "ld.shared.u32 %r6, [%r4];"
INIT = "@%p0 mbarrier.init.shared.b64 [object], 1;"
EXPECT = "@%p0 mbarrier.arrive.expect_tx.shared.b64 %a5, [object], 256;"
LOAD = "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a1], 256, [object];"
WAIT = ["W: mbarrier.try_wait.parity.shared.b64 %p2, [object], 0;", "@!%p2 bra W;"]
STORE = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%a0], [%r2], 256;"
OWN = "st.shared.u32 [%r3], %r0;"
FENCE = "fence.proxy.async.shared::cta;"
REMOTE = "mapa.shared::cluster.u32 %r7, %r3, %r14;"
CLUSTER = ["barrier.cluster.arrive;", "barrier.cluster.wait;"]
DONE = [STORE, "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;"]
LANES = ["@!%p1 bra E;", OWN, "bar.warp.sync -1;", "ld.shared.u32 %r6, [%r5];"]
GOOD = {
    "cp.async": [SMALL, "cp.async.wait_all;", BAR, OTHER],
    "cp.async, own word": [SMALL, "cp.async.wait_all;", "ld.shared.u32 %r6, [%r3];"],
    "cp.async, object": [
        "@%p0 mbarrier.init.shared.b64 [object], 64;",
        BAR,
        SMALL,
        "cp.async.mbarrier.arrive.noinc.shared.b64 [object];",
        *WAIT,
        OTHER,
    ],
    "bulk load": [INIT, BAR, EXPECT, LOAD, *WAIT, OTHER],
    "bulk store": [OWN, FENCE, BAR, *DONE, BAR, OWN],
    "fence after the barrier": [OWN, BAR, FENCE, *DONE, BAR],
    "cluster": [OWN, *CLUSTER, REMOTE, "ld.shared::cluster.u32 %r6, [%r7];", *CLUSTER],
    "warp": LANES,
    "part of a warp": [
        "setp.lt.u32 %p3, %r0, 16;",
        "@!%p3 bra E;",
        OWN,
        "bar.warp.sync 0xffff;",
        "ld.shared.u32 %r6, [%r5];",
    ],
    "some threads end before a barrier": ["setp.lt.u32 %p3, %r0, 40;", "@!%p3 exit;", OWN, BAR],
}


def without(name, line, instead=()):
    """A correct program without a line."""
    at = GOOD[name].index(line)
    return [*GOOD[name][:at], *instead, *GOOD[name][at + 1 :]]


BAD = {
    "read after write: cp.async without wait": without("cp.async", "cp.async.wait_all;"),
    "read after write: own word of cp.async": without("cp.async, own word", "cp.async.wait_all;"),
    "read after write: cp.async without barrier": without("cp.async", BAR),
    "read after write: cp.async, one group too many": [SMALL, "cp.async.commit_group;", "cp.async.wait_group 1;", BAR, OTHER],
    "read after write: bulk load without wait": [INIT, BAR, EXPECT, LOAD, OTHER],
    "write after write: bulk load into what others still write": [INIT, BAR, "@!%p1 st.shared.u32 [%r4], 1;", EXPECT, LOAD],
    "write after write: no barrier after the object is made": without("bulk load", BAR),
    "write after read: bulk store without wait": [OWN, FENCE, BAR, STORE, "cp.async.bulk.commit_group;", BAR, "st.shared.u32 [%r3], 7;"],
    "no proxy fence between store and copy: bulk store": without("bulk store", FENCE),
    "read after write: cluster": [OWN, REMOTE, "ld.shared::cluster.u32 %r6, [%r7];", *CLUSTER],
    "write after read: cluster": [OWN, *CLUSTER, REMOTE, "ld.shared::cluster.u32 %r6, [%r7];", "st.shared.u32 [%r3], 7;", *CLUSTER],
    "read after write: warp": without("warp", "bar.warp.sync -1;"),
    "read after write: part of a warp": without("part of a warp", "bar.warp.sync 0xffff;", ["bar.warp.sync %r9;"]),
    "read after write: one lane sums": [OWN, "@!%p0 bra E;", "ld.shared.u32 %r6, [%r2+4];"],
    "write after write: two lanes": ["@!%p1 bra E;", "st.shared.u32 [%r2], %r0;"],
    "PartOfWarp: a barrier that half a warp skips": ["setp.lt.u32 %p3, %r0, 48;", "@!%p3 bra E;", OWN, BAR],
    "mask: warp barrier of others": ["setp.lt.u32 %p3, %r0, 17;", "@!%p3 bra E;", OWN, "mov.u32 %r9, 0xffff;", "bar.warp.sync %r9;"],
    "uninitialised: an object that nobody made": without("bulk load", INIT),
    "uninitialised: half of the bytes are copied": [INIT, BAR, EXPECT.replace("256", "128"), LOAD.replace("256", "128"), *WAIT, OTHER],
    "ended block: shared memory of a block that has ended": [
        OWN, *CLUSTER, "setp.eq.u32 %p4, %r15, 1;", "@%p4 exit;", "mov.u32 %r10, 0;",
        "L: add.u32 %r10, %r10, 1;", "setp.lt.u32 %p5, %r10, 3000;", "ld.volatile.global.u32 %r11, [%a1];", "@%p5 bra L;", REMOTE,
        "ld.shared::cluster.u32 %r6, [%r7];",
    ],
}  # fmt: skip


def check(lines):
    body = "\n".join("  " + line for line in lines)
    # A mask of the thread's own lane.
    own = "  mov.u32 %r9, 1;\n  shl.b32 %r9, %r9, %r0;\n" if "%r9;" in body and "mov.u32 %r9" not in body else ""
    cubin = orias.compile(HEAD + own + body + TAIL, arch="sm_90", lineinfo=True, keep_warp_barriers=True).data
    image = load(cubin)
    checker = Checker(image, "k", ("racecheck", "initcheck", "synccheck"))
    data = np.arange(64, dtype=np.uint32)
    blocks = 2 if any("cluster." in line or "::cluster.u32" in line for line in lines) else 1
    try:
        image.launch(
            "k", blocks, 64, [np.zeros(128, np.uint32), data], cluster=blocks, timing=checker.start, max_steps=100_000
        )
    except SimError as e:
        checker.add("synccheck", type(e).__name__, str(e), (), list)
    return checker.findings


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", GOOD)
def test_no_alarm_on_correct_synchronisation(name):
    assert [f.lines() for f in check(GOOD[name])] == []


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", BAD)
def test_faults_are_found(name):
    kind = name.partition(":")[0]
    found = check(BAD[name])
    assert kind in [f.kind for f in found], [f.lines() for f in found]
    assert all(s.ptx for f in found for s in f.spots)


def test_code_that_may_lack_barriers_of_warps_is_not_judged():
    """Where a warp is together anyway, Orias leaves its barriers out unless it is asked not to."""
    text = HEAD + "\n".join(BAD["read after write: warp"]) + TAIL
    image = load(orias.compile(text, arch="sm_90").data)
    checker = Checker(image, "k", ("racecheck",))
    image.launch("k", 1, 64, [np.zeros(64, np.uint32), np.zeros(64, np.uint32)], timing=checker.start)
    assert checker.findings == []
