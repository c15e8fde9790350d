"""tcgen05.alloc, dealloc and relinquish_alloc_permit: UTCATOMSWS and the blocks' record of what is allocated.

The code is that of ptxas 13.0.88.  32 bytes of the system's part of shared memory (``__nv_reservedSMEM_tcgen05_partition``,
which the driver initialises) hold, by byte: 8 a barrier object and 16 its parity, with which the two blocks of a pair
allocate in turns; 20 the mask of allocated units of 32 columns; 24 the mask of first units of allocations; 28 whether the
permit to allocate was given up.  Misuse traps.
"""

from typing import Final

from orias.isa.operand import K_NONE, K_P, K_UP, K_UR, NOT_PT, PT, RZ, URZ, Opnd, imm, sb, word
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.tcgen05 import pair_suffix, uniform
from orias.lower.memory.mbarrier import object_address
from orias.ptx.ast import Instr
from orias.target.driver import TENSOR_PARTITION

_BARRIER: Final = 8
_PARITY: Final = 16
_UNITS: Final = 20
_FIRST: Final = 24
_RELINQUISHED: Final = 28
_UNIT_SHIFT: Final = 5
"""A unit has 32 columns."""
_ALL: Final = 0xFFFFFFFF
_RETRY: Final = 100
"""Nanoseconds between two attempts to allocate."""
_STATES: Final = 0x80
"""Operand of UVIRTCOUNT in ptxas's code."""
_PENDING_COPIES: Final = 54
"""DEPBAR.LE before UTCATOMSWS in ptxas's code: a bound that never makes it wait."""
_BLOCK_BYTE: Final = 0x654
"""PRMT: the low three bytes of an address, with the block's number above."""
_WORD_BYTES: Final = 4


def _warpsync(ctx: Ctx) -> None:
    ctx.b.emit("WARPSYNC", [], [imm(_ALL)])


def _partition(ctx: Ctx) -> tuple[Opnd, Opnd]:
    """(number of the block in its cluster, address of the record)."""
    block = ctx.b.r("S2R", word("SR_CgaCtaId"))
    place = imm(ctx.target.number("tensor_partition"))
    if ctx.options.linked:
        place = ctx.b.copy(ctx.fn.sym(TENSOR_PARTITION, "abs32"))
    return block, ctx.b.r("LEA", block, place, imm(24))


def _at(base: Opnd, offset: int = 0) -> list[Opnd]:
    return [K_NONE, base, URZ, imm(offset)]


def _elected(ctx: Ctx) -> Opnd:
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("ELECT", [URZ, p], [PT])
    return p


def _equal(ctx: Ctx, a: Opnd, b: Opnd) -> Opnd:
    return ctx.b.setp("ISETP.EQ.U32.AND", a, b, PT)


def _trap_unless(ctx: Ctx, p: Opnd) -> None:
    """Trap in threads where `p` is false."""
    wrong, right = ctx.new_block(), ctx.new_block()
    ctx.branch(p, right, wrong)
    wrong.cold = True
    ctx.start(wrong)
    ctx.b.emit("BPT.TRAP", [], [imm(1)])
    ctx.jump(right)
    ctx.start(right)


def _masks(ctx: Ctx, units: Opnd, first: Opnd) -> tuple[Opnd, Opnd]:
    """(mask of `units` units from `first` on, mask of the first one)."""
    ones = ctx.b.r("SHF.L.U32", ctx.b.copy(imm(_ALL)), units, RZ)
    ones = ctx.b.r("LOP3.LUT", RZ, ones, RZ, imm(0x33), NOT_PT)
    return ctx.b.r("SHF.L.U32", ones, first, RZ), ctx.b.r("SHF.L.U32", ctx.b.copy(imm(1)), first, RZ)


