"""OriLoopUnrolling: full unrolling of loops of one block with a known number of iterations.

As ptxas does (13.0.88, from -O2 on, measured: 125 iterations of a body of two instructions, 32 of six); loops that come out larger
than :data:`_MOST` stay, and so do those with ``.pragma "nounroll"``.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import F_CALL, F_LEAVES
from orias.isa.operand import (
    ABS,
    INV,
    K_NONE,
    K_P,
    NEG,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_lane,
    has_suffix,
    imm,
    imm64,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_physical,
    is_reg,
    is_vreg,
    kind_of,
    reg,
    vreg,
    with_reg,
)
from orias.ori.decisions import UNROLLED, Decision
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.simplify import portable
from orias.semantics.integers import evaluate

_MOST: Final = 400
"""Instructions that the iterations of a loop may come to."""
_ITERATIONS: Final = 128
_COMPARE: Final = ("LT", "EQ", "LE", "GT", "NE", "GE")


def unroll_loops(fn: Func) -> bool:
    """Unroll what can be; True if anything changed."""
    if fn.no_unroll or fn.moves_stack or not any(b in b.succs for b in fn.blocks):
        return False
    changed = False
    for loop in find_loops(fn, dominators(fn)).loops:
        block = loop.header
        if len(loop.blocks) != 1 or block.no_unroll or not is_simple(block):
            continue
        body = [i for i in block.insts if i.op is not OP_PHI][:-1]
        iterations = _count_iterations(block)
        if 0 < iterations <= _ITERATIONS and iterations * sum(_stays(i) for i in body) <= _MOST:
            if fn.decisions is not None:
                text = f"the loop's {iterations} iterations are written out"
                fn.decisions.append(
                    Decision(UNROLLED, block.insts[-1].loc, text, {"iterations": iterations, "body": len(body)})
                )
            _write_out(fn, block, body, iterations)
            changed = True
    return changed


def is_simple(block: Block) -> bool:
    """A block that ends with a conditional branch to itself, entered from one place, without calls or physical registers."""
    t = block.terminator()
    if t is None or t.op.base != "BRA" or t.src or len(block.succs) != 2 or len(block.preds) != 2:
        return False
    if block.succs[1] is not block or block.preds[0] is block.preds[1]:
        return False
    for inst in block.insts:
        if inst.op.flags & (F_CALL | F_LEAVES) or inst.op.base in ("BSSY", "BSYNC") or not portable(inst):
            return False
        if any(is_physical(d) for d in inst.dst):
            return False
    return True


def _stays(inst: Inst) -> bool:
    """False for what folding will most likely take away: steps by a constant and comparisons with one."""
    if inst.op.name in ("IADD3", "iadd64") or inst.op.base in ("ISETP", "isetp64"):
        return all(_constant(s) in (None, 0) for s in inst.src)
    return True


# --- the number of iterations


def _count_iterations(block: Block) -> int:
    """How often the block runs; 0 if that is not known."""
    entry = 1 - block.preds.index(block)
    defs = {vreg(d): i for i in block.insts for d in i.dst if is_vreg(d)}
    state: dict[int, int] = {}
    for inst in block.insts:
        if inst.op is OP_PHI:
            first = _constant(inst.src[entry])
            if first is not None:
                state[vreg(inst.dst[0])] = first
    branch = block.insts[-1].guard
    for iteration in range(1, _ITERATIONS + 1):
        seen: dict[int, int | None] = dict(state)
        goes_on = _value(branch, seen, defs)
        if goes_on is None:
            return 0
        if not goes_on:
            return iteration
        following: dict[int, int] = {}
        for ident in state:
            v = _value(defs[ident].src[1 - entry], seen, defs)
            if v is not None:
                following[ident] = v
        state = following
    return 0


def _constant(o: Opnd) -> int | None:
    if is_imm(o) and is_bare(o):
        return imm_value(o)
    return 0 if o == RZ else None


def _value(o: Opnd, seen: dict[int, int | None], defs: dict[int, Inst]) -> int | None:
    """The operand's value in one iteration: a pattern, or 0 and 1 for predicates; `seen` holds what is known of registers."""
    if o == PT:
        return 1
    known = _constant(o)
    if known is not None or not is_vreg(o):
        return known
    if o & ABS or has_suffix(o) or has_lane(o):
        return None
    ident = vreg(o)
    if ident not in seen:
        seen[ident] = None
        inst = defs.get(ident)
        if inst is not None:
            seen[ident] = _compute(inst, ident, seen, defs)
    v = seen[ident]
    if v is None:
        return None
    if in_file(o, K_P):
        return v ^ 1 if o & INV else v
    return -v if o & NEG else None if o & INV else v


