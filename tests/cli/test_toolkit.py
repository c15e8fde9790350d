"""A toolkit of Orias: ptxas, nvdisasm and cuobjdump by name, as clients call them."""

import json
import os
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.cubin.elf import ElfFile
from orias.cubin.reader import Reader
from orias.tools.fuzz.generate import generate
from tests.nvtools import LIMIT_S, find, tool

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry second(.param .u64 p, .param .u32 n) {
.reg .u64 %rd<3>; .reg .u32 %r<6>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
L: ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0;
@%p1 bra L; st.global.u32 [%rd1], %r2; ret; }
.visible .entry first() { ret; }
"""


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "a.cubin"
    path.write_bytes(orias.compile(PTX, arch="sm_80").data)
    return path


def ours(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert run(list(command)) == 0
    return capsys.readouterr().out


def theirs(name: str, *arguments: str, folder: Path | None = None) -> str:
    return subprocess.run(
        [tool(name), *arguments], capture_output=True, text=True, check=True, timeout=LIMIT_S, cwd=folder
    ).stdout


OPTIONS = (["-c"], ["-c", "-g", "-hex"], ["--print-code", "--print-instruction-encoding"], ["-c", "-gi"])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_nvdisasm(options: list[str], cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ours(capsys, "nvdisasm", *options, str(cubin)) == theirs("nvdisasm", *options, str(cubin))


def test_nvdisasm_without_c_prints_the_code(cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As numba and tinygrad call it; the other sections are left out."""
    assert ours(capsys, "nvdisasm", str(cubin)) == theirs("nvdisasm", "-c", str(cubin))


