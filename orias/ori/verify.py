"""The verifier: what must hold of a function between phases.

:func:`verify` returns messages, each with the guilty instruction and its neighbourhood, and an empty list for a sound
function.  It shares no analysis with the passes it judges.
"""

from orias.isa.fetch import FETCHES
from orias.isa.operand import (
    K_NONE,
    K_P,
    K_R,
    K_UP,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
    is_reg,
    is_true_pred,
    is_virtual,
    is_zero_reg,
    lane_range,
)
from orias.ori.ir import Block, Func, Inst
from orias.ori.text import inst_text, operand_text


def verify(fn: Func) -> list[str]:
    """Every rule of ``docs/ori.md`` that does not hold of `fn`; empty if all hold."""
    faults: list[str] = []
    _check_cfg(fn, faults)
    if faults:
        return faults
    for b in fn.blocks:
        for k, inst in enumerate(b.insts):
            for message in _check_inst(fn, b, inst):
                faults.append(_located(fn, b, k, message))
    if fn.state == "ssa":
        _check_ssa(fn, faults)
    return faults


def _located(fn: Func, b: Block, k: int, message: str) -> str:
    lines = [f"{fn.name} b{b.id}[{k}]: {message}"]
    for j in range(max(0, k - 2), min(len(b.insts), k + 3)):
        lines.append(("  > " if j == k else "    ") + inst_text(b.insts[j], fn))
    return "\n".join(lines)


def _check_cfg(fn: Func, faults: list[str]) -> None:
    if not fn.blocks:
        faults.append(f"{fn.name}: no blocks")
        return
    placed = set(fn.blocks)
    if len(placed) != len(fn.blocks):
        faults.append(f"{fn.name}: a block is listed twice")
    if len({b.id for b in fn.blocks}) != len(fn.blocks):
        faults.append(f"{fn.name}: two blocks share an id")
    if fn.blocks[0].preds:
        faults.append(f"{fn.name}: the entry b{fn.blocks[0].id} has predecessors")
    for b in fn.blocks:
        for s in b.succs:
            if s not in placed:
                faults.append(f"{fn.name} b{b.id}: successor b{s.id} is not in the function")
            elif s.preds.count(b) != b.succs.count(s):
                faults.append(f"{fn.name} b{b.id}: edge to b{s.id} is not mirrored in its predecessors")
        for p in b.preds:
            if p not in placed or b not in p.succs:
                faults.append(f"{fn.name} b{b.id}: predecessor b{p.id} has no edge here")
        term = b.terminator()
        if term is None:
            if len(b.succs) != 1:
                faults.append(f"{fn.name} b{b.id}: falls through but has {len(b.succs)} successors")
        elif term.op.base == "BRA":
            conditional = term.guard != PT or any(not is_true_pred(s) for s in term.src if s & KIND_MASK in (K_P, K_UP))
            # A branch whose guard became constant keeps both edges until the branch clean-up.
            if len(b.succs) != (2 if conditional or fn.state == "ssa" else 1):
                faults.append(f"{fn.name} b{b.id}: BRA with {len(b.succs)} successors")
        elif term.op.base in ("EXIT", "RET") and b.succs:
            faults.append(f"{fn.name} b{b.id}: {term.op.base} with successors")
        for inst in b.insts[:-1]:
            if inst.is_terminator():
                faults.append(f"{fn.name} b{b.id}: terminator {inst_text(inst)} is not last")


def _check_operand(fn: Func, o: Opnd) -> str | None:
    if not is_reg(o):
        return None
    if not is_virtual(o):
        if fn.state in ("allocated", "final") and (o >> 11) & 15:
            return f"lane on physical register {operand_text(o)}"
        return None
    if fn.state in ("allocated", "final"):
        return f"virtual register {operand_text(o)} after allocation"
    ident = o >> PAYLOAD_SHIFT
    if ident >= len(fn.vkind):
        return f"unknown register v{ident}"
    if fn.vkind[ident] != o & KIND_MASK:
        return f"register {operand_text(o)} used in the wrong file"
    code = (o >> 11) & 15
    if code:
        width = fn.vwidth[ident]
        first, count = lane_range(code, width)
        if width < 2 or first + count > width:
            return f"lane {operand_text(o)} outside a register of {width} words"
    return None


