"""The CUDA runtime's graphs: the driver's, with kernels by host address and copies in the runtime's structure."""

import ctypes
from typing import Final

from orias.driver import calls_graph, calls_graph_memory, calls_graph_node, graphs  # noqa: F401 - their functions are entered
from orias.driver.driver_registry import HANDLERS, Handler, call, get32, get64
from orias.driver.driver_state import Driver
from orias.driver.graphs import Node
from orias.driver.runtime_launch import kernel, variable
from orias.driver.runtime_memory import box_of

_COPY_BYTES: Final = 160
"""Bytes of cudaMemcpy3DParms."""
_SAME: Final = (
    "DeviceGetGraphMemAttribute", "DeviceGraphMemTrim", "DeviceSetGraphMemAttribute", "GraphAddChildGraphNode",
    "GraphAddEmptyNode", "GraphAddEventRecordNode", "GraphAddEventWaitNode", "GraphAddHostNode", "GraphAddMemAllocNode",
    "GraphAddMemFreeNode", "GraphChildGraphNodeGetGraph", "GraphClone", "GraphCreate", "GraphDestroy",
    "GraphDestroyNode", "GraphEventRecordNodeGetEvent", "GraphEventWaitNodeGetEvent",
    "GraphExecChildGraphNodeSetParams", "GraphExecDestroy", "GraphExecEventRecordNodeSetEvent", "GraphExecGetFlags",
    "GraphExecHostNodeSetParams", "GraphGetNodes", "GraphGetRootNodes", "GraphHostNodeGetParams",
    "GraphHostNodeSetParams", "GraphInstantiateWithFlags", "GraphInstantiateWithParams", "GraphLaunch",
    "GraphMemAllocNodeGetParams", "GraphMemFreeNodeGetParams", "GraphMemsetNodeGetParams", "GraphMemsetNodeSetParams",
    "GraphNodeFindInClone", "GraphNodeGetEnabled", "GraphNodeGetType", "GraphNodeSetEnabled", "GraphUpload",
    "StreamBeginCaptureToGraph", "StreamEndCapture", "StreamIsCapturing", "ThreadExchangeStreamCaptureMode",
)  # fmt: skip
"""Functions that take what the driver's of the same name take."""
_RENAMED: Final = {
    "cudaStreamBeginCapture": "cuStreamBeginCapture_v2",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cudaGraphExecUpdate": "cuGraphExecUpdate_v2",
    "cudaStreamGetCaptureInfo@12": "cuStreamGetCaptureInfo",
    "cudaStreamGetCaptureInfo@13": "cuStreamGetCaptureInfo_v3",
    "cudaStreamGetCaptureInfo_v2": "cuStreamGetCaptureInfo_v2",
    "cudaStreamGetCaptureInfo_v3": "cuStreamGetCaptureInfo_v3",
}
_EDGES: Final = (
    "GraphAddDependencies", "GraphRemoveDependencies", "GraphGetEdges", "GraphNodeGetDependencies",
    "StreamUpdateCaptureDependencies",
)  # fmt: skip
"""Functions whose form with data of edges has the suffix _v2 in the driver and in CUDA 12, and none in CUDA 13."""


def _enter() -> None:
    names = {f"cuda{n}": f"cu{n}" for n in _SAME} | _RENAMED
    for n in _EDGES:
        names |= {f"cuda{n}@12": f"cu{n}", f"cuda{n}@13": f"cu{n}_v2", f"cuda{n}_v2": f"cu{n}_v2"}
    for name, of in names.items():
        HANDLERS[name] = Handler(HANDLERS[of].function, "runtime")


_enter()


