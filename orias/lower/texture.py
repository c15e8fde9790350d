"""Textures: tex, tld4, txq, and suq, which asks the same header.

Forms read off ptxas 13.0.88 (sm_75, 80, 90); how the values of a fetch lie in its operands is in orias.isa.fetch.  Results come in two
pairs, the second one printed being components x and y.  A level of -32 is "no level": ``TEX.LL`` clamps it to the first.  Gradients of
3D and cube textures, for which ptxas lets the threads of a quad take turns, are refused, as are samplers by name.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.fetch import SCATTERED_LIMIT, dimensions, scattered
from orias.isa.operand import (
    ABS,
    INV,
    K_NONE,
    K_P,
    K_R,
    NOT_PT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    is_reg,
    word,
)
from orias.lower.handles import handle_of, uniform_handle
from orias.lower.memory import elements
from orias.lower.mma import narrowed
from orias.lower.registry import lowers
from orias.ptx.ast import O_PAIR, O_REG, O_VEC, Instr, Operand

if TYPE_CHECKING:
    from orias.lower.context import Ctx

NO_LEVEL: Final = 0xC2000000
_SHAPES: Final[dict[str, str]] = {
    "1d": "1D", "2d": "2D", "3d": "3D", "cube": "CUBE", "2dms": "2D",
    "a1d": "ARRAY_1D", "a2d": "ARRAY_2D", "acube": "ARRAY_CUBE", "a2dms": "ARRAY_2D",
}  # fmt: skip
_MOST_LAYERS: Final = 0xFFFF
_SAMPLER_SHIFT: Final = 20
"""Up to sm_89 the sampler's index is above so many bits of the texture's."""
_QUERIES: Final[dict[str, int]] = {"width": 1, "height": 2, "depth": 4}
_TABLES: Final[dict[str, int]] = {"texture": 0, "sampler": 8, "surface": 16}
"""Table of the driver's descriptors -> offset of its address from the first in constant bank 0."""
_TABLE_BASE: Final = 0x70
_TABLE_BASE_90: Final = 0xF0
_SIZES: Final[dict[tuple[str, bool], str]] = {
    ("texture", False): ".nv.unified.texrefDescSize", ("texture", True): ".nv.independent.texrefDescSize",
    ("sampler", True): ".nv.independent.samplerrefDescSize",
    ("surface", False): ".nv.surfrefDescSize", ("surface", True): ".nv.surfrefDescSize",
}  # fmt: skip
"""(table, independent mode) -> the symbol that the driver gives the size of a descriptor."""
_UNIFIED: Final[dict[str, tuple[str, int]]] = {
    "force_unnormalized_coords": ("texture", 0x00), "memory_layout": ("texture", 0x00), "addr_mode_0": ("texture", 0x0C),
    "addr_mode_1": ("texture", 0x10), "addr_mode_2": ("texture", 0x14), "filter_mode": ("texture", 0x18),
    "normalized_coords": ("texture", 0x1C), "channel_data_type": ("texture", 0x20), "channel_order": ("texture", 0x24),
    "array_size": ("texture", 0x28), "num_mipmap_levels": ("texture", 0x2C), "num_samples": ("texture", 0x30),
}  # fmt: skip
_INDEPENDENT: Final[dict[str, tuple[str, int]]] = {
    "addr_mode_0": ("sampler", 0x00), "memory_layout": ("sampler", 0x00), "addr_mode_1": ("sampler", 0x04),
    "addr_mode_2": ("sampler", 0x08), "filter_mode": ("sampler", 0x0C), "force_unnormalized_coords": ("sampler", 0x10),
    "normalized_coords": ("texture", 0x0C), "channel_data_type": ("texture", 0x10), "channel_order": ("texture", 0x14),
    "array_size": ("texture", 0x18), "num_mipmap_levels": ("texture", 0x1C), "num_samples": ("texture", 0x20),
}  # fmt: skip
_SURFACE: Final[dict[str, tuple[str, int]]] = {
    "channel_data_type": ("surface", 0x0C), "channel_order": ("surface", 0x10), "memory_layout": ("surface", 0x14),
    "array_size": ("surface", 0x1C),
}  # fmt: skip
"""Query -> (table, offset in the descriptor), all as ptxas 13.0.88 reads them on sm_75, 80 and 90."""


