"""bra, brx.idx, ret, exit, trap, brkpt, pmevent."""

from typing import Final

from orias.diag import Unsupported
from orias.isa.operand import PT, RZ, Opnd, const, imm
from orias.lower.control.code_labels import label_block, note_branch
from orias.lower.control.function_end import emit_return
from orias.lower.frame.context import Ctx
from orias.lower.frame.function_summary import branch_targets
from orias.lower.frame.registry import lowers
from orias.ori.ir import Block, JumpTable, bank_symbol
from orias.ptx.ast import O_IMM, O_LABEL, Instr, Label

_MIDDLE: Final = 1 << 15
"""Half of the bytes of a constant bank."""


@lowers("bra", types="any")
def lower_bra(ctx: Ctx, i: Instr) -> None:
    """bra, guarded or not.  ``.uni`` only promises that the branch is uniform and needs no code."""
    label = i.ops[0].label
    assert label is not None
    target = label_block(ctx, label)
    if ctx.guard == PT:
        ctx.jump(target)
        ctx.state.dead = True
    else:
        fall = ctx.new_block()
        ctx.branch(ctx.guard, target, fall)
        ctx.start(fall)
    note_branch(ctx, label)


@lowers("brx.idx", "brx", types="any")
def lower_brx(ctx: Ctx, i: Instr) -> None:
    """brx.idx: BRX to an offset from a table of 4-byte code offsets in constant bank 2."""
    table = i.ops[1]
    if table.kind != O_LABEL or table.label is None:
        raise Unsupported("brx needs a .branchtargets list", i.line)
    labels = branch_targets(table.label)
    ctx.begin_guarded()
    index = ctx.src(i.ops[0], "u32")
    if ctx.options.own_sections and not ctx.options.has_tables:
        _branch_chain(ctx, index, labels)
        if not ctx.leave_guarded():
            ctx.state.dead = True
        for label in labels:
            note_branch(ctx, label)
        return
    kernel = ctx.module.kernel
    offset = kernel.table_bytes
    kernel.table_bytes += 4 * len(labels)
    blocks: list[Block] = []
    picks: list[int] = []
    for label in labels:
        b = label_block(ctx, label)
        if b not in blocks:
            blocks.append(b)
        picks.append(blocks.index(b))
    scaled = ctx.b.r("SHF.L.U32", index, imm(2), RZ)
    if ctx.options.relocatable:
        # The linker places the table.  The field is a signed offset: a middle of the bank reaches all of it.
        name = bank_symbol(ctx.module.kernel.ptx.name, offset, 4 * len(labels))
        entry = ctx.b.r("IADD3", scaled, imm(_MIDDLE), RZ)
        low = ctx.b.r("LDC", ctx.fn.sym(name, "cbank", -_MIDDLE), entry)
    else:
        low = ctx.b.r("LDC", const(2, offset), scaled)
    address = ctx.b.r("sext64", low, width=2)
    brx = ctx.b.emit("BRX", [], [address])
    ctx.fn.tables[brx.uid] = JumpTable(offset, picks)
    for b in blocks:
        ctx.fn.link(ctx.b.block, b)
    guarded = ctx.leave_guarded()
    if not guarded:
        ctx.state.dead = True
    for label in labels:
        note_branch(ctx, label)


def _branch_chain(ctx: Ctx, index: Opnd, labels: list[Label]) -> None:
    """brx.idx by comparisons, for functions without a bank of their own."""
    last = label_block(ctx, labels[-1])
    for k, label in enumerate(labels[:-1]):
        to = label_block(ctx, label)
        if to is last:
            continue
        p = ctx.b.setp("ISETP.EQ.U32.AND", index, imm(k), PT)
        rest = ctx.new_block()
        ctx.branch(p, to, rest)
        ctx.start(rest)
    ctx.jump(last)


@lowers("ret", types="any")
def lower_ret(ctx: Ctx, i: Instr) -> None:
    """ret: EXIT in a kernel; results and RET in a function."""
    state = ctx.state
    assert state.function is not None
    if state.kind == "entry":
        lower_exit(ctx, i)
        return
    ctx.begin_guarded()
    emit_return(ctx, state.function, state.kind)
    if not ctx.leave_guarded():
        state.dead = True


@lowers("exit", types="any")
def lower_exit(ctx: Ctx, i: Instr) -> None:
    """exit: EXIT, guarded if the instruction is."""
    ctx.b.emit("EXIT", [], [], ctx.guard)
    if ctx.guard == PT:
        ctx.state.dead = True


@lowers("trap", types="any")
def lower_trap(ctx: Ctx, i: Instr) -> None:
    """trap: BPT.TRAP, after which nothing of the thread runs.

    As with ptxas 13.0.88, control flow goes on after it at -O0 (for debuggers), and in functions with sections of their own.
    """
    if not ctx.options.opt_level or (ctx.options.own_sections and ctx.state.kind != "entry"):
        ctx.b.emit("BPT.TRAP", [], [imm(1)], ctx.guard)
        return
    guarded = ctx.guard != PT
    ctx.begin_guarded()
    ctx.b.block.cold = guarded
    ctx.b.emit("BPT.TRAP", [], [imm(1)])
    ctx.b.emit("EXIT", [], [])
    if not ctx.leave_guarded():
        ctx.state.dead = True


@lowers("brkpt", types="any")
def lower_brkpt(ctx: Ctx, i: Instr) -> None:
    """brkpt: the same code as trap, as in ptxas 13.0.88."""
    ctx.b.emit("BPT.TRAP", [], [imm(1)], ctx.guard)


@lowers("pmevent", types="any")
def lower_pmevent(ctx: Ctx, i: Instr) -> None:
    """pmevent a: PMTRIG with bit a set; pmevent.mask: PMTRIG with the mask."""
    o = i.ops[0]
    if o.kind != O_IMM:
        raise Unsupported("pmevent needs an immediate", i.line)
    value = o.value if "mask" in i.sig.mods else 1 << o.value
    ctx.b.emit("PMTRIG", [], [imm(value & 0xFFFF)], ctx.guard)
