"""Checks of memory accesses, for ``-sanitize memcheck``: a call of ``builtins/memcheck.ptx`` before each access.

The accesses are those that ptxas 13.0.88 checks: loads, stores and atomic operations of global, shared, local and generic
memory, and both sides of ``cp.async``; not textures, bulk copies, matrices in shared memory, barriers and prefetches.  The
tables, their places in constant bank 0 and what the bits mean: ``docs/facts/command-line.md``, "The tables of memcheck".
"""

from typing import Final

from orias.isa.op import F_READ, F_WRITE, Op
from orias.isa.operand import K_NONE, PT, RZ, URZ, Opnd, const, imm, imm64, imm_value
from orias.lower.frame.context import Ctx
from orias.lower.frame.special_registers import read_special
from orias.ori.ir import Block, Inst
from orias.target import features
from orias.target.profile import Target

_GENERIC: Final = 0
_GLOBAL: Final = 1
_SHARED: Final = 2
_LOCAL: Final = 3
_SPACES: Final[dict[str, int]] = {
    "LD": _GENERIC, "ST": _GENERIC, "ATOM": _GENERIC, "RED": _GENERIC,
    "LDG": _GLOBAL, "STG": _GLOBAL, "ATOMG": _GLOBAL, "REDG": _GLOBAL,
    "LDS": _SHARED, "STS": _SHARED, "ATOMS": _SHARED,
    "LDL": _LOCAL, "STL": _LOCAL,
}  # fmt: skip
_COPY: Final = "LDGSTS"
_ATOMIC: Final = ("ATOM", "RED")
_ARRIVAL: Final = "ARRIVE64"
"""Operations on barriers are not checked."""
_READS: Final = 1
_WRITES: Final = 2
_SYSTEM: Final = 4
_IN_L2: Final = 8
_NUMBER: Final = 32
"""The unit of an access's number, above the bits of its kind."""
_SPACE: Final = 0x100
_WINDOWED: Final = 0x10000
"""Shared addresses have the number of a block above 24 bits."""
_SIZES: Final[dict[str, int]] = {
    "U8": 1,
    "S8": 1,
    "U16": 2,
    "S16": 2,
    "64": 8,
    "F64": 8,
    "S64": 8,
    "128": 16,
    "256": 32,
}
_WORD: Final = 4


def checks_accesses(target: Target) -> bool:
    """Whether ptxas 13.0.88 checks accesses on a target: its routines are empty on sm_110 and for targets with a suffix."""
    return target.has_word("checked_tables") and not target.suffix


def put_checks(ctx: Ctx) -> None:
    """Put a check before each access of the function, which is lowered."""
    for b in ctx.fn.blocks:
        insts, b.insts = b.insts, []
        ctx.b.block = b
        for inst in insts:
            _check(ctx, b, inst)
            b.insts.append(inst)


def _check(ctx: Ctx, b: Block, inst: Inst) -> None:
    o = inst.op
    ctx.b.loc = inst.loc
    if o.base == _COPY:
        size = size_of(o)
        _call(ctx, inst, o.addr[1], _GLOBAL, size, _READS)
        _call(ctx, inst, o.addr[0], _SHARED, size, _WRITES | (_IN_L2 if o.has("BYPASS") else 0))
        return
    space = _SPACES.get(o.base, -1)
    if space < 0 or not o.addr or o.has(_ARRIVAL):
        return
    kind = (_READS if o.flags & F_READ or o.loads() else 0) | (_WRITES if o.flags & F_WRITE else 0)
    if o.base.startswith(_ATOMIC):
        kind = _READS | _WRITES | (_IN_L2 if space != _SHARED else 0) | (_SYSTEM if o.has("SYS") else 0)
    _call(ctx, inst, o.addr[0], space, size_of(o), kind)


def size_of(o: Op) -> int:
    """Bytes that an access touches: those of its last modifier that names a size."""
    size = _WORD
    for m in o.mods:
        size = _SIZES.get(m, size)
    return size


def _call(ctx: Ctx, inst: Inst, at: int, space: int, size: int, kind: int) -> None:
    """The call for the address group at source `at`."""
    e = ctx.b
    target = ctx.target
    ctx.module.accesses += 1
    windowed = target.has(features.CLUSTERS)
    limit: Opnd = imm(0)
    if space in (_GENERIC, _SHARED):
        limit = read_special(ctx, "aggr_smem_size", "") if windowed else const(0, target.word("checked_shared"))
    active: Opnd = imm(1) if inst.guard == PT else e.r("SEL", imm(1), RZ, inst.guard)
    place = e.r("LEPC", ctx.fn.sym(str(ctx.module.accesses), "ret_rel"), width=2) if windowed else e.r("LEPC", width=2)
    args = [
        place,
        _address(ctx, inst.src[at : at + 4], space),
        e.copy(const(0, target.word("checked_tables")), 2),
        imm(ctx.module.accesses * _NUMBER + kind),
        imm(size | space * _SPACE | (_WINDOWED if windowed else 0)),
        limit,
        ctx.frame(0) if space in (_GENERIC, _LOCAL) else imm(0),
        active,
    ]
    ctx.call_helper("memcheck", args, 0)


def _address(ctx: Ctx, group: list[Opnd], space: int) -> Opnd:
    """The address of an access in 64 bits; `group`: descriptor, base, uniform base, offset."""
    _, base, ubase, offset = group
    if ubase not in (URZ, K_NONE):
        raise ctx.unsupported("A check of an access at a uniform address")
    value = imm_value(offset)
    if space in (_SHARED, _LOCAL):
        return ctx.b.pack(ctx.b.r("IADD3", base, offset, RZ) if value else ctx.b.r("MOV", base), RZ)
    if base == RZ:
        return ctx.b.copy(imm64(value), 2)
    signed = value - (1 << 32) if value >> 31 else value
    return ctx.b.r("iadd64", base, imm64(signed), width=2) if value else ctx.b.copy(base, 2)
