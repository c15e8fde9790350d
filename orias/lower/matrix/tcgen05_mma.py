"""tcgen05.mma: products whose sums are in tensor memory.

Forms of ptxas 13.0.88 for sm_100a, sm_103a and sm_110a.  All operands are uniform registers: two words for a descriptor of
a matrix in shared memory and one for an address in tensor memory, then the address of the sums, the address of the
sparsity metadata (zero for a dense product) next to the instruction descriptor, and what the form has besides: addresses
of the scales, lanes to leave alone, columns that are zero.  The product takes the type of its elements from the
descriptor, so one operation serves several kinds.
"""

from typing import Final

from orias.isa.operand import INV, K_UP, NOT_PT, PT, RZ, UPT, URZ, Opnd, imm, with_word_lane
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.tcgen05 import pair_suffix, whole_address
from orias.lower.memory.lane_loops import Pick, each_thread, pack_uniform
from orias.lower.memory.memory_operands import elements
from orias.ptx.ast import O_ADDR, O_IMM, O_VEC, Instr, Operand

_BASES: Final[dict[str, str]] = {
    "kind::f16": "UTCHMMA", "kind::tf32": "UTCHMMA", "kind::i8": "UTCIMMA", "kind::f8f6f4": "UTCQMMA",
    "kind::mxf8f6f4": "UTCQMMA", "kind::mxf4": "UTCOMMA", "kind::mxf4nvf4": "UTCOMMA",
}  # fmt: skip
_USES: Final[dict[str, tuple[str, ...]]] = {
    "fill": ("KEEP",), "use": ("REUSE", "KEEP"), "lastuse": ("REUSE",), "discard": (),
}  # fmt: skip
"""What happens to the buffer of a multiplicand: it is read from it, and kept in it."""


@lowers("tcgen05.mma", "tcgen05.mma.ws", types="any")
def lower_product(ctx: Ctx, i: Instr) -> None:
    """tcgen05.mma and tcgen05.mma.ws, dense and sparse, with and without scales."""
    ctx.begin_guarded()
    rest = list(i.ops[3:])
    sums = whole_address(ctx, i.ops[0])
    first = _multiplicand(ctx, i.ops[1])
    second = _multiplicand(ctx, i.ops[2])
    metadata = whole_address(ctx, rest.pop(0)) if "sp" in i.sig.mods else RZ
    shape = ctx.src(rest.pop(0), "b32")
    scales = [whole_address(ctx, rest.pop(0)) for _ in range(2)] if "block_scale" in i.sig.mods else []
    lanes = [ctx.src(o, "b32") for o in elements(rest.pop(0))] if rest[0].kind == O_VEC else []
    adds = _flag(ctx, rest.pop(0))
    columns: list[Opnd] = []
    scale_d: list[Opnd] = []
    if rest and i.sig.name == "tcgen05.mma.ws":
        mask = ctx.src(rest.pop(0), "b64")
        columns = [ctx.lo(mask), ctx.hi(mask)]
    elif rest:
        scale_d = [imm(rest.pop(0).value)]
    name = _name(ctx, i, len(first) == 1, bool(scales))

    def start(pick: Pick) -> None:
        both = pack_uniform(ctx, pick(metadata), pick(shape))
        src = [_picked(ctx, pick, first), _picked(ctx, pick, second), pick(sums)]
        src += [with_word_lane(both, 0), with_word_lane(both, 1)]
        more = [*scales, *lanes, *columns]
        if more:
            src.append(_picked(ctx, pick, more))
        ctx.b.emit(name, [], [*src, _uniform_flag(ctx, pick, adds), *scale_d])

    each_thread(ctx, start)
    ctx.end_guarded()


def _multiplicand(ctx: Ctx, o: Operand) -> list[Opnd]:
    """The words of a descriptor, or the address of a matrix in tensor memory."""
    if o.kind == O_ADDR:
        return [whole_address(ctx, o)]
    value = ctx.src(o, "b64")
    return [ctx.lo(value), ctx.hi(value)]


def _flag(ctx: Ctx, o: Operand) -> Opnd:
    """The predicate of a product that adds to the sums: PT, its complement, or a word that is not 0."""
    if o.kind == O_IMM:
        return PT if o.value else NOT_PT
    value = ctx.src(o, "pred")
    return value if value in (PT, NOT_PT) else ctx.b.r("SEL", imm(1), RZ, value)


def _uniform_flag(ctx: Ctx, pick: Pick, flag: Opnd) -> Opnd:
    if flag in (PT, NOT_PT):
        return UPT if flag == PT else UPT | INV
    d = ctx.fn.new_vreg(K_UP)
    ctx.b.emit("UISETP.NE.U32.AND", [d, UPT], [pick(flag), URZ, UPT])
    return d


def _picked(ctx: Ctx, pick: Pick, words: list[Opnd]) -> Opnd:
    """Words of the elected thread as one operand."""
    parts = [pick(w) for w in words]
    return parts[0] if len(parts) == 1 else pack_uniform(ctx, *parts)


def _name(ctx: Ctx, i: Instr, in_tensor_memory: bool, scaled: bool) -> str:
    """The operation; ``g`` and ``t`` in its name say where its operands are, ``i`` is the instruction descriptor."""
    mods = i.sig.mods
    parts = [_BASES[mods["kind"]] + pair_suffix(i)]
    if i.sig.name == "tcgen05.mma.ws":
        parts.append("WS")
    if mods["kind"] == "kind::mxf4nvf4" and mods["scale_vec"] in ("scale_vec::4X", "block16"):
        parts.append(ctx.target.spelling("scales_of_16"))
    if "ashift" in mods:
        parts.append("ASHIFT")
    parts.append(("t" if in_tensor_memory else "g") + "gtti" + ("t" if scaled else ""))
    buffer, _, use = mods.get("collector_a", mods.get("collector_b", "")).removeprefix("collector::").partition("::")
    parts += [f"{buffer[0].upper()}_{what}" for what in _USES.get(use, ())]
    if buffer[1:] not in ("", "0"):
        parts.append("BUFFER" + buffer[1:])
    return ".".join(parts)
