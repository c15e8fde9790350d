from pathlib import Path

import numpy as np
import pytest

from orias.cli.run_command import run_command
from tests.cubin.linking import compiled, link
from tests.sim.build import assemble, program


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("run") / "x.cubin"
    path.write_bytes(assemble(program("control"), "sm_90"))
    return str(path)


def test_runs_and_prints(cubin: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = [
        cubin,
        "--kernel",
        "switches",
        "--block",
        "9",
        "--arg",
        "buf:s32:9",
        "--arg",
        "buf:s32:9=iota",
        "--print",
        "0",
    ]
    assert run_command(args) == 0
    assert capsys.readouterr().out == "arg 0: s32 [5, 1, 79, 0, 7, -5, 48, 3, -1]\n"


def test_saves_and_loads(cubin: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "o.bin"
    args = [
        cubin,
        "--kernel=structs",
        "--block=2",
        "--arg",
        "buf:f64:2",
        "--arg",
        "hex:fdff000000000000000000000000f83f",
        "--arg",
    ]
    assert run_command([*args, "u8:200", "--save", f"0={saved}", "--stats"]) == 0
    assert "thread instructions" in capsys.readouterr().out
    assert np.frombuffer(saved.read_bytes()).tolist() == [195.5, 195.5]
    assert run_command([cubin, "--kernel", "recursion", "--block", "4", "--arg", f"buf:s32:@{saved}", "--print"]) == 0
    assert capsys.readouterr().out == "arg 0: s32 [0, 1, 1, 2]\n"


def test_output_of_the_kernel(cubin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([cubin, "--kernel", "print", "--arg", "s32:-7"]) == 0
    assert capsys.readouterr().out.startswith("0 text 0.000000 123456789012 c 0x10  3.14|-7      |fffffff9|-7|")


def test_lists(cubin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([cubin, "--list"]) == 0
    assert "structs: parameters of 8, 16, 1 bytes\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([], 2, "no cubin"),
        (["--arg", "u8:300"], 2, "does not fit"),
        (["--arg", "x"], 2, "expected"),
        (["--arg", "buf:u9:3"], 2, "unknown type"),
        (["--arg", "buf:u8:3=1;2"], 2, "2 values for 3"),
        (["--grid", "0"], 2, "not a size"),
        (["--what", "1"], 2, "unknown option"),
        (["--kernel", "none"], 1, "no kernel"),
        (["--kernel", "asserts", "--arg", "s32:1"], 1, "AssertionFailed"),
        (["/nothing.cubin"], 2, "more than one"),
    ],
)
def test_errors(cubin: str, args: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([cubin, *args] if args else []) == status
    assert message in capsys.readouterr().err


_COUNT = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) {callee}(.param .b32 n);
.visible .func (.param .b32 r) {name}(.param .b32 n) {{
  .reg .b32 %r<3>; .reg .pred %p; .param .b32 a; .param .b32 b;
  ld.param.u32 %r1, [n]; setp.eq.u32 %p, %r1, {last}; @%p bra Z;
  sub.u32 %r1, %r1, 1; st.param.b32 [a], %r1; call (b), {callee}, (a); ld.param.b32 %r2, [b];
  add.u32 %r2, %r2, {step}; st.param.b32 [r], %r2; ret;
Z: st.param.b32 [r], {step}00; ret; }}
"""
_CALLER = """
.visible .entry k(.param .u64 p) {
  .reg .b64 %q<3>; .reg .b32 %r<3>; .param .b32 a; .param .b32 b;
  ld.param.u64 %q1, [p]; mov.u32 %r1, %tid.x; st.param.b32 [a], %r1; call (b), even, (a); ld.param.b32 %r2, [b];
  mul.wide.u32 %q2, %r1, 4; add.u64 %q1, %q1, %q2; st.global.u32 [%q1], %r2; ret; }
"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_recursion_through_linked_objects(
    first: bool, second: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two functions of two objects, ours and ptxas's, call each other; without an end the stack is full, which is a message."""
    for last, status, out, err in (
        (0, 0, "arg 0: u32 [100, 201, 103, 204]\n", ""),
        (77777, 1, "", "orias run: OutOfBounds: k at 0x"),
    ):
        one = _COUNT.format(name="even", callee="odd", last=last, step=1) + _CALLER
        two = _COUNT.format(name="odd", callee="even", last=last, step=2)
        objects = [compiled(one, "sm_90", first, tmp_path / "1.o"), compiled(two, "sm_90", second, tmp_path / "2.o")]
        linked = tmp_path / "linked.cubin"
        linked.write_bytes(link(objects, "sm_90", tmp_path))
        assert run_command([str(linked), "--block", "4", "--arg", "buf:u32:4", "--print", "0"]) == status
        text = capsys.readouterr()
        assert text.out == out and text.err.startswith(err)
    assert run_command([str(objects[0]), "--block", "4", "--arg", "buf:u32:4"]) == 1
    assert "odd is not in this object: link it first" in capsys.readouterr().err
