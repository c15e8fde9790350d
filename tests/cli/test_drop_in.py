"""What clients of ptxas rely on, without ptxas: probes, streams, output files, start-up."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cli.main import run
from tests.cli.command_lines import FILES, HEAD
from tests.nvtools import LIMIT_S, tool
from tools.command_line.input_files import FILES as MORE_FILES

ROOT = Path(__file__).resolve().parents[2]


def orias(*arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "orias", *arguments], capture_output=True, timeout=LIMIT_S, cwd=cwd, input=stdin, env=env
    )


def test_version_has_what_clients_parse() -> None:
    done = orias("--version")
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert re.search(r"release (\d+\.\d+)", text).group(1) == "13.5"  # type: ignore[union-attr]
    assert re.search(r"\bV(\d+)\.(\d+)\.(\d+)\b", text).groups() == ("13", "5", "37")  # type: ignore[union-attr]
    assert "Orias" in text


def test_help_names_every_target() -> None:
    text = orias("--help").stdout.decode()
    for name in ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "compute_90"):
        assert f"'{name}'" in text


def test_list_version() -> None:
    words = orias("--list-version").stdout.decode().split()
    assert words[0] == "1.0" and words[-1] == "9.5" and "7.8" in words and len(words) == 49


def test_probe_of_the_newest_version() -> None:
    done = orias("--input-as-string", ".version 99.99")
    assert done.returncode == 255 and done.stdout == b""
    assert len(done.stderr.splitlines()) == 1
    assert re.findall(rb"'([^']*)'", done.stderr) == [b"9.5"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("tool", ["dis", "as", "run", "check", "verify", "bisect", "reduce", "fuzz"])
def test_every_tool_has_help(tool: str) -> None:
    assert f"orias {tool} " in orias("--help").stdout.decode()
    answer = orias(tool, "--help")
    assert answer.returncode == 0
    assert b"orias " + tool.encode() in answer.stdout


def test_no_input_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["orias"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_light_commands_do_not_load_the_compiler() -> None:
    for option in ("--version", "--help", "--list-version"):
        code = (
            f"import sys; sys.argv = ['orias', '{option}']; from orias.__main__ import main; main();"
            "print(sorted(m for m in sys.modules if m.startswith('orias') or m in ('re', 'argparse', 'enum', 'dataclasses')))"
        )
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=LIMIT_S, env=env
        )
        loaded = done.stdout.splitlines()[-1]
        assert "orias.cli.main" in loaded
        for heavy in ("orias.compiler", "orias.ptx", "'re'", "argparse", "enum", "dataclasses"):
            assert heavy not in loaded


def test_stdin_and_stdout(tmp_path: Path) -> None:
    done = orias("-arch=sm_80", "-", "-o", "x.cubin", cwd=tmp_path, stdin=FILES["k.ptx"].encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "x.cubin").read_bytes()[:4] == b"\x7fELF"


def test_stdin_errors_name_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdin:
        buffer = io.BytesIO(b".version 7.0\nfoo")

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert run(["ptxas", "-"]) == 255
    assert re.match(r"ptxas /\S*tmpxft_[0-9a-f]{8}_00000000-0_stdin, line 2; fatal   : ", capsys.readouterr().err)


def test_failed_compile_leaves_old_output(tmp_path: Path) -> None:
    (tmp_path / "bad.ptx").write_text(FILES["bad.ptx"])
    out = tmp_path / "elf.o"
    out.write_bytes(b"old")
    assert orias("bad.ptx", cwd=tmp_path).returncode == 255
    assert out.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.ptx", "elf.o"]


def test_output_forms(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(FILES["k.ptx"])
    assert orias("k.ptx", cwd=tmp_path).returncode == 0
    assert (tmp_path / "elf.o").exists()
    assert orias("k.ptx", "-o", "/dev/null", cwd=tmp_path).returncode == 0
    (tmp_path / "link").symlink_to("target.cubin")
    assert orias("k.ptx", "-o", "link", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target.cubin").exists()
    done = orias("k.ptx", "-o", "no/such/dir/x", cwd=tmp_path)
    assert done.returncode == 255
    assert done.stderr.endswith(b"fatal   : Output file 'no/such/dir/x' could not be opened\n")


def test_input_named_like_a_tool(tmp_path: Path) -> None:
    (tmp_path / "dis").write_text(FILES["k.ptx"])
    assert orias("./dis", cwd=tmp_path).returncode == 0


def test_messages_start_with_the_program_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["/opt/bin/my-ptxas", "nosuch.ptx"]) == 255
    assert capsys.readouterr().err.startswith("my-ptxas fatal   : Input file 'nosuch.ptx'")


def test_hostile_input_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for i, data in enumerate(
        [b"\x00" * 100, b"\xff" * 50, bytes(range(256)), b".version 7.0\n.target sm_80\n" + b"(" * 5000]
    ):
        (tmp_path / f"{i}.ptx").write_bytes(data)
        assert run(["ptxas", f"{i}.ptx"]) == 255
        err = capsys.readouterr().err
        assert "Traceback" not in err and "Internal error" not in err and "fatal" in err


def test_refused_options(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("k.ptx", "bad.ptx", "loc.ptx", "tex.ptx"):
        text = MORE_FILES[name] if name in MORE_FILES else f"{MORE_FILES['k.ptx']}.global .texref t;\n"
        (tmp_path / name).write_text(text)
    # Inputs are checked first, as in ptxas.
    assert run(["ptxas", "bad.ptx", "--okey=5", "--ptx-length=1"]) == 255
    assert "Unknown symbol" in capsys.readouterr().err
    assert run(["ptxas", "k.ptx", "--okey=5", "--ptx-length=1"]) == 255
    assert "is not supported by Orias" in capsys.readouterr().err
    # Where they change nothing they are no reason to refuse.
    for line in (
        ["k.ptx", "--opt-pointers"],
        ["k.ptx", "--set-texmode-raw=true"],
        ["loc.ptx", "-device-stack-protector=true"],
        ["loc.ptx", "-c", "-device-stack-protector=true"],
        ["k.ptx", "-arch=compute_75", "--okey=1"],
    ):
        assert run(["ptxas", *line]) == 0, line
    assert run(["ptxas", "tex.ptx", "--set-texmode-raw=true"]) == 255
    assert "Instruction or declaration violates .target texmode_raw setting" in capsys.readouterr().err
    capsys.readouterr()
    assert run(["ptxas", "k.ptx", "--okey", "1"]) == 255
    assert "Option '--okey' is not supported by Orias" in capsys.readouterr().err


def test_run_tool(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "k.ptx").write_text(FILES["k.ptx"])
    assert orias("k.ptx", "-arch=sm_80", "-o", "k.cubin", cwd=tmp_path).returncode == 0
    done = orias("run", "k.cubin", "--block", "1", "--arg", "buf:u32:4", "--print", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"[1, 0, 0, 0]" in done.stdout
    done = orias("run", "k.cubin", "--kernel", "nope", "--arg", "u32:1", cwd=tmp_path)
    assert done.returncode in (1, 2) and b"nope" in done.stderr and b"Traceback" not in done.stderr


def test_dis_and_as(tmp_path: Path) -> None:
    """A listing assembles back: into the old cubin byte for byte, and into a new cubin that runs."""
    (tmp_path / "k.ptx").write_text(FILES["k.ptx"])
    assert orias("k.ptx", "-arch=sm_80", "-o", "k.cubin", cwd=tmp_path).returncode == 0
    listing = orias("dis", "--control", "k.cubin", cwd=tmp_path).stdout
    (tmp_path / "k.sass").write_bytes(listing)
    done = orias("as", "k.sass", "--base", "k.cubin", "-o", "same.cubin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "same.cubin").read_bytes() == (tmp_path / "k.cubin").read_bytes()
    done = orias("as", "k.sass", "--params", "8", "-o", "new.cubin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = orias("run", "new.cubin", "--arg", "buf:u32:2", "--print", cwd=tmp_path)
    assert b"[1, 0]" in done.stdout
    (tmp_path / "bad.sass").write_text("FROB R1 ;")
    done = orias("as", "bad.sass", "--arch", "sm_80", "--regs", "8", cwd=tmp_path)
    assert done.returncode == 255 and b"line 1" in done.stderr


def test_dis_tool(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(FILES["k.ptx"])
    assert orias("k.ptx", "-arch=sm_80", "-o", "k.cubin", cwd=tmp_path).returncode == 0
    done = orias("dis", "k.cubin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"STG" in done.stdout and b"EXIT" in done.stdout
    assert orias("dis", "k.ptx", cwd=tmp_path).returncode == 255


def test_line_information(tmp_path: Path) -> None:
    """Rows of ``.loc`` with inlining come out as nvdisasm shows them."""
    body = (
        ".visible .entry k(.param .u64 p0) {\n .reg .b64 %rd<4>; .reg .b32 %r<4>;\n .loc 1 10 5\n ld.param.u64 %rd1,[p0];\n"
        " .loc 1 11 7\n ld.global.u32 %r2,[%rd1];\n .loc 2 14 2, function_name $L1, inlined_at 1 11 7\n"
        ' st.global.u32 [%rd1+4],%r2;\n .loc 1 15 2\n ret;\n}\n.file 1 "/src/a.py"\n.file 2 "/src/b.h"\n'
        ".section .debug_str {\n$L1: .b8 102\n.b8 111\n.b8 0\n}\n"
    )
    (tmp_path / "k.ptx").write_text(HEAD.format("sm_75") + body)
    assert orias("k.ptx", "-arch=sm_80", "-lineinfo", "-o", "k.cubin", cwd=tmp_path).returncode == 0
    listing = subprocess.run(
        [tool("nvdisasm"), "-c", "-gi", "k.cubin"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    ).stdout
    found = [line.split("##")[1].strip() for line in listing.splitlines() if "//##" in line]
    assert 'File "/src/b.h", line 14 inlined at "/src/a.py", line 11' in found
    assert found[-1] == 'File "/src/a.py", line 15'
