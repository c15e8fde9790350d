"""The test programs of the public project vosen/ZLUDA (folder ptx/src/test/spirv_run), run in the simulator.

Their files are not ours: name the folder in ORIAS_SPIRV_RUN and the cases (inputs and expected outputs) in ORIAS_SEMANTIC_CASES, or
these tests are skipped.  ptxas's cubin must agree too, so that a wrong expectation is told from a wrong compiler.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.nvtools import LIMIT_S, tool
from tests.rotation import LATER

FOLDER = Path(os.environ.get("ORIAS_SPIRV_RUN", ""))
BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "semantic" / "cases.json"
CASES = Path(os.environ.get("ORIAS_SEMANTIC_CASES") or BESIDE)


def cases() -> list[dict]:
    if not os.environ.get("ORIAS_SPIRV_RUN") or not CASES.is_file():
        return []
    return json.loads(CASES.read_text())["cases"]


def launch(case: dict, image: Any) -> np.ndarray:
    """The output of a case on a loaded image."""
    data = np.frombuffer(bytes.fromhex(case["input_hex"] or ""), np.uint8).copy()
    want = bytes.fromhex(case["expected_hex"])
    out = np.zeros(len(want), np.uint8)
    given = {"input": data if len(data) else np.zeros(16, np.uint8), "output": out}
    # The project passes two pointers always; a kernel may declare one.
    args = [given[a] for a in case["args"]][: len(image.kernels[case["entry"]].params)]
    image.launch(case["entry"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["dynamic_shared"])
    return out


def agree(case: dict, got: np.ndarray) -> bool:
    want = np.frombuffer(bytes.fromhex(case["expected_hex"]), np.uint8)
    if (got == want).all():
        return True
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}.get(case["output_type"])
    if kind is None:
        return False
    a, b = got.view(kind).astype(np.float64), want.view(kind).astype(np.float64)
    tolerance = 2e-6 if case["approximate"] else 0.0
    return bool(
        (((a == b) | (np.isnan(a) & np.isnan(b))) | (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b)))).all()
    )


@pytest.mark.sweep
@pytest.mark.skipif(not cases(), reason="ORIAS_SPIRV_RUN does not name the folder with the programs")
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", *LATER])
@pytest.mark.parametrize("case", cases(), ids=lambda c: c["name"])
def test_case(case: dict, arch: str, opt: int, tmp_path: Path) -> None:
    path = FOLDER / Path(case["file"]).name
    if not path.is_file():
        pytest.skip("not in this copy of the project")
    out = tmp_path / "k.cubin"
    r = subprocess.run(
        [tool("ptxas"), f"-arch={arch}", f"-O{opt}", str(path), "-o", str(out)], capture_output=True, timeout=LIMIT_S
    )
    if r.returncode:
        pytest.skip(f"not for {arch}: {r.stderr.decode(errors='replace').splitlines()[0][:100]}")
    theirs = launch(case, sim.load(out.read_bytes()))
    ours = launch(case, sim.load(orias.compile(path.read_bytes(), arch=arch, opt_level=opt).data))
    if not agree(case, theirs):
        assert (ours == theirs).all(), "neither the expectation nor ptxas"
        pytest.skip("ptxas's cubin does not give the expectation either; ours gives what ptxas's does")
    assert agree(case, ours), f"{ours.tobytes().hex()} instead of {case['expected_hex']}"
