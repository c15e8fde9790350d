"""Builders: tex, tld4, txq, suq, suld, sust, sured, on the texture and surface objects of :mod:`orias.sim.texture`."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_ADDR, O_PAIR, O_REG, O_VEC, Operand
from orias.sim.core.site import Exec, Getter, everywhere
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import I32, I64, U32, U64
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_matrix import elements
from orias.sim.ptx.ptx_site import UNSIGNED, PtxSite, bits_of
from orias.sim.texture.descriptor import described
from orias.sim.texture.exec_texture import Look, by_object, clamped_fetch, dimension, look_at, reduce_in, signed_field
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import KINDS, Request, Texture
from orias.target.descriptors import HANDLE_KINDS

Arr = npt.NDArray[Any]
_AXES: Final = ("width", "height", "depth")
_MOST_LAYERS: Final = 0xFFFF


def _handle(s: PtxSite, o: Operand) -> Getter:
    """The handle from a register, or of a reference by name."""
    if o.kind != O_ADDR or o.var is None:
        raise s.unknown("reference")
    if o.var.type in ("texref", "surfref", "samplerref"):
        return _handle_by_name(o.var.name)
    if o.var.space != "reg" or o.value:
        raise s.unknown("reference")
    return _register(s, o)


def _register(s: PtxSite, o: Operand) -> Getter:
    reg = Operand(O_REG)
    reg.var, reg.comp = o.var, o.comp
    return s.src(reg, "b64")


def _sampler(s: PtxSite, o: Operand) -> Getter:
    """The number of the sampler operand after a texture."""
    if o.var is not None and o.var.type == "samplerref":
        return _handle_by_name(o.var.name)
    return _register(s, o)


def _handle_by_name(name: str) -> Getter:
    return lambda m, a: np.full(1, m.arena.bindings.get(name, 0), U64)


def _results(s: PtxSite, o: Operand, type_: str) -> list[tuple[Any, Any]]:
    """(setter, words of the components -> pattern) of each destination."""
    regs = elements(o)
    if type_ == "f16x2":
        return [(s.dst(r, "b32"), _packed(k)) for k, r in enumerate(regs)]
    if type_ == "f16":
        return [(s.dst(r, "b16"), _half(k)) for k, r in enumerate(regs)]
    return [(s.dst(r, "b32"), _word(k)) for k, r in enumerate(regs)]


def _word(k: int) -> Any:
    return lambda words: words[k]


def _half(k: int) -> Any:
    return lambda words: half.of_f32(words[k]).astype(np.uint16)


def _packed(k: int) -> Any:
    return lambda words: half.pack(half.of_f32(words[2 * k]), half.of_f32(words[2 * k + 1]))


def _texture(s: PtxSite) -> Exec:
    d_type, c_type = s.types[-2:]
    kind, mode = s.mods.get("dim", ""), s.mods.get("mode")
    if kind not in KINDS or mode not in (None, "base", "level", "grad"):
        raise s.unknown()
    dims = 3 if "cube" in kind else KINDS[kind]
    where = s.ops[1]
    handle = _handle(s, where)
    sampler = _sampler(s, where.elems[0]) if len(where.elems) == 2 else None
    values = [s.src(o, "b32") for o in elements(where.elems[-1])]
    sample = values.pop(0) if kind.endswith("ms") else None
    layer = values.pop(0) if kind.startswith("a") else None
    coords = values[:dims]
    rest = list(s.ops[2:])
    level = s.src(rest.pop(0), "b32") if mode == "level" else None
    steps = [[s.src(e, "b32") for e in elements(rest.pop(0))[:dims]] for _ in range(2 * (mode == "grad"))]
    offsets = None
    if rest and rest[0].kind == O_VEC:
        offsets = [s.src(e, "b32") for e in elements(rest.pop(0))[:dims]]
    depth = s.src(rest.pop(0), "b32") if rest else None
    # As in ptxas, integer coordinates with a sampler are converted and sampled, except for 1D and multisample
    # textures and with a level.
    sampled = c_type != "f32" and sampler is not None and mode in (None, "base") and kind in ("2d", "3d", "a1d", "a2d")
    out = s.ops[0].elems[0] if s.ops[0].kind == O_PAIR else s.ops[0]
    puts = _results(s, out, d_type)
    there = s.setp(s.ops[0].elems[1]) if s.ops[0].kind == O_PAIR else None
    bits = 4
    look: Look = Texture.sample
    if s.name == "tld4":
        bits, component = 6, "rgba".index(s.mods["comp"])
        look = lambda t, place, r: t.gather(component, place, r)  # noqa: E731
    elif c_type != "f32" and not sampled:
        # A fetch at integer coordinates has no level of detail.
        look, steps = clamped_fetch, []

    def request(m: Machine, a: Active) -> Request:
        r = Request()
        if layer is not None:
            r.layer = np.minimum(everywhere(layer, m, a), np.uint32(_MOST_LAYERS))
        if level is not None and c_type == "f32":
            r.lod = everywhere(level, m, a).view(np.float32)
        elif level is not None:
            r.level = everywhere(level, m, a)
        if offsets is not None:
            # The low bits of each offset: PTX gives their range, and the hardware has no more bits.
            r.offsets = [signed_field(everywhere(g, m, a), bits) for g in offsets]
        if depth is not None:
            r.depth = everywhere(depth, m, a).view(np.float32)
        if sample is not None:
            r.sample = everywhere(sample, m, a)
        return r

    def run(m: Machine, a: Active) -> None:
        place = [everywhere(g, m, a).view(np.float32 if c_type == "f32" else I32) for g in coords]
        if sampled:
            place = [x.astype(np.float32) for x in place]
        moves = [[everywhere(g, m, a).view(np.float32) for g in each] for each in steps]
        others = sampler(m, a) if sampler is not None else None
        objects = by_object(m, a, handle(m, a), Texture, others)
        total, missing = look_at(objects, lambda t: t.kind == kind, s.sig.text, place, moves, request(m, a), look)
        for put, of in puts:
            put(m, a, of(total))
        if there is not None:
            there(m, a, ~missing)

    return run


def _query(s: PtxSite) -> Exec:
    name = s.mods.get("query", "")
    axis = _AXES.index(name) if name in _AXES else -1
    handle, put = _handle(s, s.ops[1]), s.dst(s.ops[0], "b32")
    level = s.src(s.ops[2], "b32") if len(s.ops) > 2 else None

    def run(m: Machine, a: Active) -> None:
        out = np.zeros(a.n, U32)
        levels = np.broadcast_to(level(m, a), (a.n,)) if level is not None else np.zeros(a.n, U32)
        for t, _, who in by_object(m, a, handle(m, a), object):
            if axis < 0:
                out[who] = described(t, name)
            else:
                out[who] = [dimension(t, axis, int(k)) for k in levels[who]]
        put(m, a, out)

    return run


def _surface(s: PtxSite, o: Operand) -> tuple[Getter, list[Getter], bool, str]:
    """(handle, coordinates, whether the first one is a layer, mode for coordinates outside)."""
    kind = s.mods.get("dim", "")
    dims, layered = KINDS[kind], kind.startswith("a")
    coords = [s.src(e, "b32") for e in elements(o.elems[0])[: dims + layered]]
    return _handle(s, o), coords, layered, s.mods.get("clamp", "trap")


def _coordinates(m: Machine, a: Active, gets: list[Getter], layered: bool) -> list[Arr]:
    """x, y, z, then the layer."""
    v = [np.broadcast_to(g(m, a), (a.n,)) for g in gets]
    return [*v[1:], v[0]] if layered else v


def _load(s: PtxSite) -> Exec:
    handle, coords, layered, mode = _surface(s, s.ops[1])
    type_ = s.types[-1]
    regs = elements(s.ops[0])
    puts = [s.dst(o, type_) for o in regs]
    bits = bits_of(type_)
    size = bits * len(regs) // 8

    def run(m: Machine, a: Active) -> None:
        place = _coordinates(m, a, coords, layered)
        raw = np.zeros((a.n, max(size, 4)), np.uint8)
        for t, _, who in by_object(m, a, handle(m, a), Surface):
            words = t.load([c[who] for c in place], size, mode)
            raw[who] = np.stack(words, axis=1).view(np.uint8)
        values = raw[:, :size].copy().view(UNSIGNED[bits])
        for k, put in enumerate(puts):
            put(m, a, np.ascontiguousarray(values[:, k]))

    return run


def _store(s: PtxSite) -> Exec:
    handle, coords, layered, mode = _surface(s, s.ops[0])
    type_ = s.types[-1]
    gets = [s.src(o, type_) for o in elements(s.ops[1])]
    size = bits_of(type_) * len(gets) // 8
    formatted = s.mods["mode"] == "p"

    def run(m: Machine, a: Active) -> None:
        place = _coordinates(m, a, coords, layered)
        raw = np.zeros((a.n, max(size, 4)), np.uint8)
        values = np.stack([np.broadcast_to(g(m, a), (a.n,)) for g in gets], axis=1)
        raw[:, :size] = np.ascontiguousarray(values).view(np.uint8)
        words = raw.view(U32)
        for t, _, who in by_object(m, a, handle(m, a), Surface):
            parts = [words[who, k] for k in range(words.shape[1])]
            if formatted:
                t.store_formatted([c[who] for c in place], parts, mode)
            else:
                t.store([c[who] for c in place], size, parts, mode)

    return run


def _reduce(s: PtxSite) -> Exec:
    handle, coords, layered, mode = _surface(s, s.ops[0])
    type_ = s.types[-1]
    value = s.src(s.ops[1], type_)
    types: dict[str, Any] = {"s32": I32, "s64": I64, "u64": U64, "b64": U64}
    op = s.mods["op"].upper()
    formatted = s.mods["mode"] == "p"
    # ptxas compiles the formatted minimum and maximum to SURED.SD32, which compares signed numbers.
    signed: Any = I64 if bits_of(type_) == 64 else I32
    view = signed if formatted and op in ("MIN", "MAX") else types.get(type_, U32)

    def run(m: Machine, a: Active) -> None:
        place = _coordinates(m, a, coords, layered)
        v = np.broadcast_to(value(m, a), (a.n,)).copy().view(view)
        for t, _, who in by_object(m, a, handle(m, a), Surface):
            reduce_in(t, [c[who] for c in place], bits_of(type_) // 8, v[who], op, mode, formatted)

    return run


def _is_type(s: PtxSite) -> Exec:
    """istypep: a bit of the handle's upper word tells the kind of object."""
    value, put = s.src(s.ops[1], "b64"), s.setp(s.ops[0])
    bit = np.uint64(HANDLE_KINDS[s.types[-1]] << 32)
    return lambda m, a: put(m, a, np.broadcast_to(value(m, a) & bit != 0, (a.n,)))


TEXTURE: Final[dict[str, Builder]] = {
    "tex": _texture, "tld4": _texture, "txq": _query, "suq": _query, "suld": _load, "sust": _store, "sured": _reduce,
    "istypep": _is_type,
}  # fmt: skip
