"""What the texture fetches (TEX, TLD, TLD4, TXD) read, as ptxas 13.0.88 lays it out for sm_75 to sm_90.

The values stand in this order: array layer, coordinates, handle (``.B``), level (or sample, ``.MS``), offsets, depth.  ``.SCR`` takes up to four of
them, two in the first operand if there are more than two; without it the coordinates are one vector and what follows another.  TXD takes
the handle first and the layer behind the coordinates, and the gradients as its second operand, both of one direction side by side.
Its offsets are in the layer's upper half, which is there with ``.AOFFI`` even if there is no layer.
"""

from typing import Final

from orias.isa.op import Op
from orias.isa.operand import K_R, K_WORD, KIND_MASK, Opnd, word_text

FETCHES: Final[frozenset[str]] = frozenset(("TEX", "TLD", "TLD4", "TXD"))
RESULT_WORDS: Final = 2
SCATTERED_LIMIT: Final = 4
"""Values that ``.SCR`` can take."""
_SCALARS: Final[tuple[str, ...]] = ("LL", "LB", "LC", "MS")
"""Modifiers with which a level, a bias of it, a least level or a sample is among the values."""
_DIMENSIONS: Final[dict[str, int]] = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3}


def dimensions(shape: str) -> int:
    """Coordinates of a shape, without the layer of an array."""
    return _DIMENSIONS[shape.removeprefix("ARRAY_")]


def place_words(shape: str) -> int:
    """Coordinates and layer."""
    return dimensions(shape) + shape.startswith("ARRAY_")


def scattered(total: int) -> tuple[int, int]:
    """How ``.SCR`` divides that many values."""
    first = 2 if total > 2 else 1
    return first, total - first


def source_widths(op: Op, src: list[Opnd]) -> list[int]:
    """Registers that each source of a fetch covers."""
    shape = next((word_text(o) for o in src if o & KIND_MASK == K_WORD), "")
    mods = op.mods
    place = place_words(shape)
    handle = bindless(op)
    rest = handle + ("AOFFI" in mods) + ("PTP" in mods) * 2 + ("DC" in mods)
    if op.base == "TXD":
        packed = "AOFFI" in mods and not shape.startswith("ARRAY_")
        sizes = (place + handle + packed, 2 * dimensions(shape))
    else:
        rest += sum(m in mods for m in _SCALARS)
        sizes = scattered(place + rest) if "SCR" in mods else (place, rest)
    out = []
    seen = 0
    for o in src:
        if o & KIND_MASK == K_R and seen < 2:
            out.append(sizes[seen])
            seen += 1
        else:
            out.append(2 if o & KIND_MASK != K_R else 1)
    return out


def bindless(op: Op) -> bool:
    """True if the handle is among the values.  TLD4 names its component first, and one of those is ``B`` too."""
    component = next((m for m in op.mods if m in "RGBA"), "") if op.base == "TLD4" else ""
    return op.mods.count("B") > (component == "B")
