"""ld, ldu, st.

Modifiers per SM are those of ptxas 13.0.88 (every cache operator, order and scope on sm_75, 80 and 90).  Weak global
accesses have ``.SYS`` on sm_75 only.  Scope ``cta`` is ``STRONG.CTA`` there and ``STRONG.SM`` later.  ``.ca``/``.wb``
are strong at that scope, ``.cg`` at GPU, ``.cv``/``.wt`` at SYS; ``.cs`` is evict-first.  An L2 cache policy
(``.L2::cache_hint``) takes the operand of the descriptor.  It is only a hint: like ptxas, the code reads it from any
one of the threads, without a loop.
"""

from typing import Final

from orias.isa.operand import (
    K_R,
    RZ,
    Opnd,
    const,
    imm,
    vreg,
)
from orias.lower.frame import params
from orias.lower.frame.addresses import (
    const_offset,
    const_symbol,
    param_bank,
    param_offset,
)
from orias.lower.frame.context import Ctx
from orias.lower.frame.params import SIGNED
from orias.lower.frame.registers import base_register
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import address, elements, gather, hinted, space_of, spread, write_extended
from orias.lower.memory.ordering import acquire_fence, fence, strong
from orias.ptx.ast import O_REG, O_SYM, O_VEC, TYPE_BITS, Instr, Operand, Sig
from orias.semantics.integers import signed
from orias.target import features

_EVICT: Final[dict[str, str]] = {
    "L1::evict_first": ".EF",
    "L1::evict_last": ".EL",
    "L1::no_allocate": ".NA",
    "L1::evict_unchanged": ".EU",
    "L1::evict_normal": "",
}
_LTC: Final[dict[str, str]] = {"L2::64B": ".LTC64B", "L2::128B": ".LTC128B", "L2::256B": ".LTC256B"}
_EVICT_L2: Final[dict[str, str]] = {
    "": ".ENL2",
    "L2::evict_normal": ".ENL2",
    "L2::evict_first": ".EFL2",
    "L2::evict_last": ".ELL2",
}
"""How long L2 keeps a line: said by accesses of 256 bits only."""
_WIDE: Final = 256
_COP_SCOPE: Final[dict[str, str]] = {"ca": "cta", "wb": "cta", "cg": "gpu", "cv": "sys", "wt": "sys"}
_COP_EVICT: Final[dict[str, str]] = {"cs": ".EF", "lu": ".LU"}


def size_suffix(type_: str, count: int = 1) -> str:
    """Size modifier of an access of `count` elements of a type."""
    bits = TYPE_BITS[type_]
    if count == 1 and bits < 32:
        letter = "S" if type_ in SIGNED else "U"
        return f".{letter}{bits}"
    return {8: ".U8", 16: ".U16", 32: "", 64: ".64", 128: ".128", _WIDE: ".256"}[bits * count]


