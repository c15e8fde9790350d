"""The serial scheme: every instruction waits for everything before it.

ptxas 13.0.88 writes these control words at ``-O0`` (``docs/facts/scheduling.md``): stall 15, no yield, wait on
scoreboards 0 and 1 everywhere; write barrier 0 where results arrive late, read barrier 1 where sources are read late.
All dependences are enforced: a fault that disappears with this scheme was a fault of scheduling.

There is one deviation.  Operations whose fixed latency exceeds 15 cycles (matrix operations) have stall 0 in ptxas's
output; its meaning to the hardware is unknown.  Here NOPs with a stall of 15 follow them instead.
"""

from typing import Final

from orias.isa.op import op
from orias.ori.ir import Func, Inst
from orias.timing.ctl import MAX_STALL, NO_BARRIER, pack
from orias.timing.units import MMA, NEEDS_READ, NEEDS_WRITE, takes_waits, units

_NOP: Final = op("NOP")
WAIT_ALL: Final = 0b000011
_MMA_FILLERS: Final = 2
"""NOPs after a matrix operation of fixed latency: 45 cycles in all; the longest measured latency is 33."""
_NO_STALL: Final[frozenset[str]] = frozenset(("ERRBAR",))
"""Mnemonics that ptxas writes with stall 0."""


def schedule_serial(fn: Func) -> None:
    """Fill ``Inst.ctl`` of every instruction; works on allocated functions and inserts NOPs only after matrix operations."""
    table = units(fn.target.latency_class)
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            needs = table.needs(inst.op, inst.dst, inst.src)
            inst.ctl = pack(
                0 if inst.op.base in _NO_STALL else MAX_STALL,
                False,
                0 if needs & NEEDS_WRITE else NO_BARRIER,
                1 if needs & NEEDS_READ else NO_BARRIER,
                WAIT_ALL if takes_waits(inst) else 0,
            )
            out.append(inst)
            if table.pipe(inst.op) == MMA and not needs & NEEDS_WRITE:
                for _ in range(_MMA_FILLERS):
                    nop = fn.new_inst(_NOP, [], [], loc=inst.loc)
                    nop.ctl = pack(MAX_STALL, False, NO_BARRIER, NO_BARRIER, WAIT_ALL)
                    out.append(nop)
        b.insts = out
