"""Arrays, textures, surfaces and tensor maps through the driver library."""

import ctypes
import shutil
import struct
from ctypes import byref, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

from orias.sim.matrix.tensor_map import TensorMap
from tests.driver.test_driver import allocate, context, cuda, function, launch

__all__ = ["context", "cuda"]
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
W, H = 8, 4
FLOAT, ARRAY, HOST = 0x20, 3, 1
KERNELS = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry get(.param .u64 t, .param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .f32 %f<8>;
  .reg .b64 %a<4>;
  ld.param.u64 %a0, [t];
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 7;
  shr.u32 %r2, %r0, 3;
  cvt.rn.f32.s32 %f0, %r1;
  cvt.rn.f32.s32 %f1, %r2;
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%a0, {%f0, %f1}];
  mad.wide.u32 %a2, %r0, 4, %a1;
  st.global.f32 [%a2], %f2;
  ret;
}
.visible .entry twice(.param .u64 s)
{
  .reg .b32 %r<8>;
  .reg .b64 %a<2>;
  ld.param.u64 %a0, [s];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 7;
  shl.b32 %r1, %r1, 2;
  shr.u32 %r2, %r0, 3;
  suld.b.2d.b32.trap %r3, [%a0, {%r1, %r2}];
  add.u32 %r3, %r3, %r3;
  sust.b.2d.b32.trap [%a0, {%r1, %r2}], %r3;
  ret;
}
"""


def make_array(cuda):
    handle = c_void_p()
    cuda("cuArray3DCreate_v2", byref(handle), struct.pack("<QQQiIII", W, H, 0, FLOAT, 1, 2, 0))
    return handle


def copy_2d(cuda, kind, end, source_kind, source):
    """Copies all rows between an array and host memory."""

    def part(k, v):
        host, array = (v, 0) if k == HOST else (0, v)
        return struct.pack("<QQiiQQQQ", 0, 0, k, 0, host, 0, array, 4 * W)

    cuda("cuMemcpy2D_v2", part(source_kind, source) + part(kind, end) + struct.pack("<QQ", 4 * W, H))


def texture(cuda, array, filter_=0):
    handle = c_uint64()
    resource = struct.pack("<iiQ", 0, 0, array.value).ljust(144, b"\0")
    look = struct.pack("<iiiiI", 1, 1, 1, filter_, 0).ljust(104, b"\0")
    cuda("cuTexObjectCreate", byref(handle), resource, look, None)
    return handle


def test_texture_and_surface(context):
    cuda = context
    texels = np.arange(W * H, dtype=np.float32)
    array = make_array(cuda)
    copy_2d(cuda, ARRAY, array.value, HOST, texels.ctypes.data)
    t, out = texture(cuda, array), allocate(cuda, texels.nbytes)
    got = np.empty_like(texels)
    assert launch(cuda, function(cuda, KERNELS.encode(), b"get"), 1, W * H, [t, out]) == 0
    cuda("cuMemcpyDtoH_v2", c_void_p(got.ctypes.data), out, c_size_t(got.nbytes))
    assert np.array_equal(got, texels)
    # Linear filtering between the texels at x - 0.5: the mean of two neighbours at whole coordinates.
    mean = texture(cuda, array, 1)
    assert launch(cuda, function(cuda, KERNELS.encode(), b"get"), 1, W * H, [mean, out]) == 0
    cuda("cuMemcpyDtoH_v2", c_void_p(got.ctypes.data), out, c_size_t(got.nbytes))
    assert got[0] == 0 and got[1] == 0.5 and got[W + 1] == 4.5
    # A surface: twice the words of integers.
    words = np.arange(W * H, dtype=np.uint32)
    copy_2d(cuda, ARRAY, array.value, HOST, words.ctypes.data)
    s = c_uint64()
    cuda("cuSurfObjectCreate", byref(s), struct.pack("<iiQ", 0, 0, array.value).ljust(144, b"\0"))
    assert launch(cuda, function(cuda, KERNELS.encode(), b"twice"), 1, W * H, [s]) == 0
    copy_2d(cuda, HOST, words.ctypes.data, ARRAY, array.value)
    assert list(words) == [2 * i for i in range(W * H)]
    for name, handle in ("cuTexObjectDestroy", t), ("cuSurfObjectDestroy", s), ("cuArrayDestroy", array):
        cuda(name, handle)
    assert context.code("cuTexObjectDestroy", t) == 400


def test_linear_filtering_of_integers_is_refused(context):
    handle, t = c_void_p(), c_uint64()
    context("cuArrayCreate_v2", byref(handle), struct.pack("<QQiI", W, H, 3, 1))
    resource = struct.pack("<iiQ", 0, 0, handle.value).ljust(144, b"\0")
    look = struct.pack("<iiiiI", 1, 1, 1, 1, 1).ljust(104, b"\0")
    assert context.code("cuTexObjectCreate", byref(t), resource, look, None) == 1


def test_resource_views(context):
    """A view that shows texels as they are is the resource; others are refused."""
    handle, t = c_void_p(), c_uint64()
    context("cuArrayCreate_v2", byref(handle), struct.pack("<QQiI", W, H, 32, 1))
    resource = struct.pack("<iiQ", 0, 0, handle.value).ljust(144, b"\0")
    look = struct.pack("<iiiiI", 1, 1, 1, 0, 0).ljust(104, b"\0")
    one_float = 22
    for expected, view in (
        (0, (one_float, W, H, 0, 0, 0)),
        (0, (0, W, H, 0, 0, 0)),
        (801, (one_float + 1, W // 2, H, 0, 0, 0)),
        (801, (one_float, W // 2, H, 0, 0, 0)),
        (1, (one_float, W, H, 0, 0, 1)),
    ):
        given = struct.pack("<iiQQQIIII", view[0], 0, *view[1:4], *view[4:], 0, 0).ljust(112, b"\0")
        assert context.code("cuTexObjectCreate", byref(t), resource, look, given) == expected, view


def test_tensor_map(cuda):
    room = ctypes.create_string_buffer(256)
    place = -(-ctypes.addressof(room) // 64) * 64
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    dims, strides, box, steps = (u64 * 2)(64, 32), (u64 * 1)(128), (u32 * 2)(16, 8), (u32 * 2)(1, 1)

    def encode(at, kind=6, swizzle=1):
        address = c_uint64(0x200000000000)
        return cuda.code(
            "cuTensorMapEncodeTiled", c_uint64(at), kind, 2, address, dims, strides, box, steps, 0, swizzle, 0, 0
        )

    assert encode(place) == 0
    made = TensorMap(ctypes.string_at(place, 128))
    assert (made.type, made.dims, made.strides, made.box, made.swizzle) == ("f16", [64, 32], [2, 128], [16, 8], 1)
    assert encode(place + 8) == 1 and encode(place, kind=99) == 1
    # CUtensorMapDataType of cuda.h.
    for kind, name in {7: "f32", 8: "f64", 9: "bf16", 10: "f32.ftz", 11: "tf32", 12: "tf32.ftz"}.items():
        assert encode(place, kind) == 0
        assert TensorMap(ctypes.string_at(place, 128)).type == name
    cuda("cuTensorMapReplaceAddress", c_uint64(place), c_uint64(0x200000001000))
    assert TensorMap(ctypes.string_at(place, 128)).address == 0x200000001000


def test_interleaved_maps_are_encoded_as_documented(cuda):
    buffer = (ctypes.c_ubyte * 256)()
    place = (ctypes.addressof(buffer) + 63) & ~63
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32

    def encode(interleave, swizzle, strides=(32, 256), rank=3, address=0x200000000000):
        dims, box, steps = (u64 * 3)(16, 8, 4), (u32 * 3)(16, 2, 2), (u32 * 3)(1, 1, 1)
        values = c_uint64(address), dims, (u64 * 2)(*strides), box, steps
        return cuda.code("cuTensorMapEncodeTiled", c_uint64(place), 6, rank, *values, interleave, swizzle, 0, 0)

    for interleave, swizzle in [(1, 0), (1, 1), (2, 1)]:
        assert encode(interleave, swizzle) == 0
        made = TensorMap(ctypes.string_at(place, 128))
        assert (made.interleave, made.swizzle, made.dims, made.strides) == (
            interleave,
            swizzle,
            [16, 8, 4],
            [2, 32, 256],
        )
    assert encode(1, 0, (16, 128)) == 0 and encode(1, 0, address=0x200000000010) == 0
    # Slices of 32 bytes: another swizzle, an address and a stride that are no multiples of them; too few dimensions; no such layout.
    assert encode(2, 0) == encode(2, 1, address=0x200000000010) == encode(2, 1, (16, 256)) == 1
    assert encode(1, 0, rank=2) == encode(3, 0) == 1


EDGE = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry edge(.param .align 64 .b8 map[128], .param .u64 out)
{
  .shared .align 128 .b8 buf[256];
  .shared .align 8 .b64 done;
  .reg .b32 %r<6>; .reg .b64 %a<4>; .reg .pred %p<2>;
  mov.b64 %a0, map; cvta.param.u64 %a1, %a0;
  ld.param.u64 %a2, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, buf; mov.u32 %r2, done; mov.u32 %r3, 0;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra WAIT;
  mbarrier.init.shared.b64 [%r2], 1;
  mbarrier.arrive.expect_tx.shared.b64 %a3, [%r2], 256;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%a1, {%r3}], [%r2];
WAIT:
  bar.sync 0;
TRY:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
  @!%p1 bra TRY;
  mad.lo.u32 %r4, %r0, 4, %r1; ld.shared.u32 %r5, [%r4];
  mad.wide.u32 %a2, %r0, 4, %a2; st.global.u32 [%a2], %r5;
  ret;
}
"""


def test_a_box_beyond_the_tensor_is_zero(context):
    """Only the tensor's own memory is read: what lies elsewhere in the process need not be mapped."""
    n = 40
    data, out = np.arange(1, n + 1, dtype=np.uint32), np.ones(64, np.uint32)
    room = ctypes.create_string_buffer(256)
    place = -(-ctypes.addressof(room) // 64) * 64
    p = c_uint64()
    context("cuMemAlloc_v2", byref(p), ctypes.c_size_t(4 * n))
    context("cuMemcpyHtoD_v2", p, c_void_p(data.ctypes.data), ctypes.c_size_t(4 * n))
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    sizes = (u64 * 1)(n), (u64 * 1)(0), (u32 * 1)(64), (u32 * 1)(1)
    context("cuTensorMapEncodeTiled", c_uint64(place), 2, 1, p, *sizes, 0, 0, 0, 0)
    map_ = (ctypes.c_ubyte * 128).from_buffer_copy(ctypes.string_at(place, 128))
    assert launch(context, function(context, EDGE, b"edge"), 1, 64, [map_, c_uint64(out.ctypes.data)]) == 0
    assert context.code("cuCtxSynchronize") == 0
    assert list(out) == [*data, *[0] * (64 - n)]
