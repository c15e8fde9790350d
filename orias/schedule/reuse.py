"""Operand reuse flags.

Flag s on instruction i keeps the register of source field s (A, B, C) for a later instruction j that reads the same
register in the same field.  The conditions are those under which ptxas sets it (``docs/facts/scheduling.md``, "Reuse
flags"): no instruction in between writes the register, and i and all instructions before j have the yield bit with a
stall of 1 or 2.  This pass is more restrictive than ptxas: operations of the arithmetic pipes only, at most a few
instructions apart, and no wait in between.  Code without a flag is always correct.
"""

from typing import Final

from orias.analysis.access import accesses
from orias.isa.isa_table import IsaTable, load
from orias.isa.operand import K_R, in_file, is_zero_reg, reg_id
from orias.ori.ir import Func, Inst
from orias.timing.ctl import YIELD, stall, wait_mask, with_reuse
from orias.timing.units import ALU, FMA, FP64, HALF, Units, units

PIPES: Final[frozenset[int]] = frozenset((ALU, FMA, HALF, FP64))
REACH: Final = 3
"""Number of later instructions considered for one flag."""


def mark_reuse(fn: Func) -> None:
    """Set the reuse flags of a function; its control words are otherwise final."""
    table = load(fn.target.table)
    u = units(fn.target.latency_class)
    for b in fn.blocks:
        insts = b.insts
        fields = [_fields(i, table, u) for i in insts]
        written: dict[int, set[int]] = {}
        for k, inst in enumerate(insts):
            mine = fields[k]
            if not mine or not holds(inst):
                continue
            flags = 0
            for j in range(k + 1, min(k + 1 + REACH, len(insts))):
                if wait_mask(insts[j].ctl):
                    break
                for key in mine & fields[j]:
                    if not any(key >> 2 in _written(insts[i], written) for i in range(k, j)):
                        flags |= 1 << (key & 3)
                if not holds(insts[j]):
                    break
            if flags:
                inst.ctl = with_reuse(inst.ctl, flags)


def holds(inst: Inst) -> bool:
    """Whether a kept register passes an instruction: the yield bit with a stall of 1 or 2."""
    return inst.ctl & YIELD != 0 and stall(inst.ctl) <= 2


def _written(inst: Inst, known: dict[int, set[int]]) -> set[int]:
    """The units that an instruction writes; `known`: those found before, by uid."""
    units = known.get(inst.uid)
    if units is None:
        units = known[inst.uid] = {w >> 8 for w in accesses(inst).writes}
    return units


def _fields(inst: Inst, table: IsaTable, u: Units) -> set[int]:
    """``register << 2 | field`` of the sources that may have a reuse flag; empty for other pipes."""
    out: set[int] = set()
    if u.pipe(inst.op) not in PIPES:
        return out
    for o, field in zip(inst.src, table.reuse_fields(inst.op, inst.dst, inst.src), strict=False):
        if field >= 0 and in_file(o, K_R) and not is_zero_reg(o):
            out.add(reg_id(o) << 2 | field)
    return out
