"""`orias toolkit DIR`: a folder with the layout of a CUDA toolkit, in which the assembler and disassemblers are Orias.

nvcc looks for its tools beside itself, by the path it was called with, so that links to the rest of a toolkit suffice.
"""

import os
import sys
from pathlib import Path
from typing import Final

from orias.cli.tool_arguments import read_arguments
from orias.cli.toolerror import ToolError

USAGE: Final = """\
usage: orias toolkit DIR [--cuda CUDA]

Makes DIR/bin with ptxas, nvdisasm and cuobjdump, which are Orias.  --cuda: links to everything else of the CUDA toolkit CUDA
(a folder with bin/nvcc), so that DIR/bin/nvcc compiles with them.
"""
OURS: Final = ("ptxas", "nvdisasm", "cuobjdump")
_LONGEST: Final = 120
"""Characters of an interpreter's path that every system takes after ``#!``."""
_CLIENT: Final = Path(__file__).with_name("server_client")
"""The compiled client of `orias serve`, where the package has it: wheels that are compiled, on Linux."""


def toolkit_command(arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code."""
    files, _, given = read_arguments(arguments, (), ("--cuda",), USAGE)
    if not files:
        return 0
    if len(files) > 1:
        raise ToolError(USAGE.splitlines()[0])
    make_toolkit(Path(files[0]), Path(given["--cuda"]) if "--cuda" in given else None)
    return 0


def script(python: str, place: str = "") -> str:
    """A program that is Orias; ``place``: the folder with the package, where that is not installed."""
    path = f"import sys\nsys.path.insert(0, {place!r})\n" if place else ""
    return f"#!{python}\n{path}from orias.__main__ import start\nstart()\n"


def first_line(python: str, client: Path) -> str:
    """What stands after ``#!``: the compiled client, which asks the server or runs Python, or Python itself."""
    both = f"{client} {python}"
    return both if len(both) <= _LONGEST and " " not in str(client) and os.access(client, os.X_OK) else python


def make_toolkit(folder: Path, cuda: Path | None) -> None:
    """Make the folder; ToolError if it holds a toolkit already, or `cuda` is none."""
    if cuda is not None and not (cuda / "bin").is_dir():
        raise ToolError(f"'{cuda}' is not a CUDA toolkit: it has no folder bin")
    python = sys.executable
    if not python or len(python) > _LONGEST or " " in python:
        raise ToolError(f"the path of the Python interpreter cannot stand in a script: '{python}'")
    bin_ = folder / "bin"
    if any((bin_ / name).exists() for name in OURS):
        raise ToolError(f"'{bin_}' holds a toolkit already")
    bin_.mkdir(parents=True, exist_ok=True)
    for name in OURS:
        path = bin_ / name
        path.write_text(script(first_line(python, _CLIENT)), encoding="utf-8")
        path.chmod(0o755)
    if cuda is None:
        return
    for entry in sorted((cuda / "bin").iterdir()):
        if entry.name not in OURS:
            _link(entry, bin_ / entry.name)
    for entry in sorted(cuda.iterdir()):
        if entry.name != "bin":
            _link(entry, folder / entry.name)


def _link(source: Path, to: Path) -> None:
    if not os.path.lexists(to):
        to.symlink_to(source.resolve())
