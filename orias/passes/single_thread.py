"""AnalyzeUniformsForSpeculation: loops over the lanes of a warp go where there is one lane or one value.

Lowering serves the threads of a warp one by one (:mod:`orias.lower.memory.lane_loops`).  Here

* ELECT is true where at most one thread of the warp can be: in blocks that only the thread reaches that an ELECT of the whole warp
  has chosen.  The loop around it disappears with its branch;
* R2UR needs no guard, and no loop goes over the values, where all threads have the same value.

ptxas 13.0.88 does the same: no loop after ``elect.sync``, R2UR before the loop for values that do not vary, and a loop (over
threads, not values) in all other places, after ``tid == 0`` too.
"""

from typing import Final, final

from orias.analysis.cfg import NO_BLOCK, dominators
from orias.analysis.divergence import Divergence, divergence
from orias.isa.op import F_COMPARES
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    vreg,
)
from orias.ori.ir import OP_BRA, OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.def_use import Values
from orias.semantics.truth_tables import INPUTS

_ELECT: Final = "ELECT"
_EVERYONE: Final = imm(0xFFFFFFFF)


def resolve_elections(fn: Func) -> bool:
    """Resolve elections and reads of uniform values; True if branches may have become constant."""
    if not any(i.op.base in (_ELECT, "R2UR") for i in fn.insts()):
        return False
    return _Settler(fn).run()


