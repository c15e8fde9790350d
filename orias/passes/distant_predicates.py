"""OriDoRemat: conditions that are read again far below are computed again there, in blocks that need more predicates than there are.

A mask of a tile guards a load near the top and a store near the end of a block; eight such masks leave no predicate for the loads
between, or are spilled (``SEL`` and ``ISETP.NE``).  A comparison, with at most one more operation for its sources, takes as many
instructions as a spill and no register.  The range of a predicate counts from its first reader, since the scheduler computes it
just before that.
"""

from itertools import pairwise
from typing import Final, final

from orias.analysis.liveness import Liveness, liveness, reg_bit
from orias.isa.op import op
from orias.isa.operand import K_P, K_R, PT, has_lane, in_file, is_vreg, renamed, vreg
from orias.ori.decisions import REMATERIALISED, Decision
from orias.ori.ir import Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.simplify import portable

_CONDITIONS: Final = ("ISETP", "PLOP3")
_STEPS: Final = (op("LOP3.LUT"), op("IADD3"))
_MOST: Final = 2
"""Instructions that compute a condition again at most, as many as a spill takes."""


def compute_conditions_again(fn: Func, known: Liveness | None = None) -> bool:
    """Split the ranges of predicates with distant readers in blocks that need many predicates; True if any were.

    `known`: the function's liveness.
    """
    limit = fn.knobs.sched_predicate_limit
    blocks = [b for b in fn.blocks if sum(1 for i in b.insts if i.op.base in _CONDITIONS) > limit]
    if not blocks:
        return False
    lv = liveness(fn) if known is None else known
    values = Values(fn, counted=False)
    changed = False
    for b in blocks:
        left = fn.knobs.remat_condition_budget
        while left >= len(b.insts) and _Ranges(fn, b, values, lv.live_out[b.id]).split(limit):
            left -= len(b.insts)
            values.grow()
            changed = True
    return changed


@final
class _Ranges:
    """Where a block reads its values."""

    __slots__ = ("b", "fn", "kept", "place", "readers", "values")

    def __init__(self, fn: Func, b: Block, values: Values, kept: int) -> None:
        self.fn: Final[Func] = fn
        self.b: Final[Block] = b
        self.values: Final[Values] = values
        self.kept: Final[int] = kept
        """The registers, as bits, that are live after the block."""
        self.place: Final[dict[int, int]] = {}
        """Where the block defines a register."""
        self.readers: Final[dict[int, list[int]]] = {}
        """The places that read a register, in order."""
        for at, inst in enumerate(b.insts):
            for o in inst.uses():
                if reg_bit(o):
                    found = self.readers.setdefault(vreg(o), [])
                    if not found or found[-1] != at:
                        found.append(at)
            for d in inst.dst:
                if is_vreg(d):
                    self.place[vreg(d)] = at

    def split(self, limit: int) -> bool:
        """Compute one condition again, that with the longest gap between two readers where most predicates are live; False if there is none."""
        end = len(self.b.insts)
        live = [0] * (end + 1)
        ranges: list[tuple[int, list[int]]] = []
        for v, readers in self.readers.items():
            if self.fn.vkind[v] != K_P:
                continue
            ranges.append((v, readers))
            first = readers[0] if v in self.place else 0
            last = end if self.kept >> v & 1 else readers[-1]
            for at in range(first, last):
                live[at] += 1
        top = max(live)
        if top <= limit:
            return False
        peak = live.index(top)
        gaps: list[tuple[int, int, int]] = []
        for v, readers in ranges:
            if v not in self.place or self.kept >> v & 1:
                continue
            for near, far in pairwise(readers):
                if near <= peak < far:
                    gaps.append((near - far, v, far))
        gaps.sort()
        for _, v, far in gaps:
            chain = self._chain(v, far)
            if chain:
                self._again(chain, v, far)
                return True
        return False

    def _chain(self, v: int, far: int) -> list[Inst]:
        """The instructions that compute a value again before a place, sources first; none if there are too many or a source has gone."""
        out: list[Inst] = []
        left = [v]
        while left:
            s = left.pop()
            d = self.values.defs[s]
            if d is None or s not in self.place or not _may_run_again(d) or len(out) == _MOST:
                return []
            out.append(d)
            for o in d.src:
                if reg_bit(o) and not self._is_live(vreg(o), far):
                    left.append(vreg(o))
        out.reverse()
        return out

    def _is_live(self, v: int, at: int) -> bool:
        """True if a register is live at a place of the block anyway."""
        return self.kept >> v & 1 != 0 or any(k >= at for k in reversed(self.readers.get(v, ())))

    def _again(self, chain: list[Inst], v: int, far: int) -> None:
        """Put copies of instructions before a place; what reads `v` from there on reads the last one's result."""
        fn, insts = self.fn, self.b.insts
        names: dict[int, int] = {}
        new: list[Inst] = []
        for d in chain:
            result = fn.new_vreg(fn.vkind[vreg(d.dst[0])])
            src = [renamed(o, names) for o in d.src]
            names[vreg(d.dst[0])] = vreg(result)
            new.append(fn.new_inst(d.op, [result, *d.dst[1:]], src, loc=d.loc))
        own = {v: names[v]}
        for inst in insts[far:]:
            inst.src = [renamed(o, own) for o in inst.src]
            inst.guard = renamed(inst.guard, own)
            inst.old = renamed(inst.old, own)
        insts[far:far] = new
        if fn.decisions is not None:
            text = f"{chain[-1].op.name} runs a second time, so that its result holds no predicate in between"
            fn.decisions.append(Decision(REMATERIALISED, chain[-1].loc, text, {"instructions": len(chain)}))


def _may_run_again(inst: Inst) -> bool:
    """True for a condition, or one step before it, that gives the same anywhere below."""
    if inst.guard != PT or not portable(inst) or any(is_vreg(d) for d in inst.dst[1:]) or has_lane(inst.dst[0]):
        return False
    if in_file(inst.dst[0], K_P):
        return inst.op.base in _CONDITIONS
    return in_file(inst.dst[0], K_R) and inst.op in _STEPS
