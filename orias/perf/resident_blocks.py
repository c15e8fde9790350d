"""How many blocks of a kernel an SM holds, and what limits them."""

from typing import Final, final

from orias.target.profile import Target
from orias.target.register_steps import warps_with

_WARP: Final = 32


@final
class Occupancy:
    """``blocks`` and ``warps`` of an SM at a time; ``limit``: registers, shared memory, threads or blocks."""

    __slots__ = ("blocks", "limit", "most_warps", "warps")

    def __init__(self, blocks: int, warps: int, limit: str, most_warps: int) -> None:
        self.blocks: Final[int] = blocks
        self.warps: Final[int] = warps
        self.limit: Final[str] = limit
        self.most_warps: Final[int] = most_warps


def occupancy(profile: Target, registers: int, threads: int, shared: int) -> Occupancy:
    """The occupancy of blocks of `threads` with `shared` bytes (static, dynamic and reserved); at least one block."""
    warps = (threads + _WARP - 1) // _WARP
    most = profile.number("threads_per_sm") // _WARP
    limits = [
        (most // warps, "threads"),
        (profile.number("ctas_per_sm"), "blocks"),
        (warps_with(registers) // warps, "registers"),
        (profile.number("shared_per_sm") // shared if shared else 1 << 30, "shared memory"),
    ]
    blocks, limit = min(limits, key=lambda x: x[0])
    blocks = max(1, blocks)
    return Occupancy(blocks, blocks * warps, limit, most)
