"""Gradients of 3d and cube textures by quads (up to sm_89) in code where the lanes of a quad diverge, and after every phase of the compiler.

What the lanes that are woken write must not be anything that they still need; handles may differ from lane to lane.
"""

from typing import Any

import numpy as np
import pytest

from orias.diag import CompileError
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import Texture, load
from orias.sim.ori.ori_image import OriImage
from orias.sim.ptx import PtxImage
from orias.tools.validate.stages import Stages, before_convergence
from tests.forms.run import our_cubin
from tests.sim.build import assemble

_HEAD = ".version 8.7\n.target {arch}\n.address_size 64\n"
_GRAD = "tex.grad.3d.v4.f32.f32 {%f20, %f21, %f22, %f23}, [%rd0, {%f0, %f1, %f2, %f2}], {%f4, %f5, %f6, %f6}, {%f8, %f9, %f10, %f10};"
_KERNEL = """.visible .entry k(.param .u64 h, .param .u64 p) {
.reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %rd<20>; .reg .pred %p<4>;
ld.param.u64 %rd0, [h]; ld.param.u64 %rd1, [p];
mov.u32 %r9, %tid.x; mul.wide.u32 %rd9, %r9, 256; add.u64 %rd1, %rd1, %rd9;
ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+16]; ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1+32];
ld.global.v4.f32 {%f8, %f9, %f10, %f11}, [%rd1+48]; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1+64];
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+80]; ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd1+96];
MORE
and.b32 %r50, %r9, 1; setp.eq.u32 %p0, %r50, 0;
@%p0 bra A;
SAMPLE
st.global.v4.f32 [%rd1], {%f20, %f21, %f22, %f23};
bra B;
A:
mul.lo.u32 %r20, %r0, %r10; mul.lo.u32 %r21, %r1, %r11; mul.lo.u32 %r22, %r2, %r12; mul.lo.u32 %r23, %r3, %r13;
xor.b32 %r24, %r14, %r15; xor.b32 %r25, %r16, %r17;
st.global.v4.b32 [%rd1+128], {%r20, %r21, %r22, %r23}; st.global.v2.b32 [%rd1+112], {%r24, %r25};
B:
ret; }
"""
_FUNCTION = """.func (.param .align 16 .b8 o[16]) f(.param .u64 h, .param .align 16 .b8 c[48]) {
.reg .f32 %f<24>; .reg .b64 %rd0;
ld.param.u64 %rd0, [h]; ld.param.v4.f32 {%f0, %f1, %f2, %f3}, [c]; ld.param.v4.f32 {%f4, %f5, %f6, %f7}, [c+16]; ld.param.v4.f32 {%f8, %f9, %f10, %f11}, [c+32];
GRAD
st.param.v4.f32 [o], {%f20, %f21, %f22, %f23}; ret; }
""".replace("GRAD", _GRAD)
_CALL = """{ .param .align 16 .b8 oo[16]; .param .u64 hh; .param .align 16 .b8 cc[48]; st.param.u64 [hh], %rd0;
st.param.v4.f32 [cc], {%f0, %f1, %f2, %f3}; st.param.v4.f32 [cc+16], {%f4, %f5, %f6, %f7}; st.param.v4.f32 [cc+32], {%f8, %f9, %f10, %f11};
call.uni (oo), f, (hh, cc); ld.param.v4.f32 {%f20, %f21, %f22, %f23}, [oo]; }"""
_HANDLE = 160


def _text(arch: str, kind: str) -> str:
    more = f"ld.global.u64 %rd0, [%rd1+{_HANDLE}];" if kind == "handles" else ""
    body = _KERNEL.replace("MORE", more).replace("SAMPLE", _CALL if kind == "function" else _GRAD)
    return _HEAD.format(arch=arch) + (_FUNCTION if kind == "function" else "") + body


def _textures() -> list[Texture]:
    r = np.random.default_rng(3)
    volumes = [[r.standard_normal((8 >> k, 8 >> k, 8 >> k)).astype(np.float32) for k in range(4)] for _ in range(3)]
    return [Texture(v, "3d", filter="linear", normalized=True, address="wrap") for v in volumes]


def _outcome(image: Any, kind: str, textures: list[Texture], threads: int = 32) -> bytes:
    data = np.random.default_rng(5).random((threads, 64)).astype(np.float32)
    for k in range(threads if kind == "handles" else 0):
        data[k].view(np.uint64)[_HANDLE // 8] = image.arena.handle(textures[k * 5 % 3])
    image.launch("k", 1, threads, [textures[0], data])
    data.view(np.uint64)[:, _HANDLE // 8] = 0
    return data.tobytes()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kind", ["parameter", "handles", "function"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
def test_lanes_that_part(arch: str, kind: str, level: int) -> None:
    text, textures = _text(arch, kind), _textures()
    want = _outcome(PtxImage(parse(text, "t.ptx"), arch), kind, textures, 30)
    assert _outcome(load(our_cubin(text, arch, level)), kind, textures, 30) == want


def test_ptxas_gives_registers_of_the_rounds_to_others() -> None:
    """What the lanes that are woken write is lost to them: the words of ptxas's code leave wrong results where ours do not."""
    text, textures = _text("sm_80", "parameter"), _textures()
    want = _outcome(PtxImage(parse(text, "t.ptx"), "sm_80"), "parameter", textures)
    assert _outcome(load(assemble(text, "sm_80")), "parameter", textures) != want


@pytest.mark.parametrize("kind", ["parameter", "handles"])
def test_behind_every_phase(kind: str) -> None:
    text, textures = _text("sm_80", kind), _textures()
    want = _outcome(PtxImage(parse(text, "t.ptx"), "sm_80"), kind, textures)
    stages = Stages(text, Options("sm_80", 3))
    seen = stages.kernel_stages("k")
    assert len(seen) > 5
    for phase, funcs in seen:
        image = OriImage(stages.cubin.data, "k", funcs, before_convergence(phase))
        assert _outcome(image, kind, textures) == want, phase


def test_a_limit_that_leaves_no_registers() -> None:
    """The rounds have registers of their own: a call leaves none of them below 56."""
    text = _text("sm_80", "function").replace(") {\n.reg .b32 %r<64>", ") .maxnreg 40 {\n.reg .b32 %r<64>")
    with pytest.raises(CompileError, match="limit of 40 registers"):
        our_cubin(text, "sm_80", 3)
