"""Graphs: capture of streams, nodes, instantiation, launches."""

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from orias.driver import graphs
from orias.driver.calls_launch import Launch, prepared, run
from orias.driver.calls_memory import box, fill_work, free, row_copies
from orias.driver.calls_stream import host_work
from orias.driver.driver_registry import call, get32, get64, get_string, put32, put64, put_string, u
from orias.driver.driver_state import Driver, Event, Stream
from orias.driver.graphs import Capture, Executable, Graph, Node
from orias.driver.results import DriverError

_KERNEL_BYTES: Final = 56
"""Bytes of CUDA_KERNEL_NODE_PARAMS that are read: function, grid, block, shared bytes, parameters."""
_FILL_BYTES: Final = 40
_COPY_BYTES: Final = 200
_AUTO_FREE: Final = 1
"""CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH; the other flags have no effect."""
_KINDS: Final = {
    graphs.KERNEL: "kernel", graphs.COPY: "copy", graphs.FILL: "fill", graphs.HOST: "host", graphs.CHILD: "graph",
    graphs.EMPTY: "empty", graphs.WAIT: "wait", graphs.RECORD: "record", graphs.ALLOCATE: "allocate", graphs.FREE: "free",
    graphs.CONDITIONAL: "conditional",
}  # fmt: skip


# -- capture


@call("cuStreamBeginCapture_v2")
def begin(d: Driver, stream: int, mode: int) -> None:
    """Record the work of a stream."""
    graph = Graph()
    _begin(d, stream, graph, d.new(graph), [])


@call("cuStreamBeginCaptureToGraph")
def begin_to(d: Driver, stream: int, graph: int, nodes: int, edges: int, count: int, mode: int) -> None:
    """Record the work of a stream at the end of a graph."""
    _begin(d, stream, d.get(graph, Graph), graph, _nodes(d, nodes, count))


def _begin(d: Driver, stream: int, graph: Graph, handle: int, after: list[Node]) -> None:
    found = d.stream(stream)
    if found is None:
        raise DriverError("STREAM_CAPTURE_UNSUPPORTED", "a default stream")
    if found.capture is not None:
        raise DriverError("ILLEGAL_STATE", "the stream is captured")
    found.capture = Capture(graph, handle, found, after, handle)


@call("cuStreamEndCapture")
def end(d: Driver, stream: int, place: int) -> None:
    """The graph of what was recorded; a program that has given the graph itself needs no place for it."""
    capture, own = _recording(d, stream)
    if capture.origin is not own:
        raise DriverError("STREAM_CAPTURE_UNMATCHED")
    joined = _all_before(capture.last[own])
    for other in capture.last:
        other.capture = None
    broken = capture.status != graphs.ACTIVE
    unjoined = any(id(n) not in joined for last in capture.last.values() for n in last)
    capture.status = 0
    if place:
        put64(place, 0)
    if broken:
        raise DriverError("STREAM_CAPTURE_INVALIDATED")
    if unjoined:
        raise DriverError("STREAM_CAPTURE_UNJOINED")
    if place:
        put64(place, capture.graph_handle)


def _all_before(nodes: Sequence[Node]) -> set[int]:
    out, left = set[int](), list(nodes)
    while left:
        n = left.pop()
        if id(n) not in out:
            out.add(id(n))
            left += n.before
    return out


@call("cuStreamIsCapturing")
def is_capturing(d: Driver, stream: int, place: int) -> None:
    """Whether a stream is captured."""
    recording = graphs.capture_of(d, stream)
    put32(place, recording[0].status if recording else 0)


def _info(d: Driver, stream: int, status: int, number: int) -> tuple[Capture, list[Node]] | None:
    """The capture of a stream with the nodes that its next work follows."""
    recording = graphs.capture_of(d, stream)
    put32(status, recording[0].status if recording else 0)
    if recording is None:
        return None
    capture, own = recording
    if number:
        put64(number, capture.number)
    return capture, capture.last[own]


def _recording(d: Driver, stream: int) -> tuple[Capture, Stream]:
    """The capture of a stream that must have one, and the stream's object."""
    recording = graphs.capture_of(d, stream)
    if recording is None:
        raise DriverError("ILLEGAL_STATE", "the stream is not captured")
    return recording


@call("cuStreamGetCaptureInfo")
def info_1(d: Driver, stream: int, status: int, number: int) -> None:
    """Status and number of a capture."""
    _info(d, stream, status, number)


