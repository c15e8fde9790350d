"""Kernels of CUDA Tile IR, which the driver gives their threads, and parameters of pointers among more than 4,352 bytes of them."""

import ctypes
import shutil
from ctypes import c_int, c_void_p
from struct import pack

import pytest

import orias
from tests.driver.test_driver import allocate, context, cuda, function

__all__ = ["context", "cuda"]
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
CLUSTER = ".reqnctapercluster 2"
KERNEL = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) .reqntid 32 CLUSTER
{
  .reg .b32 %r<5>; .reg .b64 %a<3>;
  ld.param.u64 %a0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %clusterid.x; mov.u32 %r2, %cluster_ctaid.x;
  mad.lo.u32 %r3, %r1, 64, %r0; mad.lo.u32 %r3, %r2, 32, %r3; mul.wide.u32 %a1, %r3, 4; add.u64 %a1, %a0, %a1;
  st.global.u32 [%a1], %r3; ret;
}
"""
API_VERSION, LANGUAGE = bytes((4, 0x37, 4, 0)), bytes((4, 0x66, 4, 0, 7, 0, 0, 0))


def tile(text):
    """A cubin in which a record of the kernel says that it is one of CUDA Tile IR."""
    data = orias.compile(text, arch="sm_90").data
    at = data.index(API_VERSION)
    return data[:at] + LANGUAGE + data[at + 8 :]


def launch(cuda, image, blocks):
    out = allocate(cuda, 1024)
    cuda("cuMemsetD32_v2", out, 0xFFFFFFFF, ctypes.c_size_t(256))
    arguments = (c_void_p * 1)(ctypes.addressof(out))
    f = function(cuda, image, b"k")
    code = cuda.code("cuLaunchKernel", f, blocks, 1, 1, 1, 1, 1, 0, None, arguments, None)
    return code, [c_int.from_address(out.value + 4 * i).value for i in range(256)]


@pytest.mark.parametrize("cluster", ["", CLUSTER])
def test_a_launch_has_blocks_of_tiles(context, cluster):
    code, data = launch(context, tile(KERNEL.replace("CLUSTER", cluster)), 2)
    assert code == 0
    there = [i for i in range(128) if cluster or i % 64 < 32]
    assert data == [i if i in there else -1 for i in range(256)]


def test_other_kernels_have_the_threads_of_the_launch(context):
    assert launch(context, orias.compile(KERNEL.replace("CLUSTER", ""), arch="sm_90").data, 2)[0] == 1


def test_parameters_that_code_of_the_cubin_makes_are_refused(context):
    image = tile(KERNEL.replace("CLUSTER", ""))
    for old, new in (
        (bytes((3, 0x19, 8, 0)), bytes((3, 0x19, 136, 0))),
        (pack("<I", 0x210 | 8 << 16), pack("<I", 0x210 | 136 << 16)),
    ):
        assert image.count(old) == 1
        image = image.replace(old, new)
    assert launch(context, image, 2)[0] == 801


def test_pointers_among_many_parameters(context):
    image = orias.compile(
        KERNEL.replace("CLUSTER", "").replace(
            "(.param .u64 out)", "(.param .u64 .ptr .global .align 4 out, .param .b8 more[8000])"
        ),
        arch="sm_90",
    ).data
    out = allocate(context, 1024)
    more = (ctypes.c_char * 8000)()
    arguments = (c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(more))
    context("cuLaunchKernel", function(context, image, b"k"), 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
    assert [c_int.from_address(out.value + 4 * i).value for i in range(32)] == list(range(32))
