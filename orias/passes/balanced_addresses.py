"""LateArchOptimizeFirst: where the FMA pipe would be the slowest of a block, sums of 64 bits go to the ALU pipe.

``d = IMAD.WIDE x, 1 << k, y`` holds the FMA pipe for twice as long as a sum of words holds its pipe.  As ``LEA`` and ``LEA.HI.X`` (for k = 0:
``IADD3`` and ``IADD3.X``) it takes an instruction more, and none of that pipe.  As many are split, evenly spread, as make the longest of
issue slots, FMA pipe and ALU pipe shorter.
"""

from typing import Final

from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_PSEUDO, Op, op
from orias.isa.operand import (
    K_P,
    K_R,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    is_const,
    is_vreg,
    with_word_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.def_use import Values
from orias.semantics.integers import constant_of
from orias.target import features
from orias.timing.latency import Latency, latency

_SIGNED: Final = op("IMAD.WIDE")
_UNSIGNED: Final = op("IMAD.WIDE.U32")
_ADD: Final = op("IADD3")
_ADD_CARRY: Final = op("IADD3.X")
_LEA: Final = op("LEA")
_UPPER: Final = op("LEA.HI.X")
_UPPER_SIGNED: Final = op("LEA.HI.X.SX32")

Words = tuple[Op, list[Opnd], Op, list[Opnd]]
"""Operation and sources of the low word (with a carry, which is the last source of the high word or the one before it), then of the high word."""


def balance_addresses(fn: Func) -> bool:
    """Split sums block by block; True if any were."""
    if fn.target.has(features.LONG_INTEGERS):
        return False
    lat = latency(fn.target.latency_class)
    table = load(fn.target.table)
    wide = lat.interval(_SIGNED)
    values: Values | None = None
    changed = False
    for b in fn.blocks:
        count = _how_many(lat, b, wide)
        if count <= 0:
            continue
        if values is None:
            values = Values(fn)
        places = [at for at, i in enumerate(b.insts) if _words(table, values, i, PT) is not None]
        few = min(count, len(places))
        chosen = {places[k * len(places) // few] for k in range(few)}
        out: list[Inst] = []
        for at, inst in enumerate(b.insts):
            if at in chosen:
                _split(fn, table, values, inst, out)
                changed = True
            else:
                out.append(inst)
        b.insts = out
    return changed


def _how_many(lat: Latency, b: Block, wide: int) -> int:
    """Sums whose way to the ALU pipe makes the block faster; each costs an instruction."""
    if not any(i.op is _SIGNED or i.op is _UNSIGNED for i in b.insts):
        return 0
    busy = {"FMA": 0, "ALU": 0}
    slots = 0
    for inst in b.insts:
        if not inst.op.flags & F_PSEUDO:
            slots += 1
            key = lat.pipe_key(inst.op)
            if key in busy:
                busy[key] += lat.interval(inst.op)
    alu = 2 * lat.interval(_ADD)
    return min((busy["FMA"] - busy["ALU"]) // (wide + alu), (busy["FMA"] - slots) // (wide + 1))


def _words(table: IsaTable, values: Values, inst: Inst, carry: Opnd) -> Words | None:
    """The two words of a sum with a product by a power of two; None for anything else."""
    if (inst.op is not _SIGNED and inst.op is not _UNSIGNED) or len(inst.dst) != 1 or len(inst.src) != 3:
        return None
    x, factor, y = inst.src
    if inst.guard != PT or not is_vreg(inst.dst[0]) or has_lane(inst.dst[0]) or not in_file(x, K_R):
        return None
    by = _known(values, factor)
    if by is None or by <= 0 or by & (by - 1) or x == RZ or has_modifiers(x) or has_modifiers(y) or has_lane(y):
        return None
    if not is_const(y) and not (is_vreg(y) and in_file(y, K_R)):
        return None
    low, high = with_word_lane(y, 0), with_word_lane(y, 1)
    k = by.bit_length() - 1
    signed = inst.op is _SIGNED
    if signed and k == 31:
        return None  # As a signed factor it is negative.
    first: tuple[Op, list[Opnd]] = (_LEA, [x, low, imm(k)]) if k else (_ADD, [x, low, RZ])
    if signed:
        # The upper word of a sign-extended register times two is that of the register itself.
        second = _UPPER_SIGNED, [x, high, imm(k or 1), carry]
    elif k:
        second = _UPPER, [x, high, RZ, imm(k), carry]
    else:
        second = _ADD_CARRY, [RZ, high, RZ, carry, NOT_PT]
    if table.accepts(first[0], PT, [RZ, PT], first[1]) and table.accepts(second[0], PT, [RZ], second[1]):
        return *first, *second
    return None


def _known(values: Values, o: Opnd) -> int | None:
    """The value of a constant, or of a register that one was copied to."""
    if is_vreg(o) and in_file(o, K_R) and not has_lane(o) and not has_modifiers(o):
        d = values.definition(o)
        return constant_of(d.src[0]) if d is not None and d.op is OP_COPY and d.guard == PT else None
    return constant_of(o)


def _split(fn: Func, table: IsaTable, values: Values, inst: Inst, out: list[Inst]) -> None:
    low, high, carry = fn.new_vreg(K_R), fn.new_vreg(K_R), fn.new_vreg(K_P)
    words = _words(table, values, inst, carry)
    assert words is not None
    out.append(fn.new_inst(words[0], [low, carry], words[1], loc=inst.loc))
    out.append(fn.new_inst(words[2], [high], words[3], loc=inst.loc))
    out.append(fn.new_inst(OP_PACK, list(inst.dst), [low, high], loc=inst.loc))
