"""A launch in the simulator beside the estimates: how often each instruction ran, what its addresses really cost, which branches split warps."""

from collections.abc import Sequence
from typing import Any, Final, final

from orias.diag import Unsupported

Json = dict[str, Any]

_MOST_BLOCKS: Final = 16
"""Blocks of the launch that are recorded; all of them run."""


class LaunchFailed(Exception):
    """The simulator stopped the launch."""


@final
class Launch:
    """What to run: the kernel (empty: the only one), sizes, arguments as :meth:`orias.sim.core.image.Image.launch` takes them."""

    __slots__ = ("args", "block", "grid", "kernel", "shared")

    def __init__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any], kernel: str = "", shared: int = 0
    ) -> None:
        self.kernel: Final[str] = kernel
        self.grid: Final[tuple[int, ...]] = grid
        self.block: Final[tuple[int, ...]] = block
        self.args: Final[Sequence[Any]] = args
        self.shared: Final[int] = shared


def add_run(sections: list[Json], data: bytes, launch: Launch) -> None:
    """Run the kernel of a cubin on copies of the arguments and note in its section what was recorded.

    Adds ``executed`` to each instruction (by all warps of the recorded blocks), ``splits`` to guarded branches (how often a warp of the
    launch came there, and how often it split) and ``runs`` to the sides of accesses.  Needs numpy.
    Raises Unsupported for a kernel that is not there, LaunchFailed for a launch that the simulator stops.
    """
    import numpy as np

    from orias.perf.kernel_steps import kernels
    from orias.perf.trace import record
    from orias.sim.core.image import load
    from orias.sim.core.sim_errors import SimError
    from orias.timing.play import step_of, units_of

    found = kernels(data)
    code = next((k for k in found if k.name == launch.kernel or (not launch.kernel and len(found) == 1)), None)
    if code is None:
        raise Unsupported(f"the launch needs the name of one of the kernels {', '.join(k.name for k in found)}")
    args = [v.copy() if isinstance(v, np.ndarray) else v for v in launch.args]
    try:
        run = record(load(data), code, launch.grid, launch.block, args, launch.shared, most_blocks=_MOST_BLOCKS)
    except SimError as e:
        raise LaunchFailed(f"{type(e).__name__}: {e}") from None
    section = next(s for s in sections if s["name"] == code.name)
    count = len(section["instructions"])
    times, waves, sectors = [0] * count, [0] * count, [0] * count
    for block in run.blocks:
        for warp in block:
            for v in warp:
                i = step_of(v)
                w, s = units_of(v)
                times[i] += 1
                waves[i] += w
                sectors[i] += s
    for row, n in zip(section["instructions"], times, strict=True):
        row["executed"] = n
    for i, (came, split) in run.splits.items():
        if came:
            section["instructions"][i]["splits"] = [came, split]
    for m in section["memory"]:
        i = m["instruction"]
        if times[i] and m["kind"] != "copy" and m["space"] != "local":
            for side in m["sides"]:
                total = sectors[i] if side["unit"] == "sectors" else waves[i]
                side["runs"] = {"times": times[i], "takes": round(total / times[i], 2)}
    section["run"] = {
        "grid": list(launch.grid), "block": list(launch.block), "blocks": len(run.blocks), "warps": sum(len(b) for b in run.blocks),
    }  # fmt: skip