def test_cuobjdump_sass(cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = ours(capsys, "cuobjdump", "-sass", str(cubin)), theirs("cuobjdump", "-sass", str(cubin))
    headless = [re.sub(r"EF_CUDA_[^\"]*", "", text).split("\n") for text in (a, b)]
    assert headless[0] == headless[1]
    assert "Function : first" in a and "Function : second" in a


USES = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 g[100];
.const .align 4 .b8 c[64];
.visible .entry large(.param .u64 p, .param .u32 n) {
.local .align 16 .b8 frame[256];
.shared .align 4 .b8 tile[128];
.reg .u64 %rd<5>; .reg .u32 %r<9>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u64 %rd2, frame; mul.wide.u32 %rd3, %r2, 4;
add.u64 %rd2, %rd2, %rd3; st.local.u32 [%rd2], %r1; ld.local.u32 %r4, [%rd2+8]; mov.u32 %r5, tile; add.u32 %r5, %r5, %r2;
st.shared.u32 [%r5], %r4; bar.sync 0; ld.shared.u32 %r6, [%r5+4]; ld.const.u32 %r7, [c+8]; add.u32 %r6, %r6, %r7;
st.global.u32 [%rd1], %r6; ld.global.u32 %r8, [g+4]; st.global.u32 [%rd1+8], %r8; ret; }
.visible .entry small() { ret; }
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("source", [PTX, USES], ids=["plain", "memory"])
def test_cuobjdump_resource_usage(arch: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.cubin"
    path.write_bytes(orias.compile(source, arch=arch).data)
    text = ours(capsys, "cuobjdump", "-res-usage", str(path))
    assert text == theirs("cuobjdump", "-res-usage", str(path))
    assert ("STACK:256" in text) == (source is USES)
    assert ours(capsys, "cuobjdump", "--dump-resource-usage", str(path)) == text


def test_cuobjdump_of_one_function(cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["-fun", "first", "-sass"], ["--function=first", "--dump-sass"]):
        a, b = ours(capsys, "cuobjdump", *options, str(cubin)), theirs("cuobjdump", *options, str(cubin))
        instructions = [[line for line in text.split("\n") if line.lstrip().startswith("/*")] for text in (a, b)]
        assert instructions[0] == instructions[1] and len(instructions[0]) > 8
        assert "second" not in a


def test_cuobjdump_lists_and_extracts(
    cubin: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(cubin.parent)
    assert ours(capsys, "cuobjdump", "-lelf", "a.cubin") == theirs("cuobjdump", "-lelf", "a.cubin", folder=cubin.parent)
    out = ours(capsys, "cuobjdump", "-xelf", "all", "a.cubin")
    extracted = cubin.parent / "a.sm_80.cubin"
    assert extracted.read_bytes() == cubin.read_bytes()
    extracted.unlink()
    assert out == theirs("cuobjdump", "-xelf", "all", "a.cubin", folder=cubin.parent)


LOOPS = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry loops(.param .u64 p, .param .u32 n) {
.reg .u64 %rd<4>; .reg .u32 %r<9>; .reg .pred %p<4>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd1, %rd1, %rd2; setp.gt.u32 %p1, %r2, 7; @%p1 bra SECOND;
FIRST: ld.global.u32 %r4, [%rd1]; add.u32 %r3, %r3, %r4; setp.lt.u32 %p2, %r3, %r1; @%p2 bra FIRST; bra JOIN;
SECOND: ld.global.u32 %r4, [%rd1]; setp.eq.u32 %p3, %r4, 3; @%p3 bra DONE; mad.lo.u32 %r3, %r4, %r3, %r1;
st.global.u32 [%rd1+64], %r3; setp.lt.u32 %p2, %r3, 99; @%p2 bra SECOND;
JOIN: bar.sync 0; st.global.u32 [%rd1], %r3; DONE: ret; }
.visible .entry other(.param .u64 p) { .reg .u64 %rd<2>; .reg .f64 %d<4>; ld.param.u64 %rd1, [p];
ld.global.f64 %d1, [%rd1]; fma.rn.f64 %d2, %d1, %d1, %d1; st.global.f64 [%rd1+8], %d2; ret; }
"""


CALLS = """
.version 8.0
.target sm_75
.address_size 64
.func (.reg .u32 %ro) helper(.reg .u32 %ri) { .reg .u32 %t; mul.lo.u32 %t, %ri, %ri; add.u32 %ro, %t, 3; ret; }
.visible .entry second(.param .u64 p, .param .u32 n) {
.reg .u64 %rd<3>; .reg .u32 %r<6>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
L: ld.volatile.global.u32 %r3, [%rd1]; call (%r3), helper, (%r3); add.u32 %r2, %r2, %r3; sub.u32 %r1, %r1, 1;
setp.ne.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%rd1], %r2; ret; }
.visible .entry first(.param .u64 p) { .reg .f64 %d<4>; .reg .u64 %rd<3>; ld.param.u64 %rd1, [p];
ld.global.f64 %d1,[%rd1]; div.rn.f64 %d2, %d1, 0d4008000000000000; st.global.f64 [%rd1], %d2; ret; }
"""
PARTS = (["-sf", "-raw", "-hex"], ["--separate-functions", "-hex"], ["-sf", "-fun", "{}"])
MORE_PARTS = (["-sf"], ["-raw"], ["-cfg", "-fun", "{}"], ["-bbcfg", "-fun", "{}"], ["-sf", "-raw", "-fun", "{}"])
"""Options of nvdisasm; ``{}``: the index of the symbol `second`."""


FUNCTION_CASES = [
    (c, a, MORE_PARTS) for c in ("ours", "ptxas") for a in ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_120")
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("compiler", "arch", "parts"),
    [("ours", "sm_90a", PARTS), *(pytest.param(*c, marks=pytest.mark.sweep) for c in FUNCTION_CASES)],
)
def test_functions_apart_raw_and_chosen(
    compiler: str, arch: str, parts: tuple[list[str], ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.cubin"
    if compiler == "ours":
        path.write_bytes(orias.compile(CALLS, arch=arch).data)
    else:
        (tmp_path / "a.ptx").write_text(CALLS)
        theirs("ptxas", f"-arch={arch}", "a.ptx", "-o", "a.cubin", folder=tmp_path)
    symbols = ElfFile(path.read_bytes()).symbols
    index = next(str(s.index) for s in symbols if s.name == "second")
    whole = orias.disassemble(path.read_bytes())
    for part in parts:
        options = [x.format(index) for x in part]
        text = ours(capsys, "nvdisasm", "-c", *options, str(path))
        assert text == theirs("nvdisasm", "-c", *options, str(path)), options
        assert text != whole and ("first:" in text) == ("-fun" not in options)
    assert run(["nvdisasm", "-fun", "999", str(path)]) == 255
    assert capsys.readouterr().err == f"nvdisasm fatal   : {path}: No symbol with index 999\n"


BRANCHES = """.version 8.0
.target sm_75
.address_size 64
.visible .entry alpha() { ret; }
.visible .entry zeta(.param .u64 p, .param .u32 n) {
.reg .u64 %rd<3>; .reg .u32 %r<6>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
places: .branchtargets A, B, C;
brx.idx %r1, places;
A: st.global.u32 [%rd1], 1; ret;
B: st.global.u32 [%rd1], 2; ret;
C: st.global.u32 [%rd1], 3; ret; }
"""
WAYS = (["-sort"], ["-ndf"], ["-novliw"], ["-json", "-annotate"], ["-sort", "-ndf", "-hex"])


def compiled(compiler: str, text: str, arch: str, folder: Path) -> Path:
    path = folder / "a.cubin"
    if compiler == "ours":
        path.write_bytes(orias.compile(text, arch=arch).data)
    else:
        (folder / "a.ptx").write_text(text)
        theirs("ptxas", f"-arch={arch}", "a.ptx", "-o", "a.cubin", folder=folder)
    return path


SPILLS = (
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .f32 %f<80>; ld.param.u64 %d,[p];\n"
    + "".join(f"ld.volatile.global.f32 %f{i},[%d+{4 * i}];\n" for i in range(70))
    + "".join(f"fma.rn.f32 %f{i},%f{i},%f{(i * 7 + 3) % 70},%f{(i * 11 + 5) % 70};\n" for i in range(70))
    + "".join(f"st.volatile.global.f32 [%d+{4 * i}],%f{i};\n" for i in range(70))
    + "ret; }\n"
)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiler", ["ours", "ptxas"])
def test_annotations_as_json(compiler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the function, and of the instructions that spill; only if they are asked for."""
    path, source = str(tmp_path / "a.cubin"), tmp_path / "a.ptx"
    source.write_text(SPILLS)
    command = ["-arch=sm_80", "-annotate", "-maxrregcount=32", str(source), "-o", path]
    if compiler == "ours":
        assert run(["ptxas", *command]) == 0
        capsys.readouterr()
    else:
        theirs("ptxas", *command)
    spills = len(Reader(Path(path).read_bytes()).kernels["k"].spill_offsets)
    assert spills > 50
    for options, count in ((["-json"], 0), (["-json", "-annotate"], spills + 1 if compiler == "ours" else 153)):
        text = ours(capsys, "nvdisasm", *options, path)
        assert json.loads(text)[1] == json.loads(theirs("nvdisasm", *options, path))[1]
        assert text.count('"annotations"') == count


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("compiler", "arch"),
    [("ours", "sm_90a"), *(pytest.param(c, a, marks=pytest.mark.sweep) for c, a, _ in FUNCTION_CASES)],
)
def test_sorted_sections_and_indirect_branches(
    compiler: str, arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(compiled(compiler, BRANCHES, arch, tmp_path))
    whole = ours(capsys, "nvdisasm", "-c", path)
    for way in WAYS:
        text = ours(capsys, "nvdisasm", *way, path)
        with_code = way if "-json" in way else ["-c", *way]
        expected = theirs("nvdisasm", *with_code, path)
        if "-json" in way:
            assert json.loads(text)[1] == json.loads(expected)[1]
        else:
            assert text == expected, way
            assert (text == whole) == (way == ["-novliw"]), way
    assert "BRANCH_TARGETS" in whole
    assert run(["nvdisasm", "-annotate", path]) == 255
    assert capsys.readouterr().err == "nvdisasm fatal   : Specify -annotate with -json option\n"
    assert run(["nvdisasm", "-ndf", "-cfg", path]) == 255
    assert "does not combine '-ndf' with a graph" in capsys.readouterr().err


SECTION_WAYS = (["-ltext"], ["-sass", "-findex", "{kernel}"])
MORE_SECTION_WAYS = (
    ["-sass"], ["-sass", "-sort"], ["-sass", "-findex", "{inside}"], ["-sass", "-findex", "0"], ["-sass", "-findex", "1"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("compiler", "arch", "ways"),
    [
        ("ours", "sm_90a", SECTION_WAYS),
        *(pytest.param(c, a, MORE_SECTION_WAYS, marks=pytest.mark.sweep) for c, a, _ in FUNCTION_CASES),
    ],
)
def test_cuobjdump_of_code_sections(
    compiler: str,
    arch: str,
    ways: tuple[list[str], ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    symbols = ElfFile(compiled(compiler, CALLS, arch, tmp_path).read_bytes()).symbols
    inside = next(s.index for s in symbols if s.name.endswith("helper"))
    kernel = next(s.index for s in symbols if s.name == "second")
    for way in ways:
        options = [x.format(kernel=kernel, inside=inside) for x in way]
        assert ours(capsys, "cuobjdump", *options, "a.cubin") == theirs("cuobjdump", *options, "a.cubin"), options
    for wanted, count in (("all", 2), ("sec", 1), ("none", 0)):
        found = []
        for tool_of in (partial(ours, capsys), theirs):
            text = tool_of("cuobjdump", "-xtext", wanted, "a.cubin")
            files = {p.name: p.read_bytes() for p in tmp_path.glob("*.bin")}
            for name in files:
                (tmp_path / name).unlink()
            found.append((text, files))
        assert found[0] == found[1] and len(found[0][1]) == count
    assert run(["cuobjdump", "-sass", "-findex", "999", "a.cubin"]) == 255
    assert capsys.readouterr().err == f"cuobjdump fatal   : Invalid ELF in '{tmp_path.resolve() / 'a.cubin'}'\n"


@pytest.mark.parametrize("named", [True, False], ids=["source named", "no source named"])
def test_cuobjdump_of_a_fat_binary(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, headings and PTX texts, compressed or not, of all members or those of a target."""
    monkeypatch.chdir(tmp_path)
    Path("a.ptx").write_text(PTX.lstrip())
    Path("b.ptx").write_text(LOOPS.lstrip().replace("sm_75", "sm_90a"))
    Path("a.cubin").write_bytes(orias.compile(PTX, arch="sm_80").data)
    images = ["kind=elf,sm=80,file=a.cubin", "kind=ptx,sm=80,file=a.ptx", "kind=ptx,sm=90a,file=b.ptx"]
    about = ["--ident=dir/k.cu", "--cmdline=-lineinfo"] if named else ["--compress=false"]
    fatbinary = [tool("fatbinary"), "--create=f.fatbin", "-64", *about, *(f"--image3={x}" for x in images)]
    subprocess.run(fatbinary, check=True, timeout=LIMIT_S, capture_output=True)
    for options in (
        ["-lptx"],
        ["-lelf"],
        ["-ltext"],
        ["-ltext", "-arch", "sm_90"],
        ["-ptx"],
        ["-ptx", "-arch", "sm_90"],
        ["-res-usage"],
        ["-lelf", "-arch", "sm_90"],
    ):
        text = ours(capsys, "cuobjdump", *options, "f.fatbin")
        assert text == theirs("cuobjdump", *options, "f.fatbin", folder=tmp_path), options
        assert ("PTX file" in text) == (options == ["-lptx"])
    name = "k.sm_80.ptx" if named else "f.1.sm_80.ptx"
    out = ours(capsys, "cuobjdump", "--extract-ptx", "all", "f.fatbin")
    assert Path(name).read_bytes() == Path("a.ptx").read_bytes()
    Path(name).unlink()
    assert out == theirs("cuobjdump", "-xptx", "all", "f.fatbin", folder=tmp_path)
    assert run(["cuobjdump", "-lptx", "a.cubin"]) == 0
    assert "No PTX file found to extract" in capsys.readouterr().err


CASES = [("ours", "sm_80"), ("ptxas", "sm_90")]
MORE_CASES = [(compiler, arch) for compiler in ("ours", "ptxas") for arch in ("sm_75", "sm_86", "sm_100", "sm_120")]


@pytest.fixture(
    scope="module", params=[*CASES, *(pytest.param(c, marks=pytest.mark.sweep) for c in MORE_CASES)], ids=" ".join
)
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler, arch = request.param
    folder = tmp_path_factory.mktemp("views")
    if compiler == "ours":
        (folder / "a.cubin").write_bytes(orias.compile(LOOPS, arch=arch).data)
    else:
        (folder / "a.ptx").write_text(LOOPS)
        theirs("ptxas", f"-arch={arch}", "a.ptx", "-o", "a.cubin", folder=folder)
    return folder / "a.cubin"


VIEWS = (["-plr"], ["-lrm", "narrow"], ["--life-range-mode=count"], ["-cfg"], ["-bbcfg"], ["-cfg", "-poff"])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", VIEWS, ids=" ".join)
def test_nvdisasm_views(options: list[str], kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ours(capsys, "nvdisasm", *options, "-c", str(kernels))
    assert text == theirs("nvdisasm", *options, "-c", str(kernels))
    assert text.count("subgraph" if "cfg" in options[0] else "Legend") == 2


def test_nvdisasm_json(kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (json.loads(view("nvdisasm", "-json", str(kernels))) for view in (partial(ours, capsys), theirs))
    assert a[0].pop("Producer").startswith("nvdisasm Orias") and b[0].pop("Producer")
    assert a == b
    assert [f["function-name"] for f in a[1]] == ["other", "loops"]


def test_nvdisasm_json_of_bare_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(bytes.fromhex("18790000000000000000000000c00f00") * 2)
    a, b = (json.loads(view("nvdisasm", "-json", "-b", "SM90", str(raw))) for view in (partial(ours, capsys), theirs))
    assert a[1] == b[1] and a[0]["ELF"] == b[0]["ELF"]


def test_cuobjdump_elf(kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As cuobjdump, but for attributes that it does not name yet; relocation actions and debug sections are left out."""
    a, b = (view("cuobjdump", "-elf", str(kernels)).splitlines() for view in (partial(ours, capsys), theirs))
    tables = a.index(".section .strtab")
    assert a[:tables] == b[:tables] and tables > 15
    assert [line for line in a if line not in b and "EIATTR_" not in line] == []
    kept = [line for line in b if line in a]
    assert len(kept) > 150
    words = [[line for line in lines if line.startswith("0x") and len(line) > 40] for lines in (a, b)]
    assert words[0] == words[1] and len(words[0]) > 40
    names = theirs("cuobjdump", "-symbols", str(kernels))
    assert ours(capsys, "cuobjdump", "-symbols", str(kernels)) == names and "loops" in names


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", ["ours", "ptxas"])
def test_graphs_of_random_programs(compiler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With calls inside a section, indirect branches, and unreachable code."""
    for case in range(6):
        text = generate(case, 40, "sm_80")
        path = tmp_path / f"{case}.cubin"
        if compiler == "ours":
            path.write_bytes(orias.compile(text, arch="sm_80").data)
        else:
            (tmp_path / "a.ptx").write_text(text)
            theirs("ptxas", "-arch=sm_80", "a.ptx", "-o", str(path), folder=tmp_path)
        for option in ("-cfg", "-bbcfg"):
            assert ours(capsys, "nvdisasm", option, str(path)) == theirs("nvdisasm", option, str(path)), (case, option)


REFUSED = {"nvdisasm": ("-optf", "-hex2"), "cuobjdump": ("-optf", "-all")}


MISUSE: dict[str, list[tuple[list[str], str]]] = {
    "nvdisasm": [
        (["-lrm", "thin", "x"], "Value 'thin' is not defined for option 'life-range-mode'"),
        (["-poff", __file__], "Option '-poff' needs '-cfg' or '-bbcfg'"),
        (["-cfg", "-b", "SM90", __file__], "Of bare code (-b), Orias prints the listing and -json only"),
        (["-cfg", __file__], f"{__file__}: not an ELF file"),
        (["-fun", "k", __file__], "Value 'k' is not defined for option 'cuda-function-index'"),
        (["-json", __file__], f"{__file__}: "),
    ],
    "cuobjdump": [(["-elf", __file__], f"{__file__}: neither a cubin nor a file with cubins in it")],
}


@pytest.mark.parametrize("name", ["nvdisasm", "cuobjdump"])
def test_failures(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("no cubin")
    for arguments, message in (
        (["-sass", "missing"] if name == "cuobjdump" else ["missing"], "Could not open input file 'missing'"),
        (["-nonsense", "x"], "Option '-nonsense' is not supported by Orias"),
        *(([option, "x"], f"Option '{option}' is not supported by Orias") for option in REFUSED[name]),
        ([], "No input file specified"),
        *MISUSE[name],
        ([str(tmp_path / "text")], ""),
    ):
        assert run([name, *arguments]) == 255
        error = capsys.readouterr().err
        assert error.startswith(f"{name} fatal   : {message}") and error.count("\n") == 1
    assert "release 13.5" in ours(capsys, name, "--version")


def test_a_toolkit(cubin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cuda = tmp_path / "cuda"
    (cuda / "bin").mkdir(parents=True)
    for name in ("ptxas", "nvcc", "fatbinary"):
        (cuda / "bin" / name).write_text("theirs")
    (cuda / "include").mkdir()
    folder = tmp_path / "toolkit"
    assert run(["orias", "toolkit", str(folder), "--cuda", str(cuda)]) == 0
    assert sorted(p.name for p in (folder / "bin").iterdir()) == ["cuobjdump", "fatbinary", "nvcc", "nvdisasm", "ptxas"]
    assert (folder / "bin" / "nvcc").resolve() == (cuda / "bin" / "nvcc").resolve()
    assert (folder / "include").resolve() == (cuda / "include").resolve()
    e = {**os.environ, "PYTHONPATH": str(Path(orias.__file__).parents[1])}
    command = [str(folder / "bin" / "ptxas"), "-arch=sm_80", "-v", "-", "-o", str(tmp_path / "b.cubin")]
    done = subprocess.run(command, input=PTX, capture_output=True, text=True, env=e, timeout=240, check=True)
    assert done.stderr.startswith("ptxas info    : ")
    assert orias.disassemble((tmp_path / "b.cubin").read_bytes()) == orias.disassemble(cubin.read_bytes())
    assert run(["orias", "toolkit", str(folder)]) == 255
    assert "holds a toolkit already" in capsys.readouterr().err
    assert run(["orias", "toolkit", str(tmp_path / "other"), "--cuda", str(tmp_path / "none")]) == 255


@pytest.mark.sweep
def test_nvcc_compiles_with_the_toolkit(tmp_path: Path) -> None:
    nvcc = find("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed (pip install '.[test]')")
    folder = tmp_path / "toolkit"
    assert run(["orias", "toolkit", str(folder), "--cuda", str(Path(nvcc).parents[1])]) == 0
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void k(float *p) { p[threadIdx.x] *= 2; }\n')
    e = {**os.environ, "PYTHONPATH": str(Path(orias.__file__).parents[1])}
    out = tmp_path / "k.cubin"
    command = [str(folder / "bin" / "nvcc"), "-arch=sm_80", "-cubin", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=e, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Orias" in out.read_bytes()