@lowers("ld", "ldu", types="any")
def lower_ld(ctx: Ctx, i: Instr) -> None:
    """ld in every space."""
    sig = i.sig
    type_ = sig.types[-1]
    space = space_of(sig)
    dst, where = i.ops[0], i.ops[1]
    if dst.kind == O_VEC and len(dst.elems) == 1:
        dst = dst.elems[0]
    if space == "param":
        _load_param(ctx, dst, where, type_)
        return
    if space == "const":
        base = 0
        index = RZ
        if where.var is not None and where.var.space == "const":
            if ctx.options.names_places:
                index = const_symbol(ctx, where.var, 0)
            else:
                base = const_offset(ctx, where.var)
        _load_bank(ctx, dst, where, type_, 3, base, index)
        return
    count = len(elements(dst))
    total = TYPE_BITS[type_] * count
    order = sig.mods.get("order", "")
    scope = sig.mods.get("scope", "sys")
    group = hinted(ctx, i, address(ctx, where, space))
    volatile_shared = False
    size = size_suffix(type_, count)
    if space == "shared":
        volatile_shared = order not in ("", "weak")
        name = ctx.target.spelling("shared_load") + size
    elif space == "local":
        name = "LDL" + size
    else:
        name = ("LDG.E" if space == "global" or total == _WIDE else "LD.E") + _global_mods(ctx, sig, size)
    if volatile_shared:
        ctx.b.emit("fence.SHARED", [], [])
    width = max(1, total // 32)
    if total == _WIDE:
        # The first result is the upper half; a store has the lower half first.
        high, low = ctx.fn.new_vreg(K_R, 4), ctx.fn.new_vreg(K_R, 4)
        ctx.begin_guarded()
        ctx.b.emit(name, [high, low], group)
        loaded = high
        for part, value in zip(_halves(dst), (low, high), strict=True):
            spread(ctx, part, value, type_)
        ctx.end_guarded()
    elif count == 1 and (total >= 32 or dst.kind != O_REG or ctx.reg_words(dst) == 1):
        d = dst
        if total == 32 and dst.kind == O_REG and ctx.reg_words(dst) == 2:
            loaded = _guarded_load(ctx, name, group, 1)
            write_extended(ctx, dst, loaded, type_)
        else:
            loaded = ctx.define(d, name, group, width).dst[0]
    else:
        loaded = _guarded_load(ctx, name, group, width)
        if count == 1:
            write_extended(ctx, dst, loaded, type_)
        else:
            spread(ctx, dst, loaded, type_)
    if order == "volatile" or "mmio" in sig.mods:
        ctx.b.emit("fence.KEEP", [], [loaded])
    if volatile_shared:
        ctx.b.emit("fence.SHARED", [], [])
    if order == "acquire":
        acquire_fence(ctx, "cta" if space == "shared" and not ctx.target.has(features.CLUSTERS) else scope)


def _guarded_load(ctx: Ctx, name: str, group: list[Opnd], width: int) -> Opnd:
    d = ctx.fn.new_vreg(K_R, width)
    ctx.b.emit(name, [d], group, ctx.guard)
    return d


def _halves(o: Operand) -> list[Operand]:
    """A vector operand as two of half its length."""
    half = len(o.elems) // 2
    parts = []
    for elems in (o.elems[:half], o.elems[half:]):
        part = Operand(O_VEC)
        part.elems = elems
        parts.append(part)
    return parts


def _global_mods(ctx: Ctx, sig: Sig, size: str) -> str:
    """The modifiers after ``LDG.E``/``STG.E``: eviction from L1 and L2, prefetch size, element size, order and scope."""
    mods = sig.mods
    order = mods.get("order", "")
    cop = mods.get("cop", "")
    nc = "nc" in mods
    out = _COP_EVICT.get(cop, "") or _EVICT.get(mods.get("evict", ""), "")
    if size == ".256":
        out += _EVICT_L2[mods.get("evict2", "")]
    out += _LTC.get(mods.get("prefetch", ""), "") + size
    if "mmio" in mods:
        return out + ".MMIO.SYS"
    if nc:
        return out + ".CONSTANT" + ctx.target.spelling("system_scope")
    if order == "volatile":
        return out + strong(ctx, "sys")
    if order in ("relaxed", "acquire", "release"):
        return out + strong(ctx, mods.get("scope", "sys"))
    if cop in _COP_SCOPE:
        return out + strong(ctx, _COP_SCOPE[cop])
    return out + ctx.target.spelling("system_scope")


@lowers("st", "multimem.st", types="any")
def lower_st(ctx: Ctx, i: Instr) -> None:
    """st in every space, and multimem.st."""
    sig = i.sig
    type_ = sig.types[-1]
    space = space_of(sig)
    where, src = i.ops[0], i.ops[1]
    if space == "param":
        _store_param(ctx, where, src, type_)
        return
    count = len(elements(src))
    wide = TYPE_BITS[type_] * count == _WIDE
    order = sig.mods.get("order", "")
    values = [gather(ctx, part, type_) for part in _halves(src)] if wide else [gather(ctx, src, type_)]
    if order == "release":
        fence(ctx, "ALL", sig.mods.get("scope", "sys"), release_only=True)
    group = hinted(ctx, i, address(ctx, where, space))
    size = size_suffix(type_, count).replace("S", "U")
    if space == "shared":
        name = "STS" + size
    elif space == "local":
        name = "STL" + size
    else:
        name = ("STG.E" if space == "global" or wide else "ST.E") + _global_mods(ctx, sig, size)
    strong_shared = space == "shared" and order not in ("", "weak")
    if strong_shared:
        ctx.b.emit("fence.SHARED", [], [])
    ctx.b.emit(name, [], [*group, *values], ctx.guard)
    if strong_shared:
        ctx.b.emit("fence.SHARED", [], [])


# --- parameters and constants -----------------------------------------------------------------------------------


_BANK: Final = 1 << 16
"""Bytes of a constant bank."""


def _load_bank(ctx: Ctx, dst: Operand, where: Operand, type_: str, bank: int, base: int, index: Opnd = RZ) -> None:
    """A load from a constant bank at ``base + index + where``."""
    offset = base + signed(where.value & (1 << 64) - 1, 64)
    if where.kind == O_SYM and where.elems:
        offset = base
        count = ctx.element_offset(where)
        index = count if index == RZ else ctx.b.r("IADD3", index, count, RZ)
    elif where.var is not None and where.var.space == "reg":
        index = ctx.src(base_register(where), "b32")
    bits = TYPE_BITS[type_]
    step = bits // 8
    if index != RZ:
        if offset < 0 or offset > 0xFFFF:
            index = ctx.b.r("IADD3", index, imm(offset & 0xFFFFFFFF), RZ)
            offset = 0
    elif not 0 <= offset <= _BANK - step * len(elements(dst)):
        # No operand can name such a place; a register can hold it, and the hardware judges the access.
        index = ctx.b.copy(imm(offset & 0xFFFFFFFF))
        offset = 0
    for k, e in enumerate(elements(dst)):
        at = offset + k * step
        if bits < 32:
            value = ctx.b.r("LDC" + size_suffix(type_), const(bank, at), index)
            write_extended(ctx, e, value, type_)
        elif index == RZ:
            # A word is where an operand can name it: PTX does not define a load that is not aligned, ptxas drops the bits too.
            at &= ~3
            value = const(bank, at)
            if bits == 128:
                value = ctx.b.pack(*[ctx.b.copy(const(bank, at + 8 * j), 2) for j in range(2)], width=4)
            elif bits == 32 and e.kind == O_REG and ctx.reg_words(e) == 2:
                value = ctx.b.copy(value)
                write_extended(ctx, e, value, type_)
                continue
            elif bits == 64:
                value = ctx.b.copy(value, 2)
                if bank == 0:
                    ctx.state.param_values[vreg(value)] = at
            ctx.write(e, value)
        elif bits == 32:
            write_extended(ctx, e, ctx.b.r("LDC", const(bank, at), index), type_)
        else:
            parts = [ctx.b.r("LDC.64", const(bank, at + 8 * j), index, width=2) for j in range(bits // 64)]
            ctx.write(e, parts[0] if len(parts) == 1 else ctx.b.pack(*parts, width=4))


def _load_param(ctx: Ctx, dst: Operand, where: Operand, type_: str) -> None:
    var = where.var
    state = ctx.state
    if state.kind == "entry" and (var is None or var.space == "reg" or var in ctx.module.kernel.ptx.params):
        base = param_bank(ctx)
        if var is not None and var.space != "reg":
            base += param_offset(ctx, var)
        _load_bank(ctx, dst, where, type_, 0, base)
        return
    if var is not None and var in state.param_words:
        step = TYPE_BITS[type_] // 8
        for k, e in enumerate(elements(dst)):
            write_extended(ctx, e, params.load(ctx, var, where.value + k * step, type_), type_)
        return
    group = address(ctx, where, "local")
    elems = elements(dst)
    value = _guarded_load(
        ctx, "LDL" + size_suffix(type_, len(elems)), group, max(1, TYPE_BITS[type_] * len(elems) // 32)
    )
    if len(elems) == 1:
        write_extended(ctx, dst, value, type_)
    else:
        spread(ctx, dst, value, type_)


def _store_param(ctx: Ctx, where: Operand, src: Operand, type_: str) -> None:
    var = where.var
    if var is not None and var in ctx.state.param_words:
        step = TYPE_BITS[type_] // 8
        for k, e in enumerate(elements(src)):
            params.store(ctx, var, where.value + k * step, type_, ctx.src(e, type_))
        return
    size = size_suffix(type_, len(elements(src))).replace("S", "U")
    value = gather(ctx, src, type_)
    ctx.b.emit("STL" + size, [], [*address(ctx, where, "local"), value], ctx.guard)
