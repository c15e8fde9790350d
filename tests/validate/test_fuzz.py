"""Random programs: ours against the PTX interpreter; programs that differ in meaning do not get the same code."""

import os
import re

import pytest

from orias.compiler import compile_text
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.tools.fuzz import judge as judging
from orias.tools.fuzz.campaign import Settings, campaign
from orias.tools.fuzz.generate import generate
from orias.tools.fuzz.judge import OK, OPEN, OURS, THEIRS, case_of, judge_text, options
from orias.tools.validate.run_case import difference
from orias.tools.validate.verify_compile import ptx_outcome
from tests.nvtools import tool
from tests.rotation import seed

SECONDS = float(os.environ.get("ORIAS_FUZZ_SECONDS", "150"))
"""Time of the sweep's campaign."""


def check(arguments: list[str]) -> None:
    counts, notable = campaign(Settings([*arguments, "--quiet"]))
    text = "\n".join(f"seed {v.seed} {v.arch} -O{v.level}: {v.kind}: {v.detail[:300]}" for v in notable)
    assert not [v for v in notable if v.kind != THEIRS], text
    assert counts[OK] > counts[OPEN]


def test_some_programs() -> None:
    check(["--seed", "7", "--count", "6", "--seconds", "0", "--budget", "10", "--ptxas", "none"])


def test_targets_with_cluster_words_and_loaded_constants() -> None:
    arches = "sm_100a,sm_120a,sm_103a,sm_110a"
    check(["--seed", "900000", "--count", "8", "--seconds", "0", "--budget", "10", "--arch", arches, "--ptxas", "none"])


@pytest.mark.in_turn(2)
def test_few_registers() -> None:
    """Programs that spill, and compute values again, under a limit."""
    limit = ["--registers", "24", "--levels", "3", "--budget", "40", "--ptxas", "none"]
    check(["--seed", "950000", "--count", "4", "--seconds", "0", "--arch", "sm_90,sm_80", *limit])


@pytest.mark.sweep
@pytest.mark.long
def test_campaign() -> None:
    """Other programs every day: a day's seeds begin ten thousand after those of the day before."""
    first = os.environ.get("ORIAS_FUZZ_SEED", str(seed() * 10_000))
    print(f"ORIAS_FUZZ_SEED={first}")
    check(["--seed", first, "--seconds", str(SECONDS), "--registers", "0,0,32", "--ptxas", tool("ptxas")])


def test_the_generator_is_seeded() -> None:
    assert generate(5, 20) == generate(5, 20)
    assert generate(5, 20) != generate(6, 20)


def test_a_wrong_compiler_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.validate.test_verify import plant

    plant(monkeypatch, "licm")
    assert any(judge_text(generate(seed, 3, "sm_80"), seed, "sm_80", 3, "").kind == OURS for seed in (6, 0, 8))


MUTATIONS = (
    (r"add\.u32 (%\w+), (%\w+), (%\w+);", r"sub.u32 \1, \2, \3;"),
    (r"setp\.lt", "setp.le"),
    (r"and\.b32 (%[rt]\w*), (%\w+), (%\w+);", r"or.b32 \1, \2, \3;"),
    (r"shl\.b32", "shr.u32"),
    (r"add\.r[zmp]", "add.rn"),
    (r"mul\.hi\.u32", "mul.hi.s32"),
    (r"xor\.b64", "or.b64"),
)


def same_code_for_other_meaning(seed: int) -> list[str]:
    """Mutations of a program that change what it computes but not the code it gets."""
    arch = "sm_80"
    text = generate(seed, 25, arch)
    module = parse(text, "k.ptx")
    case = case_of(seed, module)
    plain = compile_text([("k.ptx", text)], options(arch, 3)).data
    like = Image(plain)
    want = ptx_outcome(module, arch, case, like)
    bad = []
    for pattern, replacement in MUTATIONS:
        other = re.sub(pattern, replacement, text, count=1)
        if other == text:
            continue
        got = ptx_outcome(parse(other, "k.ptx"), arch, case, like)
        if difference(want, got) is not None and compile_text([("k.ptx", other)], options(arch, 3)).data == plain:
            bad.append(f"seed {seed}: {pattern}")
    return bad


def test_other_meaning_other_code() -> None:
    assert not [x for seed in range(1) for x in same_code_for_other_meaning(seed)]


@pytest.mark.sweep
def test_more_other_meaning_other_code() -> None:
    assert not [x for seed in range(100, 140) for x in same_code_for_other_meaning(seed)]


def test_addresses_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that a linker may extend has the addresses of variables in its code, in Ori too."""

    usual = judging.options

    def extensible(arch: str, level: int, registers: int = 0) -> Options:
        o = usual(arch, level, registers)
        o.extensible = True
        return o

    monkeypatch.setattr(judging, "options", extensible)
    v = judging.judge(603000175, "sm_80", 0, 8, "", phases=True)
    assert v.kind == judging.OK, v.detail
