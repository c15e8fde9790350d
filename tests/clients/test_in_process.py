"""Clients that compile with Orias in their own process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import orias
from orias.clients.target import target_of
from orias.identity import identity

HERE = Path(__file__).parent
PYTHON = os.environ.get("ORIAS_TRITON")
PTX = (HERE.parents[1] / "examples" / "saxpy.ptx").read_text()


def test_triton_compiles_in_process(tmp_path: Path) -> None:
    if not PYTHON:
        pytest.skip("ORIAS_TRITON does not name a Python with Triton")
    root = str(Path(orias.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "TRITON_CACHE_DIR": str(tmp_path)}
    command = [PYTHON, str(HERE / "triton_in_process.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["before"] and found["after"]
    for arch, kernel in found["kernels"].items():
        assert kernel["orias"] and kernel["code"], arch
        assert kernel["registers"][0] == kernel["registers"][1] > 0
        assert kernel["shared"][0] == kernel["shared"][1]
        assert kernel["spills"] == 0
    assert len({k["hash"] for k in found["kernels"].values()}) == 3
    assert found["other"] != found["kernels"]["80"]["hash"]
    assert "no-such-option" in found["error"]
    assert identity() in found["key"]


@pytest.mark.parametrize("arch", ["sm_90", "90", 90, (9, 0)])
def test_names_of_targets(arch: Any) -> None:
    assert target_of(arch) == "sm_90"


def test_cupy_reads_our_cubin(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy needs a driver: its class is replaced by one that reads the file as it does."""

    class RawModule:
        def __init__(self, *, path: str) -> None:
            self.path = path
            self.data = b""

        def compile(self) -> None:
            self.data = Path(self.path).read_bytes()

    fake = ModuleType("cupy")
    fake.RawModule = RawModule  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", fake)
    module = orias.cupy.raw_module(PTX, arch="sm_80")  # type: ignore[attr-defined]
    assert module.data == orias.compile(PTX, arch="sm_80").data
    assert not Path(module.path).exists()


def test_cuda_core_takes_our_cubin() -> None:
    pytest.importorskip("cuda.core", reason="cuda.core is not installed (pip install '.[cuda-core]')")
    code = orias.cuda_core.object_code(PTX, arch="sm_80")  # type: ignore[attr-defined]
    assert code.code == orias.compile(PTX, arch="sm_80").data


def test_numba_cuda_compiles_in_process() -> None:
    """On the simulator: results, whose cubins they are, and that numba-cuda gets its own linker back."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (pip install '.[numba-cuda]')")
    environment = {**os.environ, "PYTHONPATH": str(Path(orias.__file__).parents[1])}
    command = [sys.executable, "-m", "orias", "exec", "--", sys.executable, str(HERE / "numba_in_process.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found == {"right": [True, True], "ours": [True, True], "after": [False]}
