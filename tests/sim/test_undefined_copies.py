"""Bytes of shared memory that nobody wrote, after copies of them and stores of matrices: found where they are used, and only there."""

import numpy as np
import pytest

import orias
from orias.sim import load
from orias.sim.checks.checker import Checker
from tests.sim.test_copy_races import BAR, EXPECT, FENCE, HEAD, INIT, OWN, TAIL, WAIT

OTHER = "st.shared.u32 [%r3+512], %r0;"
GET = "ld.shared.u32 %r6, [%r3+512];"
COPY = [
    "add.u32 %r9, %r2, 512;", INIT, BAR, EXPECT,
    "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r2], 256, [object];", *WAIT,
]  # fmt: skip
SMALL = ["cp.async.ca.shared.global [%r3], [%a2], 4;", "cp.async.wait_all;"]
MATRIX = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r2];"
PUT = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r10};"
"""%r10 is never written."""
GOOD = {
    "copy of unwritten bytes, not used": COPY,
    "copy of written bytes": [OWN, FENCE, *COPY, GET],
    "copy of one byte of each word": ["and.b32 %r8, %r10, 0xff00;", "st.shared.u32 [%r3], %r8;", FENCE, *COPY, GET, "and.b32 %r6, %r6, 0xff;"],
    "copy over unwritten bytes": ["st.shared.u32 [%r3], %r10;", BAR, *SMALL, BAR, "ld.shared.u32 %r6, [%r3];"],
    "matrix, not used": [PUT, BAR, "ld.shared.u32 %r7, [%r2];"],
    "matrix of unwritten bytes, not used": [MATRIX, "st.shared.u32 [%r3+512], %r8;", BAR],
    "matrix": ["mov.u32 %r10, %r0;", PUT, BAR, "ld.shared.u32 %r6, [%r2];"],
    "other bytes of a matrix": ["and.b32 %r10, %r10, 0xffff;", PUT, BAR, "ld.shared.u16 %r6, [%r2+2];"],
}  # fmt: skip
BAD = {
    "copy of unwritten bytes": [*COPY, GET],
    "copy of unwritten bytes over others": [OTHER, FENCE, *COPY, GET],
    "copy of a register": ["st.shared.u32 [%r3], %r10;", FENCE, *COPY, GET],
    "load and store": ["ld.shared.u32 %r8, [%r3];", OTHER, "st.shared.u32 [%r3+512], %r8;", BAR, GET],
    "matrix": [PUT, BAR, "ld.shared.u32 %r6, [%r2];"],
    "matrix over others": [OWN, BAR, PUT, BAR, "ld.shared.u32 %r6, [%r2];"],
    "matrix of unwritten bytes": [MATRIX, OTHER, "st.shared.u32 [%r3+512], %r8;", BAR, GET],
}


class Memory:
    """Which bytes of device memory are written: at first those of the tested arrays."""

    def __init__(self):
        self.bad = set()

    def unwritten(self, offset, size):
        return np.array([any(int(o) + k in self.bad for k in range(size)) for o in offset], np.bool_)

    def wrote(self, offset, size):
        self.bad -= {int(o) + k for o in offset for k in range(size)}

    def spoiled(self, offset):
        self.bad |= {int(o) for o in offset}


def check(lines, memory=None):
    text = HEAD + "\n".join("  " + line for line in lines) + TAIL
    image = load(orias.compile(text, arch="sm_90", lineinfo=True, keep_warp_barriers=True).data)
    checker = Checker(image, "k", ("initcheck",), memory)
    data = np.arange(64, dtype=np.uint32)
    image.launch("k", 1, 64, [np.zeros(64, np.uint32), data], timing=checker.start, max_steps=100_000)
    return checker.findings


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", GOOD)
def test_no_alarm(name):
    assert [f.lines() for f in check(GOOD[name])] == []


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", BAD)
def test_use_after_a_copy(name):
    found = check(BAD[name])
    assert [f.message.split(" depends")[0] for f in found] == ["a stored value"], [f.lines() for f in found]


@pytest.mark.parametrize("written", [True, False])
def test_a_copy_to_device_memory(written):
    store = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r2], 256;"
    lines = [store, "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", BAR, "ld.global.u32 %r6, [%a2];"]
    found = check([OWN, FENCE, BAR, *lines] if written else lines, Memory())
    assert [f.message.split(" at ")[0] for f in found] == [
        "read of 4 bytes of global memory",
    ] * (not written)
