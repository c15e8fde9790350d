"""A descriptor for wgmma made from a uniform register that nothing writes: ptxas 12.8.93 is wrong, later releases are right.

The program is a product of three matrices in a loop, as Triton compiles it.  The address of the third matrix is needed before and
after the loop; for the second place the code has ``UIADD3 UR22, UP0, UR22, 0x20`` although no instruction writes UR22.  Public reports
of wrong linear-attention kernels on Hopper have the same cause.

ORIAS_OLD_PTXAS names a ptxas 12.8.93 (package nvidia-cuda-nvcc-cu12 of PyPI).
"""

import os
import subprocess
from pathlib import Path

import pytest

import orias
from orias.check import check_cubin
from orias.cli.audit_command import audit_command
from tests.nvtools import LIMIT_S, tool

SOURCE = Path(__file__).parent / "chained_products.ptx"
OLD = os.environ.get("ORIAS_OLD_PTXAS", "")


def unwritten(data: bytes) -> list[str]:
    return [h.instruction for h in check_cubin(data, operands=True) if h.rule == "unwritten"]


def compiled(ptxas: str, level: int, folder: Path) -> bytes:
    out = folder / "k.cubin"
    subprocess.run([ptxas, "-arch=sm_90a", f"-O{level}", str(SOURCE), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out.read_bytes()


@pytest.mark.skipif(not OLD, reason="ORIAS_OLD_PTXAS is not set to a ptxas 12.8.93")
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_old_release(level: int, tmp_path: Path) -> None:
    found = unwritten(compiled(OLD, level, tmp_path))
    assert found and all(x.startswith("UIADD3") for x in found)


@pytest.mark.skipif(not OLD, reason="ORIAS_OLD_PTXAS is not set to a ptxas 12.8.93")
def test_the_audit_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    """From the PTX and the cubin alone."""
    assert audit_command([str(SOURCE), "--with", OLD, "--turns", "1", "--seconds", "0", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "unwritten_descriptor" in out and "which nothing has written" in out


def test_ours_and_the_release_in_use(tmp_path: Path) -> None:
    assert not unwritten(compiled(tool("ptxas"), 3, tmp_path))
    assert not unwritten(orias.compile(SOURCE.read_text(), arch="sm_90a").data)
