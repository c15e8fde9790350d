"""The verifier: checks the invariants of a function between phases.

:func:`verify` returns messages, each with the faulty instruction and its context, or an empty list for a sound
function.  It shares no analysis with the passes that it checks.
"""

from orias.isa.op import F_LEAVES, F_PARTIAL, F_TEXTURE
from orias.isa.operand import (
    K_NONE,
    K_R,
    K_WORD,
    PT,
    Opnd,
    has_lane,
    in_file,
    is_imm,
    is_label,
    is_pred,
    is_reg,
    is_true_pred,
    is_vreg,
    is_zero_reg,
    kind_of,
    lane_of,
    lane_range,
    vreg,
)
from orias.ori.ir import Block, Func, Inst
from orias.ori.text import inst_text, operand_text


def verify(fn: Func) -> list[str]:
    """A message for every rule of ``docs/ori.md`` that `fn` breaks."""
    faults: list[str] = []
    _check_cfg(fn, faults)
    if faults:
        return faults
    sound: set[Opnd] = set()
    for b in fn.blocks:
        for k, inst in enumerate(b.insts):
            for message in _check_inst(fn, b, k, inst, sound):
                faults.append(_located(fn, b, k, message))
    if fn.state == "ssa":
        _check_ssa(fn, faults)
    return faults


def _located(fn: Func, b: Block, k: int, message: str) -> str:
    lines = [f"{fn.name} b{b.id}[{k}]: {message}"]
    for j in range(max(0, k - 2), min(len(b.insts), k + 3)):
        lines.append(("  > " if j == k else "    ") + inst_text(b.insts[j], fn))
    return "\n".join(lines)


def _at_end(fn: Func, b: Block, message: str) -> str:
    """A message on a block's end or edges, with its last instructions."""
    lines = [f"{fn.name} b{b.id}: {message}"]
    return "\n".join(lines + ["    " + inst_text(i, fn) for i in b.insts[-3:]])


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
                faults.append(_at_end(fn, b, f"successor b{s.id} is not in the function"))
            elif s.preds.count(b) != b.succs.count(s):
                faults.append(_at_end(fn, b, f"edge to b{s.id} is not mirrored in its predecessors"))
        for p in b.preds:
            if p not in placed or b not in p.succs:
                faults.append(_at_end(fn, b, f"predecessor b{p.id} has no edge here"))
        term = b.terminator()
        if term is None:
            if len(b.succs) != 1:
                faults.append(_at_end(fn, b, f"falls through but has {len(b.succs)} successors"))
        elif term.op.base == "BRA":
            conditional = term.guard != PT or any(not is_true_pred(s) for s in term.src if is_pred(s))
            # A branch whose guard became constant keeps both edges until a branch clean-up, which need not come.
            if len(b.succs) != 2 and (conditional or fn.state == "ssa" or len(b.succs) != 1):
                faults.append(_at_end(fn, b, f"BRA with {len(b.succs)} successors"))
        elif term.op.flags & F_LEAVES and b.succs:
            faults.append(_at_end(fn, b, f"{term.op.base} with successors"))
        for k, inst in enumerate(b.insts[:-1]):
            if inst.is_terminator():
                faults.append(_located(fn, b, k, "a terminator that is not last"))


def _check_operand(fn: Func, o: Opnd) -> str | None:
    if not is_reg(o):
        return None
    if not is_vreg(o):
        if fn.state in ("allocated", "final") and has_lane(o):
            return f"lane on physical register {operand_text(o)}"
        return None
    if fn.state in ("allocated", "final"):
        return f"virtual register {operand_text(o)} after allocation"
    ident = vreg(o)
    if ident >= len(fn.vkind):
        return f"unknown register v{ident}"
    if fn.vkind[ident] != kind_of(o):
        return f"register {operand_text(o)} used in the wrong file"
    code = lane_of(o)
    if code:
        width = fn.vwidth[ident]
        first, count = lane_range(code, width)
        if width < 2 or first + count > width:
            return f"lane {operand_text(o)} outside a register of {width} words"
    return None


