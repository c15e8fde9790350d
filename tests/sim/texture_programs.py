"""Texture instructions, a kernel each, and what they give by the CUDA programming guide (texture and cubemap fetching) and PTX's manual.

The model here goes texel by texel in plain Python and shares nothing with the simulator.  Kernels read a row of 16 words: coordinates at 0,
a level or depth at 3, gradients at 4 and 8, a layer or sample at 12, integers at 13; they store four components and the predicate.
"""

import math
from typing import Any, Final

import numpy as np

from orias.sim import Sampler, Texture

THREADS: Final = 32
_KERNEL = """.visible .entry k{n}(.param .u64 pin, .param .u64 pout, .param .u64 pt, .param .u64 ps) {{
.reg .b64 %rd<12>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b16 %h<8>; .reg .u32 %t; .reg .pred %p<4>;
ld.param.u64 %rd0, [pin]; ld.param.u64 %rd8, [pout]; ld.param.u64 %rd1, [pt]; ld.param.u64 %rd4, [ps]; mov.u32 %t, %tid.x;
mad.wide.u32 %rd2, %t, 64, %rd0; mad.wide.u32 %rd3, %t, 32, %rd8;
ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd2]; ld.global.v4.f32 {{%f4, %f5, %f6, %f7}}, [%rd2+16];
ld.global.v4.f32 {{%f8, %f9, %f10, %f11}}, [%rd2+32]; ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd2+48];
mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u32 %r8, 0;
{body}
st.global.v4.u32 [%rd3], {{%r4, %r5, %r6, %r7}}; st.global.u32 [%rd3+16], %r8;
ret; }}
"""
_OUT = "{%r4, %r5, %r6, %r7}"
_DIMS = {"1d": 1, "2d": 2, "3d": 3, "cube": 3, "2dms": 2}
_SHAPES = {"1d": (16,), "2d": (8, 16), "3d": (4, 8, 16), "cube": (8, 8), "2dms": (8, 16)}
LAYERS, SAMPLES, FACES, LEVELS = 3, 4, 6, 3


def module(arch: str, programs: list["Program"], mode: str = "") -> str:
    """The programs as kernels k0, k1, ..."""
    kernels = [_KERNEL.format(n=n, body=p.text) for n, p in enumerate(programs)]
    return f".version 8.7\n.target {arch}{mode}\n.address_size 64\n" + "".join(kernels)


def _vector(name: str, first: int, count: int) -> str:
    names = [f"%{name}{first + k}" for k in range(count)]
    return "{" + ", ".join(names + names[-1:] * (count == 3)) + "}"


