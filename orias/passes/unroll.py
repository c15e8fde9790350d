"""OriLoopUnrolling: a loop of one block whose number of turns is known is written out.

As ptxas does (13.0.88, from -O2 on, measured: 125 turns of a body of two instructions, 32 of six); loops that come out larger
than :data:`_MOST` stay, and so do all loops of a function with ``.pragma "nounroll"``.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import F_CALL
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FLAG_MASK,
    INV,
    K_B,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    KIND_MASK,
    LANE_MASK,
    NEG,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_MASK,
    Opnd,
    imm,
    imm64,
    is_virtual,
)
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.simplify import portable

_MOST: Final = 400
"""Instructions that the turns of a loop may come to."""
_TURNS: Final = 128
_DECORATION: Final = FLAG_MASK | SUFFIX_MASK | LANE_MASK
_COMPARE: Final = ("LT", "EQ", "LE", "GT", "NE", "GE")


def unroll_loops(fn: Func) -> bool:
    """Unroll what can be; True if anything changed."""
    if fn.notes.get("nounroll") or fn.notes.get("alloca") or not any(b in b.succs for b in fn.blocks):
        return False
    changed = False
    for loop in find_loops(fn, dominators(fn)).loops:
        block = loop.header
        if len(loop.blocks) != 1 or not _simple(block):
            continue
        body = [i for i in block.insts if i.op is not OP_PHI][:-1]
        turns = _turns(block)
        if 0 < turns <= _TURNS and turns * sum(_stays(i) for i in body) <= _MOST:
            _write_out(fn, block, body, turns)
            changed = True
    return changed


def _simple(block: Block) -> bool:
    """A block that ends with a conditional branch to itself, entered from one place, without calls or physical registers."""
    t = block.terminator()
    if t is None or t.op.base != "BRA" or t.src or len(block.succs) != 2 or len(block.preds) != 2:
        return False
    if block.succs[1] is not block or block.succs[0] is block or block.preds[0] is block.preds[1]:
        return False
    for inst in block.insts:
        if inst.op.flags & F_CALL or inst.op.base in ("BSSY", "BSYNC", "EXIT", "RET") or not portable(inst):
            return False
        if any(not is_virtual(d) and d >> PAYLOAD_SHIFT not in (7, 255) for d in inst.dst):
            return False
    return True


def _stays(inst: Inst) -> bool:
    """False for what folding will most likely take away: steps by a constant and comparisons with one."""
    if inst.op.name in ("IADD3", "iadd64") or inst.op.base in ("ISETP", "isetp64"):
        return all(_constant(s) in (None, 0) for s in inst.src)
    return True


# --- the number of turns


def _turns(block: Block) -> int:
    """How often the block runs; 0 if that is not known."""
    entry = 1 - block.preds.index(block)
    defs = {d >> PAYLOAD_SHIFT: i for i in block.insts for d in i.dst if is_virtual(d)}
    state: dict[int, int] = {}
    for inst in block.insts:
        if inst.op is OP_PHI:
            first = _constant(inst.src[entry])
            if first is not None:
                state[inst.dst[0] >> PAYLOAD_SHIFT] = first
    branch = block.insts[-1].guard
    for turn in range(1, _TURNS + 1):
        seen: dict[int, int | None] = dict(state)
        goes_on = _value(branch, seen, defs)
        if goes_on is None:
            return 0
        if not goes_on:
            return turn
        following: dict[int, int] = {}
        for ident in state:
            v = _value(defs[ident].src[1 - entry], seen, defs)
            if v is not None:
                following[ident] = v
        state = following
    return 0


def _constant(o: Opnd) -> int | None:
    if o & KIND_MASK == K_IMM and not o & _DECORATION:
        return o >> PAYLOAD_SHIFT
    return 0 if o == K_R | 255 << PAYLOAD_SHIFT else None


def _value(o: Opnd, seen: dict[int, int | None], defs: dict[int, Inst]) -> int | None:
    """The operand's value in one turn: a pattern, or 0 and 1 for predicates; `seen` holds what is known of registers."""
    if o == PT:
        return 1
    known = _constant(o)
    if known is not None or not is_virtual(o):
        return known
    if o & (_DECORATION & ~(INV | NEG)):
        return None
    ident = o >> PAYLOAD_SHIFT
    if ident not in seen:
        seen[ident] = None
        inst = defs.get(ident)
        if inst is not None:
            seen[ident] = _compute(inst, ident, seen, defs)
    v = seen[ident]
    if v is None:
        return None
    if o & KIND_MASK == K_P:
        return v ^ 1 if o & INV else v
    return -v if o & NEG else None if o & INV else v


