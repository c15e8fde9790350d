"""ld, ldu, st, cache hints and fences.

Modifiers per SM are those of ptxas 13.0.88 (every cache operator, order and scope on sm_75, 80 and 90).  Weak global
accesses have ``.SYS`` on sm_75 only.  Scope ``cta`` is ``STRONG.CTA`` there and ``STRONG.SM`` later.  ``.ca``/``.wb``
are strong at that scope, ``.cg`` at GPU, ``.cv``/``.wt`` at SYS; ``.cs`` is evict-first.  An L2 cache policy
(``.L2::cache_hint``) takes the operand of the descriptor.  It is only a hint: like ptxas, the code reads it from any
one of the threads, without a loop.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import (
    K_NONE,
    K_R,
    K_UR,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    imm64,
    is_imm,
    is_reg,
    vreg,
    with_pair_lane,
    word,
)
from orias.lower.frame import params
from orias.lower.frame.addresses import (
    at_element,
    const_offset,
    const_symbol,
    element_offset,
    param_bank,
    param_offset,
    shared_address,
    variable_address,
    zero_extended,
)
from orias.lower.frame.params import SIGNED, extract_selector
from orias.lower.frame.registers import base_register
from orias.lower.frame.registry import lowers
from orias.ori.ir import OP_COPY, OP_PACK
from orias.ptx.ast import O_REG, O_SYM, O_VEC, TYPE_BITS, Instr, Operand, Sig
from orias.semantics.integers import signed
from orias.target import features

if TYPE_CHECKING:
    from orias.lower.frame.context import Ctx

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
_MEMBAR_SCOPE: Final[dict[str, str]] = {"cta": "CTA", "cluster": "GPU", "gpu": "GPU", "gl": "GPU", "sys": "SYS"}
_MAX_OFFSET: Final = (1 << 23) - 1
"""Immediate address offsets are signed 24-bit numbers."""


def strong(ctx: "Ctx", scope: str) -> str:
    """``.STRONG.<scope>``, in the spelling of this target."""
    if scope == "cta":
        return ".STRONG." + ctx.target.spelling("cta_scope")
    return ".STRONG." + _MEMBAR_SCOPE[scope]


def size_suffix(type_: str, count: int = 1) -> str:
    """Size modifier of an access of `count` elements of a type."""
    bits = TYPE_BITS[type_]
    if count == 1 and bits < 32:
        letter = "S" if type_ in SIGNED else "U"
        return f".{letter}{bits}"
    return {8: ".U8", 16: ".U16", 32: "", 64: ".64", 128: ".128", _WIDE: ".256"}[bits * count]


def fence(ctx: "Ctx", kind: str, scope: str, release_only: bool = False) -> None:
    """A memory barrier of kind ALL (acquire-release) or SC, and the error barriers and L1 invalidation that follow it."""
    name = _MEMBAR_SCOPE[scope]
    guard = ctx.guard
    ctx.b.emit(f"MEMBAR.{kind}.{name}", [], [], guard)
    if name == "CTA":
        if kind == "ALL" and not release_only and ctx.target.has(features.CLUSTERS):
            ctx.b.emit("fence.ACQUIRE", [], [])
        return
    ctx.b.emit("ERRBAR", [], [], guard)
    if ctx.target.has(features.CLUSTERS):
        ctx.b.emit("CGAERRBAR", [], [], guard)
    if not release_only:
        ctx.b.emit("CCTL.IVALL", [], [], guard)


def acquire_fence(ctx: "Ctx", scope: str) -> None:
    """What waits for an acquire operation: for scopes beyond the CTA, an invalidation of L1; else what becomes a NOP."""
    if _MEMBAR_SCOPE[scope] != "CTA":
        ctx.b.emit("CCTL.IVALL", [], [], ctx.guard)
    else:
        ctx.b.emit("fence.ACQUIRE", [], [])


def space_of(sig: Sig) -> str:
    """State space of a memory instruction: ``""`` for generic; shared::cta is shared, param::* is param."""
    space = sig.mods.get("space", "")
    if space == "shared::cta":
        return "shared"
    return "param" if space.startswith("param") else space


def address(ctx: "Ctx", o: Operand, space: str) -> list[Opnd]:
    """The four address sources (desc, base, ubase, offset) of an O_ADDR operand, or an O_SYM one that names an element, in a space (generic: ``""``)."""
    indexed = o.kind == O_SYM and bool(o.elems)
    offset = 0 if indexed else o.value
    narrow = space in ("shared", "local")
    var = o.var
    if var is None:
        base = RZ
    elif var.space == "reg":
        base = _base(ctx, o, narrow or space == "shared::cluster")
    elif var.space == "shared" and narrow:
        base, offset = shared_address(ctx, var, offset)
    elif narrow:
        base = variable_address(ctx, var, 0, 1)
    elif space == "shared::cluster":
        base, offset = variable_address(ctx, var, offset, 1), 0
    else:
        base = variable_address(ctx, var, 0, 2)
        if var.space != "global" and space == "":
            base = to_generic(ctx, base, var.space)
    if indexed:
        base = at_element(ctx, base, o, 1 if narrow or space == "shared::cluster" else 2)
    if space == "shared::cluster":
        low = ctx.b.r("IADD3", base, imm(offset), RZ) if offset else base
        return [K_NONE, ctx.b.pack(low, ctx.b.r("S2R", word("SR_SWINHI"))), URZ, imm(0)]
    if base != RZ and not is_reg(base):
        base = ctx.b.copy(base, 1 if narrow else 2)
    if not -_MAX_OFFSET <= offset <= _MAX_OFFSET:
        if narrow:
            base = ctx.b.r("IADD3", base, imm(offset), RZ)
        elif base == RZ:
            base = ctx.b.copy(imm64(offset), 2)
        else:
            base = ctx.b.r("iadd64", base, imm64(offset), width=2)
        offset = 0
    return [K_NONE, base, URZ, imm(offset)]


def _base(ctx: "Ctx", o: Operand, narrow: bool) -> Opnd:
    """The base register of an address in 32 or 64 bits; registers of 8 and 16 bits count from zero on."""
    assert o.var is not None
    bits = TYPE_BITS[o.var.type]
    if bits >= 32:
        return ctx.src(base_register(o), "b32" if narrow else "b64")
    low = zero_extended(ctx, ctx.src(base_register(o), f"b{bits}"), bits)
    return low if narrow else ctx.b.pack(low, RZ)


def to_generic(ctx: "Ctx", value: Opnd, space: str) -> Opnd:
    """The generic address of a 64-bit address in a space (``docs/facts/targets.md``)."""
    t = ctx.target
    if space == "shared":
        if not t.has_word("shared_window"):
            return ctx.b.pack(ctx.lo(value), ctx.b.r("S2R", word("SR_SWINHI")))
        return ctx.b.r("iadd64", value, const(0, t.word("shared_window")), width=2)
    if space == "local":
        return ctx.b.r("iadd64", value, const(0, t.word("local_window")), width=2)
    if space == "const":
        return ctx.b.r("iadd64", value, const(0, t.word("constant_window")), width=2)
    if space == "param":
        if ctx.state.kind != "entry":
            return ctx.b.r("iadd64", value, const(0, t.word("local_window")), width=2)
        if t.has_word("parameter_window"):
            return ctx.b.r("iadd64", value, const(0, t.word("parameter_window")), width=2)
        window = ctx.b.r("iadd64", const(0, t.word("bank_window")), imm64(param_bank(ctx)), width=2)
        return ctx.b.r("iadd64", value, window, width=2)
    return value


def hinted(ctx: "Ctx", i: Instr, group: list[Opnd]) -> list[Opnd]:
    """The address group; with a cache hint, its policy (the last operand) replaces the descriptor."""
    if "cache_hint" in i.sig.mods and ctx.target.has_word("descriptor"):
        policy = ctx.src(i.ops[-1], "b64")
        u = ctx.fn.new_vreg(K_UR, 2)
        if is_reg(policy):
            ctx.b.emit_op(OP_PACK, [u], [ctx.lo(policy), ctx.hi(policy)])
        else:
            ctx.b.emit_op(OP_COPY, [u], [policy])
        return [u, *group[1:]]
    return group


def elements(o: Operand) -> list[Operand]:
    """The elements of a vector operand, or the operand alone."""
    return o.elems if o.kind == O_VEC else [o]


def spread(ctx: "Ctx", dst: Operand, value: Opnd, type_: str) -> None:
    """Split a loaded value, as wide as all elements together, among the elements of the destination."""
    elems = elements(dst)
    bits = TYPE_BITS[type_]
    for k, e in enumerate(elems):
        if bits == 64:
            ctx.write(e, with_pair_lane(value, k) if len(elems) > 1 else value)
        elif bits == 32:
            _write_extended(ctx, e, ctx.word(value, k) if len(elems) > 1 else value, type_)
        elif bits < 32:
            per = 32 // bits
            part = ctx.word(value, k // per) if bits * len(elems) > 32 else value
            sel = extract_selector(k % per * (bits // 8), bits, type_ in SIGNED)
            _write_extended(ctx, e, ctx.b.r("PRMT", part, imm(sel), RZ), type_)
        else:
            ctx.write(e, value)


def _write_extended(ctx: "Ctx", dst: Operand, value: Opnd, type_: str) -> None:
    """Write a value of up to 32 bits, already extended to 32, to a register that may be wider."""
    if type_ in SIGNED and dst.kind == O_REG and ctx.reg_words(dst) == 2:
        value = ctx.b.r("sext64", value, width=2)
    ctx.write(dst, value)


def gather(ctx: "Ctx", src: Operand, type_: str) -> Opnd:
    """The elements of the source as one value of their total width."""
    elems = elements(src)
    values = [ctx.src(e, type_) for e in elems]
    if len(values) == 1:
        return values[0]
    bits = TYPE_BITS[type_]
    if bits > 32:
        # A constant counts as one word of a pack.
        values = [ctx.b.copy(v, bits // 32) if is_imm(v) else v for v in values]
    if bits >= 32:
        return ctx.b.pack(*values, width=len(values) * bits // 32)
    words: list[Opnd] = []
    per = 32 // bits
    for k in range(0, len(values), per):
        group = values[k : k + per]
        if bits == 8:
            group = [ctx.b.r("PRMT", group[j], imm(0x0040), group[j + 1]) for j in range(0, len(group), 2)]
        words.append(ctx.b.r("PRMT", group[0], imm(0x5410), group[1]) if len(group) == 2 else group[0])
    return words[0] if len(words) == 1 else ctx.b.pack(*words)


@lowers("ld", "ldu", types="any")
def lower_ld(ctx: "Ctx", i: Instr) -> None:
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
        for part, value in zip(_halves(dst), (low, high), strict=True):
            spread(ctx, part, value, type_)
        ctx.end_guarded()
    elif count == 1 and (total >= 32 or dst.kind != O_REG or ctx.reg_words(dst) == 1):
        d = dst
        if total == 32 and dst.kind == O_REG and ctx.reg_words(dst) == 2:
            value = _guarded_load(ctx, name, group, 1)
            _write_extended(ctx, dst, value, type_)
        else:
            ctx.define(d, name, group, width)
    else:
        value = _guarded_load(ctx, name, group, width)
        if count == 1:
            _write_extended(ctx, dst, value, type_)
        else:
            spread(ctx, dst, value, type_)
    if volatile_shared:
        ctx.b.emit("fence.SHARED", [], [])
    if order == "acquire":
        acquire_fence(ctx, "cta" if space == "shared" and not ctx.target.has(features.CLUSTERS) else scope)


def _guarded_load(ctx: "Ctx", name: str, group: list[Opnd], width: int) -> Opnd:
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


def _global_mods(ctx: "Ctx", sig: Sig, size: str) -> str:
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
def lower_st(ctx: "Ctx", i: Instr) -> None:
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


def _load_bank(ctx: "Ctx", dst: Operand, where: Operand, type_: str, bank: int, base: int, index: Opnd = RZ) -> None:
    """A load from a constant bank at ``base + index + where``."""
    offset = base + signed(where.value & (1 << 64) - 1, 64)
    if where.kind == O_SYM and where.elems:
        offset = base
        count = element_offset(ctx, where)
        index = count if index == RZ else ctx.b.r("IADD3", index, count, RZ)
    elif where.var is not None and where.var.space == "reg":
        index = ctx.src(base_register(where), "b32")
    if index != RZ:
        if offset < 0 or offset > 0xFFFF:
            index = ctx.b.r("IADD3", index, imm(offset), RZ)
            offset = 0
    bits = TYPE_BITS[type_]
    step = bits // 8
    if index == RZ and not 0 <= offset <= _BANK - step * len(elements(dst)):
        raise ctx.unsupported(f"A load from byte {offset} of a constant bank")
    for k, e in enumerate(elements(dst)):
        at = offset + k * step
        if bits < 32:
            value = ctx.b.r("LDC" + size_suffix(type_), const(bank, at), index)
            _write_extended(ctx, e, value, type_)
        elif index == RZ:
            # A word is where an operand can name it: PTX does not define a load that is not aligned, ptxas drops the bits too.
            at &= ~3
            value = const(bank, at)
            if bits == 128:
                value = ctx.b.pack(*[ctx.b.copy(const(bank, at + 8 * j), 2) for j in range(2)], width=4)
            elif bits == 32 and e.kind == O_REG and ctx.reg_words(e) == 2:
                value = ctx.b.copy(value)
                _write_extended(ctx, e, value, type_)
                continue
            elif bits == 64:
                value = ctx.b.copy(value, 2)
                if bank == 0:
                    ctx.state.param_values[vreg(value)] = at
            ctx.write(e, value)
        elif bits == 32:
            _write_extended(ctx, e, ctx.b.r("LDC", const(bank, at), index), type_)
        else:
            parts = [ctx.b.r("LDC.64", const(bank, at + 8 * j), index, width=2) for j in range(bits // 64)]
            ctx.write(e, parts[0] if len(parts) == 1 else ctx.b.pack(*parts, width=4))


def _load_param(ctx: "Ctx", dst: Operand, where: Operand, type_: str) -> None:
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
            _write_extended(ctx, e, params.load(ctx, var, where.value + k * step, type_), type_)
        return
    group = address(ctx, where, "local")
    elems = elements(dst)
    value = _guarded_load(
        ctx, "LDL" + size_suffix(type_, len(elems)), group, max(1, TYPE_BITS[type_] * len(elems) // 32)
    )
    if len(elems) == 1:
        _write_extended(ctx, dst, value, type_)
    else:
        spread(ctx, dst, value, type_)


def _store_param(ctx: "Ctx", where: Operand, src: Operand, type_: str) -> None:
    var = where.var
    if var is not None and var in ctx.state.param_words:
        step = TYPE_BITS[type_] // 8
        for k, e in enumerate(elements(src)):
            params.store(ctx, var, where.value + k * step, type_, ctx.src(e, type_))
        return
    size = size_suffix(type_, len(elements(src))).replace("S", "U")
    value = gather(ctx, src, type_)
    ctx.b.emit("STL" + size, [], [*address(ctx, where, "local"), value], ctx.guard)


# --- hints and fences -------------------------------------------------------------------------------------------

_PREFETCH: Final[dict[str, str]] = {"L1": "PF1", "L2": "PF2", "L2::evict_last": "PML2", "L2::evict_normal": "PF2"}


_HINTS: Final[dict[str, str]] = {"applypriority": "DML2", "discard": "RML2", "prefetchu": "PF1"}


@lowers("prefetch", "prefetchu", "applypriority", "discard", types="any")
def lower_hint(ctx: "Ctx", i: Instr) -> None:
    """Cache hints, in the operations that ptxas uses; none for local memory."""
    if "tensormap" in i.sig.mods:
        from orias.lower.memory.tensormap import invalidate

        ctx.begin_guarded()
        invalidate(ctx, i.ops[0], ".PF")
        ctx.end_guarded()
        return
    space = space_of(i.sig)
    if space == "local":
        return
    if "valid_addr" in i.sig.mods:
        # A load without a result: the address is one that may be read.
        name = "LDG.E.U8" if space == "global" else "LD.E.U8"
        ctx.b.emit(name, [RZ], address(ctx, i.ops[0], space), ctx.guard)
        return
    level = i.sig.mods.get("level", "") or i.sig.mods.get("evict2", "")
    kind = _HINTS.get(i.sig.name) or _PREFETCH.get(i.sig.mods.get("evict2", "") or level)
    if kind is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.b.emit(f"CCTL.E.{kind}", [], address(ctx, i.ops[0], space), ctx.guard)


@lowers("membar", "fence", types="any")
def lower_fence(ctx: "Ctx", i: Instr) -> None:
    """fence and membar (which is fence.sc); :func:`fence` shows what each level adds."""
    mods = i.sig.mods
    text = i.sig.text
    scope = mods.get("scope", "cta")
    if "mbarrier_init" in text:
        # ptxas emits no instruction; the pseudo operation keeps the accesses in order.
        ctx.b.emit("fence", [], [])
        return
    if mods.get("order") == "acquire" and "sync_restrict" in text:
        acquire_fence(ctx, "cta")
        return
    if mods.get("proxy") == "tensormap::generic":
        from orias.lower.memory.tensormap import tensormap_fence

        tensormap_fence(ctx, i)
        return
    if ".proxy." in text:
        _proxy_fence(ctx, text, scope)
        return
    order = mods.get("order", "sc" if i.sig.name == "membar" else "acq_rel")
    if order == "release" and "sync_restrict" in text:
        ctx.b.emit("MEMBAR.ALL.CTA", [], [], ctx.guard)
        ctx.b.emit("FENCE.VIEW.ASYNC.S", [], [], ctx.guard)
        return
    if order == "acquire":
        if scope == "cta":
            fence(ctx, "ALL", scope)
        else:
            acquire_fence(ctx, scope)
        return
    fence(ctx, "SC" if order == "sc" else "ALL", scope, release_only=order == "release")


def _proxy_fence(ctx: "Ctx", text: str, scope: str) -> None:
    emit = ctx.b.emit
    guard = ctx.guard
    if "async::generic" in text:
        emit("MEMBAR.ALL.CTA", [], [], guard)
        emit("FENCE.VIEW.ASYNC.S", [], [], guard)
    elif ".async" in text:
        if text.endswith(".global"):
            emit("FENCE.VIEW.ASYNC.G", [], [], guard)
            return
        emit("MEMBAR.ALL.CTA" if text.endswith("shared::cta") else "MEMBAR.ALL.GPU", [], [], guard)
        emit("FENCE.VIEW.ASYNC.S", [], [], guard)
    elif "alias" in text.split("."):
        # As ptxas 13.0.88 with .finite, too.
        emit("MEMBAR.SC." + ctx.target.spelling("alias_scope"), [], [], guard)
        emit("CCTL.IVALL", [], [], guard)
    else:
        raise ctx.unsupported(f"'{text}'")
