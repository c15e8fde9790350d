"""PTX texts that the driver links."""

import shutil
from ctypes import byref, c_char_p, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

from orias.driver.linked_texts import linked
from tests.driver.test_driver import allocate, context, cuda, launch  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
FUNCTION = "(.param .b32 result) {name} (.param .b32 value)"
CALL = """{
    .param .b32 v, r;
    st.param.b32 [v], %x;
    call (r), $name, (v);
    ld.param.b32 %x, [r];
}
"""
INLINED = ".loc 1 9 0, function_name $L__info_string0,"
PTX, LIBRARY = 1, 4
RUNTIME = b"!<arch>\n/               0           0     0     0       8         `\ncuda_device_runtime.o/\n"
"""The beginning of the archive with NVIDIA's device runtime, by which the driver knows it."""


def entry(name, body):
    """A kernel that stores %x."""
    return f""".visible .entry {name}(.param .u64 place)
{{
    .reg .b64 %a;
    .reg .b32 %x;
    ld.param.u64 %a, [place];
    {body}
    st.global.u32 [%a], %x;
    ret;
}}
"""


def defined(linkage, name, body):
    """A function of %x."""
    header = FUNCTION.format(name=name)
    return f"""{linkage} .func {header}
{{
    .reg .b32 %x;
    ld.param.b32 %x, [value];
    {body}
    st.param.b32 [result], %x;
    ret;
}}
"""


def called(name):
    return CALL.replace("$name", name)


def results(api, texts, kernels, library=b""):
    """What kernels of the linked texts store; `library`: an archive that is linked, too."""
    link, image, size, module = c_void_p(), c_void_p(), c_size_t(), c_void_p()
    api("cuLinkCreate_v2", 0, None, None, byref(link))
    for text in texts:
        data = text.encode() + b"\0"
        api("cuLinkAddData_v2", link, PTX, data, c_size_t(len(data)), c_char_p(b""), 0, None, None)
    if library:
        api("cuLinkAddData_v2", link, LIBRARY, library, c_size_t(len(library)), c_char_p(b""), 0, None, None)
    api("cuLinkComplete", link, byref(image), byref(size))
    api("cuModuleLoadData", byref(module), image)
    api("cuLinkDestroy", link)
    place = allocate(api, 4)
    out = []
    for name in kernels:
        f, value = c_void_p(), np.zeros(1, np.uint32)
        api("cuModuleGetFunction", byref(f), module, name.encode())
        assert launch(api, f, 1, 1, [c_uint64(place.value)]) == 0
        api("cuMemcpyDtoH_v2", c_void_p(value.ctypes.data), place, c_size_t(4))
        out.append(int(value[0]))
    return out


