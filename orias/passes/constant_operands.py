"""ConvertToUniformReg: constant-bank values become operands of the kind that the target takes.

Up to sm_89 ALU operations read c[bank][offset] as an operand, and on sm_75 accesses take a whole address from a uniform register.  From
sm_90 on the value comes through a uniform register (``ULDC``, ``LDCU``) where every user takes one, else through ``LDC`` into a vector
register.  What is only read to fill a uniform register is loaded there.
"""

from orias.analysis.cfg import dominators, find_loops
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_COMMUTES, F_PSEUDO
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FIRST_VREG,
    K_NONE,
    K_R,
    K_UR,
    PT,
    RZ,
    Opnd,
    const,
    const_bank,
    const_offset,
    has_flags,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    in_place_of,
    is_const,
    is_imm,
    is_vreg,
    lane_of,
    lane_range,
    modifiers_of,
    vreg,
    with_file,
    with_word_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.uniform_operands import has_wide_bases, take_uniform
from orias.target import features


def use_constant_operands(fn: Func) -> None:
    """Fold constant-bank reads into their users (to sm_89) or move them to uniform registers (from sm_90)."""
    _load_directly(fn)
    table = load(fn.target.table)
    folds = fn.target.has(features.CONSTANT_OPERANDS)
    if folds:
        _fold(fn, table)
    if (folds and not has_wide_bases(fn)) or any(fn.changes_uniform(i) for i in fn.insts()):
        return
    if folds:
        _make_bases_uniform(fn, table)
    else:
        _promote(fn, table)


def _constant_of(values: Values, o: Opnd) -> Opnd | None:
    """The constant operand a register (or a lane of it) was copied from."""
    if not in_file(o, K_R):
        return None
    d = values.definition(o)
    # after a guard the register may hold its old value
    if d is None or d.op is not OP_COPY or d.guard != PT or not is_const(d.src[0]) or has_lane(d.src[0]):
        return None
    c = d.src[0]
    code = lane_of(o)
    if code:
        c = with_word_lane(c, lane_range(code, 0)[0])
    return c | modifiers_of(o)


def _load_directly(fn: Func) -> None:
    """R2UR and groups of uniform registers take constants from the bank."""
    values = Values(fn, counted=False)
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            copied = inst.op is OP_COPY and in_file(inst.dst[0], K_UR)
            if copied or (inst.op.base == "R2UR" and inst.guard == PT and len(inst.dst) == 1):
                c = _constant_of(values, inst.src[0])
                if c is not None and not has_modifiers(c):
                    inst.op, inst.src = OP_COPY, [c]
            elif inst.op is OP_PACK and in_file(inst.dst[0], K_UR):
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
        if c is not None and not has_modifiers(c):
            u = fn.new_vreg(K_UR)
            out.append(fn.new_inst(OP_COPY, [u], [c], loc=inst.loc))
            inst.src[k] = u


def _fold(fn: Func, table: IsaTable) -> None:
    values = Values(fn, counted=False)
    for b in fn.blocks:
        out: list[Inst] = []
        factors: dict[Opnd, Opnd] = {}
        for inst in b.insts:
            if inst.op.base == "IMAD" and inst.op.has("WIDE"):
                _wide_addend(fn, values, inst, out, factors)
            out.append(inst)
            if inst.op is OP_COPY and inst.guard == PT and not is_vreg(inst.dst[0]):
                # An argument register takes the constant at once.
                c = _constant_of(values, inst.src[0])
                if c is not None and not has_modifiers(c):
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
    if not is_imm(factor) or has_flags(addend) or has_lane(addend):
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


def _make_bases_uniform(fn: Func, table: IsaTable) -> None:
    """Copies of constants that are read as addresses of 64 bits alone are uniform, where accesses take such ones whole."""
    sites: dict[int, list[tuple[Inst, int]]] = {}
    kept: set[int] = set()
    for inst in fn.insts():
        if is_vreg(inst.old):
            kept.add(vreg(inst.old))
        for k, s in enumerate(inst.src):
            if k - 1 in inst.op.addr:
                sites.setdefault(vreg(s), []).append((inst, k))
            else:
                kept.add(vreg(s))
    for copy in fn.insts():
        if copy.op is not OP_COPY or copy.guard != PT or not is_const(copy.src[0]) or not in_file(copy.dst[0], K_R):
            continue
        ident = vreg(copy.dst[0])
        if ident < FIRST_VIRTUAL or fn.vwidth[ident] != 2 or ident in kept or ident not in sites:
            continue
        forms = [take_uniform(fn, table, user, k) for user, k in sites[ident]]
        if all(form is not None for form in forms):
            copy.dst[0] = with_file(copy.dst[0], K_UR)
            fn.vkind[ident] = K_UR
            for (user, _), form in zip(sites[ident], forms, strict=True):
                if form is not None:
                    user.src = form[1]


