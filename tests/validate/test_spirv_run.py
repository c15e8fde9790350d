"""The test programs of the public project vosen/ZLUDA, as in tests/semantic: the PTX interpreter, and Ori after every phase."""

from pathlib import Path

import numpy as np
import pytest

import orias
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from orias.tools.validate.case import Case, Region
from orias.tools.validate.verify_compile import Verifier
from tests.semantic.test_spirv_run import FOLDER, agree, cases


def text_of(case: dict) -> str:
    path = FOLDER / Path(case["file"]).name
    if not path.is_file():
        pytest.skip("not in this copy of the project")
    return path.read_text(encoding="latin-1")


@pytest.mark.sweep
@pytest.mark.skipif(not cases(), reason="ORIAS_SPIRV_RUN does not name the folder with the programs")
@pytest.mark.parametrize("case", cases(), ids=lambda c: c["name"])
def test_interpreter(case: dict) -> None:
    try:
        module = parse(text_of(case), "case.ptx")
    except orias.CompileError as e:
        pytest.skip(f"refused: {e.diagnostics[0].message}")
    data = np.frombuffer(bytes.fromhex(case["input_hex"] or ""), np.uint8).copy()
    out = np.zeros(len(case["expected_hex"]) // 2, np.uint8)
    given = {"input": data if len(data) else np.zeros(16, np.uint8), "output": out}
    image = PtxImage(module, "sm_90")
    args = [given[a] for a in case["args"]][: len(image.kernels[case["entry"]].params)]
    image.launch(case["entry"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["dynamic_shared"])
    assert agree(case, out), f"{out.tobytes().hex()} instead of {case['expected_hex']}"


@pytest.mark.sweep
@pytest.mark.skipif(not cases(), reason="ORIAS_SPIRV_RUN does not name the folder with the programs")
@pytest.mark.parametrize("case", cases(), ids=lambda c: c["name"])
def test_phases(case: dict) -> None:
    text = text_of(case)
    options = Options("sm_90", 3)
    options.fmad = False
    try:
        v = Verifier(text, options)
    except orias.CompileError as e:
        pytest.skip(f"refused: {e.diagnostics[0].message}")
    kernel = next(k for k in v.kernels() if k.name == case["entry"])
    launch = Case(kernel.name)
    launch.grid, launch.block = tuple(case["grid"]), tuple(case["block"])
    launch.shared = case["dynamic_shared"]
    launch.params = [bytearray(8) for _ in kernel.params]
    for k, name in enumerate(case["args"][: len(kernel.params)]):
        data = bytes.fromhex(case["input_hex"] or "") if name == "input" else bytes(len(case["expected_hex"]) // 2)
        launch.pointers[k, 0] = Region(max(len(data), 16), "zero", 0, 0, data)
    v.check(kernel, 0, True, [launch])
    assert not v.report.findings, [f.text() for f in v.report.findings]
