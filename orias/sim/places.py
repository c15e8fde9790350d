"""Where a launch's own words lie in constant bank 0, besides those that a compiler's target names.

Read off what ptxas 13.0.88 makes of the special registers and of ``cvta`` and ``isspacep`` for sm_75 to sm_121.  From sm_100 on it adds
-0xa0 times SR_CgaSize to the place of a cluster's words; that register is 0 here.
"""

from typing import NamedTuple


class ClusterPlaces(NamedTuple):
    """Byte offsets of the words about clusters; vectors have three words."""

    explicit: int
    """1 if the launch has clusters."""
    size: int
    """Blocks of a cluster, by dimension."""
    reciprocal: int
    """The same as f32 reciprocals, rounded up."""
    clusters: int
    """Clusters of the grid, by dimension."""
    ranks: int
    """Blocks of a cluster."""


class Places(NamedTuple):
    """Byte offsets in constant bank 0."""

    parameters: int
    """Generic address of the parameters (up to sm_89 of the bank's first byte)."""
    parameters_end: int
    """The generic address behind them; -1 where none is read."""
    dynamic_shared: int
    grid_id: int
    cluster: ClusterPlaces | None


_OLD = Places(0x40, -1, 0x2C, 0x30, None)
_SM90 = Places(0x198, 0x1A0, 0x2C, 0x30, ClusterPlaces(0x140, 0x144, 0x150, 0x15C, 0x188))
_SM100 = Places(0x348, 0x350, 0x2AC, 0x140, ClusterPlaces(0x36C, 0x2A0, 0x2B0, 0x2C0, 0x2CC))


def places(sm: int) -> Places:
    """The places of an SM."""
    return _SM100 if sm >= 100 else _SM90 if sm >= 90 else _OLD