@pytest.mark.parametrize("linkage", [".visible", ".weak"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_function_of_another_text(context, linkage, first):  # noqa: F811
    texts = [
        HEAD + ".extern .func " + FUNCTION.format(name="f") + "\n;\n" + entry("k", "mov.u32 %x, 3;" + called("f")),
        HEAD + defined(linkage, "f", "mul.lo.u32 %x, %x, 5;"),
    ]
    assert results(context, texts[::-1] if first else texts, ["k"]) == [15]


def test_variables_without_linkage_are_of_their_text(context):  # noqa: F811
    texts = [
        HEAD + ".global .u32 v = 3;\n" + entry("a", "ld.global.u32 %x, [v];"),
        HEAD + ".global .b8 v[6] = {7, 1, 0, 0};\n" + entry("b", "ld.global.u8 %x, [v+1];"),
        # One that is the same, but another variable.
        HEAD + ".global .u32 v = 3;\n" + entry("c", "mov.u32 %x, 9; st.global.u32 [v], %x;"),
    ]
    assert results(context, texts, ["c", "a", "b"]) == [9, 3, 1]


def test_functions_without_linkage_are_of_their_text(context):  # noqa: F811
    texts = [
        HEAD + defined("", "f", f"add.u32 %x, %x, {i};") + entry(f"k{i}", "mov.u32 %x, 10;" + called("f"))
        for i in (1, 2)
    ]
    assert results(context, texts, ["k1", "k2"]) == [11, 12]


def test_a_variable_of_another_text(context):  # noqa: F811
    texts = [
        HEAD + ".extern .global .u32 v;\n" + entry("k", "ld.global.u32 %x, [v];"),
        HEAD + ".visible .global .u32 v = 21;\n",
    ]
    assert results(context, texts, ["k"]) == [21]


def test_a_common_variable_is_one(context):  # noqa: F811
    common = ".common .global .align 4 .u32 v;\n"
    texts = [
        HEAD + common + entry("a", "mov.u32 %x, 9; st.global.u32 [v], %x;"),
        HEAD + common + entry("b", "ld.global.u32 %x, [v];"),
    ]
    assert results(context, texts, ["a", "b"]) == [9, 9]


@pytest.mark.parametrize(
    ("first", "second", "result"), [(".weak", ".weak", 12), (".weak", ".visible", 13), (".visible", ".weak", 12)]
)
def test_a_function_that_both_texts_define(context, first, second, result):  # noqa: F811
    texts = [
        HEAD + defined(linkage, "f", f"add.u32 %x, %x, {i};") + entry(f"k{i}", "mov.u32 %x, 10;" + called("f"))
        for i, linkage in ((2, first), (3, second))
    ]
    assert results(context, texts, ["k2", "k3"]) == [result, result]


def test_source_lines_and_debugging_sections(context):  # noqa: F811
    """The second text's lines are of a file that the first one's number names, too."""
    texts = [
        HEAD.replace("sm_75", "sm_75, debug")
        + entry(name, f".loc 1 {i + 3} 0\n mov.u32 %x, {i};\n {INLINED} inlined_at 1 {i + 3} 0\n")
        + f'.file 1 "{name}.cu"\n.section .debug_str\n{{\n$L__info_string0:\n.b8 {97 + i},0\n}}\n'
        + ".section .debug_info\n{\n.b32 4\n.b32 .debug_abbrev\n}\n"
        for i, name in enumerate(("a", "b"))
    ]
    assert results(context, texts, ["a", "b"]) == [0, 1]
    one = linked([t.encode() for t in texts])
    assert b'.file 2 "b.cu"' in one[1] and b".loc 2 9 0, function_name $L__info_string0$1, inlined_at 2 4 0" in one[1]
    assert all(b"debug_info" not in t and t.count(b"\n") == g.count("\n") for t, g in zip(one, texts, strict=True))


LAUNCHES = """.extern .func (.param .b64 buffer) __cudaCDP2GetParameterBufferV2(
    .param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);
.extern .func (.param .b32 result) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);
"""
LAUNCH = """{
    .param .b64 k;
    .param .align 4 .b8 g[12];
    .param .align 4 .b8 t[12];
    .param .b32 s;
    .param .b64 b;
    .reg .b64 %k;
    mov.u64 %k, child;
    st.param.b64 [k], %k;
    st.param.b32 [g], 1;
    st.param.b32 [g+4], 1;
    st.param.b32 [g+8], 1;
    st.param.b32 [t], 1;
    st.param.b32 [t+4], 1;
    st.param.b32 [t+8], $depth;
    st.param.b32 [s], 0;
    call (b), __cudaCDP2GetParameterBufferV2, (k, g, t, s);
    ld.param.b64 %k, [b];
    st.u64 [%k], %a;
    {
        .param .b64 b;
        .param .b64 s;
        .param .b32 e;
        st.param.b64 [b], %k;
        mov.u64 %k, 0;
        st.param.b64 [s], %k;
        call (e), __cudaCDP2LaunchDeviceV2, (b, s);
        ld.param.b32 %x, [e];
    }
}
"""


@pytest.mark.parametrize(("depth", "result"), [(1, 77), (0, 9)])
def test_kernels_that_kernels_launch(context, depth, result):  # noqa: F811
    """The child comes after the parent and overwrites what it stored: the result of the launch, here that of wrong sizes."""
    child, parent = entry("child", "mov.u32 %x, 77;"), entry("parent", LAUNCH.replace("$depth", str(depth)))
    assert results(context, [HEAD + LAUNCHES + child + parent], ["parent"], RUNTIME) == [result]


GRID = """.extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
"""
MEET = """{
    .param .b32 s;
    .param .b64 h;
    .param .b32 f, r;
    .reg .b64 %h;
    st.param.b32 [s], 1;
    call (h), cudaCGGetIntrinsicHandle, (s);
    ld.param.b64 %h, [h];
    st.param.b64 [h], %h;
    st.param.b32 [f], 0;
    call (r), cudaCGSynchronize, (h, f);
    ld.param.b32 %x, [r];
}
"""


def test_the_barrier_of_a_grid(context):  # noqa: F811
    """A grid of one block has a handle, and all of its threads meet."""
    assert results(context, [HEAD + GRID + entry("k", MEET + "add.u32 %x, %x, 5;")], ["k"], RUNTIME) == [5]
