"""Memory of graphs through the driver's C functions."""

import ctypes
import shutil
from ctypes import byref, c_size_t, c_uint8, c_uint64, c_void_p

import pytest

from tests.driver.test_driver import allocate, context, cuda, function  # noqa: F401 - fixtures

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


KERNELS = b"""
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

// *p += step; the condition is the sum.
.visible .entry count(.param .u64 p, .param .u32 step, .param .u64 handle)
{
    .reg .pred %q;
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    .param .b64 a;
    .param .b32 b;
    ld.param.u64 %d0, [p];
    ld.param.u32 %r0, [step];
    ld.param.u64 %d1, [handle];
    ld.global.u32 %r1, [%d0];
    add.u32 %r1, %r1, %r0;
    st.global.u32 [%d0], %r1;
    setp.eq.u64 %q, %d1, 0;
    @%q ret;
    st.param.b64 [a], %d1;
    st.param.b32 [b], %r1;
    call.uni cudaGraphSetConditional, (a, b);
    ret;
}
"""
KERNEL, FILL, CONDITIONAL, RESERVED_KIND = 0, 2, 13, 16
IF, WHILE, SWITCH = 0, 1, 2
ASSIGN_DEFAULT = 1
NOT_SUPPORTED = 801


class Conditions:
    """A graph whose nodes count in an array of words."""

    def __init__(self, api, words):
        self.api = api
        self.count = function(api, KERNELS, b"count")
        self.words = allocate(api, 4 * words)
        self.size = words
        self.graph = create(api)
        self.last = {}
        self.keep = []

    def condition(self, value=0, flags=0):
        handle = c_uint64()
        self.api("cuGraphConditionalHandleCreate", byref(handle), self.graph, None, value, flags)
        return handle.value

    def node(self, graph, kind, *words):
        """Adds a node at the end of a graph by the structure for all kinds; returns the structure."""
        given = (c_uint64 * 32)(kind, 0, *words)
        node, last = c_void_p(), self.last.get(graph.value)
        before = None if last is None else byref(last)
        code = self.api.code("cuGraphAddNode", byref(node), graph, before, c_size_t(last is not None), given)
        assert code == 0, code
        self.last[graph.value] = node
        return given

    def step(self, graph, word, step, handle=0):
        arguments = c_uint64(self.words.value + 4 * word), ctypes.c_int32(step), c_uint64(handle)
        places = (c_void_p * 3)(*[ctypes.addressof(a) for a in arguments])
        self.keep += arguments, places
        one = 1 | 1 << 32
        self.node(graph, KERNEL, self.count.value, one, one, one, 0, ctypes.addressof(places))

    def bodies(self, graph, handle, kind, size):
        given = self.node(graph, CONDITIONAL, handle, kind | size << 32)
        return [c_void_p(h) for h in (c_uint64 * size).from_address(given[4])]

    def run(self, executable, *values):
        """Launches with these values of the words; returns those after."""
        words = (ctypes.c_int32 * self.size)(*values)
        self.api("cuMemcpyHtoD_v2", self.words, words, c_size_t(4 * self.size))
        self.api("cuGraphLaunch", executable, None)
        self.api("cuMemcpyDtoH_v2", words, self.words, c_size_t(4 * self.size))
        return list(words)


def test_bodies_run_while_a_kernel_sets_the_condition(context):  # noqa: F811
    c = Conditions(context, 3)
    again = c.condition(1, ASSIGN_DEFAULT)
    (body,) = c.bodies(c.graph, again, WHILE, 1)
    c.step(body, 1, 10)
    c.step(body, 0, -1, again)
    c.step(c.graph, 2, 7)
    executable = instantiate(context, c.graph)
    assert c.run(executable, 4, 0, 0) == [0, 40, 7]
    # The default holds at the start of each launch.
    assert c.run(executable, 2, 0, 0) == [0, 20, 7]


def test_a_condition_without_default_stays_as_it_is(context):  # noqa: F811
    c = Conditions(context, 2)
    again = c.condition()
    (body,) = c.bodies(c.graph, again, WHILE, 1)
    c.step(body, 0, -1, again)
    c.step(c.graph, 1, 1)
    assert c.run(instantiate(context, c.graph), 4, 0) == [4, 1]


@pytest.mark.parametrize(
    ("value", "size", "expected"), [(1, 2, [10, 0]), (0, 2, [0, 20]), (0, 1, [0, 0]), (-1, 1, [10, 0])]
)
def test_one_of_two_bodies_runs(context, value, size, expected):  # noqa: F811
    c = Conditions(context, 3)
    chosen = c.condition()
    c.step(c.graph, 0, 0, chosen)
    for i, body in enumerate(c.bodies(c.graph, chosen, IF, size)):
        c.step(body, 1 + i, 10 * (i + 1))
    assert c.run(instantiate(context, c.graph), value, 0, 0) == [value, *expected]


