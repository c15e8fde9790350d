"""Bytes at generic addresses, as one thread sees them: for functions of the system."""

import numpy as np

from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U64
from orias.sim.sass.memory_places import GENERIC, places


def bytes_at(m: Machine, one: Active, address: int, size: int) -> bytes:
    """Reads."""
    p = places(m, one, GENERIC, np.array([address], U64), size, size)[0]
    o = int(p.offset[0])
    return p.flat.data[o : o + size].tobytes()


def put_at(m: Machine, one: Active, address: int, data: bytes) -> None:
    """Writes."""
    p = places(m, one, GENERIC, np.array([address], U64), len(data), len(data))[0]
    o = int(p.offset[0])
    p.flat.data[o : o + len(data)] = np.frombuffer(data, np.uint8)
