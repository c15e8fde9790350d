"""Real kernels: PTX that nvcc made from CUDA C++, compiled by us and by ptxas, run in the simulator against host results."""

import functools
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from tests.device import load
from tests.nvtools import LIMIT_S, tool
from tests.rotation import for_each, with_level

HERE = Path(__file__).parent
NAMES = sorted(p.stem for p in (HERE / "ptx").glob("*.ptx"))
ARCHES = ("sm_75", "sm_80", "sm_90")
NEEDS_80 = {"asynccopy"}
PROGRAMS = for_each(NAMES, ARCHES)


def arguments(case: dict) -> tuple[list[object], list[tuple[np.ndarray, np.ndarray, float]]]:
    args: list[object] = []
    checks = []
    for a in case["args"]:
        if "bytes" in a:
            args.append(bytes.fromhex(a["bytes"]))
            continue
        dtype = np.dtype(a.get("in") or a.get("out") or a["scalar"])
        data = np.frombuffer(bytes.fromhex(a["data"]), dtype).copy()
        if "scalar" in a:
            args.append(data[0])
            continue
        args.append(data)
        if "out" in a:
            checks.append((data, np.frombuffer(bytes.fromhex(a["want"]), dtype), a["tol"]))
    return args, checks


def run(name: str, cubin: bytes) -> None:
    case = json.loads((HERE / "cases" / f"{name}.json").read_text())
    args, checks = arguments(case)
    image = load(cubin)
    result = image.launch(case["kernel"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["shared"])
    for k, (got, want, tol) in enumerate(checks):
        if tol:
            np.testing.assert_allclose(got, want, rtol=tol, atol=tol, err_msg=f"output {k}")
        else:
            np.testing.assert_array_equal(
                got.view(f"u{got.itemsize}"), want.view(f"u{got.itemsize}"), err_msg=f"output {k}"
            )
    if "printed" in case and result is not None:
        text = result.output if isinstance(result.output, str) else result.output.decode()
        assert text == case["printed"]


@functools.lru_cache(maxsize=8)
def source(name: str) -> str:
    return (HERE / "ptx" / f"{name}.ptx").read_text()


def skip_unless_legal(name: str, arch: str) -> None:
    if name in NEEDS_80 and arch == "sm_75":
        pytest.skip("cp.async needs sm_80")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize(("name", "arch"), PROGRAMS)
def test_ours(name: str, arch: str, opt: int) -> None:
    skip_unless_legal(name, arch)
    run(name, orias.compile(source(name), arch=arch, opt_level=opt, self_check=True).data)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "arch", "opt"), with_level(PROGRAMS))
def test_theirs(name: str, arch: str, opt: int, tmp_path: Path) -> None:
    """The same cubin test for ptxas: it judges the simulator and the expectations."""
    skip_unless_legal(name, arch)
    out = tmp_path / "k.cubin"
    subprocess.run(
        [tool("ptxas"), f"-arch={arch}", f"-O{opt}", str(HERE / "ptx" / f"{name}.ptx"), "-o", str(out)],
        check=True,
        timeout=LIMIT_S,
    )
    run(name, out.read_bytes())


def test_there_are_enough() -> None:
    assert len(NAMES) >= 25