@pytest.mark.parametrize("value", range(4))
def test_the_body_of_a_number_runs(context, value):  # noqa: F811
    c = Conditions(context, 4)
    chosen = c.condition(value, ASSIGN_DEFAULT)
    for i, body in enumerate(c.bodies(c.graph, chosen, SWITCH, 3)):
        c.step(body, i, 1)
    assert c.run(instantiate(context, c.graph), 0, 0, 0, 0) == [int(i == value < 3) for i in range(4)]


def test_bodies_with_conditions(context):  # noqa: F811
    c = Conditions(context, 3)
    again, odd = c.condition(1, ASSIGN_DEFAULT), c.condition(5, ASSIGN_DEFAULT)
    (body,) = c.bodies(c.graph, again, WHILE, 1)
    (inner,) = c.bodies(body, odd, IF, 1)
    c.step(inner, 1, -1, odd)
    c.step(body, 2, 1)
    c.step(body, 0, -1, again)
    executable = instantiate(context, c.graph)
    # The condition of the inner node is 0 after it has run once.
    assert c.run(executable, 3, 1, 0) == [0, 0, 3]
    assert c.run(executable, 2, 2, 0) == [0, 0, 2]


def test_bodies_are_as_they_were_when_the_graph_was_instantiated(context):  # noqa: F811
    c = Conditions(context, 1)
    (body,) = c.bodies(c.graph, c.condition(1, ASSIGN_DEFAULT), IF, 1)
    c.step(body, 0, 1)
    executable = instantiate(context, c.graph)
    c.step(body, 0, 10)
    assert c.run(executable, 0) == [1]
    info = (c_uint64 * 4)()
    context("cuGraphExecUpdate_v2", executable, c.graph, info)
    assert c.run(executable, 0) == [11]


def test_what_graphs_with_conditions_refuse(context):  # noqa: F811
    api = context
    c = Conditions(api, 1)
    condition = c.condition(1, ASSIGN_DEFAULT)
    given = (c_uint64 * 32)(CONDITIONAL, 0, condition, WHILE | 2 << 32)
    node, other = c_void_p(), c_void_p()
    assert api.code("cuGraphAddNode", byref(node), c.graph, None, c_size_t(0), given) == INVALID_VALUE
    given = (c_uint64 * 32)(CONDITIONAL, 0, condition + 4, WHILE | 1 << 32)
    assert api.code("cuGraphAddNode", byref(node), c.graph, None, c_size_t(0), given) == INVALID_VALUE
    given = (c_uint64 * 32)(RESERVED_KIND, 0)
    assert api.code("cuGraphAddNode", byref(node), c.graph, None, c_size_t(0), given) == NOT_SUPPORTED
    handle = c_uint64()
    assert api.code("cuGraphConditionalHandleCreate", byref(handle), c.graph, None, 1, 2) == INVALID_VALUE
    c.bodies(c.graph, condition, IF, 1)
    assert api.code("cuGraphClone", byref(other), c.graph) == NOT_SUPPORTED
    parent = create(api)
    assert api.code("cuGraphAddChildGraphNode", byref(node), parent, None, c_size_t(0), c.graph) == NOT_SUPPORTED
    executable = instantiate(api, c.graph)
    assert api.code("cuGraphInstantiateWithFlags", byref(other), c.graph, c_uint64(0)) == INVALID_VALUE
    api("cuGraphExecDestroy", executable)
    instantiate(api, c.graph)


def test_nodes_by_one_structure(context):  # noqa: F811
    api = context
    c = Conditions(api, 2)
    c.node(c.graph, FILL, c.words.value, 0, 7 | 4 << 32, 2, 1)
    c.step(c.graph, 0, 1)
    c.node(c.graph, 5)
    copy = (c_uint64 * 25)()
    copy[4], copy[6] = 2, c.words.value  # From and to device memory.
    copy[15], copy[17] = 2, c.words.value + 4
    copy[22:25] = 4, 1, 1
    c.node(c.graph, 1, 0, 0, *copy)
    child = create(api)
    c.node(c.graph, 4, child.value)
    assert c.run(instantiate(api, c.graph), 0, 0) == [8, 8]
    kinds = (c_void_p * 5)()
    number = c_size_t(5)
    api("cuGraphGetNodes", c.graph, kinds, byref(number))
    kind = ctypes.c_int()
    found = []
    for node in kinds[: number.value]:
        api("cuGraphNodeGetType", c_void_p(node), byref(kind))
        found.append(kind.value)
    assert found == [FILL, KERNEL, 5, 1, 4]
