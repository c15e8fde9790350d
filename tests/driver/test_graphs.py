"""Memory of graphs through the driver's C functions."""

import ctypes
import shutil
from ctypes import byref, c_size_t, c_uint8, c_uint64, c_void_p

import pytest

from tests.driver.test_driver import context, cuda  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
SIZE = 1 << 20
INVALID_VALUE = 1
AUTO_FREE = 1
USED, MOST_USED, RESERVED = 0, 1, 2


class Parameters(ctypes.Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS."""

    _fields_ = [
        ("pool", c_uint8 * 88),
        ("access", c_uint64),
        ("count", c_size_t),
        ("size", c_size_t),
        ("address", c_uint64),
    ]


def create(api):
    graph = c_void_p()
    api("cuGraphCreate", byref(graph), 0)
    return graph


def add_allocation(api, graph):
    given, node = Parameters(size=SIZE), c_void_p()
    api("cuGraphAddMemAllocNode", byref(node), graph, None, c_size_t(0), byref(given))
    return node, given.address


def add_free(api, graph, address, before=None):
    node = c_void_p()
    count = c_size_t(0 if before is None else 1)
    after = None if before is None else byref(before)
    return api.code("cuGraphAddMemFreeNode", byref(node), graph, after, count, c_uint64(address))


def instantiate(api, graph, flags=0):
    executable = c_void_p()
    api("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(flags))
    return executable


def fills(api, address):
    return api.code("cuMemsetD8_v2", c_uint64(address), c_uint8(1), c_size_t(SIZE)) == 0


def count(api, attribute):
    out = c_uint64()
    api("cuDeviceGetGraphMemAttribute", 0, attribute, byref(out))
    return out.value


def test_memory_is_there_from_a_launch_to_its_end(context):  # noqa: F811
    api = context
    graph = create(api)
    _, address = add_allocation(api, graph)
    executable = instantiate(api, graph)
    for _ in range(3):
        assert not fills(api, address)
        api("cuGraphLaunch", executable, None)
        assert fills(api, address)
        assert api.code("cuGraphLaunch", executable, None) == INVALID_VALUE
        api("cuMemFree_v2", c_uint64(address))
    assert api.code("cuMemFree_v2", c_uint64(address)) == INVALID_VALUE


def test_memory_that_the_graph_frees(context):  # noqa: F811
    api = context
    graph = create(api)
    node, address = add_allocation(api, graph)
    fill = (c_uint64 * 5)(address, 0, 7 | 1 << 32, SIZE, 1)
    filled = c_void_p()
    api("cuGraphAddMemsetNode", byref(filled), graph, byref(node), c_size_t(1), fill, None)
    assert add_free(api, graph, address, filled) == 0
    assert add_free(api, graph, address, filled) == INVALID_VALUE
    executable = instantiate(api, graph)
    for _ in range(2):
        api("cuGraphLaunch", executable, None)
        assert not fills(api, address)


def test_memory_that_another_graph_frees(context):  # noqa: F811
    api = context
    graph, other = create(api), create(api)
    _, address = add_allocation(api, graph)
    assert add_free(api, other, address) == 0
    assert add_free(api, graph, address) == INVALID_VALUE
    first, second = instantiate(api, graph), instantiate(api, other)
    for _ in range(2):
        api("cuGraphLaunch", first, None)
        assert fills(api, address)
        api("cuGraphLaunch", second, None)
        assert not fills(api, address)
    assert api.code("cuGraphLaunch", second, None) == INVALID_VALUE


def test_memory_that_the_next_launch_frees(context):  # noqa: F811
    api = context
    graph = create(api)
    _, address = add_allocation(api, graph)
    executable = instantiate(api, graph, AUTO_FREE)
    before = count(api, USED)
    for _ in range(3):
        api("cuGraphLaunch", executable, None)
        assert fills(api, address)
        assert count(api, USED) == before + SIZE
    api("cuMemFree_v2", c_uint64(address))
    assert count(api, USED) == before


def test_captured_allocations_belong_to_the_graph(context):  # noqa: F811
    api = context
    stream, graph, address = c_void_p(), c_void_p(), c_uint64()
    api("cuStreamCreate", byref(stream), 1)
    outside = c_uint64()
    api("cuMemAlloc_v2", byref(outside), c_size_t(SIZE))
    api("cuStreamBeginCapture_v2", stream, 0)
    api("cuMemAllocAsync", byref(address), c_size_t(SIZE), stream)
    assert api.code("cuMemFreeAsync", outside, stream) == INVALID_VALUE
    api("cuMemFreeAsync", address, stream)
    api("cuStreamEndCapture", stream, byref(graph))
    nodes, number, given = (c_void_p * 2)(), c_size_t(2), Parameters()
    api("cuGraphGetNodes", graph, nodes, byref(number))
    api("cuGraphMemAllocNodeGetParams", c_void_p(nodes[0]), byref(given))
    assert (given.size, given.address, given.pool[0]) == (SIZE, address.value, 1)
    freed = c_uint64()
    api("cuGraphMemFreeNodeGetParams", c_void_p(nodes[1]), byref(freed))
    assert freed.value == address.value
    executable = instantiate(api, graph)
    for _ in range(2):
        api("cuGraphLaunch", executable, stream)
    assert not fills(api, address.value)


def test_what_graphs_that_own_memory_refuse(context):  # noqa: F811
    api = context
    graph, parent, node, out = create(api), create(api), c_void_p(), c_void_p()
    allocation, address = add_allocation(api, graph)
    api("cuGraphAddEmptyNode", byref(node), graph, byref(allocation), c_size_t(1))
    assert api.code("cuGraphClone", byref(out), graph) == INVALID_VALUE
    assert api.code("cuGraphDestroyNode", node) == INVALID_VALUE
    assert api.code("cuGraphRemoveDependencies", graph, byref(allocation), byref(node), c_size_t(1)) == INVALID_VALUE
    assert api.code("cuGraphAddChildGraphNode", byref(out), parent, None, c_size_t(0), graph) == INVALID_VALUE
    assert add_free(api, graph, address + 256) == INVALID_VALUE
    executable = instantiate(api, graph)
    assert api.code("cuGraphInstantiateWithFlags", byref(out), graph, c_uint64(0)) == INVALID_VALUE
    api("cuGraphExecDestroy", executable)
    instantiate(api, graph)


def test_memory_that_graphs_keep(context):  # noqa: F811
    api = context
    api("cuDeviceGraphMemTrim", 0)
    used = count(api, USED)
    graphs = [create(api) for _ in range(2)]
    addresses = [add_allocation(api, g)[1] for g in graphs]
    assert (count(api, USED), count(api, RESERVED)) == (used, used)
    for graph in graphs:
        api("cuGraphLaunch", instantiate(api, graph), None)
    assert count(api, USED) == count(api, RESERVED) == used + 2 * SIZE
    for address in addresses:
        api("cuMemFree_v2", c_uint64(address))
    assert (count(api, USED), count(api, RESERVED)) == (used, used + 2 * SIZE)
    api("cuDeviceGraphMemTrim", 0)
    assert count(api, RESERVED) == used
    assert count(api, MOST_USED) >= used + 2 * SIZE
    zero = c_uint64(0)
    api("cuDeviceSetGraphMemAttribute", 0, MOST_USED, byref(zero))
    assert count(api, MOST_USED) == used
    assert api.code("cuDeviceSetGraphMemAttribute", 0, USED, byref(zero)) == INVALID_VALUE
