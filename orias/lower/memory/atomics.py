"""atom and red: native forms, and compare-and-swap loops for operations that the hardware lacks.

Forms of ptxas 13.0.88 for sm_75, 80 and 90.  Global memory has all operations natively except those on 16 bits; shared
memory has 32-bit integer operations, and 64-bit exchange and compare-and-swap.  A generic ATOM that shared memory lacks
returns a predicate.  If it is false, the address is not in global memory, and other code does the operation in shared,
distributed shared (sm_90) or local memory.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import INV, K_NONE, K_P, K_R, NOT_PT, PT, RZ, URZ, Opnd, imm, imm64, imm_value, is_imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import address, elements, gather, hinted, space_of, spread
from orias.lower.memory.ordering import acquire_fence, fence, strong
from orias.ori.ir import Block
from orias.ptx.ast import O_SINK, TYPE_BITS, Instr, Operand
from orias.target import features

_SUFFIX: Final[dict[str, str]] = {
    "u32": "", "b32": "", "s32": "", "u64": ".64", "b64": ".64", "s64": ".64", "b128": ".128",
    "f32": ".F32.FTZ.RN", "f64": ".F64.RN", "f16x2": ".F16x2.RN", "bf16x2": ".BF16x2.RN",
}  # fmt: skip
_FLUSHES: Final = ".FTZ"
_SIGNED_SUFFIX: Final[dict[str, str]] = {"s32": ".S32", "s64": ".S64"}
_FLOATS: Final = ("f32", "f64", "f16x2", "bf16x2")
_SHARED_WIDE: Final = ("exch", "cas")
"""64-bit operations that shared memory has."""


def native_name(op: str, type_: str, flush: bool = True) -> str:
    """Modifiers of an atomic, such as ``.ADD.F32.FTZ.RN``; without `flush` an f32 addition keeps subnormal numbers."""
    suffix = _SUFFIX[type_] if flush else _SUFFIX[type_].replace(_FLUSHES, "")
    if op in ("min", "max"):
        suffix = _SIGNED_SUFFIX.get(type_, suffix)
    return f".{op.upper()}{suffix}"


def combine(ctx: Ctx, op: str, type_: str, old: Opnd, value: Opnd) -> Opnd:
    """The new memory value of a read-modify-write, for the compare-and-swap loops."""
    b = ctx.b
    if type_ == "f32":
        return b.r("FADD", old, value)
    if type_ == "f64":
        return b.r("DADD", old, value, width=2)
    if type_ in ("f16", "f16x2"):
        return b.r("HADD2", old, value)
    if type_ in ("bf16", "bf16x2"):
        return b.r("HADD2.BF16_V2", old, value)
    if op == "add":
        return b.r("iadd64", old, value, width=2)
    if op == "exch":
        return value
    if op in ("min", "max"):
        kind = "S64" if type_ == "s64" else "U64"
        p = b.pred(f"isetp64.{'LT' if op == 'min' else 'GT'}.{kind}", old, value, PT)
        return b.pack(*[b.r("SEL", ctx.word(old, k), ctx.word(value, k), p) for k in (0, 1)])
    lut = {"and": 0xC0, "or": 0xFC, "xor": 0x3C}[op]
    return b.pack(*[b.r("LOP3.LUT", ctx.word(old, k), ctx.word(value, k), RZ, imm(lut), NOT_PT) for k in (0, 1)])


def _in_register(ctx: Ctx, value: Opnd, width: int) -> Opnd:
    return ctx.b.copy(value, width) if is_imm(value) else value


@lowers("atom", "red", types="any")
def lower_atomic(ctx: Ctx, i: Instr) -> None:
    """Lower one atom or red."""
    sig = i.sig
    mods = sig.mods
    red = sig.name == "red"
    op = mods["op"]
    type_ = sig.types[-1]
    scope = mods.get("scope", "gpu")
    order = mods.get("order", "relaxed")
    acquires = order in ("acquire", "acq_rel")
    space = space_of(sig)
    ops = i.ops if red else i.ops[1:]
    dst = None if red or i.ops[0].kind == O_SINK else i.ops[0]
    if order in ("release", "acq_rel"):
        fence(ctx, "ALL", scope, release_only=True)
    where = ops[0]
    if space == "" and where.var is not None and where.var.space in ("global", "shared"):
        space = where.var.space
    group = hinted(ctx, i, address(ctx, where, space))
    if "vec" in mods:
        _vector(ctx, i, dst, group, ops[1], scope)
    elif TYPE_BITS[type_] == 16:
        _half(ctx, op, type_, dst, group, [ctx.src(o, type_) for o in ops[1:3]] if op == "cas" else [ctx.src(ops[1], type_)],
              space, scope)  # fmt: skip
    else:
        width = TYPE_BITS[type_] // 32
        values = [ctx.src(o, type_) for o in ops[1 : 3 if op == "cas" else 2]]
        values = [_in_register(ctx, v, width) for v in values] if width >= 2 else values
        tail = native_name(op, type_, "noftz" not in mods) + strong(ctx, scope)
        if space == "" and (type_ in _FLOATS or width == 2):
            _generic(ctx, op, type_, dst, group, values, tail, acquires and scope == "cta")
            if acquires and scope == "cta":
                # Only for the accesses after it: a path joins here when it has its result.
                ctx.b.emit("fence", [], [])
                return
        else:
            if acquires and space == "shared":
                # No other access comes between it and what waits for it.
                ctx.b.emit("fence.SHARED", [], [])
            _scalar(ctx, op, type_, dst, group, values, space, tail, acquires)
    if acquires:
        acquire_fence(ctx, scope)


def _scalar(
    ctx: Ctx,
    op: str,
    type_: str,
    dst: Operand | None,
    group: list[Opnd],
    values: list[Opnd],
    space: str,
    tail: str,
    acquires: bool,
) -> None:
    """An atomic on one value; `tail` has the modifiers of the native operation in global memory.

    What acquires is no reduction before legalisation, which knows the targets that have no such reduction.
    """
    wide = TYPE_BITS[type_] == 64
    width = TYPE_BITS[type_] // 32
    by_hand = type_ in _FLOATS or wide
    if space == "shared":
        if not by_hand or op in _SHARED_WIDE:
            name = f"ATOMS{native_name(op, type_)}"
            if dst is None:
                ctx.b.emit(name, [RZ], [*group, *values], ctx.guard)
            else:
                ctx.define(dst, name, [*group, *values], width)
            return
        ctx.begin_guarded()
        old = _shared_loop(ctx, op, type_, group, values)
        if dst is not None:
            ctx.write(dst, old)
        ctx.end_guarded()
        return
    if space == "global":
        if dst is None and op not in ("exch", "cas") and not acquires:
            ctx.b.emit(ctx.target.spelling("reduction") + ".E" + tail, [], [*group, *values], ctx.guard)
        elif dst is None:
            ctx.b.emit("ATOMG.E" + tail, [RZ, PT], [*group, *values], ctx.guard)
        else:
            ctx.define(dst, "ATOMG.E" + tail, [*group, *values], width, pred_results=1)
        return
    if dst is None:
        ctx.b.emit("ATOM.E" + tail, [RZ, PT], [*group, *values], ctx.guard)
    else:
        ctx.define(dst, "ATOM.E" + tail, [*group, *values], width, pred_results=1)


def _generic(
    ctx: Ctx,
    op: str,
    type_: str,
    dst: Operand | None,
    group: list[Opnd],
    values: list[Opnd],
    tail: str,
    acquires: bool,
) -> None:
    """A generic atomic that fails outside global memory, and the code for the other memories; it `acquires` at CTA scope."""
    width = TYPE_BITS[type_] // 32
    b = ctx.b
    ctx.begin_guarded()
    d, ok = ctx.fn.new_vreg(K_R, width), ctx.fn.new_vreg(K_P)
    b.emit("ATOM.E" + tail, [d, ok], [*group, *values])
    if acquires:
        acquire_fence(ctx, "cta")
    result = ctx.temp(width)
    ctx.set(result, d, width)
    done, slow, local = ctx.new_block(), ctx.new_block(), ctx.new_block()
    for block in (slow, local):
        block.cold = True
    ctx.branch(ok ^ INV, slow, done)
    ctx.start(slow)
    if op not in _SHARED_WIDE:
        shared = ctx.new_block()
        far = ctx.new_block() if ctx.target.has(features.CLUSTERS) else local
        shared.cold = far.cold = True
        ctx.branch(_qspc(ctx, "QSPC.E.S", group), shared, far)
        ctx.start(shared)
        low = b.r("IADD3", ctx.lo(group[1]), group[3], RZ)
        if not ctx.target.has(features.CLUSTERS):
            low = b.r("LOP3.LUT", low, imm(0xFFFFFF), RZ, imm(0xC0), NOT_PT)
        ctx.set(result, _shared_loop(ctx, op, type_, [K_NONE, low, URZ, imm(0)], values), width)
        ctx.jump(done)
        if far is not local:
            ctx.start(far)
            cluster = ctx.new_block()
            cluster.cold = True
            ctx.branch(_qspc(ctx, "QSPC.E.D", group), cluster, local)
            ctx.start(cluster)
            ctx.set(result, _cluster_loop(ctx, op, type_, group, values), width)
            ctx.jump(done)
    else:
        ctx.jump(local)
    ctx.start(local)
    system = ctx.target.spelling("system_scope")
    size = ".64" if width == 2 else ""
    old = b.r(f"LD.E{size}{system}", *group, width=width)
    ctx.set(result, old, width)
    if op == "cas":
        new = _cas_value(ctx, old, values)
    else:
        new = combine(ctx, op, type_, old, values[0])
    b.emit(f"ST.E{size}{system}", [], [*group, new])
    ctx.jump(done)
    ctx.start(done)
    if dst is not None:
        ctx.write(dst, ctx.get(result))
    ctx.end_guarded()


def _cas_value(ctx: Ctx, old: Opnd, values: list[Opnd]) -> Opnd:
    p = ctx.b.pred("isetp64.EQ.U64", old, values[0], PT)
    return ctx.b.pack(*[ctx.b.r("SEL", ctx.word(values[1], k), ctx.word(old, k), p) for k in (0, 1)])


def _qspc(ctx: Ctx, name: str, group: list[Opnd]) -> Opnd:
    d = ctx.fn.new_vreg(K_P)
    ctx.b.emit(name, [RZ, d], [K_NONE, *group[1:]])
    return d


def _spin(
    ctx: Ctx, load: str, swap: str, preds: int, type_: str, group: list[Opnd], next_: Callable[[Opnd], Opnd]
) -> Opnd:
    """Repeat load, `next_` and CAST.SPIN until that has stored; returns the value loaded last."""
    width = TYPE_BITS[type_] // 32
    head, done = ctx.new_block(), ctx.new_block()
    ctx.jump(head)
    ctx.start(head, sealed=False)
    old = ctx.b.r(load, *group, width=width)
    new = next_(old)
    if not preds and ctx.target.has(features.CAST_PREDICATE):
        p = ctx.fn.new_vreg(K_P)
        ctx.fn.retries.add(ctx.b.emit(swap, [p], [*group, old, new]).uid)
        return _spun(ctx, p, head, done, old)
    d = ctx.fn.new_vreg(K_R, width)
    ctx.fn.retries.add(ctx.b.emit(swap, [d] + [PT] * preds, [*group, old, new]).uid)
    if width == 2:
        p = ctx.b.pred("isetp64.EQ.U64", d, imm64(1), PT)
    else:
        p = ctx.b.setp("ISETP.EQ.U32.AND", d, imm(1), PT)
    return _spun(ctx, p, head, done, old)


def _spun(ctx: Ctx, stored: Opnd, head: Block, done: Block, old: Opnd) -> Opnd:
    """The end of a loop that repeats until a value was stored."""
    ctx.branch(stored ^ INV, head, done)
    ctx.end_loop(head, done)
    return old


def _shared_loop(ctx: Ctx, op: str, type_: str, group: list[Opnd], values: list[Opnd]) -> Opnd:
    size = ".64" if TYPE_BITS[type_] == 64 else ""
    load = ctx.target.spelling("shared_load") + size
    return _spin(
        ctx, load, "ATOMS.CAST.SPIN" + size, 0, type_, group, lambda old: combine(ctx, op, type_, old, values[0])
    )


def _cluster_loop(ctx: Ctx, op: str, type_: str, group: list[Opnd], values: list[Opnd]) -> Opnd:
    """The loop on shared memory of the cluster, which no cache policy concerns."""
    size = ".64" if TYPE_BITS[type_] == 64 else ""
    return _spin(
        ctx,
        "LD.E" + size,
        "ATOM.E.CAST.SPIN" + size,
        1,
        type_,
        [K_NONE, *group[1:]],
        lambda old: combine(ctx, op, type_, old, values[0]),
    )


def _half(
    ctx: Ctx, op: str, type_: str, dst: Operand | None, group: list[Opnd], values: list[Opnd], space: str, scope: str
) -> None:
    """A 16-bit atomic: a compare-and-swap loop on the word that contains it."""
    b = ctx.b
    ctx.begin_guarded()
    narrow = space == "shared"
    where = group[1]
    if narrow:
        where = b.r("IADD3", where, group[3], RZ)
        low = where
        word = b.r("LOP3.LUT", low, imm(0xFFFFFFFD), RZ, imm(0xC0), NOT_PT)
        load, swap, preds = ctx.target.spelling("shared_load"), "ATOMS.CAS", 0
    else:
        offset = imm_value(group[3])
        where = b.r("iadd64", where, imm64(offset - (1 << 32) if offset >> 31 else offset), width=2)
        low = ctx.lo(where)
        word = b.pack(b.r("LOP3.LUT", low, imm(0xFFFFFFFD), RZ, imm(0xC0), NOT_PT), ctx.hi(where))
        system = ctx.target.spelling("system_scope")
        load = ("LDG.E" if space == "global" else "LD.E") + system
        swap, preds = ("ATOMG.E.CAS" if space == "global" else "ATOM.E.CAS") + strong(ctx, scope), 1
    group = [K_NONE, word, URZ, imm(0)]
    half = b.r("LOP3.LUT", low, imm(2), RZ, imm(0xC0), NOT_PT)
    shift = b.r("SHF.L.U32", half, imm(3), RZ)
    at_zero = b.setp("ISETP.EQ.U32.AND", half, RZ, PT)
    select = b.r("SEL", imm(0x3254), imm(0x5410), at_zero)
    held = ctx.temp()
    ctx.set(held, b.r(load, *group))
    head, done = ctx.new_block(), ctx.new_block()
    ctx.jump(head)
    ctx.start(head, sealed=False)
    old = ctx.get(held)
    value = b.r("SHF.R.U32.HI", RZ, shift, old)
    if op == "cas":
        differ = b.r("LOP3.LUT", value, values[0], imm(0xFFFF), imm(0x28), NOT_PT)
        p = b.setp("ISETP.NE.U32.AND", differ, RZ, PT)
        body = ctx.new_block()
        ctx.branch(p, done, body)
        ctx.start(body)
        new = values[1]
    elif op == "add":
        new = combine(ctx, op, type_, value, values[0])
    else:
        raise ctx.unsupported(f"A 16-bit atomic '{op}'")
    merged = b.r("PRMT", old, select, new)
    got = ctx.fn.new_vreg(K_R)
    ctx.fn.retries.add(b.emit(swap, [got] + [PT] * preds, [*group, old, merged]).uid)
    ctx.set(held, got)
    p = b.setp("ISETP.NE.U32.AND", got, old, PT)
    ctx.branch(p, head, done)
    ctx.end_loop(head, done)
    if dst is not None:
        ctx.write(dst, b.r("SHF.R.U32.HI", RZ, shift, ctx.get(held)))
    ctx.end_guarded()


_VECTOR: Final[dict[str, tuple[str, int, str]]] = {
    "f32": ("F32", 1, ".FTZ.RN"), "f16": ("F16", 1, ".RN"), "bf16": ("BF16", 1, ".RN"),
    "f16x2": ("F16", 2, ".RN"), "bf16x2": ("BF16", 2, ".RN"),
}  # fmt: skip
"""Vector atomics (sm_90): PTX element -> (element name, elements per PTX element, end of the name)."""


def vector_name(ctx: Ctx, i: Instr, src: Operand) -> str:
    """Modifiers of a vector atomic, such as ``.ADD.F16x8.RN``."""
    row = _VECTOR.get(i.sig.types[-1])
    if row is None or not ctx.target.has(features.VECTOR_ATOMICS):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    name, per, rest = row
    if name == "F32" and "noftz" in i.sig.mods:
        rest = rest.replace(_FLUSHES, "")
    return f".{i.sig.mods['op'].upper()}.{name}x{per * len(elements(src))}{rest}"


def _vector(ctx: Ctx, i: Instr, dst: Operand | None, group: list[Opnd], src: Operand, scope: str) -> None:
    type_ = i.sig.types[-1]
    tail = vector_name(ctx, i, src) + strong(ctx, scope)
    value = gather(ctx, src, type_)
    width = TYPE_BITS[type_] * len(elements(src)) // 32
    if dst is None:
        ctx.b.emit("REDG.E" + tail, [], [*group, value], ctx.guard)
        return
    d = ctx.fn.new_vreg(K_R, width)
    ctx.b.emit("ATOMG.E" + tail, [d, PT], [*group, value], ctx.guard)
    spread(ctx, dst, d, type_)
