"""LateArchOptimizeFirst: a shift that only makes addresses of shared memory goes into them, as ``[R.X4]``.

The address unit multiplies the base register by 4, 8 or 16 and keeps 32 bits, as the shift does (targets with ``scaled_addresses``).  Where
something else reads the shifted value too, the shift stays, and so do the addresses: they would hold one more register.
"""

from typing import Final

from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_FOLDS, SHARED
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    S_X4,
    S_X8,
    S_X16,
    Opnd,
    has_lane,
    has_modifiers,
    in_file,
    is_vreg,
    vreg,
    with_suffix,
)
from orias.ori.ir import Func, Inst
from orias.passes.def_use import Values
from orias.passes.rules_int import shift_left_of
from orias.target import features

_SCALES: Final[dict[int, int]] = {2: S_X4, 3: S_X8, 4: S_X16}
"""Shift -> suffix of the base register."""


def scale_addresses(fn: Func) -> bool:
    """Put shifts into the addresses that are their only readers; True if any went.  The shifts are left to dead code elimination."""
    if not fn.target.has(features.SCALED_ADDRESSES):
        return False
    table = load(fn.target.table)
    values = Values(fn)
    sites: dict[int, list[tuple[Inst, int]]] = {}
    for inst in fn.insts():
        if inst.op.flags & F_FOLDS and inst.op.space == SHARED:
            for a in inst.op.addr:
                base = inst.src[a + 1]
                if is_vreg(base) and in_file(base, K_R) and not has_modifiers(base) and not has_lane(base):
                    sites.setdefault(vreg(base), []).append((inst, a + 1))
    changed = False
    for v, readers in sites.items():
        d = values.defs[v]
        if d is None or values.uses[v] != len(readers) or d.guard != PT or d.old != K_NONE:
            continue
        scaled = _scaled(d)
        if scaled is not None and all(_accepts(table, inst, at, scaled) for inst, at in readers):
            for inst, at in readers:
                inst.src[at] = scaled
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


def _accepts(table: IsaTable, inst: Inst, at: int, base: Opnd) -> bool:
    src = list(inst.src)
    src[at] = base
    return table.accepts(inst.op, inst.guard, inst.dst, src)
