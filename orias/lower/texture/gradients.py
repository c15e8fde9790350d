"""tex.grad in forms that TXD lacks: 3d and cube textures, and depth comparisons.

Forms of ptxas 13.0.88.  From sm_90 on the driver has a function for each form.  Up to sm_89 the quad samples once for
each of its four lanes, at the ends of that lane's gradients, and the hardware derives the level of detail from them
(``quadtex``, which :mod:`orias.schedule.texture_quads` expands).
"""

from typing import Final

from orias.isa.operand import K_NONE, PT, RZ, Opnd, imm, is_reg, r
from orias.lower.frame import params
from orias.lower.frame.context import Ctx
from orias.lower.memory.memory_operands import elements
from orias.lower.texture.handles import demand_samplers, handle_value
from orias.ori.ir import OP_COPY, CallInfo
from orias.ptx.ast import O_PAIR, O_VEC, TYPE_BITS, Instr, Operand
from orias.target import abi, driver

_VECTOR: Final = 16
"""Bytes of a vector argument, for every element type."""
_TEXELS: Final = "32"
"""Bytes of the result: whether the texels are resident, and the components."""
_RESULT: Final = abi.ARG_FIRST + 1
"""First register of the components; the register before it says whether the texels are resident."""
_COUNT: Final[dict[str, int]] = {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2, "3d": 3, "cube": 3, "acube": 3}


class _Parts:
    """The operands of a tex.grad."""

    __slots__ = ("coords", "depth", "offsets", "sampler", "steps", "texture")

    def __init__(self, i: Instr) -> None:
        where = i.ops[1]
        rest = list(i.ops[4:])
        self.texture: Operand = where
        self.sampler: Operand | None = where.elems[0] if len(where.elems) == 2 else None
        self.coords: Operand = where.elems[-1]
        self.steps: list[Operand] = list(i.ops[2:4])
        self.offsets: Operand | None = rest.pop(0) if rest and rest[0].kind == O_VEC else None
        self.depth: Operand | None = rest.pop(0) if rest else None


def plain(i: Instr) -> bool:
    """True for the forms that TXD supports."""
    return i.sig.mods.get("dim") in ("1d", "2d", "a1d", "a2d") and _Parts(i).depth is None


def _sizes(p: _Parts) -> list[tuple[int, int]]:
    """Size and alignment of each argument of the driver's function."""
    vectors = 3 + (p.offsets is not None)
    return [(8, 8)] * (1 + (p.sampler is not None)) + [(_VECTOR, _VECTOR)] * vectors + [(4, 4)] * (p.depth is not None)


def _places(p: _Parts) -> tuple[list[abi.Place], int]:
    return abi.arguments(_sizes(p))


def outgoing_bytes(i: Instr) -> int:
    """Stack bytes that the arguments of the driver's function need."""
    return _places(_Parts(i))[1]


def syscall_name(i: Instr) -> str:
    """Name of the driver's function for a form."""
    p = _Parts(i)
    type_ = i.sig.types[-2].replace("f16x2", "f16")
    pred = "pred_" if i.ops[0].kind == O_PAIR else ""
    name = f"{driver.GRADIENTS}{pred}{i.sig.mods['dim']}_v4_{type_}_f32"
    name += "_texmode_independent" * (p.sampler is not None)
    return name + "_offset" * (p.offsets is not None) + "_depth_compare" * (p.depth is not None)


def lower_syscall(ctx: Ctx, i: Instr) -> None:
    """Lower to a call of the driver's function."""
    demand_samplers(ctx, i)
    p = _Parts(i)
    ctx.begin_guarded()
    count = _COUNT[i.sig.mods["dim"]]
    values: list[list[Opnd]] = [_pair(ctx, handle_value(ctx, i, p.texture))]
    if p.sampler is not None:
        values.append(_pair(ctx, handle_value(ctx, i, p.sampler)))
    coords = [ctx.src(e, "b32") for e in elements(p.coords)]
    values.append(coords[: count + i.sig.mods["dim"].startswith("a")])
    values.extend([ctx.src(e, "f32") for e in elements(o)][:count] for o in p.steps)
    if p.offsets is not None:
        values.append([ctx.src(e, "b32") for e in elements(p.offsets)][:count])
    if p.depth is not None:
        values.append([ctx.src(p.depth, "b32")])
    where, _ = _places(p)
    moves: list[tuple[int, Opnd]] = []
    for place, words in zip(where, values, strict=True):
        if place.reg >= 0:
            moves.extend((place.reg + k, w) for k, w in enumerate(words))
        else:
            params.write_memory(ctx, params.outgoing_memory(ctx, place.stack), [_word(ctx, w) for w in words])
    name = syscall_name(i)
    sizes = {8: "u64", _VECTOR: str(_VECTOR), 4: "u32"}
    address = ctx.driver_function(name, _TEXELS, [sizes[size] for size, _ in _sizes(p)])
    for n, w in moves:
        ctx.b.emit_op(OP_COPY, [r(n)], [w])
    src = [r(n) for n, _ in moves]
    if address != K_NONE:
        src.append(address)
    results = [r(n) for n in range(abi.ARG_FIRST, _RESULT + 4)]
    call = ctx.b.emit("call", list(results), src)
    kind = ctx.options.extern_call
    ctx.fn.calls[call.uid] = CallInfo(
        name, kind, abi.SCRATCH_R, abi.SCRATCH_P, abi.SCRATCH_UR, abi.SCRATCH_UP, abi.SCRATCH_B
    )
    got = [ctx.b.copy(o) for o in results]
    dst = i.ops[0]
    if dst.kind == O_PAIR:
        ctx.write_pred(dst.elems[1], ctx.b.setp("ISETP.NE.U32.AND", got[0], RZ, PT))
        dst = dst.elems[0]
    for k, e in enumerate(elements(dst)):
        word = got[1 + k]
        if TYPE_BITS[i.sig.types[-2]] == 16:
            word = got[1 + k // 2] if k % 2 == 0 else ctx.b.r("PRMT", got[1 + k // 2], imm(0x7732), RZ)
        ctx.write(e, word)
    ctx.end_guarded()


def _pair(ctx: Ctx, value: Opnd) -> list[Opnd]:
    return [ctx.lo(value), ctx.hi(value)]


def _word(ctx: Ctx, value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)
