"""An offset that is computed again for want of registers, in two places that share a register: ptxas 12.8.93 to 13.1.115 is wrong.

The program adds products of two matrices by chunks of 64 rows from the last on, and stores the sum before each chunk; it is what
Triton 3.7.1 makes of a kernel written for this test (bf16, 153 columns and 64, one warp, three stages).  The masked tile goes to shared
memory element by element.  ``(tid & 31) << 1`` is computed again before those stores, but the register of ``tid & 31`` has been
overwritten by then by another offset that is computed again, so a part of the tile lands elsewhere, for thread 28 outside of shared
memory.  The Hopper fault of ``chunk_bwd_kernel_dh`` in fla-core has the same instruction and address.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from tests.nvtools import LIMIT_S, tool

SOURCE = Path(__file__).parent / "rematerialised_offset.ptx"
COLUMNS, WIDTH, CHUNK, ROWS = 153, 64, 64, 100
SHARED = 24576


def bf16(x: np.ndarray) -> np.ndarray:
    """The upper halves of floats that have no more bits: integers up to 256."""
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def launch(cubin: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The sum that is stored for the first chunk, of the columns of one block, and the one that it should be."""
    rng = np.random.default_rng(1)
    left, right = rng.integers(-2, 3, (ROWS, COLUMNS)), rng.integers(-2, 3, (ROWS, WIDTH))
    out = np.zeros((2, COLUMNS, WIDTH), np.uint16)
    scratch = np.zeros(64, np.uint8)
    sim.load(cubin).launch(
        "sums", 1, 32, [bf16(left), bf16(right), out, np.uint32(ROWS), scratch, scratch.copy()], shared=SHARED
    )
    return out[0, :64], bf16(left[CHUNK:, :64].T @ right[CHUNK:])


@pytest.mark.parametrize("level", [2, 3])
def test_ptxas_leaves_shared_memory(level: int, tmp_path: Path) -> None:
    out = tmp_path / "k.cubin"
    subprocess.run(
        [tool("ptxas"), "-arch=sm_90a", f"-O{level}", str(SOURCE), "-o", str(out)], check=True, timeout=LIMIT_S
    )
    with pytest.raises(sim.OutOfBounds, match=r"STS\.U16.*thread \(28, 0, 0\)"):
        launch(out.read_bytes())


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("level", [0, 3])
def test_ours(level: int) -> None:
    got, want = launch(orias.compile(SOURCE.read_text(encoding="utf-8"), arch="sm_90a", opt_level=level).data)
    assert np.array_equal(got, want)
