"""Functions and variables that are local to an input: another input may have the same names."""

import subprocess
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from orias import sim
from orias.cli.main import run
from orias.compiler import compile_text
from orias.cubin.elf import STT_FUNC, ElfFile
from orias.options import Options
from orias.ori.ir import Func
from tests.nvtools import LIMIT_S, tool
from tests.pipeline.test_dumps import read_back

HEAD: Final = ".version 9.0\n.target {}\n.address_size 64\n"


def kernel(name: str, callee: str = "f", rest: str = "") -> str:
    return f""".visible .entry {name}(.param .u64 p) {{ .reg .b64 %d; .reg .b32 %r<4>; ld.param.u64 %d, [p];
{call(callee, "%r1", "5")} st.global.u32 [%d], %r1; {rest} ret; }}
"""


def call(callee: str, result: str, value: str) -> str:
    return f"{{ .param .u32 q; .param .u32 z; st.param.u32 [q], {value}; call (z), {callee}, (q); ld.param.u32 {result}, [z]; }}"


def function(body: str, name: str = "f", linkage: str = "") -> str:
    return f"{linkage} .func (.param .u32 r) {name}(.param .u32 a) {{ .reg .b32 %r<3>; ld.param.u32 %r1, [a]; {body} st.param.u32 [r], %r2; ret; }}\n"


def declared(linkage: str, name: str = "f") -> str:
    return f"{linkage} .func (.param .u32 r) {name}(.param .u32 a);\n"


ADD, SQUARE, LESS = (function(f"{code} %r2, %r1, %r1;") for code in ("add.u32", "mul.lo.u32", "xor.b32"))
OTHER: Final = function(call("f", "%r2", "%r1"), "g", ".visible")
CASES: Final = {
    "two": [ADD + kernel("ka"), SQUARE + kernel("kb")],
    "three": [ADD + kernel("ka"), SQUARE + kernel("kb"), LESS + kernel("kc")],
    "both in a kernel": [declared(".visible", "g") + ADD + kernel("ka", rest=call("g", "%r2", "7") + "st.global.u32 [%d+4], %r2;"), SQUARE + OTHER],
    "pointers": [ADD + ".visible .global .u64 t = f;\n" + kernel("ka"), SQUARE + ".visible .global .u64 u = f;\n" + kernel("kb")],
    "visible after": [ADD + kernel("ka"), SQUARE.replace(" .func", ".visible .func", 1) + kernel("kb")],
    "visible before": [ADD.replace(" .func", ".visible .func", 1) + kernel("ka"), SQUARE + kernel("kb")],
    "not seen": [ADD + kernel("ka"), kernel("kb")],
    "declared": [ADD + kernel("ka"), declared("") + kernel("kb")],
    "declared before": [declared("") + kernel("ka"), SQUARE + kernel("kb")],
    "extern": [ADD + kernel("ka"), declared(".extern") + kernel("kb")],
    "variable not seen": [".global .u32 v = 11;\n" + ADD + kernel("ka"), function("ld.global.u32 %r2, [v];", "g") + kernel("kb", "g")],
    "a variable and a function": [".global .u32 f;\n" + ADD.replace(" f(", " g(") + kernel("ka", "g"), SQUARE + kernel("kb")],
    "kernels": [ADD + kernel("ka"), SQUARE + kernel("ka")],
}  # fmt: skip


def written(texts: list[str], folder: Path, arch: str) -> list[str]:
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"{'abc'[number]}.ptx"
        path.write_text(HEAD.format(arch) + text)
        paths.append(str(path))
    return paths


def functions(data: bytes) -> list[tuple[str, int, str]]:
    file = ElfFile(data)
    return sorted((y.name, y.bind, file.sections[y.section].name) for y in file.symbols if y.type == STT_FUNC)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", [[], ["-c"], ["-g"], ["--cloning=no"]])
