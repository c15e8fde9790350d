"""Launches of audits: small strides, floats that are loaded as bits, and shared memory that nothing has written."""

import pytest

import orias
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.sim.ptx import PtxImage
from orias.tools.audit.audit_kernel import EQUAL, NOT_COMPARED, Auditor, Verdict
from orias.tools.audit.audit_subject import Binary
from orias.tools.audit.launch_choice import usable_launch
from orias.tools.validate.kernel_inputs import Uses
from orias.tools.validate.run_case import run

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
PARAMS = ".param .u64 out, .param .u32 a, .param .u32 b, .param .u32 c, .param .f32 x"
STRIDES = f"""{HEAD}.visible .entry k({PARAMS}) .reqntid 64 {{ .reg .b64 %d<4>; .reg .b32 %r<9>;
ld.param.u64 %d0, [out]; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b]; ld.param.u32 %r2, [c];
mul.lo.u32 %r3, %r0, %r1; mul.lo.u32 %r3, %r3, %r2; mul.lo.u32 %r3, %r3, %r2;
mad.wide.u32 %d1, %r3, 16, %d0; mov.u32 %r4, %tid.x; mad.wide.u32 %d1, %r4, 4, %d1;
st.global.u32 [%d1], %r3; ret; }}
"""
FLOAT_AS_BITS = f"""{HEAD}.visible .entry k({PARAMS}) .reqntid 64 {{ .reg .b64 %d<4>; .reg .b32 %r<9>;
ld.param.u64 %d0, [out]; ld.param.b32 %r0, [x]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %r2, %r1;
div.rn.f32 %r3, %r2, %r0; cvt.rzi.u32.f32 %r4, %r3; mad.wide.u32 %d1, %r1, 4, %d0; mad.wide.u32 %d1, %r4, 4, %d1;
ld.global.u32 %r5, [%d1]; mad.wide.u32 %d2, %r1, 4, %d0; st.global.u32 [%d2+2048], %r5; ret; }}
"""
UNWRITTEN = f"""{HEAD}.visible .entry k({PARAMS}) .reqntid 64 {{ .reg .b64 %d<4>; .reg .b32 %r<9>; .shared .align 4 .b8 s[512];
ld.param.u64 %d0, [out]; mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
ld.shared.b32 %r4, [%r3]; mul.rn.f32 %r5, %r4, 0fBF800000; add.rn.f32 %r5, %r5, 0fC2C80000; max.f32 %r5, %r5, 0f00000000;
mad.wide.u32 %d1, %r1, 4, %d0; st.global.b32 [%d1], %r5; ret; }}
"""


def audited(ptx: str, arch: str) -> Verdict:
    auditor = Auditor(ptx, turns=2)
    return auditor.audit(auditor.kernels()[0], Binary("x.cubin", orias.compile(ptx, arch=arch).data))


@pytest.mark.parametrize("ptx", [STRIDES, FLOAT_AS_BITS, UNWRITTEN])
def test_compared_and_equal(ptx: str) -> None:
    """Without small numbers the first has no launch; the third differs if PTX and machine code fill shared memory with other bytes."""
    found = audited(ptx, "sm_90")
    assert (found.outcome, found.compared, found.skipped) == (EQUAL, 2, [])


def test_declared_float() -> None:
    kernel = Auditor(FLOAT_AS_BITS).kernels()[0]
    assert Uses(kernel).loads[4, 0, 4] == "f32"


def test_rows_of_warps_for_matrices() -> None:
    """A loop whose bound must be a multiple of a warp, and a block in which each row is a warp."""
    text = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) .maxntid 64, 1, 1
{
    .reg .b64 %d<4>; .reg .b32 %r<12>; .reg .pred %q;
    .shared .align 16 .b8 s[2048];
    ld.param.u64 %d0, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r0, %tid.x;
    mov.u32 %r2, %tid.y;
    mad.lo.u32 %r3, %r2, 32, %r0;
    mov.u32 %r9, 0;
    shl.b32 %r4, %r3, 4;
    mov.u32 %r5, s;
    and.b32 %r4, %r4, 1008;
    add.u32 %r5, %r5, %r4;
    st.shared.v4.b32 [%r5], {%r3, %r3, %r3, %r3};
    bar.sync 0;
    mov.u32 %r6, %r3;
    setp.ge.s32 %q, %r6, %r1;
    @%q bra Done;
Again:
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r5];
    add.u32 %r9, %r9, %r7;
    add.s32 %r6, %r6, 64;
    setp.lt.s32 %q, %r6, %r1;
    @%q bra Again;
