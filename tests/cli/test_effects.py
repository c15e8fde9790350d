"""Options that steer the code or add to the output do so."""

from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.cubin import nvinfo
from orias.cubin.elf import ElfFile

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
FRAME = (
    HEAD
    + """.func (.param .b32 r) deep(.param .b32 n) { .reg .b32 %r<4>; .reg .pred %p; .reg .b64 %d; .local .align 8 .b8 l[64];
ld.param.b32 %r1, [n]; cvt.u64.u32 %d, %r1; st.local.u32 [l+4], %r1; setp.eq.u32 %p, %r1, 0; @%p bra D; sub.u32 %r1, %r1, 1;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), deep, (a); ld.param.b32 %r2, [b]; } ld.local.u32 %r3, [l+4]; add.u32 %r1, %r2, %r3;
D: st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 p, .param .u32 n) { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d, [p]; ld.param.u32 %r1, [n];
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), deep, (a); ld.param.b32 %r2, [b]; } st.global.u32 [%d], %r2; ret; }
"""
)
DOUBLES = (
    HEAD
    + """.visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .f64 %f<3>;
ld.param.u64 %d, [p];
ld.global.f64 %f1, [%d];
mov.b64 %f2, %d;
add.f64 %f1, %f1, %f2;
st.global.b64 [%d], %f1; ret; }
"""
)


def many(n: int) -> str:
    """A kernel with many loads, each with a long way to the sum."""
    loads = "".join(f"ld.global.f32 %f{k}, [%d+{4 * k}];\n" for k in range(1, n))
    uses = "".join(f"sqrt.approx.f32 %f{k}, %f{k}; fma.rn.f32 %f0, %f{k}, %f{k}, %f0;\n" for k in range(1, n))
    return (
        HEAD + f".visible .entry k(.param .u64 p) {{ .reg .b64 %d; .reg .f32 %f<{n + 1}>; ld.param.u64 %d, [p];\n"
        f"mov.f32 %f0, 0f3F800000;\n{loads}{uses}st.global.f32 [%d], %f0; ret; }}\n"
    )


def compiled(tmp_path: Path, text: str, *options: str) -> bytes:
    source, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(text)
    assert run(["orias", "-arch=sm_80", *options, str(source), "-o", str(out)]) == 0
    return out.read_bytes()


def code(data: bytes) -> list[bytes]:
    return [s.data for s in ElfFile(data).sections if s.name.startswith(".text.")]


def annotations(data: bytes) -> list[bytes]:
    """Payloads of the ANNOTATIONS records of the kernel."""
    info = next(s.data for s in ElfFile(data).sections if s.name == ".nv.info.k")
    return [r.payload for r in nvinfo.decode(info) if r.code == nvinfo.ANNOTATIONS]


def test_fast_compile(tmp_path: Path) -> None:
    """-Ofc max is -O0 (as in ptxas), mid and min are -O1."""
    level = {n: code(compiled(tmp_path, many(12), f"-O{n}")) for n in (0, 1, 3)}
    assert level[0] != level[1]
    assert code(compiled(tmp_path, many(12), "-Ofc=max")) == level[0]
    assert code(compiled(tmp_path, many(12), "-Ofc=mid")) == code(compiled(tmp_path, many(12), "-Ofc=min")) == level[1]


@pytest.mark.in_turn(2)
def test_register_usage(tmp_path: Path) -> None:
    """A lower level takes fewer registers."""
    low, high = (orias.compile(many(50), arch="sm_80", register_usage=n) for n in (0, 10))
    assert low.kernels["k"].registers < high.kernels["k"].registers
    assert code(compiled(tmp_path, many(80), "-regUsageLevel=5")) == code(compiled(tmp_path, many(80)))


