"""OriHoistInvariants: loop-invariant code motion (phases 40, 76, 92, 104).

Computations of one value in different arms of a loop, of which neither dominates the other, become one before it.
"""

from typing import Final, final

from orias.analysis.cfg import Loop, LoopForest, dominators, find_loops
from orias.analysis.liveness import Liveness, WordCounts, liveness
from orias.isa.op import (
    F_CALL,
    F_CONVERGENT,
    F_FENCE,
    F_PINNED,
    F_READ,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_WRITE,
)
from orias.isa.operand import K_P, K_R, PT, in_file, is_const, is_imm, is_physical, is_reg, is_vreg, vreg
from orias.ori.decisions import HOISTED, NOT_HOISTED, Decision
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.access_size import may_fault
from orias.passes.gvn import Key, key_of, rename, take
from orias.passes.remat import constant_values, words_needed
from orias.passes.simplify import portable
from orias.target.register_steps import MOST_REGISTERS, lowest_step, registers_that_hold, step_of

_STAY: Final = F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_WRITE | F_FENCE | F_PINNED | F_READ | F_SPECIAL

_ENDS: Final = F_TERM | F_SIDE | F_CALL


def hoist_invariants(fn: Func, late: bool = False) -> bool:
    """Hoist from every loop, inner loops first; True if anything moved.

    Early, a loop without a block before it gets one, and constants stay where they are operands.  `late`, when every operand has the form
    that the target wants, constants leave short loops too.
    """
    forest = find_loops(fn, dominators(fn))
    if not forest.loops:
        return False
    bodies = _bodies(fn, forest)
    step = _step_kept(fn, bodies) if late else MOST_REGISTERS
    first_new = fn.next_block
    changed = False
    for loop in reversed(forest.loops):
        body = bodies[loop]
        pre = preheader(fn, loop, not late)
        if pre is not None:
            constants = late and body.size() <= fn.knobs.hoist_constants_max_inst
            if _hoist(fn, loop, body, pre, constants, _room(fn, body, step)):
                changed = True
            # Under other conditions more may leave the loops around it.
            body.searched = body.searched and constants == late and fn.decisions is None
        if loop.parent is not None:
            outer = bodies[loop.parent]
            outer.take(body)
            if pre is not None and pre.id >= first_new:
                # Just before the header: the places of other blocks are odd.
                outer.blocks.append((body.place - 1, pre))
    return changed


@final
class _Body:
    """What the search for invariants of a loop looks at."""

    __slots__ = ("blocks", "defined", "need", "place", "rest", "searched", "words")

    def __init__(self, place: int) -> None:
        self.place: Final[int] = place
        """The place of its header."""
        self.blocks: list[tuple[int, Block]] = []
        """Its blocks, with their places, without those of inner loops that were searched: what is not invariant there because of the
        values of the inner loop is not invariant around it either."""
        self.rest: int = 0
        """The instructions of the blocks that are left out."""
        self.defined: set[int] = set()
        """The registers that the blocks left out define, and, after the search, all blocks."""
        self.searched: bool = False
        """All that is invariant has left."""
        self.need: int = 0
        """The R registers that are needed somewhere in it, before anything moves."""
        self.words: int = 0
        """The words of R registers that are live at once somewhere in it, with what has moved; 0 if nobody asks."""

    def size(self) -> int:
        """The instructions of the loop."""
        return self.rest + sum(len(b.insts) for _, b in self.blocks)

    def take(self, inner: "_Body") -> None:
        """Add an inner loop, which is not needed any more."""
        self.need = max(self.need, inner.need)
        self.words = max(self.words, inner.words)
        if len(inner.defined) > len(self.defined):
            self.defined, inner.defined = inner.defined, self.defined
        self.defined |= inner.defined
        if inner.searched:
            self.rest += inner.size()
        else:
            self.rest += inner.rest
            self.blocks += inner.blocks


def _bodies(fn: Func, forest: LoopForest) -> dict[Loop, _Body]:
    """Each loop's own blocks, without those of inner loops."""
    places = {b.id: 2 * k + 1 for k, b in enumerate(fn.blocks)}
    bodies = {loop: _Body(places[loop.header.id]) for loop in forest.loops}
    lv = liveness(fn)
    words = lv.words(fn, K_R)
    constants = constant_values(fn) if fn.calls else 0
    for b in fn.blocks:
        loop = forest.innermost[b.id]
        if loop is not None:
            body = bodies[loop]
            body.blocks.append((places[b.id], b))
            body.need = max(body.need, _need(fn, b, lv, words, constants))
    return bodies


def _need(fn: Func, b: Block, lv: Liveness, words: WordCounts, constants: int) -> int:
    """Registers that a block needs for what lives into it; `constants`: the values that calls do not keep."""
    need = words.count(lv.live_in[b.id]) + fn.knobs.hoist_working_registers
    for inst in b.insts:
        if inst.op.flags & F_CALL and inst.uid in fn.calls:
            # What lives through the call is kept out of the callee's registers.
            lost = fn.calls[inst.uid].clobber_r.bit_count()
            kept = lv.live_in[b.id] & lv.live_out[b.id] & ~constants
            need = max(need, registers_that_hold(words.count(kept) + lost))
    return need


