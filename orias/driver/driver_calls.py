"""All functions of the driver, the runtime and the management library: importing the families enters them."""

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
    management_calls,
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
    "management_calls",
    "runtime_calls",
    "runtime_graph",
    "runtime_launch",
    "runtime_memory",
    "runtime_texture",
]
