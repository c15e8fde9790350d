"""Handles: references and samplers by name, as values, in registers that vary from thread to thread; initial values of samplers.

What code does is compared with the PTX interpreter, symbols and attributes with ptxas's.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orias
from orias.cubin.reader import Reader
from orias.diag import CompileError
from orias.isa.operand import PT
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import Sampler, Surface, Texture, load
from orias.sim.ori.ori_image import OriImage
from orias.sim.ptx import PtxImage
from orias.tools.validate.stages import Stages, before_convergence
from tests.forms.run import our_cubin
from tests.lower.test_relocatable import linked
from tests.sim.build import assemble

THREADS = 30
_HEAD = """.version 8.7
.target {arch}{mode}
.address_size 64
{module}
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pt, .param .u64 ps) {{
.reg .b64 %rd<12>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .u32 %t; .reg .pred %p<4>;
ld.param.u64 %rd0, [pin]; ld.param.u64 %rd8, [pout]; ld.param.u64 %rd1, [pt]; ld.param.u64 %rd4, [ps]; mov.u32 %t, %tid.x;
mad.wide.u32 %rd2, %t, 32, %rd0; mad.wide.u32 %rd3, %t, 32, %rd8;
ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd2]; and.b32 %r9, %t, 1; setp.eq.u32 %p1, %r9, 0;
mov.u32 %r4, 7; mov.u32 %r5, 7; mov.u32 %r6, 7; mov.u32 %r7, 7; mov.u32 %r8, 0;
{body}
st.global.v4.u32 [%rd3], {{%r4, %r5, %r6, %r7}}; st.global.u32 [%rd3+16], %r8;
ret; }}
"""
_OUT = "{%r4, %r5, %r6, %r7}"
_SOME = "{%f4, %f5, %f6, %f7}"
_LOAD = "ld.global.u64 %rd1, [%rd2+16];"
_BOTH = f"{_LOAD} ld.global.u64 %rd4, [%rd2+24];"
_AT = "{%f0, %f1}"
_NAMES = ".global .texref T, T2; .global .samplerref S = { filter_mode = linear }; .global .samplerref S2; .global .surfref U;"
NAMED = {
    "both": f"tex.2d.v4.f32.f32 {_OUT}, [T, S, {_AT}];",
    "sampler": f"tex.2d.v4.f32.f32 {_OUT}, [%rd1, S, {_AT}];",
    "texture": f"tex.2d.v4.f32.f32 {_OUT}, [T, %rd4, {_AT}];",
    "several": f"tex.2d.v4.f32.f32 {_OUT}, [T, S, {_AT}]; tex.2d.v4.f32.f32 {_SOME}, [T, S2, {_AT}]; mov.b32 %r5, %f4;"
    f" tex.2d.v4.f32.f32 {_SOME}, [T2, S, {_AT}]; mov.b32 %r6, %f4;",
    "values": f"mov.u64 %rd6, S; tex.2d.v4.f32.f32 {_OUT}, [T, %rd6, {_AT}]; mov.u64 %rd7, T2; tex.2d.v4.f32.f32 {_SOME}, [%rd7, %rd6, {_AT}];"
    " mov.b32 %r5, %f4; istypep.samplerref %p0, %rd6; selp.u32 %r8, 1, 0, %p0; istypep.texref %p0, %rd7; @%p0 add.u32 %r8, %r8, 2;",
    "gather": f"tld4.r.2d.v4.f32.f32 {_OUT}, [T, S, {_AT}];",
    "integers": f"cvt.rzi.s32.f32 %r1, %f0; cvt.rzi.s32.f32 %r2, %f1; tex.2d.v4.f32.s32 {_OUT}, [T, S2, {{%r1, %r2}}];",
    "queries": "txq.filter_mode.b32 %r4, [S]; txq.addr_mode_1.b32 %r5, [S2]; txq.filter_mode.b32 %r6, [%rd4]; txq.channel_order.b32 %r7, [T];"
    " suq.width.b32 %r8, [U];",
    "sizes": "txq.width.b32 %r4, [T]; txq.array_size.b32 %r5, [%rd1]; txq.level.width.b32 %r6, [%rd1], 1; txq.num_mipmap_levels.b32 %r7, [%rd1];",
}
VARYING = {
    "sample": f"{_LOAD} tex.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}];",
    "guarded": f"{_LOAD} @%p1 tex.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}];",
    "residency": f"{_LOAD} tex.2d.v4.f32.f32 {_OUT}|%p0, [%rd1, {_AT}]; selp.u32 %r8, 1, 0, %p0;",
    "gradient": f"{_LOAD} tex.grad.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}], {{%f2, %f3}}, {{%f1, %f3}};",
    "gather": f"{_LOAD} tld4.r.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}];",
    "twice": f"{_LOAD} tex.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}]; tex.2d.v4.f32.f32 {_SOME}, [%rd1, {{%f1, %f0}}]; mov.b32 %r5, %f4;",
    "branch": f"{_LOAD} @%p1 bra X; tex.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}]; X: add.u32 %r4, %r4, 1;",
    "queries": f"{_LOAD} txq.width.b32 %r6, [%rd1]; @%p1 txq.level.height.b32 %r7, [%rd1], 1;",
}
SURFACES = {
    "load": f"{_LOAD} shl.b32 %r9, %r9, 2; suld.b.1d.b32.zero %r4, [%rd1, {{%r9}}];",
    "store": f"{_LOAD} shl.b32 %r9, %t, 2; @%p1 sust.b.1d.b32.zero [%rd1, {{%r9}}], %t;",
    "reduce": f"{_LOAD} mov.u32 %r9, 0; sured.b.add.1d.u32.zero [%rd1, {{%r9}}], %t;",
}
INDEPENDENT = {
    "sampler": f"{_BOTH} tex.2d.v4.f32.f32 {_OUT}, [%rd1, %rd4, {_AT}];",
    "sampler by name": f"{_LOAD} tex.2d.v4.f32.f32 {_OUT}, [%rd1, S, {_AT}];",
}
MODE = ", texmode_independent"
CASES = [
    *(("named", n, NAMED[n], MODE, _NAMES) for n in NAMED),
    *(("varying", n, VARYING[n], "", "") for n in VARYING),
    *(("surfaces", n, SURFACES[n], "", "") for n in SURFACES),
    *(("apart", n, INDEPENDENT[n], MODE, _NAMES) for n in INDEPENDENT),
]
Case = tuple[str, str, str, str, str]


def text_of(case: Case, arch: str) -> str:
    return _HEAD.format(arch=arch, mode=case[3], module=case[4], body=case[2])


def outcome(image: Any, kind: str) -> bytes:
    """Everything that a launch leaves in memory."""
    r = np.random.default_rng(3)
    levels = [[r.standard_normal((8 >> k, 8 >> k)).astype(np.float32) for k in range(3)] for _ in range(3)]
    surfaces = [Surface(np.arange(40, dtype=np.uint32) + 100 * k, "1d") for k in range(3)]
    textures = [Texture(v, normalized=True, address="wrap", filter="linear") for v in levels]
    samplers = [Sampler(filter="linear", normalized=True, address="wrap"), Sampler(address="border")]
    for name, thing in zip(("T", "T2", "S", "S2", "U"), (*textures[:2], *samplers, surfaces[0]), strict=True):
        image.bind(name, thing)
    data = (r.random((THREADS, 8)) * 4).astype(np.float32)
    for k in range(THREADS):
        things: Any = surfaces if kind == "surfaces" else textures
        data[k].view(np.uint64)[2] = image.arena.handle(things[k * 7 % 3])
        data[k].view(np.uint64)[3] = image.arena.handle(samplers[k & 1])
    out = np.zeros((THREADS, 8), np.uint32)
    image.launch("k", 1, THREADS, [data.view(np.uint32), out, textures[2], samplers[1]])
    return out.tobytes() + b"".join(s.array.tobytes() for s in surfaces)


def wanted(case: Case) -> bytes:
    return outcome(PtxImage(parse(text_of(case, "sm_90"), "t.ptx"), "sm_90"), case[0])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_ours(case: Case, arch: str) -> None:
    assert outcome(load(our_cubin(text_of(case, arch), arch, 3)), case[0]) == wanted(case)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_ptxas_and_unoptimised(case: Case, arch: str) -> None:
    text, want = text_of(case, arch), wanted(case)
    assert outcome(load(our_cubin(text, arch, 0)), case[0]) == want
    assert outcome(load(assemble(text, arch)), case[0]) == want


LINKED = {
    **NAMED,
    "gradient": f"tex.grad.2d.v4.f32.f32 {_OUT}, [T, S, {_AT}], {{%f2, %f3}}, {{%f1, %f3}}, %f2;",
}


@pytest.mark.parametrize(
    "name, arch", [("both", "sm_80"), ("values", "sm_90"), ("gradient", "sm_80"), ("gradient", "sm_90")]
)
def test_linked(name: str, arch: str, tmp_path: Path) -> None:
    _linked(name, arch, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_all_linked(arch: str, tmp_path: Path) -> None:
    for name in LINKED:
        _linked(name, arch, tmp_path)


def _linked(name: str, arch: str, folder: Path) -> None:
    """Relocatable modules after nvlink.  (Up to sm_89 the linked code of ptxas reads other words than those that nvlink lets the loader fill.)"""
    case = ("named", name, LINKED[name], MODE, _NAMES)
    obj = orias.compile(text_of(case, arch), arch=arch, compile_only=True).data
    assert outcome(load(linked(obj, arch, folder)), "named") == wanted(case), name


@pytest.mark.parametrize("name", ["twice", "guarded"])
def test_behind_every_phase(name: str) -> None:
    case = next(c for c in CASES if c[:2] == ("varying", name))
    want, stages = wanted(case), Stages(text_of(case, "sm_90"), Options("sm_90", 3))
    for phase, funcs in stages.kernel_stages("k"):
        image = OriImage(stages.cubin.data, "k", funcs, before_convergence(phase))
        assert outcome(image, "varying") == want, phase


def test_a_handle_that_does_not_vary_needs_no_loop() -> None:
    case = ("varying", "", f"ld.global.u64 %rd1, [%rd0]; tex.2d.v4.f32.f32 {_OUT}, [%rd1, {_AT}];", "", "")
    image = load(our_cubin(text_of(case, "sm_90"), "sm_90", 3))
    code = [image.decoded(k) for k in range(image.code_size() // 16)]
    fetch = next(d for d in code if d is not None and d.op.base == "TEX")
    assert fetch.guard == PT


_INITIAL = """.version 8.7
.target {arch}, texmode_independent
.address_size 64
.global .samplerref A = {{ addr_mode_0 = wrap, addr_mode_1 = mirror, addr_mode_2 = clamp_to_border, filter_mode = linear, force_unnormalized_coords = 1 }};
.global .samplerref B = {{ filter_mode = nearest, addr_mode_0 = clamp_ogl, addr_mode_0 = clamp_to_edge }};
.global .samplerref C = {{ }};
.global .samplerref D;
.global .samplerref E = {{ addr_mode_0 = 2, addr_mode_1 = 7, addr_mode_2 = 9, filter_mode = 3 }};
.global .texref T = {{ width = 3, normalized_coords = 1 }};
.global .surfref U = {{ memory_layout = 1, channel_order = 2 }};
.visible .entry k() {{ ret; }}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_initial_values(arch: str) -> None:
    """The driver is told the same of each sampler, and finds the same references by name."""
    text = _INITIAL.format(arch=arch)
    ours, theirs = (Reader(x).module for x in (our_cubin(text, arch, 3), assemble(text, arch)))
    assert len(theirs.sampler_inits) == 5
    assert ours.sampler_inits == theirs.sampler_inits
    assert ours.sampler_unnormalized == theirs.sampler_unnormalized
    references = [sorted((v.name, v.space, v.binding) for v in m.variables) for m in (ours, theirs)]
    assert references[0] == references[1] and len(references[0]) == 7


@pytest.mark.parametrize(
    "fields, message",
    [
        ("{ foo = 1 }", "Unrecognized field name 'foo' in opaque struct initializer"),
        ("{ width = 1 }", "Unrecognized field name 'width' in opaque struct initializer"),
        ("{ 3 }", "Opaque structure initializer requires named fields"),
        ("{ linear }", "Opaque structure initializer requires named fields"),
        ("{ filter_mode = bla }", "Unrecognized initial value symbol 'bla'"),
        ("{ filter_mode = linear, }", "Parsing error near '}': syntax error"),
        ("3", "Initial value type mismatch"),
    ],
)
def test_wrong_initial_values(fields: str, message: str) -> None:
    text = f".version 8.7\n.target sm_80{MODE}\n.address_size 64\n.global .samplerref S = {fields};\n"
    with pytest.raises(CompileError) as e:
        parse(text, "t.ptx")
    assert message in str(e.value)
