"""Copies functions, for phases that may have to go back to an earlier state."""

from orias.ori.ir import Block, Func, Inst


def clone(fn: Func) -> Func:
    """An independent copy of a function: blocks, instructions, tables and facts.

    The copy shares what never changes (interned operations, records of calls, jump tables) and the constant pool of the
    section.
    """
    out = Func(fn.name, fn.target, fn.kind)
    _take_facts(out, fn)
    out.vkind = bytearray(fn.vkind)
    out.vwidth = bytearray(fn.vwidth)
    out.syms = list(fn.syms)
    out.calls = dict(fn.calls)
    out.tables = dict(fn.tables)
    out.contract = set(fn.contract)
    out.retries = set(fn.retries)
    out.guard_traps = set(fn.guard_traps)
    out.spill_code = set(fn.spill_code)
    out.implied = dict(fn.implied)
    out.names = {v: list(names) for v, names in fn.names.items()}
    out.assigned = fn.assigned
    out.locations = list(fn.locations)
    out.remarks = list(fn.remarks)
    twin: dict[int, Block] = {}
    for b in fn.blocks:
        c = Block(b.id)
        c.depth, c.cold, c.no_unroll = b.depth, b.cold, b.no_unroll
        c.insts = [_copy(i) for i in b.insts]
        twin[b.id] = c
        out.blocks.append(c)
    for b, c in zip(fn.blocks, out.blocks, strict=True):
        c.preds = [twin[p.id] for p in b.preds]
        c.succs = [twin[s.id] for s in b.succs]
    return out


def restore(fn: Func, kept: Func) -> None:
    """Give `fn` the contents of `kept`, which is a clone or a parsed dump of it and must not be used afterwards."""
    _take_facts(fn, kept)
    fn.vkind, fn.vwidth = kept.vkind, kept.vwidth
    fn.syms, fn.calls, fn.tables = kept.syms, kept.calls, kept.tables
    fn.contract, fn.retries, fn.guard_traps = kept.contract, kept.retries, kept.guard_traps
    fn.spill_code = kept.spill_code
    fn.implied, fn.names, fn.locations = kept.implied, kept.names, kept.locations
    fn.assigned, fn.remarks = kept.assigned, kept.remarks
    fn.blocks = kept.blocks


def _take_facts(to: Func, fn: Func) -> None:
    """Copy the facts that are numbers, flags or values that no phase changes in place."""
    to.state = fn.state
    to.expanded = fn.expanded
    to.pool = fn.pool
    to.slots_at = fn.slots_at
    to.knobs = fn.knobs
    to.parted = fn.parted
    to.frame_fixed, to.frame_align, to.frame_size = fn.frame_fixed, fn.frame_align, fn.frame_size
    to.frame_variables = fn.frame_variables
    to.max_regs, to.reg_count, to.packed = fn.max_regs, fn.reg_count, fn.packed
    to.most_warps, to.block_warps = fn.most_warps, fn.block_warps
    to.spill_stores, to.spill_loads = fn.spill_stores, fn.spill_loads
    to.shared_spills, to.spill_base, to.shared_end = fn.shared_spills, fn.spill_base, fn.shared_end
    to.next_block, to.next_uid = fn.next_block, fn.next_uid
    to.private, to.clobbers = fn.private, fn.clobbers
    to.moves_stack, to.stack_check = fn.moves_stack, fn.stack_check
    to.guards_frame = fn.guards_frame
    to.keep_warp_barriers = fn.keep_warp_barriers
    to.spares_uniform = fn.spares_uniform
    to.no_unroll = fn.no_unroll
    to.beside_async_copies = fn.beside_async_copies
    to.samples_quads, to.quad_registers = fn.samples_quads, fn.quad_registers
    to.entry_regs, to.variables, to.callee_writes = fn.entry_regs, fn.variables, fn.callee_writes
    to.wgmma_crossing, to.wgmma_crossing_remark = fn.wgmma_crossing, fn.wgmma_crossing_remark
    to.wgmma_serial = fn.wgmma_serial


def _copy(i: Inst) -> Inst:
    j = Inst(i.op, list(i.dst), list(i.src), i.guard, i.old, i.loc, i.uid)
    j.ctl = i.ctl
    return j


def signature(fn: Func) -> int:
    """A hash of everything that affects execution; functions that differ only in block ids and history have equal hashes."""
    number = {b.id: k for k, b in enumerate(fn.blocks)}
    parts: list[object] = [fn.state, fn.frame_fixed, fn.frame_align]
    for b in fn.blocks:
        parts.append((tuple(number[s.id] for s in b.succs), tuple(number[p.id] for p in b.preds)))
        parts.extend((i.op.ident, tuple(i.dst), tuple(i.src), i.guard, i.old) for i in b.insts)
    return hash(tuple(parts))
