"""wgmma: HGMMA, IGMMA, QGMMA, BGMMA, and WARPGROUP.ARRIVE and WARPGROUP.DEPBAR around them.

Names, operands and the mapping of fence, commit and wait come from code of ptxas 13.0.88 for sm_90a.  The registers of
the accumulator stay single words here (lists in D and C); the allocator makes them neighbours.
"""

from typing import Final

from orias.isa.gmma_forms import GROUP, commits
from orias.isa.op import F_CALL, F_WGMMA
from orias.isa.operand import K_R, K_UP, K_UR, NEG, NOT_UPT, PT, RZ, URZ, Opnd, imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.warp_matrix import fragment
from orias.lower.memory.memory_operands import elements
from orias.ptx.ast import O_IMM, O_VEC, Instr, Operand

_MAX_GROUPS: Final = 7
"""Largest group count in the field of WARPGROUP.DEPBAR.LE."""
_HALF: Final[dict[str, str]] = {"f16": "", "bf16": ".BF16", "tf32": ".TF32"}


@lowers("wgmma.fence", types="any")
def lower_fence(ctx: Ctx, i: Instr) -> None:
    """wgmma.fence: waits for the warpgroup's earlier register accesses; WARPSYNC first, for the warp may have diverged."""
    ctx.begin_guarded()
    ctx.b.emit("WARPSYNC", [], [imm(0xFFFFFFFF)])
    ctx.b.emit("WARPGROUP.ARRIVE", [], [])
    ctx.end_guarded()


@lowers("wgmma.wait_group", types="any")
def lower_wait_group(ctx: Ctx, i: Instr) -> None:
    """wgmma.wait_group n."""
    ctx.begin_guarded()
    ctx.b.emit("WARPGROUP.DEPBAR.LE", [], [GROUP, imm(min(i.ops[0].value, _MAX_GROUPS))])
    ctx.end_guarded()


@lowers("wgmma.commit_group", types="any")
def lower_commit_group(ctx: Ctx, i: Instr) -> None:
    """wgmma.commit_group: a mark on the last operation of the group.

    A group without an operation gets one that computes nothing.  At -O0 every group gets one, as in ptxas's code, and
    so does a group whose last operation is before a call.
    """
    if ctx.guard == PT and ctx.options.opt_level:
        for inst in reversed(ctx.b.block.insts):
            if inst.op.flags & F_WGMMA:
                if not commits(inst.src):
                    inst.src.append(GROUP)
                    return
                break
            if inst.op.base == "WARPGROUP" or inst.op.flags & F_CALL:
                break
    ctx.begin_guarded()
    ctx.b.emit("HGMMA.64x8x16.F16", [RZ], [URZ, RZ, NOT_UPT, GROUP])
    ctx.end_guarded()


def _name(i: Instr, from_registers: bool, flags: list[int]) -> str:
    """The SASS name.  `flags`: negate A, negate B, transpose A, transpose B."""
    mods = i.sig.mods
    dtype, atype, btype = i.sig.types
    n, k = mods["shape"][4:].split("k")
    shape = f"{'SP.' if 'sp' in mods else ''}64x{n}x{k}"
    if atype in _HALF:
        name = f"HGMMA.{shape}.{dtype.upper()}{_HALF[atype]}"
    elif atype in ("e4m3", "e5m2"):
        name = f"QGMMA.{shape}.{dtype.upper()}.{atype.upper()}.{btype.upper()}"
    elif atype == "b1":
        name = f"BGMMA.{shape}.AND.POPC"
    else:
        name = f"IGMMA.{shape}.{atype.upper()}.{btype.upper()}{'.SAT' if 'satfinite' in mods else ''}"
    words = ("", ".negB", "", ".tnspB") if from_registers else (".negA", ".negB", ".tnspA", ".tnspB")
    return name + "".join(w for w, on in zip(words, flags, strict=True) if on)


def _descriptor(ctx: Ctx, *ops: Operand) -> Opnd:
    """A uniform quad of matrix descriptors: A's and B's, or B's alone in the upper half."""
    d = ctx.fn.new_vreg(K_UR, 4)
    words: list[Opnd] = []
    if len(ops) == 1:
        words.append(ctx.fn.new_vreg(K_UR, 2))
        ctx.b.emit("undef", list(words), [])
    for o in ops:
        value = ctx.src(o, "b64")
        words += [ctx.lo(value), ctx.hi(value)]
    ctx.b.emit("pack", [d], words)
    return d


def _scale(ctx: Ctx, o: Operand) -> Opnd:
    """The uniform predicate that keeps the accumulator: NOT_UPT if it is a known false, PT if a known true."""
    if o.kind == O_IMM:
        return PT if o.value else NOT_UPT
    p = ctx.pred_src(o)
    d = ctx.fn.new_vreg(K_UP)
    inst = ctx.b.emit("VOTEU.ANY", [d], [p])
    inst.loc = 0
    return d


@lowers("wgmma.mma_async", types="any")
def lower_mma_async(ctx: Ctx, i: Instr) -> None:
    """wgmma.mma_async, dense and sparse."""
    ops = i.ops
    sparse = "sp" in i.sig.mods
    from_registers = ops[1].kind == O_VEC
    at = 5 if sparse else 3
    tail = [o.value for o in ops[at + 1 :]]
    flags = [0, 0, 0, 0]
    if len(tail) >= 2:
        flags[0], flags[1] = int(tail[0] < 0), int(tail[1] < 0)
        flags[4 - len(tail[2:]) :] = tail[2:]
    ctx.begin_guarded()
    src: list[Opnd] = []
    if from_registers:
        a = fragment(ctx, ops[1], "b32")
        src = [a | NEG if flags[0] else a, _descriptor(ctx, ops[2])]
    else:
        src = [_descriptor(ctx, ops[1], ops[2])]
    keep = _scale(ctx, ops[at])
    dst_ops = elements(ops[0])
    if keep == NOT_UPT:
        src += [RZ, NOT_UPT]
    else:
        src += [ctx.src(e, "b32") for e in dst_ops]
        if keep != PT:
            src.append(keep)
    if sparse:
        src.append(ctx.src(ops[3], "b32"))
        if i.sig.types[1] in _HALF:
            src.append(imm(ops[4].value))
    dst = [ctx.fn.new_vreg(K_R) for _ in dst_ops]
    ctx.b.emit(_name(i, from_registers, flags), list(dst), src)
    for o, d in zip(dst_ops, dst, strict=True):
        ctx.write(o, d)
    ctx.end_guarded()