class Program:
    """One form: `kind` with a mode (``base``, ``level``, ``grad`` or ``tld4``), a type, and options (``offset``, ``depth``, ``pred``, ``integer``, ``sampler``)."""

    def __init__(self, kind: str, mode: str, type_: str = "f32", options: tuple[str, ...] = ()) -> None:
        self.kind, self.mode, self.type, self.options = kind, mode, type_, options
        self.flat = kind.removeprefix("a")
        self.dims = _DIMS[self.flat]
        self.layered = kind.startswith("a")

    @property
    def name(self) -> str:
        return "-".join((self.mode, self.kind, self.type, *self.options))

    def has(self, option: str) -> bool:
        return option in self.options

    @property
    def text(self) -> str:
        integer = self.has("integer")
        place = [f"%{'r' if integer else 'f'}{k + integer}" for k in range(self.dims)]
        if self.layered or self.flat.endswith("ms"):
            place.insert(0, "%r0")
        if self.layered and self.flat.endswith("ms"):
            # sample and layer
            place.insert(0, "%r1")
        at = "{" + ", ".join(place + place[-1:] * (len(place) == 3)) + "}"
        where = f"[%rd1, {'%rd4, ' if self.has('sampler') else ''}{at}]"
        more = ""
        if self.mode == "level":
            more += ", %r3" if integer else ", %f3"
        if self.mode == "grad":
            more += f", {_vector('f', 4, self.dims)}, {_vector('f', 8, self.dims)}"
        if self.has("offset"):
            more += f", {_vector('r', 1, self.dims)}"
        if self.has("depth"):
            more += ", %f3"
        out, after = _OUT, ""
        if self.type == "f16x2":
            out = "{%r4, %r5}"
        elif self.type == "f16":
            out, after = "{%h0, %h1, %h2, %h3}", " mov.b32 %r4, {%h0, %h1}; mov.b32 %r5, {%h2, %h3};"
        if self.has("pred"):
            out, after = out + "|%p0", after + " selp.u32 %r8, 1, 0, %p0;"
        source = "s32" if integer else "f32"
        vec = "v2" if self.type == "f16x2" else "v4"
        if self.mode == "tld4":
            return f"tld4.g.{self.kind}.v4.{self.type}.f32 {out}, {where}{more};{after}"
        mode = "" if self.mode == "base" else "." + self.mode
        return f"tex{mode}.{self.kind}.{vec}.{self.type}.{source} {out}, {where}{more};{after}"

    def needs_quads(self) -> bool:
        """Gradients that TXD does not take."""
        return self.mode == "grad" and (self.flat in ("3d", "cube") or self.has("depth"))

    # -- data

    def scene(self) -> "Scene":
        """A texture for it."""
        return Scene(self)

    def inputs(self) -> np.ndarray:
        """[threads, 16] words."""
        r = np.random.default_rng(len(self.name) * 7 + ord(self.name[-1]))
        data = (r.random((THREADS, 16)) * 2 - 1).astype(np.float32)
        # Gradients of one direction are the longer ones, so that the level is well between two.
        scale = 2.0 ** r.choice([-4.3, -3.2, -2.2, -1.3], THREADS)
        for k in range(self.dims):
            data[:, 4 + k] *= scale.astype(np.float32) * 0.1
            data[:, 8 + k] = np.where(k == r.integers(0, self.dims), scale, 0) * r.choice([-1, 1], THREADS)
        data[:, 3] = r.random(THREADS) * (3 if self.mode == "level" else 1)
        words = data.view(np.uint32)
        words[:, 12] = r.integers(0, SAMPLES if self.kind == "2dms" else LAYERS + 2, THREADS)
        low, high = (-2, 18) if self.has("integer") else (-8, 8)
        words[:, 13:] = r.integers(low, high, (THREADS, 3)).astype(np.int32).view(np.uint32)
        if self.has("integer"):
            words[:, 15] = r.integers(0, LEVELS, THREADS) if self.mode == "level" else words[:, 15]
            words[:, 13] = r.integers(0, SAMPLES, THREADS) if self.kind == "a2dms" else words[:, 13]
        return words


