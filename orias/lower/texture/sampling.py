"""Textures: tex, tld4, txq, and suq, which reads the same header.

Forms of ptxas 13.0.88 (sm_75, 80, 90); :mod:`orias.isa.fetch` describes how the values of a fetch are laid out in its
operands.  Results are two pairs; the second one printed has components x and y.  A level of -32 stands for no level:
``TEX.LL`` clamps it to the first.  :mod:`orias.lower.texture.gradients` has the gradients that TXD does not support.
"""

from typing import Final

from orias.cubin.elf_values import DRIVER_SIZES
from orias.isa.fetch import SCATTERED_LIMIT, dimensions, scattered
from orias.isa.operand import ABS, INV, K_NONE, K_P, K_R, NOT_PT, PT, RZ, URZ, Opnd, const, imm, imm_value, is_reg, word
from orias.lower.frame.addresses import reference_handle, reference_slot
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.matrix.mma import narrowed
from orias.lower.memory.memory_operands import elements
from orias.lower.texture import gradients
from orias.lower.texture.handles import demand_samplers, handle_of, reference_of, with_handle
from orias.ptx.ast import O_ADDR, O_PAIR, O_REG, O_VEC, Instr, Operand
from orias.target import descriptors, features

NO_LEVEL: Final = 0xC2000000
_SHAPES: Final[dict[str, str]] = {
    "1d": "1D", "2d": "2D", "3d": "3D", "cube": "CUBE", "2dms": "2D",
    "a1d": "ARRAY_1D", "a2d": "ARRAY_2D", "acube": "ARRAY_CUBE", "a2dms": "ARRAY_2D",
}  # fmt: skip
_MOST_LAYERS: Final = 0xFFFF
_SAMPLER_SHIFT: Final = 20
"""Up to sm_89, the lowest bit of the sampler's index in a handle; the texture's index is below it."""
_QUERIES: Final[dict[str, int]] = {"width": 1, "height": 2, "depth": 4}


class _Fetch:
    """The parts of a fetch; ``after`` is the end of its name, ``extra`` are the values after the handle."""

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
def lower_tex(ctx: Ctx, i: Instr) -> None:
    """tex: sampling (TEX), reading texels at integer coordinates (TLD), sampling with gradients (TXD)."""
    mods = i.sig.mods
    mode = mods.get("mode", "base")
    if mode == "grad" and not gradients.plain(i):
        if ctx.target.has(features.DRIVER_GRADIENTS):
            gradients.lower_syscall(ctx, i)
        else:
            _quads(ctx, i)
        return
    converted = _converts(i)
    texels = i.sig.types[-1] != "f32" and not converted
    f = _fetch(ctx, i, texels)
    if converted:
        name = ctx.target.spelling("texel_index")
        f.place = [ctx.b.r(name, v) for v in f.place]
    last = 2
    if mode == "grad":
        steps = [[ctx.src(e, "f32") for e in elements(o)] for o in i.ops[2:4]]
        if mods["dim"] == "1d":
            steps = [[s[0], imm(0)] for s in steps]
        f.extra = [s[k] for k in range(dimensions(f.shape)) for s in steps]
        name, last = "TXD#", 4
    elif mode == "level":
        f.extra.append(ctx.src(elements(i.ops[2])[0], "b32"))  # of a vector, ptxas takes the first element
        name, last = "TLD#.LL" if texels else "TEX#.LL", 3
    elif texels:
        name = "TLD#.LZ"
    elif ctx.target.has(features.IMPLICIT_LEVELS):
        name = "TEX#"
    else:
        f.extra.append(imm(NO_LEVEL))
        name = "TEX#.LL"
    _options(ctx, i, f, last, 4)
    if mode == "grad" and f.after:
        # The offsets share the word of the layer, above it; without a layer they have the word alone.
        upper = ctx.b.r("SHF.L.U32", _register(ctx, f.extra.pop()), imm(16), RZ)
        layer = f.layer[0] if f.layer else RZ
        f.layer = [ctx.b.r("LOP3.LUT", upper, imm(0xFFF0000), layer, imm(0xE2), NOT_PT)]
    if texels and mode == "level":
        f.after += ".CL"
    _write(ctx, i, _emit(ctx, i, name, f))


