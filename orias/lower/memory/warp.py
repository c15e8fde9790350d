"""Warp operations: shfl, vote, match, redux, activemask, elect.

Each operation with a member mask follows a ``WARPSYNC mask``; :mod:`orias.passes.convergence` removes those that are
not needed.
"""

from typing import Final

from orias.isa.operand import K_NONE, K_P, K_R, K_UR, NOT_PT, PT, RZ, URZ, Opnd, imm, imm_value, is_imm, is_vreg
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import O_PAIR, O_SINK, TYPE_BITS, Instr, Operand
from orias.target import features

_FULL: Final = 0xFFFFFFFF


def warpsync(ctx: Ctx, mask: Opnd) -> None:
    """Synchronise the threads of a member mask."""
    ctx.b.emit("WARPSYNC", [], [mask], ctx.guard)


def is_full(mask: Opnd) -> bool:
    """True for the constant mask of all lanes."""
    return is_imm(mask) and imm_value(mask) & _FULL == _FULL


def _members(ctx: Ctx, i: Instr, operand: int) -> Opnd:
    """The member mask of a .sync operation; NONE for the old forms without a mask (PTX before 6.4, or for targets below sm_70)."""
    return ctx.src(i.ops[operand], "b32") if "sync" in i.sig.mods else K_NONE


@lowers("shfl", types="any")
def lower_shfl(ctx: Ctx, i: Instr) -> None:
    """shfl.sync d|p, a, b, c, mask."""
    a, b, c = (ctx.src(o, "b32") for o in i.ops[1:4])
    mask = _members(ctx, i, 4)
    dst = i.ops[0]
    name = f"SHFL.{i.sig.mods['op'].upper()}"
    if dst.kind == O_PAIR:
        ctx.begin_guarded()
        if mask != K_NONE:
            warpsync(ctx, mask)
        d, p = ctx.fn.new_vreg(K_R), ctx.fn.new_vreg(K_P)
        ctx.b.emit(name, [d, p], [a, b, c])
        ctx.write(dst.elems[0], d)
        ctx.write_pred(dst.elems[1], p)
        ctx.end_guarded()
        return
    if mask != K_NONE:
        warpsync(ctx, mask)
    ctx.define(dst, name, [a, b, c], 1, pred_results=1)


@lowers("vote", types="any")
def lower_vote(ctx: Ctx, i: Instr) -> None:
    """vote.sync: VOTE.ALL/ANY/EQ; on sm_75, a mask that is not full is compared by extra instructions, as in ptxas's code."""
    op = i.sig.mods["op"]
    dst = i.ops[0]
    p = ctx.pred_src(i.ops[1])
    mask = _members(ctx, i, 2)
    if mask != K_NONE:
        warpsync(ctx, mask)
    masked = mask != K_NONE and not is_full(mask) and not ctx.target.has(features.SEPARATES_MEMBERS)
    if op == "ballot" or masked:
        d = ctx.fn.new_vreg(K_R)
        ctx.b.emit("VOTE.ANY", [d, PT], [p], ctx.guard)
        if masked:
            d = ctx.b.r("LOP3.LUT", d, mask, RZ, imm(0xC0), NOT_PT)
        if op == "ballot":
            ctx.write(dst, d)
            return
        if op == "any":
            q = ctx.b.setp("ISETP.NE.U32.AND", d, RZ, PT)
        else:
            q = ctx.b.setp("ISETP.EQ.U32.AND", d, mask, PT)
            if op == "uni":
                q = ctx.b.setp("ISETP.EQ.U32.OR", d, RZ, q)
        ctx.write_pred(dst, q)
        return
    name = {"all": "VOTE.ALL", "any": "VOTE.ANY", "uni": "VOTE.EQ"}[op]
    q = ctx.fn.new_vreg(K_P)
    ctx.b.emit(name, [q], [p], ctx.guard)
    ctx.write_pred(dst, q)


@lowers("activemask", types="any")
def lower_activemask(ctx: Ctx, i: Instr) -> None:
    """activemask: VOTE.ANY of a true predicate."""
    ctx.define(i.ops[0], "VOTE.ANY", [PT], 1, pred_results=1)


