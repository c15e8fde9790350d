"""The tools that make the figures of docs/validation.md: what they count as right, wrong, caught and missed."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orias.check.code import GOES_ON
from orias.check.cubin import SectionCode
from orias.cubin.reader import Reader
from orias.isa.isa_table import load as load_table
from orias.sim import load
from orias.timing.needs import Facts
from tests.forms.items import Item, items
from tests.forms.run import our_cubin
from tests.kernels.test_kernels import HERE
from tests.sim.build import assemble
from tools.judge import agreement, hazards
from tools.judge.once import code_key

SOURCE = """.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .u32 %r<4>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
  add.u32 %r2, %r1, 5; mul.lo.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret; }
"""


def item(check: Callable[[Any, str], str]) -> Item:
    return Item("x", "k", SOURCE, ("sm_80", "sm_86"), check)


def launch(image: Any, _: str) -> str:
    data = np.array([7], np.uint32)
    image.launch("k", 1, 1, [data])
    return "" if data[0] == 84 else f"k: {data[0]}"


def test_all_machines_agree() -> None:
    judge, batch = agreement.Judge(), agreement.Batch("x/0", [item(launch)])
    line = judge.line(batch, "sm_80", 3, True)
    assert line["wrong"] == []
    assert line["right"]["PTX"] == line["right"]["ours"] == line["right"]["ptxas"] == 1
    assert line["right"]["Ori"] >= 3
    assert f"| x | 1 | 1 | {line['right']['Ori']} | 1 | 1 | 0 |" in agreement.tables([line])
    before = judge.runs
    again = judge.line(batch, "sm_86", 3, True)
    assert again["right"] == line["right"]
    assert judge.runs == before


def test_disagreement_is_counted() -> None:
    line = agreement.Judge().line(agreement.Batch("x/0", [item(lambda image, _: "is not so")]), "sm_80", 0, False)
    assert [w.split(":")[0] for w in line["wrong"]] == ["PTX", "ours", "ptxas"]
    assert "| sm_80 | 1 | 0 | 0 | 0 | 0 | 3 |" in agreement.tables([line])


def test_other_code_is_run_again() -> None:
    """Any difference that execution can see makes another key; control words do not."""
    found = set()
    for text, level in ((SOURCE, 3), (SOURCE, 0), (SOURCE.replace(", 5", ", 6"), 3), (SOURCE.replace("p]", "p+0]"), 3)):
        found.add(code_key(load(our_cubin(text, "sm_80", level)), "k"))
    assert len(found) == 3
    assert code_key(load(our_cubin(SOURCE, "sm_90", 3)), "k") not in found


def test_a_batch_is_one_module() -> None:
    forms = next(b for b in agreement.batches(["video"]))
    line = agreement.Judge().line(forms._replace(items=forms.items[:3]), "sm_80", 3, False)
    assert (line["programs"], line["right"], line["wrong"]) == (3, {"PTX": 3, "ours": 3, "ptxas": 3}, [])


def test_stages_of_a_warpgroup() -> None:
    """Before the registers are known, descriptors in uniform registers are packed from registers of threads."""
    some = [i for i in items(["wgmma"]) if i.name in ("m64n8k16.f16.f16.f16.ss.0", "sp.m64n8k64.s32.s8.s8.rs.0")]
    line = agreement.Judge().line(agreement.Batch("wgmma/0", some), "sm_90a", 0, True)
    assert (line["programs"], line["wrong"]) == (2, [])
    assert line["right"]["Ori"] >= 6


@pytest.mark.in_turn(2)
def test_equal_findings_for_one_change() -> None:
    """What a changed block breaks by itself is what the checker of the whole section finds."""
    reader = Reader(assemble((HERE / "ptx" / "matmul.ptx").read_text(), "sm_80"))
    table, facts = load_table("sm_80"), Facts(80)
    seen: Counter[bool] = Counter()
    for section in reader.elf.sections:
        if section.name.startswith(".text."):
            code = SectionCode(reader.elf, section, table, facts)
            for at in range(0, len(section.data), 16):
                word = int.from_bytes(section.data[at : at + 16], "little")
                if code.nodes[at // 16].flow == GOES_ON:
                    for changed in (word & ~(0x3F << 116), word & ~(15 << 105) | 1 << 105):
                        seen[code.catches({at: changed})] += 1
                        assert code.catches({at: changed}) == bool(code.findings({at: changed}))
    assert min(seen[True], seen[False]) >= 20


def test_faults_are_planted_and_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cubin, results = tmp_path / "a.cubin", tmp_path / "r.jsonl"
    cubin.write_bytes(assemble((HERE / "ptx" / "saxpy.ptx").read_text(), "sm_80"))
    assert hazards.main(["plant", str(results), str(tmp_path), "--count", "20", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert sum(line["planted"].values()) == sum(line["caught"].values()) >= 10
    assert hazards.main(["alarms", str(tmp_path / "b.jsonl"), str(cubin)]) == 0
    assert "| sm_80 | 1 |" in capsys.readouterr().out