@lowers("tld4", types="any")
def lower_tld4(ctx: Ctx, i: Instr) -> None:
    """tld4: one component of the four texels around a point."""
    f = _fetch(ctx, i, False)
    _options(ctx, i, f, 2, 8)
    _write(ctx, i, _emit(ctx, i, f"TLD4.{i.sig.mods['comp'].upper()}#", f))


def _quads(ctx: Ctx, i: Instr) -> None:
    """Gradients that TXD lacks, up to sm_89 (:mod:`orias.schedule.texture_quads`)."""
    ctx.begin_guarded()
    f = _fetch(ctx, i, False, True)
    _options(ctx, i, f, 4, 4)
    src: list[Opnd] = []
    for k, place in enumerate(f.place):
        src.append(_register(ctx, place))
        for o in i.ops[2:4]:
            steps = elements(o)
            src.append(RZ if k >= len(steps) else _register(ctx, ctx.src(steps[k], "f32")))
    handle = [f.handle] if f.slot == K_NONE else []
    src += [_register(ctx, o) for o in (*f.layer, *handle, *f.extra)]
    if not handle:
        src += [imm(0), f.slot]
    pair = i.ops[0].kind == O_PAIR
    dst = [ctx.fn.new_vreg(K_R) for _ in range(4 + pair)]
    ctx.b.emit("quadtex" + ".B" * len(handle) + f.after, dst, [*src, word(f.shape)])
    ctx.fn.samples_quads = True
    if pair:
        ctx.write_pred(i.ops[0].elems[1], ctx.b.setp("ISETP.EQ.U32.AND", dst[4], RZ, PT))
    _write(ctx, i, list(dst[:4]))
    ctx.end_guarded()


def _fetch(ctx: Ctx, i: Instr, texels: bool, raw: bool = False) -> _Fetch:
    """Handle, coordinates, layer and sample of the address operand; with `raw`, directions are not scaled."""
    dim = i.sig.mods.get("dim", "")
    where = i.ops[1]
    demand_samplers(ctx, i)
    shared = 0 if texels else _shared_word(ctx, where)
    f = _Fetch((K_NONE, shared) if shared else handle_of(ctx, i, where), _SHAPES[dim])
    if len(where.elems) == 2 and not texels and not shared:
        _take_sampler(ctx, i, f, where.elems[0])
    values = [ctx.src(e, "b32") for e in elements(where.elems[-1])]
    if dim.endswith("ms"):
        f.extra.append(values.pop(0))
        f.after = ".MS"
    if dim.startswith("a"):
        f.layer = [ctx.b.r(ctx.target.spelling("layer_limit"), values.pop(0), imm(_MOST_LAYERS), PT)]
    f.place = values[: dimensions(f.shape)]
    if dim == "1d" and not texels:
        # Sampling has no 1D shape: a 1D image is sampled as a 2D image of one row.
        f.shape = "2D"
        f.place.append(imm(0))
    elif "cube" in dim and not raw:
        f.place = _cube(ctx, f.place)
    return f


def _converts(i: Instr) -> bool:
    """True for integer coordinates that are converted and sampled, as ptxas 13.0.88 does.

    The fetch has a sampler, is not 1D or multisample, and has no level or gradients.
    """
    mods = i.sig.mods
    plain = mods.get("mode", "base") == "base" and mods["dim"] in ("2d", "3d", "a1d", "a2d")
    return plain and i.sig.types[-1] != "f32" and len(i.ops[1].elems) == 2


def _shared_word(ctx: Ctx, where: Operand) -> Opnd:
    """The number of the word with the handles of a texture and a sampler by name, which they share up to sm_89; 0 for others."""
    texture, sampler = where.var, where.elems[0].var if len(where.elems) == 2 else None
    if ctx.options.relocatable or ctx.target.has(features.SEPARATE_SAMPLERS) or where.kind != O_ADDR or texture is None:
        return 0
    if texture.type != "texref" or sampler is None or sampler.type != "samplerref":
        return 0
    return imm(reference_slot(ctx, texture, sampler))


