"""The tools behind the figures of docs/validation.md: what they count as right, wrong, caught and missed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels.test_kernels import HERE
from tests.sim.build import assemble
from tools.judge import agreement, hazards
from tools.judge.subjects import Group

SOURCE = """.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .u32 %r<4>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
  add.u32 %r2, %r1, 5; mul.lo.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret; }
"""


def launch(image: Any) -> str:
    data = np.array([7], np.uint32)
    image.launch("k", 1, 1, [data])
    return "" if data[0] == 84 else f"k: {data[0]}"


def test_all_machines_agree() -> None:
    line = agreement.judge(Group("x/0", lambda: SOURCE, [("k", launch)]), "sm_80", 3, True)
    assert line["wrong"] == []
    assert line["right"]["PTX"] == line["right"]["ours"] == line["right"]["ptxas"] == 1
    assert line["right"]["Ori"] >= 3
    assert "| x | sm_80 | 1 | 1 / 0 |" in agreement.table([line])


def test_disagreement_is_counted() -> None:
    line = agreement.judge(Group("x/0", lambda: SOURCE, [("k", lambda image: "is not so")]), "sm_80", 0, False)
    assert [w.split(":")[0] for w in line["wrong"]] == ["PTX", "ours", "ptxas"]
    assert "| x | sm_80 | 1 | 0 / 1 | 0 / 0 | 0 / 1 | 0 / 1 |" in agreement.table([line])


def test_faults_are_planted_and_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cubin, results = tmp_path / "a.cubin", tmp_path / "r.jsonl"
    cubin.write_bytes(assemble((HERE / "ptx" / "saxpy.ptx").read_text(), "sm_80"))
    assert hazards.main(["plant", str(results), str(tmp_path), "--count", "20", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert sum(line["planted"].values()) == sum(line["caught"].values()) >= 10
    assert hazards.main(["alarms", str(tmp_path / "b.jsonl"), str(cubin)]) == 0
    assert "| sm_80 | 1 |" in capsys.readouterr().out
