"""LateArchOptimizeFirst: a shift that only makes addresses of shared memory goes into them, as ``[R.X4]``.

A sum of two shifts, or of a shift and a product by a multiple, is one of what they multiply (``16 * y + 4 * x`` as ``4 * (4 * y + x)``).
The address unit multiplies the base register by 4, 8 or 16 and keeps 32 bits, as the shift does (targets with ``scaled_addresses``).  Where
something else reads the shifted value too, the shift stays, and so do the addresses: they would hold one more register.
"""

from typing import Final

from orias.analysis.known_bits import trailing_zeros
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import SHARED, Op, op
from orias.isa.operand import (
    K_R,
    RZ,
    S_X4,
    S_X8,
    S_X16,
    Opnd,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    is_vreg,
    with_suffix,
)
from orias.ori.ir import Func, Inst
from orias.passes.def_use import Values
from orias.passes.offsets import only_bases
from orias.passes.rules_int import shift_left_of
from orias.semantics.integers import constant_of
from orias.target import features

_LEA: Final = op("LEA")
_SUM: Final = op("IADD3")
_SCALES: Final[dict[int, int]] = {2: S_X4, 3: S_X8, 4: S_X16}
"""Shift -> suffix of the base register."""


def scale_addresses(fn: Func) -> bool:
    """Put shifts into the addresses that are their only readers; True if any went.  The shifts are left to dead code elimination."""
    if not fn.target.has(features.SCALED_ADDRESSES):
        return False
    table = load(fn.target.table)
    values = Values(fn)
    changed = False
    for d, readers in only_bases(fn, values):
        scaled = _scaled(d)
        factored = _factored(table, values, d) if scaled is None else None
        new = factored[2] if factored is not None else scaled
        if new is not None and all(_accepts(table, inst, a, new) for inst, a in readers):
            if factored is not None:
                d.op, d.src = factored[0], factored[1]
            for inst, a in readers:
                inst.src[a + 1] = new
            changed = True
    return changed


def _scaled(d: Inst) -> Opnd | None:
    """The register that an instruction shifts, with the scale as its suffix."""
    shifted = shift_left_of(d)
    if shifted is None or shifted[1] not in _SCALES:
        return None
    x = shifted[0]
    if not is_vreg(x) or not in_file(x, K_R) or has_modifiers(x) or has_lane(x):
        return None
    return with_suffix(x, _SCALES[shifted[1]])


def _factored(table: IsaTable, values: Values, d: Inst) -> tuple[Op, list[Opnd], Opnd] | None:
    """A sum of multiples of 4, 8 or 16 as operation and sources of the sum of what is multiplied, and its register with the scale as suffix."""
    if len(d.dst) != 1 or len(d.src) != 3 or has_lane(d.dst[0]):
        return None
    if d.op is _LEA:
        x, factor, y = d.src[0], constant_of(d.src[2]), d.src[1]
        left = factor
    elif d.op.base == "IMAD" and d.op.mods in ((), ("U32",)):
        x, factor, y = d.src[0], constant_of(d.src[1]), d.src[2]
        left = None if factor is None else trailing_zeros([], d.src[1])
    else:
        return None
    inner = (
        shift_left_of(values.definition(y)) if is_vreg(y) and not has_modifiers(y) and values.single_use(y) else None
    )
    if inner is None or left is None or factor is None or inner[1] not in _SCALES or has_modifiers(inner[0]):
        return None
    z, k = inner
    if left < k:
        return None
    if d.op is not _LEA:
        new: tuple[Op, list[Opnd]] = d.op, [x, imm(factor >> k), z]
    else:
        new = (_LEA, [x, z, imm(left - k)]) if left > k else (_SUM, [x, z, RZ])
    if not table.accepts(new[0], d.guard, d.dst, new[1]):
        return None
    return new[0], new[1], with_suffix(d.dst[0], _SCALES[k])


def _accepts(table: IsaTable, inst: Inst, a: int, base: Opnd) -> bool:
    """True if the address may have the scaled register: of shared memory only."""
    src = list(inst.src)
    src[a + 1] = base
    return inst.op.space == SHARED and table.accepts(inst.op, inst.guard, inst.dst, src)