def _step_kept(fn: Func, bodies: dict[Loop, _Body]) -> int:
    """The step of occupancy that the live words of a function fill, or a higher number where no loop can get beyond the lowest step."""
    if max([body.need for body in bodies.values()]) + fn.knobs.hoist_budget <= lowest_step(fn.target):
        return MOST_REGISTERS
    words = words_needed(fn, liveness(fn))
    for body in bodies.values():
        body.words = max([words[b.id] for _, b in body.blocks], default=0)
    return step_of(fn.target, registers_that_hold(max(words.values())))


def _room(fn: Func, body: _Body, most: int) -> int:
    """Values that may leave a loop before it needs the registers of a lower occupancy, or more than `most`, or spills."""
    step = min(step_of(fn.target, body.need), fn.max_regs)
    return min(fn.knobs.hoist_budget, step - body.need, most - registers_that_hold(body.words))


def preheader(fn: Func, loop: Loop, new_blocks: bool = True) -> Block | None:
    """The block before a loop from which only the header follows, made if need be; None at the function's entry."""
    header = loop.header
    inside = set(loop.blocks)
    outside = [p for p in header.preds if p.id not in inside]
    if len(outside) == 1 and len(outside[0].succs) == 1 and outside[0].terminator() is None:
        return outside[0]
    if not new_blocks or len(outside) != 1 or outside[0].succs.count(header) != 1:
        return None
    p = outside[0]
    t = p.terminator()
    if t is None or t.op.base != "BRA":
        return None
    pre = fn.new_block()
    p.succs[p.succs.index(header)] = pre
    pre.preds = [p]
    pre.succs = [header]
    header.preds[header.preds.index(p)] = pre
    fn.blocks.insert(fn.blocks.index(header), pre)
    # An enclosing loop gains the block too.
    outer = loop.parent
    while outer is not None:
        outer.blocks.append(pre.id)
        outer = outer.parent
    return pre


def _hoist(fn: Func, loop: Loop, body: _Body, pre: Block, constants: bool, room: int) -> bool:
    """Hoist from one loop, at most `room` values."""
    if room <= 0 and fn.decisions is None:
        return False
    members = [b for _, b in sorted(body.blocks, key=lambda x: x[0])]
    local = body.defined
    for b in members:
        for inst in b.insts:
            for d in inst.dst:
                if is_vreg(d):
                    local.add(vreg(d))
    moved = 0
    again = True
    leaders: dict[Key, Inst] = {}
    for inst in pre.insts:
        key = key_of(fn, inst, 0)
        if key is not None and not inst.op.flags & F_READ:
            leaders[key] = inst
    repl: dict[int, int] = {}
    while again and moved < room:
        again = False
        for b in members:
            kept: list[Inst] = []
            # What follows may not run at all.
            certain = b is loop.header
            for inst in b.insts:
                if repl:
                    rename(inst, repl)
                certain = certain and not inst.op.flags & _ENDS
                if moved < room and _invariant(inst, local, constants) and (certain or not may_fault(inst)):
                    again = True
                    for d in inst.dst:
                        local.discard(vreg(d))
                    key = key_of(fn, inst, 0)
                    leader = leaders.setdefault(key, inst) if key is not None else inst
                    if leader is not inst and take(inst, leader, repl):
                        continue
                    if fn.decisions is not None:
                        text = f"{inst.op.name} is computed before the loop of line {line_of(loop)}"
                        fn.decisions.append(Decision(HOISTED, inst.loc, text))
                    pre.insts.append(inst)
                    moved += 1
                    body.words += 1
                else:
                    kept.append(inst)
            b.insts = kept
    body.searched = moved < room
    if repl:
        for b in fn.blocks:
            for inst in b.insts:
                rename(inst, repl)
    if fn.decisions is not None and room <= moved:
        left = sum(_invariant(i, local, constants) for b in members for i in b.insts)
        if left:
            text = f"{left} invariant computations stay in the loop: {moved} have left it, more would cost registers"
            fn.decisions.append(
                Decision(NOT_HOISTED, line_of(loop), text, {"room": room, "moved": moved, "left": left})
            )
    return moved > 0 or bool(repl)


def line_of(loop: Loop) -> int:
    """The PTX line of the branch back to the top of a loop, 0 if it is not known."""
    return next((i.loc for b in loop.latches for i in reversed(b.insts) if i.loc), 0)


def _invariant(inst: Inst, local: set[int], constants: bool) -> bool:
    op = inst.op
    if op.flags & _STAY or op is OP_PHI or inst.guard != PT or op.base == "undef":
        return False
    if op is OP_PACK:
        return False
    if op is OP_COPY and not (is_const(inst.src[0]) or (constants and is_imm(inst.src[0]))):
        return False
    # What most often keeps one in the loop is asked first.
    for s in inst.src:
        if vreg(s) in local and is_reg(s):
            return False
    # There are seven predicates; one held through a loop soon costs more than its compare.
    if any(in_file(d, K_P) and is_vreg(d) for d in inst.dst):
        return False
    if not portable(inst):
        return False
    return all(not is_physical(d) for d in inst.dst)