def _compute(inst: Inst, ident: int, seen: dict[int, int | None], defs: dict[int, Inst]) -> int | None:
    base = inst.op.base
    if inst.guard != PT or inst.op is OP_PHI or vreg(inst.dst[0]) != ident:
        return None
    values: list[int] = []
    for s in inst.src:
        v = _value(s, seen, defs)
        if v is None:
            return None
        values.append(v)
    if inst.op is OP_COPY:
        return values[0]
    if inst.op.name == "IADD3" or (base == "iadd64" and len(values) == 2):
        if len(inst.dst) != 1:
            return None
    elif base == "ISETP" or base == "isetp64":
        if len(values) != 3 or values[2] != 1 or inst.op.mods[0] not in _COMPARE:
            return None
        if base == "ISETP" and (inst.op.has("EX") or not inst.op.has("AND")):
            return None
    else:
        return None
    src: list[Opnd] = []
    for s, v in zip(inst.src, values, strict=True):
        src.append((PT if v else NOT_PT) if in_file(s, K_P) else imm64(v) if base[0] == "i" else imm(v))
    results = evaluate(inst.op, src)
    return None if results is None else results[0]


# --- writing the iterations out


def _write_out(fn: Func, block: Block, body: list[Inst], iterations: int) -> None:
    entry = 1 - block.preds.index(block)
    phis = [i for i in block.insts if i.op is OP_PHI]
    out: list[Inst] = []
    now: dict[int, int] = {}
    for phi in phis:
        now[vreg(phi.dst[0])] = _in_register(fn, phi, phi.src[entry], out)
    for _ in range(iterations - 1):
        values = dict(now)
        clone_body(fn, body, values, out)
        now = phi_registers(fn, phis, 1 - entry, values, out)
    # The last iteration is the block itself, so that what is read after the loop stays where it is.
    for phi in phis:
        d = phi.dst[0]
        phi.op = OP_COPY
        phi.src = [reg(kind_of(d), now[vreg(d)])]
        out.append(phi)
    block.insts = out + body
    block.preds.remove(block)
    block.succs.remove(block)


def clone_body(fn: Func, body: list[Inst], values: dict[int, int], out: list[Inst]) -> None:
    """Append a copy of the body with fresh results to `out`; `values` names the register of each value, before and after."""
    for inst in body:
        out.append(_clone(fn, inst, values))


def phi_registers(fn: Func, phis: list[Inst], back: int, values: dict[int, int], out: list[Inst]) -> dict[int, int]:
    """The registers of the phis' values in the next iteration; `back` is the place of the edge back among the phis' sources."""
    return {vreg(phi.dst[0]): _in_register(fn, phi, mapped(phi.src[back], values), out) for phi in phis}


def _in_register(fn: Func, phi: Inst, value: Opnd, out: list[Inst]) -> int:
    """The register that holds a phi's operand: the operand's own, or that of a copy."""
    d = phi.dst[0]
    if is_vreg(value) and is_bare(value):
        return vreg(value)
    known = _constant(value)
    if known is not None:
        value = imm64(known) if fn.width(d) == 2 else imm(known) if fn.width(d) == 1 else value
    new = fn.new_vreg(kind_of(d), fn.width(d))
    out.append(fn.new_inst(OP_COPY, [new], [value], loc=phi.loc))
    return vreg(new)


def mapped(o: Opnd, values: dict[int, int]) -> Opnd:
    """The operand with the register that `values` names in place of its own."""
    if is_reg(o):
        new = values.get(vreg(o))
        if new is not None:
            return with_reg(o, new)
    return o


def _clone(fn: Func, inst: Inst, values: dict[int, int]) -> Inst:
    """A copy of the instruction with fresh results, which `values` then names."""
    src = [mapped(s, values) for s in inst.src]
    guard = mapped(inst.guard, values)
    old = mapped(inst.old, values) if inst.old != K_NONE else K_NONE
    dst: list[Opnd] = []
    for d in inst.dst:
        if is_vreg(d):
            new = fn.new_vreg(kind_of(d), fn.width(d))
            values[vreg(d)] = vreg(new)
            dst.append(new)
        else:
            dst.append(d)
    clone = fn.new_inst(inst.op, dst, src, guard, old, inst.loc)
    if inst.uid in fn.contract:
        fn.contract.add(clone.uid)
    if inst.uid in fn.retries:
        fn.retries.add(clone.uid)
    return clone
