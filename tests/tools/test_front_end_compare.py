"""Programs for the front end beside ptxas: a seed gives the same programs, classes of disagreements, and a sample of verdicts."""

import random
from pathlib import Path

import pytest

from tests.nvtools import tool
from tests.ptx.corpus import corpus
from tests.rotation import seed
from tools.front_end import directives, odd
from tools.front_end.compare import Answer, Judge, classify, cluster, main
from tools.front_end.instructions import Line, Maker, Program, features, harvest, head, kernel, lines

YES = Answer(True, [])
NO = Answer(False, ["error 3: x"])


def test_harvest(tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_text(
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.shared .b32 s[4];\n"
        "add.s32 %r1, %r2, 7;\n@%p bra L;\nld.shared.f32 %f1, [s+4];\nadd.s32 %r1, %r2, 7;\n}\n"
    )
    assert harvest(tmp_path) == [
        Line("add", ("s32",), ("%b32_0", "%b32_1", "7")),
        Line("ld", ("shared", "f32"), ("%f32_0", "[var_shared+4]")),
    ]


def test_the_same_seed_makes_the_same_programs() -> None:
    known = lines(None)
    assert len({x.name for x in known}) > 150
    first, again, other = ([m.program() for _ in range(30)] for m in (Maker(known, s) for s in (1, 1, 2)))
    assert first == again != other
    assert first[0].head == first[24].head != first[25].head
    first, again, other = ([m.program() for _ in range(30)] for m in (directives.Maker(s) for s in (1, 1, 2)))
    assert first == again != other
    first, again, other = ([m.program() for _ in range(30)] for m in (odd.Maker(known, s) for s in (1, 1, 2)))
    assert first == again != other
    assert {p.about.partition(":")[0] for p in first} <= set(odd.KINDS)
    assert len(features()) == 183


def test_classes() -> None:
    assert classify(YES, YES) == classify(NO, NO) == "same"
    assert classify(YES, NO) == "wrong accept"
    assert classify(NO, YES) == "wrong refusal"
    assert classify(NO, Answer(False, ["error 3: y"])) == "other first message"
    assert classify(NO, Answer(False, ["error 3: x", "error 3: y"])) == "other text"
    assert classify(Answer(False, ["INTERNAL KeyError: 1"]), NO) == "internal error"
    assert cluster("wrong accept", YES, Answer(False, ["error 3: 'a' is wrong"])) == "- / error '*' is wrong"


def test_many_programs_in_one_module_have_the_messages_of_each_alone() -> None:
    tool("ptxas")
    known = lines(None)
    maker = Maker(known, random.Random(seed()).randrange(1 << 30))
    block = [maker.program() for _ in range(12)]
    broken = Program(block[0].target, "", block[0].head, kernel("add.u32 %u32_1 %u32_2;"))
    judge = Judge(None)
    together = judge.answers([*block, broken])
    assert together[-1] is not None and together[-1].first().startswith("fatal")
    alone = [judge.alone(p) for p in block]
    assert (
        sum(a == b for a, b in zip(alone, together, strict=False)) >= 11
    )  # a macro of ptxas may change the next program's answer


def test_a_few_lines_against_the_tool() -> None:
    tool("ptxas")
    judge = Judge(None)
    block = [
        Program("sm_90", "", head("9.0", "sm_90"), kernel(t))
        for t in ("add.u32 %u32_1, %u32_2, 1;", "add.u32 %u32_1, %u32_2;")
    ]
    right, wrong = judge.answers(block)
    assert right == YES
    assert wrong == Answer(False, ["error 14: Arguments mismatch for instruction 'add'"])


@pytest.mark.sweep
@pytest.mark.parametrize("what", ["instructions", "directives"])
def test_a_rotating_sample(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    tool("ptxas")
    given = [what, "--seed", str(seed()), "--seconds", "40", "--count", "3000"]
    counts = main([*given, "--corpus", str(corpus() / "ptx")] if what == "instructions" else given)
    print(capsys.readouterr().out)
    total = sum(
        counts[k]
        for k in ("same", "wrong accept", "wrong refusal", "internal error", "other first message", "other text")
    )
    assert total > 50
    assert counts["internal error"] == 0
    assert counts["wrong accept"] + counts["wrong refusal"] <= 0.01 * total + 1
