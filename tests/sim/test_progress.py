"""The progress bar: drawn on a terminal only, full at the end, shown by commands that take long."""

import io
import sys
from pathlib import Path

import pytest

from orias.cli.run_command import run_command
from orias.progress import Bar
from tests.sim.build import assemble


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