def _find(ctx: Ctx, units: Opnd, pair: str) -> Opnd:
    """Allocate units, waiting until they are free; the number of the first one."""
    found = ctx.temp()
    loop, wait, done = ctx.new_block(), ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    wanted = uniform(ctx, units)
    ctx.b.emit("DEPBAR.LE", [], [sb(0), imm(_PENDING_COPIES)])
    up, u = ctx.fn.new_vreg(K_UP), ctx.fn.new_vreg(K_UR)
    # Other warps give units back: no thread of this one is waited for.
    ctx.fn.retries.add(ctx.b.emit(f"UTCATOMSWS{pair}.FIND_AND_SET.ALIGN", [u, up], [wanted]).uid)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("copy", [p], [up])
    ctx.set(found, ctx.b.copy(u))
    ctx.branch(p, done, wait)
    ctx.start(wait)
    ctx.b.emit(ctx.target.spelling("sleep"), [], [imm(_RETRY)])
    ctx.jump(loop)
    ctx.seal(loop)
    ctx.start(done)
    return ctx.get(found)


def _record(ctx: Ctx, base: Opnd, units: Opnd, first: Opnd, slot: list[Opnd]) -> None:
    """Note an allocation, and store its address in the slot."""
    mask, bit = _masks(ctx, units, first)
    ctx.b.emit("STS", [], [*slot, ctx.b.r("SHF.L.U32", first, imm(_UNIT_SHIFT), RZ)])
    ctx.b.emit("ATOMS.OR", [RZ], [*_at(base, _UNITS), mask])
    ctx.b.emit("ATOMS.OR", [RZ], [*_at(base, _FIRST), bit])


def _await_turn(ctx: Ctx, base: Opnd) -> None:
    """Wait until the other block of the pair has done its part."""
    phase = ctx.b.r("SHF.L.U32", ctx.b.r("LDS", *_at(base, _PARITY)), imm(31), RZ)
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    p = ctx.fn.new_vreg(K_P)
    ctx.fn.retries.add(ctx.b.emit("SYNCS.PHASECHK.TRANS64.TRYWAIT", [p], [*_at(base, _BARRIER), phase]).uid)
    ctx.branch(p, done, loop)
    ctx.seal(loop)
    ctx.start(done)
    ctx.b.emit("fence", [], [])


def _end_turn(ctx: Ctx, base: Opnd) -> None:
    ctx.b.emit("ATOMS.XOR", [RZ], [*_at(base, _PARITY), ctx.b.copy(imm(1))])


def _allocate_pair(ctx: Ctx, block: Opnd, base: Opnd, units: Opnd, slot: list[Opnd]) -> None:
    """Allocate for both blocks of a pair: the even one allocates and sends the odd one the number of the first unit."""
    odd = ctx.b.r("LOP3.LUT", block, imm(1), RZ, imm(0xC0), NOT_PT)
    other = ctx.b.r("LOP3.LUT", block, imm(1), RZ, imm(0x3C), NOT_PT)
    barrier = ctx.b.r("PRMT", other, imm(_BLOCK_BYTE), ctx.b.r("IADD3", base, imm(_BARRIER), RZ))
    first_block, second_block, join = ctx.new_block(), ctx.new_block(), ctx.new_block()
    ctx.branch(_equal(ctx, odd, imm(1)), second_block, first_block)
    ctx.start(first_block)
    first = _find(ctx, units, ".2CTA")
    _await_turn(ctx, base)
    ctx.b.emit("SYNCS.ARRIVE.TRANS64.RED", [RZ], [*_at(barrier), ctx.b.copy(imm(_WORD_BYTES))])
    there = slot[1] if slot[3] == imm(0) else ctx.b.r("IADD3", slot[1], slot[3], RZ)
    there = ctx.b.pack(ctx.b.r("PRMT", other, imm(_BLOCK_BYTE), there), barrier)
    _record(ctx, base, units, first, slot)
    ctx.b.emit("STAS", [], [K_NONE, there, URZ, imm(0), first])
    _end_turn(ctx, base)
    ctx.jump(join)
    ctx.start(second_block)
    _await_turn(ctx, base)
    _record(ctx, base, units, ctx.b.r("LDS", *slot), slot)
    ctx.b.emit("SYNCS.ARRIVE.TRANS64.RED.A1T0", [RZ], [*_at(barrier), RZ])
    _end_turn(ctx, base)
    ctx.jump(join)
    ctx.start(join)