def _promote(fn: Func, table: IsaTable) -> None:
    """Copies of constants become uniform for the uses that can be uniform operands."""
    values = Values(fn, counted=False)
    find_loops(fn, dominators(fn))
    sites: dict[int, list[tuple[Inst, Block]]] = {}
    blocked: set[int] = set()
    for b in fn.blocks:
        for inst in b.insts:
            if inst.old != K_NONE and is_vreg(inst.old):
                blocked.add(vreg(inst.old))
            for s in inst.src:
                if s >= FIRST_VREG and in_file(s, K_R):
                    d = values.defs[vreg(s)]
                    if d is not None and d.op is OP_COPY and is_const(d.src[0]):
                        sites.setdefault(vreg(s), []).append((inst, b))
    for b in fn.blocks:
        for copy in list(b.insts):
            if copy.op is not OP_COPY or not is_const(copy.src[0]) or not in_file(copy.dst[0], K_R):
                continue
            ident = vreg(copy.dst[0])
            if ident in blocked or ident < FIRST_VIRTUAL or copy.guard != PT or fn.vwidth[ident] > 2:
                continue
            _promote_one(fn, table, copy, b, sites.get(ident, []))


def _promote_one(fn: Func, table: IsaTable, copy: Inst, home: Block, users: list[tuple[Inst, Block]]) -> None:
    """One uniform register stands for the value wherever it can.

    Where some uses need a vector register, a second read of the constant pays only if it keeps that register from living into a loop.
    """
    ident = vreg(copy.dst[0])
    twin = _uniform_twin(home, copy)
    u = fn.new_vreg(K_UR, fn.vwidth[ident]) if twin is None else twin
    plans = [(inst, b, _uniform_form(table, inst, ident, u)) for inst, b in users]
    stay = [b for _, b, src in plans if src is None]
    take = [b for _, b, src in plans if src is not None]
    if not take:
        return
    if twin is None and stay and max(b.depth for b in take) <= max(home.depth, *(b.depth for b in stay)):
        return
    for inst, _, src in plans:
        if src is not None:
            inst.src = src
    if twin is not None:
        if not stay:
            home.insts.remove(copy)
    elif stay:
        home.insts.insert(home.insts.index(copy), fn.new_inst(OP_COPY, [u], list(copy.src), loc=copy.loc))
    else:
        copy.dst[0] = u


def _uniform_twin(home: Block, copy: Inst) -> Opnd | None:
    """The uniform register that the next instruction fills with the same constant."""
    at = home.insts.index(copy) + 1
    if at < len(home.insts):
        n = home.insts[at]
        if n.op is OP_COPY and n.guard == PT and in_file(n.dst[0], K_UR) and n.src == copy.src:
            return n.dst[0]
    return None


def _uniform_form(table: IsaTable, inst: Inst, ident: int, u: Opnd) -> list[Opnd] | None:
    """The sources of an instruction with a uniform register in place of a vector register; None if it takes none there."""
    places = [k for k, s in enumerate(inst.src) if in_file(s, K_R) and vreg(s) == ident]
    if len(places) != 1 or inst.op.flags & F_PSEUDO or inst.op.addr:
        return None
    k = places[0]
    src = list(inst.src)
    src[k] = in_place_of(src[k], u)
    if table.accepts(inst.op, inst.guard, inst.dst, src):
        return src
    # An immediate would be in the place of the uniform register, but zero is RZ.
    src = [RZ if s == imm(0) else s for s in src]
    if table.accepts(inst.op, inst.guard, inst.dst, src):
        return src
    if inst.op.flags & F_COMMUTES and k < 2:
        src[0], src[1] = src[1], src[0]
        if table.accepts(inst.op, inst.guard, inst.dst, src):
            return src
    return None
