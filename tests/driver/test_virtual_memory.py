"""Virtual memory management through the driver's C functions."""

import ctypes
import os
import shutil
from ctypes import byref, c_int, c_size_t, c_uint8, c_uint64, c_void_p

import numpy as np
import pytest

from tests.driver.test_driver import SAXPY, context, cuda, function, launch  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
INVALID_VALUE, INVALID_DEVICE, NOT_SUPPORTED = 1, 101, 801
READ_WRITE = 3
DEVICE, HOST, NODE, OWN_NODE = 1, 2, 3, 4
MIB = 1 << 20


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", c_int), ("handles", c_int), ("location", c_int), ("device", c_int), ("rest", c_uint8 * 16)]


PROPERTIES = Properties(1, 1, DEVICE, 0)


def granularity(api):
    size = c_size_t()
    api("cuMemGetAllocationGranularity", byref(size), byref(PROPERTIES), 0)
    return size.value


def create(api, size, properties=PROPERTIES):
    handle = c_uint64()
    api("cuMemCreate", byref(handle), c_size_t(size), byref(properties), c_uint64(0))
    return handle


def reserve(api, size):
    address = c_uint64()
    api("cuMemAddressReserve", byref(address), c_size_t(size), c_size_t(0), c_uint64(0), c_uint64(0))
    return address.value


def put(api, address, size, handle, offset=0):
    return api.code("cuMemMap", c_uint64(address), c_size_t(size), c_size_t(offset), handle, c_uint64(0))


def allow(api, address, size, flags=READ_WRITE, who=DEVICE):
    return api.code("cuMemSetAccess", c_uint64(address), c_size_t(size), (c_int * 3)(who, 0, flags), c_size_t(1))


def unmap(api, address, size):
    return api.code("cuMemUnmap", c_uint64(address), c_size_t(size))


def fill(api, address, value, size):
    return api.code("cuMemsetD8_v2", c_uint64(address), c_uint8(value), c_size_t(size))


def read(api, address, size):
    out = np.zeros(size, np.uint8)
    api("cuMemcpyDtoH_v2", c_void_p(out.ctypes.data), c_uint64(address), c_size_t(size))
    return out


def free_bytes(api):
    free, total = c_size_t(), c_size_t()
    api("cuMemGetInfo_v2", byref(free), byref(total))
    return free.value


def test_memory_grows_at_its_address(context):  # noqa: F811
    api = context
    part = granularity(api)
    before = free_bytes(api)
    start = reserve(api, 4 * part)
    for i in range(2):
        handle = create(api, part)
        assert put(api, start + i * part, part, handle) == 0
        assert fill(api, start + i * part, 1, part) == INVALID_VALUE
        assert allow(api, start + i * part, part) == 0
        api("cuMemRelease", handle)
    assert fill(api, start, 7, 2 * part) == 0
    assert (read(api, start + part - 8, 16) == 7).all()
    assert fill(api, start, 7, 2 * part + 1) == INVALID_VALUE
    n = 1000
    y = np.ones(n, np.float32)
    api("cuMemcpyHtoD_v2", c_uint64(start + part), c_void_p(y.ctypes.data), c_size_t(y.nbytes))
    arguments = [c_uint64(start + part), c_uint64(start + part), ctypes.c_float(2), c_int(n)]
    assert launch(api, function(api, SAXPY, b"saxpy"), 8, 128, arguments) == 0
    assert (read(api, start + part, y.nbytes).view(np.float32) == 3).all()
    assert free_bytes(api) == before - 2 * part
    assert unmap(api, start, 2 * part) == 0
    assert free_bytes(api) == before
    assert fill(api, start, 1, 1) == INVALID_VALUE
    api("cuMemAddressFree", c_uint64(start), c_size_t(4 * part))


def test_the_same_memory_at_two_addresses(context):  # noqa: F811
    api = context
    part = granularity(api)
    one, other, handle = reserve(api, 2 * part), reserve(api, part), create(api, 2 * part)
    assert put(api, one, 2 * part, handle) == put(api, other, part, handle, part) == 0
    assert allow(api, one, 2 * part) == allow(api, other, part) == 0
    assert fill(api, other, 9, part) == 0
    assert (read(api, one + part, part) == 9).all()
    assert (read(api, one, part) == 0).all()
    assert unmap(api, other, part) == 0
    assert (read(api, one + part, part) == 9).all()
    access, again, given = c_uint64(), c_uint64(), Properties()
    api("cuMemGetAccess", byref(access), (c_int * 2)(1, 0), c_uint64(one))
    assert access.value == READ_WRITE
    api("cuMemRetainAllocationHandle", byref(again), c_uint64(one + part))
    assert again.value == handle.value
    api("cuMemGetAllocationPropertiesFromHandle", byref(given), handle)
    assert bytes(given) == bytes(PROPERTIES)
    for _ in range(2):
        api("cuMemRelease", handle)
    assert api.code("cuMemRelease", handle) == INVALID_VALUE


def test_memory_by_a_descriptor(context):  # noqa: F811
    api = context
    part = granularity(api)
    handle, descriptor, other = create(api, part), c_int(), c_uint64()
    api("cuMemExportToShareableHandle", byref(descriptor), handle, 1, c_uint64(0))
    api("cuMemImportFromShareableHandle", byref(other), c_void_p(descriptor.value), 1)
    os.close(descriptor.value)
    places = reserve(api, 2 * part)
    assert put(api, places, part, handle) == put(api, places + part, part, other) == 0
    assert allow(api, places, 2 * part) == 0
    assert fill(api, places, 5, part) == 0
    assert (read(api, places + part, part) == 5).all()


