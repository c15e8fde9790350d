"""Factors of many products go to uniform registers, where the read ports of the vector registers are what a block waits for.

The register file serves two reads a cycle (``docs/facts/machine.md``), a product of three vector registers takes three.  A word
of shared memory that all threads of a warp read is moved to a uniform register (R2UR): each product that it is a factor of has one
read less, and the word holds no vector register.  ptxas 13.0.88 does the same.
"""

from typing import Final

from orias.analysis.divergence import divergence
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_COMMUTES, F_CONSTMEM, F_DISTANT, F_PSEUDO, Op
from orias.isa.operand import K_NONE, K_R, K_UR, PT, Opnd, in_file, is_vreg, with_lane
from orias.isa.roles import MOVE_TO_UNIFORM
from orias.ori.ir import Block, Func, Inst
from orias.passes.uniform_chains import keeps_uniform
from orias.passes.uniform_operands import take_uniform

_SOURCES: Final = 3
_PORTS: Final = 2
"""Words that the vector registers serve a cycle."""
_NOT_NEAR: Final = F_PSEUDO | F_DISTANT | F_CONSTMEM


def share_factors(fn: Func) -> bool:
    """Move factors to uniform registers; True if any moved."""
    if fn.kind != "entry" or fn.spares_uniform:
        return False
    crowded = [b for b in fn.blocks if _lacking(b) > 0]
    if not crowded or not all(keeps_uniform(fn, i) for i in fn.insts()):
        return False
    div = divergence(fn)
    table = load(fn.target.table)
    changed = False
    for b in crowded:
        if div.regions[b.id]:
            continue
        words: dict[Opnd, Inst] = {}
        for inst in b.insts:
            if inst.op.loads() and not inst.op.flags & _NOT_NEAR and inst.guard == PT and inst.old == K_NONE:
                d = inst.dst[0]
                if is_vreg(d) and in_file(d, K_R) and not div.is_varying(d):
                    width = fn.width(d)
                    words.update({d if width == 1 else with_lane(d, k): inst for k in range(width)})
        if words:
            changed |= _move(fn, b, table, words)
    return changed


def _is_product(inst: Inst) -> bool:
    """True for an operation with two factors and an addend, all of them vector registers."""
    src = inst.src
    if len(src) != _SOURCES or inst.op.addr or not inst.op.flags & F_COMMUTES or inst.op.flags & F_PSEUDO:
        return False
    return all(is_vreg(o) and in_file(o, K_R) for o in src) and len(set(src)) == _SOURCES


def _lacking(b: Block) -> int:
    """Reads of vector registers that products would have beyond what the ports serve while the block is issued."""
    products = sum(_is_product(inst) for inst in b.insts)
    return _SOURCES * products - _PORTS * len(b.insts)


def _move(fn: Func, b: Block, table: IsaTable, words: dict[Opnd, Inst]) -> bool:
    """Move words to uniform registers until the ports serve the rest; those with the most products first."""
    readers: dict[Opnd, list[tuple[Inst, int]]] = {}
    for inst in b.insts:
        if _is_product(inst):
            for k, o in enumerate(inst.src[:2]):
                if o in words:
                    readers.setdefault(o, []).append((inst, k))
    lacking = _lacking(b)
    taken: set[int] = set()
    moved: dict[int, list[Inst]] = {}
    left = fn.knobs.urf_shared_factors
    for o in sorted(readers, key=lambda o: -len(readers[o])):
        if lacking <= 0 or not left:
            break
        found: list[tuple[Inst, Op, list[Opnd]]] = []
        for inst, k in readers[o]:
            form = take_uniform(fn, table, inst, k) if inst.uid not in taken else None
            if form is not None:
                found.append((inst, form[0], form[1]))
        if len(found) < fn.knobs.urf_factor_products:
            continue
        u = fn.new_vreg(K_UR)
        for inst, op, src in found:
            inst.op = op
            inst.src = [u if in_file(s, K_UR) else s for s in src]
            taken.add(inst.uid)
        moved.setdefault(words[o].uid, []).append(fn.new_inst(MOVE_TO_UNIFORM, [u], [o], loc=words[o].loc))
        lacking -= len(found) + _PORTS
        left -= 1
    if moved:
        out: list[Inst] = []
        for inst in b.insts:
            out.append(inst)
            out += moved.get(inst.uid, [])
        b.insts = out
    return bool(moved)