def _take_sampler(ctx: Ctx, i: Instr, f: _Fetch, o: Operand) -> None:
    """Add the sampler of the texture: from sm_90 on in a register of its own, before in the upper bits of the handle."""
    old = not ctx.target.has(features.SEPARATE_SAMPLERS)
    named = o.var if o.var is not None and o.var.type == "samplerref" else None
    if named is None and o.kind != O_REG:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of sampler")
    texture = reference_of(ctx, i.ops[1])
    if ctx.options.relocatable and (named is not None or f.handle == K_NONE):
        if f.handle == K_NONE and texture is not None:
            f.handle, f.slot = reference_handle(ctx, texture), K_NONE
        upper = reference_handle(ctx, named) if named is not None else ctx.lo(ctx.src(o, "b64"))
        _pair_up(ctx, f, _register(ctx, upper), named is None)
        return
    upper = const(0, 4 * reference_slot(ctx, named)) if named is not None else ctx.lo(ctx.src(o, "b64"))
    if not old and named is not None:
        f.sampler = upper
        return
    if old and f.handle == K_NONE:
        f.handle = ctx.b.copy(const(0, 4 * imm_value(f.slot)))
    _pair_up(ctx, f, _register(ctx, upper), named is None)


def _pair_up(ctx: Ctx, f: _Fetch, upper: Opnd, low: bool) -> None:
    """Combine handle and sampler; with `low` the sampler's index is in the low bits of its word and must be shifted."""
    if ctx.target.has(features.SEPARATE_SAMPLERS):
        f.sampler = upper
        return
    if low:
        upper = ctx.b.r("SHF.L.U32", upper, imm(_SAMPLER_SHIFT), RZ)
    f.handle = ctx.b.r("LOP3.LUT", f.handle, imm((1 << _SAMPLER_SHIFT) - 1), upper, imm(0xE2), NOT_PT)
    f.slot = K_NONE


def _cube(ctx: Ctx, direction: list[Opnd]) -> list[Opnd]:
    """The direction, scaled to a largest component of about one."""
    x, y, z = (_register(ctx, v) for v in direction)
    largest = ctx.b.r("FMNMX", x | ABS, y | ABS, NOT_PT)
    largest = ctx.b.r("FMNMX", z | ABS, largest, NOT_PT)
    scale = ctx.b.r("MUFU.RCP", largest)
    return [ctx.b.r("FMUL", v, scale) for v in (x, y, z)]


def _options(ctx: Ctx, i: Instr, f: _Fetch, at: int, spacing: int) -> None:
    """Append the texel offsets (a vector; a field every `spacing` bits) and the reference depth (a scalar), if present."""
    if len(i.ops) > at and i.ops[at].kind == O_VEC:
        values = [ctx.src(e, "b32") for e in elements(i.ops[at])][: dimensions(f.shape)]
        offset = values[0]
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


def _emit(ctx: Ctx, i: Instr, name: str, f: _Fetch) -> list[Opnd]:
    """Emit the operation (``#`` in `name` is where ``.SCR`` and ``.B`` go); returns the four components."""
    old = not ctx.target.has(features.UNIFORM_HANDLES)
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
    pair = i.ops[0].kind == O_PAIR

    def fetch(source: list[Opnd], guard: Opnd) -> list[Opnd]:
        dst = [ctx.fn.new_vreg(K_R, 2), ctx.fn.new_vreg(K_R, 2)]
        if pair:
            dst.append(ctx.fn.new_vreg(K_P))
        ctx.b.emit(base + bindless + late + f.after, dst, [*src, *source, word(f.shape)], guard)
        return dst

    if old:
        dst = fetch([] if handle else [imm(0), f.slot], ctx.guard)
    else:
        dst = with_handle(ctx, f.handle, f.slot, True, f.sampler, fetch)
    hi, lo = dst[:2]
    if pair:
        # The predicate of the operation is true for absent texels, the one of PTX for resident texels.
        ctx.write_pred(i.ops[0].elems[1], dst[2] ^ INV)
    return [ctx.word(lo if k < 2 else hi, k % 2) for k in range(4)]


def _write(ctx: Ctx, i: Instr, values: list[Opnd]) -> None:
    dst = i.ops[0].elems[0] if i.ops[0].kind == O_PAIR else i.ops[0]
    type_ = i.sig.types[-2]
    if "f16" in type_:
        values = narrowed(ctx, values)
    if type_ == "f16":
        values = [v if k == 0 else ctx.b.r("PRMT", v, imm(0x7732), RZ) for v in values for k in range(2)]
    for e, v in zip(elements(dst), values, strict=True):
        ctx.write(e, v)


