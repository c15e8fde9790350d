"""Exit codes, files and modes as those of ptxas where streams and files are unusual; limits of time and memory."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hostile.inputs import HEAD, guarded_branches
from tests.nvtools import LIMIT_S, find

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
    "stdout full": "$C a.ptx -o b >/dev/full",
    "stdin closed": "$C a.ptx -o b <&-",
    "chain of links": "echo old > e; ln -s e d; ln -s d c; ln -s c b; $C a.ptx -o b",
    "link to a hard link": "echo old > d; ln d e; ln -s d b; $C a.ptx -o b",
    "link to a folder": "mkdir c; ln -s c b; $C a.ptx -o b",
    "link into a missing folder": "ln -s d/e b; $C a.ptx -o b",
    "loop of links on the way": "ln -s b b; $C a.ptx -o b/c",
    "input by a loop of links": "ln -s c.ptx c.ptx; $C c.ptx -o b",
    "input by a link": "ln -s a.ptx c.ptx; $C c.ptx -o b",
    "output is the input": "$C a.ptx -o a.ptx",
    "output is a link to the input": "ln -s a.ptx b; $C a.ptx -o b",
    "long name, hard link": f"echo old > b; ln b {'n' * 255}; $C a.ptx -o {'n' * 255}",
    "too long name of the input": f"$C {'n' * 256} -o b",
    "set-user-ID output": "echo old > b; chmod 4755 b; $C a.ptx -o b",
    "pipe": "mkfifo p; cat p > b & $C a.ptx -o p; code=$?; wait; exit $code",
    "error, old output": "echo old > b; chmod 640 b; ln b c; $C bad.ptx -o b",
    "error, link": "echo old > c; ln -s c b; $C bad.ptx -o b",
    "error, output is the input": "$C bad.ptx -o bad.ptx",
    "no name": "echo old > elf.o; ln elf.o c; chmod 600 c; $C a.ptx",
    "relocatable, mode kept": "echo old > b; chmod 711 b; $C -c a.ptx -o b",
}
NOT_ROOT: dict[str, str] = {
    "read-only output": "echo old > b; chmod 444 b; $C a.ptx -o b",
    "read-only output, errors": "echo old > b; chmod 444 b; $C bad.ptx -o b",
    "read-only output, hard link": "echo old > b; ln b c; chmod 444 b; $C a.ptx -o b",
    "link to a read-only output": "echo old > c; chmod 444 c; ln -s c b; $C a.ptx -o b",
    "write-only output": "echo old > b; chmod 222 b; $C a.ptx -o b",
    "read-only folder": "mkdir d; chmod 555 d; $C a.ptx -o d/b",
    "read-only folder, old output": "mkdir d; echo old > d/b; chmod 555 d; $C a.ptx -o d/b",
    "closed folder": "mkdir d; chmod 000 d; $C a.ptx -o d/b",
    "unreadable input": "chmod 000 a.ptx; $C a.ptx -o b",
    "no name, read-only": "echo old > elf.o; chmod 400 elf.o; $C a.ptx",
}
"""Lines that say nothing where everything is allowed: root runs them without that privilege."""
LIKE_A_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


def outcome(folder: Path, line: str, command: str, before: tuple[str, ...] = ()) -> object:
    """Exit code, and the name, kind, mode, number of names and whether it is a cubin, of each file; `before`: a command for the shell."""
    folder.mkdir()
    (folder / "a.ptx").write_text(GOOD)
    (folder / "bad.ptx").write_text(BAD)
    shell = [*before, "bash", "-c", line.replace("$C", command)]
    done = subprocess.run(shell, cwd=folder, capture_output=True, timeout=LIMIT_S, check=False)
    assert b"Traceback" not in done.stderr
    files = []
    for p in sorted(folder.rglob("*")):
        s = p.lstat()
        contents: object = os.readlink(p) if p.is_symlink() else p.is_file() and p.read_bytes()[:4] == b"\x7fELF"
        files.append((str(p.relative_to(folder)), oct(s.st_mode), s.st_nlink, contents))
        if p.is_dir() and not p.is_symlink():
            p.chmod(0o755)
    return done.returncode, files


OURS = f"{sys.executable} -m orias"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", CASES)
def test_as_ptxas(name: str, tmp_path: Path) -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    assert outcome(tmp_path / "ours", CASES[name], OURS) == outcome(tmp_path / "theirs", CASES[name], str(ptxas))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", NOT_ROOT)
def test_as_ptxas_where_something_is_forbidden(name: str, tmp_path: Path) -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    before = LIKE_A_USER if os.geteuid() == 0 else ()
    if before and shutil.which(before[0]) is None:
        pytest.skip("no setpriv")
    ours = outcome(tmp_path / "ours", NOT_ROOT[name], OURS, before)
    assert ours == outcome(tmp_path / "theirs", NOT_ROOT[name], str(ptxas), before)


def orias(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orias", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
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


@pytest.mark.in_turn(2)
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
        _, text = p.communicate(timeout=LIMIT_S)
        assert (p.returncode, text.count("\n")) == (130, 1), text
        assert [x.name for x in tmp_path.iterdir()] == ["big.ptx"]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("old", [False, True])
def test_interrupt_as_ptxas(old: bool, tmp_path: Path) -> None:
    """Ctrl-C: the exit code that a shell sees, and the files: no output, or the one that was there."""
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    seen = []
    for name, command in (("ours", [sys.executable, "-m", "orias"]), ("theirs", [str(ptxas)])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "big.ptx").write_text(guarded_branches(20000))
        if old:
            (folder / "b").write_text("old")
        p = subprocess.Popen(
            [*command, "big.ptx", "-o", "b"],
            cwd=folder,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(1.5)
        p.send_signal(signal.SIGINT)
        code = p.wait(timeout=LIMIT_S)
        files = {x.name: x.stat().st_size for x in folder.iterdir()}
        seen.append((code if code >= 0 else 128 - code, files))
    assert seen[0] == seen[1]
    assert seen[0][0] == 130


@pytest.mark.in_turn(2)
def test_tools_have_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    (tmp_path / "knobs").write_text("a = \0\n")
    for tool in ("as", "dis", "check", "run", "perf", "opt", "verify", "reduce"):
        done = orias(tmp_path, tool, "bytes")
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 255)
