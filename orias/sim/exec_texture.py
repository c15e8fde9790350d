"""Builders for texture and surface instructions: TEX, TLD, TLD4, TXD, TXQ, SULD, SUST, SURED.

Handles come from a register (``.B``: the first word behind the coordinates), from a word of constant bank 0 whose number is the last immediate,
or from a uniform register.  Results fill the second destination, then the first, components that the mask lacks left out.  Coordinates
are spread over the sources as ptxas writes them: ``.SCR`` over pairs or single registers, else in one group.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_IMM, K_R, K_UR, K_WORD, Opnd, is_zero_reg, kind, payload, word_text
from orias.sim import ops_half as half
from orias.sim.errors import Fault
from orias.sim.exec_copy import combine
from orias.sim.ops_int import U32, U64
from orias.sim.site import Exec, Getter, Site
from orias.sim.state import Active, Machine
from orias.sim.texture import Surface, Texture, lookup

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]
_COORDINATES: Final[dict[str, tuple[int, bool]]] = {
    "1D": (1, False), "2D": (2, False), "3D": (3, False), "ARRAY_1D": (1, True), "ARRAY_2D": (2, True),
    "1D_ARRAY": (1, True), "2D_ARRAY": (2, True),
}  # fmt: skip
"""(coordinates, with a layer) by the word that names the shape."""


def _next(o: Opnd, k: int) -> Opnd:
    return o if is_zero_reg(o) else o + (k << 15)


class _Handle:
    """Where the handle is."""

    def __init__(self, s: Site, register: Opnd | None, first: int = 0) -> None:
        """`first`: position of the first source that may hold it."""
        self.get: Getter
        found = [o for o in s.src[first:] if kind(o) == K_UR and payload(o) != 255]
        if register is not None:
            self.get = s.raw(register)
        elif found:
            self.get = s.raw(found[-1])
        else:
            numbers = [payload(o) for o in s.src[first:] if kind(o) == K_IMM]
            if len(numbers) < 2:
                raise s.unknown("handle")
            slot = numbers[1]
            self.get = lambda m, a: m.const32[0][slot : slot + 1]


def by_object(m: Machine, a: Active, handles: Arr, type_: type[Any]) -> Iterator[tuple[Any, Arr]]:
    """(object, positions of the threads) for each handle among the threads'."""
    v = np.broadcast_to(handles, (a.n,))
    for h in np.unique(v):
        who = np.flatnonzero(v == h)
        yield lookup(m.arena.objects, int(h), type_, int(who[0])), who


