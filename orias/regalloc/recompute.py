"""Values that cost no memory to spill: a few instructions compute them again where they are used.

Rematerialisation (Briggs, Cooper, Torczon, 1992) of operations with register sources, which must not change while the value lives.
A source that is not live at every use is a constant, or computed from such sources itself: the next rounds of spilling rematerialise
it, too.  It may also live on instead of a wider value, which then gains fewer words than it has.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final, final

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
    K_UR,
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
from orias.regalloc.files import usable
from orias.timing.units import Units, units

_STAY: Final = (
    F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_READ | F_WRITE | F_FENCE | F_PINNED | F_PSEUDO | F_SPECIAL | F_CONSTMEM
    | F_MATRIX | F_TIED | F_WARP_WIDE
)  # fmt: skip
_CONSTANT: Final = (K_IMM, K_CONST, K_SYM, K_WORD, K_NONE)
_NOTHING: Final = (RZ, PT, URZ, UPT)


@final
class Again:
    """How a value is computed again: a copy of the operation that makes it, the instructions that this takes at a use, with those
    for its sources, and the words of sources that live on instead.
    """

    __slots__ = ("count", "held", "maker")

    def __init__(self, maker: Inst, count: int, held: int) -> None:
        self.maker: Final[Inst] = maker
        self.count: Final[int] = count
        self.held: Final[int] = held


def recomputable(classes: Classes, constants: Mapping[Cls, Inst], excess: list[int], early: bool) -> dict[Cls, Again]:
    """Classes of one register with one definition, by a fixed-latency operation that can be repeated at every use.

    `constants`: classes that are rematerialised without any register; `excess`: what each point lacks of the R registers; `early`:
    other values than constants may live longer for it, in the hope of many rounds to come.
    """
    return _Values(classes, constants, excess, early).found()


def sources(maker: Inst) -> list[int]:
    """The virtual registers that an operation reads."""
    return [vreg(o) for o in maker.src if is_vreg(o)]


@final
class _Tree:
    """What it takes to compute a value at its uses, so far: instructions, words made for it, and words of sources that live on."""

    __slots__ = ("absent", "count", "held")

    def __init__(self) -> None:
        self.count: int = 0
        self.absent: int = 0
        self.held: int = 0


@final
class _Values:
    """The definitions and uses of the registers of a function, and which of them can be computed again."""

    __slots__ = ("classes", "constants", "defs", "early", "excess", "kept", "late", "most", "uniform", "uses")

    def __init__(self, classes: Classes, constants: Mapping[Cls, Inst], excess: list[int], early: bool) -> None:
        rg = classes.rg
        self.classes: Final[Classes] = classes
        self.constants: Final[Mapping[Cls, Inst]] = constants
        self.excess: Final[list[int]] = excess
        self.late: Final[Units] = units(rg.fn.target.latency_class)
        self.early: Final[bool] = early
        self.most: Final[int] = rg.fn.knobs.reg_alloc_remat_inst if early else _PLAIN
        words = sum(len(c.words) for c in classes.all() if c.file == K_UR)
        self.uniform: Final[bool] = words < usable(rg.fn, K_UR).bit_count()
        """Uniform registers suffice for all values at once, so that any of them may live on."""
        self.defs: Final[dict[int, list[int]]] = {}
        self.uses: Final[dict[int, list[int]]] = {}
        self.kept: Final[set[int]] = set()
        """Registers whose uses replace them in place."""
        for point, inst in enumerate(rg.insts):
            if inst is None:
                continue
            for o in inst.dst:
                if is_vreg(o):
                    self.defs.setdefault(vreg(o), []).append(point)
            for o in inst.src:
                if is_vreg(o) and in_file(o, K_R):
                    self.uses.setdefault(vreg(o), []).append(point)
                elif is_vreg(o):
                    self.kept.add(vreg(o))
            if is_vreg(inst.old):
                self.kept.add(vreg(inst.old))

    def found(self) -> dict[Cls, Again]:
        """The classes that can be computed again."""
        out: dict[Cls, Again] = {}
        for v in self.defs:
            maker = self._maker(v)
            if maker is None or v not in self.uses:
                continue
            c = self.classes.cls(v)
            tree = _Tree()
            if self._compute(maker, [v], tree) and self._fits(v, tree):
                out[c] = Again(Inst(maker.op, list(maker.dst), list(maker.src)), tree.count, tree.held)
        return out

    def _maker(self, v: int) -> Inst | None:
        """The only definition of a register that has its class for itself, if it can be repeated; None otherwise."""
        at = self.defs.get(v, [])
        inst = self.classes.rg.insts[at[0]] if len(at) == 1 else None
        if inst is None or v in self.kept or not _is_plain(inst) or self.late.barriers(inst.op):
            return None
        c = self.classes.cls(v)
        return inst if c.file == K_R and len(c.members) == 1 else None

    def _compute(self, maker: Inst, above: list[int], tree: _Tree) -> bool:
        """Add to `tree` what an operation takes at the uses of the first of the values `above`, for whose sake it is repeated."""
        tree.count += 1
        rg = self.classes.rg
        uses = self.uses[above[0]]
        for o in dict.fromkeys(o for o in maker.src if is_vreg(o)):
            u = vreg(o)
            made = self.defs.get(u, [])
            # A source that gets its next value, in a loop, while the old result lives is not what that was computed from.
            if u in above or len(made) != 1 or any(self._lives(x, made[0]) for x in above):
                return False
            # A reload is just before the use, where what lives after the instruction before it is live.
            if all(_holds(rg.segs[w], point - 1) for w in rg.words(o) for point in uses):
                continue
            if in_file(o, K_UR):
                if not (self.uniform and self.early):
                    return False
                continue
            c = self.classes.cls(u)
            width = rg.fn.vwidth[u]
            constant = self.constants.get(c)
            if constant is not None and constant.op.flags & F_READ:
                # What a spilled value had when it was loaded: its place in memory may have another one by then.
                return False
            source = self._maker(u)
            if constant is not None:
                tree.count += _SLOW if constant.op.flags & F_SPECIAL else 1
                tree.absent += width
            elif self.early and len(above) == 1 and tree.held + width < rg.fn.vwidth[above[0]]:
                tree.held += width
            elif source is None or not self._compute(source, [*above, u], tree):
                return False
            if tree.count > self.most:
                return False
        return True

    def _lives(self, v: int, point: int) -> bool:
        rg = self.classes.rg
        return any(_holds(rg.segs[w], point) for w in range(rg.wbase[v], rg.wbase[v + 1]))

    def _fits(self, v: int, tree: _Tree) -> bool:
        """True if there are registers for the sources at all uses; the result gets that of one of them."""
        more = tree.absent + tree.held - self.classes.rg.fn.vwidth[v]
        if len(self.uses[v]) > 1:
            # What lives on does so beside the result, but for the last use.
            more = max(more, tree.held)
        return more <= 0 or all(max(self.excess[point - 1 : point + 1]) <= -more for point in self.uses[v])


_PLAIN: Final = 2
"""An operation and one constant."""
_SLOW: Final = 2
"""Instructions for which reading a special register counts."""


def _is_plain(inst: Inst) -> bool:
    """True for an unguarded operation without effects but its first result, from registers and constants."""
    if inst.op.flags & _STAY or inst.guard != PT or inst.old != K_NONE:
        return False
    if not is_bare(inst.dst[0]) or any(d not in _NOTHING for d in inst.dst[1:]):
        return False
    return any(is_vreg(o) for o in inst.src) and all(_is_known(o) for o in inst.src)


def _is_known(o: Opnd) -> bool:
    if is_vreg(o):
        return in_file(o, K_R) or in_file(o, K_UR)
    return kind_of(o) in _CONSTANT or without_modifiers(o) in _NOTHING


def _holds(flat: list[int], point: int) -> bool:
    """True if one of the intervals of a word, whose ends follow each other, has the point."""
    return bisect_right(flat, point) & 1 == 1
