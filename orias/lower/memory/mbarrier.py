"""mbarrier objects and cp.async.mbarrier.arrive.

Forms of ptxas 13.0.88.  Up to sm_89 an object is two words in shared memory and the operations are atomics: the low
word is 2**30 minus the expected arrivals; the high word is the phase (bit 31) and 2**31 minus the pending arrivals.
From sm_90 on SYNCS operations update the object: bits 1..20 are 2**20 minus the expected arrivals, bits 43..62 are
2**20 minus the pending ones, bit 63 is the phase.
"""

from typing import Final

from orias.isa.operand import (
    INV,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    NEG,
    NOT_PT,
    PT,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    imm_value,
    is_reg,
    is_vreg,
    word,
)
from orias.isa.roles import ARRIVAL_STATE
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.lane_loops import each_value, each_value_apart, pack_uniform, uniform_copy
from orias.lower.memory.memory_operands import address, space_of
from orias.lower.memory.ordering import acquire_fence, fence
from orias.ptx.ast import O_IMM, O_PAIR, O_SINK, Instr, Operand
from orias.target import features

_PHASE: Final = 0x80000000
_VERSION: Final = 1
"""Bit of the low word of an object: its layout is version 1, not 0."""


def object_address(ctx: Ctx, i: Instr, o: Operand) -> list[Opnd]:
    """The address group of a barrier object; from sm_90 on, the low 32 bits of any shared or generic address."""
    space = space_of(i.sig)
    if space == "shared" or (o.var is not None and o.var.space == "shared"):
        return address(ctx, o, "shared")
    if space == "shared::cluster":
        return address(ctx, o, "shared")
    group = address(ctx, o, "")
    low = ctx.lo(group[1]) if is_vreg(group[1]) else group[1]
    if ctx.target.has_word("shared_window"):
        # The object is in shared memory: its offset there is the difference to the start of the window.
        low = ctx.b.r("IADD3", low, const(0, ctx.target.word("shared_window")) | NEG, RZ)
    group[1] = low
    return group


def uniform_address(ctx: Ctx, group: list[Opnd], base: Opnd) -> list[Opnd]:
    """The address group with its base in a uniform register."""
    return [K_NONE, RZ, base, group[3]]


@lowers("mbarrier.init", types="any")
def lower_init(ctx: Ctx, i: Instr) -> None:
    """mbarrier.init: an object in phase 0 with all arrivals pending."""
    ctx.begin_guarded()
    count = ctx.src(i.ops[1], "u32")
    where = object_address(ctx, i, i.ops[0])
    if not ctx.target.has(features.HARDWARE_BARRIERS):
        low = ctx.b.r("IADD3", _minus(ctx, count), imm(0x40000000), RZ)
        high = ctx.b.r("IADD3", _minus(ctx, count), imm(_PHASE), RZ)
        ctx.b.emit("STS.64", [], [*where, ctx.b.pack(low, high)])
        ctx.end_guarded()
        return
    rest = ctx.b.r("IADD3", _minus(ctx, count), imm(0x100000), RZ)
    low = ctx.b.r("SHF.L.U32", rest, imm(1), RZ)
    if i.sig.mods.get("layout_version") == "layout::v1":
        low = ctx.b.r("LOP3.LUT", low, imm(_VERSION), RZ, imm(0xFC), NOT_PT)
    high = ctx.b.r("SHF.L.U32", rest, imm(11), RZ)

    def store(base: Opnd, guard: Opnd) -> None:
        words: list[Opnd] = []
        for w in (low, high):
            u = ctx.fn.new_vreg(K_UR)
            ctx.b.emit("R2UR", [u], [w], guard)
            words.append(u)
        ctx.b.emit("SYNCS.EXCH.64", [URZ], [*uniform_address(ctx, where, base), pack_uniform(ctx, *words)])

    each_value(ctx, where[1], store)
    ctx.end_guarded()


