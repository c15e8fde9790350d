"""Graphs: nodes of work with dependencies, the streams that record them, and their execution in order."""

from collections.abc import Callable
from typing import Any, Final

from orias.driver.driver_registry import get32, put32
from orias.driver.driver_state import Driver, Stream
from orias.driver.results import DriverError

KERNEL, COPY, FILL, HOST, CHILD, EMPTY, WAIT, RECORD, ALLOCATE, FREE, CONDITIONAL = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 13
"""CUgraphNodeType."""
ACTIVE, INVALIDATED = 1, 2
"""CUstreamCaptureStatus."""
IF, WHILE, SWITCH = 0, 1, 2
"""CUgraphConditionalNodeType."""
Work = Callable[[], None]


def nothing() -> None:
    """The work of an empty node."""


class Node:
    """A node: its kind, its work, the nodes before it, and the bytes that its parameters were given as."""

    def __init__(self, kind: int, work: Work, before: list["Node"], details: Any = None) -> None:
        self.kind: Final = kind
        self.work = work
        self.before: Final = before
        self.details = details
        """What was given: an object of the kind (parameters, a graph, an event)."""
        self.enabled = True
        self.handle = 0
        self.like: Node | None = None
        """The node that this one is a copy of."""


class Condition:
    """What a conditional node asks: a word of device memory at ``address``, which kernels set; ``first``: its value at the start
    of each launch of the graph, None if it has none."""

    def __init__(self, address: int, first: int | None) -> None:
        self.address: Final = address
        self.first: Final = first

    def start(self) -> None:
        """Gives it its first value."""
        if self.first is not None:
            put32(self.address, self.first)

    @property
    def value(self) -> int:
        """What was set last."""
        return get32(self.address)


class Branches:
    """What a conditional node runs: ``bodies`` by a condition as its ``kind`` says; ``handles`` are theirs."""

    def __init__(self, condition: Condition, kind: int, bodies: list["Graph"], handles: Any) -> None:
        self.condition: Final = condition
        self.kind: Final = kind
        self.bodies: Final = bodies
        self.handles: Final = handles

    def copied(self, d: Driver) -> "Branches":
        """The same with copies of the bodies."""
        return Branches(self.condition, self.kind, [b.copied(d) for b in self.bodies], self.handles)

    def work(self) -> Work:
        """Their run; the bodies are as they are now."""
        bodies = [Executable(b) for b in self.bodies]

        def run() -> None:
            value = self.condition.value
            if self.kind == WHILE:
                while self.condition.value:
                    bodies[0].run()
                return
            number = value if self.kind == SWITCH else int(value == 0)
            if number < len(bodies):
                bodies[number].run()

        return run


class Graph:
    """A graph; ``nodes`` in the order in which they were added, ``conditions`` that were made for it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.conditions: list[Condition] = []

    def has_memory(self) -> bool:
        """Whether nodes allocate or free memory."""
        return any(n.kind in (ALLOCATE, FREE) for n in self.nodes)

    def has_conditions(self) -> bool:
        """Whether nodes are conditional."""
        return any(n.kind == CONDITIONAL for n in self.nodes)

    def all_conditions(self) -> list[Condition]:
        """Those of the graph and of the bodies of its nodes."""
        inner = [c for n in self.nodes if n.kind == CONDITIONAL for b in n.details.bodies for c in b.all_conditions()]
        return [*self.conditions, *inner]

    def ordered(self) -> list[Node]:
        """The nodes, each after all that it depends on; INVALID_VALUE if there is a cycle."""
        left, done, out = list(self.nodes), set[int](), list[Node]()
        while left:
            ready = [n for n in left if all(id(b) in done for b in n.before)]
            if not ready:
                raise DriverError("INVALID_VALUE", "the graph has a cycle")
            out += ready
            done |= {id(n) for n in ready}
            left = [n for n in left if id(n) not in done]
        return out

    def copied(self, d: Driver) -> "Graph":
        """A graph with copies of the nodes."""
        graph, copies = Graph(), dict[int, Node]()
        graph.conditions = self.conditions
        for n in self.ordered():
            copy = Node(n.kind, n.work, [copies[id(b)] for b in n.before], n.details)
            if n.kind == CONDITIONAL:
                copy.details = n.details.copied(d)
                copy.work = copy.details.work()
            copy.enabled, copy.like = n.enabled, n
            copy.handle = d.new(copy)
            copies[id(n)] = copy
            graph.nodes.append(copy)
        return graph


class Executable:
    """An instantiated graph: copies of its nodes in order; ``flags`` of CUgraphInstantiate_flags."""

    def __init__(self, graph: Graph, flags: int = 0) -> None:
        self.nodes: Final = graph.ordered()
        self.conditions: Final = graph.all_conditions()
        self.flags: Final = flags

    def is_of(self, graph: Graph) -> bool:
        """Whether its nodes are copies of those of a graph."""
        return any(n.like in graph.nodes for n in self.nodes)

    def run(self) -> None:
        """Does the work of all nodes."""
        for n in self.nodes:
            if n.enabled:
                n.work()

    def node(self, like: Node) -> Node:
        """The copy of a node of the graph."""
        for n in self.nodes:
            if n.like is like or n is like:
                return n
        raise DriverError("INVALID_VALUE", "the node is not in the graph")


class Capture:
    """What streams record: a graph, and for each stream the nodes that its next work follows."""

    def __init__(self, graph: Graph, graph_handle: int, origin: Stream, after: list[Node], number: int) -> None:
        self.graph: Final = graph
        self.graph_handle: Final = graph_handle
        self.origin: Final = origin
        self.number: Final = number
        self.status = ACTIVE
        self.last: dict[Stream, list[Node]] = {origin: after}


def capture_of(d: Driver, stream: int) -> tuple[Capture, Stream] | None:
    """The capture that a stream records for and the stream's object, None if it executes."""
    found = d.stream(stream)
    return None if found is None or found.capture is None else (found.capture, found)


def add(d: Driver, graph: Graph, kind: int, work: Work, before: list[Node], details: Any = None) -> Node:
    """A new node of a graph, with a handle."""
    node = Node(kind, work, before, details)
    node.handle = d.new(node)
    graph.nodes.append(node)
    return node


def submit(d: Driver, stream: int, kind: int, work: Work, details: Any = None) -> None:
    """Does work of a stream now, or records it where the stream is captured."""
    recording = capture_of(d, stream)
    if recording is None:
        work()
        return
    capture, key = recording
    if capture.status != ACTIVE:
        raise DriverError("STREAM_CAPTURE_INVALIDATED")
    capture.last[key] = [add(d, capture.graph, kind, work, capture.last[key], details)]


def refuse_capture(d: Driver, stream: int) -> None:
    """Fails, and ends the capture, if a stream that is captured would have to execute now."""
    recording = capture_of(d, stream)
    if recording is not None:
        recording[0].status = INVALIDATED
        raise DriverError("STREAM_CAPTURE_UNSUPPORTED")
