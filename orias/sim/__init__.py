"""Runs SASS on the CPU: any cubin of sm_75 to sm_121, bit-exact wherever the hardware's arithmetic is defined.

``load(cubin)`` gives an :class:`~orias.sim.image.Image`; ``image.launch(name, grid, block, args)`` runs a kernel.
Needs numpy (the ``sim`` extra).
"""

from orias.sim.errors import (
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
from orias.sim.image import Image, load
from orias.sim.launch import Result
from orias.sim.sampler import Sampler
from orias.sim.surface import Surface
from orias.sim.tensormap import tensormap
from orias.sim.texture import Texture

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
