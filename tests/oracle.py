"""Runs ptxas on a file, with a time limit."""

import subprocess
from pathlib import Path

from tests.nvtools import LIMIT_S, tool


def compile_or_none(path: Path, arch: str, options: list[str], work: Path) -> bytes | None:
    """The cubin that ptxas makes of a PTX file (relocatable where it must be), or None if it refuses or takes too long."""
    out = work / "theirs.cubin"
    for extra in ([], ["-c"]):
        command = [tool("ptxas"), f"-arch={arch}", *options, *extra, str(path), "-o", str(out)]
        try:
            run = subprocess.run(command, capture_output=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        if run.returncode == 0:
            return out.read_bytes()
    return None
