"""The progress bar: drawn on a terminal only, full at the end, shown by commands that take long."""

import io
import sys
import time
from pathlib import Path

import pytest

from orias import progress
from orias.cli.main import run
from orias.cli.run_command import run_command
from orias.progress import Bar
from tests.sim.build import assemble


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.0)


def test_not_before_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, now = Terminal(), [100.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", 2.0)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bar = Bar()
    for seconds, done in ((0.5, 1), (1.9, 2)):
        now[0] = 100 + seconds
        bar(done, 8, "x")
    assert terminal.getvalue() == "" and bar.rest(0, 8) == ""
    now[0] = 104
    bar(4, 8, bar.rest(4, 8))
    assert "4/8 1.0/s, 4 s left" in terminal.getvalue()
    short = Bar()
    terminal.truncate(0)
    short(8, 8, "x")
    assert terminal.getvalue() == ""


def test_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", plain)
    Bar()(3, 3, "x")
    assert plain.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal)
    Bar(quiet=True)(3, 3, "x")
    assert terminal.getvalue() == ""
    bar = Bar()
    bar(1, 2, "first")
    bar.clear()
    bar(2, 2, "done")
    assert "1/2 first" in terminal.getvalue() and "2/2 done" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")


LOOP = """.version 7.8
.target sm_80
.address_size 64
.visible .entry k() { .reg .u32 %r<4>; .reg .pred %p; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 8; mov.u32 %r2, %smid;
L: sub.u32 %r1, %r1, 1; setp.gt.s32 %p, %r1, %r2; @%p bra L; ret; }
"""


def test_run_shows_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "loop.cubin"
    file.write_bytes(assemble(LOOP, "sm_80", "-O0"))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run_command([str(file), "--block", "64"]) == 0
    assert "/64 threads of k" in terminal.getvalue()
    terminal.truncate(0)
    assert run_command([str(file), "--block", "64", "--quiet"]) == 0
    assert "threads of k" not in terminal.getvalue()


KERNEL = """.version 7.8
.target sm_80
.address_size 64
.visible .entry NAME(.param .u64 p) { .reg .b64 %d; .reg .u32 %r; ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; st.global.u32 [%d+4], %r; ret; }
"""


def two_inputs(folder: Path, command: str, text: str = "") -> tuple[int, bytes]:
    """Compile two files into one cubin; returns exit code and cubin."""
    for name in ("first", "second"):
        (folder / f"{name}.ptx").write_text(KERNEL.replace("NAME", name) + text)
    out = folder / "out.cubin"
    out.unlink(missing_ok=True)
    inputs = [str(folder / f"{name}.ptx") for name in ("first", "second")]
    code = run([command, "-arch=sm_80", "-split-compile=1", *inputs, "-o", str(out)])
    return code, out.read_bytes() if out.exists() else b""


def test_a_compile_of_several_inputs_shows_phases_and_erases_the_bar(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    plain, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", plain)
    code, expected = two_inputs(tmp_path, "orias")
    assert code == 0 and expected and plain.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal)
    assert two_inputs(tmp_path, "orias") == (0, expected)
    drawn = terminal.getvalue().split("\r")
    assert len(drawn) > 40 and drawn[-1] == "\x1b[K"
    done = [int(d.split("] ")[1].split("/")[0]) for d in drawn[1:-1]]
    assert done == sorted(done) and len({d.split("/")[1].split()[0] for d in drawn[1:-1]}) == 1
    assert {"first", "second"} <= {d.split()[-1] for d in drawn[1:-1]}


def test_no_bar_under_the_name_ptxas_and_none_beside_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert two_inputs(tmp_path, "ptxas")[0] == 0
    assert terminal.getvalue() == ""
    assert two_inputs(tmp_path, "orias", ".visible .entry wrong() { nonsense; }")[0] == 255
    assert "nonsense" in terminal.getvalue() and "[#" not in terminal.getvalue()
