"""The commands of docs/audit.md, run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from orias.tools.audit.known_faults import catalogue
from tests.nvtools import tool
from tools.write_faults_page import ROOT
from tools.write_faults_page import page as faults_page

PAGE = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")


def sessions() -> list[tuple[str, list[str]]]:
    """(command, lines that it shows) of all console blocks."""
    out: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                out.append((line[2:], []))
            else:
                out[-1][1].append(line)
    return out


def shown(want: list[str], got: list[str]) -> bool:
    """True if the lines are those shown; ``...`` stands for the rest of a line, or alone for some lines."""
    k = 0
    for n, line in enumerate(want):
        if line == "...":
            following = want[n + 1]
            while k < len(got) and got[k] != following:
                k += 1
        elif k >= len(got) or not (got[k] == line or (line.endswith("...") and got[k].startswith(line[:-3]))):
            return False
        else:
            k += 1
    return k == len(got)


def test_commands_of_the_page(tmp_path: Path) -> None:
    program = re.search(r"`rotate.ptx`:\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    (tmp_path / "rotate.ptx").write_text(program[1])
    (tmp_path / "ptxas").symlink_to(tool("ptxas"))
    found = sessions()
    assert len(found) == 5
    for command, want in found:
        words = shlex.split(command)
        if words[0] == "orias":
            words[:1] = [sys.executable, "-m", "orias"]
        r = subprocess.run(
            words,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert shown(want, r.stdout.splitlines()), f"{command}\n{r.stdout}{r.stderr}"
    assert "sub.u64" in (tmp_path / "small.ptx").read_text()


def test_the_page_of_faults_is_the_catalogue() -> None:
    assert (ROOT / "docs" / "ptxas-faults.md").read_text() == faults_page(), "run python tools/write_faults_page.py"


def test_every_fault_has_its_ptx() -> None:
    """A program or an excerpt, which has the instructions of the fault's signature."""
    for f in catalogue():
        text = f.excerpt or (ROOT / "tests/oracle_faults" / f.file).read_text(encoding="utf-8")
        assert f.in_text(text), f.name
        assert f.title and f.cause and f.who and f.workaround and f.proof
