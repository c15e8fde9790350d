"""Audits of kernels with textures and surfaces: handles in parameters, in structures, by name; a wrong coordinate is found."""

import pytest

import orias
from orias.tools.audit.audit_kernel import DIFFERENT, EQUAL, Auditor, Verdict
from orias.tools.audit.audit_subject import Binary
from orias.tools.validate.bound_objects import Handle
from orias.tools.validate.case import Case, from_json

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
BODY = """ .reg .b64 %d<6>; .reg .b32 %r<9>; .reg .f32 %f<9>;
ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0; cvt.rn.f32.u32 %f0, %r0; mov.f32 %f1, 2.0;
"""
STORE = "\nst.global.u32 [%d1], %r1;\nret; }\n"
TEXTURE = "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [HANDLE, {%f0, %f1}];"
IN_PARAMETER = f"{HEAD}.visible .entry k(.param .u64 out, .param .u64 t) {{{BODY}ld.param.u64 %d2, [t];\n{TEXTURE.replace('HANDLE', '%d2')}{STORE}"
IN_STRUCTURE = (
    f"{HEAD}.visible .entry k(.param .u64 out, .param .align 8 .b8 t[24]) {{{BODY}ld.param.u64 %d2, [t+16];\n"
    f"{TEXTURE.replace('HANDLE', '%d2')}{STORE}"
)
BY_NAME = (
    f"{HEAD}.global .texref t;\n.visible .entry k(.param .u64 out) {{{BODY}{TEXTURE.replace('HANDLE', 't')}{STORE}"
)
NAME_IN_REGISTER = f"{HEAD}.global .texref t;\n.visible .entry k(.param .u64 out) {{{BODY}mov.u64 %d3, t;\n{TEXTURE.replace('HANDLE', '%d3')}{STORE}"
AS_PARAMETER = (
    f"{HEAD}.visible .entry k(.param .u64 out, .param .texref t) {{{BODY}{TEXTURE.replace('HANDLE', 't')}{STORE}"
)
SURFACE = (
    f"{HEAD}.visible .entry k(.param .u64 out, .param .u64 s) {{{BODY}ld.param.u64 %d2, [s]; shl.b32 %r5, %r0, 2; mov.u32 %r6, 3;\n"
    f"suld.b.2d.b32.trap {{%r1}}, [%d2, {{%r5, %r6}}]; add.u32 %r7, %r1, 5; sust.b.2d.b32.trap [%d2, {{%r5, %r6}}], {{%r7}};{STORE}"
)
TEXTS = (IN_PARAMETER, IN_STRUCTURE, BY_NAME, NAME_IN_REGISTER, AS_PARAMETER, SURFACE)


def audited(ptx: str, of: str, arch: str) -> Verdict:
    auditor = Auditor(ptx, turns=1)
    return auditor.audit(auditor.kernels()[0], Binary("x.cubin", orias.compile(of, arch=arch).data))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("ptx", TEXTS)
def test_equal(ptx: str, arch: str) -> None:
    found = audited(ptx, ptx, arch)
    assert (found.outcome, found.skipped) == (EQUAL, [])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("ptx", TEXTS[:5])
def test_wrong_coordinate(ptx: str) -> None:
    assert audited(ptx, ptx.replace("%f1, 2.0", "%f1, 3.0"), "sm_90").outcome == DIFFERENT


def test_wrong_surface() -> None:
    """The value in the surface counts, though nothing in memory depends on it."""
    found = audited(SURFACE, SURFACE.replace("%r7, %r1, 5", "%r7, %r1, 6"), "sm_90")
    assert found.outcome == DIFFERENT
    assert found.difference is not None and found.difference.place[0] == "#1"


def test_case_as_json() -> None:
    case = Case("k")
    case.params = [bytearray(8), bytearray(24)]
    case.handles[1, 16] = Handle("surface", "3d", "b32", 7)
    case.references["t"] = Handle("texture", "acube", "f16", 2)
    assert from_json(case.json()).json() == case.json()
    wrong = case.json()
    wrong["handles"][0]["kind"] = "cube"
    with pytest.raises(ValueError, match="surfaces are not cube"):
        from_json(wrong)
