"""All functions of the driver and the runtime: importing the families enters them."""

from orias.driver import (
    calls_device,
    calls_graph,
    calls_graph_memory,
    calls_graph_node,
    calls_interprocess,
    calls_launch,
    calls_memory,
    calls_module,
    calls_stream,
    calls_texture,
    calls_virtual,
    runtime_calls,
    runtime_graph,
    runtime_launch,
    runtime_memory,
    runtime_texture,
)
from orias.driver.driver_registry import HANDLERS

__all__ = [
    "HANDLERS",
    "calls_device",
    "calls_graph",
    "calls_graph_memory",
    "calls_graph_node",
    "calls_interprocess",
    "calls_launch",
    "calls_memory",
    "calls_module",
    "calls_stream",
    "calls_texture",
    "calls_virtual",
    "runtime_calls",
    "runtime_graph",
    "runtime_launch",
    "runtime_memory",
    "runtime_texture",
]