class _Fetch:
    """One fetch being put together; ``after`` is the end of its name, ``extra`` what follows the handle."""

    __slots__ = ("after", "extra", "handle", "layer", "place", "sampler", "shape", "slot")

    def __init__(self, handle: tuple[Opnd, Opnd], shape: str) -> None:
        self.handle, self.slot = handle
        self.shape = shape
        self.sampler: Opnd = K_NONE
        self.layer: list[Opnd] = []
        self.place: list[Opnd] = []
        self.extra: list[Opnd] = []
        self.after = ""


@lowers("tex", types="any")
def lower_tex(ctx: "Ctx", i: Instr) -> None:
    """tex: sampling (TEX), reading texels at integer coordinates (TLD), sampling with gradients (TXD)."""
    mods = i.sig.mods
    mode = mods.get("mode", "base")
    texels = i.sig.types[-1] != "f32"
    f = _fetch(ctx, i, texels)
    last = 2
    if mode == "grad":
        if f.shape not in ("2D", "ARRAY_1D", "ARRAY_2D"):
            raise ctx.unsupported(f"'{i.sig.text}'")
        gradients = [[ctx.src(e, "f32") for e in elements(o)] for o in i.ops[2:4]]
        if mods["dim"] == "1d":
            gradients = [[g[0], imm(0)] for g in gradients]
        f.extra = [g[k] for k in range(dimensions(f.shape)) for g in gradients]
        name, last = "TXD#", 4
        if len(i.ops) > last:
            raise ctx.unsupported(f"'{i.sig.text}' with offsets or a depth")
    elif mode == "level":
        f.extra.append(ctx.src(i.ops[2], "b32"))
        name, last = "TLD#.LL" if texels else "TEX#.LL", 3
    elif texels:
        name = "TLD#.LZ"
    else:
        f.extra.append(imm(NO_LEVEL))
        name = "TEX#.LL"
    _options(ctx, i, f, last, 4)
    if texels and mode == "level":
        f.after += ".CL"
    _write(ctx, i, _emit(ctx, i, name, f))


@lowers("tld4", types="any")
def lower_tld4(ctx: "Ctx", i: Instr) -> None:
    """tld4: one component of the four texels around a place."""
    f = _fetch(ctx, i, False)
    _options(ctx, i, f, 2, 8)
    _write(ctx, i, _emit(ctx, i, f"TLD4.{i.sig.mods['comp'].upper()}#", f))


def _fetch(ctx: "Ctx", i: Instr, texels: bool) -> _Fetch:
    """Handle, coordinates, layer and sample of the address operand."""
    dim = i.sig.mods.get("dim", "")
    where = i.ops[1]
    f = _Fetch(handle_of(ctx, i, where), _SHAPES[dim])
    if len(where.elems) == 2 and not texels:
        _take_sampler(ctx, i, f, where.elems[0])
    values = [ctx.src(e, "b32") for e in elements(where.elems[-1])]
    if dim.endswith("ms"):
        f.extra.append(values.pop(0))
        f.after = ".MS"
    if dim.startswith("a"):
        f.layer = [ctx.b.r("IMNMX.U32", values.pop(0), imm(_MOST_LAYERS), PT)]
    f.place = values[: dimensions(f.shape)]
    if dim == "1d" and not texels:
        # Sampling knows no lines: they are pictures of one row.
        f.shape = "2D"
        f.place.append(imm(0))
    elif "cube" in dim:
        f.place = _cube(ctx, f.place)
    return f


def _take_sampler(ctx: "Ctx", i: Instr, f: _Fetch, o: Operand) -> None:
    if o.kind != O_REG or (f.handle == K_NONE and f.slot == K_NONE):
        raise ctx.unsupported(f"'{i.sig.text}' with a sampler by name")
    sampler = _register(ctx, ctx.lo(ctx.src(o, "b64")))
    if ctx.target.sm >= 90:
        f.sampler = sampler
        return
    if f.handle == K_NONE:
        raise ctx.unsupported(f"'{i.sig.text}' with a sampler and a reference by name")
    upper = ctx.b.r("SHF.L.U32", sampler, imm(_SAMPLER_SHIFT), RZ)
    f.handle = ctx.b.r("LOP3.LUT", f.handle, imm((1 << _SAMPLER_SHIFT) - 1), upper, imm(0xE2), NOT_PT)
    f.slot = K_NONE


