"""Exit codes, files and modes as those of ptxas where streams and files are unusual; limits of time and memory."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hostile.inputs import HEAD, guarded_branches
from tests.nvtools import find

GOOD = HEAD + ".visible .entry k() { ret; }\n"
BAD = HEAD + ".visible .entry k() { rat; }\n"
CASES: dict[str, str] = {
    "stderr closed": "$C -v a.ptx -o b 2>&-",
    "stderr full": "$C -v a.ptx -o b 2>/dev/full",
    "stderr full, errors": "$C bad.ptx -o b 2>/dev/full",
    "stdout closed": "$C a.ptx -o b >&-",
    "all closed": "$C a.ptx -o b <&- >&- 2>&-",
    "hard link": "echo old > b; ln b c; $C a.ptx -o b",
    "mode kept": "echo old > b; chmod 600 b; $C a.ptx -o b",
    "mode kept, executable": "echo old > b; chmod 755 b; $C a.ptx -o b",
    "mode of a new file": "umask 027; $C a.ptx -o b",
    "link": "echo old > c; ln -s c b; $C a.ptx -o b",
    "dangling link": "ln -s c b; $C a.ptx -o b",
    "loop of links": "ln -s b c; ln -s c b; $C a.ptx -o b",
    "long name": "$C a.ptx -o " + "n" * 255,
    "too long name": "$C a.ptx -o " + "n" * 256,
    "folder": "mkdir b; $C a.ptx -o b",
    "missing folder": "$C a.ptx -o d/b",
    "full device": "$C a.ptx -o /dev/null",
}


def outcome(folder: Path, line: str, command: str) -> object:
    """Exit code, and the name, kind, mode, number of names and whether it is a cubin, of each file."""
    folder.mkdir()
    (folder / "a.ptx").write_text(GOOD)
    (folder / "bad.ptx").write_text(BAD)
    done = subprocess.run(
        ["bash", "-c", line.replace("$C", command)], cwd=folder, capture_output=True, timeout=60, check=False
    )
    assert b"Traceback" not in done.stderr
    files = []
    for p in sorted(folder.iterdir()):
        s = p.lstat()
        cubin = p.is_file() and p.read_bytes()[:4] == b"\x7fELF" if not p.is_symlink() else os.readlink(p)
        files.append((p.name, oct(s.st_mode), s.st_nlink, cubin))
    return done.returncode, files


OURS = f"{sys.executable} -m orias"


@pytest.mark.parametrize("name", CASES)
def test_as_ptxas(name: str, tmp_path: Path) -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    assert outcome(tmp_path / "ours", CASES[name], OURS) == outcome(tmp_path / "theirs", CASES[name], str(ptxas))


def orias(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orias", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_limits(tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_text(GOOD)
    (tmp_path / "big.ptx").write_text(guarded_branches(40000))
    fine = orias(tmp_path, "a.ptx", "-o", "a.cubin", "--max-seconds", "60", "--max-memory", "1000")
    assert (fine.returncode, fine.stderr) == (0, "")
    assert (tmp_path / "a.cubin").read_bytes()[:4] == b"\x7fELF"
    late = orias(tmp_path, "big.ptx", "-o", "b.cubin", "--max-seconds", "1")
    assert late.returncode == 255
    assert "took more than 1 seconds (--max-seconds)" in late.stderr
    large = orias(tmp_path, "big.ptx", "-o", "b.cubin", "--max-memory", "40")
    assert large.returncode == 255
    assert "took more than 40 MiB (--max-memory)" in large.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.cubin", "a.ptx", "big.ptx"]


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends the compile with one line."""
    (tmp_path / "big.ptx").write_text(guarded_branches(20000))
    for limit in ((), ("--max-seconds", "100")):
        p = subprocess.Popen(
            [sys.executable, "-m", "orias", "big.ptx", "-o", "b", *limit],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that starts the tests in the background makes its children ignore the signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(1.5)
        p.send_signal(signal.SIGINT)
        _, text = p.communicate(timeout=30)
        assert (p.returncode, text.count("\n")) == (130, 1), text
        assert [x.name for x in tmp_path.iterdir()] == ["big.ptx"]


def test_tools_have_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    (tmp_path / "knobs").write_text("a = \0\n")
    for tool in ("as", "dis", "check", "run", "perf", "opt", "verify", "reduce"):
        done = orias(tmp_path, tool, "bytes")
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 255)
