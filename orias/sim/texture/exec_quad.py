"""Quads: four adjacent lanes that sample a texture together, for its gradients.

Up to sm_89, ptxas's code activates the inactive lanes of a quad (``BMOV.32.PQUAD MACTIVE``), lets all four compute and
sample, and restores the mask (``BMOV.32 MACTIVE``); in between, these lanes write their registers like any other.  The
meaning of the words of FSWZADD is derived from that code: a pair of letters per lane, the first for the first source,
the second for the second; P is the source, N its negative, Z zero.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.fetch import dimensions
from orias.isa.operand import K_B, K_WORD, in_file, kind_of, payload, word_text
from orias.sim.core.engine import Engine, Flow
from orias.sim.core.site import Exec, Site, everywhere
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U32
from orias.sim.texture.exec_texture import SHAPES, by_object, look_at, signed_fields
from orias.sim.texture.texture_object import Request, Texture

Arr = npt.NDArray[Any]
_LANES: Final = np.left_shift(np.uint32(1), np.arange(32, dtype=U32))
_SIGNS: Final[dict[str, float]] = {"P": 1.0, "N": -1.0, "Z": 0.0}


def swizzled_add(s: Site) -> Exec:
    """FSWZADD: the sum of two f32 values; the lane's position in its quad selects the value, its negative or zero for each."""
    word = next((word_text(o) for o in s.src if kind_of(o) == K_WORD), "")
    if len(word) != 8 or not set(word) <= set(_SIGNS):
        raise s.unknown(word)
    factors = np.array([[_SIGNS[c] for c in word[k::2]] for k in range(2)], np.float32)
    x, y, put = s.f32(s.src[0]), s.f32(s.src[1]), s.result32()

    def run(m: Machine, a: Active) -> None:
        total = np.zeros(a.n, np.float32)
        for g, row in zip((x, y), factors, strict=True):
            factor = row[a.index & 3]
            v = np.broadcast_to(g(m, a), (a.n,)).view(np.float32)
            total = total + np.where(factor == 0, np.float32(0), v * factor)
        put(m, a, total.astype(np.float32).view(U32))

    return run


def touches_active(s: Site) -> bool:
    """True for a BMOV to or from the mask of active lanes."""
    return any(kind_of(o) == K_WORD and word_text(o) == "MACTIVE" for o in [*s.dst, *s.src])


def read_active(s: Site) -> Exec:
    """BMOV.32 of the mask of active lanes to a barrier register."""
    if not in_file(s.dst[0], K_B):
        raise s.unknown("operand")
    k = payload(s.dst[0])

    def run(m: Machine, a: Active) -> None:
        m.B[k][a.sel] = a.lane_mask[a.position >> 5]

    return run


def write_active(s: Site) -> Flow:
    """BMOV.32 MACTIVE: with PQUAD all lanes of the mask's quads continue, else only the lanes of the mask."""
    if not in_file(s.src[0], K_B):
        raise s.unknown("operand")
    k = payload(s.src[0])
    whole = s.has("PQUAD")

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        if rest is not None:
            e.add(pc + 1, rest)
        # The register belongs to the warp: any active lane has its value.
        mask = np.bitwise_or.reduce(a.spread(e.m.B[k][a.sel]), axis=1)
        if whole:
            for shift in (1, 2):
                mask = mask | mask << np.uint32(shift) & _KEEP[shift][0] | mask >> np.uint32(shift) & _KEEP[shift][1]
        on = (mask[:, None] & _LANES) != 0
        index = (a.warps[:, None] * 32 + np.arange(32))[on]
        if whole:
            e.m.B[k][index] = np.repeat(np.bitwise_or.reduce(a.spread(e.m.B[k][a.sel]), axis=1), on.sum(axis=1))
            # No other threads may run in between, or join these.
            e.apart.append((pc + 1, Active(index)))
        else:
            e.add(pc + 1, Active(index))
        return -1

    return run


def sample_for_lanes(s: Site) -> Exec:
    """Ori's ``quadtex``, before :mod:`orias.schedule.texture_quads` expands it: each lane samples with its own gradients."""
    shape = word_text(s.src[-1])
    count = dimensions(shape)
    # Each coordinate has its value and both gradients.
    gets = [[s.f32(o) for o in s.src[k : 3 * count : 3]] for k in range(3)]
    names = (
        ["layer"] * shape.startswith("ARRAY_")
        + ["handle"] * s.has("B")
        + ["offsets"] * s.has("AOFFI")
        + ["depth"] * s.has("DC")
    )
    rest = {name: s.raw(o) for name, o in zip(names, s.src[3 * count :], strict=False)}
    slot = payload(s.src[-2])
    puts = [s.set32(o) for o in s.dst]

    def run(m: Machine, a: Active) -> None:
        whole = Request()
        whole.layer = everywhere(rest["layer"], m, a) if "layer" in rest else None
        whole.depth = everywhere(rest["depth"], m, a).view(np.float32) if "depth" in rest else None
        if "offsets" in rest:
            whole.offsets = signed_fields(everywhere(rest["offsets"], m, a), count, 4, 4)
        place, *steps = [[everywhere(g, m, a).view(np.float32) for g in each] for each in gets]
        objects = by_object(m, a, rest["handle"](m, a) if "handle" in rest else m.const32[0][slot : slot + 1], Texture)
        out, missing = look_at(objects, lambda t: t.kind in SHAPES[shape], f"{s.op.name} {shape}", place, steps, whole)
        for put, v in zip(puts, [*out, np.where(missing, 0xFFFFFFFF, 0).astype(U32)], strict=False):
            put(m, a, v)

    return run


_KEEP: Final[dict[int, tuple[np.uint32, np.uint32]]] = {
    1: (np.uint32(0xAAAAAAAA), np.uint32(0x55555555)), 2: (np.uint32(0xCCCCCCCC), np.uint32(0x33333333)),
}  # fmt: skip
"""Masks of lanes that a neighbour 1 or 2 below, or above, in the quad may activate."""

BUILDERS: Final[dict[str, Callable[[Site], Exec]]] = {"FSWZADD": swizzled_add}