def _cube(ctx: "Ctx", direction: list[Opnd]) -> list[Opnd]:
    """The direction scaled so that its largest component is about one."""
    x, y, z = (_register(ctx, v) for v in direction)
    largest = ctx.b.r("FMNMX", x | ABS, y | ABS, NOT_PT)
    largest = ctx.b.r("FMNMX", z | ABS, largest, NOT_PT)
    scale = ctx.b.r("MUFU.RCP", largest)
    return [ctx.b.r("FMUL", v, scale) for v in (x, y, z)]


def _options(ctx: "Ctx", i: Instr, f: _Fetch, at: int, spacing: int) -> None:
    """Offsets of texels (a vector; a field every `spacing` bits) and the depth to compare with (a scalar)."""
    if len(i.ops) > at and i.ops[at].kind == O_VEC:
        values = [ctx.src(e, "b32") for e in elements(i.ops[at])][: dimensions(f.shape)]
        offset = values[0] if i.sig.mods["dim"] not in ("1d", "a1d") else ctx.src(elements(i.ops[at])[0], "b32")
        for k, v in enumerate(values[1:], 1):
            field = (15 if spacing == 4 else 63) << spacing * k
            shifted = ctx.b.r("SHF.L.U32", _register(ctx, v), imm(spacing * k), RZ)
            offset = ctx.b.r("LOP3.LUT", shifted, imm(field), offset, imm(0xE2), NOT_PT)
        f.extra.append(offset)
        f.after = ".AOFFI" + f.after
        at += 1
    if len(i.ops) > at:
        f.extra.append(ctx.src(i.ops[at], "b32"))
        f.after += ".DC"


def _emit(ctx: "Ctx", i: Instr, name: str, f: _Fetch) -> list[Opnd]:
    """The operation (``#``: where ``.SCR`` and ``.B`` belong); gives the four components."""
    old = ctx.target.sm < 90
    handle = [f.handle] if old and f.slot == K_NONE else []
    where = [*f.layer, *f.place]
    rest = [*handle, *f.extra]
    base, _, late = name.partition("#")
    bindless = ".B" if handle else ""
    if base == "TXD":
        groups = [[*handle, *f.place, *f.layer], f.extra]
    elif old and len(where) + len(rest) <= SCATTERED_LIMIT:
        first, _ = scattered(len(where) + len(rest))
        values = [*where, *rest]
        groups = [values[:first], values[first:]]
        base = base.replace("TLD4", "TLD4.SCR") if "TLD4" in base else base + ".SCR"
    else:
        groups = [where, rest]
    src = [_vector(ctx, g) for g in groups if g]
    if not old:
        src += [uniform_handle(ctx, f.handle, f.slot, True, f.sampler), imm(0)]
    elif not handle:
        src += [imm(0), f.slot]
    hi, lo = ctx.fn.new_vreg(K_R, 2), ctx.fn.new_vreg(K_R, 2)
    dst = [hi, lo]
    pair = i.ops[0].kind == O_PAIR
    if pair:
        dst.append(ctx.fn.new_vreg(K_P))
    ctx.b.emit(base + bindless + late + f.after, dst, [*src, word(f.shape)], ctx.guard)
    if pair:
        # The operation says which texels are absent.
        ctx.write_pred(i.ops[0].elems[1], dst[2] ^ INV)
    return [ctx.word(lo if k < 2 else hi, k % 2) for k in range(4)]


def _write(ctx: "Ctx", i: Instr, values: list[Opnd]) -> None:
    dst = i.ops[0].elems[0] if i.ops[0].kind == O_PAIR else i.ops[0]
    type_ = i.sig.types[-2]
    if "f16" in type_:
        values = narrowed(ctx, values)
    if type_ == "f16":
        values = [v if k == 0 else ctx.b.r("PRMT", v, imm(0x7732), RZ) for v in values for k in range(2)]
    for e, v in zip(elements(dst), values, strict=True):
        ctx.write(e, v)


