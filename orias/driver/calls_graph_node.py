"""Nodes of graphs by one structure for all kinds (CUgraphNodeParams), and conditional nodes.

The structure has the kind in its first word and the parameters of the kind from byte 16 on (cuda.h of CUDA 13).
"""

import ctypes
from typing import Final

from orias.driver import calls_graph, calls_graph_memory, graphs
from orias.driver.driver_registry import call, get32, get64, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.graphs import Branches, Condition, Graph
from orias.driver.host_memory import enough_memory
from orias.driver.results import DriverError

PARAMETERS: Final = 16
"""Where the parameters of a kind begin."""
COPY: Final = 16
"""Where, in those of a copy, the structure of the copy begins."""
_ASSIGN_DEFAULT: Final = 1
"""CU_GRAPH_COND_ASSIGN_DEFAULT."""
_SIZES: Final = {graphs.IF: range(1, 3), graphs.WHILE: range(1, 2), graphs.SWITCH: range(1, 1 << 16)}
"""How many bodies a kind of conditional node may have; the last bound is ours."""


@call("cuGraphConditionalHandleCreate")
def create_condition(d: Driver, place: int, graph: int, context: int, value: int, flags: int) -> None:
    """A condition; its handle is the address of the word that has it."""
    if u(flags, 32) not in (0, _ASSIGN_DEFAULT):
        raise DriverError("INVALID_VALUE", f"flags {flags}")
    found: Graph = d.get(graph, Graph)
    with enough_memory():
        address = d.arena.allocate(4, "condition")
    condition = Condition(address, u(value, 32) if flags else None)
    put32(address, u(value, 32))
    found.conditions.append(condition)
    d.conditions[address] = condition
    put64(place, address)


@call("cuGraphAddNode")
def add_node(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A node of any kind."""
    kind = get32(at)
    if kind == graphs.KERNEL:
        kernel = get64(at + PARAMETERS) or get64(at + PARAMETERS + 56)
        launch = calls_graph.launch_of(d, at + PARAMETERS, kernel)
        work = calls_graph.kernel_work(d, launch)
        calls_graph.add(d, place, graph, before, count, kind, work, launch)
    elif kind == graphs.COPY:
        calls_graph.add_copy(d, place, graph, before, count, at + PARAMETERS + COPY, 0)
    else:
        add_other(d, place, graph, before, count, at)


@call("cuGraphAddNode_v2")
def add_node_2(d: Driver, place: int, graph: int, before: int, edges: int, count: int, at: int) -> None:
    """The same with data of edges, which has no effect."""
    add_node(d, place, graph, before, count, at)


def add_other(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """A node that is no kernel and no copy: the structures of the driver and the runtime are the same."""
    kind, own = get32(at), at + PARAMETERS
    where = d, place, graph, before, count
    if kind == graphs.FILL:
        calls_graph.add_fill(*where, own, 0)
    elif kind == graphs.HOST:
        calls_graph.add_host(*where, own)
    elif kind == graphs.CHILD:
        calls_graph.add_child(*where, get64(own))
    elif kind == graphs.EMPTY:
        calls_graph.add_empty(*where)
    elif kind == graphs.WAIT:
        calls_graph.add_wait(*where, get64(own))
    elif kind == graphs.RECORD:
        calls_graph.add_record(*where, get64(own))
    elif kind == graphs.ALLOCATE:
        calls_graph_memory.add_allocation(*where, own)
    elif kind == graphs.FREE:
        calls_graph_memory.add_free(*where, get64(own))
    elif kind == graphs.CONDITIONAL:
        _add_conditional(*where, own)
    else:
        raise DriverError("NOT_SUPPORTED", f"nodes of kind {kind}")


def _add_conditional(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """Bodies that a condition chooses from; the program fills them, and finds their handles at the address that is stored."""
    condition = d.conditions.get(get64(at))
    kind, size = get32(at + 8), get32(at + 12)
    if condition is None or size not in _SIZES.get(kind, ()):
        raise DriverError("INVALID_VALUE", f"no condition, kind {kind} or {size} bodies")
    bodies = [Graph() for _ in range(size)]
    handles = (ctypes.c_uint64 * size)(*[d.new(b) for b in bodies])
    branches = Branches(condition, kind, bodies, handles)
    # What runs is a copy, made when the graph is instantiated.
    calls_graph.add(d, place, graph, before, count, graphs.CONDITIONAL, graphs.nothing, branches)
    put64(at + 16, ctypes.addressof(handles))
