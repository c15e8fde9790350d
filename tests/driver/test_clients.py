"""Client libraries on the driver library: each in a Python of its own that an environment variable names, skipped without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orias.driver.devices import devices

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(variable: str, file: Path, device: str = "H100") -> str:
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} does not name a Python with the client")
    command = [sys.executable, "-m", "orias", "exec", "--device", device, "--", python, str(file)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_numba() -> None:
    assert "right" in run("ORIAS_NUMBA", ROOT / "examples" / "numba_add.py")


def test_cuda_core() -> None:
    assert "right" in run("ORIAS_CUDA_CORE", HERE / "core_program.py")


@pytest.mark.parametrize("device", devices())
def test_triton(device: str) -> None:
    assert "right" in run("ORIAS_TRITON", ROOT / "examples" / "triton_add.py", device)


@pytest.mark.sweep
@pytest.mark.parametrize("device", devices())
def test_triton_kernels(device: str) -> None:
    assert run("ORIAS_TRITON", HERE / "triton_program.py", device).splitlines()[-3:] == ["softmax", "product", "random"]


def test_torch() -> None:
    assert "right" in run("ORIAS_TORCH", ROOT / "examples" / "torch_softmax.py")