@lowers("match", types="any")
def lower_match(ctx: Ctx, i: Instr) -> None:
    """match.any, match.all; on sm_75, a LOP3 masks the result of MATCH.ANY, as in ptxas's code."""
    type_ = i.sig.types[-1]
    wide = TYPE_BITS[type_] == 64
    dst = i.ops[0]
    value = ctx.src(i.ops[1], type_)
    if wide and not is_vreg(value):
        value = ctx.b.copy(value, 2)
    mask = ctx.src(i.ops[2], "b32")
    suffix = ".U64" if wide else ""
    old = not ctx.target.has(features.SEPARATES_MEMBERS)
    if i.sig.mods["op"] == "any":
        warpsync(ctx, mask)
        if old and not is_full(mask):
            d = ctx.fn.new_vreg(K_R)
            ctx.b.emit("MATCH.ANY" + suffix, [d], [value], ctx.guard)
            ctx.write(dst, ctx.b.r("LOP3.LUT", d, mask, RZ, imm(0xC0), NOT_PT))
            return
        ctx.define(dst, "MATCH.ANY" + suffix, [value], 1)
        return
    ctx.begin_guarded()
    warpsync(ctx, mask)
    d, p = ctx.fn.new_vreg(K_R), ctx.fn.new_vreg(K_P)
    if old:
        ctx.b.emit("MATCH.ANY" + suffix, [d], [value])
        members = mask
        if is_full(mask):
            warpsync(ctx, mask)
            members = ctx.fn.new_vreg(K_R)
            ctx.b.emit("VOTE.ANY", [members, PT], [PT])
        both = ctx.b.r("LOP3.LUT", d, members, RZ, imm(0xC0), NOT_PT)
        p = ctx.b.setp("ISETP.EQ.U32.AND", both, members, PT)
        d = ctx.b.r("SEL", members, RZ, p)
    else:
        ctx.b.emit("MATCH.ALL" + suffix, [d, p], [value])
    if dst.kind == O_PAIR:
        ctx.write(dst.elems[0], d)
        ctx.write_pred(dst.elems[1], p)
    else:
        ctx.write(dst, d)
    ctx.end_guarded()


_REDUX: Final[dict[str, str]] = {"add": ".SUM", "min": ".MIN", "max": ".MAX", "and": "", "or": ".OR", "xor": ".XOR"}
_REDUX_TYPE: Final[dict[str, str]] = {"s32": ".S32", "u32": "", "b32": "", "f32": ".F32"}


@lowers("redux", types="int,f32,any")
def lower_redux(ctx: Ctx, i: Instr) -> None:
    """redux.sync: the result is uniform among the members."""
    type_ = i.sig.types[-1]
    if not ctx.target.has(features.WARP_REDUCTIONS) or type_ not in ("s32", "u32", "b32", "f32"):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    mods = i.sig.mods
    op = mods["op"]
    base = ctx.target.spelling("warp_min_max") if op in ("min", "max") else "REDUX"
    name = base + _REDUX[op] + ("ABS" if "abs" in mods else "") + _REDUX_TYPE[type_] + (".NAN" if "NaN" in mods else "")
    value, mask = ctx.src(i.ops[1], "b32"), ctx.src(i.ops[2], "b32")
    warpsync(ctx, mask)
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit(name, [u], [value], ctx.guard)
    ctx.write(i.ops[0], ctx.b.copy(u))


@lowers("elect", types="any")
def lower_elect(ctx: Ctx, i: Instr) -> None:
    """elect.sync d|p, mask."""
    mask = ctx.src(i.ops[1], "b32")
    ctx.begin_guarded()
    warpsync(ctx, mask)
    dst = i.ops[0]
    first: Operand = dst.elems[0] if dst.kind == O_PAIR else dst
    u = URZ if first.kind == O_SINK else ctx.fn.new_vreg(K_UR)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("ELECT", [u, p], [PT])
    if u != URZ:
        ctx.write(first, ctx.b.copy(u))
    if dst.kind == O_PAIR:
        ctx.write_pred(dst.elems[1], p)
    ctx.end_guarded()
