"""Builders for texture and surface instructions: TEX, TLD, TLD4, TXD, TXQ, SULD, SUST, SURED.

Handles come from a register (``.B``), from a word of constant bank 0 whose number is the last immediate, or from a pair
of uniform registers.  The low 20 bits are the texture's number.  The bits above, or the upper register of the pair, are
the sampler's; 0 stands for the texture's own.  Results fill the second destination, then the first; components outside
the mask are left out.  :mod:`orias.isa.fetch` describes the order of the values.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.fetch import bindless, dimensions, scattered
from orias.isa.operand import (
    K_R,
    K_UR,
    K_WORD,
    Opnd,
    imm_value,
    in_file,
    is_imm,
    is_zero_reg,
    kind_of,
    payload,
    reg_id,
    reg_plus,
    word_text,
)
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter, Site, constant, everywhere
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import I32, I64, U32, U64
from orias.sim.sass.exec_copy import combine
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Request, Texture, detail_of, lookup

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]
Objects = Iterator[tuple[Any, Sampler | None, Arr]]
"""(object, sampler if not the object's own, positions of the threads) for each different handle."""
Look = Callable[[Texture, list[Arr], Request], tuple[list[Arr], Arr]]
"""A method of textures that returns the words of the four components, and which threads met absent texels."""

_INDEX: Final = 0xFFFFF
_SURFACES: Final[dict[str, tuple[int, bool]]] = {
    "1D": (1, False), "2D": (2, False), "3D": (3, False), "1D_ARRAY": (1, True), "2D_ARRAY": (2, True),
}  # fmt: skip
"""Shape word of a surface -> (number of coordinates, whether it has layers)."""
SHAPES: Final[dict[str, tuple[str, ...]]] = {
    "1D": ("1d",), "2D": ("2d", "1d", "2dms"), "3D": ("3d",), "CUBE": ("cube",),
    "ARRAY_1D": ("a1d",), "ARRAY_2D": ("a2d", "a1d", "a2dms"), "ARRAY_CUBE": ("acube",),
}  # fmt: skip
"""Shape word -> kinds of textures that fit; textures of one dimension are sampled as images of one row."""


def _next(o: Opnd, k: int) -> Opnd:
    return o if is_zero_reg(o) else reg_plus(o, k)


class _Handle:
    """The operand that holds the handle."""

    def __init__(self, s: Site, register: Opnd | None, first: int = 0) -> None:
        """`first`: index of the first source that may hold it."""
        self.get: Getter
        self.upper: Getter = constant(0)
        found = [o for o in s.src[first:] if in_file(o, K_UR) and reg_id(o) != 255]
        if register is not None:
            self.get = s.raw(register)
        elif found:
            self.get = s.raw(found[-1])
            self.upper = s.raw(_next(found[-1], 1))
        else:
            numbers = [imm_value(o) for o in s.src[first:] if is_imm(o)]
            if len(numbers) < 2:
                raise s.unknown("handle")
            slot = numbers[1]
            self.get = lambda m, a: m.const32[0][slot : slot + 1]


def by_object(
    m: Machine, a: Active, handles: Arr, type_: type[Any], samplers: Arr | None = None, lenient: bool = False
) -> Objects:
    """The objects of the threads' handles.

    `samplers`: numbers that replace those in the handles where they are not 0.  `lenient`: handles without an object
    are skipped.
    """
    low = np.broadcast_to(handles, (a.n,)).astype(U64) & np.uint64(0xFFFFFFFF)
    # A reference used as a value has the highest bit set (up to sm_89).
    index, sampler = low & np.uint64(_INDEX), low >> np.uint64(20) & np.uint64(0x7FF)
    if samplers is not None:
        given = np.broadcast_to(samplers, (a.n,)).astype(U64)
        sampler = np.where(given != 0, given, sampler)
    both = index | sampler << np.uint64(32)
    alike = bool((both == both[0]).all())
    for key in both[:1] if alike else np.unique(both):
        who = np.arange(a.n) if alike else np.flatnonzero(both == key)
        number, other = int(key) & _INDEX, int(key) >> 32
        if lenient and not isinstance(m.arena.objects.get(number), type_):
            continue
        thing = lookup(m.arena.objects, number, type_, int(who[0]), int(low[who[0]]))
        look = None
        if other not in (0, number) and isinstance(thing, Texture):
            look = lookup(m.arena.objects, other, Sampler, int(who[0]), other)
        yield thing, look, who


def look_at(
    objects: Objects,
    fits: Callable[[Texture], bool],
    name: str,
    place: Sequence[Arr],
    steps: Sequence[Sequence[Arr]],
    whole: Request,
    look: Look = Texture.sample,
) -> tuple[list[Arr], Arr]:
    """Samples for all threads, each in its texture: (words of the four components, which threads met absent texels).

    `name`: the instruction, for the fault where a texture does not fit.  `steps`: empty, or the gradients of the
    coordinates along screen x and y, from which the level of detail is computed.  Coordinates beyond a texture's
    dimensions are ignored.
    """
    n = len(place[0])
    out, missing = [np.zeros(n, U32) for _ in range(4)], np.zeros(n, np.bool_)
    for t, sampler, who in objects:
        if not fits(t):
            raise Fault(IllegalInstruction, f"{name} on a texture {t.kind}", int(who[0]))
        r = whole.some(who)
        r.sampler = sampler
        # A direction has three coordinates.
        count = 3 if t.is_cube else t.dims
        at, *moves = [[x[who] for x in each[:count]] for each in (place, *steps)]
        if moves:
            r.lod = detail_of(t, t.sampler if sampler is None else sampler, at, moves)
        part, missing[who] = look(t, at, r)
        for total, v in zip(out, part, strict=True):
            total[who] = v
    return out, missing


def clamped_fetch(t: Texture, place: list[Arr], r: Request) -> tuple[list[Arr], Arr]:
    """An integer fetch with the level clamped to the existing ones."""
    if r.level is not None:
        r.level = np.clip(r.level.view(np.int32), 0, len(t.levels) - 1).astype(U32)
    return t.fetch(place, r)


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
        self.absent = s.setp(s.preds[0]) if s.preds else None

    def __call__(self, m: Machine, a: Active, components: list[Arr], missing: Arr) -> None:
        values = [components[k] for k in self.components]
        if self.half:
            values.extend([np.zeros(a.n, U32)] * (len(values) % 2))
            patterns = [half.of_f32(v) for v in values]
            values = [half.pack(x, y) for x, y in zip(patterns[0::2], patterns[1::2], strict=True)]
        for put, v in zip(self.puts, values, strict=True):
            put(m, a, v)
        if self.absent is not None:
            self.absent(m, a, missing)


class _Values:
    """The values of a fetch by meaning; absent ones are None."""

    def __init__(self, s: Site) -> None:
        at = next(k for k, o in enumerate(s.src) if kind_of(o) == K_WORD)
        self.shape = word_text(s.src[at])
        self.mask = payload(s.src[at + 1]) if len(s.src) > at + 1 else 15
        if self.shape not in SHAPES:
            raise s.unknown(self.shape)
        layered, count = self.shape.startswith("ARRAY_"), dimensions(self.shape)
        names = ["layer"] * layered + ["place"] * count + ["handle"] * bindless(s.op)
        if s.op.base == "TXD":
            packed = layered or s.has("AOFFI")
            names = ["handle"] * bindless(s.op) + ["place"] * count + ["layer"] * packed + ["steps"] * (2 * count)
        else:
            scalar = "sample" if s.has("MS") else "level"
            names += [scalar] * (s.has("LL") or s.has("MS")) + ["offsets"] * s.has("AOFFI") + ["depth"] * s.has("DC")
        total = len(names)
        first = layered + count
        if s.op.base == "TXD":
            first = total - 2 * count
        elif s.has("SCR"):
            first = scattered(total)[0]
        # Before legalisation, a value with a source of its own may be an immediate.
        flat = [_next(s.src[0], n) for n in range(first)]
        if total > first:
            flat += [_next(s.src[1], n) if in_file(s.src[1], K_R) else s.src[1] for n in range(total - first)]
        found: dict[str, list[Opnd]] = {}
        for name, o in zip(names, flat, strict=True):
            found.setdefault(name, []).append(o)
        self.place = [s.raw(o) for o in found["place"]]
        steps = [s.raw(o) for o in found.get("steps", [])]
        # The steps alternate between screen x and y.
        self.steps = [steps[0::2], steps[1::2]] if steps else []
        one = {
            name: s.raw(found[name][0]) for name in ("layer", "level", "sample", "offsets", "depth") if name in found
        }
        self.layer, self.level, self.sample = one.get("layer"), one.get("level"), one.get("sample")
        self.offsets, self.depth = one.get("offsets"), one.get("depth")
        self.layered = layered
        self.handle = _Handle(s, found["handle"][0] if "handle" in found else None, 1 + (total > first))


def signed_field(word: Arr, bits: int, first: int = 0) -> Arr:
    """The signed field of `bits` bits from bit `first` on."""
    sign = 1 << bits - 1
    field: Arr = ((word.astype(np.int64) >> first & (1 << bits) - 1) ^ sign) - sign
    return field


def signed_fields(packed: Arr, count: int, bits: int, spacing: int) -> list[Arr]:
    """`count` signed fields of `bits` bits, one every `spacing` bits."""
    return [signed_field(packed, bits, k * spacing) for k in range(count)]


def texture(s: Site) -> Exec:
    """TEX, TXD, TLD, TLD4.  Forms without a level, and threads outside quads, use the first level."""
    base = s.op.base
    v = _Values(s)
    if s.has("LB") or s.has("LC") or s.has("PTP"):
        raise s.unknown("level")
    component = next((k for k, x in enumerate("RGBA") if x in s.op.mods), 0)
    put = _Results(s, v.mask)
    quads = s.has("NDV")
    fields = (6, 8) if base == "TLD4" else (4, 4)
    look: Look = Texture.sample
    if base == "TLD":
        look = clamped_fetch if s.has("CL") else Texture.fetch
    elif base == "TLD4":
        look = lambda t, place, r: t.gather(component, place, r)  # noqa: E731

    def fits(t: Texture) -> bool:
        return t.kind in SHAPES[v.shape] and (t.samples() > 1) == (v.sample is not None)

    def request(m: Machine, a: Active) -> Request:
        r = Request()
        layer = everywhere(v.layer, m, a) if v.layer is not None else None
        if base == "TXD" and layer is not None and s.has("AOFFI"):
            r.offsets = signed_fields(layer >> np.uint32(16), len(v.place), 4, 4)
            layer = layer & np.uint32(0xFFFF)
        if v.layered:
            r.layer = layer
        if v.level is not None:
            given = everywhere(v.level, m, a)
            if base == "TLD":
                r.level = given
            else:
                r.lod = given.view(np.float32)
        if v.offsets is not None:
            r.offsets = signed_fields(everywhere(v.offsets, m, a), len(v.place), *fields)
        if v.depth is not None:
            r.depth = everywhere(v.depth, m, a).view(np.float32)
        if v.sample is not None:
            r.sample = everywhere(v.sample, m, a)
        return r

    def run(m: Machine, a: Active) -> None:
        place = [everywhere(g, m, a).view(np.int32 if base == "TLD" else np.float32) for g in v.place]
        steps = [[everywhere(g, m, a).view(np.float32) for g in each] for each in v.steps]
        whole = request(m, a)
        if quads:
            steps = _differences(a, place)
        objects = by_object(m, a, v.handle.get(m, a), Texture, v.handle.upper(m, a), quads)
        put(m, a, *look_at(objects, fits, f"{s.op.name} {v.shape}", place, steps, whole, look))

    return run


def _differences(a: Active, place: list[Arr]) -> list[list[Arr]]:
    """Differences of the coordinates in each quad: of the second lane minus the first, then of the third minus the first."""
    lanes = [a.spread(c).reshape(-1, 8, 4) for c in place]
    steps = [[np.repeat(c[:, :, k] - c[:, :, 0], 4, axis=1) for c in lanes] for k in (1, 2)]
    return [[a.gather(x.reshape(-1, 32)) for x in each] for each in steps]


def dimension(t: Texture | Surface, axis: int, level: int = 0) -> int:
    """A size as txq and suq give it: texels along x (0), y, z; for z of arrays the layers; 0 for absent dimensions."""
    if isinstance(t, Texture):
        return t.layers() if axis == 2 and t.layers() else t.size(axis, level)
    sizes = t.sizes
    if t.kind.startswith("a"):
        sizes = [*sizes[:-1], *[0] * (3 - len(sizes)), sizes[-1]]
    return sizes[axis] if axis < len(sizes) else 0


def query(s: Site) -> Exec:
    """TXQ of dimensions at a level."""
    at = next(k for k, o in enumerate(s.src) if kind_of(o) == K_WORD)
    if word_text(s.src[at]) != "TEX_HEADER_DIMENSION":
        raise s.unknown(word_text(s.src[at]))
    registers = [o for o in s.src[:at] if in_file(o, K_R)]
    handle = _Handle(s, registers[0] if s.has("B") else None)
    level = s.raw(_next(registers[0], 1) if s.has("B") else registers[0])
    mask = payload(s.src[-1])
    axes = [k for k in range(3) if mask >> k & 1]
    high, low = s.regs[:2]
    puts = [s.set32(o) for o in (_next(low, 0), _next(low, 1), high)[: len(axes)]]

    def run(m: Machine, a: Active) -> None:
        out = [np.zeros(a.n, U32) for _ in axes]
        levels = everywhere(level, m, a)
        for t, _, who in by_object(m, a, handle.get(m, a), object):
            for total, axis in zip(out, axes, strict=True):
                total[who] = [dimension(t, axis, int(k)) for k in levels[who]]
        for put, v in zip(puts, out, strict=True):
            put(m, a, v)

    return run


def _surface(s: Site, first: int) -> tuple[Callable[[Machine, Active], list[Arr]], _Handle, str]:
    """(coordinates, handle, mode for coordinates outside); `first`: index of the first source after address and data."""
    shape = next((x for x in s.op.mods if x in _SURFACES), "")
    count = sum(_SURFACES[shape]) if shape else 0
    if not count:
        raise s.unknown("shape")
    gets = [s.raw(_next(s.src[1], k)) for k in range(count)]
    rest = s.src[first:]
    handle = _Handle(s, rest[0] if rest and in_file(rest[0], K_R) else None, first)
    mode = "trap" if s.has("TRAP") else "zero" if s.has("IGN") else "clamp"

    def coordinates(m: Machine, a: Active) -> list[Arr]:
        return [np.broadcast_to(g(m, a), (a.n,)) for g in gets]

    return coordinates, handle, mode


def _bytes(s: Site) -> int:
    return next((n for x, n in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16)) if s.has(x)), 4)


