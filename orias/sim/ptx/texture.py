"""Builders: tex, tld4, txq, suq, suld, sust, sured.  Textures and surfaces are those of :mod:`orias.sim.texture`."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_ADDR, O_REG, Operand
from orias.sim.errors import Fault
from orias.sim.exec_texture import by_object, dimension, reduce_in
from orias.sim.ops_int import I32, I64, U32, U64
from orias.sim.ptx.integer import Builder
from orias.sim.ptx.matrix import elements
from orias.sim.ptx.site import UNSIGNED, PtxSite, bits_of
from orias.sim.site import Exec, Getter
from orias.sim.state import Active, Machine
from orias.sim.texture import Surface, Texture

Arr = npt.NDArray[Any]
_DIMS: Final[dict[str, tuple[int, bool]]] = {
    "1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True),
}  # fmt: skip
_AXES: Final = ("width", "height", "depth")


def _handle(s: PtxSite, o: Operand) -> Getter:
    """The handle in a register, or that of a reference by name."""
    if o.kind != O_ADDR or o.var is None:
        raise s.unknown("reference")
    if o.var.type in ("texref", "surfref"):
        name = o.var.name
        return lambda m, a: np.full(1, m.arena.bindings.get(name, 0), U64)
    if o.var.space != "reg" or o.value:
        raise s.unknown("reference")
    reg = Operand(O_REG)
    reg.var, reg.comp = o.var, o.comp
    return s.src(reg, "b64")


def _place(s: PtxSite, o: Operand) -> list[Operand]:
    if len(o.elems) != 1:
        raise s.unknown("sampler")
    return elements(o.elems[0])


def _texture(s: PtxSite) -> Exec:
    d_type, c_type = s.types[-2:]
    dims, layered = _DIMS.get(s.mods.get("dim", ""), (0, False))
    if (
        s.has("multisample")
        or bits_of(d_type) != 32
        or "x2" in d_type
        or not dims
        or s.mods.get("mode") not in (None, "base", "level", "grad")
    ):
        raise s.unknown()
    where = s.ops[1]
    handle = _handle(s, where)
    coords = [s.src(o, "b32") for o in _place(s, where)[: dims + layered]]
    level = s.src(s.ops[2], "b32") if s.mods.get("mode") == "level" else None
    puts = [s.dst(o, "b32") for o in elements(s.ops[0])]
    gather = s.name == "tld4"
    component = "rgba".index(s.mods["comp"]) if gather else 0

    def run(m: Machine, a: Active) -> None:
        words = [np.ascontiguousarray(np.broadcast_to(g(m, a), (a.n,))) for g in coords]
        detail = np.broadcast_to(level(m, a), (a.n,)) if level is not None else None
        out = [np.zeros(a.n, U32) for _ in range(4)]
        for t, who in by_object(m, a, handle(m, a), Texture):
            layer = words[0][who] if layered else None
            if t.dims != dims or (t.layers() > 0) != layered:
                raise Fault(s.unknown().error, f"{s.sig.text} on a texture {t.kind}", int(who[0]))
            place = [w[who] for w in words[layered:]]
            floats = [w.view(np.float32) for w in place]
            if gather:
                part = t.gather(component, floats)
            elif c_type == "f32":
                part = t.sample(floats, layer, None if detail is None else detail[who].view(np.float32))
            elif detail is None:
                part = t.fetch([w.view(I32) for w in place], layer)
            else:
                part = [np.zeros(len(who), U32) for _ in range(4)]
                for k in np.unique(detail[who]):
                    some = np.flatnonzero(detail[who] == k)
                    each = t.fetch(
                        [w[some].view(I32) for w in place], layer[some] if layer is not None else None, int(k)
                    )
                    for total, v in zip(part, each, strict=True):
                        total[some] = v
            for total, v in zip(out, part, strict=True):
                total[who] = v
        for put, v in zip(puts, out, strict=False):
            put(m, a, v)

    return run


def _query(s: PtxSite) -> Exec:
    axis = _AXES.index(s.mods.get("query", "")) if s.mods.get("query") in _AXES else -1
    if axis < 0 or s.has("level"):
        raise s.unknown()
    handle, put = _handle(s, s.ops[1]), s.dst(s.ops[0], "b32")

    def run(m: Machine, a: Active) -> None:
        out = np.zeros(a.n, U32)
        for t, who in by_object(m, a, handle(m, a), object):
            out[who] = dimension(t, axis)
        put(m, a, out)

    return run


def _surface(s: PtxSite, o: Operand) -> tuple[Getter, list[Getter], bool, str]:
    """(handle, coordinates, whether the first is a layer, what happens outside)."""
    dims, layered = _DIMS.get(s.mods.get("dim", ""), (0, False))
    if s.mods.get("mode") != "b" or not dims:
        raise s.unknown()
    coords = [s.src(e, "b32") for e in _place(s, o)[: dims + layered]]
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
        for t, who in by_object(m, a, handle(m, a), Surface):
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

    def run(m: Machine, a: Active) -> None:
        place = _coordinates(m, a, coords, layered)
        raw = np.zeros((a.n, max(size, 4)), np.uint8)
        values = np.stack([np.broadcast_to(g(m, a), (a.n,)) for g in gets], axis=1)
        raw[:, :size] = np.ascontiguousarray(values).view(np.uint8)
        words = raw.view(U32)
        for t, who in by_object(m, a, handle(m, a), Surface):
            t.store([c[who] for c in place], size, [words[who, k] for k in range(words.shape[1])], mode)

    return run


def _reduce(s: PtxSite) -> Exec:
    handle, coords, layered, mode = _surface(s, s.ops[0])
    type_ = s.types[-1]
    value = s.src(s.ops[1], type_)
    types: dict[str, Any] = {"s32": I32, "s64": I64, "u64": U64, "b64": U64}
    view = types.get(type_, U32)
    op = s.mods["op"].upper()

    def run(m: Machine, a: Active) -> None:
        place = _coordinates(m, a, coords, layered)
        v = np.broadcast_to(value(m, a), (a.n,)).copy().view(view)
        for t, who in by_object(m, a, handle(m, a), Surface):
            reduce_in(t, [c[who] for c in place], bits_of(type_) // 8, v[who], op, mode)

    return run


TEXTURE: Final[dict[str, Builder]] = {
    "tex": _texture, "tld4": _texture, "txq": _query, "suq": _query, "suld": _load, "sust": _store, "sured": _reduce,
}  # fmt: skip