@call("cuStreamGetCaptureInfo_v2")
def info_2(d: Driver, stream: int, status: int, number: int, graph: int, nodes: int, count: int) -> None:
    """The same with its graph and the nodes that the next work follows."""
    info_3(d, stream, status, number, graph, nodes, 0, count)


@call("cuStreamGetCaptureInfo_v3")
def info_3(d: Driver, stream: int, status: int, number: int, graph: int, nodes: int, edges: int, count: int) -> None:
    """The same; edges have no data."""
    found = _info(d, stream, status, number)
    if found is None:
        return
    capture, last = found
    if graph:
        put64(graph, capture.graph_handle)
    if nodes:
        buffer = d.keep[f"capture {stream}"] = (ctypes.c_uint64 * max(1, len(last)))(*[n.handle for n in last])
        put64(nodes, ctypes.addressof(buffer))
    if edges:
        put64(edges, 0)
    if count:
        put64(count, len(last))


@call("cuStreamUpdateCaptureDependencies")
def update_dependencies(d: Driver, stream: int, nodes: int, count: int, flags: int) -> None:
    """Change the nodes that the next work of a captured stream follows: add (0) or replace (1)."""
    capture, own = _recording(d, stream)
    old = capture.last[own] if flags == 0 else []
    capture.last[own] = old + [n for n in _nodes(d, nodes, count) if n not in old]


@call("cuStreamUpdateCaptureDependencies_v2")
def update_dependencies_2(d: Driver, stream: int, nodes: int, edges: int, count: int, flags: int) -> None:
    """The same with data of edges, which has no effect."""
    update_dependencies(d, stream, nodes, count, flags)


@call("cuThreadExchangeStreamCaptureMode")
def capture_mode(d: Driver, place: int) -> None:
    """Modes make no difference: nothing that a mode forbids does harm here."""
    old = d.keep.get("capture mode", 0)
    d.keep["capture mode"] = get32(place)
    put32(place, old)


# -- graphs


@call("cuGraphCreate")
def create(d: Driver, place: int, flags: int) -> None:
    """An empty graph."""
    put64(place, d.new(Graph()))


@call("cuGraphDestroy")
def destroy(d: Driver, graph: int) -> None:
    """End a graph."""
    for n in d.drop(graph, Graph).nodes:
        d.handles.pop(n.handle, None)


@call("cuGraphClone")
def clone(d: Driver, place: int, graph: int) -> None:
    """A copy."""
    put64(place, d.new(_plain(d.get(graph, Graph)).copied(d)))


def _without_memory(graph: Graph) -> Graph:
    """Fails for a graph with nodes of memory: they cannot be copied or taken away."""
    if graph.has_memory():
        raise DriverError("INVALID_VALUE", "the graph allocates or frees memory")
    return graph


def _plain(graph: Graph) -> Graph:
    """Fails for a graph that cannot be cloned or be the child of another one."""
    if graph.has_conditions():
        raise DriverError("NOT_SUPPORTED", "the graph has conditional nodes")
    return _without_memory(graph)


@call("cuGraphNodeFindInClone")
def find_in_clone(d: Driver, place: int, node: int, graph: int) -> None:
    """The copy of a node."""
    original = d.get(node, Node)
    found = next((n for n in d.get(graph, Graph).nodes if n.like is original), None)
    if found is None:
        raise DriverError("INVALID_VALUE", "no copy of the node")
    put64(place, found.handle)


def _nodes(d: Driver, places: int, count: int) -> list[Node]:
    return [d.get(get64(places + 8 * i), Node) for i in range(u(count))]


def _give(nodes: list[Node], places: int, count: int) -> None:
    """Stores handles; without a place, only how many there are."""
    if places:
        room = get64(count)
        for i in range(room):
            put64(places + 8 * i, nodes[i].handle if i < len(nodes) else 0)
        put64(count, min(room, len(nodes)))
    else:
        put64(count, len(nodes))


@call("cuGraphGetNodes")
def get_nodes(d: Driver, graph: int, places: int, count: int) -> None:
    """All nodes."""
    _give(d.get(graph, Graph).nodes, places, count)


@call("cuGraphGetRootNodes")
def get_roots(d: Driver, graph: int, places: int, count: int) -> None:
    """The nodes that follow none."""
    _give([n for n in d.get(graph, Graph).nodes if not n.before], places, count)


