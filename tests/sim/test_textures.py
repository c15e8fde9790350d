"""Texture and surface instructions in the simulator and the PTX interpreter, against results computed here from the descriptions in PTX's manual and the
CUDA programming guide.  The code is ptxas's, and ours where our compiler takes the form."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orias
from orias.diag import CompileError
from orias.isa.operand import RZ
from orias.ptx.parser import parse
from orias.sim import ArgumentError, IllegalInstruction, Misaligned, OutOfBounds, Surface, Texture, load
from orias.sim.ptx import PtxImage
from tests.forms.run import our_cubin
from tests.sim.build import assemble

THREADS = 32
HEAD = """.version 8.7
.target {arch}
.address_size 64
{module}
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pt) {{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b16 %rs<4>; .reg .u32 %t;
ld.param.u64 %rd0, [pin]; ld.param.u64 %rd8, [pout]; ld.param.u64 %rd1, [pt]; mov.u32 %t, %tid.x;
mad.wide.u32 %rd2, %t, 16, %rd0; mad.wide.u32 %rd3, %t, 16, %rd8;
ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd2]; ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd2];
mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;
{body}
st.global.v4.u32 [%rd3], {{%r4, %r5, %r6, %r7}};
ret; }}
"""
OUT = "{%r4, %r5, %r6, %r7}"
DEFAULT = [("ptxas", "sm_80"), ("orias", "sm_90"), ("ptx", "sm_90")]
MORE = [("ptxas", "sm_75"), ("ptxas", "sm_90"), ("orias", "sm_75"), ("orias", "sm_80")]
MACHINES = [pytest.param(x, id="-".join(x)) for x in DEFAULT]
MACHINES += [pytest.param(x, id="-".join(x), marks=pytest.mark.sweep) for x in MORE]


def image_of(body: str, compiler: str, arch: str, module: str = "") -> Any:
    text = HEAD.format(arch=arch, body=body, module=module)
    if compiler == "ptx":
        return PtxImage(parse(text, "t.ptx"), arch)
    if compiler == "ptxas":
        return load(assemble(text, arch))
    try:
        return load(our_cubin(text, arch, 3))
    except CompileError as e:
        pytest.skip(f"not compiled: {e}"[:100])


def run(
    body: str, compiler: str, arch: str, thing: Any, inputs: np.ndarray, module: str = "", name: str = ""
) -> np.ndarray:
    """Words that the threads store, [32, 4]."""
    image = image_of(body, compiler, arch, module)
    if name:
        image.bind(name, thing)
    out = np.zeros((THREADS, 4), np.uint32)
    image.launch("k", 1, THREADS, [np.ascontiguousarray(inputs).view(np.uint32), out, np.uint64(0) if name else thing])
    return out


def places(seed: int, low: float, high: float) -> np.ndarray:
    r = np.random.default_rng(seed)
    return (r.random((THREADS, 4)) * (high - low) + low).astype(np.float32)


# -- what a sample is


def texel(array: np.ndarray, place: list[int], mode: str) -> np.ndarray:
    """array[..., y, x] (no channels) at integer places x, y, z."""
    index = []
    for i, n in zip(place, array.shape[::-1], strict=True):
        if mode == "wrap":
            i %= n
        elif mode == "mirror":
            i %= 2 * n
            i = 2 * n - 1 - i if i >= n else i
        elif mode == "border" and not 0 <= i < n:
            return array.dtype.type(0)
        index.append(min(max(i, 0), n - 1))
    return array[tuple(index[::-1])]


def sample(array: np.ndarray, at: list[float], mode: str, linear: bool, normalized: bool) -> float:
    sizes = array.shape[::-1]
    x = [c * n if normalized else c for c, n in zip(at, sizes, strict=True)]
    if not linear:
        return float(texel(array, [math.floor(v) for v in x], mode))
    total = 0.0
    low = [math.floor(v - 0.5) for v in x]
    weight = [round((v - 0.5 - i) * 256) / 256 for v, i in zip(x, low, strict=True)]
    for corner in np.ndindex(*[2] * len(x)):
        share = math.prod(w if up else 1 - w for w, up in zip(weight, corner, strict=True))
        total += share * float(texel(array, [i + up for i, up in zip(low, corner, strict=True)], mode))
    return total


SHAPES = {"1d": (13,), "2d": (5, 9), "3d": (3, 4, 6)}
BODIES = {
    "1d": f"tex.1d.v4.f32.f32 {OUT}, [%rd1, {{%f0}}];", "2d": f"tex.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}];",
    "3d": f"tex.3d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1, %f2, %f3}}];",
}  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", list(SHAPES))
def test_sampling(kind: str, machine: tuple[str, str]) -> None:
    array = np.random.default_rng(3).standard_normal(SHAPES[kind]).astype(np.float32)
    image = image_of(BODIES[kind], *machine)
    for linear in (False, True):
        for mode, normalized in (
            ("clamp", False),
            ("border", False),
            ("clamp", True),
            ("wrap", True),
            ("mirror", True),
        ):
            t = Texture(array, kind, filter="linear" if linear else "point", address=mode, normalized=normalized)
            inputs = places(5, -1.5, 2.5) if normalized else places(5, -3, 12)
            out = np.zeros((THREADS, 4), np.uint32)
            image.launch("k", 1, THREADS, [inputs.view(np.uint32), out, t])
            want = [sample(array, [float(c) for c in row[: array.ndim]], mode, linear, normalized) for row in inputs]
            got = out.view(np.float32)
            np.testing.assert_allclose(
                got[:, 0], np.array(want), rtol=2e-6, atol=2e-6, err_msg=f"{mode} {linear} {normalized}"
            )
            assert (got[:, 1:] == [0, 0, 1]).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_layers(machine: tuple[str, str]) -> None:
    array = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
    inputs = places(8, 0, 5)
    inputs.view(np.uint32)[:, 0] = np.arange(THREADS) % 6
    got = run(f"tex.a2d.v4.f32.f32 {OUT}, [%rd1, {{%r0, %f1, %f2, %f3}}];", *machine, Texture(array, "a2d"), inputs)
    want = [array[min(k % 6, 3), min(int(p[2]), 2), min(int(p[1]), 4)] for k, p in enumerate(inputs)]
    assert (got.view(np.float32)[:, 0] == want).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_fetch(machine: tuple[str, str]) -> None:
    """Integer coordinates, integer texels of four channels; outside is 0."""
    array = np.random.default_rng(4).integers(-128, 128, (6, 7, 4)).astype(np.int8)
    inputs = np.random.default_rng(5).integers(-1, 8, (THREADS, 4)).astype(np.int32)
    got = run(f"tex.2d.v4.s32.s32 {OUT}, [%rd1, {{%r0, %r1}}];", *machine, Texture(array, "2d", channels=4), inputs)
    want = [array[y, x] if 0 <= x < 7 and 0 <= y < 6 else [0] * 4 for x, y, _, _ in inputs]
    assert (got.view(np.int32) == want).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_normalised_texels(machine: tuple[str, str]) -> None:
    array = np.arange(256, dtype=np.uint8)
    inputs = places(6, 0, 256)
    got = run(BODIES["1d"], *machine, Texture(array, "1d", read="normalized"), inputs)
    assert (got.view(np.float32)[:, 0] == (array[inputs[:, 0].astype(int)] / np.float32(255)).astype(np.float32)).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mip", ["point", "linear"])
def test_levels(mip: str, machine: tuple[str, str]) -> None:
    levels = [np.full((8 >> k, 8 >> k), 10.0**k, np.float32) for k in range(3)]
    inputs = places(7, 0, 3)
    inputs[:, 2] = np.linspace(-1, 3, THREADS, dtype=np.float32)
    body = f"tex.level.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}], %f2;"
    got = run(body, *machine, Texture(levels, "2d", mip_filter=mip), inputs).view(np.float32)[:, 0]
    for lod, x in zip(inputs[:, 2].astype(float), got, strict=True):
        d = min(max(lod, 0.0), 2.0)
        if mip == "point":
            assert x == 10.0 ** math.floor(d + 0.5)
        else:
            low, w = math.floor(d), round((d - math.floor(d)) * 256) / 256
            assert x == pytest.approx(10.0**low * (1 - w) + 10.0 ** (low + 1) * w, rel=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_gather_and_part_of_the_components(machine: tuple[str, str]) -> None:
    array = np.arange(5 * 6 * 4, dtype=np.float32).reshape(5, 6, 4)
    inputs = places(9, 1, 4)
    t = Texture(array, "2d", channels=4)
    got = run(f"tld4.g.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}];", *machine, t, inputs).view(np.float32)
    for p, row in zip(inputs, got, strict=True):
        x, y = math.floor(p[0] - 0.5), math.floor(p[1] - 0.5)
        assert row.tolist() == [array[y + b, x + a, 1] for a, b in ((0, 1), (1, 1), (1, 0), (0, 0))]
    some = "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f0, %f1}]; mov.b32 %r5, %f5; mov.b32 %r7, %f7;"
    got = run(some, *machine, t, inputs).view(np.float32)
    want = np.array([array[int(p[1]), int(p[0])] for p in inputs])
    assert (got == want * [0, 1, 0, 1]).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_gradients(machine: tuple[str, str]) -> None:
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    inputs = places(10, 0, 4)
    got = run(
        f"tex.grad.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}], {{%f2, %f3}}, {{%f0, %f2}};",
        *machine,
        Texture(array, "2d"),
        inputs,
    )
    assert (got.view(np.float32)[:, 0] == [array[int(p[1]), int(p[0])] for p in inputs]).all()


# -- surfaces


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mode", ["clamp", "zero"])
def test_surface(mode: str, machine: tuple[str, str]) -> None:
    """Reads and writes of a surface of 32-bit texels; x counts bytes."""
    array = np.arange(6 * 8, dtype=np.uint32).reshape(6, 8)
    inputs = np.random.default_rng(11).integers(-1, 9, (THREADS, 4)).astype(np.int32)
    body = f"""shl.b32 %r0, %r0, 2; suld.b.2d.b32.{mode} {{%r4}}, [%rd1, {{%r0, %r1}}]; add.u32 %r5, %t, 1000;
    shl.b32 %r2, %t, 2; mov.u32 %r3, 5; sust.b.2d.b32.{mode} [%rd1, {{%r2, %r3}}], {{%r5}};"""
    surface = Surface(array.copy())
    got = run(body, *machine, surface, inputs)
    for row, x in zip(inputs, got, strict=True):
        inside = 0 <= row[0] < 8 and 0 <= row[1] < 6
        clamped = array[min(max(row[1], 0), 5), min(max(row[0], 0), 7)]
        assert x[0] == (clamped if inside or mode == "clamp" else 0)
    want = array.copy()
    want[5] = 1000 + np.arange(8)
    if mode == "clamp":
        want[5, 7] = 1000 + THREADS - 1
    assert (surface.array == want).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_surface_sizes_and_reductions(machine: tuple[str, str]) -> None:
    array = np.arange(4 * 3 * 16, dtype=np.uint8).reshape(4, 3, 16)
    inputs = np.zeros((THREADS, 4), np.int32)
    body = """and.b32 %r0, %t, 1; shl.b32 %r0, %r0, 3; and.b32 %r1, %t, 3; rem.u32 %r1, %r1, 3; shr.u32 %r2, %t, 3;
    suld.b.3d.v2.b32.zero {%r4, %r5}, [%rd1, {%r0, %r1, %r2, %r2}]; suld.b.3d.b8.zero {%rs0}, [%rd1, {%t, %r1, %r2, %r2}]; cvt.u32.u16 %r6, %rs0;"""
    got = run(body, *machine, Surface(array, "3d"), inputs)
    for t, row in enumerate(got):
        x, y, z = 8 * (t & 1), (t & 3) % 3, t >> 3
        assert row[:2].tobytes() == array[z, y, x : x + 8].tobytes()
        assert row[2] == (array[z, y, t] if t < 16 else 0)


@pytest.mark.parametrize("machine", [("ptxas", "sm_75"), ("ptxas", "sm_90"), ("ptx", "sm_90")], ids="-".join)
def test_surface_reductions(machine: tuple[str, str]) -> None:
    surface = Surface(np.zeros((2, 4), np.uint32))
    body = "and.b32 %r0, %t, 3; shl.b32 %r0, %r0, 2; mov.u32 %r1, 1; sured.b.add.2d.u32.trap [%rd1, {%r0, %r1}], %t;"
    run(body, *machine, surface, np.zeros((THREADS, 4), np.int32))
    assert (surface.array == [[0] * 4, [sum(range(k, 32, 4)) for k in range(4)]]).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_formatted_stores(machine: tuple[str, str]) -> None:
    """Components become texels of the surface's type: integers are clamped, floats rounded; x counts texels."""
    inputs = np.random.default_rng(12).integers(-300, 600, (THREADS, 4)).astype(np.int32)
    body = "sust.p.1d.v4.b32.zero [%rd1, {%t}], {%r0, %r1, %r2, %r3};"
    surface = Surface(np.zeros((THREADS - 2, 4), np.uint8), "1d", channels=4)
    run(body, *machine, surface, inputs)
    unsigned = inputs.view(np.uint32).astype(np.int64)[: THREADS - 2]
    assert (surface.array == np.minimum(unsigned, 255)).all()
    floats = (np.random.default_rng(13).random((THREADS, 4)) * 100).astype(np.float32)
    halves = Surface(np.zeros((THREADS, 2), np.float16), "1d", channels=2)
    run("sust.p.1d.v2.b32.zero [%rd1, {%t}], {%r0, %r1};", *machine, halves, floats)
    assert (halves.array == floats[:, :2].astype(np.float16)).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_formatted_reductions(machine: tuple[str, str]) -> None:
    values = np.random.default_rng(14).integers(-(2**62), 2**62, (THREADS, 2))
    surface = Surface(np.zeros((4, 2), np.uint32), "1d", channels=2)
    body = "mov.b64 %rd2, {%r0, %r1}; and.b32 %r2, %t, 3; sured.p.min.1d.b64.trap [%rd1, {%r2}], %rd2;"
    run(body, *machine, surface, values)
    assert surface.array.view(np.int64)[:, 0].tolist() == [min(0, int(values[k::4, 0].min())) for k in range(4)]


