"""Values that cost no memory to spill: one instruction computes them again from registers that hold their values there in any case.

Rematerialisation (Briggs, Cooper, Torczon, 1992) of operations with register sources.  Sources must not change while the value
lives, and be live at every use, so that no live range becomes longer.  One source may be a constant instead: the next round of
spilling rematerialises it, too.
"""

from bisect import bisect_right
from collections.abc import Container
from typing import Final

from orias.isa.op import (
    F_CALL,
    F_CONSTMEM,
    F_CONVERGENT,
    F_FENCE,
    F_MATRIX,
    F_PINNED,
    F_PSEUDO,
    F_READ,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_TIED,
    F_WARP_WIDE,
    F_WRITE,
)
from orias.isa.operand import (
    K_CONST,
    K_IMM,
    K_NONE,
    K_R,
    K_SYM,
    K_WORD,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    in_file,
    is_bare,
    is_vreg,
    kind_of,
    vreg,
    without_modifiers,
)
from orias.ori.ir import Inst
from orias.regalloc.coalesce import Classes, Cls
from orias.timing.units import units

_STAY: Final = (
    F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_READ | F_WRITE | F_FENCE | F_PINNED | F_PSEUDO | F_SPECIAL | F_CONSTMEM
    | F_MATRIX | F_TIED | F_WARP_WIDE
)  # fmt: skip
_CONSTANT: Final = (K_IMM, K_CONST, K_SYM, K_WORD, K_NONE)
_NOTHING: Final = (RZ, PT, URZ, UPT)


def recomputable(classes: Classes, constants: Container[Cls]) -> dict[Cls, Inst]:
    """Classes of one register with one definition, by a fixed-latency operation that can be repeated at every use, and a copy of it.

    `constants`: classes that are rematerialised without any register; one source may be of these.
    """
    rg = classes.rg
    late = units(rg.fn.target.latency_class)
    defs: dict[int, list[int]] = {}
    uses: dict[int, list[int]] = {}
    kept: set[int] = set()
    """Registers whose uses replace them in place."""
    for point, inst in enumerate(rg.insts):
        if inst is None:
            continue
        for o in inst.dst:
            if is_vreg(o):
                defs.setdefault(vreg(o), []).append(point)
        for o in inst.src:
            if is_vreg(o) and in_file(o, K_R):
                uses.setdefault(vreg(o), []).append(point)
            elif is_vreg(o):
                kept.add(vreg(o))
        if is_vreg(inst.old):
            kept.add(vreg(inst.old))
    out: dict[Cls, Inst] = {}
    for v, at in defs.items():
        inst = rg.insts[at[0]]
        if len(at) > 1 or inst is None or v in kept or v not in uses or not _is_plain(inst) or late.barriers(inst.op):
            continue
        c = classes.cls(v)
        if c.file == K_R and len(c.members) == 1 and _sources_last(classes, constants, v, defs, uses[v]):
            out[c] = Inst(inst.op, list(inst.dst), list(inst.src))
    return out


def sources(maker: Inst) -> list[int]:
    """The virtual registers that an operation reads."""
    return [vreg(o) for o in maker.src if is_vreg(o)]


def _is_plain(inst: Inst) -> bool:
    """True for an unguarded operation without effects but its first result, from vector registers and constants."""
    if inst.op.flags & _STAY or inst.guard != PT or inst.old != K_NONE:
        return False
    if not is_bare(inst.dst[0]) or any(d not in _NOTHING for d in inst.dst[1:]):
        return False
    return any(is_vreg(o) for o in inst.src) and all(_is_known(o) for o in inst.src)


def _is_known(o: Opnd) -> bool:
    if is_vreg(o):
        return in_file(o, K_R)
    return kind_of(o) in _CONSTANT or without_modifiers(o) in _NOTHING


def _sources_last(
    classes: Classes, constants: Container[Cls], v: int, defs: dict[int, list[int]], uses: list[int]
) -> bool:
    """True if the sources of the definition of `v` have the same values at all of its uses."""
    rg = classes.rg
    inst = rg.insts[defs[v][0]]
    assert inst is not None
    own = range(rg.wbase[v], rg.wbase[v + 1])
    absent = 0
    for o in inst.src:
        if not is_vreg(o):
            continue
        u = vreg(o)
        made = defs.get(u, [])
        # A source that gets its next value, in a loop, while the old result lives is not what that was computed from.
        if u == v or len(made) != 1 or any(_holds(rg.segs[w], made[0]) for w in own):
            return False
        # A reload is just before the use, where what lives after the instruction before it is live.
        if not all(_holds(rg.segs[w], point - 1) for w in rg.words(o) for point in uses):
            # The result gets the register of one source that is made for it, and needs no other.
            absent += 1
            if classes.cls(u) not in constants or absent > 1:
                return False
    return True


def _holds(flat: list[int], point: int) -> bool:
    """True if one of the intervals of a word, whose ends follow each other, has the point."""
    return bisect_right(flat, point) & 1 == 1
