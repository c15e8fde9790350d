"""ConvertToUniformReg: constant-bank values reach their users as the target likes them.

Up to sm_89 ALU operations read c[bank][offset] as an operand; from sm_90 on the value comes through a uniform register
(``ULDC``) where every user takes one, else through ``LDC`` into a vector register.
"""

from orias.isa.op import F_CALL, F_COMMUTES, F_PSEUDO
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FLAG_MASK,
    K_CONST,
    K_IMM,
    K_R,
    K_UR,
    KIND_MASK,
    LANE_MASK,
    LANE_SHIFT,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_MASK,
    Opnd,
    lane_range,
    with_word_lane,
)
from orias.isa.table import IsaTable, load
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.values import Values


def use_constant_operands(fn: Func) -> None:
    """Fold constant-bank reads into their users (to sm_89) or move them to uniform registers (from sm_90)."""
    if fn.target.const_operands:
        _fold(fn, load(fn.target.table))
    elif not any(i.op.flags & F_CALL for i in fn.insts()):
        _promote(fn, load(fn.target.table))


def _constant_of(values: Values, o: Opnd) -> Opnd | None:
    """The constant operand a register (or a lane of it) was copied from."""
    if o & KIND_MASK != K_R:
        return None
    d = values.definition(o)
    if d is None or d.op is not OP_COPY or d.src[0] & KIND_MASK != K_CONST or d.src[0] & LANE_MASK:
        return None
    c = d.src[0]
    code = (o >> LANE_SHIFT) & 15
    if code:
        c = with_word_lane(c, lane_range(code, 0)[0])
    return c | (o & (FLAG_MASK | SUFFIX_MASK))


def _fold(fn: Func, table: IsaTable) -> None:
    values = Values(fn)
    for b in fn.blocks:
        out: list[Inst] = []
        factors: dict[Opnd, Opnd] = {}
        for inst in b.insts:
            if inst.op.base == "IMAD" and inst.op.has("WIDE"):
                _wide_addend(fn, values, inst, out, factors)
            out.append(inst)
            if inst.op is OP_COPY and inst.guard == PT and inst.dst[0] >> PAYLOAD_SHIFT < FIRST_VIRTUAL:
                # An argument register takes the constant at once.
                c = _constant_of(values, inst.src[0])
                if c is not None and not c & (FLAG_MASK | SUFFIX_MASK):
                    inst.src = [c]
            if inst.op.flags & F_PSEUDO or inst.op.addr:
                continue
            for k, s in enumerate(inst.src):
                c = _constant_of(values, s)
                if c is None:
                    continue
                src = list(inst.src)
                src[k] = c
                if table.accepts(inst.op, inst.guard, inst.dst, src):
                    inst.src = src
                    break
                if inst.op.flags & F_COMMUTES and k < 2:
                    src[0], src[1] = src[1], src[0]
                    if table.accepts(inst.op, inst.guard, inst.dst, src):
                        inst.src = src
                        break
        b.insts = out


def _wide_addend(fn: Func, values: Values, inst: Inst, out: list[Inst], factors: dict[Opnd, Opnd]) -> None:
    """IMAD.WIDE x, imm, pointer: the pointer becomes a constant operand and the factor moves to a register.

    Two moves are saved for the one it costs, which the next address in the block shares.
    """
    factor, addend = inst.src[1], inst.src[2]
    if factor & KIND_MASK != K_IMM or addend & (FLAG_MASK | LANE_MASK):
        return
    c = _constant_of(values, addend)
    if c is None:
        return
    moved = factors.get(factor)
    if moved is None:
        moved = fn.new_vreg(K_R)
        copy = fn.new_inst(OP_COPY, [moved], [factor], loc=inst.loc)
        values.define(copy)
        out.append(copy)
        factors[factor] = moved
    inst.src = [inst.src[0], moved, c]


def _promote(fn: Func, table: IsaTable) -> None:
    """Copies of constants whose every use can be a uniform operand become uniform."""
    values = Values(fn)
    sites: dict[int, list[Inst]] = {}
    blocked: set[int] = set()
    for inst in fn.insts():
        if inst.old >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
            blocked.add(inst.old >> PAYLOAD_SHIFT)
        for s in inst.src:
            if s & KIND_MASK == K_R and s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                d = values.defs[s >> PAYLOAD_SHIFT]
                if d is not None and d.op is OP_COPY and d.src[0] & KIND_MASK == K_CONST:
                    sites.setdefault(s >> PAYLOAD_SHIFT, []).append(inst)
    for copy in list(fn.insts()):
        if copy.op is not OP_COPY or copy.src[0] & KIND_MASK != K_CONST or copy.dst[0] & KIND_MASK != K_R:
            continue
        ident = copy.dst[0] >> PAYLOAD_SHIFT
        if ident in blocked or ident < FIRST_VIRTUAL or copy.guard != PT or fn.vwidth[ident] > 2:
            continue
        _promote_one(fn, table, copy, ident, sites.get(ident, []))


def _promote_one(fn: Func, table: IsaTable, copy: Inst, ident: int, users: list[Inst]) -> None:
    """One uniform register stands for the whole value; every use must accept it (or its lane) in place."""
    u = fn.new_vreg(K_UR, fn.vwidth[ident])
    plans: list[list[Opnd]] = []
    for inst in users:
        places = [k for k, s in enumerate(inst.src) if s & KIND_MASK == K_R and s >> PAYLOAD_SHIFT == ident]
        if len(places) != 1 or inst.op.flags & F_PSEUDO or inst.op.addr:
            return
        k = places[0]
        src = list(inst.src)
        src[k] = u | (src[k] & ((1 << PAYLOAD_SHIFT) - 1) & ~KIND_MASK)
        if not table.accepts(inst.op, inst.guard, inst.dst, src):
            if not (inst.op.flags & F_COMMUTES and k < 2):
                return
            src[0], src[1] = src[1], src[0]
            if not table.accepts(inst.op, inst.guard, inst.dst, src):
                return
        plans.append(src)
    for inst, src in zip(users, plans, strict=True):
        inst.src = src
    if users:
        copy.dst[0] = u
