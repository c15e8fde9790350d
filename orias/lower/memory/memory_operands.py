"""Operands of memory instructions: addresses in their spaces, values from vectors and to vectors."""

from typing import Final

from orias.isa.operand import (
    K_NONE,
    K_UR,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    imm64,
    is_imm,
    is_reg,
    with_pair_lane,
    word,
)
from orias.lower.frame.addresses import (
    at_offset,
    param_bank,
    shared_address,
    variable_address,
    zero_extended,
)
from orias.lower.frame.context import Ctx
from orias.lower.frame.params import SIGNED, extract_selector
from orias.lower.frame.registers import base_register
from orias.ori.ir import OP_COPY, OP_PACK
from orias.ptx.ast import O_REG, O_SYM, O_VEC, TYPE_BITS, Instr, Operand, Sig

_MAX_OFFSET: Final = (1 << 23) - 1
"""Immediate address offsets are signed 24-bit numbers."""


def space_of(sig: Sig) -> str:
    """State space of a memory instruction: ``""`` for generic; shared::cta is shared, param::* is param."""
    space = sig.mods.get("space", "")
    if space == "shared::cta":
        return "shared"
    return "param" if space.startswith("param") else space


def address(ctx: Ctx, o: Operand, space: str) -> list[Opnd]:
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
        base = at_offset(ctx, base, ctx.element_offset(o), 1 if narrow or space == "shared::cluster" else 2)
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


def _base(ctx: Ctx, o: Operand, narrow: bool) -> Opnd:
    """The base register of an address in 32 or 64 bits; registers of 8 and 16 bits count from zero on."""
    assert o.var is not None
    bits = TYPE_BITS[o.var.type]
    if bits >= 32:
        return ctx.src(base_register(o), "b32" if narrow else "b64")
    low = zero_extended(ctx, ctx.src(base_register(o), f"b{bits}"), bits)
    return low if narrow else ctx.b.pack(low, RZ)


def to_generic(ctx: Ctx, value: Opnd, space: str) -> Opnd:
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


def hinted(ctx: Ctx, i: Instr, group: list[Opnd]) -> list[Opnd]:
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


def spread(ctx: Ctx, dst: Operand, value: Opnd, type_: str) -> None:
    """Split a loaded value, as wide as all elements together, among the elements of the destination."""
    elems = elements(dst)
    bits = TYPE_BITS[type_]
    for k, e in enumerate(elems):
        if bits == 64:
            ctx.write(e, with_pair_lane(value, k) if len(elems) > 1 else value)
        elif bits == 32:
            write_extended(ctx, e, ctx.word(value, k) if len(elems) > 1 else value, type_)
        elif bits < 32:
            per = 32 // bits
            part = ctx.word(value, k // per) if bits * len(elems) > 32 else value
            sel = extract_selector(k % per * (bits // 8), bits, type_ in SIGNED)
            write_extended(ctx, e, ctx.b.r("PRMT", part, imm(sel), RZ), type_)
        else:
            ctx.write(e, value)


def write_extended(ctx: Ctx, dst: Operand, value: Opnd, type_: str) -> None:
    """Write a value of up to 32 bits, already extended to 32, to a register that may be wider."""
    if type_ in SIGNED and dst.kind == O_REG and ctx.reg_words(dst) == 2:
        value = ctx.b.r("sext64", value, width=2)
    ctx.write(dst, value)


def gather(ctx: Ctx, src: Operand, type_: str) -> Opnd:
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
