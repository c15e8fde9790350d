"""One-instruction programs made of real ones: verdicts beside ptxas's, a sample; and that a seed gives the same programs."""

from pathlib import Path

import pytest

from tests.nvtools import tool
from tests.ptx.corpus import corpus
from tools.front_end.one_line import TARGETS, Line, Maker, classify, harvest, main


def test_harvest_and_programs(tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_text(
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.shared .b32 s[4];\n"
        "add.s32 %r1, %r2, 7;\n@%p bra L;\nld.shared.f32 %f1, [s+4];\nadd.s32 %r1, %r2, 7;\n}\n"
    )
    lines = harvest(tmp_path)
    assert lines == [
        Line(("add", "s32"), ("%b32_0", "%b32_1", "7")),
        Line(("ld", "shared", "f32"), ("%f32_0", "[var_shared+4]")),
    ]
    makers = [Maker(lines, seed, TARGETS, 2) for seed in (1, 1, 2)]
    first, again, other = ([m.program() for _ in range(20)] for m in makers)
    assert first == again != other
    assert any(text == "add.s32 %b32_0, %b32_1, 7;" for _, text, _ in first)


def test_classes() -> None:
    assert classify((True, ""), (True, "")) == "same"
    assert classify((True, ""), (False, "x")) == "wrong accept"
    assert classify((False, "x"), (True, "")) == "wrong refusal"
    assert classify((False, "line 1: x"), (False, "line 1: y")) == "other message"
    assert classify((False, "INTERNAL KeyError: 1"), (False, "x")) == "internal error"


@pytest.mark.sweep
def test_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    tool("ptxas")
    main([str(corpus() / "ptx"), "--count", "1500", "--seed", "5"])
    said = capsys.readouterr().out
    print(said)
    assert float(said.split("verdict ")[1].split()[0]) >= 99.5
