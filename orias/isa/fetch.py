"""The operands of texture fetches (TEX, TLD, TLD4, TXD), as ptxas 13.0.88 lays them out for sm_75 to sm_121.

A fetch takes its values in this order: array layer, coordinates, handle (``.B``), level or sample (``.MS``), offsets,
depth.

* With ``.SCR`` there are at most four values; the first operand holds one of them, or two if there are more than two.
* Without ``.SCR`` the first operand is the layer and the coordinates, the second operand the other values.
* The first operand of TXD holds the handle, the coordinates and the layer in this order.  Its second operand holds the
  gradients; the two gradients of one coordinate are adjacent.
* TXD has its offsets in the upper half of the layer's register.  With ``.AOFFI`` this register is present even without a layer.
"""

from typing import Final

from orias.isa.op import Op
from orias.isa.operand import K_R, K_WORD, KIND_MASK, Opnd, imm_value, is_imm, word_text

SCATTERED_LIMIT: Final = 4
"""Largest number of values with ``.SCR``."""
_SCALARS: Final[tuple[str, ...]] = ("LL", "LB", "LC", "MS")
"""Modifiers that add a value: a level, a level bias, a minimum level or a sample."""
_DIMENSIONS: Final[dict[str, int]] = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3}


def dimensions(shape: str) -> int:
    """Number of coordinates of a shape, without the layer of an array."""
    return _DIMENSIONS[shape.removeprefix("ARRAY_")]


def place_words(shape: str) -> int:
    """Number of coordinates of a shape, plus one for the layer of an array."""
    return dimensions(shape) + shape.startswith("ARRAY_")


def scattered(total: int) -> tuple[int, int]:
    """How many of `total` values are in the first and in the second operand with ``.SCR``."""
    first = 2 if total > 2 else 1
    return first, total - first


def value_counts(op: Op, src: list[Opnd]) -> tuple[int, int]:
    """How many values the first source of a fetch has, and the second (0: there is none)."""
    shape = next((word_text(o) for o in src if o & KIND_MASK == K_WORD), "")
    mods = op.mods
    place = place_words(shape)
    handle = bindless(op)
    rest = handle + ("AOFFI" in mods) + ("PTP" in mods) * 2 + ("DC" in mods)
    if op.base == "TXD":
        packed = "AOFFI" in mods and not shape.startswith("ARRAY_")
        return place + handle + packed, 2 * dimensions(shape)
    rest += sum(m in mods for m in _SCALARS)
    return scattered(place + rest) if "SCR" in mods else (place, rest)


def source_widths(op: Op, src: list[Opnd]) -> list[int]:
    """Number of registers of each source of a fetch."""
    sizes = value_counts(op, src)
    out = []
    seen = 0
    for o in src:
        if o & KIND_MASK == K_R and seen < 2:
            out.append(sizes[seen])
            seen += 1
        else:
            out.append(2 if o & KIND_MASK != K_R else 1)
    return out


def result_widths(src: list[Opnd]) -> list[int]:
    """Number of registers of the two results of a fetch: the second has the first two components of the mask, the last operand."""
    count = imm_value(src[-1]).bit_count() if is_imm(src[-1]) else 4
    return [max(0, count - 2), min(2, count)]


def bindless(op: Op) -> bool:
    """True if the handle is among the values (``.B``).  In TLD4 a ``B`` may also name the component (R, G, B or A)."""
    component = next((m for m in op.mods if m in "RGBA"), "") if op.base == "TLD4" else ""
    return op.mods.count("B") > (component == "B")
