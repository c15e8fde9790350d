"""setmaxnreg: the pseudo operation ``setmaxnreg`` becomes USETMAXREG, or goes where ptxas ignores it.

Source 0 is the new register count, source 1 is 1 for ``.inc``.  Giving registers back always succeeds; asking for more is tried until
the pool of the CTA has them (forms read off ptxas 13.0.88)::

    loop:  UP = USETMAXREG.TRY_ALLOC.CTAPOOL count ; @!P BRA loop
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import INV, K_P, K_UP, Opnd, imm_value
from orias.ori.ir import OP_BRA, OP_COPY, Block, Func, Inst

PSEUDO: Final = op("setmaxnreg")
TRY_ALLOC: Final = op("USETMAXREG.TRY_ALLOC.CTAPOOL")
DEALLOC: Final = op("USETMAXREG.DEALLOC.CTAPOOL")


def requests(fn: Func) -> list[tuple[int, bool, int]]:
    """(count, increase, PTX line) of each setmaxnreg in a function."""
    return [(imm_value(i.src[0]), bool(imm_value(i.src[1])), i.loc) for i in fn.insts() if i.op is PSEUDO]


def expand_setmaxnreg(fn: Func, entry_regs: int) -> None:
    """Expand the pseudo operations of a function that starts with `entry_regs` registers; 0: remove them."""
    if not any(i.op is PSEUDO for i in fn.insts()):
        return
    fn.entry_regs = entry_regs
    blocks: list[Block] = []
    for b in fn.blocks:
        blocks.append(b)
        insts = b.insts
        b.insts = []
        for inst in insts:
            if inst.op is not PSEUDO:
                b.insts.append(inst)
            elif entry_regs and not imm_value(inst.src[1]):
                b.insts.append(fn.new_inst(DEALLOC, [], [inst.src[0]], loc=inst.loc))
            elif entry_regs:
                loop, rest = _split(fn, b)
                _fill(fn, loop, inst, inst.src[0])
                blocks += [loop, rest]
                b = rest
    fn.blocks = blocks


def _split(fn: Func, b: Block) -> tuple[Block, Block]:
    """End a block before a loop of one block, and go on after it in another, which inherits the successors."""
    loop, rest = fn.new_block(), fn.new_block()
    fn.hand_on(b, rest)
    fn.link(b, loop)
    fn.link(loop, rest)
    fn.link(loop, loop)
    return loop, rest


def _fill(fn: Func, loop: Block, inst: Inst, count: Opnd) -> None:
    up, p = fn.new_vreg(K_UP), fn.new_vreg(K_P)
    loop.insts = [
        fn.new_inst(TRY_ALLOC, [up], [count], loc=inst.loc),
        fn.new_inst(OP_COPY, [p], [up], loc=inst.loc),
        fn.new_inst(OP_BRA, [], [], p | INV, loc=inst.loc),
    ]