@lowers("tcgen05.alloc", types="any,int")
def lower_alloc(ctx: Ctx, i: Instr) -> None:
    """tcgen05.alloc: one thread allocates and stores the address."""
    ctx.begin_guarded()
    columns = ctx.src(i.ops[1], "u32")
    slot = object_address(ctx, i, i.ops[0])
    units = ctx.b.r("SHF.R.U32.HI", RZ, imm(_UNIT_SHIFT), columns)
    block, base = _partition(ctx)
    _warpsync(ctx)
    _trap_unless(ctx, _equal(ctx, ctx.b.r("LDS.U8", *_at(base, _RELINQUISHED)), RZ))
    chosen, join = ctx.new_block(), ctx.new_block()
    ctx.branch(_elected(ctx), chosen, join)
    ctx.start(chosen)
    if pair_suffix(i):
        _allocate_pair(ctx, block, base, units, slot)
    else:
        _record(ctx, base, units, _find(ctx, units, ""), slot)
    ctx.jump(join)
    ctx.start(join)
    _warpsync(ctx)
    ctx.end_guarded()


@lowers("tcgen05.dealloc", types="any,int")
def lower_dealloc(ctx: Ctx, i: Instr) -> None:
    """tcgen05.dealloc."""
    ctx.begin_guarded()
    columns = ctx.src(i.ops[1], "u32")
    units = ctx.b.r("SHF.R.U32.HI", RZ, imm(_UNIT_SHIFT), columns)
    column = ctx.b.r("LOP3.LUT", ctx.src(i.ops[0], "b32"), imm(0xFFFF), RZ, imm(0xC0), NOT_PT)
    mask, bit = _masks(ctx, units, ctx.b.r("SHF.R.U32.HI", RZ, imm(_UNIT_SHIFT), column))
    _, base = _partition(ctx)
    _warpsync(ctx)
    for offset, wanted in ((_UNITS, mask), (_FIRST, bit)):
        have = ctx.b.r("LOP3.LUT", ctx.b.r("LDS", *_at(base, offset)), wanted, RZ, imm(0xC0), NOT_PT)
        _trap_unless(ctx, _equal(ctx, have, wanted))
    rest = ctx.b.r("LOP3.LUT", RZ, mask, RZ, imm(0x33), NOT_PT)
    kept = ctx.b.r("LOP3.LUT", RZ, bit, RZ, imm(0x33), NOT_PT)
    _warpsync(ctx)
    ctx.b.emit("UTCATOMSWS.AND", [URZ], [uniform(ctx, rest)])
    p = _elected(ctx)
    ctx.b.emit("ATOMS.AND", [RZ], [*_at(base, _UNITS), rest], p)
    ctx.b.emit("ATOMS.AND", [RZ], [*_at(base, _FIRST), kept], p)
    _warpsync(ctx)
    ctx.end_guarded()


@lowers("tcgen05.relinquish_alloc_permit", types="any")
def lower_relinquish(ctx: Ctx, i: Instr) -> None:
    """tcgen05.relinquish_alloc_permit."""
    ctx.begin_guarded()
    _, base = _partition(ctx)
    _warpsync(ctx)
    ctx.b.emit("UVIRTCOUNT.DEALLOC.SMPOOL", [], [imm(_STATES)])
    ctx.b.emit("STS.U8", [], [*_at(base, _RELINQUISHED), ctx.b.copy(imm(1))], _elected(ctx))
    ctx.end_guarded()
