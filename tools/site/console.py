"""Runs the console blocks of a page: what it says that commands print is what they print.

``python -m tools.site.console PAGE...`` writes the outputs into the page anew.  Blocks of code with a title are files;
a block ``console`` has commands after ``$`` and their output.  In an output, ``...`` stands for any text: alone on a
line for any lines, within a line for any part of it.  Lines of a command that an output with ``...`` describes are not
rewritten.
"""

import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_FILE = re.compile(r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = 120


class Command(NamedTuple):
    """A command of a page, and the lines that the page says it prints."""

    text: str
    said: list[str]


def files(page: str) -> dict[str, str]:
    """The files of a page, by name."""
    return dict(_FILE.findall(page))


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block."""
    now: Command | None = None
    for line in block.splitlines():
        if line.startswith("$ "):
            if now is not None:
                yield now
            now = Command(line[2:], [])
        elif now is not None:
            now.said.append(line)
    if now is not None:
        yield now


def agrees(said: list[str], printed: list[str]) -> bool:
    """Whether an output is what a page says."""
    parts = [r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n" for line in said]
    return re.fullmatch("".join(parts), "".join(line + "\n" for line in printed)) is not None


class Shell:
    """A folder with the files of a page, in which its commands run with the ``orias`` of this checkout."""

    def __init__(self, folder: Path, page: str) -> None:
        self.folder = folder
        for name, text in files(page).items():
            (folder / name).write_text(text, encoding="utf-8")
        programs = folder / ".bin"
        programs.mkdir()
        for name, arguments in (("orias", "-m orias"), ("python", "")):
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "",
            "COLUMNS": "100",
        }

    def run(self, command: str) -> list[str]:
        """What a command prints on both streams, in lines without blanks at their ends."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
        return [line.rstrip() for line in done.stdout.rstrip().splitlines()]


def pages() -> list[Path]:
    """The pages with titled files, whose console blocks run as they stand."""
    found = sorted((ROOT / "docs").glob("*.md"))
    return [p for p in found if _FILE.search(text := p.read_text(encoding="utf-8")) and _BLOCK.search(text)]


def differences(page: str) -> list[str]:
    """The commands of a page that print something else than it says, with what they print."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder), page)
        for block in _BLOCK.findall(page):
            for command in commands(block):
                printed = shell.run(command.text)
                if not agrees(command.said, printed):
                    out.append("\n".join([f"$ {command.text}", *printed]))
    return out


def refreshed(page: str) -> str:
    """The page with the outputs that its commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder), page)

        def block(m: re.Match[str]) -> str:
            lines = ["```console"]
            for command in commands(m.group(1)):
                printed = shell.run(command.text)
                kept = agrees(command.said, printed) or any("..." in line for line in command.said)
                lines += [f"$ {command.text}", *(command.said if kept else printed)]
            return "\n".join([*lines, "```"])

        return _BLOCK.sub(block, page)


def main() -> None:
    """Rewrite the pages that the command line names, by default all."""
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
