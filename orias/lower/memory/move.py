"""mov, cvta, isspacep, mapa, getctarank and stack allocation."""

from typing import Final

from orias.cubin.elf_values import CONSTANT_SIZE
from orias.isa.operand import K_NONE, K_P, NEG, NOT_PT, PT, RZ, URZ, Opnd, const, imm, imm64, is_reg, with_pair_lane
from orias.lower.frame.addresses import param_bank
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import gather, to_generic
from orias.ptx.ast import O_FUNC, O_REG, O_SREG, O_VEC, TYPE_BITS, Instr, Operand


@lowers("mov", types="int,f32,f64,f16,bf16,f32x2,any")
def lower_mov(ctx: Ctx, i: Instr) -> None:
    """mov: registers, immediates, addresses, special registers, packing and unpacking of vectors."""
    dst, src = i.ops[0], i.ops[1]
    type_ = i.sig.types[-1]
    if "vec" in i.sig.mods:
        _move_elements(ctx, dst, src, type_)
        return
    if dst.kind == O_VEC:
        _unpack(ctx, dst, src, type_)
        return
    if src.kind == O_VEC:
        ctx.write(dst, _pack(ctx, src, type_))
        return
    ctx.write(dst, ctx.src(src, type_))


def _move_elements(ctx: Ctx, dst: Operand, src: Operand, type_: str) -> None:
    """mov.v2 and mov.v4; all elements are read before any is written."""
    if dst.kind != O_VEC or src.kind != O_VEC or len(dst.elems) != len(src.elems):
        raise ctx.unsupported("This form of a vector mov")
    values = [ctx.src(e, type_) for e in src.elems]
    for e, value in zip(dst.elems, values, strict=True):
        ctx.write(e, value)


def _part_type(type_: str, count: int) -> str:
    return f"b{TYPE_BITS[type_] // count}"


def _pack(ctx: Ctx, src: Operand, type_: str) -> Opnd:
    return gather(ctx, src, _part_type(type_, len(src.elems)))


