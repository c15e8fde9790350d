"""Line tables, sections and places of registers beside ptxas's, on files that nvcc and clang make here (tools/debug_info/make_files.py)."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tools.debug_info.compare_files import compared
from tools.debug_info.make_files import PROGRAMS, SOURCES, make

LINES = {
    "clang_lists": "sm_80",
    "classes": "sm_80",
    "physics": "sm_90",
    "rays": "sm_100",
    "strings": "sm_86",
    "softmax": "sm_75",
}
DEBUG = {"clang_bits": "sm_80", "interp": "sm_80", "rays": "sm_90", "strings": "sm_86"}


def numbers(name: str, kind: str, arch: str, folder: Path) -> Counter[str]:
    """What `compare_files` says about a source; skips without its compiler."""
    if shutil.which("clang-19" if name.startswith("clang") else "nvcc") is None:
        pytest.skip(f"no compiler for {name}")
    source = next(f for f in (PROGRAMS / f"{name}.cu", SOURCES / f"{name}.cu") if f.exists())
    out = folder / f"{name}.ptx"
    missing = make(source, kind, arch, out, [])
    if missing:
        pytest.skip(missing)
    return compared(out, kind, folder)


@pytest.mark.sweep
@pytest.mark.parametrize("name", LINES)
def test_stacks_of_lines(name: str, tmp_path: Path) -> None:
    found = numbers(name, "lineinfo", LINES[name], tmp_path)
    assert found["files"] and not found["line 0"] and not found["no line"]
    assert found["stacks found"] >= 0.99 * found["instructions"]
    assert found["ptxas's found"] >= 0.99 * found["ptxas's"]


@pytest.mark.sweep
@pytest.mark.parametrize("name", DEBUG)
def test_places_of_registers(name: str, tmp_path: Path) -> None:
    """`interp` has variables in a loop, whose register nothing takes anywhere in the loop: 91 % of its places without."""
    pytest.importorskip("elftools")
    found = numbers(name, "debug", DEBUG[name], tmp_path)
    assert found["trees equal"] and not found["line 0"] and not found["no line"]
    assert found["places found"] >= 0.95 * found["places"]
