"""All functions of the driver: importing the families enters them."""

from orias.driver import calls_device, calls_launch, calls_memory, calls_module, calls_stream
from orias.driver.driver_registry import HANDLERS

__all__ = ["HANDLERS", "calls_device", "calls_launch", "calls_memory", "calls_module", "calls_stream"]