def _minus(ctx: Ctx, value: Opnd) -> Opnd:
    return (value if is_reg(value) else ctx.b.copy(value)) | NEG


@lowers("mbarrier.inval", types="any")
def lower_inval(ctx: Ctx, i: Instr) -> None:
    """mbarrier.inval: SYNCS.CCTL.IV; up to sm_89 no instruction."""
    if ctx.target.has(features.HARDWARE_BARRIERS):
        ctx.b.emit("SYNCS.CCTL.IV", [], object_address(ctx, i, i.ops[0]), ctx.guard)
    else:
        ctx.b.emit("fence", [], [])


def _release(ctx: Ctx, i: Instr) -> None:
    """The fences before an arrival that releases (up to sm_89 every arrival; later those with cluster scope)."""
    mods = i.sig.mods
    if not ctx.target.has(features.HARDWARE_BARRIERS):
        ctx.b.emit("MEMBAR.ALL.CTA", [], [])
    elif mods.get("scope") == "cluster" and mods.get("order", "release") == "release":
        ctx.b.emit("MEMBAR.ALL.CTA", [], [])
        fence(ctx, "ALL", "cluster", release_only=True)
    else:
        ctx.b.emit("fence", [], [])


@lowers("mbarrier.arrive", "mbarrier.arrive_drop", types="any")
def lower_arrive(ctx: Ctx, i: Instr) -> None:
    """mbarrier.arrive and arrive_drop in all forms."""
    mods = i.sig.mods
    drop = i.sig.name.endswith("drop")
    dst = i.ops[0]
    where_op, rest = i.ops[1], i.ops[2:]
    ctx.begin_guarded()
    count = ctx.src(rest[0], "u32") if rest else K_NONE
    where = object_address(ctx, i, where_op)
    _release(ctx, i)
    if not ctx.target.has(features.HARDWARE_BARRIERS):
        _arrive_by_atomics(ctx, dst, where, count, drop)
    else:
        _arrive(ctx, dst, where, count, drop, mods)
    ctx.b.emit("fence", [], [])
    ctx.end_guarded()


def _arrive_by_atomics(ctx: Ctx, dst: Operand, where: list[Opnd], count: Opnd, drop: bool) -> None:
    if count != K_NONE:
        amount = count if is_reg(count) else ctx.b.copy(count)
        if drop:
            ctx.b.emit("ATOMS.ADD", [RZ], [*where, amount])
        d = ctx.fn.new_vreg(K_R)
        ctx.b.emit("ATOMS.ADD", [d], [*_high_word(where), amount])
        if dst.kind != O_SINK:
            ctx.write(dst, ctx.b.pack(d, d))
        return
    if drop:
        ctx.b.emit("ATOMS.POPC.INC.32", [RZ], where)
    d = ctx.fn.new_vreg(K_R, 2)
    ctx.b.emit("ATOMS.ARRIVE.64", [d], where)
    if dst.kind != O_SINK:
        ctx.write(dst, d)


def _high_word(where: list[Opnd]) -> list[Opnd]:
    return [*where[:3], imm(imm_value(where[3]) + 4)]


def _arrive(ctx: Ctx, dst: Operand, where: list[Opnd], count: Opnd, drop: bool, mods: dict[str, str]) -> None:
    remote = mods.get("space") == "shared::cluster"
    opt = ".OPTOUT" if drop else ""
    red = ".RED" if remote or (dst.kind == O_SINK and "space" not in mods) else ""
    if "noComplete" in mods and dst.kind != O_SINK:
        if is_reg(count):
            each_value_apart(ctx, count, lambda one: _state(ctx, dst, where, one, opt))
        else:
            _state(ctx, dst, where, count, opt)
        return
    tail = "" if "expect_tx" in mods else ".A1T0" if count == K_NONE else ".ART0"
    amount = RZ if count in (K_NONE, K_IMM) else count if is_reg(count) else ctx.b.copy(count)
    result: Opnd = RZ
    if dst.kind != O_SINK and not red:
        result = ctx.fn.new_vreg(K_R, 2)
    ctx.b.emit(f"SYNCS.ARRIVE.TRANS64{red}{opt}{tail}", [result], [*where, amount])
    if result != RZ:
        ctx.write(dst, result)


