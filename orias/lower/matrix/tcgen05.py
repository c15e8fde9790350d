"""tcgen05 without its products: loads and stores of tensor memory, copies to it, shifts, commit, waits and fences.

Forms of ptxas 13.0.88 for sm_100a, sm_103a and sm_110a.  Loads and stores run once a warp, with the address in a uniform
register: LDTM and STTM, whose registers are one vector.  LDTM results arrive in the order of the loads, so ``wait::ld``
waits for the scoreboard of the last one, in a NOP.  Copies, shifts and commits run once a thread
(:func:`orias.lower.memory.lane_loops.each_thread`).  Allocation is in :mod:`orias.lower.matrix.tcgen05_alloc`.
"""

from typing import Final

from orias.isa.operand import (
    K_CONST,
    K_IMM,
    K_NONE,
    K_R,
    K_UR,
    NOT_PT,
    PT,
    RZ,
    URZ,
    Opnd,
    imm,
    imm64,
    imm_signed,
    is_reg,
    is_zero_reg,
    kind_of,
    with_word_lane,
)
from orias.isa.roles import HALVES, REDUCED_HALVES
from orias.lower.frame.context import Ctx
from orias.lower.frame.registers import base_register
from orias.lower.frame.registry import lowers
from orias.lower.memory.bulk import group
from orias.lower.memory.lane_loops import Pick, each_thread, pack_uniform, uniform_copy
from orias.lower.memory.mbarrier import object_address
from orias.lower.memory.memory_operands import elements
from orias.ptx.ast import O_SINK, Instr, Operand