def _compute(inst: Inst, ident: int, seen: dict[int, int | None], defs: dict[int, Inst]) -> int | None:
    base = inst.op.base
    if inst.guard != PT or inst.op is OP_PHI or inst.dst[0] >> PAYLOAD_SHIFT != ident:
        return None
    values: list[int] = []
    for s in inst.src:
        v = _value(s, seen, defs)
        if v is None:
            return None
        values.append(v)
    if inst.op is OP_COPY:
        return values[0]
    if inst.op.name == "IADD3" and len(inst.dst) == 1:
        return sum(values) & 0xFFFFFFFF
    if inst.op.name == "iadd64" and len(inst.dst) == 1 and len(values) == 2:
        return sum(values) & 0xFFFFFFFFFFFFFFFF
    if base in ("ISETP", "isetp64") and len(values) == 3 and values[2] == 1 and not inst.op.has("EX"):
        bits = 64 if base == "isetp64" else 32
        mask = (1 << bits) - 1
        a, b = values[0] & mask, values[1] & mask
        if not (inst.op.has("U32") or inst.op.has("U64")):
            half = 1 << (bits - 1)
            a, b = a ^ half, b ^ half
        name = next((m for m in inst.op.mods if m in _COMPARE), "")
        if name and (base == "isetp64" or inst.op.has("AND")):
            return int(_holds(name, a, b))
    return None


def _holds(name: str, a: int, b: int) -> bool:
    if name in ("LT", "GE"):
        return (a < b) == (name == "LT")
    if name in ("GT", "LE"):
        return (a > b) == (name == "GT")
    return (a == b) == (name == "EQ")


# --- writing the turns out


def _write_out(fn: Func, block: Block, body: list[Inst], turns: int) -> None:
    entry = 1 - block.preds.index(block)
    phis = [i for i in block.insts if i.op is OP_PHI]
    out: list[Inst] = []
    now: dict[int, int] = {}
    for phi in phis:
        now[phi.dst[0] >> PAYLOAD_SHIFT] = _in_register(fn, phi, phi.src[entry], out)
    for _ in range(turns - 1):
        values = dict(now)
        for inst in body:
            out.append(_clone(fn, inst, values))
        for phi in phis:
            back = phi.src[1 - entry]
            ident = phi.dst[0] >> PAYLOAD_SHIFT
            now[ident] = _in_register(fn, phi, _mapped(back, values), out)
    # The last turn is the block itself, so that what is read behind the loop stays where it is.
    for phi in phis:
        d = phi.dst[0]
        phi.op = OP_COPY
        phi.src = [d & KIND_MASK | now[d >> PAYLOAD_SHIFT] << PAYLOAD_SHIFT]
        out.append(phi)
    block.insts = out + body
    block.preds.remove(block)
    block.succs.remove(block)


def _in_register(fn: Func, phi: Inst, value: Opnd, out: list[Inst]) -> int:
    """The register that holds a phi's operand: the operand's own, or that of a copy."""
    d = phi.dst[0]
    if is_virtual(value) and not value & _DECORATION:
        return value >> PAYLOAD_SHIFT
    known = _constant(value)
    if known is not None:
        value = imm64(known) if fn.width(d) == 2 else imm(known) if fn.width(d) == 1 else value
    new = fn.new_vreg(d & KIND_MASK, fn.width(d))
    out.append(fn.new_inst(OP_COPY, [new], [value], loc=phi.loc))
    return new >> PAYLOAD_SHIFT


def _mapped(o: Opnd, values: dict[int, int]) -> Opnd:
    if 0 < (o & KIND_MASK) <= K_B:
        new = values.get(o >> PAYLOAD_SHIFT)
        if new is not None:
            return o & ~(-1 << PAYLOAD_SHIFT) | new << PAYLOAD_SHIFT
    return o


def _clone(fn: Func, inst: Inst, values: dict[int, int]) -> Inst:
    """A copy of the instruction with fresh results, which `values` then names."""
    src = [_mapped(s, values) for s in inst.src]
    guard = _mapped(inst.guard, values)
    old = _mapped(inst.old, values) if inst.old != K_NONE else K_NONE
    dst: list[Opnd] = []
    for d in inst.dst:
        if d >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
            new = fn.new_vreg(d & KIND_MASK, fn.width(d))
            values[d >> PAYLOAD_SHIFT] = new >> PAYLOAD_SHIFT
            dst.append(new)
        else:
            dst.append(d)
    clone = fn.new_inst(inst.op, dst, src, guard, old, inst.loc)
    if inst.uid in fn.contract:
        fn.contract.add(clone.uid)
    if inst.uid in fn.retries:
        fn.retries.add(clone.uid)
    return clone