def _texture_sources(s: Site) -> tuple[_Handle, list[Opnd], list[Opnd], str, int]:
    """(handle, registers with the coordinates, those behind them, shape, mask of components)."""
    at = next(k for k, o in enumerate(s.src) if kind(o) == K_WORD)
    shape = word_text(s.src[at])
    mask = payload(s.src[at + 1]) if len(s.src) > at + 1 else 15
    registers = [o for o in s.src[:at] if kind(o) == K_R]
    count, layered = _COORDINATES.get(shape, (0, False))
    count += layered
    if not count:
        raise s.unknown(shape)
    bindless = s.has("B")
    if not s.has("SCR") or bindless:
        coords = [_next(registers[0], k) for k in range(count)]
        rest = registers[1:]
        handle = _Handle(s, rest[0] if bindless else None)
        more = [_next(rest[0], 1)] if bindless else rest[:1]
        return handle, coords, more, shape, mask
    handle = _Handle(s, None)
    if len(registers) == 1:
        return handle, [_next(registers[0], k) for k in range(count)], [], shape, mask
    level = s.has("LL") or s.has("LB")
    first = -(-(count + level) // 2)
    flat = [_next(registers[0], k) for k in range(first)] + [
        _next(registers[1], k) for k in range(count + level - first)
    ]
    return handle, flat[:count], flat[count:], shape, mask


class _Results:
    """The destinations of a texture instruction."""

    def __init__(self, s: Site, mask: int) -> None:
        self.components = [k for k in range(4) if mask >> k & 1]
        self.half = s.has("F16")
        high, low = s.regs[:2]
        per = 1 if self.half else 2
        words = len(self.components) if not self.half else -(-len(self.components) // 2)
        places = [_next(low, k) for k in range(per)] + [_next(high, k) for k in range(per)]
        self.puts = [s.set32(o) for o in places[:words]]

    def __call__(self, m: Machine, a: Active, components: list[Arr]) -> None:
        values = [components[k] for k in self.components]
        if self.half:
            values.extend([np.zeros(a.n, U32)] * (len(values) % 2))
            patterns = [half.pattern(v.view(np.float32).astype(np.float64), False) for v in values]
            values = [half.pack(x, y) for x, y in zip(patterns[0::2], patterns[1::2], strict=True)]
        for put, v in zip(self.puts, values, strict=True):
            put(m, a, v)


def texture(s: Site) -> Exec:
    """TEX, TXD, TLD, TLD4.  The level of TXD and of forms without one is the first."""
    base = s.op.base
    if any(s.has(x) for x in ("AOFFI", "DC", "PTP", "MS", "LC", "CL")) or (base == "TXD" and s.has("B")):
        raise s.unknown()
    handle, coords, more, shape, mask = _texture_sources(s)
    layered = _COORDINATES[shape][1]
    gets = [s.raw(o) for o in coords]
    level = s.raw(more[0]) if s.has("LL") and more else None
    component = next((k for k, x in enumerate("RGBA") if s.has(x)), 0)
    if s.has("LB") or (base == "TLD" and s.has("LL")):
        raise s.unknown("level")
    put = _Results(s, mask)

    def run(m: Machine, a: Active) -> None:
        words = [np.ascontiguousarray(np.broadcast_to(g(m, a), (a.n,))) for g in gets]
        detail = np.broadcast_to(level(m, a), (a.n,)).view(np.float32) if level is not None else None
        out = [np.zeros(a.n, U32) for _ in range(4)]
        for t, who in by_object(m, a, handle.get(m, a), Texture):
            layer = words[0][who] if layered else None
            place = [w[who] for w in words[layered:]][: t.dims]
            if len(place) < t.dims:
                raise Fault(s.unknown().error, f"{s.op.name} {shape} on a texture {t.kind}", int(who[0]))
            if base == "TLD":
                part = t.fetch([w.view(np.int32) for w in place], layer)
            elif base == "TLD4":
                part = t.gather(component, [w.view(np.float32) for w in place])
            else:
                part = t.sample([w.view(np.float32) for w in place], layer, None if detail is None else detail[who])
            for total, v in zip(out, part, strict=True):
                total[who] = v
        put(m, a, out)

    return run


def dimension(t: Texture | Surface, axis: int) -> int:
    """What txq and suq give: texels along x (0), y, z; layers of an array for z, 0 for what there is not."""
    if isinstance(t, Texture):
        return t.layers() if axis == 2 and t.layers() else t.size(axis)
    sizes = t.sizes
    if t.kind.startswith("a"):
        sizes = [*sizes[:-1], *[0] * (3 - len(sizes)), sizes[-1]]
    return sizes[axis] if axis < len(sizes) else 0


def query(s: Site) -> Exec:
    """TXQ of dimensions at the first level."""
    at = next(k for k, o in enumerate(s.src) if kind(o) == K_WORD)
    if word_text(s.src[at]) != "TEX_HEADER_DIMENSION":
        raise s.unknown(word_text(s.src[at]))
    registers = [o for o in s.src[:at] if kind(o) == K_R]
    handle = _Handle(s, registers[0] if s.has("B") else None)
    mask = payload(s.src[-1])
    axes = [k for k in range(3) if mask >> k & 1]
    high, low = s.regs[:2]
    puts = [s.set32(o) for o in (_next(low, 0), _next(low, 1), high)[: len(axes)]]

    def run(m: Machine, a: Active) -> None:
        out = [np.zeros(a.n, U32) for _ in axes]
        for t, who in by_object(m, a, handle.get(m, a), object):
            for total, axis in zip(out, axes, strict=True):
                total[who] = dimension(t, axis)
        for put, v in zip(puts, out, strict=True):
            put(m, a, v)

    return run


def _surface(s: Site, first: int) -> tuple[Callable[[Machine, Active], list[Arr]], _Handle, str]:
    """(coordinates, handle, what happens outside); `first`: position of the first source behind the address and the data."""
    shape = next((x for x in s.op.mods if x in _COORDINATES), "")
    count = sum(_COORDINATES[shape]) if shape else 0
    if not count:
        raise s.unknown("shape")
    gets = [s.raw(_next(s.src[1], k)) for k in range(count)]
    rest = s.src[first:]
    handle = _Handle(s, rest[0] if rest and kind(rest[0]) == K_R else None, first)
    mode = "trap" if s.has("TRAP") else "zero" if s.has("IGN") else "clamp"

    def coordinates(m: Machine, a: Active) -> list[Arr]:
        return [np.broadcast_to(g(m, a), (a.n,)) for g in gets]

    return coordinates, handle, mode


def _bytes(s: Site) -> int:
    return next((n for x, n in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16)) if s.has(x)), 4)


