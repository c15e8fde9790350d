"""Where memory is, or who has access to it (CUmemLocation): the device, the host, or a NUMA node of the host."""

import os
from typing import Final

from orias.driver.driver_registry import get32
from orias.driver.results import DriverError

DEVICE: Final = 1
HOST: Final = 2
NODE: Final = 3
"""CUmemLocationType."""


def location(at: int, any_node: bool = False) -> int:
    """The kind of a location.  `any_node`: the number of a node does not count.

    Fails for the device of another number, a node that the system has not, and what is no kind of location or one that this
    use of it excludes (the node of the calling thread).
    """
    kind, number = get32(at), get32(at + 4)
    if kind == DEVICE and number:
        raise DriverError("INVALID_DEVICE", f"device {number}")
    if kind == NODE and number and not any_node and not os.path.isdir(f"/sys/devices/system/node/node{number}"):
        raise DriverError("INVALID_VALUE", f"there is no NUMA node {number}")
    if kind not in (DEVICE, HOST, NODE):
        raise DriverError("INVALID_VALUE", f"location of kind {kind}")
    return kind
