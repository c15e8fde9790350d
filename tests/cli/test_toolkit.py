"""A toolkit of Orias: ptxas, nvdisasm and cuobjdump by name, as clients call them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from tests.nvtools import find, tool

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
        [tool(name), *arguments], capture_output=True, text=True, check=True, timeout=120, cwd=folder
    ).stdout


OPTIONS = (["-c"], ["-c", "-g", "-hex"], ["--print-code", "--print-instruction-encoding"], ["-c", "-gi"])


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


REFUSED = {"nvdisasm": ("-plr", "-cfg", "-bbcfg", "-json"), "cuobjdump": ("-elf", "-ptx", "-symbols")}


@pytest.mark.parametrize("name", ["nvdisasm", "cuobjdump"])
def test_failures(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("no cubin")
    for arguments, message in (
        (["-sass", "missing"] if name == "cuobjdump" else ["missing"], "Could not open input file 'missing'"),
        (["-nonsense", "x"], "Option '-nonsense' is not supported by Orias"),
        *(([option, "x"], f"Option '{option}' is not supported by Orias") for option in REFUSED[name]),
        ([], "No input file specified"),
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