# -- references, queries, errors


@pytest.mark.parametrize("machine", MACHINES)
def test_references_by_name(machine: tuple[str, str]) -> None:
    array = np.arange(7, dtype=np.float32)
    body = f"tex.1d.v4.f32.f32 {OUT}, [tx, {{%f0}}];"
    got = run(body, *machine, Texture(array, "1d"), places(2, 0, 7), ".global .texref tx;", "tx")
    assert (got.view(np.float32)[:, 0] == np.floor(places(2, 0, 7)[:, 0])).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_queries(machine: tuple[str, str]) -> None:
    body = "txq.width.b32 %r4, [%rd1]; txq.height.b32 %r5, [%rd1]; txq.depth.b32 %r6, [%rd1];"
    got = run(body, *machine, Texture(np.zeros((3, 4, 5), np.float32), "3d"), np.zeros((THREADS, 4), np.int32))
    assert got[0, :3].tolist() == [5, 4, 3]


@pytest.mark.parametrize("machine", [("ptxas", "sm_80"), ("ptx", "sm_90")], ids="-".join)
def test_faults(machine: tuple[str, str]) -> None:
    inputs = np.zeros((THREADS, 4), np.int32)
    with pytest.raises(IllegalInstruction, match="no handle of a texture"):
        run(BODIES["2d"], *machine, np.uint64(77), inputs)
    outside: Callable[[int], str] = lambda x: f"mov.u32 %r0, {x}; suld.b.1d.b32.trap {{%r4}}, [%rd1, {{%r0}}];"  # noqa: E731
    with pytest.raises(OutOfBounds, match="surface access outside"):
        run(outside(64), *machine, Surface(np.zeros(16, np.uint32), "1d"), inputs)
    with pytest.raises(Misaligned):
        run(outside(6), *machine, Surface(np.zeros(16, np.uint32), "1d"), inputs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Texture(np.zeros((2, 2), np.float32), "1d"),
        lambda: Texture(np.zeros(4, np.complex64), "1d"),
        lambda: Texture(np.zeros(4, np.int32), "1d", filter="linear"),
        lambda: Texture(np.zeros(4, np.float32), "1d", address="edge"),
        lambda: Surface(np.zeros((4, 4), np.uint8)[:, ::2]),
    ],
)
def test_wrong_objects(make: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError):
        make()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("place", [(0, 0), (5, 0), (0, 3), (5, 3)])
