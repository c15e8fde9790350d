"""Programs of array languages under `orias exec`, each beside numpy's results (tools/clients/programs): they run where the packages are installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools" / "clients" / "programs"
PROGRAMS = {
    ("drjit_arrays.py",): ("H100", ["drjit"]),
    ("taichi_kernels.py", "taichi"): ("H100", ["taichi"]),
    ("taichi_kernels.py", "quadrants"): ("H100", ["quadrants"]),
    ("halide_pipelines.py",): ("A100", ["halide"]),
    ("iree_module.py",): ("A100", ["iree.compiler", "iree.runtime"]),
    ("../cute_dsl.py", "cute_kernels.py"): ("A100", ["cutlass.cute"]),
}


def installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_right(program: tuple[str, ...]) -> None:
    device, packages = PROGRAMS[program]
    for package in packages:
        if not installed(package):
            pytest.skip(f"{package} is not installed")
    name, *arguments = program
    command = [sys.executable, "-m", "orias", "exec", "--device", device, "--", sys.executable, name, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=FOLDER, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0 and done.stdout.strip().split("\n")[-1].startswith("right"), done.stdout + done.stderr
