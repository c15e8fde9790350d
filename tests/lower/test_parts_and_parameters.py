"""Results of video instructions into parts of registers, and isspacep of parameters: ours and ptxas's cubins, and the host's results."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim
from tests.check.plant import sections
from tests.nvtools import LIMIT_S, find

HEAD = ".version 9.0\n.target {arch}\n.address_size 64\n"
PARTS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16)}
PLACE = """.visible .entry k(.param .u64 p, .param .align 8 .b8 s[24]) {
.reg .b64 %d<5>; .reg .pred %p; .reg .b32 %r;
ld.param.u64 %d1, [p]; mov.b64 %d2, s; cvta.param.u64 %d3, %d2;
"""


def theirs(text: str, arch: str, folder: Path) -> bytes | None:
    """ptxas's cubin, if it is installed."""
    tool = find("ptxas")
    if tool is None:
        return None
    (folder / "x.ptx").write_text(text)
    subprocess.run(
        [tool, "-arch", arch, str(folder / "x.ptx"), "-o", str(folder / "x.cubin")], check=True, timeout=LIMIT_S
    )
    return (folder / "x.cubin").read_bytes()


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120a"])
def test_results_into_parts(arch: str, tmp_path: Path) -> None:
    names = ["vadd.u32.u32.u32", "vsub.s32.u32.u32", "vmax.u32.u32.u32", "vset.u32.u32.lt"]
    lines = [(name, part) for name in names for part in PARTS]
    body = "".join(
        f"{name} %r5.{part}, %r1.b1, %r2.h1, %r3; st.global.b32 [%d1+{64 + 4 * k}], %r5;\n"
        for k, (name, part) in enumerate(lines)
    )
    text = (
        HEAD.format(arch=arch)
        + ".visible .entry k(.param .u64 p) {\n.reg .b64 %d<2>; .reg .b32 %r<6>;\nld.param.u64 %d1, [p];\n"
        "ld.global.b32 %r1, [%d1]; ld.global.b32 %r2, [%d1+4]; ld.global.b32 %r3, [%d1+8];\n" + body + "ret;\n}\n"
    )
    a, b, c = 0x12345678, 0x0081FEDC, 0xA1B2C3D4
    x, y = a >> 8 & 0xFF, b >> 16
    values = {"vadd": x + y, "vsub": x - y, "vmax": max(x, y), "vset": int(x < y)}
    for data in (orias.compile(text, arch=arch, opt_level=3).data, theirs(text, arch, tmp_path)):
        if data is None:
            continue
        memory = np.zeros(16 + len(lines), "u4")
        memory[:3] = a, b, c
        orias.sim.load(data).launch("k", grid=1, block=1, args=[memory])
        for k, (name, part) in enumerate(lines):
            low, bits = PARTS[part]
            mask = (1 << bits) - 1 << low
            wanted = c & ~mask | values[name.split(".")[0]] << low & mask
            assert memory[16 + k] == wanted, (name, part)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_isspacep_of_parameters(arch: str, tmp_path: Path) -> None:
    places = [("%d3", 0, 1), ("%d3", 23, 1), ("%d3", -8, 1), ("%d3", -9, 0), ("%d3", 64, 0), ("%d1", 0, 0)]
    text = HEAD.format(arch=arch) + PLACE
    for k, (base, offset, _) in enumerate(places):
        space = "param" if k % 2 else "param::entry"
        text += f"add.s64 %d4, {base}, {offset}; isspacep.{space} %p, %d4; selp.b32 %r, 1, 0, %p; st.global.b32 [%d1+{4 * k}], %r;\n"
    text += "ret;\n}\n"
    cubins = [orias.compile(text, arch=arch, opt_level=level).data for level in (0, 3)]
    other = theirs(text, arch, tmp_path)
    if other is not None:
        cubins.append(other)
    for data in cubins:
        memory = np.full(8, 9, "u4")
        orias.sim.load(data).launch("k", grid=1, block=1, args=[memory, bytes(24)])
        assert list(memory[: len(places)]) == [wanted for _, _, wanted in places]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_120"])
@pytest.mark.parametrize("bytes_", [4344, 4352])
def test_kernels_with_many_parameters(bytes_: int, arch: str, tmp_path: Path) -> None:
    """More than 4352 bytes (8 of them the pointer) are at another place of the bank up to sm_89, and texture slots are after them."""
    text = HEAD.format(arch=arch) + PLACE.replace("[24]", f"[{bytes_}]")
    text += f"ld.param.b32 %r, [s+{bytes_ - 4}]; st.global.b32 [%d1], %r; add.s64 %d4, %d3, {bytes_ - 4};"
    text += "ld.b32 %r, [%d4]; st.global.b32 [%d1+4], %r; isspacep.param %p, %d4; selp.b32 %r, 1, 0, %p;"
    text += "st.global.b32 [%d1+8], %r;\nret;\n}\n"
    cubins = [orias.compile(text, arch=arch, opt_level=level).data for level in (0, 3)]
    other = theirs(text, arch, tmp_path)
    for data in cubins if other is None else [*cubins, other]:
        memory = np.full(3, 9, "u4")
        orias.sim.load(data).launch("k", grid=1, block=1, args=[memory, bytes(bytes_ - 4) + b"\7\0\0\0"])
        assert list(memory) == [7, 7, 1]


IN_FUNCTION = """
.func (.param .b32 r) f(.param .b64 a) {
.reg .b64 %d; .reg .pred %p; .reg .b32 %r;
ld.param.b64 %d, [a]; isspacep.param::entry %p, %d; selp.b32 %r, 1, 0, %p; st.param.b32 [r], %r; ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("bytes_", [24, 4800])
@pytest.mark.parametrize("option", ["-c", "-g"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90"])
def test_isspacep_of_parameters_in_a_function(arch: str, option: str, bytes_: int, tmp_path: Path) -> None:
    """Where a function has a section of its own, for many kernels, few of their parameters (at 0x160) and many (at 0x1a80)."""
    places = [
        ("%d3", 0, 1),
        ("%d3", bytes_ - 1, 1),
        ("%d3", -8, 1),
        ("%d3", -9, 0),
        ("%d3", bytes_ + 64, 0),
        ("%d1", 0, 0),
    ]
    text = HEAD.format(arch=arch) + IN_FUNCTION + PLACE.replace("[24]", f"[{bytes_}]")
    for k, (base, offset, _) in enumerate(places):
        text += f"add.s64 %d4, {base}, {offset};\n{{ .param .b64 x; .param .b32 y; st.param.b64 [x], %d4; call (y), f, (x);\n"
        text += f"ld.param.b32 %r, [y]; }} st.global.b32 [%d1+{4 * k}], %r;\n"
    text += "ret;\n}\n"
    data = orias.compile(text, arch=arch, compile_only=option == "-c", debug=option == "-g").data
    memory = np.full(8, 9, "u4")
    orias.sim.load(data).launch("k", grid=1, block=1, args=[memory, bytes(bytes_)])
    assert list(memory[: len(places)]) == [wanted for _, _, wanted in places]


def _with_offset(offset: str) -> str:
    return f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{{
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [q+{offset}];
    st.global.u64 [%d1], %d1;
    ret;
}}
"""


def test_an_offset_is_a_word_of_64_bits() -> None:
    """18446744073709551608 is -8."""
    one, other = (orias.compile(_with_offset(x), arch="sm_80").data for x in ("18446744073709551608", "-8"))
    assert [code for _, _, code in sections(one)] == [code for _, _, code in sections(other)]


@pytest.mark.parametrize("offset", ["9223372036854775807", "65184"])
def test_offsets_outside_of_the_bank(offset: str) -> None:
    """What is there is not defined; ptxas compiles it, too."""
    assert "LDC" in orias.compile(_with_offset(offset), arch="sm_80").disassemble()


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("level", [0, 3])
def test_words_of_parameters_that_are_not_aligned(arch: str, level: int) -> None:
    """PTX does not define such a load; it reads the word that is there, as ptxas's code does before sm_90."""
    text = HEAD.format(arch=arch) + ".const .b8 c[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n" + PLACE
    text += "ld.param.u32 %r, [s+6]; st.global.b32 [%d1], %r; ld.param.u64 %d2, [s+11]; st.global.b64 [%d1+8], %d2;\n"
    text += "ld.const.u32 %r, [c+5]; st.global.b32 [%d1+4], %r; ret;\n}\n"
    memory = np.zeros(2, "u8")
    orias.sim.load(orias.compile(text, arch=arch, opt_level=level).data).launch("k", 1, 1, [memory, bytes(range(24))])
    assert memory.tobytes() == bytes([4, 5, 6, 7, 5, 6, 7, 8, *range(8, 16)])
