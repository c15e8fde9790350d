"""`-v` with `-maxrregcount`: what it says of each kernel's limit stands among the warnings on that kernel, as with ptxas."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

KERNELS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k1(.param .u64 out) .maxntid 1024 .minnctapersm 2 { ret; }
.visible .entry k2(.param .u64 out) .maxnreg 8 { ret; }
.visible .entry k3(.param .u64 out) .maxntid 256 .minnctapersm 40 { ret; }
.visible .func f(.param .b32 a) { ret; }
.visible .entry k4(.param .u64 out) .maxntid 64 .maxnreg 255 { ret; }
"""
OPTIONS = (
    "-maxrregcount=20", "-maxrregcount=16 -override-directive-values", "-maxrregcount=32 -c", "-maxrregcount=20 -g",
    "-maxrregcount=64", "-g", "-c -g -maxrregcount=40",
)  # fmt: skip


def limits(command: list[str], options: str, folder: Path) -> list[str]:
    """Warnings and notes on limits, without the program's name."""
    (folder / "k.ptx").write_text(KERNELS)
    line = [*command, "-arch=sm_90", "-v", *options.split(), str(folder / "k.ptx"), "-o", str(folder / "k.cubin")]
    said = subprocess.run(line, check=True, capture_output=True, text=True, timeout=LIMIT_S).stderr
    found = [text.partition(" ")[2] for text in said.splitlines()]
    return [text for text in found if text.startswith("warning") or "Overriding" in text]


@pytest.mark.parametrize("options", rotating(OPTIONS, 3, "notes on limits"))
def test_order(options: str, tmp_path: Path) -> None:
    ours = limits([sys.executable, "-m", "orias"], options, tmp_path)
    assert ours == limits([tool("ptxas")], options, tmp_path) and len(ours) > 2
