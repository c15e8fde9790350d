"""Full listings: back to the same bytes; edits are followed through the file; errors have a place."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cubin.elf import ElfFile
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.tools.disassemble import disassemble
from orias.tools.fullread import build
from orias.tools.fullwrite import full_listing
from orias.tools.instruction import AsmError
from orias.tools.usage import CodeUse
from tests.cubin.ptx_cases import HEAD
from tests.cubin.test_hostile import sample
from tests.effort import must_end
from tests.nvtools import LIMIT_S, tool

SOURCE = """
.global .align 8 .u64 table[2] = {0x1234, 7};
.const .align 4 .u32 values[2] = {1, 2};
.func (.param .u32 r) helper(.param .u32 a) {
  .reg .u32 x; ld.param.u32 x, [a]; mul.lo.u32 x, x, x; st.param.u32 [r], x; ret;
}
.visible .entry k(.param .u64 p, .param .u32 n) .maxntid 128 {
  .reg .u64 %a; .reg .u32 %r<9>; .reg .pred %p; .shared .u32 s[32];
  ld.param.u64 %a, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, 0;
  L: { .param .u32 i; .param .u32 o; st.param.u32 [i], %r0; call (o), helper, (i); ld.param.u32 %r2, [o]; }
  add.u32 %r1, %r1, %r2; sub.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, 0; @%p bra L;
  st.shared.u32 [s], %r1; bar.sync 1; ld.shared.u32 %r3, [s+4];
  ld.const.u32 %r4, [values]; add.u32 %r3, %r3, %r4; shfl.sync.idx.b32 %r3, %r3, 1, 31, -1;
  setp.eq.u32 %p, %r3, 5; @%p exit; st.global.u32 [%a], %r3; ret;
}
"""


def compiled(folder: Path, arch: str, *options: str) -> bytes:
    source = folder / "a.ptx"
    source.write_text(HEAD.format(target="sm_75") + SOURCE)
    out = folder / "a.cubin"
    subprocess.run([tool("ptxas"), f"-arch={arch}", *options, str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out.read_bytes()


@pytest.mark.parametrize(
    ("arch", "options"),
    [
        ("sm_75", ()),
        ("sm_80", ("-c",)),
        ("sm_86", ("-lineinfo",)),
        ("sm_89", ("-g",)),
        ("sm_90", ()),
        ("sm_90a", ("-c", "-lineinfo")),
    ],
)
def test_the_same_bytes(arch: str, options: tuple[str, ...], tmp_path: Path) -> None:
    data = compiled(tmp_path, arch, *options)
    listing = full_listing(data)
    assert build(listing) == data
    assert "\t.attr EXIT_INSTR_OFFSETS, words, auto" in listing


def test_our_own_cubin() -> None:
    data = sample("sm_90")
    assert build(full_listing(data)) == data


def test_an_edit_is_followed(tmp_path: Path) -> None:
    data = compiled(tmp_path, "sm_90")
    listing = full_listing(data)
    rows = listing.split("\n")
    first = next(i for i, row in enumerate(rows) if row == "k:")
    at = next(i for i in range(first, len(rows)) if " BAR." in rows[i])
    rows[at:at] = [
        "   IADD3 R40, R41, 0x1, RZ ; /* B------ R- W- Y S04 */",
        "   @P0 EXIT ; /* B------ R- W- Y S05 */",
        "   BAR.SYNC.DEFER_BLOCKING 0x7 ; /* B------ R- W- Y S05 */",
    ]
    edited = build("\n".join(rows))
    before, after = Reader(data), Reader(edited)
    old, new = before.kernels["k"], after.kernels["k"]
    assert len(new.code) == len(old.code) + 48
    assert len(new.exit_offsets) == len(old.exit_offsets) + 1
    inserted = next(a for a, b in zip(new.exit_offsets, [*old.exit_offsets, 0], strict=True) if a != b)
    moved = [x + (48 if x >= inserted - 16 else 0) for x in old.exit_offsets]
    assert new.exit_offsets == sorted([*moved, inserted])
    assert new.num_regs >= 42 > old.num_regs
    assert (old.barriers, new.barriers) == (2, 8)
    assert [x + (48 if x >= inserted - 16 else 0) for x in old.coop_offsets] == new.coop_offsets
    symbol = next(s for s in ElfFile(edited).symbols if s.name == "k")
    assert symbol.size == len(new.code)
    path = tmp_path / "edited.cubin"
    path.write_bytes(edited)
    done = subprocess.run(
        [tool("nvdisasm"), "-c", str(path)], check=True, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.stdout == disassemble(edited)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("EXIT ;", "EXTI ;", "no instruction 'EXTI'; nearest: EXIT"),
        ("EXIT ;", "EXIT", "semicolon"),
        ("EXIT ;", "EXIT \x01;", "a control character"),
        (".attr EXIT_INSTR_OFFSETS, words, auto", ".attr EXIT_INSTR_OFFSETS, words, nowhere", "no label nowhere"),
        (".attr REGCOUNT, words, kernel", ".attr REGCOUNT, words, other", "no symbol other"),
        ("type=0x70000000", "type=what", "'what' is not a number"),
        ("\t.target sm_90", "\t.target sm_42", "no instruction table for sm_42"),
        ("\nkernel:", "\nkernel:\nkernel:", "label kernel is there twice"),
        ("\t.headers", "\t.wrong", "cannot stand"),
    ],
)
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    listing = full_listing(sample("sm_90"))
    assert old in listing
    with pytest.raises(AsmError, match=message) as e:
        build(listing.replace(old, new, 1))
    assert e.value.line > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"\.cubin (.*)sections=\d+", r".cubin \1sections=99999999999999999999", "at most 65279"),
        (r"(\.section \.nv\.callgraph, .*)align=4", r"\1align=4294967295", "is more than 65536"),
        (r"(\.section \.nv\.callgraph, .*\n)", r"\1\t.zero 2147483648\n", "at most 268435456 bytes"),
        (r"(\.section \.nv\.callgraph, .*\n)", r"\1\t.zero -1\n", "at most 268435456 bytes"),
        (r"(\.section \.nv\.callgraph, .*)align=4", r"\1align=4, offset=0x100000000", "at most 268435456 bytes"),
        (r"(\.section \.nv\.callgraph, )index=\d+", r"\1index=1", "has the index 1 too"),
    ],
)
def test_numbers_that_ask_for_memory(old: str, new: str, message: str) -> None:
    listing = full_listing(sample("sm_90"))
    changed, count = re.subn(old, new, listing, count=1)
    assert count
    with pytest.raises(AsmError, match=message), must_end(10):
        build(changed)


def test_command_line(tmp_path: Path) -> None:
    data = sample("sm_90")
    path, listing, back = tmp_path / "a.cubin", tmp_path / "a.sass", tmp_path / "b.cubin"
    path.write_bytes(data)
    orias = [sys.executable, "-m", "orias"]
    done = subprocess.run(
        [*orias, "dis", "--full", str(path)], check=True, capture_output=True, text=True, timeout=LIMIT_S
    )
    listing.write_text(done.stdout)
    subprocess.run([*orias, "as", str(listing), "-o", str(back)], check=True, timeout=LIMIT_S)
    assert back.read_bytes() == data
    listing.write_text(done.stdout.replace("EXIT ;", "EXIT.FOO ;"))
    wrong = subprocess.run([*orias, "as", str(listing)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert wrong.returncode == 255
    assert "a.sass: line " in wrong.stderr
    assert "nearest form: EXIT" in wrong.stderr


def test_barriers_by_register() -> None:
    """A barrier whose number is in a register leaves a stated count as it is (a cuSPARSE kernel states 1)."""
    named, held = CodeUse(load("sm_90")), CodeUse(load("sm_90"))
    named.add(0, "BAR.SYNC.DEFER_BLOCKING 0x7")
    held.add(0, "BAR.SYNC.DEFER_BLOCKING R6, R6")
    assert [named.barriers(n) for n in (0, 1, 9)] == [8, 8, 9]
    assert [held.barriers(n) for n in (0, 1, 9)] == [16, 1, 9]
    held.add(0, "BAR.ARV 0x2, R1")
    assert [held.barriers(n) for n in (0, 1, 9)] == [16, 3, 9]
    assert CodeUse(load("sm_90")).barriers(0) == 0