@final
class _Settler:
    __slots__ = ("alone", "chosen", "div", "fn", "values")

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.values: Values = Values(fn)
        self.div: Divergence = divergence(fn)
        self.chosen: set[int] = set()
        """Predicates that an ELECT of all threads of the warp has made."""
        self.alone: bytearray = bytearray(fn.next_block)
        """1 for blocks that at most one thread of a warp reaches."""

    def run(self) -> bool:
        for b in self.fn.blocks:
            for k, inst in enumerate(b.insts):
                if inst.op.base == _ELECT and self._whole_warp(b, k):
                    self.chosen.add(vreg(inst.dst[1]))
        self._find_alone()
        changed = False
        for b in self.fn.blocks:
            for inst in list(b.insts):
                if inst.op.base == _ELECT and self.alone[b.id]:
                    changed = self._elected(inst) or changed
                elif inst.op.base == "R2UR":
                    changed = self._read(b, inst) or changed
        return changed

    def _whole_warp(self, b: Block, k: int) -> bool:
        """True for an election in which every thread of the warp takes part.

        It stands where the warp runs as a whole, or after an ``elect.sync`` with a full mask, which all its threads reach together.
        """
        inst = b.insts[k]
        if not is_vreg(inst.dst[1]) or inst.src != [PT]:
            return False
        if not self.div.regions[b.id] and not self.div.is_varying(inst.guard):
            return True
        before = b.insts[k - 1] if k else None
        return (
            before is not None
            and before.op.base == "WARPSYNC"
            and before.src == [_EVERYONE]
            and before.guard == inst.guard
        )

    def _find_alone(self) -> None:
        """Blocks under an edge whose condition only an elected thread fulfils."""
        if not self.chosen:
            return
        dom = dominators(self.fn)
        by_id = {b.id: b for b in self.fn.blocks}
        for ident in dom.order:
            b = by_id[ident]
            up = dom.idom[b.id]
            if up != NO_BLOCK and self.alone[up]:
                self.alone[b.id] = 1
            else:
                # Edges back to a loop start where its threads have come from outside.
                entries = [p for p in b.preds if not dom.dominates(b.id, p.id)]
                if len(entries) != 1:
                    continue
                p = entries[0]
                t = p.terminator()
                if t is None or t.op is not OP_BRA or len(p.succs) != 2 or p.succs[0] is p.succs[1]:
                    continue
                taken = p.succs[1] is b
                self.alone[b.id] = self._implies(t.guard if taken else t.guard ^ INV, self.fn.knobs.election_depth)

    def _implies(self, p: Opnd, depth: int) -> bool:
        """True if a predicate (``INV``: its opposite) holds for an elected thread at most."""
        if p == NOT_PT:
            return True
        if not is_vreg(p) or not in_file(p, K_P) or depth == 0:
            return False
        if vreg(p) in self.chosen:
            return not p & INV
        d = self.values.definition(p)
        if d is None:
            return False
        inverted = p & INV
        if d.op is OP_COPY:
            return self._either(d, d.src[0] ^ inverted, inverted, depth)
        if d.op is OP_PHI:
            return all(self._implies(s ^ inverted, depth // 2) for s in d.src)
        if d.op.base == "PLOP3":
            return d.guard == PT and self._table(d, p, depth)
        if d.op.flags & F_COMPARES and d.op.has("AND") and d.guard == PT and not inverted:
            # Both results are and-ed with the last source.
            if self._implies(d.src[-1], depth - 1):
                return True
        if d.op.base == "ISETP" and d.guard == PT and d.dst[0] == p & ~INV and d.src[-1] == PT:
            return self._compared(d, inverted, depth)
        return False

    def _compared(self, d: Inst, inverted: int, depth: int) -> bool:
        """A word that is one of two numbers is compared with a number: which of them it must be, and so its condition."""
        number, made = self._number(d.src[1]), self.values.definition(d.src[0])
        if number is None or made is None or d.op.mods[0] not in ("EQ", "NE") or has_flags(d.src[0]):
            return False
        if made.op is OP_COPY and made.guard != PT:
            new, old, choice = self._number(made.src[0]), self._number(made.old), made.guard
        elif made.op.base == "SEL" and made.guard == PT:
            new, old, choice = self._number(made.src[0]), self._number(made.src[1]), made.src[2]
        else:
            return False
        if new is None or old is None:
            return False
        equal = (d.op.mods[0] == "EQ") != bool(inverted)
        if (old == number) != equal and self._implies(choice, depth - 1):
            return True
        return (new == number) != equal and self._implies(choice ^ INV, depth - 1)

    def _number(self, o: Opnd) -> int | None:
        """The number that an operand is."""
        if o == RZ:
            return 0
        if is_imm(o):
            return imm_value(o)
        d = self.values.definition(o)
        if d is None or d.op is not OP_COPY or d.guard != PT or has_lane(o) or not is_imm(d.src[0]):
            return None
        return imm_value(d.src[0])

    def _either(self, d: Inst, new: Opnd, inverted: int, depth: int) -> bool:
        """A guarded copy holds if its guard and the source do, or neither its guard nor the old value fails."""
        if not (self._implies(new, depth - 1) or (d.guard != PT and self._implies(d.guard, depth - 1))):
            return False
        if d.guard == PT:
            return True
        if d.old == K_NONE:
            return False
        return self._implies(d.old ^ inverted, depth - 1) or self._implies(d.guard ^ INV, depth - 1)

    def _table(self, d: Inst, p: Opnd, depth: int) -> bool:
        """PLOP3: an input without which the table gives no true."""
        place = next((k for k, o in enumerate(d.dst) if vreg(o) == vreg(p)), -1)
        tables = [s for s in d.src if is_imm(s)]
        inputs = [s for s in d.src if in_file(s, K_P)]
        if place < 0 or place >= len(tables) or len(inputs) != 3:
            return False
        lut = imm_value(tables[place]) & 0xFF
        if p & INV:
            lut ^= 0xFF
        for k, s in enumerate(inputs):
            mask = INPUTS[k]
            if not lut & ~mask and self._implies(s, depth - 1):
                return True
            if not lut & mask and self._implies(s ^ INV, depth - 1):
                return True
        return False

    def _elected(self, inst: Inst) -> bool:
        """The only thread elects itself."""
        if is_vreg(inst.dst[0]) or inst.guard != PT or inst.src != [PT]:
            return False
        inst.op, inst.dst, inst.src = OP_COPY, [inst.dst[1]], [PT]
        return True

    def _read(self, b: Block, inst: Inst) -> bool:
        """R2UR of a value that all threads have in common."""
        if inst.old != K_NONE or (not self.alone[b.id] and self.div.is_varying(inst.src[0])):
            return False
        inst.guard = PT
        if is_imm(inst.src[0]) and len(inst.dst) == 1:
            inst.op = OP_COPY
        if len(inst.dst) < 2 or not is_vreg(inst.dst[1]):
            return False
        other = inst.dst.pop()
        at = b.insts.index(inst)
        b.insts.insert(at, self.fn.new_inst(OP_COPY, [other], [NOT_PT], loc=inst.loc))
        return True