def _check_inst(fn: Func, b: Block, k: int, inst: Inst, sound: set[Opnd]) -> list[str]:
    """Faults of instruction `k` of a block; adds the operands without fault to `sound`, a cache."""
    out: list[str] = []
    for operands in (inst.dst, inst.src, (inst.guard, inst.old)):
        for o in operands:
            if o not in sound:
                m = _check_operand(fn, o)
                if m:
                    out.append(m)
                else:
                    sound.add(o)
    if not is_pred(inst.guard):
        out.append("guard is not a predicate")
    for d in inst.dst:
        # BMOV also writes the mask of active threads (MACTIVE), which is no register of a file.
        if not is_reg(d) and not (inst.op.base == "BMOV" and kind_of(d) == K_WORD):
            out.append(f"result {operand_text(d)} is not a register")
        elif is_vreg(d) and has_lane(d) and fn.state == "ssa":
            out.append(f"result {operand_text(d)} is a lane")
    if inst.op.name == "phi":
        if inst.guard != PT:
            out.append("guarded phi")
        if len(inst.src) != len(b.preds):
            out.append(f"phi with {len(inst.src)} sources for {len(b.preds)} predecessors")
        if k and b.insts[k - 1].op.name != "phi":
            out.append("phi is not at the head of the block")
        if fn.state != "ssa":
            out.append("phi outside SSA")
    if fn.state == "ssa" and inst.guard != PT:
        real = [d for d in inst.dst if not is_zero_reg(d) and not is_true_pred(d)]
        # A guarded texture fetch has several results, used under the same guard; `old` could replace only one of them.
        if len(real) > 1 and inst.op.name != "call" and (not inst.op.flags & F_TEXTURE or inst.old != K_NONE):
            out.append("guarded instruction with several results")
        if inst.old != K_NONE and real and is_reg(inst.old) and is_reg(real[0]):
            if kind_of(inst.old) != kind_of(real[0]) and not is_zero_reg(inst.old):
                out.append("old value in another file than the result")
    elif inst.old != K_NONE and inst.guard == PT and not inst.op.flags & F_PARTIAL:
        out.append("old value on an unguarded instruction")
    for a in inst.op.addr:
        group = inst.src[a : a + 4]
        if len(group) < 4:
            out.append("incomplete address group")
        elif not in_file(group[1], K_R) and not is_label(group[1]) and not (fn.state == "ssa" and is_imm(group[1])):
            # A constant base gets its register from the legaliser.
            out.append(f"address base {operand_text(group[1])} is not an R register")
    return out


def _predecessors_first(fn: Func) -> list[Block]:
    """The entry and the other blocks, in reverse postorder of a walk from each block that no walk before it has reached."""
    seen: set[int] = set()
    out: list[Block] = []
    for first in fn.blocks:
        walk = [(first, 0)] if first.id not in seen else []
        seen.add(first.id)
        postorder: list[Block] = []
        while walk:
            b, k = walk.pop()
            if k < len(b.succs):
                walk.append((b, k + 1))
                if b.succs[k].id not in seen:
                    seen.add(b.succs[k].id)
                    walk.append((b.succs[k], 0))
            else:
                postorder.append(b)
        out += reversed(postorder)
    return out


def _dominators(fn: Func) -> dict[Block, int]:
    """Dominator sets as bit masks over block positions, by plain fixed-point iteration: simple rather than fast.

    Predecessors come first as far as loops permit, so that two rounds are enough for most graphs.
    """
    pos = {b: i for i, b in enumerate(fn.blocks)}
    order = _predecessors_first(fn)
    every = (1 << len(fn.blocks)) - 1
    dom = dict.fromkeys(fn.blocks, every)
    dom[fn.blocks[0]] = 1
    changed = True
    while changed:
        changed = False
        for b in order[1:]:
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
                ident = vreg(d)
                if not is_vreg(d):
                    continue
                if ident in defs:
                    faults.append(_located(fn, b, k, f"v{ident} is defined twice"))
                defs[ident] = (b, k)
    pos = {b: i for i, b in enumerate(fn.blocks)}
    dom = _dominators(fn)
    for b in fn.blocks:
        # Nothing dominates unreachable code.
        reachable = b is fn.blocks[0] or len(b.preds) > 0
        mask = dom[b]
        for k, inst in enumerate(b.insts):
            phi = inst.op.name == "phi"
            for j, o in enumerate(inst.uses()):
                if not is_vreg(o):
                    continue
                site = defs.get(vreg(o))
                if site is None:
                    faults.append(_located(fn, b, k, f"v{vreg(o)} is used but never defined"))
                    continue
                home, place = site
                if phi:
                    sound = j < len(b.preds) and dom[b.preds[j]] >> pos[home] & 1 == 1
                elif home is b:
                    sound = place < k
                else:
                    sound = mask >> pos[home] & 1 == 1
                if not sound and reachable:
                    faults.append(_located(fn, b, k, f"v{vreg(o)} does not dominate this use"))
