"""Cube maps: the face that a direction meets, and the coordinates on it.

Faces 0 to 5 are +x, -x, +y, -y, +z, -z, with the coordinates of the CUDA programming guide (cubemap textures), which
are OpenGL's (version 4.6, table 8.19).  Neither defines the face for two equal largest components: here z takes
precedence over y, y over x.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.math.ops_int import I64

Arr = npt.NDArray[Any]

FACES: Final = 6
_AXES: Final = ((0, 2, 1), (0, 2, 1), (1, 0, 2), (1, 0, 2), (2, 0, 1), (2, 0, 1))
_SIGNS: Final = ((1, -1, -1), (-1, 1, -1), (1, 1, 1), (-1, 1, -1), (1, 1, -1), (-1, -1, -1))
"""Face -> the axes of (m, s, t), and their signs."""


def face_of(direction: list[Arr]) -> Arr:
    """The face that each direction (x, y, z) meets; NaN counts as 0."""
    x, y, z = (np.nan_to_num(np.asarray(c, np.float64)) for c in direction)
    ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
    major = np.where((az >= ax) & (az >= ay), 2, np.where(ay >= ax, 1, 0))
    negative = np.where(major == 2, z < 0, np.where(major == 1, y < 0, x < 0))
    result: Arr = (2 * major + negative).astype(I64)
    return result


def project(direction: list[Arr], face: Arr) -> list[Arr]:
    """Coordinates from 0 to 1 on the given faces (beyond them for directions that meet another face)."""
    table = np.stack([np.nan_to_num(np.asarray(c, np.float64)) for c in direction])
    axes, signs = np.array(_AXES)[face], np.array(_SIGNS)[face]
    who = np.arange(len(face))
    m, s, t = (table[axes[:, k], who] * signs[:, k] for k in range(3))
    with np.errstate(all="ignore"):
        return [np.nan_to_num((c / m + 1.0) / 2.0) for c in (s, t)]