def _unpack(ctx: Ctx, dst: Operand, src: Operand, type_: str) -> None:
    elems = dst.elems
    part = TYPE_BITS[type_] // len(elems)
    value = ctx.src(src, type_)
    for k, e in enumerate(elems):
        if e.kind != O_REG:
            continue
        if part == 64:
            ctx.write(e, with_pair_lane(value, k))
        else:
            per = 32 // part
            w = ctx.word(value, k // per) if TYPE_BITS[type_] > 32 else value
            at = k % per * part // 8
            # The upper bits of narrow registers are unspecified: the lowest part needs no extraction.
            if at:
                sel = 0x7770 | at if part == 8 else 0x7700 | (at + 1) << 4 | at
                w = ctx.b.r("PRMT", w, imm(sel), RZ)
            elif part == 8:
                w = ctx.b.r("LOP3.LUT", w, imm(0xFF), RZ, imm(0xC0), NOT_PT)
            ctx.write(e, w)


@lowers("mov", types="pred")
def lower_mov_pred(ctx: Ctx, i: Instr) -> None:
    """mov.pred."""
    src = i.ops[1]
    if src.kind == O_FUNC:
        raise ctx.unsupported("The address of a function as a predicate")
    if src.kind == O_SREG:
        value = ctx.src(src, "b32")
        ctx.write_pred(i.ops[0], ctx.b.setp("ISETP.EQ.U32.AND", value, imm(1), PT))
        return
    ctx.write_pred(i.ops[0], ctx.pred_src(src))


@lowers("cvta", types="int")
def lower_cvta(ctx: Ctx, i: Instr) -> None:
    """cvta and cvta.to."""
    mods = i.sig.mods
    space = mods.get("space", "")
    space = "shared" if space == "shared::cta" else "param" if space.startswith("param") else space
    wide = TYPE_BITS[i.sig.types[-1]] == 64
    value = ctx.src(i.ops[1], "b64" if wide else "b32")
    if not wide:
        value = ctx.b.pack(value, imm(0))
    if not is_reg(value):
        value = ctx.b.copy(value, 2)
    if "to" in mods:
        value = _from_generic(ctx, value, space)
    else:
        value = to_generic(ctx, value, "shared" if space == "shared::cluster" else space)
    ctx.write(i.ops[0], value if wide else ctx.lo(value))


def _from_generic(ctx: Ctx, value: Opnd, space: str) -> Opnd:
    t = ctx.target
    if space in ("shared", "shared::cluster"):
        if not t.has_word("shared_window"):
            return ctx.b.pack(ctx.lo(value), imm(0))
        return ctx.b.r("iadd64", value, const(0, t.word("shared_window")) | NEG, width=2)
    if space == "local":
        return ctx.b.r("iadd64", value, const(0, t.word("local_window")) | NEG, width=2)
    if space == "const":
        return ctx.b.r("iadd64", value, const(0, t.word("constant_window")) | NEG, width=2)
    if space == "param":
        if t.has_word("parameter_window"):
            return ctx.b.r("iadd64", value, const(0, t.word("parameter_window")) | NEG, width=2)
        base = ctx.b.r("iadd64", value, const(0, t.word("bank_window")) | NEG, width=2)
        return ctx.b.r("iadd64", base, imm64(-param_bank(ctx)), width=2)
    return value


_QSPC: Final[dict[str, str]] = {"global": "QSPC.E.G", "shared": "QSPC.E.S", "shared::cta": "QSPC.E.S",
                                "local": "QSPC.E.L", "shared::cluster": "QSPC.E.D"}  # fmt: skip


@lowers("isspacep", types="any")
def lower_isspacep(ctx: Ctx, i: Instr) -> None:
    """isspacep: QSPC; for constant and global memory also a test against the constant window."""
    space = i.sig.mods.get("space", "")
    value = ctx.src(i.ops[1], "b64")
    if not is_reg(value):
        value = ctx.b.copy(value, 2)
    b = ctx.b
    if space == "const" or space == "global":
        start = const(0, ctx.target.word("constant_window"))
        if ctx.options.relocatable:
            size = b.pack(b.copy(ctx.fn.sym(CONSTANT_SIZE, "abs32")), RZ)
        else:
            size = imm64(ctx.module.program.const_size)
        end = b.r("iadd64", start, size, width=2)
        inside = b.pred("isetp64.GE.U64", value, start, PT)
        inside = b.pred("isetp64.LT.U64", value, end, inside)
        if space == "const":
            ctx.write_pred(i.ops[0], inside)
            return
        d = _qspc(ctx, "QSPC.E.G", value)
        out = b.setp("PLOP3.LUT", d, inside, PT, imm(0x20), imm(0))
        ctx.write_pred(i.ops[0], out)
        return
    if space in ("param", "param::entry"):
        ctx.write_pred(i.ops[0], _in_parameters(ctx, value))
        return
    name = _QSPC.get(space)
    if name is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.write_pred(i.ops[0], _qspc(ctx, name, value))


def _in_parameters(ctx: Ctx, value: Opnd) -> Opnd:
    """Whether an address is one of the kernel's parameters; like ptxas, from sm_90 on and in functions their end is one of them too."""
    t, b = ctx.target, ctx.b
    if t.has_word("parameter_window"):
        inside = b.pred("isetp64.GE.U64", value, const(0, t.word("parameter_window")), PT)
        return b.pred("isetp64.LE.U64", value, const(0, t.word("parameter_window_end")), inside)
    kernel = ctx.module.kernel
    bank = const(0, t.word("bank_window"))
    if not kernel.ptx.entry:
        # Any kernel may have called: the bank says where its parameters end, which is after the place of many only if it has many.
        end = b.r("iadd64", bank, b.pack(const(0, t.word("parameters_end")), RZ), width=2)
        many = b.r("iadd64", bank, imm64(t.word("large_parameters")), width=2)
        few = b.pred("isetp64.LE.U64", end, many, PT)
        start = b.r("SEL", imm(t.word("parameters")), imm(t.word("large_parameters")), few)
        inside = b.pred("isetp64.GE.U64", value, b.r("iadd64", bank, b.pack(start, RZ), width=2), PT)
        return b.pred("isetp64.LE.U64", value, end, inside)
    first = b.r("iadd64", bank, imm64(param_bank(ctx)), width=2)
    end = b.r("iadd64", bank, imm64(param_bank(ctx) + kernel.param_bytes), width=2)
    inside = b.pred("isetp64.GE.U64", value, first, PT)
    return b.pred("isetp64.LT.U64", value, end, inside)


def _qspc(ctx: Ctx, name: str, value: Opnd) -> Opnd:
    d = ctx.fn.new_vreg(K_P)
    ctx.b.emit(name, [RZ, d], [K_NONE, value, URZ, imm(0)])
    return d


@lowers("mapa", types="any")
def lower_mapa(ctx: Ctx, i: Instr) -> None:
    """mapa: the CTA rank becomes bits 24..31 of a shared window address."""
    space = i.sig.mods.get("space", "")
    type_ = i.sig.types[-1]
    src = ctx.src(i.ops[1], type_)
    rank = ctx.src(i.ops[2], "u32")
    wide = TYPE_BITS[type_] == 64
    low = ctx.lo(src) if wide else src
    out = ctx.b.r("PRMT", low, imm(0x4210), rank)
    if not wide:
        ctx.write(i.ops[0], out)
        return
    high = imm(0) if space else ctx.hi(src)
    ctx.write(i.ops[0], ctx.b.pack(out, high))


@lowers("getctarank", types="any")
def lower_getctarank(ctx: Ctx, i: Instr) -> None:
    """getctarank: bits 24..31 of a shared window address."""
    src = ctx.src(i.ops[1], i.sig.types[-1])
    low = ctx.lo(src) if TYPE_BITS[i.sig.types[-1]] == 64 else src
    ctx.write(i.ops[0], ctx.b.r("SHF.R.U32.HI", RZ, imm(24), low))