def _raw(s: Site) -> None:
    if not s.has("D") or not s.has("BA"):
        raise s.unknown("formatted access")


_COMPONENTS: Final = {"R": 1, "RG": 2}


def load(s: Site) -> Exec:
    """SULD.D.BA: bytes of a surface."""
    _raw(s)
    coordinates, handle, mode = _surface(s, 4)
    size = _bytes(s)
    puts = [s.set32(_next(s.regs[0], k)) for k in range(max(1, size // 4))]

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        out = [np.zeros(a.n, U32) for _ in puts]
        for t, _, who in by_object(m, a, handle.get(m, a), Surface):
            for total, v in zip(out, t.load([c[who] for c in place], size, mode), strict=True):
                total[who] = v
        for put, v in zip(puts, out, strict=True):
            put(m, a, v)

    return run


def store(s: Site) -> Exec:
    """SUST.D.BA, and SUST.P, which converts components."""
    formatted = s.has("P")
    if not formatted:
        _raw(s)
    coordinates, handle, mode = _surface(s, 5)
    size = _bytes(s)
    count = next((n for x, n in _COMPONENTS.items() if s.has(x)), 4) if formatted else max(1, size // 4)
    gets = [s.raw(_next(s.src[4], k)) for k in range(count)]

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        words = [np.broadcast_to(g(m, a), (a.n,)) for g in gets]
        for t, _, who in by_object(m, a, handle.get(m, a), Surface):
            if formatted:
                t.store_formatted([c[who] for c in place], [w[who] for w in words], mode)
            else:
                t.store([c[who] for c in place], size, [w[who] for w in words], mode)

    return run


_REDUCTIONS: Final = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")


def reduce_in(t: Surface, coords: list[Arr], size: int, values: Arr, op: str, mode: str, texels: bool = False) -> None:
    """Integer reductions, one thread after the other, in the type of `values`; x is in texels (`texels`) or in bytes."""
    if texels:
        coords = [(coords[0].astype(np.int64) * t.texel).astype(np.int32), *coords[1:]]
    at, outside = t.offsets(coords, size, mode)
    memory = t.bytes()
    for k, offset in enumerate(at):
        if mode == "zero" and outside[k]:
            continue
        here = memory[offset : offset + size]
        here[:] = combine(op, here.copy().view(values.dtype), values[k : k + 1]).view(np.uint8)


def reduce(s: Site) -> Exec:
    """SURED.D; with .BA, x is in bytes."""
    if not s.has("D"):
        raise s.unknown("formatted access")
    op = next((x for x in _REDUCTIONS if s.has(x)), "")
    signed = any(s.has(x) for x in ("S32", "SD32", "S64", "SD64"))
    wide = any(s.has(x) for x in ("64", "U64", "S64", "SD64"))
    if not op:
        raise s.unknown("operation")
    coordinates, handle, mode = _surface(s, 5)
    value = s.raw64(s.src[4]) if wide else s.raw(s.src[4])
    type_: Any = (I64 if signed else U64) if wide else I32 if signed else U32
    texels = not s.has("BA")

    def run(m: Machine, a: Active) -> None:
        place = coordinates(m, a)
        v = np.broadcast_to(value(m, a), (a.n,)).copy().view(type_)
        for t, _, who in by_object(m, a, handle.get(m, a), Surface):
            reduce_in(t, [c[who] for c in place], 8 if wide else 4, v[who], op, mode, texels)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "TEX": texture, "TLD": texture, "TLD4": texture, "TXD": texture, "TXQ": query, "SULD": load, "SUST": store, "SURED": reduce,
}  # fmt: skip
