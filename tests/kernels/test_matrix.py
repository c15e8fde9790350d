"""Matrix kernels (mma.sync, wmma) made by nvcc and Triton, compiled by us and by ptxas, run in the simulator against host results."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.kernels.matrix.cases import CASES, PTX, source
from tests.nvtools import tool

ARCHES = {"orias": ("sm_75", "sm_80", "sm_89", "sm_90"), "ptxas": ("sm_75", "sm_80", "sm_90")}
RUNS = [
    (name, compiler, arch, opt)
    for name, (first, _) in CASES.items()
    for compiler, arches in ARCHES.items()
    for arch in arches
    for opt in (0, 3)
    if int(arch[3:]) >= first
]
DEFAULT = {("sm_75", 3), ("sm_80", 3), ("sm_90", 0)}
"""The default run takes ours at these settings, and ptxas's where the sweep would start."""


def _cubin(name: str, compiler: str, arch: str, opt: int, directory: Path) -> tuple[bytes, int]:
    text, shared = source(name)
    if compiler == "orias":
        return orias.compile(text, arch=arch, opt_level=opt, self_check=True).data, shared
    out = directory / "k.cubin"
    command = [tool("ptxas"), f"-arch={arch}", f"-O{opt}", str(PTX / f"{name}.ptx"), "-o", str(out)]
    subprocess.run(command, check=True, timeout=120)
    return out.read_bytes(), shared


def _run(name: str, compiler: str, arch: str, opt: int, directory: Path) -> None:
    cubin, shared = _cubin(name, compiler, arch, opt, directory)
    image = sim.load(cubin)
    launch = CASES[name][1]()
    kernel = next(iter(image.kernels))
    image.launch(kernel, launch.grid, launch.threads, launch.args, shared=shared)
    for at, want, tolerance in launch.wants:
        got = launch.args[at].astype(np.float64)
        if tolerance:
            np.testing.assert_allclose(
                got, want, rtol=tolerance, atol=tolerance * np.abs(want).max(), err_msg=f"argument {at}"
            )
        else:
            np.testing.assert_array_equal(got, want, err_msg=f"argument {at}")


@pytest.mark.parametrize(
    "run", [r for r in RUNS if r[1] == "orias" and r[2:] in DEFAULT], ids=lambda r: "-".join(map(str, r))
)
def test_ours(run: tuple[str, str, str, int], tmp_path: Path) -> None:
    _run(*run, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("run", RUNS, ids=lambda r: "-".join(map(str, r)))
def test_all(run: tuple[str, str, str, int], tmp_path: Path) -> None:
    _run(*run, tmp_path)


def test_every_source_has_a_case() -> None:
    assert {p.stem for p in PTX.glob("*.ptx")} == set(CASES)