def _register(ctx: "Ctx", value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)


def _vector(ctx: "Ctx", values: list[Opnd]) -> Opnd:
    """Values in neighbouring registers; three take the room of four."""
    if len(values) == 1:
        return _register(ctx, values[0])
    return ctx.b.pack(*values, *([imm(0)] if len(values) == 3 else []))


@lowers("txq", "txq.level", "suq", types="any")
def lower_query(ctx: "Ctx", i: Instr) -> None:
    """txq and suq: TXQ of the header for width, height and depth (of a level), the driver's descriptor for the rest."""
    query = i.sig.mods.get("query", "")
    mask = _QUERIES.get(query)
    if mask is None:
        _described(ctx, i, query)
        return
    level = ctx.src(i.ops[2], "u32") if len(i.ops) > 2 else imm(0)
    handle, slot = handle_of(ctx, i, i.ops[1])
    d = ctx.fn.new_vreg(K_R)
    dims = word("TEX_HEADER_DIMENSION")
    if ctx.target.sm < 90 and slot != K_NONE:
        ctx.b.emit("TXQ", [RZ, d], [_register(ctx, level), dims, imm(0), slot, imm(mask)], ctx.guard)
    elif ctx.target.sm < 90:
        ctx.b.emit("TXQ.B", [RZ, d], [ctx.b.pack(handle, level), dims, imm(mask)], ctx.guard)
    else:
        ctx.b.emit(
            "TXQ",
            [RZ, d],
            [_register(ctx, level), dims, uniform_handle(ctx, handle, slot, True), imm(0), imm(mask)],
            ctx.guard,
        )
    ctx.write(i.ops[0], d)


def _described(ctx: "Ctx", i: Instr, query: str) -> None:
    """A word of the driver's descriptor, whose number is the handle's and whose size the driver puts into the code."""
    independent = "texmode_independent" in ctx.module.ast.target_options
    rows = _SURFACE if i.sig.name == "suq" else _INDEPENDENT if independent else _UNIFIED
    if query not in rows or len(i.ops) > 2:
        raise ctx.unsupported(f"'{i.sig.text}'")
    table, offset = rows[query]
    old = ctx.target.sm < 90
    number, slot = handle_of(ctx, i, i.ops[1])
    if slot != K_NONE:
        number = ctx.b.copy(const(0, 4 * (slot >> PAYLOAD_SHIFT)))
    if old:
        number = ctx.b.r("LOP3.LUT", number, imm((1 << _SAMPLER_SHIFT) - 1), RZ, imm(0xC0), NOT_PT)
    size = ctx.b.copy(ctx.fn.sym(_SIZES[table, independent], "abs32"))
    where = const(0, (_TABLE_BASE if old else _TABLE_BASE_90) + _TABLES[table])
    base = ctx.b.copy(where, width=2)
    at = ctx.fn.new_vreg(K_R, 2)
    ctx.b.emit("IMAD.WIDE.U32", [at], [number, size, base])
    d = ctx.fn.new_vreg(K_R)
    name = "LDG.E.CONSTANT" + (".SYS" if ctx.target.sm < 80 else "")
    ctx.b.emit(name, [d], [K_NONE, at, URZ, imm(offset)], ctx.guard)
    ctx.write(i.ops[0], d)


_KINDS: Final[dict[str, int]] = {"texref": 1 << 29, "samplerref": 1 << 30, "surfref": 1 << 31}
"""Bit of the upper word that a handle of the kind has (ptxas 13.0.88)."""


@lowers("istypep", types="any")
def lower_istypep(ctx: "Ctx", i: Instr) -> None:
    """istypep: what kind of handle a register holds."""
    high = ctx.hi(ctx.src(i.ops[1], "b64"))
    bit = ctx.b.r("LOP3.LUT", high, imm(_KINDS[i.sig.types[-1]]), RZ, imm(0xC0), NOT_PT)
    ctx.write_pred(i.ops[0], ctx.b.setp("ISETP.NE.U32.AND", bit, RZ, PT))