def test_what_is_refused(context):  # noqa: F811
    api = context
    part = granularity(api)
    start, handle, out = reserve(api, 2 * part), create(api, part), c_uint64()
    assert put(api, start + 4096, part, handle) == INVALID_VALUE
    assert put(api, start, 2 * part, handle) == INVALID_VALUE
    assert put(api, start + 2 * part, part, handle) == INVALID_VALUE
    assert put(api, start, part, handle) == 0
    assert put(api, start, part, handle) == INVALID_VALUE
    assert allow(api, start, 2 * part) == INVALID_VALUE
    assert allow(api, start, part) == 0
    assert api.code("cuMemFree_v2", c_uint64(start)) == INVALID_VALUE
    assert api.code("cuMemAddressFree", c_uint64(start), c_size_t(2 * part)) == INVALID_VALUE
    assert unmap(api, start, 2 * part) == INVALID_VALUE
    assert allow(api, start, part, 0) == 0
    assert fill(api, start, 1, 1) == INVALID_VALUE
    wrong = c_size_t(part + MIB)
    assert api.code("cuMemCreate", byref(out), wrong, byref(PROPERTIES), c_uint64(0)) == INVALID_VALUE


def access(api, address, who):
    found = c_uint64()
    api("cuMemGetAccess", byref(found), (c_int * 2)(who, 0), c_uint64(address))
    return found.value


@pytest.mark.parametrize("properties", [Properties(1, 0, HOST, 7), Properties(1, 1, NODE, 0)], ids=["host", "node"])
def test_memory_of_the_host(context, properties):  # noqa: F811
    api = context
    part, before = granularity(api), free_bytes(api)
    handle, given, start = create(api, part, properties), Properties(), reserve(api, part)
    assert free_bytes(api) == before
    api("cuMemGetAllocationPropertiesFromHandle", byref(given), handle)
    assert bytes(given) == bytes(properties)
    assert put(api, start, part, handle) == 0
    assert allow(api, start, part, who=HOST) == 0
    assert fill(api, start, 1, 1) == INVALID_VALUE
    assert (access(api, start, DEVICE), access(api, start, HOST)) == (0, READ_WRITE)
    assert allow(api, start, part) == 0
    n = 1000
    ctypes.memset(start, 0, 4 * n)
    arguments = [c_uint64(start), c_uint64(start), ctypes.c_float(2), c_int(n)]
    np.ctypeslib.as_array((ctypes.c_float * n).from_address(start))[:] = 1
    assert launch(api, function(api, SAXPY, b"saxpy"), 8, 128, arguments) == 0
    assert (np.ctypeslib.as_array((ctypes.c_float * n).from_address(start)) == 3).all()
    assert allow(api, start, part, who=NODE) == (0 if properties.location == NODE else INVALID_VALUE)
    assert unmap(api, start, part) == 0
    api("cuMemRelease", handle)
    assert free_bytes(api) == before


def test_a_descriptor_of_the_hosts_memory(context):  # noqa: F811
    api = context
    part, before = granularity(api), free_bytes(api)
    handle, descriptor, other, given = create(api, part, Properties(1, 1, NODE, 0)), c_int(), c_uint64(), Properties()
    api("cuMemExportToShareableHandle", byref(descriptor), handle, 1, c_uint64(0))
    api("cuMemImportFromShareableHandle", byref(other), c_void_p(descriptor.value), 1)
    os.close(descriptor.value)
    api("cuMemGetAllocationPropertiesFromHandle", byref(given), other)
    assert (given.location, free_bytes(api)) == (NODE, before)


@pytest.mark.parametrize(
    "properties, code",
    [
        (Properties(1, 1, HOST, 0), INVALID_VALUE),
        (Properties(1, 0, OWN_NODE, 0), INVALID_VALUE),
        (Properties(1, 0, NODE, 9999), INVALID_VALUE),
        (Properties(1, 0, 0, 0), INVALID_VALUE),
        (Properties(1, 0, DEVICE, 1), INVALID_DEVICE),
    ],
)
def test_places_that_are_refused(context, properties, code):  # noqa: F811
    out, size = c_uint64(), c_size_t(granularity(context))
    assert context.code("cuMemCreate", byref(out), size, byref(properties), c_uint64(0)) == code
    assert context.code("cuMemGetAllocationGranularity", byref(size), byref(properties), 0) == code


def test_access_of_the_host_to_memory_of_the_device(context):  # noqa: F811
    api = context
    part = granularity(api)
    start = reserve(api, part)
    assert put(api, start, part, create(api, part)) == 0
    for who in (HOST, NODE, OWN_NODE):
        assert allow(api, start, part, who=who) == INVALID_VALUE


def test_a_pool_of_the_hosts_memory(context):  # noqa: F811
    pool, properties = c_void_p(), (ctypes.c_uint8 * 96)(1)
    for kind, code in ((DEVICE, 0), (HOST, NOT_SUPPORTED), (NODE, NOT_SUPPORTED), (OWN_NODE, INVALID_VALUE)):
        properties[8] = kind
        assert context.code("cuMemPoolCreate", byref(pool), properties) == code
