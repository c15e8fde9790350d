"""What is computed from registers once and used again while they, and the threads, stay the same: pairs and addresses.

Addresses of a base register with different offsets are common (unrolled loops), and most of an access is work on addresses.
An entry of ``Machine.derived`` is valid for one set of threads and the stamps of its registers.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64

Arr = npt.NDArray[Any]

_PAIR: Final = 0
_GLOBAL: Final = 1
SHARED: Final = 2
_S32: Final = np.uint64(32)


class Near(NamedTuple):
    """Addresses as offsets in a memory.

    `low`, `high`: the lowest and highest offset in the memory (without that of the bank); `bits`: ones where any has ones below 32;
    `word`: numbers of 32-bit words in the whole memory.
    """

    low: int
    high: int
    bits: int
    word: Arr


def keep_pair(m: Machine, a: Active, p: int, v: Arr) -> None:
    """Notes the value of a register pair."""
    m.derived[_PAIR, p] = (a, m.stamp[p], m.stamp[p + 1], v)


def pair_of(m: Machine, a: Active, p: int) -> Arr:
    """The value of a register pair; read-only."""
    if not m.deriving:
        return m.pair(p, a.sel)
    known = m.derived.get((_PAIR, p))
    if known is not None and known[0] is a and known[1] == m.stamp[p] and known[2] == m.stamp[p + 1]:
        found: Arr = known[3]
        return found
    v = m.pair(p, a.sel)
    keep_pair(m, a, p, v)
    return v


def near_global(m: Machine, a: Active, p: int) -> Near:
    """The global addresses in a register pair."""
    known = m.derived.get((_GLOBAL, p))
    if known is not None and known[0] is a and known[1] == m.stamp[p] and known[2] == m.stamp[p + 1]:
        found: Near = known[3]
        return found
    o = (pair_of(m, a, p) - np.uint64(m.arena.base)).view(I64)
    near = _near(o, None)
    m.derived[_GLOBAL, p] = (a, m.stamp[p], m.stamp[p + 1], near)
    return near


def near_shared(m: Machine, a: Active, p: int, shift: int) -> Near:
    """The shared addresses in a register, shifted left."""
    key = (SHARED + shift, p)
    known = m.derived.get(key)
    if known is not None and known[0] is a and known[1] == m.stamp[p]:
        found: Near = known[2]
        return found
    near = _near((m.R[p][a.sel] << np.uint32(shift)).astype(I64), m.bank_words[a.sel])
    m.derived[key] = (a, m.stamp[p], near)
    return near


def _near(o: Arr, bank: Arr | None) -> Near:
    low, high = int(o.min()), int(o.max())
    bits = int(np.bitwise_or.reduce(o)) & 31
    word = o >> 2
    if bank is not None:
        word += bank
    return Near(low, high, bits, word)
