"""Registers and local variables at module level, which PTX before 3.0 may have; the messages are those of ptxas 13.0.88."""

import numpy as np
import pytest

import orias
from orias.sim import load

HEAD = ".version 2.3\n.target sm_20\n.address_size 64\n"
USE = """\
.local .align 8 .u32 cells[4];
.reg .u32 %q<9>;
.reg .u32 one;
.entry first(.param .u64 out)
{
    .reg .u64 %d;
    .reg .u32 %t;
    ld.param.u64 %d, [out];
    mov.u32 %t, %tid.x;
    add.u32 %q3, %t, 5;
    st.local.u32 [cells+4], %q3;
    mul.lo.u32 %q3, %t, 3;
    ld.local.u32 one, [cells+4];
    mad.lo.u32 %q3, %q3, 1000, one;
    mad.wide.u32 %d, %t, 4, %d;
    st.global.u32 [%d], %q3;
    exit;
}
.entry second(.param .u64 out)
{
    .reg .u64 %d;
    .reg .u32 one;
    ld.param.u64 %d, [out];
    mov.u32 %q4, 7;
    {
        .reg .u32 %q4;
        mov.u32 %q4, 9;
        mov.u32 one, %q4;
    }
    mad.lo.u32 one, one, 10, %q4;
    st.global.u32 [%d], one;
    exit;
}
"""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120a"])
def test_each_kernel_has_its_own(arch: str, level: int) -> None:
    image = load(orias.compile(HEAD + USE, arch=arch, opt_level=level).data)
    out = np.zeros(32, np.uint32)
    image.launch("first", 1, 32, [out])
    assert [int(x) for x in out] == [3000 * t + t + 5 for t in range(32)]
    image.launch("second", 1, 1, [out])
    assert out[0] == 97


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (".local .u32 L;\n.reg .u32 r;\n.entry k() { exit; }", ["warning 0: Use of module scoped .local or .reg variable 'L' found, disabling ABI"]),
        (".reg .u32 r<4>;\n.local .u32 L;\n.entry k() { exit; }", ["warning 0: Use of module scoped .local or .reg variable 'r<' found, disabling ABI"]),
        (".local .u32 L = 3;\n.entry k() { exit; }", ["error 4: No initial value is allowed for 'L' in this state space"]),
        (
            ".local .u32 L;\n.func (.reg .u32 o, .reg .u32 p) f() { mov.u32 o, 1; mov.u32 p, 2; ret; }\n.entry k() { .reg .u32 a, b; call (a, b), f, (); exit; }",
            [
                "warning 0: Use of module scoped .local or .reg variable 'L' found, disabling ABI",
                "warning 0: Function 'f' with multiple return values found, disabling ABI",
            ],
        ),
        (
            ".local .u32 L;\n.func (.reg .u32 o) f(.reg .u32 x) { call (o), f, (x); ret; }\n.entry k() { .reg .u32 a; mov.u32 a, 1; call (a), f, (a); exit; }",
            [
                "warning 0: Use of module scoped .local or .reg variable 'L' found, disabling ABI",
                "fatal 0: Function 'f' is recursive",
            ],
        ),
    ],
)  # fmt: skip
def test_messages(text: str, messages: list[str]) -> None:
    assert _messages(HEAD + text) == messages


def test_not_in_functions() -> None:
    """A function would share them with its callers: refused by name."""
    text = HEAD + ".reg .u32 g;\n.func f() { mov.u32 g, 1; ret; }\n.entry k() { call f, (); exit; }"
    assert _messages(text) == ["error 5: Variable 'g' of the module is not supported in function 'f'"]


def test_not_since_3_0() -> None:
    text = ".version 3.0\n.target sm_20\n.reg .u32 g;\n.entry k() { exit; }"
    assert _messages(text) == ["error 3: Module-scoped variables in .reg state space are not allowed with ABI"]


def _messages(text: str) -> list[str]:
    try:
        found = orias.compile(text, arch="sm_80").diagnostics
    except orias.CompileError as e:
        found = e.diagnostics
    return [f"{d.severity} {d.line}: {d.message}" for d in found]