def _register(ctx: Ctx, value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)


def _vector(ctx: Ctx, values: list[Opnd]) -> Opnd:
    """Values in adjacent registers; three values take the space of four."""
    if len(values) == 1:
        return _register(ctx, values[0])
    return ctx.b.pack(*values, *([imm(0)] if len(values) == 3 else []))


@lowers("txq", "txq.level", "suq", types="any")
def lower_query(ctx: Ctx, i: Instr) -> None:
    """txq and suq: TXQ of the header for width, height and depth (of a level), the driver's descriptor for other queries."""
    query = i.sig.mods.get("query", "")
    mask = _QUERIES.get(query)
    if mask is None:
        _described(ctx, i, query)
        return
    level = ctx.src(i.ops[2], "u32") if len(i.ops) > 2 else imm(0)
    handle, slot = handle_of(ctx, i, i.ops[1])
    d = ctx.fn.new_vreg(K_R)
    dims = word("TEX_HEADER_DIMENSION")
    if not ctx.target.has(features.UNIFORM_HANDLES) and slot != K_NONE:
        ctx.b.emit("TXQ", [RZ, d], [_register(ctx, level), dims, imm(0), slot, imm(mask)], ctx.guard)
    elif not ctx.target.has(features.UNIFORM_HANDLES):
        ctx.b.emit("TXQ.B", [RZ, d], [ctx.b.pack(handle, level), dims, imm(mask)], ctx.guard)
    else:
        level = _register(ctx, level)

        def ask(source: list[Opnd], guard: Opnd) -> list[Opnd]:
            got = ctx.fn.new_vreg(K_R)
            ctx.b.emit("TXQ", [RZ, got], [level, dims, source[0], imm(0), imm(mask)], guard)
            return [got]

        (d,) = with_handle(ctx, handle, slot, True, K_NONE, ask)
    ctx.write(i.ops[0], d)


def _described(ctx: Ctx, i: Instr, query: str) -> None:
    """Load a word of the driver's descriptor; the handle has its index, and the driver patches its size into the code."""
    independent = "texmode_independent" in ctx.module.ast.target_options
    rows = descriptors.rows(i.sig.name == "suq", independent)
    if query not in rows or len(i.ops) > 2:
        raise ctx.unsupported(f"'{i.sig.text}'")
    table, offset = rows[query]
    old = not ctx.target.has(features.SEPARATE_SAMPLERS)
    number, slot = handle_of(ctx, i, i.ops[1])
    if slot != K_NONE:
        number = ctx.b.copy(const(0, 4 * imm_value(slot)))
    if old:
        number = ctx.b.r("LOP3.LUT", number, imm((1 << _SAMPLER_SHIFT) - 1), RZ, imm(0xC0), NOT_PT)
    size = ctx.b.copy(ctx.fn.sym(DRIVER_SIZES[table, independent], "abs32"))
    where = const(0, ctx.target.word("texture_headers") + descriptors.TABLES[table])
    base = ctx.b.copy(where, width=2)
    at = ctx.fn.new_vreg(K_R, 2)
    ctx.b.emit("IMAD.WIDE.U32", [at], [number, size, base])
    d = ctx.fn.new_vreg(K_R)
    name = "LDG.E.CONSTANT" + ctx.target.spelling("system_scope")
    ctx.b.emit(name, [d], [K_NONE, at, URZ, imm(offset)], ctx.guard)
    ctx.write(i.ops[0], d)


@lowers("istypep", types="any")
def lower_istypep(ctx: Ctx, i: Instr) -> None:
    """istypep: test which kind of handle a register holds."""
    high = ctx.hi(ctx.src(i.ops[1], "b64"))
    bit = ctx.b.r("LOP3.LUT", high, imm(descriptors.HANDLE_KINDS[i.sig.types[-1]]), RZ, imm(0xC0), NOT_PT)
    ctx.write_pred(i.ops[0], ctx.b.setp("ISETP.NE.U32.AND", bit, RZ, PT))
