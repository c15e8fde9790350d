"""Copies of functions, so that a stage of compilation can be kept."""

from orias.ori.ir import Block, Func, Inst


def clone(fn: Func) -> Func:
    """A function of its own with the same blocks, instructions and tables; interned operations and records that never change are shared."""
    out = Func(fn.name, fn.target, fn.kind)
    out.state = fn.state
    out.expanded = fn.expanded
    out.vkind = bytearray(fn.vkind)
    out.vwidth = bytearray(fn.vwidth)
    out.syms = list(fn.syms)
    out.calls = dict(fn.calls)
    out.tables = dict(fn.tables)
    out.pool = fn.pool
    out.contract = set(fn.contract)
    out.retries = set(fn.retries)
    out.frame_fixed = fn.frame_fixed
    out.frame_size = fn.frame_size
    out.max_regs = fn.max_regs
    out.reg_count = fn.reg_count
    out.next_block, out.next_uid = fn.next_block, fn.next_uid
    out.notes = dict(fn.notes)
    twin: dict[int, Block] = {}
    for b in fn.blocks:
        c = Block(b.id)
        c.depth, c.cold = b.depth, b.cold
        c.insts = [_copy(i) for i in b.insts]
        twin[b.id] = c
        out.blocks.append(c)
    for b, c in zip(fn.blocks, out.blocks, strict=True):
        c.preds = [twin[p.id] for p in b.preds]
        c.succs = [twin[s.id] for s in b.succs]
    return out


def restore(fn: Func, kept: Func) -> None:
    """Make a function what it was when `kept` was cloned from it; `kept` is used up."""
    fn.state = kept.state
    fn.expanded = kept.expanded
    fn.vkind, fn.vwidth = kept.vkind, kept.vwidth
    fn.syms, fn.calls, fn.tables = kept.syms, kept.calls, kept.tables
    fn.contract, fn.retries = kept.contract, kept.retries
    fn.frame_fixed, fn.frame_size, fn.max_regs, fn.reg_count = (
        kept.frame_fixed,
        kept.frame_size,
        kept.max_regs,
        kept.reg_count,
    )
    fn.next_block, fn.next_uid = kept.next_block, kept.next_uid
    fn.notes = kept.notes
    fn.blocks = kept.blocks


def _copy(i: Inst) -> Inst:
    j = Inst(i.op, list(i.dst), list(i.src), i.guard, i.old, i.loc, i.uid)
    j.ctl = i.ctl
    return j


def signature(fn: Func) -> int:
    """A hash of all that execution can see: equal for functions that differ in nothing but names of blocks and their own history."""
    number = {b.id: k for k, b in enumerate(fn.blocks)}
    parts: list[object] = [fn.state, fn.frame_fixed]
    for b in fn.blocks:
        parts.append((tuple(number[s.id] for s in b.succs), tuple(number[p.id] for p in b.preds)))
        parts.extend((i.op.ident, tuple(i.dst), tuple(i.src), i.guard, i.old) for i in b.insts)
    return hash(tuple(parts))