class Scene:
    """Texels and a sampler, and the model of what instructions make of them."""

    def __init__(self, p: Program) -> None:
        self.p = p
        r = np.random.default_rng(sum(map(ord, p.name)))
        outer = (LAYERS,) * p.layered + (FACES,) * (p.flat == "cube") + (SAMPLES,) * p.flat.endswith("ms")
        levels = LEVELS if not p.flat.endswith("ms") else 1
        shapes = [(*outer, *(n >> k for n in _SHAPES[p.flat])) for k in range(levels)]
        self.channels = 4 if p.mode == "tld4" and not p.has("depth") else 2
        self.levels: list[np.ndarray] = []
        for s in shapes:
            size = (*s, self.channels)
            if p.type in ("s32", "u32"):
                self.levels.append(r.integers(-1000, 1000, size).astype(np.int32 if p.type == "s32" else np.uint32))
            else:
                self.levels.append(r.standard_normal(size).astype(np.float32))
        self.absent = r.random(shapes[0]) < 0.2 if p.has("pred") else None
        self.linear = p.type not in ("s32", "u32") and p.mode != "tld4"
        self.address = ["wrap", "mirror", "clamp"] if p.flat != "cube" else ["clamp"] * 3
        sampler = Sampler(
            filter="linear" if self.linear else "point", address=self.address, normalized=True, compare="ge"
        )
        apart = p.has("sampler")
        own = Sampler() if apart else sampler
        self.texture = Texture(self.levels, p.kind, channels=self.channels, sampler=own, absent=self.absent)
        self.sampler: Any = sampler if apart else np.uint64(0)

    def _wrap(self, axis: int, i: int, n: int) -> int:
        mode = self.address[axis]
        if mode == "wrap":
            return i % n
        if mode == "mirror":
            i %= 2 * n
            return i if i < n else 2 * n - 1 - i
        return min(max(i, 0), n - 1)

    def _texel(self, level: int, outer: list[int], place: list[int], wrap: bool) -> tuple[np.ndarray, bool]:
        """(channels, whether the texel is there)."""
        sizes = self.levels[level].shape[-2 : -2 - len(place) : -1]
        if not wrap and any(not 0 <= i < n for i, n in zip(place, sizes, strict=True)):
            return self.levels[level].dtype.type(0) * np.zeros(self.channels), True
        at = [self._wrap(k, i, n) for k, (i, n) in enumerate(zip(place, sizes, strict=True))]
        index = (*outer, *at[::-1])
        if self.absent is not None and level == 0 and self.absent[index]:
            return np.zeros(self.channels), False
        return self.levels[level][index].astype(np.float64), True

    def want(self, row: np.ndarray) -> tuple[list[float], bool] | None:
        """(four components as numbers, the predicate); None where rounding decides."""
        p = self.p
        f, w = row.view(np.float32).astype(float), row.view(np.int32)
        outer = []
        if p.layered:
            outer.append(min(int(w[12]), LAYERS - 1))
        if p.has("integer"):
            return self._fetch(w, outer)
        place = [f[k] for k in range(p.dims)]
        if p.flat == "cube":
            face, place = project(place)
            outer.append(face)
        level = 0
        if p.mode == "level":
            level = math.floor(min(max(f[3], 0.0), LEVELS - 1) + 0.5)
            if abs(f[3] % 1 - 0.5) < 1e-3:
                return None
        if p.mode == "grad":
            detail = self._detail([f[k] for k in range(p.dims)], f[4:], f[8:])
            if abs(detail % 1 - 0.5) < 1e-3:
                return None
            level = math.floor(min(max(detail, 0.0), LEVELS - 1) + 0.5)
        bits = 64 if p.mode == "tld4" else 16
        offset = [0] * 3
        if p.has("offset"):
            offset = [(int(w[13 + k]) + bits // 2) % bits - bits // 2 for k in range(3)]
        sizes = self.levels[level].shape[-2 : -2 - len(place) : -1]
        x = [c * n for c, n in zip(place, sizes, strict=True)]
        if p.mode == "tld4":
            return self._gather(outer, x, offset, f[3])
        if not self.linear:
            v, there = self._shade(level, outer, [math.floor(c) + o for c, o in zip(x, offset, strict=False)], f[3])
            return self._four(v), there
        low = [math.floor(c - 0.5) for c in x]
        weight = [round((c - 0.5 - i) * 256) / 256 for c, i in zip(x, low, strict=True)]
        if any(abs((c - 0.5 - i) * 256 % 1 - 0.5) < 1e-2 for c, i in zip(x, low, strict=True)):
            return None
        total, there = np.zeros(self.channels), True
        for corner in np.ndindex(*[2] * len(x)):
            share = math.prod(v if up else 1 - v for v, up in zip(weight, corner, strict=True))
            texel = [i + up + o for i, up, o in zip(low, corner, offset, strict=False)]
            v, here = self._shade(level, outer, texel, f[3])
            total = total + share * v
            there = there and here
        return self._four(total), there

    def _shade(self, level: int, outer: list[int], place: list[int], depth: float) -> tuple[np.ndarray, bool]:
        v, there = self._texel(level, outer, place, True)
        if self.p.has("depth"):
            return np.array([float(depth >= v[0]), *[0.0] * (self.channels - 1)]), there
        return v, there

    def _four(self, v: np.ndarray) -> list[float]:
        return [*v.tolist(), *[0.0, 0.0, 0.0, 1.0][len(v) :]]

    def _gather(self, outer: list[int], x: list[float], offset: list[int], depth: float) -> tuple[list[float], bool]:
        low = [math.floor(c - 0.5) for c in x]
        out, there = [], True
        for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0)):
            v, here = self._shade(0, outer, [low[0] + dx + offset[0], low[1] + dy + offset[1]], depth)
            out.append(v[0] if self.p.has("depth") else v[1])
            there = there and here
        return out, there

    def _fetch(self, w: np.ndarray, outer: list[int]) -> tuple[list[float], bool]:
        p = self.p
        if p.flat.endswith("ms"):
            outer.append(int(w[13 if p.layered else 12]))
        place = [int(w[13 + k]) for k in range(p.dims)]
        level = int(w[15]) if p.mode == "level" else 0
        if p.has("offset"):
            place = [i + (int(w[13 + k]) + 8) % 16 - 8 for k, i in enumerate(place)]
        v, there = self._texel(level, outer, place, False)
        return self._four(v), there

    def _detail(self, at: list[float], dx: np.ndarray, dy: np.ndarray) -> float:
        """log2 of the longer gradient in texels; that of a cube is measured on the face where it begins."""
        sizes = self.levels[0].shape[-2 : -2 - len(_SHAPES[self.p.flat]) : -1]
        longest = 0.0
        for d in (dx, dy):
            end = [a + float(v) for a, v in zip(at, d, strict=False)]
            if self.p.flat == "cube":
                face, start = project(at)
                stop = on_face(end, face)
            else:
                start, stop = at, end
            longest = max(longest, math.hypot(*((b - a) * n for a, b, n in zip(start, stop, sizes, strict=True))))
        return math.log2(longest) if longest else -100.0


