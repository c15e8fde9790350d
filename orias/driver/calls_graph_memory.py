"""Memory of graphs: nodes that allocate and free it, and what a device keeps for them."""

import ctypes
from typing import Final

from orias.driver import graphs
from orias.driver.calls_graph import add
from orias.driver.calls_memory import ALLOCATION_BYTES, free_work, graph_allocation, provide_work
from orias.driver.driver_registry import call, get64, put64, u
from orias.driver.driver_state import Driver
from orias.driver.graph_memory import MOST_RESERVED, MOST_USED
from orias.driver.graphs import Graph, Node
from orias.driver.results import DriverError

_ADDRESS_AT: Final = ALLOCATION_BYTES - 8


@call("cuGraphAddMemAllocNode")
def add_allocation(d: Driver, place: int, graph: int, before: int, count: int, at: int) -> None:
    """Memory at an address that is known from now on."""
    given = ctypes.string_at(at, _ADDRESS_AT)
    allocation = graph_allocation(d, d.get(graph, Graph), given)
    put64(at + _ADDRESS_AT, allocation.address)
    add(d, place, graph, before, count, graphs.ALLOCATE, provide_work(d, allocation), allocation)


@call("cuGraphMemAllocNodeGetParams")
def allocation_params(d: Driver, node: int, at: int) -> None:
    """The parameters of such a node."""
    found = _node(d, node, graphs.ALLOCATE).details
    ctypes.memmove(at, found.given + found.address.to_bytes(8, "little"), ALLOCATION_BYTES)


@call("cuGraphAddMemFreeNode")
def add_free(d: Driver, place: int, graph: int, before: int, count: int, address: int) -> None:
    """The end of memory that a graph owns."""
    allocation = d.graph_memory.freed_by(u(address), d.get(graph, Graph))
    add(d, place, graph, before, count, graphs.FREE, free_work(d, allocation), allocation)


@call("cuGraphMemFreeNodeGetParams")
def free_params(d: Driver, node: int, place: int) -> None:
    """The address of such a node."""
    put64(place, _node(d, node, graphs.FREE).details.address)


def _node(d: Driver, node: int, kind: int) -> Node:
    found: Node = d.get(node, Node)
    if found.kind != kind:
        raise DriverError("INVALID_VALUE", "a node of another kind")
    return found


@call("cuDeviceGraphMemTrim", needs="init")
def trim(d: Driver, number: int) -> None:
    """Give back what no graph uses now."""
    d.graph_memory.trim()


@call("cuDeviceGetGraphMemAttribute", needs="init")
def memory_attribute(d: Driver, number: int, attribute: int, place: int) -> None:
    """Bytes that graphs use or keep."""
    if not 0 <= attribute < len(d.graph_memory.bytes):
        raise DriverError("INVALID_VALUE", f"attribute {attribute}")
    put64(place, d.graph_memory.bytes[attribute])


@call("cuDeviceSetGraphMemAttribute", needs="init")
def set_memory_attribute(d: Driver, number: int, attribute: int, place: int) -> None:
    """Let a greatest number begin again."""
    if attribute not in (MOST_USED, MOST_RESERVED) or get64(place):
        raise DriverError("INVALID_VALUE", "only the greatest numbers can be set, and to 0")
    d.graph_memory.reset(attribute)