Done:
    mad.wide.u32 %d1, %r3, 4, %d0;
    st.global.u32 [%d1], %r9;
    ret;
}
"""
    module = parse(text, "k.ptx")
    (kernel,) = module.functions
    found = usable_launch(module, kernel, "sm_80", 0, Image(orias.compile(text, arch="sm_80").data))
    assert not isinstance(found, str), found
    assert found[0].block == (32, 2, 1) and found[1].error is None


def test_end_of_a_variable() -> None:
    """A launch in which the PTX reads past a variable of the module is not chosen: the variables end where the cubin's do."""
    text = f"""{HEAD}.global .align 4 .b8 t[64];
.visible .entry k(.param .u64 out) {{ .reg .b64 %d<4>; .reg .b32 %r<9>;
ld.param.u64 %d0, [out]; mov.u32 %r1, %tid.x; mov.u64 %d1, t; mad.wide.u32 %d1, %r1, 4, %d1;
ld.global.u32 %r2, [%d1]; mad.wide.u32 %d2, %r1, 4, %d0; st.global.u32 [%d2], %r2; ret; }}
"""
    auditor = Auditor(text)
    image = Image(orias.compile(text, arch="sm_80").data)
    for threads, fails in ((16, False), (17, True)):
        launch = usable_launch(auditor.module, auditor.kernels()[0], "sm_80", 0, image)
        assert not isinstance(launch, str)
        case = launch[0]
        case.block = threads, 1, 1
        assert (run(PtxImage(auditor.module, "sm_80", like=image), case).error is not None) == fails


def test_distance_of_the_lines_of_a_matrix() -> None:
    """Machine code loads 8 bytes at once: a launch with 5 floats is not compared."""
    text = f"""{HEAD}.visible .entry k(.param .u64 p, .param .u32 n) .reqntid 32 {{ .reg .b64 %d; .reg .b32 %r; .reg .f32 %f<8>;
ld.param.u64 %d, [p]; ld.param.u32 %r, [n];
wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, [%d], %r;
wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d+2048], {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, %r; ret; }}
"""
    auditor = Auditor(text)
    image = Image(orias.compile(text, arch="sm_80").data)
    launch = usable_launch(auditor.module, auditor.kernels()[0], "sm_80", 0, image)
    assert not isinstance(launch, str)
    case = launch[0]
    (pointer,) = case.pointers.values()
    for stride, start, fails in (
        (16, 0, False),
        (20, 0, False),
        (5, 0, True),
        (18, 0, False),
        (16, 4, True),
        (16, 8, False),
    ):
        case.params[1] = stride.to_bytes(4, "little")
        pointer.start = start
        error = run(PtxImage(auditor.module, "sm_80", like=image), case).error
        assert (error is not None) == fails, (stride, start, error)


def test_a_thread_that_its_mask_leaves_out() -> None:
    """What such a thread gets is open: a launch with more threads than the mask names is not used."""
    body = """.visible .entry k(.param .u64 out) {} {{ .reg .b64 %d<4>; .reg .b32 %r<9>;
ld.param.u64 %d0, [out]; mov.u32 %r1, %tid.x; shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff;
mad.wide.u32 %d2, %r1, 4, %d0; st.global.u32 [%d2], %r2; ret; }}
"""
    for threads in (16, 32):
        text = HEAD + body.format(f".reqntid {threads}")
        auditor = Auditor(text)
        image = Image(orias.compile(text, arch="sm_80").data)
        launch = usable_launch(auditor.module, auditor.kernels()[0], "sm_80", 0, image)
        assert isinstance(launch, str) == (threads == 32)
        assert threads == 16 or "its mask 0xffff leaves out" in str(launch)


def test_middle_one_of_three_stores() -> None:
    """Four warps store to one word, the first and the last one the same value: in the cubin the one before the last wins."""
    text = f"""{HEAD}.visible .entry k(.param .u64 out) .reqntid 128 {{ .reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %q;
ld.param.u64 %d0, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; setp.eq.u32 %q, %r2, 2; STORE ret; }}
"""
    auditor = Auditor(text.replace("STORE", "selp.u32 %r3, 9, 7, %q; st.global.u32 [%d0], %r3;"), turns=1)
    late = text.replace("STORE", "@!%q st.volatile.global.u32 [%d0], 7; @%q st.volatile.global.u32 [%d0], 9;")
    cubin = Binary("x.cubin", orias.compile(late, arch="sm_80").data)
    assert auditor.audit(auditor.kernels()[0], cubin).outcome == EQUAL


def test_variables_larger_than_the_memory_of_a_case() -> None:
    """Not compared, with the reason."""
    text = f"""{HEAD}.global .align 4 .b8 t[16000000];
.visible .entry k(.param .u64 out) {{ .reg .b64 %d; mov.u64 %d, t; st.global.u64 [%d], %d; ret; }}
"""
    found = audited(text, "sm_80")
    assert (found.outcome, found.skipped) == (NOT_COMPARED, ["the module's variables need too much memory"])


def test_clocks_are_left_open() -> None:
    """Code of a compiler counts other cycles than the PTX interpreter steps; the launch is too long for other orders of threads."""
    text = f"""{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %p;
ld.param.u64 %d0, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %clock; mad.wide.u32 %d2, %r1, 4, %d0;
ld.global.u32 %r3, [%d2]; mov.u32 %r5, 900;
L: mad.lo.u32 %r3, %r3, %r3, %r5; sub.u32 %r5, %r5, 1; setp.ne.u32 %p, %r5, 0; @%p bra L;
st.global.u32 [%d2], %r3; mov.u32 %r4, %clock;
st.global.u32 [%d2+2048], %r2; st.global.u32 [%d2+4096], %r4; ret; }}
"""
    auditor = Auditor(text, turns=1)
    (kernel,) = auditor.kernels()
    v = auditor.audit(kernel, Binary("ours", orias.compile(text, arch="sm_80").data))
    assert v.outcome == EQUAL, v.record()
