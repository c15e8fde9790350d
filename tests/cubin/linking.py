"""Compiles objects with either compiler and links them."""

import subprocess
from pathlib import Path

import orias
from tests.nvtools import LIMIT_S, tool


def compiled(ptx: str, arch: str, ours: bool, path: Path) -> Path:
    """An object (-c) of ours or of ptxas at the path."""
    if ours:
        path.write_bytes(orias.compile(ptx, arch=arch, compile_only=True).data)
        return path
    source = path.with_suffix(".ptx")
    source.write_text(ptx)
    command = [tool("ptxas"), "-c", f"-arch={arch}", str(source), "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return path


def link(objects: list[Path], arch: str, folder: Path) -> bytes:
    """The executable that nvlink makes of the objects."""
    out = folder / "linked.cubin"
    command = [tool("nvlink"), f"-arch={arch}", *(str(o) for o in objects), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return out.read_bytes()