def test_constant_places(place: tuple[int, int], arch: str) -> None:
    """Each word of a constant has its register: zeros were one register, whose neighbour was the other coordinate."""
    data = np.arange(8 * 16, dtype=np.uint32).reshape(8, 16)
    x, y = place
    body = f"mov.u32 %r1, {x}; mov.u32 %r2, {y};\n" + "".join(
        f"{name}.2d.v4.u32.{type_} {{%r0, %r3, %r3, %r3}}, [%rd1, {{{one}, {two}}}]{level};\nmov.u32 %r{k}, %r0;\n"
        for k, (name, type_, one, two, level) in enumerate(
            [
                ("tex", "s32", "%r1", "%r2", ""),
                ("tex", "f32", f"{x}.5", f"{y}.5", ""),
                ("tex", "f32", f"{x}.0", f"{y}.0", ""),
                ("tex.level", "f32", f"{x}.0", f"{y}.0", ", 0.0"),
            ],
            4,
        )
    )
    want = [16 * y + x] * 4
    got = run(body, "orias", arch, Texture(data), places(1, 0, 1))
    assert got.tolist() == [want] * THREADS


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_zeros_have_registers(arch: str, level: int) -> None:
    """RZ stands for a source that a fetch does not have (as ptxas, which has a register for each zero)."""
    fetches = [
        f"tex.1d.v4.s32.s32 {OUT}, [%rd1, {{0}}];",
        f"tex.2d.v4.s32.s32 {OUT}, [%rd1, {{%r0, %r1}}], {{0, 0}};",
        f"tex.2dms.v4.s32.s32 {OUT}, [%rd1, {{0, %r1, 0, 0}}];",
        f"tex.level.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}], 0f00000000;",
        f"tex.grad.1d.v4.f32.f32 {OUT}, [%rd1, {{%f0}}], {{0f00000000}}, {{0f00000000}};",
        f"tex.2d.v4.f32.f32 {OUT}, [%rd1, {{%f0, %f1}}], 0f00000000;",
    ]
    for body in fetches:
        result = orias.compile(HEAD.format(arch=arch, body=body, module=""), arch=arch, opt_level=level)
        assert not result.no_capsule or arch in ("sm_80", "sm_90")
        image = load(result.data)
        ((_, code, _),) = image._code
        words = [image.table.decode(int.from_bytes(code[k : k + 16], "little")) for k in range(0, len(code), 16)]
        (fetch,) = (d for d in words if d.op.base in ("TEX", "TLD", "TXD"))
        assert RZ not in fetch.src[:2], body
