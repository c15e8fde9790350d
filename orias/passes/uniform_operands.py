"""Uniform registers as operands of vector instructions: in which places, and as part of addresses."""

from typing import Final

from orias.isa.isa_table import IsaTable
from orias.isa.op import F_COMMUTES, F_FOLDS, F_PSEUDO, Op, op
from orias.isa.operand import (
    FIRST_VIRTUAL,
    K_R,
    K_UR,
    RZ,
    URZ,
    Opnd,
    has_flags,
    has_lane,
    has_modifiers,
    imm,
    imm_signed,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    ur,
    with_file,
)
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.def_use import Values
from orias.passes.offsets import offset_fits, only_bases
from orias.passes.rules_pred import SWAPPED
from orias.semantics.truth_tables import permuted

_SUM: Final = op("IADD3")
_ANY: Final = ur(FIRST_VIRTUAL)


def has_wide_bases(fn: Func) -> bool:
    """True if accesses take a whole address of 64 bits from uniform registers (sm_75): later their descriptors have the field."""
    return not fn.target.has_word("descriptor")


def take_uniform(fn: Func, table: IsaTable, inst: Inst, k: int) -> tuple[Op, list[Opnd]] | None:
    """An instruction with source `k`, a vector register, as the uniform one of the same number: operation and sources.

    Sources may change places, and the operation with them where it is a comparison.  None if there is no such form.
    """
    o = inst.src[k]
    u = with_file(o, K_UR)
    src = list(inst.src)
    src[k] = u
    if inst.op is OP_COPY:
        return (inst.op, src) if not has_flags(o) else None
    if inst.op.flags & F_PSEUDO:
        return None
    for a in inst.op.addr:
        if k == a + 1:
            return _as_base(fn, table, inst, a, u)
    if inst.op.addr:
        return None
    if table.accepts(inst.op, inst.guard, inst.dst, src):
        return inst.op, src
    if inst.op.base == "LOP3":
        return _logical(table, inst, src, k)
    if inst.op.base == "ISETP":
        return _compared(table, inst, src)
    if not inst.op.flags & F_COMMUTES:
        return None
    orders = [[1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]] if inst.op.base == "IADD3" and len(src) == 3 else [[1, 0]]
    for order in orders:
        cand = [src[j] for j in order] + src[len(order) :]
        if table.accepts(inst.op, inst.guard, inst.dst, cand):
            return inst.op, cand
    return None


def _as_base(fn: Func, table: IsaTable, inst: Inst, a: int, u: Opnd) -> tuple[Op, list[Opnd]] | None:
    """A uniform register as the whole base of an address; of 64 bits only in accesses to global memory."""
    if not inst.op.flags & F_FOLDS or inst.src[a + 2] != URZ or has_flags(u):
        return None
    if fn.width(u) > 1 and (a not in inst.op.descriptors or not has_wide_bases(fn)):
        return None
    src = list(inst.src)
    src[a + 1], src[a + 2] = RZ, u
    return (inst.op, src) if _encodes(table, inst, src) else None


def _encodes(table: IsaTable, inst: Inst, src: list[Opnd]) -> bool:
    """True if an address form exists, whatever legalisation does with its descriptors, offset and the numbers that it stores."""
    trial = [RZ if is_imm(s) else s for s in src]
    for a in inst.op.addr:
        trial[a + 3] = imm(0)
        if inst.op.base == "LDGSTS" and trial[a + 2] != URZ:
            # It has one field for a uniform register, which the descriptor of its global address takes.
            return False
    return table.accepts(inst.op, inst.guard, inst.dst, trial)


def _logical(table: IsaTable, inst: Inst, src: list[Opnd], k: int) -> tuple[Op, list[Opnd]] | None:
    """LOP3 with two of its sources exchanged, its table of results with them."""
    if not is_imm(src[3]):
        return None
    for j in range(3):
        if j == k:
            continue
        order = [0, 1, 2]
        order[j], order[k] = k, j
        cand = [*(src[n] for n in order), imm(permuted(imm_value(src[3]), order)), *src[4:]]
        if table.accepts(inst.op, inst.guard, inst.dst, cand):
            return inst.op, cand
    return None


def _compared(table: IsaTable, inst: Inst, src: list[Opnd]) -> tuple[Op, list[Opnd]] | None:
    """A comparison with its operands exchanged."""
    if inst.op.mods[0] not in SWAPPED or inst.op.has("EX"):
        return None
    turned = op(".".join(["ISETP", SWAPPED[inst.op.mods[0]], *inst.op.mods[1:]]))
    cand = [src[1], src[0], *src[2:]]
    return (turned, cand) if table.accepts(turned, inst.guard, inst.dst, cand) else None


def base_sums(fn: Func, table: IsaTable) -> list[tuple[Inst, list[tuple[Inst, int]]]]:
    """Sums of registers that are only read as bases of addresses which can take a uniform register too, with these addresses."""
    return [
        (d, readers)
        for d, readers in only_bases(fn, Values(fn))
        if d.op is _SUM and all(_takes_both(table, *site) for site in readers)
    ]


def _takes_both(table: IsaTable, inst: Inst, a: int) -> bool:
    """True if the address may have a vector and a uniform register."""
    src = list(inst.src)
    src[a + 2] = _ANY
    return inst.src[a + 2] == URZ and is_imm(src[a + 3]) and _encodes(table, inst, src)


def fold_bases(fn: Func, table: IsaTable) -> None:
    """R = R' + UR that is only read as a base of addresses: they add the uniform register themselves."""
    for total, sites in base_sums(fn, table):
        if sum(in_file(s, K_UR) for s in total.src) == 1:
            _fold_base(table, total, sites)


def _fold_base(table: IsaTable, total: Inst, sites: list[tuple[Inst, int]]) -> None:
    regs = [s for s in total.src if in_file(s, K_R) and s != RZ]
    uniform = next(s for s in total.src if in_file(s, K_UR))
    constant = sum(imm_signed(s) for s in total.src if is_imm(s))
    if len(regs) > 1 or any(has_modifiers(s) for s in total.src):
        return
    base = regs[0] if regs else RZ
    if base != RZ and (has_lane(base) or not is_vreg(base)):
        return
    new: list[list[Opnd]] = []
    for inst, a in sites:
        offset = imm_signed(inst.src[a + 3]) + constant
        if not offset_fits(inst, a, offset):
            return
        src = list(inst.src)
        src[a + 1], src[a + 2], src[a + 3] = base, uniform, imm(offset)
        if not _encodes(table, inst, src):
            return
        new.append(src)
    for (inst, _), src in zip(sites, new, strict=True):
        inst.src = src
