"""Matrix instructions that are one SASS operation: ldmatrix, stmatrix, movmatrix, mma, mma.sp.

Names read off ptxas 13.0.88 on sm_75, 80, 89 and 90.  Refused: shapes the target has no instruction for (ptxas calls subroutines:
4-bit and xor-popc forms on sm_90, 8-bit floats before sm_89 and on sm_90, m8n8k4 of f16), and wmma.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import K_NONE, K_R, NEG, RZ, URZ, Opnd, const, imm, is_reg
from orias.lower.memory import address, elements, space_of, spread
from orias.lower.registry import lowers
from orias.ptx.ast import Instr, Operand

if TYPE_CHECKING:
    from orias.lower.context import Ctx

_HALF: Final[dict[str, str]] = {"f16": "", "bf16": ".BF16", "tf32": ".TF32"}
_SHAPES: Final[dict[str, dict[str, int]]] = {
    # multiplicand class -> shape -> first SM
    "f16": {"m16n8k8": 75, "m16n8k16": 80},
    "bf16": {"m16n8k8": 80, "m16n8k16": 80},
    "tf32": {"m16n8k4": 80, "m16n8k8": 80},
    "int8": {"m8n8k16": 75, "m16n8k16": 80, "m16n8k32": 80},
    "int4": {"m8n8k32": 75, "m16n8k32": 80, "m16n8k64": 80},
    "b1": {"m8n8k128": 75, "m16n8k128": 80, "m16n8k256": 80},
    "f64": {"m8n8k4": 80, "m16n8k4": 90, "m16n8k8": 90},
    "fp8": {"m16n8k16": 89, "m16n8k32": 89},
}
_SPARSE: Final[dict[str, dict[str, int]]] = {
    "f16": {"m16n8k16": 80, "m16n8k32": 80},
    "bf16": {"m16n8k16": 80, "m16n8k32": 80},
    "tf32": {"m16n8k8": 80, "m16n8k16": 80},
    "int8": {"m16n8k32": 80, "m16n8k64": 80},
    "int4": {"m16n8k64": 80, "m16n8k128": 80},
}
_CLASS: Final[dict[str, str]] = {
    "f16": "f16", "bf16": "bf16", "tf32": "tf32", "f64": "f64", "b1": "b1", "s8": "int8", "u8": "int8", "s4": "int4",
    "u4": "int4", "e4m3": "fp8", "e5m2": "fp8",
}  # fmt: skip


def _window(ctx: "Ctx", i: Instr, o: Operand) -> list[Opnd]:
    """The shared-window address of a matrix row, from a shared or generic address."""
    if space_of(i.sig) == "shared" or (o.var is not None and o.var.space == "shared"):
        return address(ctx, o, "shared")
    group = address(ctx, o, "")
    low = ctx.lo(group[1])
    if ctx.target.shared_window >= 0:
        low = ctx.b.r("IADD3", low, const(0, ctx.target.shared_window) | NEG, RZ)
    elif not is_reg(low):
        low = ctx.b.copy(low)
    return [K_NONE, low, URZ, group[3]]


def _matrix_name(i: Instr) -> str:
    mods = i.sig.mods
    if mods.get("shape") != "m8n8" or i.sig.types[-1] != "b16":
        return ""
    count = {"x1": "", "x2": ".2", "x4": ".4"}.get(mods.get("num", ""))
    return "" if count is None else f".16.{'MT88' if 'trans' in mods else 'M88'}{count}"


@lowers("ldmatrix", types="any")
def lower_ldmatrix(ctx: "Ctx", i: Instr) -> None:
    """ldmatrix of 8x8 16-bit matrices: LDSM."""
    name = _matrix_name(i)
    if not name:
        raise ctx.unsupported(f"'{i.sig.text}'")
    dst = elements(i.ops[0])
    d = ctx.fn.new_vreg(K_R, len(dst))
    ctx.b.emit("LDSM" + name, [d], _window(ctx, i, i.ops[1]), ctx.guard)
    if len(dst) == 1:
        ctx.write(dst[0], d)
    else:
        spread(ctx, i.ops[0], d, "b32")


@lowers("stmatrix", types="any")
def lower_stmatrix(ctx: "Ctx", i: Instr) -> None:
    """stmatrix of 8x8 16-bit matrices: STSM."""
    name = _matrix_name(i)
    if not name or ctx.target.sm < 90:
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    group = _window(ctx, i, i.ops[0])
    ctx.b.emit("STSM" + name, [], [*group, fragment(ctx, i.ops[1], "b32")], ctx.guard)


@lowers("movmatrix", types="any")
def lower_movmatrix(ctx: "Ctx", i: Instr) -> None:
    """movmatrix: MOVM."""
    if i.sig.mods.get("shape") != "m8n8" or i.sig.types[-1] != "b16":
        raise ctx.unsupported(f"'{i.sig.text}'")
    ctx.define(i.ops[0], "MOVM.16.MT88", [ctx.src(i.ops[1], "b32")], 1)


def fragment(ctx: "Ctx", o: Operand, type_: str) -> Opnd:
    """The registers of a fragment as one value."""
    values = [ctx.src(e, type_) for e in elements(o)]
    if len(values) == 1:
        return values[0] if is_reg(values[0]) else ctx.b.copy(values[0], 2 if type_ == "b64" else 1)
    return ctx.b.pack(*values, width=len(values) * (2 if type_ == "b64" else 1))


def _mma_name(i: Instr, kind: str, sm: int) -> str:
    """The SASS name of an mma, from its shape and its types D, A, B, C."""
    mods = i.sig.mods
    dtype, atype, btype = i.sig.types[:3]
    m, rest = mods["shape"][1:].split("n")
    n, k = rest.split("k")
    shape = f"{m}{n}{k}"
    sparse = ".SP" if "sp" in mods else ""
    saturate = ".SAT" if "satfinite" in mods else ""
    if kind in _HALF:
        return f"HMMA{sparse}.{shape}.{dtype.upper()}{_HALF[kind]}"
    if kind == "f64":
        form = f"{m}x{n}x{k}" if sm >= 90 else shape
        rnd = mods.get("rnd", "rn")
        return f"DMMA.{form}{'' if rnd == 'rn' else '.' + rnd.upper()}"
    if kind == "b1":
        return f"BMMA.{shape}.{mods['bool'].upper()}.POPC"
    if kind == "fp8":
        return f"QMMA.{shape}.{dtype.upper()}.{atype.upper()}.{btype.upper()}"
    return f"IMMA{sparse}.{shape}.{atype.upper()}.{btype.upper()}{saturate}"


@lowers("mma", types="any")
def lower_mma(ctx: "Ctx", i: Instr) -> None:
    """mma and mma.sp where one instruction does it."""
    mods = i.sig.mods
    types = i.sig.types
    sm = ctx.target.sm
    kind = _CLASS.get(types[1], "")
    sparse = "sp" in mods
    first = (_SPARSE if sparse else _SHAPES).get(kind, {}).get(mods.get("shape", ""), 1000)
    plain = mods.get("alayout", "row") == "row" and mods.get("blayout", "col") == "col"
    missing = sm >= 90 and (kind in ("int4", "fp8") or (kind == "b1" and mods.get("bool") == "xor"))
    if sm < first or not plain or missing or "kind" in mods or (kind == "b1" and sm < 80 and mods["bool"] == "and"):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    type_ = "b64" if kind == "f64" else "b32"
    dst = elements(i.ops[0])
    src = [fragment(ctx, o, type_) for o in i.ops[1:4]]
    if sparse:
        src.append(ctx.src(i.ops[4], "b32"))
        src.append(imm(i.ops[5].value))
    width = len(dst) * (2 if kind == "f64" else 1)
    d = ctx.fn.new_vreg(K_R, width)
    ctx.b.emit(_mma_name(i, kind, sm), [d], src, ctx.guard)
    if len(dst) == 1:
        ctx.write(dst[0], d)
    else:
        spread(ctx, i.ops[0], d, type_)