@call("cudaGraphAddKernelNode", needs="runtime")
def add_kernel(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A launch (cudaKernelNodeParams)."""
    launch = calls_graph.launch_of(d, at, kernel(d, get64(at)))
    work = calls_graph.kernel_work(d, launch)
    calls_graph.add(d, place, graph, before, count, graphs.KERNEL, work, launch)


@call("cudaGraphKernelNodeGetParams", needs="runtime")
def get_kernel(d: Driver, node: int, at: int) -> None:
    """The parameters of a launch; the kernel as a handle, which all functions take."""
    calls_graph.get_kernel_params(d, node, at)


@call("cudaGraphKernelNodeSetParams", needs="runtime")
def set_kernel(d: Driver, node: int, at: int) -> None:
    """Change a launch."""
    calls_graph.set_launch(d, d.get(node, Node), calls_graph.launch_of(d, at, kernel(d, get64(at))))


@call("cudaGraphExecKernelNodeSetParams", needs="runtime")
def set_executable_kernel(d: Driver, handle: int, node: int, at: int) -> None:
    """Change a launch of an executable graph."""
    launch = calls_graph.launch_of(d, at, kernel(d, get64(at)))
    calls_graph.set_launch(d, calls_graph.of_executable(d, handle, node), launch)


@call("cudaGraphAddMemcpyNode", needs="runtime")
def add_copy(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A copy (cudaMemcpy3DParms)."""
    given = ctypes.string_at(at, _COPY_BYTES)
    calls_graph.add(d, place, graph, before, count, graphs.COPY, box_of(d, at), given)


def _line(to: int, source: int, size: int) -> bytes:
    """A copy of bytes as cudaMemcpy3DParms."""
    words = [0] * 20
    words[4:8] = source, size, size, 1
    words[12:16] = to, size, size, 1
    words[16:19] = size, 1, 1
    words[19] = 4
    return b"".join((w & (1 << 64) - 1).to_bytes(8, "little") for w in words)


@call("cudaGraphAddMemcpyNode1D", needs="runtime")
def add_line(
    d: Driver, place: int, graph: int, before: int, count: int, to: int, source: int, size: int, kind: int
) -> None:
    """A copy of bytes."""
    given = ctypes.create_string_buffer(_line(to, source, size), _COPY_BYTES)
    add_copy(d, place, graph, before, count, ctypes.addressof(given))


@call("cudaGraphAddMemcpyNodeToSymbol", needs="runtime")
def add_to_symbol(
    d: Driver,
    place: int,
    graph: int,
    before: int,
    count: int,
    host: int,
    source: int,
    size: int,
    offset: int,
    kind: int,
) -> None:
    """A copy to a variable."""
    add_line(d, place, graph, before, count, variable(d, host)[0] + offset, source, size, kind)


@call("cudaGraphAddMemcpyNodeFromSymbol", needs="runtime")
def add_from_symbol(
    d: Driver, place: int, graph: int, before: int, count: int, to: int, host: int, size: int, offset: int, kind: int
) -> None:
    """A copy from a variable."""
    add_line(d, place, graph, before, count, to, variable(d, host)[0] + offset, size, kind)


@call("cudaGraphMemcpyNodeGetParams", needs="runtime")
def get_copy(d: Driver, node: int, at: int) -> None:
    """The parameters of a copy."""
    calls_graph.get_bytes_params(d, node, at)


@call("cudaGraphMemcpyNodeSetParams", needs="runtime")
def set_copy(d: Driver, node: int, at: int) -> None:
    """Change a copy."""
    calls_graph.change(d.get(node, Node), box_of(d, at), ctypes.string_at(at, _COPY_BYTES))


@call("cudaGraphExecMemcpyNodeSetParams", needs="runtime")
def set_executable_copy(d: Driver, handle: int, node: int, at: int) -> None:
    """Change a copy of an executable graph."""
    found = calls_graph.of_executable(d, handle, node)
    calls_graph.change(found, box_of(d, at), ctypes.string_at(at, _COPY_BYTES))


@call("cudaGraphMemcpyNodeSetParams1D", needs="runtime")
def set_line(d: Driver, node: int, to: int, source: int, size: int, kind: int) -> None:
    """Change a copy of bytes."""
    given = ctypes.create_string_buffer(_line(to, source, size), _COPY_BYTES)
    set_copy(d, node, ctypes.addressof(given))


@call("cudaGraphExecMemcpyNodeSetParams1D", needs="runtime")
def set_executable_line(d: Driver, handle: int, node: int, to: int, source: int, size: int, kind: int) -> None:
    """Change a copy of bytes of an executable graph."""
    given = ctypes.create_string_buffer(_line(to, source, size), _COPY_BYTES)
    set_executable_copy(d, handle, node, ctypes.addressof(given))


@call("cudaGraphConditionalHandleCreate", needs="runtime")
def create_condition(d: Driver, place: int, graph: int, value: int, flags: int) -> None:
    """A condition."""
    calls_graph_node.create_condition(d, place, graph, 0, value, flags)


@call("cudaGraphAddNode@12", needs="runtime")
def add_node(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A node of any kind (cudaGraphNodeParams)."""
    kind, own = get32(at), at + calls_graph_node.PARAMETERS
    if kind == graphs.KERNEL:
        add_kernel(d, place, graph, before, count, own)
    elif kind == graphs.COPY:
        add_copy(d, place, graph, before, count, own + calls_graph_node.COPY)
    else:
        calls_graph_node.add_other(d, place, graph, before, count, at)


@call("cudaGraphAddNode@13", "cudaGraphAddNode_v2", needs="runtime")
def add_node_2(d: Driver, place: int, graph: int, before: int, edges: int, count: int, at: int) -> None:
    """The same with data of edges, which has no effect."""
    add_node(d, place, graph, before, count, at)


@call("cudaGraphAddMemsetNode", needs="runtime")
def add_fill(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A fill."""
    calls_graph.add_fill(d, place, graph, before, count, at, 0)


@call("cudaGraphExecMemsetNodeSetParams", needs="runtime")
def set_executable_fill(d: Driver, handle: int, node: int, at: int) -> None:
    """Change a fill of an executable graph."""
    calls_graph.set_executable_fill(d, handle, node, at, 0)


@call("cudaGraphDebugDotPrint", needs="runtime")
def print_graph(d: Driver, graph: int, path: int, flags: int) -> None:
    """Write a graph for Graphviz."""
    calls_graph.print_graph(d, graph, path, flags)


@call("cudaGraphNodeGetDependentNodes@12", needs="runtime")
def get_after(d: Driver, node: int, places: int, count: int) -> None:
    """The nodes that follow a node."""
    calls_graph.get_after(d, node, places, count)


@call("cudaGraphNodeGetDependentNodes@13", "cudaGraphNodeGetDependentNodes_v2", needs="runtime")
def get_after_2(d: Driver, node: int, places: int, data: int, count: int) -> None:
    """The same; edges have no data."""
    calls_graph.get_after(d, node, places, count)