@call("cuGraphGetEdges")
def get_edges(d: Driver, graph: int, starts: int, ends: int, count: int) -> None:
    """All pairs of nodes, one of which follows the other."""
    edges = [(b, n) for n in d.get(graph, Graph).nodes for b in n.before]
    room = get64(count)
    put64(count, min(room, len(edges)) if starts else len(edges))
    for i, (b, n) in enumerate(edges[:room] if starts else []):
        put64(starts + 8 * i, b.handle)
        put64(ends + 8 * i, n.handle)


@call("cuGraphGetEdges_v2")
def get_edges_2(d: Driver, graph: int, starts: int, ends: int, data: int, count: int) -> None:
    """The same; edges have no data."""
    get_edges(d, graph, starts, ends, count)


@call("cuGraphNodeGetDependencies")
def get_before(d: Driver, node: int, places: int, count: int) -> None:
    """The nodes that a node follows."""
    _give(d.get(node, Node).before, places, count)


@call("cuGraphNodeGetDependencies_v2")
def get_before_2(d: Driver, node: int, places: int, data: int, count: int) -> None:
    """The same; edges have no data."""
    get_before(d, node, places, count)


@call("cuGraphNodeGetDependentNodes")
def get_after(d: Driver, node: int, places: int, count: int) -> None:
    """The nodes that follow a node."""
    found = d.get(node, Node)
    graph = next(g for g in d.handles.values() if isinstance(g, Graph) and found in g.nodes)
    _give([n for n in graph.nodes if found in n.before], places, count)


@call("cuGraphNodeGetDependentNodes_v2")
def get_after_2(d: Driver, node: int, places: int, data: int, count: int) -> None:
    """The same; edges have no data."""
    get_after(d, node, places, count)


@call("cuGraphDebugDotPrint")
def print_graph(d: Driver, graph: int, path: int, flags: int) -> None:
    """Write a graph for Graphviz."""
    nodes = d.get(graph, Graph).nodes
    number = {id(n): i for i, n in enumerate(nodes)}
    lines = [f'n{i} [label="{i}: {_KINDS.get(n.kind, n.kind)}"];' for i, n in enumerate(nodes)]
    lines += [f"n{number[id(b)]} -> n{number[id(n)]};" for n in nodes for b in n.before]
    try:
        with open(get_string(path), "w", encoding="utf-8") as f:
            f.write("digraph {\n" + "\n".join(lines) + "\n}\n")
    except OSError as e:
        raise DriverError("OPERATING_SYSTEM", str(e)) from None


@call("cuGraphAddDependencies")
def add_dependencies(d: Driver, graph: int, starts: int, ends: int, count: int) -> None:
    """Let nodes follow others."""
    d.get(graph, Graph)
    for b, n in zip(_nodes(d, starts, count), _nodes(d, ends, count), strict=True):
        if b in n.before:
            raise DriverError("INVALID_VALUE", "the dependency exists")
        n.before.append(b)


@call("cuGraphAddDependencies_v2")
def add_dependencies_2(d: Driver, graph: int, starts: int, ends: int, data: int, count: int) -> None:
    """The same with data of edges, which has no effect."""
    add_dependencies(d, graph, starts, ends, count)


@call("cuGraphRemoveDependencies")
def remove_dependencies(d: Driver, graph: int, starts: int, ends: int, count: int) -> None:
    """Let nodes follow others no more."""
    _without_memory(d.get(graph, Graph))
    for b, n in zip(_nodes(d, starts, count), _nodes(d, ends, count), strict=True):
        if b not in n.before:
            raise DriverError("INVALID_VALUE", "there is no such dependency")
        n.before.remove(b)


@call("cuGraphRemoveDependencies_v2")
def remove_dependencies_2(d: Driver, graph: int, starts: int, ends: int, data: int, count: int) -> None:
    """The same with data of edges."""
    remove_dependencies(d, graph, starts, ends, count)


@call("cuGraphDestroyNode")
def destroy_node(d: Driver, node: int) -> None:
    """Take a node out of its graph."""
    found = d.get(node, Node)
    holding = [_without_memory(g) for g in d.handles.values() if isinstance(g, Graph) and found in g.nodes]
    d.drop(node, Node)
    for graph in holding:
        graph.nodes.remove(found)
        for n in graph.nodes:
            if found in n.before:
                n.before.remove(found)


