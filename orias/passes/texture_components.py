"""LateExpansionUnsupportedOps, after it: components of texture fetches that nobody reads are left out.

A fetch has two results of two registers each, for the components z, w and x, y.  With a mask of components as its last operand it
has those of the mask alone: the first two in the second result, the others in the first.  ptxas 13.0.88 writes such masks on all
targets (``docs/facts/optimizer.md``).
"""

from typing import Final

from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_COMPONENTS
from orias.isa.operand import (
    K_NONE,
    K_R,
    RZ,
    Opnd,
    imm,
    in_file,
    in_place_of,
    is_imm,
    is_vreg,
    lane_words,
    vreg,
    with_lane,
    without_lane,
    word_lane,
)
from orias.ori.ir import Func, Inst

_ALL: Final = 15


def leave_out_components(fn: Func) -> bool:
    """Give fetches masks of the components that are read; True if any got one.  With -g all stay, for a debugger."""
    if fn.names:
        return False
    fetches = [i for b in fn.blocks for i in b.insts if i.op.flags & F_COMPONENTS and _has_all(i)]
    if not fetches:
        return False
    read = {vreg(d): 0 for i in fetches for d in i.dst[:2]}
    """Words that are read of each result, as a mask; with bit 2 both as one."""
    for b in fn.blocks:
        for inst in b.insts:
            for o in [*inst.src, inst.old]:
                if _is_result(o) and vreg(o) in read:
                    first, count = lane_words(o, 2)
                    read[vreg(o)] |= 1 << first if count == 1 else 7
    table = load(fn.target.table)
    places: dict[int, Opnd] = {}
    """Where a word is now; keys are twice the register, plus the word."""
    changed = False
    for inst in fetches:
        changed = _narrow(fn, table, inst, read, places) or changed
    if changed:
        for b in fn.blocks:
            for inst in b.insts:
                for k, o in enumerate(inst.src):
                    if _is_result(o) and vreg(o) in read:
                        inst.src[k] = _renamed(o, places)
    return changed


def _is_result(o: Opnd) -> bool:
    return is_vreg(o) and in_file(o, K_R)


def _has_all(inst: Inst) -> bool:
    """True for a fetch of all components into results of its own."""
    return inst.old == K_NONE and not is_imm(inst.src[-1]) and all(_is_result(d) for d in inst.dst[:2])


def _narrow(fn: Func, table: IsaTable, inst: Inst, read: dict[int, int], places: dict[int, Opnd]) -> bool:
    upper, lower = vreg(inst.dst[0]), vreg(inst.dst[1])
    mask = read[lower] & 3 | (read[upper] & 3) << 2
    if mask in (0, _ALL):
        return False
    components = [k for k in range(4) if mask >> k & 1]
    parts = [components[:2], components[2:]]
    if (read[lower] & 4 and [0, 1] not in parts) or (read[upper] & 4 and [2, 3] not in parts):
        return False
    src = [*inst.src, imm(mask)]
    rest = inst.dst[2:]
    if not table.accepts(inst.op, inst.guard, [inst.dst[0] if parts[1] else RZ, inst.dst[1], *rest], src):
        return False
    results = [fn.new_vreg(K_R, len(part)) if part else RZ for part in parts]
    for part, result in zip(parts, results, strict=True):
        for n, k in enumerate(part):
            place = with_lane(result, word_lane(n)) if len(part) == 2 else result
            places[2 * (upper if k > 1 else lower) + (k & 1)] = place
    inst.dst = [results[1], results[0], *rest]
    inst.src = src
    return True


def _renamed(o: Opnd, places: dict[int, Opnd]) -> Opnd:
    first, count = lane_words(o, 2)
    place = places.get(2 * vreg(o) + first)
    if place is None:
        return o
    return in_place_of(without_lane(o), place if count == 1 else without_lane(place))