_PER: Final[dict[str, int]] = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Registers of a thread for one repetition of a shape."""
_SHAPES: Final[dict[str, str]] = {
    "32x32b": "",
    "16x64b": ".16dp64bit",
    "16x128b": ".16dp128bit",
    "16x256b": ".16dp256bit",
}
_COPIES: Final[dict[tuple[str, str], str]] = {
    ("128x256b", ""): "", ("4x256b", ""): ".4dp256bit", ("128x128b", ""): ".128dp128bit",
    ("64x128b", "warpx2::02_13"): ".2x64dp128bit_lw02_lw13", ("64x128b", "warpx2::01_23"): ".2x64dp128bit_lw01_lw23",
    ("32x128b", "warpx4"): ".4x32dp128bit",
}  # fmt: skip
_UNPACKED: Final[dict[tuple[str, ...], str]] = {
    (): "", ("b8x16", "b6x16_p32"): ".U6x16P32", ("b8x16", "b4x16_p64"): ".U4x16P64",
}  # fmt: skip


def pair_suffix(i: Instr) -> str:
    """``.2CTA`` for an operation of a pair of blocks."""
    return ".2CTA" if i.sig.mods.get("cta_group") == "cta_group::2" else ""


def uniform(ctx: Ctx, value: Opnd) -> Opnd:
    """A uniform register with a word that is the same in all threads of the warp."""
    if is_zero_reg(value) or kind_of(value) in (K_IMM, K_CONST):
        return uniform_copy(ctx, value)
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit("R2UR", [u], [value])
    return u


def tensor_address(ctx: Ctx, o: Operand) -> tuple[Opnd, int]:
    """(word, offset) of an address in tensor memory."""
    if o.var is None:
        return RZ, o.value
    if o.var.space != "reg":
        raise ctx.unsupported("a variable as address in tensor memory")
    return ctx.src(base_register(o), "b32"), o.value


def whole_address(ctx: Ctx, o: Operand) -> Opnd:
    """An address in tensor memory as one word."""
    at, offset = tensor_address(ctx, o)
    return ctx.b.r("IADD3", at, imm(offset), RZ) if offset else at


def _place(at: Opnd, offset: int) -> list[Opnd]:
    """The operands of ``tmem[UR+offset]``; the field of the offset has a sign."""
    signed = imm_signed(imm(offset))
    return [at, imm64(signed)] if signed else [at]


def _accesses(ctx: Ctx, i: Instr, o: Operand, half: list[Operand]) -> list[tuple[str, list[Opnd]]]:
    """(shape and repetitions, address) of each operation that a load or store becomes."""
    value, offset = tensor_address(ctx, o)
    at = uniform(ctx, value)
    count = "" if i.sig.mods["num"] == "x1" else f".{i.sig.mods['num']}"
    if i.sig.mods["shape"] != "16x32bx2":
        return [(_SHAPES[i.sig.mods["shape"]] + count, _place(at, offset))]
    return [
        (f".{HALVES[0]}{count}", _place(at, offset)),
        (f".{HALVES[1]}{count}", _place(at, offset + half[0].value)),
    ]


def _size(ctx: Ctx, i: Instr, registers: list[Operand]) -> int:
    """Number of registers; an error unless the operand has that many."""
    size = _PER[i.sig.mods["shape"]] * int(i.sig.mods["num"][1:])
    if len(registers) != size:
        raise ctx.unsupported(f"'{i.sig.text}' with {len(registers)} registers")
    return size


def _spread(ctx: Ctx, registers: list[Operand], d: Opnd, size: int) -> None:
    for k, o in enumerate(registers):
        if o.kind != O_SINK:
            ctx.write(o, with_word_lane(d, k) if size > 1 else d)


@lowers("tcgen05.ld", types="any,f32,int")
def lower_load(ctx: Ctx, i: Instr) -> None:
    """tcgen05.ld and tcgen05.ld.red."""
    ctx.begin_guarded()
    registers = elements(i.ops[0])
    size = _size(ctx, i, registers)
    if "red" in i.sig.mods:
        _load_reduced(ctx, i, registers, size)
    else:
        d: Opnd = K_NONE
        for shape, place in _accesses(ctx, i, i.ops[1], i.ops[2:]):
            old, d = d, ctx.fn.new_vreg(K_R, size)
            ctx.b.emit("LDTM" + shape + (".PACK16BIT" if "pack::16b" in i.sig.mods else ""), [d], place, PT, old)
        _spread(ctx, registers, d, size)
    ctx.end_guarded()


def _load_reduced(ctx: Ctx, i: Instr, registers: list[Operand], size: int) -> None:
    """LDTM.STAT; the halves of 16x32bx2 have the same registers, each those of its threads."""
    mods = i.sig.mods
    tail = f".{mods['op'].upper()}{'ABS' if 'abs' in mods else ''}"
    tail += {"u32": "", "s32": ".S32", "f32": ".F32"}[i.sig.types[0]] + (".NAN" if "NaN" in mods else "")
    stat, d = ctx.fn.new_vreg(K_R), ctx.fn.new_vreg(K_R, size)
    count = "" if mods["num"] == "x1" else f".{mods['num']}"
    value, offset = tensor_address(ctx, i.ops[2])
    at = uniform(ctx, value)
    if mods["shape"] == "16x32bx2":
        offsets = (offset, offset + i.ops[3].value)
        ctx.b.emit(REDUCED_HALVES + count + tail, [stat, d], [at, *(imm64(imm_signed(imm(o))) for o in offsets)])
    else:
        ctx.b.emit("LDTM.STAT" + _SHAPES[mods["shape"]] + count + tail, [stat, d], _place(at, offset))
    if i.ops[1].kind != O_SINK:
        ctx.write(i.ops[1], stat)
    _spread(ctx, registers, d, size)


@lowers("tcgen05.st", types="any,int")
def lower_store(ctx: Ctx, i: Instr) -> None:
    """tcgen05.st."""
    ctx.begin_guarded()
    registers = elements(i.ops[-1])
    size = _size(ctx, i, registers)
    parts = [ctx.src(o, "b32") for o in registers]
    value = ctx.b.pack(*parts) if size > 1 else parts[0] if is_reg(parts[0]) else ctx.b.copy(parts[0])
    for shape, place in _accesses(ctx, i, i.ops[0], i.ops[1:-1]):
        ctx.b.emit("STTM" + shape + (".EXPAND16BIT" if "unpack::16b" in i.sig.mods else ""), [], [*place, value])
    ctx.end_guarded()


@lowers("tcgen05.wait::ld", "tcgen05.fence::before_thread_sync", types="any")
def lower_wait_load(ctx: Ctx, i: Instr) -> None:
    """Waits for the loads: a NOP, which has their scoreboards in its wait mask."""
    ctx.b.emit("NOP", [], [])


@lowers("tcgen05.wait::st", types="any")
def lower_wait_store(ctx: Ctx, i: Instr) -> None:
    """Waits for the stores: FENCE.VIEW.ASYNC.T, and a NOP that waits for it."""
    ctx.begin_guarded()
    ctx.b.emit("FENCE.VIEW.ASYNC.T", [], [])
    ctx.b.emit("NOP", [], [])
    ctx.end_guarded()


@lowers("tcgen05.fence::after_thread_sync", types="any")
def lower_fence_after(ctx: Ctx, i: Instr) -> None:
    """Nothing that follows moves before it; no instruction."""
    ctx.b.emit("fence", [], [])


@lowers("tcgen05.cp", types="any,int")
def lower_copy(ctx: Ctx, i: Instr) -> None:
    """tcgen05.cp: UTCCP with the address and the descriptor of the matrix in shared memory."""
    mods = i.sig.mods
    shape = _COPIES.get((mods.get("shape", ""), mods.get("warpx", "")))
    unpacked = _UNPACKED.get(i.sig.types)
    if shape is None or unpacked is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    name = f"UTCCP.T.S{pair_suffix(i)}{shape}{unpacked}.tg"
    ctx.begin_guarded()
    at = whole_address(ctx, i.ops[0])
    descriptor = ctx.src(i.ops[1], "b64")

    def copy(pick: Pick) -> None:
        source = pack_uniform(ctx, pick(ctx.lo(descriptor)), pick(ctx.hi(descriptor)))
        ctx.b.emit(name, [], [pick(at), source])

    each_thread(ctx, copy)
    ctx.end_guarded()


@lowers("tcgen05.shift", types="any")
def lower_shift(ctx: Ctx, i: Instr) -> None:
    """tcgen05.shift.down."""
    ctx.begin_guarded()
    at = whole_address(ctx, i.ops[0])

    def shift(pick: Pick) -> None:
        ctx.b.emit(f"UTCSHIFT{pair_suffix(i)}.DOWN.t", [], [pick(at)])

    each_thread(ctx, shift)
    ctx.end_guarded()


@lowers("tcgen05.commit", types="any,int")
def lower_commit(ctx: Ctx, i: Instr) -> None:
    """tcgen05.commit: UTCBAR, which arrives at a barrier object, or at one in each block of a mask."""
    multicast = "multicast" in i.sig.mods
    ctx.begin_guarded()
    where = object_address(ctx, i, i.ops[0])
    at = where[1]
    if where[3] != imm(0):
        at = ctx.b.r("IADD3", at, where[3], RZ)
    mask: Opnd = K_NONE
    if multicast:
        mask = ctx.src(i.ops[1], "b16")
        if is_reg(mask):
            mask = ctx.b.r("LOP3.LUT", mask, imm(0xFFFF), RZ, imm(0xC0), NOT_PT)
    name = f"UTCBAR{pair_suffix(i)}{'.MULTICAST' if multicast else ''}"

    def arrive(pick: Pick) -> None:
        src = [*group(pick(at)), URZ]
        ctx.b.emit(name, [], [*src, pick(mask)] if multicast else src)

    each_thread(ctx, arrive)
    ctx.end_guarded()
