"""The occupancy of a kernel for other block sizes and register counts."""

from typing import Any, Final

from orias.perf.resident_blocks import Occupancy, occupancy
from orias.target.profile import Target
from orias.target.register_steps import steps

_THREADS: Final = (32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024)
_LEAST: Final = 16
"""Registers up to which the table asks for fewer."""


def occupancy_table(profile: Target, registers: int, threads: int, shared: int) -> dict[str, Any]:
    """Blocks, warps and limit, as it is and for other sizes of blocks; ``by_registers``: for each step of the register count.

    ``next``: the largest register count with more warps, and these; null if fewer registers give none.
    """
    now = occupancy(profile, registers, threads, shared)
    sizes = sorted({*_THREADS, threads})
    fewer = None
    for count in range(registers - 1, _LEAST, -1):
        occ = occupancy(profile, count, threads, shared)
        if occ.warps > now.warps:
            fewer = {"registers": count, **_row(occ)}
            break
    counts = sorted({*steps(profile), registers})
    return {
        **_row(now), "most_warps": now.most_warps, "next": fewer,
        "by_registers": [{"registers": r, **_row(occupancy(profile, r, threads, shared))} for r in counts],
        "by_threads": [
            {"threads": t, **_row(occupancy(profile, registers, t, shared))} for t in sizes if t <= profile.number("threads_per_sm")
        ],
    }  # fmt: skip


def _row(occ: Occupancy) -> dict[str, Any]:
    return {"blocks": occ.blocks, "warps": occ.warps, "limit": occ.limit}
