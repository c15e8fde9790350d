"""CTA and cluster barriers, bar.warp.sync, nanosleep, griddepcontrol.

Forms of ptxas 13.0.88.  Barriers have ``.DEFER_BLOCKING`` from sm_80 on, except ``barrier`` without ``.aligned`` on
sm_80 to 89.  A barrier number and a thread count that are both in registers are packed into one word, with the count in
the upper half; where capsules state that with the barrier, :mod:`orias.schedule.joined_words` does it.
"""

from typing import Final

from orias.isa.operand import K_P, NOT_PT, PT, RZ, Opnd, const, imm, imm_value, is_imm
from orias.isa.roles import BARRIER_NUMBERS, BARRIER_PAIR
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.ordering import acquire_fence, fence
from orias.lower.memory.warp import warpsync
from orias.ori.ir import OP_AROUND
from orias.ptx.ast import Instr, Operand
from orias.target import features

_WHOLE_WARP: Final = 0xFFFFFFFF


def _barrier_operands(ctx: Ctx, number: Operand, count: Operand | None) -> list[Opnd]:
    kernel = ctx.module.kernel
    a = ctx.src(number, "u32")
    if is_imm(a):
        kernel.barriers = max(kernel.barriers, imm_value(a) + 1)
    else:
        kernel.barriers = 16
    return [a] if count is None else [a, ctx.src(count, "u32")]


@lowers("bar", "barrier", types="any")
def lower_barrier(ctx: Ctx, i: Instr) -> None:
    """bar and barrier: sync, arrive, red."""
    mods = i.sig.mods
    op = mods.get("op", "sync")
    aligned = i.sig.name == "bar" or "aligned" in mods
    defer = ctx.target.spelling("aligned_barrier" if aligned else "unaligned_barrier")
    if aligned:
        _barrier(ctx, i, op, defer)
        return
    # The threads of a warp come together first: the hardware counts the warp when some of them arrive.
    ctx.begin_guarded()
    warpsync(ctx, imm(_WHOLE_WARP))
    _barrier(ctx, i, op, defer)
    ctx.end_guarded()


def _barrier(ctx: Ctx, i: Instr, op: str, defer: str) -> None:
    reduces = op not in ("sync", "arrive")
    first = 1 if reduces else 0
    counted = len(i.ops) > (3 if reduces else 1)
    src = _barrier_operands(ctx, i.ops[first], i.ops[first + 1] if counted else None)
    rest = [ctx.pred_src(i.ops[-1])] if reduces else []
    if not counted or is_imm(src[0]) or is_imm(src[1]):
        _emit_barrier(ctx, i, "BAR", [*src, *rest], op, defer)
    elif ctx.target.has(features.MERCURY_LAYOUT):
        ctx.begin_guarded()
        _emit_barrier(ctx, i, BARRIER_PAIR, [*src, *rest], op, defer)
        ctx.end_guarded()
    else:
        high = ctx.b.r("SHF.L.U32", src[1], imm(16), RZ)
        packed = ctx.b.r("LOP3.LUT", high, imm(BARRIER_NUMBERS), src[0], imm(0xF8), NOT_PT)
        _emit_barrier(ctx, i, "BAR", [packed, packed, *rest], op, defer)


def _emit_barrier(ctx: Ctx, i: Instr, base: str, src: list[Opnd], op: str, defer: str) -> None:
    """The operation of a barrier, and the read of the result of a reduction."""
    if op == "sync":
        ctx.b.emit(f"{base}.SYNC{defer}", [], src, ctx.guard)
        return
    if op == "arrive":
        ctx.b.emit(f"{base}.ARV", [], src, ctx.guard)
        return
    kind = i.sig.mods["bool"]
    ctx.b.emit(f"{base}.RED.{kind.upper()}{defer}", [], src, ctx.guard)
    if kind == "popc":
        ctx.define(i.ops[0], "B2R.RESULT", [], 1)
        return
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("B2R.RESULT", [RZ, p], [], ctx.guard)
    ctx.write_pred(i.ops[0], p)


@lowers("bar.warp.sync", "bar.warp", types="any")
def lower_bar_warp(ctx: Ctx, i: Instr) -> None:
    """bar.warp.sync: WARPSYNC, which also orders memory accesses among the members.

    Where the warp is together anyway, the NOP before it does (orias.passes.convergence).
    """
    ctx.b.emit("NOP", [], [], ctx.guard)
    warpsync(ctx, ctx.src(i.ops[0], "b32"))
    ctx.b.emit_op(OP_AROUND, [], [])


@lowers("barrier.cluster", types="any")
def lower_cluster_barrier(ctx: Ctx, i: Instr) -> None:
    """barrier.cluster; a kernel without a cluster directive tests at run time whether it was launched with clusters."""
    mods = i.sig.mods
    arrive = mods["op"] == "arrive"
    kernel = ctx.module.kernel
    ctx.begin_guarded()
    fixed = "reqnctapercluster" in kernel.ptx.directives
    join = ctx.new_block()
    if not fixed:
        kernel.barriers = max(kernel.barriers, 1)
        explicit = ctx.b.copy(const(0, ctx.target.word("explicit_cluster")))
        p = ctx.b.setp("ISETP.EQ.U32.AND", explicit, imm(1), PT)
        clustered, single = ctx.new_block(), ctx.new_block()
        ctx.branch(p, clustered, single)
        ctx.start(single)
        if arrive:
            # Tools look for a barrier of the warp here (orias.output.warp_records).
            ctx.b.emit("NOP", [], [])
        else:
            ctx.b.emit("BAR.SYNC.DEFER_BLOCKING", [], [imm(0)])
        ctx.jump(join)
        ctx.start(clustered)
    if arrive:
        if mods.get("order", "release") != "relaxed":
            fence(ctx, "ALL", "cluster", release_only=True)
        ctx.b.emit("UCGABAR_ARV", [], [])
    else:
        ctx.b.emit("UCGABAR_WAIT", [], [])
        acquire_fence(ctx, "cluster")
    if not fixed:
        ctx.jump(join)
        ctx.start(join)
    ctx.end_guarded()


@lowers("nanosleep", types="any")
def lower_nanosleep(ctx: Ctx, i: Instr) -> None:
    """nanosleep."""
    ctx.b.emit(ctx.target.spelling("sleep"), [], [ctx.src(i.ops[0], "u32")], ctx.guard)


@lowers("setmaxnreg", types="any")
def lower_setmaxnreg(ctx: Ctx, i: Instr) -> None:
    """setmaxnreg: a pseudo operation until the register count at entry is known (:mod:`orias.passes.setmaxnreg`)."""
    ctx.begin_guarded()
    warpsync(ctx, imm(_WHOLE_WARP))
    ctx.b.emit("setmaxnreg", [], [imm(i.ops[0].value), imm(int(i.sig.mods["op"] == "inc"))])
    ctx.end_guarded()


@lowers("griddepcontrol", types="any")
def lower_griddepcontrol(ctx: Ctx, i: Instr) -> None:
    """griddepcontrol.wait and .launch_dependents."""
    name = "ACQBULK" if i.sig.mods.get("op", i.sig.text.rsplit(".", 1)[-1]) == "wait" else "PREEXIT"
    ctx.b.emit(name, [], [], ctx.guard)
