"""Samplers: how texels are read (PTX's ``.samplerref``)."""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import ArgumentError
from orias.sim.math.ops_int import I64

Arr = npt.NDArray[Any]

ADDRESS: Final = ("clamp", "border", "wrap", "mirror")
COMPARE: Final[dict[str, Callable[[Arr, Arr], Arr]]] = {
    "le": np.less_equal, "lt": np.less, "ge": np.greater_equal, "gt": np.greater, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
"""Comparisons of the reference depth (left) with a texel (right)."""


@final
class Sampler:
    """Filters, address modes and the kind of coordinates.

    ``filter`` and ``mip_filter``: point or linear.  ``address``: clamp, border, wrap or mirror, one for all dimensions
    or one each for x, y, z; wrap and mirror need ``normalized`` coordinates and clamp without.  ``compare``: the
    comparison of the reference depth (left) with a texel: le, lt, ge, gt, eq, ne (PTX leaves it to the sampler; le is
    OpenGL's default).  A sampler passed as an argument of a launch becomes its handle.
    """

    __slots__ = ("address", "compare", "linear", "mip_linear", "normalized")

    def __init__(
        self,
        *,
        filter: str = "point",
        mip_filter: str = "point",
        address: str | Sequence[str] = "clamp",
        normalized: bool = False,
        compare: str = "le",
    ) -> None:
        modes = [address] * 3 if isinstance(address, str) else [*address, "clamp", "clamp", "clamp"][:3]
        if not set(modes) <= set(ADDRESS) or not {filter, mip_filter} <= {"point", "linear"} or compare not in COMPARE:
            raise ArgumentError(
                f"sampler with address {address}, filter {filter}, mip_filter {mip_filter}, compare {compare}"
            )
        self.linear: Final[bool] = filter == "linear"
        self.mip_linear: Final[bool] = mip_filter == "linear"
        self.normalized: Final[bool] = normalized
        self.address: Final[list[str]] = [m if normalized or m == "border" else "clamp" for m in modes]
        self.compare: Final[str] = compare

    def wrapped(self, axis: int, i: Arr, n: int) -> tuple[Arr, Arr]:
        """Texel numbers mapped to 0..n-1 by the address mode of an axis, and which are outside (border)."""
        mode = self.address[axis]
        none = np.zeros(len(i), np.bool_)
        if mode == "wrap":
            return i % n, none
        if mode == "mirror":
            turn = i % (2 * n)
            return np.where(turn < n, turn, 2 * n - 1 - turn).astype(I64), none
        inside = np.clip(i, 0, n - 1)
        return inside, (inside != i) if mode == "border" else none