def _raw(s: Site) -> None:
    if not s.has("D") or not s.has("BA"):
        raise s.unknown("formatted access")


def load(s: Site) -> Exec:
    """SULD.D.BA: bytes of a surface."""
    _raw(s)
    coordinates, handle, mode = _surface(s, 4)
    size = _bytes(s)
    puts = [s.set32(_next(s.regs[0], k)) for k in range(max(1, size // 4))]

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        out = [np.zeros(a.n, U32) for _ in puts]
        for t, who in by_object(m, a, handle.get(m, a), Surface):
            for total, v in zip(out, t.load([c[who] for c in place], size, mode), strict=True):
                total[who] = v
        for put, v in zip(puts, out, strict=True):
            put(m, a, v)

    return run


def store(s: Site) -> Exec:
    """SUST.D.BA."""
    _raw(s)
    coordinates, handle, mode = _surface(s, 5)
    size = _bytes(s)
    gets = [s.raw(_next(s.src[4], k)) for k in range(max(1, size // 4))]

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        words = [np.broadcast_to(g(m, a), (a.n,)) for g in gets]
        for t, who in by_object(m, a, handle.get(m, a), Surface):
            t.store([c[who] for c in place], size, [w[who] for w in words], mode)

    return run


_REDUCTIONS: Final = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")


def reduce_in(t: Surface, coords: list[Arr], size: int, values: Arr, op: str, mode: str) -> None:
    """A reduction of integers in a surface, one thread after the other; `values` has the type."""
    at, outside = t.offsets(coords, size, mode)
    memory = t.bytes()
    for k, offset in enumerate(at):
        if mode == "zero" and outside[k]:
            continue
        here = memory[offset : offset + size]
        here[:] = combine(op, here.copy().view(values.dtype), values[k : k + 1]).view(np.uint8)


def reduce(s: Site) -> Exec:
    """SURED.D.BA."""
    _raw(s)
    op = next((x for x in _REDUCTIONS if s.has(x)), "")
    wide = s.has("U64") or s.has("64") or s.has("S64")
    if not op:
        raise s.unknown("operation")
    coordinates, handle, mode = _surface(s, 5)
    value = s.raw64(s.src[4]) if wide else s.raw(s.src[4])
    type_: Any = U64 if wide else np.int32 if s.has("S32") else U32
    if s.has("S64"):
        type_ = np.int64

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        v = np.broadcast_to(value(m, a), (a.n,)).copy().view(type_)
        for t, who in by_object(m, a, handle.get(m, a), Surface):
            reduce_in(t, [c[who] for c in place], 8 if wide else 4, v[who], op, mode)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "TEX": texture, "TLD": texture, "TLD4": texture, "TXD": texture, "TXQ": query, "SULD": load, "SUST": store, "SURED": reduce,
}  # fmt: skip