def _check_inst(fn: Func, b: Block, inst: Inst) -> list[str]:
    out: list[str] = []
    for o in [*inst.dst, *inst.uses()]:
        m = _check_operand(fn, o)
        if m:
            out.append(m)
    if (inst.guard & KIND_MASK) not in (K_P, K_UP):
        out.append("guard is not a predicate")
    for d in inst.dst:
        if not is_reg(d):
            out.append(f"result {operand_text(d)} is not a register")
        elif is_virtual(d) and (d >> 11) & 15 and fn.state == "ssa":
            out.append(f"result {operand_text(d)} is a lane")
    if inst.op.name == "phi":
        if inst.guard != PT:
            out.append("guarded phi")
        if len(inst.src) != len(b.preds):
            out.append(f"phi with {len(inst.src)} sources for {len(b.preds)} predecessors")
        k = b.insts.index(inst)
        if k and b.insts[k - 1].op.name != "phi":
            out.append("phi is not at the head of the block")
        if fn.state != "ssa":
            out.append("phi outside SSA")
    if fn.state == "ssa" and inst.guard != PT:
        real = [d for d in inst.dst if not is_zero_reg(d) and not is_true_pred(d)]
        # Texture fetches give theirs to code under the same guard; an old value could stand for one alone.
        if len(real) > 1 and inst.op.name != "call" and (inst.op.base not in FETCHES or inst.old != K_NONE):
            out.append("guarded instruction with several results")
        if inst.old != K_NONE and real and is_reg(inst.old) and is_reg(real[0]):
            if (inst.old & KIND_MASK) != (real[0] & KIND_MASK) and not is_zero_reg(inst.old):
                out.append("old value in another file than the result")
    elif inst.old != K_NONE and inst.guard == PT:
        out.append("old value on an unguarded instruction")
    for a in inst.op.addr:
        group = inst.src[a : a + 4]
        if len(group) < 4:
            out.append("incomplete address group")
        elif group[1] & KIND_MASK != K_R and group[1] & KIND_MASK != 8:
            out.append(f"address base {operand_text(group[1])} is not an R register")
    return out


def _dominators(fn: Func) -> dict[Block, int]:
    """Dominator sets as bit masks over block positions (plain fixpoint: simple rather than fast)."""
    pos = {b: i for i, b in enumerate(fn.blocks)}
    every = (1 << len(fn.blocks)) - 1
    dom = dict.fromkeys(fn.blocks, every)
    dom[fn.blocks[0]] = 1
    changed = True
    while changed:
        changed = False
        for b in fn.blocks[1:]:
            mask = every
            for p in b.preds:
                mask &= dom[p]
            mask |= 1 << pos[b]
            if mask != dom[b]:
                dom[b] = mask
                changed = True
    return dom


def _check_ssa(fn: Func, faults: list[str]) -> None:
    defs: dict[int, tuple[Block, int]] = {}
    for b in fn.blocks:
        for k, inst in enumerate(b.insts):
            for d in inst.dst:
                ident = d >> PAYLOAD_SHIFT
                if not is_virtual(d):
                    continue
                if ident in defs:
                    faults.append(_located(fn, b, k, f"v{ident} is defined twice"))
                defs[ident] = (b, k)
    pos = {b: i for i, b in enumerate(fn.blocks)}
    dom = _dominators(fn)
    for b in fn.blocks:
        for k, inst in enumerate(b.insts):
            phi = inst.op.name == "phi"
            for j, o in enumerate(inst.uses()):
                ident = o >> PAYLOAD_SHIFT
                if not is_virtual(o):
                    continue
                site = defs.get(ident)
                if site is None:
                    faults.append(_located(fn, b, k, f"v{ident} is used but never defined"))
                    continue
                if phi:
                    ok = j < len(b.preds) and dom[b.preds[j]] >> pos[site[0]] & 1 == 1
                elif site[0] is b:
                    ok = site[1] < k
                else:
                    ok = dom[b] >> pos[site[0]] & 1 == 1
                if not ok and b is not fn.blocks[0] and not b.preds:
                    continue  # unreachable code: nothing dominates it
                if not ok:
                    faults.append(_located(fn, b, k, f"v{ident} does not dominate this use"))
