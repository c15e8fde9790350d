"""Runs SASS on the CPU: any cubin of sm_75 to sm_121, bit-exact wherever the hardware's arithmetic is defined.

``load(cubin)`` gives an :class:`~orias.sim.core.image.Image`; ``image.launch(name, grid, block, args)`` runs a kernel.
Needs numpy (the ``sim`` extra).
"""

from orias.sim.core.image import Image, load
from orias.sim.core.launch import Result
from orias.sim.core.sim_errors import (
    ArgumentError,
    AssertionFailed,
    Deadlock,
    HazardError,
    IllegalInstruction,
    LoadError,
    Misaligned,
    OutOfBounds,
    SimError,
    StepLimit,
    Trap,
)
from orias.sim.matrix.tensor_map import tensormap
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture

__all__ = [
    "ArgumentError",
    "AssertionFailed",
    "Deadlock",
    "HazardError",
    "IllegalInstruction",
    "Image",
    "LoadError",
    "Misaligned",
    "OutOfBounds",
    "Result",
    "Sampler",
    "SimError",
    "StepLimit",
    "Surface",
    "Texture",
    "Trap",
    "load",
    "tensormap",
]