def _state(ctx: Ctx, dst: Operand, where: list[Opnd], count: Opnd, opt: str) -> None:
    """An arrival that completes no phase, and the state of each thread; the threads that run it have the same count."""
    d = ctx.fn.new_vreg(K_R, 2)
    if ctx.target.has(features.MERCURY_LAYOUT):
        ctx.b.emit(ARRIVAL_STATE + opt, [d, ctx.fn.new_vreg(K_R), ctx.fn.new_vreg(K_R)], [*where, count])
        ctx.write(dst, d)
        return
    amount = ctx.b.copy(count)
    ctx.b.emit(f"SYNCS.ARRIVE.TRANS64.TMASK{opt}.ART0", [d], [*where, amount])
    # The low word has the threads that arrived together; a thread's state is the object after the arrivals of lower lanes.
    below = ctx.b.r("LOP3.LUT", ctx.lo(d), ctx.b.r("S2R", word("SR_LTMASK")), RZ, imm(0xC0), NOT_PT)
    steps = ctx.b.r("SHF.L.U32", ctx.b.r("POPC", below), imm(11), RZ)
    ctx.write(dst, ctx.b.pack(ctx.lo(d), ctx.b.r("IMAD", steps, amount, ctx.hi(d))))


@lowers("mbarrier.expect_tx", "mbarrier.complete_tx", types="any")
def lower_transactions(ctx: Ctx, i: Instr) -> None:
    """mbarrier.expect_tx and complete_tx: change the transaction count only."""
    where = object_address(ctx, i, i.ops[0])
    count = ctx.src(i.ops[1], "u32")
    amount = count if is_reg(count) else ctx.b.copy(count)
    kind = "A0TR" if i.sig.name.endswith("expect_tx") else "A0TX"
    ctx.b.emit(f"SYNCS.ARRIVE.TRANS64.RED.{kind}", [RZ], [*where, amount], ctx.guard)


@lowers("mbarrier.test_wait", "mbarrier.try_wait", types="any")
def lower_wait(ctx: Ctx, i: Instr) -> None:
    """mbarrier.test_wait and try_wait: test whether the phase of a state, or of a parity, has ended."""
    mods = i.sig.mods
    attempt = i.sig.name.endswith("try_wait")
    ctx.begin_guarded()
    if "parity" in mods:
        o = i.ops[2]
        parity = ctx.src(o, "u32")
        if o.kind == O_IMM:
            high = ctx.b.copy(imm((o.value & 1) << 31))
        else:
            high = ctx.b.r("SHF.L.U32", parity, imm(31), RZ)
    else:
        high = ctx.hi(ctx.src(i.ops[2], "b64"))
    where = object_address(ctx, i, i.ops[1])
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("fence", [], [])
    if not ctx.target.has(features.HARDWARE_BARRIERS):
        now = ctx.b.r("LDS", *_high_word(where))
        ctx.b.emit("LOP3.LUT", [RZ, p], [now, imm(_PHASE), high, imm(0x48), NOT_PT])
    else:
        high = high if is_reg(high) else ctx.b.copy(high)
        limit = ctx.src(i.ops[3], "u32") if attempt and len(i.ops) > 3 else K_NONE
        if limit != K_NONE and not is_reg(limit):
            limit = ctx.b.copy(limit)
        ctx.b.emit("SYNCS.PHASECHK.TRANS64" + (".TRYWAIT" if attempt else ""), [p], [*where, high])
        if limit != K_NONE:
            p = _wait_longer(ctx, limit, where, high, p)
        if mods.get("scope") == "cluster" and mods.get("order", "acquire") == "acquire":
            ctx.guard = p
            acquire_fence(ctx, "cluster")
            ctx.guard = PT
    ctx.b.emit("fence", [], [])
    if i.ops[0].kind == O_PAIR:
        # The second predicate says that the phase ended early, which no object of these targets does.
        ctx.write_pred(i.ops[0].elems[0], p)
        ctx.write_pred(i.ops[0].elems[1], NOT_PT)
    else:
        ctx.write_pred(i.ops[0], p)
    ctx.end_guarded()


