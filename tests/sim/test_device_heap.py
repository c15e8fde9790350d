"""``malloc`` in a kernel takes memory from a heap of 8 MiB, and gives a null pointer when it is full."""

import numpy as np
import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.core.device_heap import GUARD, SIZE
from orias.sim.ptx import PtxImage

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry take(.param .u64 out, .param .u64 size, .param .u32 back)
{
    .reg .b64 %o, %n, %p, %k;
    .reg .b32 %t, %b, %v;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %n, [size];
    ld.param.u32 %b, [back];
    { .param .b64 a; .param .b64 r; st.param.b64 [a], %n; call (r), malloc, (a); ld.param.b64 %p, [r]; }
    mov.u32 %t, %ctaid.x;
    mov.u32 %v, %ntid.x;
    mul.lo.u32 %t, %t, %v;
    mov.u32 %v, %tid.x;
    add.u32 %t, %t, %v;
    mul.wide.u32 %k, %t, 8;
    add.u64 %k, %k, %o;
    st.global.u64 [%k], %p;
    setp.eq.u64 %q, %p, 0;
    @%q exit;
    st.u8 [%p], %t;
    setp.eq.u32 %q, %b, 0;
    @%q exit;
    { .param .b64 a; st.param.b64 [a], %p; call free, (a); }
    ret;
}
"""


@pytest.fixture(params=["ptx", "cubin"])
def image(request: pytest.FixtureRequest) -> sim.Image | PtxImage:
    if request.param == "ptx":
        return PtxImage(parse(TEXT, "heap.ptx"), "sm_80")
    return sim.load(orias.compile(TEXT, arch="sm_80").data)


def taken(image: sim.Image | PtxImage, blocks: int, size: int, back: int = 0) -> int:
    """How many of 32 threads of each block get memory."""
    out = np.zeros(32 * blocks, np.uint64)
    image.launch("take", blocks, 32, [out, np.uint64(size), np.uint32(back)])
    given = out[out != 0]
    assert len(set(given.tolist())) == len(given)
    return len(given)


def test_the_heap_is_full(image: sim.Image | PtxImage) -> None:
    assert taken(image, 1, SIZE // 8) == 8
    assert taken(image, 1, 1) == 0


def test_what_is_given_back_is_there_again(image: sim.Image | PtxImage) -> None:
    assert taken(image, 1, SIZE // 32, 1) == 32
    assert taken(image, 1, SIZE // 32) == 32
    assert taken(image, 1, 16) == 0
    image.arena.heap.resize(SIZE + 64)
    assert taken(image, 1, 16) == 4


def test_many_small_objects_take_little(image: sim.Image | PtxImage) -> None:
    """A mutant of a case had 1,025 blocks that take such objects: 1.2 GB of gaps between them."""
    assert taken(image, 256, 1) == 8192
    assert image.arena.top < 4096 * (GUARD + 16) + 4096 * 128 + (1 << 20)
