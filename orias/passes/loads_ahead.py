"""Loads go before branches: those of later iterations (OriLoopUnrolling), and those of blocks that run in any case (OriDoPredication).

What runs in any case may load what it needs as soon as the address is known, unless memory may change before.  Within a block the
scheduler sees to that; here there are several blocks.
"""

from typing import Final

from orias.analysis.liveness import liveness
from orias.isa.op import F_CALL, F_CONVERGENT, F_DISTANT, F_FENCE, F_PINNED, F_SIDE, F_SPECIAL, F_TERM, F_WRITE
from orias.isa.operand import K_R, PT, in_file, is_physical, is_vreg, vreg
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.passes.access_size import is_load
from orias.passes.equal_blocks import Follower, chains, keeps_loads
from orias.passes.remat import words_needed
from orias.passes.simplify import portable
from orias.target.register_steps import MOST_REGISTERS, live_words

_CHANGES: Final = F_WRITE | F_FENCE | F_CALL
_STAYS: Final = _CHANGES | F_CONVERGENT | F_PINNED | F_SIDE | F_SPECIAL | F_TERM


def load_before_branches(fn: Func) -> bool:
    """Move loads that may take long, and what their addresses need, to the end of an earlier block that runs as often; True if any moved."""
    if len(fn.blocks) < 3 or not any(_is_distant(i) for i in fn.insts()):
        return False
    changed = False
    # Without a limit the scheduler's choice of an order sees to the registers.
    needs = words_needed(fn, liveness(fn)) if fn.max_regs < MOST_REGISTERS else {}
    for chain in chains(fn, fn.knobs.load_ahead_distance):
        at = 0
        while at + 1 < len(chain):
            end = at + 1
            passed = sum(len(x.insts) for x in chain[end].between)
            while end + 1 < len(chain) and not any(keeps_loads(fn, i) for i in chain[end].block.insts):
                passed += sum(len(x.insts) for x in (*chain[end + 1].between, chain[end].block))
                if passed > fn.knobs.load_ahead_distance:
                    break
                end += 1
            changed = _gather(fn, chain[at : end + 1], needs) or changed
            at = end
    return changed


def _gather(fn: Func, chain: list[Follower], needs: dict[int, int]) -> bool:
    """Move loads of a part of a chain to the end of its first block; nothing between its first and its last block writes memory.

    `needs`: words of R registers that blocks need, if these are limited; what moves is added to those that it lives through.
    """
    first = chain[0].block
    blocks = [f.block for f in chain[1:]]
    late = {vreg(d) for f in chain[1:] for b in (f.block, *f.between) for i in b.insts for d in i.dst if is_vreg(d)}
    insts: list[Inst] = []
    for b in blocks:
        for inst in b.insts:
            if keeps_loads(fn, inst):
                break
            insts.append(inst)
    passed = [x.id for f in chain[1:] for x in (*f.between, f.block)]
    room = live_words(fn.max_regs) - max(needs[ident] for ident in passed) if needs else None
    moves = _loads(fn, insts, late, fn.knobs.load_ahead_limit, True, room)
    if moves:
        if needs:
            words = sum(_words(fn, i) for i in moves.values() if i.op.loads())
            for ident in passed:
                needs[ident] += words
        _move(first, blocks, moves)
    return bool(moves)


def _is_distant(inst: Inst) -> bool:
    """True for what reads memory that may be far."""
    return inst.op.flags & F_DISTANT != 0 and inst.op.loads()


def load_ahead(fn: Func, blocks: list[Block], always: list[Block], most: int) -> None:
    """Move loads, and what their addresses need, from the blocks of `always` to the end of the first of them.

    `blocks`: several iterations of a loop; `always`: those of its blocks that run whenever the first does, in order.
    `most`: loads that move at most.
    """
    if any(keeps_loads(fn, i) for b in blocks for i in b.insts):
        return
    first = always[0]
    late = {vreg(d) for b in blocks for i in b.insts for d in i.dst if is_vreg(d)}
    late.difference_update(vreg(d) for i in first.insts for d in i.dst if is_vreg(d))
    moves = _loads(fn, [i for b in always[1:] for i in b.insts], late, most, False)
    if moves:
        _move(first, always[1:], moves)


def _loads(
    fn: Func, insts: list[Inst], late: set[int], most: int, distant: bool, room: int | None = None
) -> dict[int, Inst]:
    """The first loads that may move, at most `most`, and what they need, by number; ``distant``: only of memory that may be far.

    `late`: the registers that have no value yet in the block to which they go.  `room`: words that the results of all of them may have.
    """
    moves: dict[int, Inst] = {}
    makers: dict[int, Inst] = {}
    for inst in insts:
        if not _may_move(inst, late):
            continue
        for d in inst.dst:
            if is_vreg(d):
                late.discard(vreg(d))
                makers[vreg(d)] = inst
        if most > 0 and is_load(inst) and (not distant or _is_distant(inst)):
            if room is not None:
                room -= _words(fn, inst)
                if room < 0:
                    break
            most -= 1
            _need(inst, makers, moves)
    return moves


def _words(fn: Func, inst: Inst) -> int:
    """The words of an instruction's results."""
    return sum(fn.vwidth[vreg(d)] for d in inst.dst if is_vreg(d) and in_file(d, K_R))


def _move(first: Block, blocks: list[Block], moves: dict[int, Inst]) -> None:
    """Move instructions from some blocks to the end of another, in their order."""
    at = len(first.insts) - (first.terminator() is not None)
    first.insts[at:at] = [i for b in blocks for i in b.insts if i.uid in moves]
    for b in blocks:
        b.insts = [i for i in b.insts if i.uid not in moves]


def _may_move(inst: Inst, late: set[int]) -> bool:
    """True for a computation or a plain load of what is known in the first block."""
    if inst.op is OP_PHI or inst.op.flags & _STAYS or inst.guard != PT or not portable(inst):
        return False
    if inst.op.loads() and not is_load(inst):
        return False
    return not any(is_physical(d) for d in inst.dst) and not any(is_vreg(s) and vreg(s) in late for s in inst.uses())


def _need(inst: Inst, makers: dict[int, Inst], moves: dict[int, Inst]) -> None:
    """Add an instruction to what moves, and before it what it reads."""
    work = [inst]
    while work:
        i = work.pop()
        if i.uid not in moves:
            moves[i.uid] = i
            work.extend(makers[vreg(s)] for s in i.uses() if is_vreg(s) and vreg(s) in makers)
