"""The listing against nvdisasm on small programs, and the assembler on the listing."""

import subprocess
from pathlib import Path

import pytest

from orias.cubin.elf import ElfFile
from orias.isa.operand import K_R, kind_of, payload
from orias.tools.assemble import AsmError, assemble, assemble_instruction, control_word
from orias.tools.disassemble import control_text, decode_text_section, disassemble
from tests.nvtools import LIMIT_S, tool

SOURCE = """
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 values[4] = {1, 2, 3, 4};
.func (.reg .u32 r) helper(.reg .u32 a) {
  .reg .pred p; setp.gt.u32 p, a, 5; @p bra L; add.u32 r, a, 1; ret;
  L: mul.lo.u32 r, a, a; ret;
}
.visible .entry divide(.param .u64 p, .param .u32 n) {
  .reg .u64 a; .reg .u32 b, c, d; .reg .pred q; .reg .f32 f, g;
  ld.param.u64 a, [p]; ld.param.u32 b, [n]; mov.u32 c, 0;
  LOOP: call (d), helper, (b); add.u32 c, c, d; add.u32 b, b, -1; setp.ne.u32 q, b, 0; @q bra LOOP;
  cvt.rn.f32.u32 f, c; cvt.rn.f32.u32 g, b; div.rn.f32 f, f, g; cvt.rzi.u32.f32 c, f;
  st.global.u32 [a], c; ld.global.u32 d, [values+4]; st.global.u32 [a+4], d; ret;
}
.visible .entry jump(.param .u64 p) {
  .reg .u64 a; .reg .u32 b, c; .shared .align 4 .b8 sh[256];
  table: .branchtargets T0, T1, T2, T3;
  ld.param.u64 a, [p]; ld.global.u32 b, [a];
  st.shared.u32 [sh], b; bar.sync 0; bar.sync 1; ld.shared.u32 c, [sh+4];
  brx.idx b, table;
  T0: st.global.u32 [a], 5; ret;
  T1: st.global.u32 [a+4], 6; ret;
  T2: st.global.u32 [a+8], c; ret;
  T3: st.global.u32 [a+12], 8; ret;
}
"""


JUMP = SOURCE.index(".visible .entry jump")


def compiled(folder: Path, arch: str, *options: str, text: str = SOURCE) -> Path:
    source = folder / "a.ptx"
    source.write_text(text)
    out = folder / f"{arch}.cubin"
    subprocess.run([tool("ptxas"), f"-arch={arch}", *options, str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out


def nvdisasm(path: Path, *options: str) -> list[str]:
    command = [tool("nvdisasm"), *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout.splitlines()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_executable(arch: str, tmp_path: Path) -> None:
    path = compiled(tmp_path, arch)
    assert disassemble(path.read_bytes()).splitlines() == nvdisasm(path, "-c")


def test_words_beside_the_text(tmp_path: Path) -> None:
    path = compiled(tmp_path, "sm_90")
    assert disassemble(path.read_bytes(), hex_words=True).splitlines() == nvdisasm(path, "-c", "-hex")


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_relocatable(arch: str, tmp_path: Path) -> None:
    path = compiled(tmp_path, arch, "-c", text=SOURCE[:JUMP])
    assert disassemble(path.read_bytes()).splitlines() == nvdisasm(path, "-c")


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_assembling_a_listing_gives_the_code_back(arch: str, tmp_path: Path) -> None:
    data = compiled(tmp_path, arch).read_bytes()
    code = {s.name: s.data for s in ElfFile(data).sections if s.name.startswith(".text.")}
    assert len(code) == 2
    assert assemble(disassemble(data, control=True), arch) == code
    assert assemble(disassemble(data, hex_words=True, control=True), arch) == code


def test_decoded_section(tmp_path: Path) -> None:
    data = compiled(tmp_path, "sm_90").read_bytes()
    section = ElfFile(data).section(".text.jump")
    assert section is not None
    found = decode_text_section(section.data, "sm_90")
    assert [d.addr for d in found] == list(range(0, len(section.data), 16))
    assert found[0].op.name == "LDC"
    assert kind_of(found[0].dst[0]) == K_R
    with pytest.raises(ValueError, match="whole number"):
        decode_text_section(section.data[:-1], "sm_90")


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("FFMB R1, R2 ;", "no instruction 'FFMB'; nearest: FFMA", 1),
        ("@P0 MOV R1, 0x12345678901 ;", "0x12345678901 does not fit its field .0x0 to 0xffffffff.", 13),
        ("IADD3 R1, R2, R3 ;", "no form of IADD3 .* nearest form: IADD3 R, R, R, R", 17),
        ("MOV.FOO R1, R2 ;", "no form of MOV", 4),
        ("EXIT", "semicolon", 5),
    ],
)
def test_errors_have_a_place(text: str, message: str, column: int) -> None:
    with pytest.raises(AsmError, match=message) as e:
        assemble("\n" + text, "sm_90")
    assert (e.value.line, e.value.column) == (2, column)


def test_control_words() -> None:
    for ctl in (1 | 7 << 5 | 7 << 8, 0x1FFFF, 3 << 5 | 2 << 8 | 5 << 11 | 20):
        assert control_word(control_text(ctl)) == (ctl, 0)
    assert control_word("nothing") is None


def test_labels() -> None:
    text = "top:\n IADD3 R0, R0, 0x1, RZ ;\n @P0 BRA `(top) ;\n BRA `(end) ;\nend:\n EXIT ;"
    code = assemble(text, "sm_80")[".text"]
    branches = [payload(d.src[-1]) for d in decode_text_section(code, "sm_80") if d.op.base == "BRA"]
    assert branches == [(-32) % (1 << 64), 0]


def test_hidden_fields_are_defaults() -> None:
    from orias.isa.isa_table import load

    t = load("sm_90")
    assert assemble_instruction("S2R R4, SR_TID.X", t) == 0x000FC200000021000000000000047919 & (1 << 105) - 1


def test_negative_zero_has_a_space_behind() -> None:
    from orias.isa.isa_table import load

    t = load("sm_90")
    word = assemble_instruction("FFMA R1, R2, -0.0, R3", t)
    assert t.text(word) == "FFMA R1, R2, -0.0 , R3"
    assert assemble_instruction(t.text(word), t) == word