# -- nodes


def add(d: Driver, place: int, graph: int, before: int, count: int, kind: int, work: graphs.Work, details: Any) -> None:
    """Adds a node to a graph."""
    node = graphs.add(d, d.get(graph, Graph), kind, work, _nodes(d, before, count), details)
    put64(place, node.handle)


def launch_of(d: Driver, at: int, kernel: int) -> Launch:
    """The launch of a structure of parameters (CUDA_KERNEL_NODE_PARAMS) with a kernel."""
    sizes = [get32(at + 8 + 4 * i) for i in range(7)]
    return prepared(d, kernel, sizes, get64(at + 40), get64(at + 48))


def kernel_work(d: Driver, launch: Launch) -> graphs.Work:
    """The run of a kernel."""
    return lambda: run(d, launch)


@call("cuGraphAddKernelNode")
def add_kernel(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A launch."""
    launch = launch_of(d, at, get64(at))
    add(d, place, graph, before, count, graphs.KERNEL, kernel_work(d, launch), launch)


@call("cuGraphAddKernelNode_v2")
def add_kernel_2(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A launch of a function or a kernel."""
    launch = launch_of(d, at, get64(at) or get64(at + 56))
    add(d, place, graph, before, count, graphs.KERNEL, kernel_work(d, launch), launch)


@call("cuGraphAddMemcpyNode")
def add_copy(d: Driver, place: int, graph: int, before: int, count: int, at: int, context: int) -> None:
    """A copy (CUDA_MEMCPY3D)."""
    add(d, place, graph, before, count, graphs.COPY, row_copies(d, *box(d, at)), ctypes.string_at(at, _COPY_BYTES))


def fill_of(d: Driver, at: int) -> graphs.Work:
    """The fill of a structure of parameters (CUDA_MEMSET_NODE_PARAMS)."""
    to, pitch, value, size = get64(at), get64(at + 8), get32(at + 16), get32(at + 20)
    return fill_work(d, to, pitch, value, size, get64(at + 24), get64(at + 32))


@call("cuGraphAddMemsetNode")
def add_fill(d: Driver, place: int, graph: int, before: int, count: int, at: int, context: int) -> None:
    """A fill."""
    add(d, place, graph, before, count, graphs.FILL, fill_of(d, at), ctypes.string_at(at, _FILL_BYTES))


@call("cuGraphAddHostNode")
def add_host(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A call of a function of the host."""
    given = get64(at), get64(at + 8)
    add(d, place, graph, before, count, graphs.HOST, host_work(*given), given)


@call("cuGraphAddChildGraphNode")
def add_child(d: Driver, place: int, graph: int, before: int, count: int, child: int) -> None:
    """A copy of another graph."""
    copy = _plain(d.get(child, Graph)).copied(d)
    add(d, place, graph, before, count, graphs.CHILD, Executable(copy).run, (d.new(copy), copy))


@call("cuGraphAddEmptyNode")
def add_empty(d: Driver, place: int, graph: int, before: int, count: int) -> None:
    """No work."""
    add(d, place, graph, before, count, graphs.EMPTY, graphs.nothing, None)


def _record(d: Driver, event: int) -> graphs.Work:
    found: Event = d.get(event, Event)
    return lambda: found.record(d.timeline)


@call("cuGraphAddEventRecordNode")
def add_record(d: Driver, place: int, graph: int, before: int, count: int, event: int) -> None:
    """A record of an event."""
    add(d, place, graph, before, count, graphs.RECORD, _record(d, event), event)


@call("cuGraphAddEventWaitNode")
def add_wait(d: Driver, place: int, graph: int, before: int, count: int, event: int) -> None:
    """A wait for an event: what was before it is done."""
    d.get(event, Event)
    add(d, place, graph, before, count, graphs.WAIT, graphs.nothing, event)


@call("cuGraphEventRecordNodeGetEvent", "cuGraphEventWaitNodeGetEvent")
def get_event(d: Driver, node: int, place: int) -> None:
    """The event of a node."""
    put64(place, d.get(node, Node).details)


@call("cuGraphNodeGetType")
def node_type(d: Driver, node: int, place: int) -> None:
    """The kind of a node."""
    put32(place, d.get(node, Node).kind)


@call("cuGraphChildGraphNodeGetGraph")
def child_graph(d: Driver, node: int, place: int) -> None:
    """The graph of a node."""
    put64(place, d.get(node, Node).details[0])


def put_launch(d: Driver, node: Node, at: int, kernel: int) -> None:
    """Stores the parameters of a launch; those of the kernel are kept."""
    launch: Launch = node.details
    buffers = [ctypes.create_string_buffer(a, len(a)) for a in launch.arguments]
    pointers = (ctypes.c_void_p * max(1, len(buffers)))(*[ctypes.addressof(b) for b in buffers])
    d.keep[f"parameters {node.handle}"] = buffers, pointers
    ctypes.memset(at, 0, _KERNEL_BYTES)
    put64(at, kernel)
    for i, value in enumerate((*launch.grid, *launch.block, launch.shared)):
        put32(at + 8 + 4 * i, value)
    put64(at + 40, ctypes.addressof(pointers))


@call("cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2")
def get_kernel_params(d: Driver, node: int, at: int) -> None:
    """The parameters of a launch."""
    found = d.get(node, Node)
    put_launch(d, found, at, found.details.kernel)


@call("cuGraphMemcpyNodeGetParams", "cuGraphMemsetNodeGetParams")
def get_bytes_params(d: Driver, node: int, at: int) -> None:
    """The parameters of a copy or a fill, as they were given."""
    given = d.get(node, Node).details
    if not given:
        raise DriverError("NOT_SUPPORTED", "the parameters of captured work of this kind")
    ctypes.memmove(at, given, len(given))


@call("cuGraphHostNodeGetParams")
def get_host_params(d: Driver, node: int, at: int) -> None:
    """Function and data of a node."""
    function, data = d.get(node, Node).details
    put64(at, function)
    put64(at + 8, data)


def set_launch(d: Driver, node: Node, launch: Launch) -> None:
    """Changes a launch."""
    node.details, node.work = launch, kernel_work(d, launch)


@call("cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2")
def set_kernel_params(d: Driver, node: int, at: int) -> None:
    """Change a launch."""
    set_launch(d, d.get(node, Node), launch_of(d, at, get64(at)))


@call("cuGraphMemcpyNodeSetParams")
def set_copy_params(d: Driver, node: int, at: int) -> None:
    """Change a copy."""
    change(d.get(node, Node), row_copies(d, *box(d, at)), ctypes.string_at(at, _COPY_BYTES))


@call("cuGraphMemsetNodeSetParams")
def set_fill_params(d: Driver, node: int, at: int) -> None:
    """Change a fill."""
    change(d.get(node, Node), fill_of(d, at), ctypes.string_at(at, _FILL_BYTES))


@call("cuGraphHostNodeSetParams")
def set_host_params(d: Driver, node: int, at: int) -> None:
    """Change a call."""
    given = get64(at), get64(at + 8)
    change(d.get(node, Node), host_work(*given), given)


def change(node: Node, work: graphs.Work, details: Any) -> None:
    """Changes what a node does."""
    node.work, node.details = work, details


# -- instantiated graphs


def executable(d: Driver, graph: int, flags: int) -> int:
    """The handle of an instantiated copy; there is at most one at a time of a graph with memory or conditional nodes."""
    found = d.get(graph, Graph)
    alone = found.has_memory() or found.has_conditions()
    if alone and any(isinstance(e, Executable) and e.is_of(found) for e in d.handles.values()):
        raise DriverError("INVALID_VALUE", "the graph has memory or conditional nodes, and has an executable")
    return d.new(Executable(found.copied(d), u(flags)))


@call("cuGraphInstantiateWithFlags")
def instantiate(d: Driver, place: int, graph: int, flags: int) -> None:
    """An executable graph."""
    put64(place, executable(d, graph, flags))


@call("cuGraphInstantiate", "cuGraphInstantiate_v2")
def instantiate_2(d: Driver, place: int, graph: int, node: int, text: int, size: int) -> None:
    """The same with a place for messages."""
    if text:
        put_string(text, size, b"")
    put64(place, executable(d, graph, 0))


@call("cuGraphInstantiateWithParams")
def instantiate_with(d: Driver, place: int, graph: int, at: int) -> None:
    """The same with a structure of parameters."""
    put64(place, executable(d, graph, get64(at)))
    put32(at + 24, 0)


@call("cuGraphExecDestroy")
def destroy_executable(d: Driver, handle: int) -> None:
    """End an executable graph."""
    d.drop(handle, Executable)


@call("cuGraphExecGetFlags")
def executable_flags(d: Driver, handle: int, place: int) -> None:
    """The flags that it was made with."""
    put64(place, d.get(handle, Executable).flags)


@call("cuGraphUpload")
def upload(d: Driver, handle: int, stream: int) -> None:
    """Nothing to prepare."""
    d.get(handle, Executable)
    d.stream(stream)


@call("cuGraphLaunch")
def launch(d: Driver, handle: int, stream: int) -> None:
    """Do the work of all nodes."""
    found = d.get(handle, Executable)
    graphs.submit(d, stream, graphs.CHILD, lambda: _run(d, found))


def _run(d: Driver, found: Executable) -> None:
    """Does the work; memory that the launch before left is freed first, where the graph was made so; conditions begin anew."""
    if found.flags & _AUTO_FREE:
        for n in found.nodes:
            if n.kind == graphs.ALLOCATE and d.graph_memory.is_live(n.details):
                free(d, n.details.address)
    for c in found.conditions:
        c.start()
    found.run()


@call("cuGraphExecUpdate_v2")
def update(d: Driver, handle: int, graph: int, at: int) -> None:
    """Take the work of a graph of the same form."""
    found, given = d.get(handle, Executable), d.get(graph, Graph)
    # The bodies of conditional nodes may change later.
    new = (given.copied(d) if given.has_conditions() else given).ordered()
    put32(at, 0)
    if [n.kind for n in found.nodes] != [n.kind for n in new]:
        put32(at, 2)
        raise DriverError("GRAPH_EXEC_UPDATE_FAILURE", "the graph has another form")
    for n, like in zip(found.nodes, new, strict=True):
        n.work, n.details, n.like = like.work, like.details, like.like or like


@call("cuGraphExecUpdate")
def update_1(d: Driver, handle: int, graph: int, node: int, result: int) -> None:
    """The same with other places for the result."""
    put64(node, 0)
    put32(result, 0)
    buffer = ctypes.create_string_buffer(32)
    try:
        update(d, handle, graph, ctypes.addressof(buffer))
    except DriverError:
        put32(result, 2)
        raise


def of_executable(d: Driver, handle: int, node: int) -> Node:
    """The copy of a node in an executable graph."""
    found: Executable = d.get(handle, Executable)
    return found.node(d.get(node, Node))


@call("cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2")
def set_executable_kernel(d: Driver, handle: int, node: int, at: int) -> None:
    """Change a launch."""
    set_launch(d, of_executable(d, handle, node), launch_of(d, at, get64(at)))


@call("cuGraphExecMemcpyNodeSetParams")
def set_executable_copy(d: Driver, handle: int, node: int, at: int, context: int) -> None:
    """Change a copy."""
    change(of_executable(d, handle, node), row_copies(d, *box(d, at)), ctypes.string_at(at, _COPY_BYTES))


@call("cuGraphExecMemsetNodeSetParams")
def set_executable_fill(d: Driver, handle: int, node: int, at: int, context: int) -> None:
    """Change a fill."""
    change(of_executable(d, handle, node), fill_of(d, at), ctypes.string_at(at, _FILL_BYTES))


@call("cuGraphExecHostNodeSetParams")
def set_executable_host(d: Driver, handle: int, node: int, at: int) -> None:
    """Change a call."""
    given = get64(at), get64(at + 8)
    change(of_executable(d, handle, node), host_work(*given), given)


@call("cuGraphExecEventRecordNodeSetEvent")
def set_executable_record(d: Driver, handle: int, node: int, event: int) -> None:
    """Change an event."""
    change(of_executable(d, handle, node), _record(d, event), event)


@call("cuGraphExecChildGraphNodeSetParams")
def set_executable_child(d: Driver, handle: int, node: int, child: int) -> None:
    """Change a graph."""
    copy = _plain(d.get(child, Graph)).copied(d)
    change(of_executable(d, handle, node), Executable(copy).run, (d.new(copy), copy))


@call("cuGraphNodeSetEnabled")
def set_enabled(d: Driver, handle: int, node: int, enabled: int) -> None:
    """Leave a node out, or not."""
    of_executable(d, handle, node).enabled = bool(enabled)


@call("cuGraphNodeGetEnabled")
def get_enabled(d: Driver, handle: int, node: int, place: int) -> None:
    """Whether a node runs."""
    put32(place, int(of_executable(d, handle, node).enabled))
