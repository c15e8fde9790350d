"""Special registers, computed from the launch."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U32
from orias.sim.ptx.loaded_module import LoadedModule

Arr = npt.NDArray[Any]

_ROWS: Final[dict[str, str]] = {
    "laneid": "SR_LANEID", "smid": "SR_VIRTUALSMID", "lanemask_eq": "SR_EQMASK", "lanemask_lt": "SR_LTMASK",
    "lanemask_le": "SR_LEMASK", "lanemask_ge": "SR_GEMASK", "lanemask_gt": "SR_GTMASK", "cluster_ctarank": "SR_CgaCtaId",
}  # fmt: skip
_CLOCKS: Final = frozenset(("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"))


def special_register(image: LoadedModule, name: str, comp: str) -> Getter:
    """The getter of ``%name.comp``; values that a GPU would choose are those of the SASS simulator."""
    axis = "xyzw".index(comp) if comp else 0
    if axis == 3:
        return _constant(0)
    if name in ("tid", "ctaid"):
        return _row(f"SR_{name.upper()}.{'XYZ'[axis]}")
    if name in _ROWS:
        return _row(_ROWS[name])
    if name == "warpid":
        return _row("SR_WARPID")
    if name in _CLOCKS or name.startswith("pm"):
        shift = 32 if name.endswith("_hi") else 0
        if name.startswith("pm"):
            return _constant(0)
        ticks = image.choice.ticks
        return lambda m, a: np.full(1, m.clock * ticks >> shift, np.uint64)
    shape = image.shape
    values: dict[str, Callable[[], int]] = {
        "ntid": lambda: shape.block[axis],
        "nctaid": lambda: shape.grid[axis],
        "gridid": lambda: 1,
        "nsmid": lambda: 0,
        "dynamic_smem_size": lambda: shape.dynamic,
        "total_smem_size": lambda: image.shared_bytes,
        "nclusterid": lambda: shape.grid[axis] // shape.cluster[axis],
        "cluster_nctaid": lambda: shape.cluster[axis],
        "cluster_nctarank": lambda: shape.cluster[0] * shape.cluster[1] * shape.cluster[2],
        "is_explicit_cluster": lambda: int(shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1),
        "nwarpid": lambda: 64,
        "current_graph_exec": lambda: 0,
    }
    if name.startswith("envreg"):
        return _constant(0)
    if name in ("clusterid", "cluster_ctaid"):
        row = f"SR_CTAID.{'XYZ'[axis]}"

        def cluster(m: Machine, a: Active) -> Arr:
            size = np.uint32(shape.cluster[axis])
            v = m.special[row][a.sel]
            return v // size if name == "clusterid" else v % size

        return cluster
    f = values.get(name)
    if f is None:
        raise Fault(IllegalInstruction, f"special register %{name} is not interpreted")
    number = f
    return lambda m, a: np.full(1, number(), U32)


def _constant(value: int) -> Getter:
    v = np.full(1, value, U32)
    return lambda m, a: v


def _row(name: str) -> Getter:
    def get(m: Machine, a: Active) -> Arr:
        row = m.special[name]
        return row if len(row) == 1 else row[a.sel]

    return get
