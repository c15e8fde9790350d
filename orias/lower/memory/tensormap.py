"""Tensor maps: tensormap.replace, tensormap.cp_fenceproxy, prefetch.tensormap and the fences of their proxy.

Offsets of the fields in the 128 bytes of a map are those of the code of ptxas 13.0.88 for tensormap.replace.
"""

from typing import Final

from orias.isa.operand import K_NONE, NOT_PT, PT, RZ, URZ, Opnd, imm, imm_value, is_reg, word
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.bulk import group, place
from orias.lower.memory.lane_loops import each_pair, pack_uniform
from orias.lower.memory.memory_operands import address
from orias.lower.memory.ordering import fence
from orias.lower.memory.warp import warpsync
from orias.ptx.ast import Instr, Operand
from orias.target import features

_FLAGS: Final[dict[str, tuple[int, int]]] = {
    "rank": (4, 3), "elemtype": (7, 4), "interleave_layout": (11, 2), "swizzle_mode": (13, 2), "fill_mode": (15, 1),
    "swizzle_atomicity": (19, 3),
}  # fmt: skip
"""Fields of the word at byte 8: name -> (lowest bit, bits)."""
_FLAG_WORD: Final = 8
_LARGE: Final = 0x200000
"""Bit of the flag word: the tensor is of the large allocation class (code of ptxas 13.5.37)."""
_ROUNDED: Final[dict[int, int]] = {11: 7, 12: 8}
"""Codes of tf32 and tf32.ftz: those of f32 and f32.ftz, with the bit _ROUND set."""
_ROUND: Final = 16
_FIRST_PACKED: Final = 13
"""The first element type of less than a byte; codes of these types are less by two."""
_SWIZZLE_HIGH: Final = 0x400000
"""Bit of the flag word that a change of swizzle_mode also clears."""


@lowers("tensormap.replace", types="any,int")
def lower_replace(ctx: Ctx, i: Instr) -> None:
    """tensormap.replace; counts are stored minus one, strides in 16-byte units with their upper four bits in another word."""
    ctx.begin_guarded()
    field = i.sig.mods["field"]
    space = i.sig.mods.get("space", "")
    at = address(ctx, i.ops[0], "shared" if space.startswith("shared") else space)
    value_op = i.ops[-1]
    ordinal = i.ops[1].value if len(i.ops) > 2 else 0
    ctx.b.emit("fence", [], [])
    if field == "global_address":
        value = ctx.src(value_op, "b64")
        _store(ctx, space, at, 0, value if is_reg(value) else ctx.b.copy(value, 2), ".64")
    elif field in _FLAGS:
        low, bits = _FLAGS[field]
        value = ctx.src(value_op, "u32")
        if field == "elemtype" and ctx.target.has(features.MAP_CODES):
            value = _code(ctx, space, at, imm_value(value))
        _insert(ctx, space, at, _FLAG_WORD, low, bits, value)
        if field == "swizzle_mode":
            _insert(ctx, space, at, _FLAG_WORD, _SWIZZLE_HIGH.bit_length() - 1, 1, RZ)
    elif field == "global_dim":
        _store(ctx, space, at, 0x20 + 4 * ordinal, _less_one(ctx, value_op), "")
    elif field == "box_dim":
        byte = 0x37 + ordinal
        _insert(ctx, space, at, byte & ~3, byte % 4 * 8, 8, _less_one(ctx, value_op))
    elif field == "element_stride":
        _insert(ctx, space, at, 0x34, 3 * ordinal, 3, _less_one(ctx, value_op))
    elif field == "global_stride":
        value = ctx.src(value_op, "b64")
        value = value if is_reg(value) else ctx.b.copy(value, 2)
        _store(ctx, space, at, 0xC + 4 * ordinal, ctx.b.r("SHF.R.U64", ctx.lo(value), imm(4), ctx.hi(value)), "")
        _insert(ctx, space, at, 0x1C, 4 * ordinal, 4, ctx.b.r("SHF.R.U32.HI", RZ, imm(4), ctx.hi(value)))
    else:
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    ctx.b.emit("fence", [], [])
    ctx.end_guarded()


def _code(ctx: Ctx, space: str, at: list[Opnd], number: int) -> Opnd:
    """The code of an element type; sets the bit of tf32, which other types leave as it is (as in code of ptxas 13.0.88)."""
    if number in _ROUNDED:
        _insert(ctx, space, at, _FLAG_WORD, _ROUND, 1, imm(1))
        return imm(_ROUNDED[number])
    return imm(number - 2 if number >= _FIRST_PACKED else number)