def _wait_longer(ctx: Ctx, limit: Opnd, where: list[Opnd], high: Opnd, first: Opnd) -> Opnd:
    """try_wait with a time: sleep until the object changes or the time is over, then test once more; both unless the first test succeeded."""
    ctx.b.emit("NANOSLEEP.SYNCS", [], [limit], first ^ INV)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("SYNCS.PHASECHK.TRANS64", [p], [*where, high], first ^ INV, first)
    return p


@lowers("mbarrier.check_layout", types="any")
def lower_check_layout(ctx: Ctx, i: Instr) -> None:
    """mbarrier.check_layout: whether an object has this version of the layout."""
    ctx.begin_guarded()
    where = object_address(ctx, i, i.ops[1])
    ctx.b.emit("fence", [], [])
    state = ctx.b.r(ctx.target.spelling("shared_load"), *where)
    bit = ctx.b.r("LOP3.LUT", state, imm(_VERSION), RZ, imm(0xC0), NOT_PT)
    wanted = "NE" if i.sig.mods["layout_version"] == "layout::v1" else "EQ"
    found = ctx.b.setp(f"ISETP.{wanted}.U32.AND", bit, RZ, PT)
    ctx.b.emit("fence", [], [])
    ctx.write_pred(i.ops[0], found)
    ctx.end_guarded()


@lowers("mbarrier.pending_count", types="any")
def lower_pending_count(ctx: Ctx, i: Instr) -> None:
    """mbarrier.pending_count: the number of pending arrivals in a state."""
    high = ctx.hi(ctx.src(i.ops[1], "b64"))
    if not ctx.target.has(features.HARDWARE_BARRIERS):
        count = ctx.b.r("LOP3.LUT", high, imm(0x7FFFFFFF), RZ, imm(0xC0), NOT_PT)
        ctx.write(i.ops[0], ctx.b.r("IADD3", count | NEG, imm(_PHASE), RZ))
        return
    field = ctx.b.r("SHF.R.U32.HI", RZ, imm(11), high)
    count = ctx.b.r("LOP3.LUT", field, imm(0xFFFFF), RZ, imm(0xC0), NOT_PT)
    ctx.write(i.ops[0], ctx.b.r("IADD3", count | NEG, imm(0x100000), RZ))


@lowers("cp.async.mbarrier.arrive", types="any")
def lower_copy_arrive(ctx: Ctx, i: Instr) -> None:
    """cp.async.mbarrier.arrive: an arrival when all copies so far are done; without .noinc, one more arrival is expected."""
    ctx.begin_guarded()
    where = object_address(ctx, i, i.ops[0])
    more = "noinc" not in i.sig.mods
    new = ctx.target.has(features.HARDWARE_BARRIERS)
    if more and not new:
        ctx.b.emit("ATOMS.ADD", [RZ], [*_high_word(where), ctx.b.copy(imm(0xFFFFFFFF))])
    base = where[1]

    def arrive(u: Opnd, guard: Opnd) -> None:
        at = uniform_address(ctx, where, u)
        if new and more:
            ctx.b.emit("SYNCS.ARRIVE.TRANS64.RED.A0T1", [RZ], [*at, RZ], guard)
        tail = "" if not new else ".TRANSCNT" if more else ".ARVCNT"
        ctx.b.emit(f"ARRIVES.LDGSTSBAR.64{tail}", [], at, guard)

    if base == RZ:
        arrive(uniform_copy(ctx, RZ), PT)
    else:
        each_value(ctx, base, arrive)
    ctx.end_guarded()
