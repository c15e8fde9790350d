"""cp.async without bulk, and its groups."""

from typing import Final

from orias.isa.operand import INV, NEG, NOT_PT, PT, RZ, Opnd, imm, imm_value, sb
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import address, hinted
from orias.ptx.ast import O_IMM, Instr

_SIZE: Final[dict[int, str]] = {4: "", 8: ".64", 16: ".128"}
_LTC: Final[dict[str, str]] = {"L2::64B": ".LTC64B", "L2::128B": ".LTC128B", "L2::256B": ".LTC256B"}


@lowers("cp.async", types="any")
def lower_cp_async(ctx: Ctx, i: Instr) -> None:
    """cp.async.ca/cg: LDGSTS; with a false predicate (ignore-src, or a source size of 0) it stores zeros.

    With ZFILL, for source sizes that are or may be smaller, the hardware reads the last bytes of the aligned block and
    fills the rest with zeros.  Like ptxas, the code adds (size - source size) modulo size to the source address.
    """
    mods = i.sig.mods
    assert i.ops[2].value in _SIZE
    size = i.ops[2].value
    extra = i.ops[3:-1] if "cache_hint" in mods else i.ops[3:]
    name = (
        "LDGSTS.E"
        + (".BYPASS" if mods.get("cop") == "cg" else "")
        + _LTC.get(mods.get("prefetch", ""), "")
        + _SIZE[size]
    )
    to = address(ctx, i.ops[0], "shared")
    fetch = hinted(ctx, i, address(ctx, i.ops[1], "global"))
    src: list[Opnd] = [*to, *fetch]
    if extra:
        o = extra[0]
        if o.var is not None and o.var.type == "pred":
            src.append(ctx.pred_src(o) ^ INV)
        elif o.kind == O_IMM:
            moved = (size - o.value) % size
            if moved:
                name += ".ZFILL"
            fetch[3] = imm(imm_value(fetch[3]) + moved)
            src = [*to, *fetch, PT if o.value else NOT_PT]
        else:
            name += ".ZFILL"
            count = ctx.src(o, "u32")
            some = ctx.b.setp("ISETP.NE.U32.AND", count, RZ, PT)
            skip = ctx.b.r("IADD3", count | NEG, imm(size), RZ)
            skip = ctx.b.r("LOP3.LUT", skip, imm(size - 1), RZ, imm(0xC0), NOT_PT)
            fetch[1] = ctx.b.r("iadd64", fetch[1], ctx.b.pack(skip, imm(0)), width=2)
            src = [*to, *fetch, some]
    ctx.b.emit(name, [], src, ctx.guard)


@lowers("cp.async.commit_group", types="any")
def lower_commit(ctx: Ctx, i: Instr) -> None:
    """cp.async.commit_group."""
    ctx.b.emit("LDGDEPBAR", [], [], ctx.guard)


def groups_left(count: int) -> int:
    """Field of DEPBAR.LE for a signed count: at most 63; a negative count gives its low six bits (as in ptxas 13.0.88)."""
    word = (count & 0xFFFFFFFF) - ((count & 0x80000000) << 1)
    return 63 if word > 63 else word & 63


@lowers("cp.async.wait_group", types="any")
def lower_wait_group(ctx: Ctx, i: Instr) -> None:
    """cp.async.wait_group n."""
    ctx.b.emit("DEPBAR.LE", [], [sb(0), imm(groups_left(i.ops[0].value))], ctx.guard)


@lowers("cp.async.wait_all", types="any")
def lower_wait_all(ctx: Ctx, i: Instr) -> None:
    """cp.async.wait_all: commit the open group, then wait for all groups."""
    ctx.b.emit("LDGDEPBAR", [], [], ctx.guard)
    ctx.b.emit("DEPBAR.LE", [], [sb(0), imm(0)], ctx.guard)
