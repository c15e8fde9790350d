from pathlib import Path

import numpy as np
import pytest

from orias.cli.run_command import run_command
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