def _less_one(ctx: Ctx, o: Operand) -> Opnd:
    return ctx.b.r("IADD3", ctx.src(o, "u32"), imm(0xFFFFFFFF), RZ)


def _moved(at: list[Opnd], offset: int) -> list[Opnd]:
    return [*at[:3], imm(imm_value(at[3]) + offset)]


def _store(ctx: Ctx, space: str, at: list[Opnd], offset: int, value: Opnd, size: str) -> None:
    name = "STS" if space.startswith("shared") else "STG.E" if space == "global" else "ST.E"
    ctx.b.emit(name + size, [], [*_moved(at, offset), value])


def _insert(ctx: Ctx, space: str, at: list[Opnd], offset: int, low: int, bits: int, value: Opnd) -> None:
    """Replace a field of a word: load, merge, store."""
    name = "LDS" if space.startswith("shared") else "LDG.E" if space == "global" else "LD.E"
    old = ctx.b.r(name, *_moved(at, offset))
    shifted = value if low == 0 or value == RZ else ctx.b.r("SHF.L.U32", value, imm(low), RZ)
    mask = ((1 << bits) - 1) << low
    _store(ctx, space, at, offset, ctx.b.r("LOP3.LUT", old, imm(mask), shifted, imm(0xB8), NOT_PT), "")


@lowers("tensormap.query.alloc_class_large", types="any")
def lower_query(ctx: Ctx, i: Instr) -> None:
    """tensormap.query.alloc_class_large: a bit of the flag word."""
    ctx.begin_guarded()
    space = i.sig.mods.get("space", "")
    at = address(ctx, i.ops[1], "shared" if space.startswith("shared") else space)
    name = "LDS" if space.startswith("shared") else "LDG.E" if space == "global" else "LD.E"
    flags = ctx.b.r(name, *_moved(at, _FLAG_WORD))
    large = ctx.b.r("LOP3.LUT", flags, imm(_LARGE), RZ, imm(0xC0), NOT_PT)
    ctx.write_pred(i.ops[0], ctx.b.setp("ISETP.NE.U32.AND", large, RZ, PT))
    ctx.end_guarded()


@lowers("tensormap.cp_fenceproxy", types="any")
def lower_copy_fence(ctx: Ctx, i: Instr) -> None:
    """tensormap.cp_fenceproxy: each lane copies one word of the map from shared to global memory, by an exchange."""
    ctx.begin_guarded()
    warpsync(ctx, imm(0xFFFFFFFF))
    scope = i.sig.mods.get("scope", "gpu")
    to, source = place(ctx, i.ops[0], "global"), place(ctx, i.ops[1], "shared")
    byte = ctx.b.r("SHF.L.U32", ctx.b.r("S2R", word("SR_LANEID")), imm(2), RZ)
    source = ctx.b.r("IADD3", source, byte, RZ)
    to = ctx.b.r("iadd64", to, ctx.b.pack(byte, imm(0)), width=2)
    value = ctx.b.r("LDS", K_NONE, source, URZ, imm(0))
    strong = {"cta": "SM", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}[scope]
    ctx.b.emit(f"ATOMG.E.EXCH.STRONG.{strong}", [RZ, PT], [K_NONE, to, URZ, imm(0), value])
    ctx.end_guarded()


def tensormap_fence(ctx: Ctx, i: Instr) -> None:
    """fence.proxy.tensormap::generic: a release is a fence; an acquire waits for all loads and invalidates the cached map."""
    scope = i.sig.mods.get("scope", "cta")
    if i.sig.mods.get("order") == "release":
        fence(ctx, "ALL", "gpu" if scope == "cta" else scope, release_only=True)
        return
    ctx.begin_guarded()
    invalidate(ctx, i.ops[0], ".IV", ctx.target.spelling("constant_invalidation"), True)
    ctx.end_guarded()


def invalidate(ctx: Ctx, o: Operand, what: str, before: str = "", waits: bool = False) -> None:
    """UTMACCTL on each different tensor map: ``.IV`` invalidates it, ``.PF`` prefetches it.

    `before` is an operation on the map to do first; with `waits` all loads arrive before that, which is one with these two in capsules.
    """
    table = place(ctx, o, "")

    def body(low: Opnd, high: Opnd) -> None:
        pair = pack_uniform(ctx, low, high)
        if waits:
            ctx.b.emit("DEPBAR", [], [imm(0x3F)])
        if before:
            ctx.b.emit(before, [], group(pair))
        ctx.b.emit("UTMACCTL" + what, [], group(pair))

    each_pair(ctx, ctx.lo(table), ctx.hi(table), body)