def on_face(v: list[float], face: int) -> list[float]:
    """The guide's table of (m, s, t) by face, as coordinates from 0 to 1."""
    x, y, z = v
    m, s, t = [(x, -z, -y), (-x, z, -y), (y, x, z), (-y, x, -z), (z, x, -y), (-z, -x, -y)][face]
    return [(s / m + 1) / 2, (t / m + 1) / 2]


def project(v: list[float]) -> tuple[int, list[float]]:
    """(face, coordinates) of a direction."""
    axis = max(range(3), key=lambda k: abs(v[k]))
    face = 2 * axis + (v[axis] < 0)
    return face, on_face(v, face)


def programs() -> list[Program]:
    """Every form that the front end takes, apart from components left out."""
    out = []
    for kind in ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube"):
        cube, deep = "cube" in kind, kind == "3d"
        for mode in ("base", "level", "grad"):
            out += [Program(kind, mode, t) for t in ("f32", "s32", "u32", "f16", "f16x2")]
            out.append(Program(kind, mode, "f32", ("pred",)))
            if not cube:
                out.append(Program(kind, mode, "f32", ("offset",)))
            if not deep:
                out.append(Program(kind, mode, "f32", ("depth",)))
            if not cube and not deep:
                out.append(Program(kind, mode, "f32", ("offset", "depth")))
        if not cube:
            for mode in ("base", "level"):
                out += [Program(kind, mode, t, ("integer",)) for t in ("f32", "s32", "u32", "f16")]
                out.append(Program(kind, mode, "s32", ("pred", "integer")))
            if kind in ("2d", "a2d", "3d"):
                out.append(Program(kind, "base", "s32", ("integer", "offset")))
    out += [Program(kind, "base", t, ("integer",)) for kind in ("2dms", "a2dms") for t in ("f32", "s32")]
    for kind in ("2d", "a2d", "cube", "acube"):
        out += [Program(kind, "tld4", t) for t in ("f32", "s32", "u32")]
        out += [Program(kind, "tld4", "f32", o) for o in (("pred",), ("depth",))]
        if "cube" not in kind:
            out.append(Program(kind, "tld4", "f32", ("offset",)))
    return out


def sampler_programs() -> list[Program]:
    """Forms with a sampler of their own (``texmode_independent``)."""
    kinds = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube")
    return [Program(kind, mode, "f32", ("sampler",)) for kind in kinds for mode in ("base", "level", "grad")]
