"""Expands pseudo operations whose words follow each other directly, because a capsule states them as one instruction.

ptxas 13.0.88 writes these words without anything in between from sm_100 on (``docs/facts/capsules.md``, "Rules"):

- ``specialbits``: bits of a special register; the read, the shift and the cut have the register of the result;
- ``movedword``: a word of constant bank 0 whose place depends on the size of the cluster; so do the size, the product and the load;
- ``barrierpair``: a barrier of the block whose number and number of threads are both in registers.  The register with
  the number of threads takes both for as long as the barrier lasts, and has its value again afterwards;
- ``reducedhalves``: loads from tensor memory by the halves of a warp, with a reduction, into the same registers;
- ``arrivalstate``: an arrival that completes no phase.  The hardware gives the threads that arrived together and the object before them;
  a thread's state is the object after the arrivals of lower lanes.  A copy of the count goes before, for the last word reads it too,
  after the first has written the state.  ptxas puts both words of the state into the return-address register and needs no spare one.
"""

from typing import Final

from orias.isa.op import Op
from orias.isa.operand import NOT_PT, RZ, Opnd, bare, imm, imm_value, reg_plus
from orias.isa.roles import (
    ARRIVAL_STATE,
    BARRIER_NUMBERS,
    BARRIER_PAIR,
    COMBINE_BITS,
    CUT,
    LANES_BELOW,
    LOAD_CONSTANT,
    MOVE,
    MOVED_WORD,
    MULTIPLY_ADD,
    POPULATION,
    READ_SPECIAL,
    READ_SPECIAL_AT_ONCE,
    READ_SPECIAL_BITS,
    REDUCED_HALVES,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SHIFT_RIGHT_HIGH,
    arrival_of,
    barrier_of,
    halves_of,
)
from orias.ori.ir import Func

_HALF: Final = imm(16)
"""A barrier takes the number of threads in the upper half of a word."""
_OR_MASKED: Final = imm(0xF8)
"""Table of LOP3: a | (b & c)."""
_AND: Final = imm(0xC0)
"""Table of LOP3: a & b."""
_PENDING: Final = imm(11)
"""The lowest bit of the pending arrivals in the high word of an object."""

Word = tuple[Op, list[Opnd], list[Opnd]]
"""Operation, results and sources of one instruction."""


def expand_joined(fn: Func) -> set[int]:
    """Replace the pseudo operations of an allocated function by their words.

    Returns the ``uid`` of each word: nothing may move between them, and their registers must stay, for a capsule names each once.
    """
    joined: set[int] = set()
    for b in fn.blocks:
        if any(is_joined(i.op) for i in b.insts):
            out = []
            for i in b.insts:
                if is_joined(i.op):
                    for op, dst, src in joined_words(i.op, i.dst, i.src):
                        out.append(fn.new_inst(op, dst, src, i.guard, loc=i.loc))
                        joined.add(out[-1].uid)
                else:
                    out.append(i)
            b.insts = out
    return joined


def is_joined(op: Op) -> bool:
    """True for the pseudo operations of this module."""
    return op is READ_SPECIAL_BITS or op is MOVED_WORD or op.base in (BARRIER_PAIR, REDUCED_HALVES, ARRIVAL_STATE)


def joined_words(op: Op, dst: list[Opnd], src: list[Opnd]) -> list[Word]:
    """The words of such an operation, on registers."""
    if op is READ_SPECIAL_BITS:
        d = dst[0]
        name, low, count = src
        return [(READ_SPECIAL, [d], [name]), (SHIFT_RIGHT_HIGH, [d], [RZ, low, d]), (CUT, [d], [d, count])]
    if op is MOVED_WORD:
        d = dst[0]
        size, step, place = src
        return [
            (READ_SPECIAL_AT_ONCE, [d], [size]),
            (MULTIPLY_ADD, [d], [d, step, RZ]),
            (LOAD_CONSTANT[1], [d], [place, d]),
        ]
    if op.base == REDUCED_HALVES:
        at, *offsets = src
        return [
            (half, [*dst], [at, o] if imm_value(o) else [at]) for half, o in zip(halves_of(op), offsets, strict=True)
        ]
    if op.base == ARRIVAL_STATE:
        return _arrival(op, dst, src)
    # The same register twice is 0 in every program with a meaning: a number of threads is a multiple of 32.
    number, threads, *rest = src
    return [
        (SHIFT_LEFT, [threads], [threads, _HALF, RZ]),
        (COMBINE_BITS, [threads], [threads, imm(BARRIER_NUMBERS), number, _OR_MASKED, NOT_PT]),
        (barrier_of(op), [], [threads, threads, *rest]),
        (SHIFT_RIGHT, [threads], [threads, _HALF, RZ]),
    ]


def _arrival(op: Op, dst: list[Opnd], src: list[Opnd]) -> list[Word]:
    """The words of an arrival; the spare register that the address is in is not written before the address is read."""
    state, below, count = dst
    *address, amount = src
    if any(bare(o) == bare(count) for o in address):
        below, count = count, below
    high = reg_plus(state, 1)
    copy: list[Word] = [] if bare(count) == bare(amount) else [(MOVE, [count], [amount])]
    return [
        *copy,
        (arrival_of(op), [state], [*address, count]),
        (READ_SPECIAL, [below], [LANES_BELOW]),
        (COMBINE_BITS, [below], [state, below, RZ, _AND, NOT_PT]),
        (POPULATION, [below], [below]),
        (SHIFT_LEFT, [below], [below, _PENDING, RZ]),
        (MULTIPLY_ADD, [high], [below, count, high]),
    ]