def test_stack_check(tmp_path: Path) -> None:
    """-sp-bounds-check: a trap where the stack ends; before that the results are the same."""
    sim = pytest.importorskip("orias.sim")
    np = pytest.importorskip("numpy")
    plain, checked = compiled(tmp_path, FRAME), compiled(tmp_path, FRAME, "-sp-bounds-check")
    assert "SR_LMEMHIOFF" in orias.disassemble(checked) and "SR_LMEMHIOFF" not in orias.disassemble(plain)
    for data in (plain, checked):
        out = np.zeros(1, np.uint32)
        sim.load(data).launch("k", 1, 1, [out, 5])
        assert int(out[0]) == 15
    with pytest.raises(sim.SimError, match="trap"):
        sim.load(checked).launch("k", 1, 1, [np.zeros(1, np.uint32), 1000])


CALLER = """.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) f(.param .b32 a)
{ .local .align 4 .b8 buf[64]; .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u32 %r1, [a]; and.b32 %r2, %r1, 15; mul.wide.u32 %rd1, %r2, 4; mov.u64 %rd2, buf;
  add.u64 %rd3, %rd2, %rd1; st.local.u32 [%rd3], %r1; ld.local.u32 %r3, [%rd3]; st.param.b32 [r], %r3; ret; }
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %q<4>;
  ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; setp.gt.s32 %q1, %r1, 3;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), f, (x); ld.param.b32 %r2, [y]; }
  selp.b32 %r3, %r2, 77, %q1; st.global.u32 [%rd1], %r3; ret; }
"""


@pytest.mark.parametrize("level", [0, 1, 3])
def test_callers_know_of_the_stack_check(level: int) -> None:
    """The check of a private function changes a predicate, so its caller keeps nothing there."""
    sim = pytest.importorskip("orias.sim")
    np = pytest.importorskip("numpy")
    image = sim.load(orias.compile(CALLER, arch="sm_90", stack_check=True, opt_level=level).data)
    for given, want in ((2, 77), (9, 9)):
        data = np.array([given], np.uint32)
        image.launch("k", 1, 1, [data])
        assert int(data[0]) == want