@pytest.mark.parametrize("name", CASES)
def test_as_ptxas(name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code, messages and symbols."""
    if options and name in ("a variable and a function", "extern"):
        return  # where functions have sections of their own, Orias refuses them too
    line = ["-arch=sm_80", *options, *written(CASES[name], tmp_path, "sm_80"), "-o"]
    real = subprocess.run([tool("ptxas"), *line, str(tmp_path / "theirs")], capture_output=True, text=True, timeout=LIMIT_S, check=False)  # fmt: skip
    code = run(["ptxas", *line, str(tmp_path / "ours")])
    assert (code, capsys.readouterr().err) == (real.returncode, real.stderr)
    if code == 0:
        ours, theirs = (functions((tmp_path / n).read_bytes()) for n in ("ours", "theirs"))
        helpers = [f for f in ours + theirs if "__cuda" in f[0]]
        assert [f for f in ours if f not in helpers] == [f for f in theirs if f not in helpers]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100a"])
def test_each_calls_its_own(arch: str) -> None:
    def again(phase: str, fn: Func) -> None:
        read_back(fn)

    for name, want in (("two", {"ka": [10, 0], "kb": [25, 0]}), ("three", {"ka": [10, 0], "kb": [25, 0], "kc": [0, 0]}),
                       ("both in a kernel", {"ka": [10, 49]}), ("visible after", {"ka": [10, 0], "kb": [25, 0]}),
                       ("pointers", {"ka": [10, 0], "kb": [25, 0]})):  # fmt: skip
        for level in (0, 3):
            for trace in (None, again):
                sources: list[tuple[str, str | bytes]] = [("k.ptx", HEAD.format(arch) + text) for text in CASES[name]]
                image = sim.load(compile_text(sources, Options(arch, level), trace).data)
                for entry, values in want.items():
                    out = np.zeros(2, np.uint32)
                    image.launch(entry, 1, 1, [out])
                    assert list(out) == values, (name, entry, level)


def variable(space: str, value: int, name: str = "") -> str:
    """An input with a variable v of its own, a pointer to it, and a kernel that reads both ways; shared ones are written first."""
    name = name or f"k{value}"
    initial = "" if space == "shared" else f" = {value}"
    write = f"st.shared.u32 [v], {value};" if space == "shared" else ""
    pointer = f".global .u64 p{value} = v;\n" if space == "global" else ""
    again = f"ld.global.u64 %b, [p{value}]; ld.global.u32 %r2, [%b];" if space == "global" else "mov.u32 %r2, %r1;"
    return (
        f".{space} .u32 v{initial};\n{pointer}.visible .entry {name}(.param .u64 q) {{ .reg .b64 %d, %b; .reg .b32 %r<4>; ld.param.u64 %d, [q]; "
        f"{write} ld.{space}.u32 %r1, [v]; {again} add.u32 %r1, %r1, %r2; st.global.u32 [%d], %r1; ret; }}\n"
    )


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("space", ["global", "const", "shared"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100a"])
def test_variables_are_not_mixed_up(arch: str, space: str) -> None:
    """Each input has its own; ptxas gives two variables of one name the place and value of the last."""
    sources: list[tuple[str, str | bytes]] = [("k.ptx", HEAD.format(arch) + variable(space, n)) for n in (11, 22, 33)]
    for options in ({}, {"opt_level": 0}, {"debug": True}):
        o = Options(arch)
        for key, value in options.items():
            setattr(o, key, value)
        data = compile_text(sources, o).data
        image = sim.load(data)
        for n in (11, 22, 33):
            out = np.zeros(1, np.uint32)
            image.launch(f"k{n}", 1, 1, [out])
            assert out[0] == 2 * n
        if space != "shared":
            assert [y.name for y in ElfFile(data).symbols].count("v") == 3


@pytest.mark.parametrize("linkage", ["", ".visible ", ".weak ", ".extern "])
def test_a_local_variable_and_another(linkage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the second is, it has nothing to do with the first; the other way round it is an error.  All as ptxas says it."""
    other = variable("global", 22)
    other = linkage + (other.replace(" = 22", "") if "extern" in linkage else other)
    for texts in ([variable("global", 11), other], [other, variable("global", 11)]):
        line = ["-arch=sm_80", *written(texts, tmp_path, "sm_80"), "-o"]
        real = subprocess.run([tool("ptxas"), *line, str(tmp_path / "theirs")], capture_output=True, text=True, timeout=LIMIT_S, check=False)  # fmt: skip
        code = run(["ptxas", *line, str(tmp_path / "ours")])
        assert (code, capsys.readouterr().err) == (real.returncode, real.stderr)


def test_objects_with_variables_of_one_name_link(tmp_path: Path) -> None:
    sources: list[tuple[str, str | bytes]] = [("k.ptx", HEAD.format("sm_80") + variable("global", n)) for n in (11, 22)]
    o = Options("sm_80")
    o.compile_only = True
    (tmp_path / "k.o").write_bytes(compile_text(sources, o).data)
    command = [tool("nvlink"), "-arch=sm_80", str(tmp_path / "k.o"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    image = sim.load((tmp_path / "k.cubin").read_bytes())
    for n in (11, 22):
        out = np.zeros(1, np.uint32)
        image.launch(f"k{n}", 1, 1, [out])
        assert out[0] == 2 * n
