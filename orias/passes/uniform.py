"""ConvertToUniformReg: constant-bank values reach their users as the target likes them.

Up to sm_89 ALU operations read c[bank][offset] as an operand; from sm_90 on the value comes through a uniform register
(``ULDC``) where every user takes one, else through ``LDC`` into a vector register.  What is only read to fill a uniform register is
loaded there.
"""

from orias.analysis.cfg import dominators, find_loops
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
    const,
    const_bank,
    const_offset,
    lane_range,
    with_word_lane,
)
from orias.isa.table import IsaTable, load
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.values import Values


def use_constant_operands(fn: Func) -> None:
    """Fold constant-bank reads into their users (to sm_89) or move them to uniform registers (from sm_90)."""
    _load_directly(fn)
    if fn.target.const_operands:
        _fold(fn, load(fn.target.table))
    elif not any(i.op.flags & F_CALL for i in fn.insts()):
        _promote(fn, load(fn.target.table))


def _constant_of(values: Values, o: Opnd) -> Opnd | None:
    """The constant operand a register (or a lane of it) was copied from."""
    if o & KIND_MASK != K_R:
        return None
    d = values.definition(o)
    # behind a guard the register may hold its old value
    if d is None or d.op is not OP_COPY or d.guard != PT or d.src[0] & KIND_MASK != K_CONST or d.src[0] & LANE_MASK:
        return None
    c = d.src[0]
    code = (o >> LANE_SHIFT) & 15
    if code:
        c = with_word_lane(c, lane_range(code, 0)[0])
    return c | (o & (FLAG_MASK | SUFFIX_MASK))


def _load_directly(fn: Func) -> None:
    """R2UR and groups of uniform registers take constants from the bank."""
    values = Values(fn)
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            copied = inst.op is OP_COPY and inst.dst[0] & KIND_MASK == K_UR
            if copied or (inst.op.base == "R2UR" and inst.guard == PT and len(inst.dst) == 1):
                c = _constant_of(values, inst.src[0])
                if c is not None and not c & (FLAG_MASK | SUFFIX_MASK):
                    inst.op, inst.src = OP_COPY, [c]
            elif inst.op is OP_PACK and inst.dst[0] & KIND_MASK == K_UR:
                _load_group(fn, values, inst, out)
            out.append(inst)
        b.insts = out


def _load_group(fn: Func, values: Values, inst: Inst, out: list[Inst]) -> None:
    """A group of two neighbouring words of a bank is one load; other constant words are loads of their own."""
    found = [_constant_of(values, s) for s in inst.src]
    low = found[0]
    if len(found) == 2 and low is not None and const_offset(low) % 8 == 0:
        if found[1] == const(const_bank(low), const_offset(low) + 4):
            inst.op, inst.src = OP_COPY, [low]
            return
    for k, c in enumerate(found):
        if c is not None and not c & (FLAG_MASK | SUFFIX_MASK):
            u = fn.new_vreg(K_UR)
            out.append(fn.new_inst(OP_COPY, [u], [c], loc=inst.loc))
            inst.src[k] = u


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
    """Copies of constants become uniform for the uses that can be uniform operands."""
    values = Values(fn)
    find_loops(fn, dominators(fn))
    sites: dict[int, list[tuple[Inst, Block]]] = {}
    blocked: set[int] = set()
    for b in fn.blocks:
        for inst in b.insts:
            if inst.old >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                blocked.add(inst.old >> PAYLOAD_SHIFT)
            for s in inst.src:
                if s & KIND_MASK == K_R and s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                    d = values.defs[s >> PAYLOAD_SHIFT]
                    if d is not None and d.op is OP_COPY and d.src[0] & KIND_MASK == K_CONST:
                        sites.setdefault(s >> PAYLOAD_SHIFT, []).append((inst, b))
    for b in fn.blocks:
        for copy in list(b.insts):
            if copy.op is not OP_COPY or copy.src[0] & KIND_MASK != K_CONST or copy.dst[0] & KIND_MASK != K_R:
                continue
            ident = copy.dst[0] >> PAYLOAD_SHIFT
            if ident in blocked or ident < FIRST_VIRTUAL or copy.guard != PT or fn.vwidth[ident] > 2:
                continue
            _promote_one(fn, table, copy, b, sites.get(ident, []))


def _promote_one(fn: Func, table: IsaTable, copy: Inst, home: Block, users: list[tuple[Inst, Block]]) -> None:
    """One uniform register stands for the value wherever it can.

    Where some uses want a vector register, a second read of the constant pays only if it keeps that register from living into a loop.
    """
    ident = copy.dst[0] >> PAYLOAD_SHIFT
    u = fn.new_vreg(K_UR, fn.vwidth[ident])
    plans = [(inst, b, _uniform_form(table, inst, ident, u)) for inst, b in users]
    stay = [b for _, b, src in plans if src is None]
    take = [b for _, b, src in plans if src is not None]
    if not take or (stay and max(b.depth for b in take) <= max(home.depth, *(b.depth for b in stay))):
        return
    for inst, _, src in plans:
        if src is not None:
            inst.src = src
    if stay:
        home.insts.insert(home.insts.index(copy), fn.new_inst(OP_COPY, [u], list(copy.src), loc=copy.loc))
    else:
        copy.dst[0] = u


def _uniform_form(table: IsaTable, inst: Inst, ident: int, u: Opnd) -> list[Opnd] | None:
    """The sources of an instruction with a uniform register in place of a vector register; None if it takes none there."""
    places = [k for k, s in enumerate(inst.src) if s & KIND_MASK == K_R and s >> PAYLOAD_SHIFT == ident]
    if len(places) != 1 or inst.op.flags & F_PSEUDO or inst.op.addr:
        return None
    k = places[0]
    src = list(inst.src)
    src[k] = u | (src[k] & ((1 << PAYLOAD_SHIFT) - 1) & ~KIND_MASK)
    if table.accepts(inst.op, inst.guard, inst.dst, src):
        return src
    if inst.op.flags & F_COMMUTES and k < 2:
        src[0], src[1] = src[1], src[0]
        if table.accepts(inst.op, inst.guard, inst.dst, src):
            return src
    return None