def test_annotate(tmp_path: Path) -> None:
    """-annotate: kind 3, length and text, with the counts of the function."""
    counts = orias.compile(DOUBLES, arch="sm_80").kernels["k"]
    text = f"instr/R-regs: {counts.instructions} instructions, {counts.registers} R-regs\0".encode()
    want = (3).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text.ljust(-(-len(text) // 4) * 4, b"\0")
    assert annotations(compiled(tmp_path, DOUBLES, "-annotate")) == [want]
    assert annotations(compiled(tmp_path, DOUBLES)) == []


def test_double_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-warn-double-usage: a warning for each instruction of type f64, with its line."""
    compiled(tmp_path, DOUBLES)
    assert capsys.readouterr().err == ""
    compiled(tmp_path, DOUBLES, "-warn-double-usage", "--tool-name", "tool")
    lines = capsys.readouterr().err.splitlines()
    assert [x.split("; ")[0].split(", ")[1] for x in lines] == ["line 6", "line 8"]
    assert all(x.startswith("tool ") and x.endswith("Program is doing double precision computations.") for x in lines)


def test_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(DOUBLES)
    assert run(["orias", "-arch=sm_80", "--okey=1", str(source), "-o", str(tmp_path / "x")]) == 255
    assert "Option '--okey' is not supported by Orias" in capsys.readouterr().err


STORE = HEAD + ".visible .entry k(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 1; ret; }\n"


def test_relocations_with_addends_on_all_targets() -> None:
    for options, expected in (({}, ".rel.debug_frame"), ({"force_rela": True}, ".rela.debug_frame")):
        elf = ElfFile(orias.compile(STORE, arch="sm_80", **options).data)  # type: ignore[arg-type]
        assert [s.name for s in elf.sections if s.name.startswith(".rel")] == [expected]


def test_all_kernels_launch_by_clusters() -> None:
    for wanted in (False, True):
        elf = ElfFile(orias.compile(STORE, arch="sm_90", blocks_are_clusters=wanted).data)
        records = nvinfo.decode(next(s.data for s in elf.sections if s.name == ".nv.info.k"))
        assert any(r.code == nvinfo.BLOCKS_ARE_CLUSTERS for r in records) == wanted


def said(capfd: pytest.CaptureFixture[str], *line: str) -> tuple[int, str]:
    code = run(["ptxas", *line])
    return code, capfd.readouterr().err


def test_messages_on_rare_options(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    k, bad, out = tmp_path / "k.ptx", tmp_path / "bad.ptx", tmp_path / "k.cubin"
    k.write_text(STORE)
    bad.write_text(STORE.replace("ret;", "foo;"))
    end = ["-arch=sm_90", "-o", str(out)]
    assert said(capfd, str(k), "-maxntid=-1", *end) == (
        255,
        "ptxas fatal   : Invalid value '-1' for option '-maxntid'\n",
    )
    assert said(capfd, str(k), "-astoolspatch", *end)[1].startswith("ptxas error   : Entry function is not allowed")
    assert not out.exists()
    code, text = said(capfd, str(k), "-preserve-relocs", *end)
    assert code == 0 and "not fully implemented for 'sm_90'" in text and out.exists()
    code, text = said(capfd, str(bad), "nosuch.ptx", "-flcm=x", *end)
    assert code == 255
    assert [line.partition(": ")[2] for line in text.splitlines()] == [
        "Invalid default cache modifier on load specified: x",
        "Not a name of any known instruction: 'foo'",
        "Input file 'nosuch.ptx' could not be opened",
        "Ptx assembly aborted due to errors",
    ]


def test_an_object_of_old_text_is_refused_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.ptx"
    old.write_text(".version 2.3\n.target sm_20\n.entry k() { ret; }\n")
    code, text = said(capfd, str(old), "-c", "-o", str(tmp_path / "k.o"))
    assert code == 255
    assert text == "ptxas fatal   : 'Compile only(-c)' requires PTX ISA .version 3.1 or later\n"


def test_the_last_target_counts_below_the_highest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    high, low, out = tmp_path / "high.ptx", tmp_path / "low.ptx", tmp_path / "k.cubin"
    high.write_text(STORE.replace("k(", "j("))
    low.write_text(STORE.replace("sm_80", "sm_75"))
    assert said(capfd, str(high), str(low), "-o", str(out)) == (0, "")
    assert {s.name for s in ElfFile(out.read_bytes()).sections} >= {".text.k", ".text.j"}
    assert said(capfd, str(low), str(high), "-o", str(out))[0] == 255


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("directives", "options", "expected"),
    [
        (".maxnreg 40", {"maxrregcount": 32}, 40),
        (".maxnreg 40", {"maxrregcount": 32, "override_directives": True}, 32),
        (".minnctapersm 2", {"maxrregcount": 32}, 32),
        (".maxntid 4096", {"maxrregcount": 32}, 32),
        (".maxntid 1024", {"maxrregcount": 32}, 64),
        (".maxntid 1024", {"maxrregcount": 32, "override_directives": True}, 32),
    ],
)
def test_which_register_limit_counts(directives: str, options: dict[str, int], expected: int) -> None:
    """As in ptxas: docs/facts/targets.md, "Limits"."""
    values = range(90)
    body = "".join(f"ld.volatile.global.u32 %r{n}, [%d+{4 * n}];" for n in values)
    body += "".join(f"st.volatile.global.u32 [%d+{4 * n}], %r{n};" for n in values)
    text = f"{HEAD}.visible .entry k(.param .u64 p) {directives} {{ .reg .b64 %d; .reg .b32 %r<90>; ld.param.u64 %d, [p]; {body} ret; }}"
    assert orias.compile(text, arch="sm_80", **options).kernels["k"].registers == expected  # type: ignore[arg-type]
