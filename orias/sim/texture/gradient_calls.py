"""The driver's functions for ``tex.grad`` from sm_90 on: ``__cuda_syscall_tex_grad[_pred]_GEOMETRY_v4_TYPE_f32[...]``.

Arguments as in calls of ptxas 13.0.88: 64-bit handles (of the texture; in independent mode also of the sampler),
vectors of 16 bytes with the layer and the coordinates, both gradients and the offsets, and the depth.  Results: R4 is 1
if the texels are resident; the components are in R5 and up.
"""

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import U32
from orias.sim.sass.memory_places import LOCAL, places
from orias.sim.texture.exec_texture import by_object, look_at, signed_field
from orias.sim.texture.texture_object import Request, Texture
from orias.target import abi
from orias.target.driver import GRADIENTS

Arr = npt.NDArray[Any]
_NAME: Final = re.compile(
    GRADIENTS + r"(pred_)?(1d|2d|3d|a1d|a2d|cube|acube)_v4_(f32|f16|s32|u32)_f32"
    r"(_texmode_independent)?(_offset)?(_depth_compare)?"
)
_STACK: Final = 1


def _words(m: Machine, who: Active, place: abi.Place) -> list[Arr]:
    """The words of an argument."""
    if place.reg >= 0:
        return [m.R[place.reg + k][who.sel] for k in range(place.words)]
    stack = (m.R[_STACK][who.sel] & np.uint32(0xFFFFFF)).astype(np.int64)
    out = []
    for k in range(place.words):
        (p,) = places(m, who, LOCAL, stack + place.stack + 4 * k, 4, 4)
        out.append(p.flat.load(p.offset, 4)[0])
    return out


def sample(m: Machine, name: str, who: Active) -> None:
    """Executes a call by some threads."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise Fault(IllegalInstruction, f"{name} is not simulated", 0)
    _, kind, type_, independent, offset, depth = found.groups()
    vectors = 3 + bool(offset)
    where, _ = abi.arguments([(8, 8)] * (1 + bool(independent)) + [(16, 16)] * vectors + [(4, 4)] * bool(depth))
    values = [_words(m, who, p) for p in where]
    handle = values.pop(0)
    sampler = values.pop(0)[0] if independent else None
    coords = values.pop(0)
    whole = Request()
    if kind.startswith("a"):
        whole.layer = np.minimum(coords.pop(0), np.uint32(0xFFFF))
    steps = [values.pop(0), values.pop(0)]
    if offset:
        whole.offsets = [signed_field(v, 4) for v in values.pop(0)]
    if depth:
        whole.depth = values.pop(0)[0].view(np.float32)
    place, *moves = [[v.view(np.float32) for v in each] for each in (coords, *steps)]
    objects = by_object(m, who, handle[0], Texture, sampler)
    out, missing = look_at(objects, lambda t: t.kind == kind, name, place, moves, whole)
    if type_ == "f16":
        patterns = [half.of_f32(v) for v in out]
        out = [half.pack(patterns[0], patterns[1]), half.pack(patterns[2], patterns[3])]
    m.R[abi.ARG_FIRST][who.sel] = (~missing).astype(U32)
    for k, v in enumerate(out):
        m.R[abi.ARG_FIRST + 1 + k][who.sel] = v
