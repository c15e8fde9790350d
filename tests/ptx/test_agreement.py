"""Accepts, refusals and messages against ptxas 13.0.88: recorded answers, and the tool itself where it is installed."""

import json
import random
from pathlib import Path

import pytest

from orias.diag import CompileError
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import target
from tests.nvtools import tool
from tests.ptx.probe import Messages, ours, ptxas

DATA = Path(__file__).parent / "data"


def recorded() -> list[tuple[str, str, list[str], Messages]]:
    """(version, target, lines, messages) of every section of instructions.txt."""
    sections: list[tuple[str, str, list[str], Messages]] = []
    for text in (DATA / "instructions.txt").read_text().splitlines():
        if text.startswith("# "):
            _, _, version, _, name = text.split()
            sections.append((version, name, [], []))
            continue
        line, _, messages = text.partition("\t")
        sections[-1][2].append(line)
        sections[-1][3].append(messages.split(" | ") if messages else [])
    return sections


def agreement(theirs: Messages, mine: Messages) -> tuple[float, float]:
    """Shares of lines with the same verdict, and with the same first message."""
    verdict = sum(bool(a) == bool(b) for a, b in zip(theirs, mine, strict=True))
    first = sum(a[:1] == b[:1] for a, b in zip(theirs, mine, strict=True))
    return verdict / len(theirs), first / len(theirs)


def test_recorded_instructions() -> None:
    sections = recorded()
    assert sum(len(s[2]) for s in sections) > 3000
    for version, name, lines, theirs in sections:
        verdict, first = agreement(theirs, ours(lines, version, name))
        assert verdict >= 0.988, (version, name, verdict)
        assert first >= 0.86, (version, name, first)


def test_recorded_verdicts() -> None:
    """Random modifiers on conversions, arithmetic, memory and matrix instructions: accepted or refused."""
    where = ("", "")
    cases: dict[tuple[str, str], list[str]] = {}
    for text in (DATA / "verdicts.txt").read_text().splitlines():
        if text.startswith("# "):
            _, _, version, _, name = text.split()
            where = (version, name)
        else:
            cases.setdefault(where, []).append(text)
    total = wrong = 0
    for (version, name), marked in cases.items():
        for text, messages in zip(marked, ours([t[2:] for t in marked], version, name), strict=True):
            total += 1
            if (text[0] == "+") == bool(messages):
                assert text[0] == "-", f"refused, though ptxas accepts it: {text[2:]} {messages}"
                wrong += 1
    assert total > 1500
    assert wrong / total < 0.012


def test_every_good_form_is_accepted_where_ptxas_accepts_it() -> None:
    for version, name, lines, theirs in recorded():
        if name != "sm_100a":
            continue
        refused = [(x, m) for x, t, m in zip(lines, theirs, ours(lines, version, name), strict=True) if m and not t]
        assert refused == []


def messages_of(text: str, arch: str = "sm_90", compile_only: bool = False) -> list[list[object]]:
    try:
        module = parse(text, "F")
        found = module.warnings + check(module, target(arch), compile_only)
    except CompileError as error:
        found = error.diagnostics
    return [[d.line, d.severity, d.message] for d in found]


def test_recorded_modules() -> None:
    cases = json.loads((DATA / "modules.json").read_text())
    assert len(cases) > 200
    different = [c for c in cases if messages_of(c["text"]) != c["messages"]]
    hard = {"error", "fatal"}
    verdict = [
        c["text"]
        for c in cases
        if any(m[1] in hard for m in c["messages"]) != any(m[1] in hard for m in messages_of(c["text"]))
    ]
    # known: macros, an alias of an undefined function
    assert len(verdict) <= 2, verdict
    assert len(different) <= 4, [(c["text"], c["messages"], messages_of(c["text"])) for c in different]


def test_recorded_directives() -> None:
    """Directives, attributes, declared types and special registers under six pairs of version and target."""
    cases = json.loads((DATA / "directives.json").read_text())
    assert len(cases) > 400
    different = [c for c in cases if messages_of(c["text"], c["arch"], True) != c["messages"]]
    # known: the register count of .local_maxnreg is told when code is made; brx.idx on sm_20; a crash of ptxas's own
    assert len(different) <= 8, [(c["text"], c["messages"], messages_of(c["text"], c["arch"], True)) for c in different]


@pytest.mark.sweep
def test_against_the_tool() -> None:
    """The recorded lines in another order under another target, asked of the installed ptxas."""
    command = tool("ptxas")
    rng = random.Random(3)
    lines = [line for section in recorded() for line in section[2]]
    lines = rng.sample(sorted(set(lines)), 500)
    verdict, first = agreement(ptxas(command, lines, "8.3", "sm_89"), ours(lines, "8.3", "sm_89"))
    assert verdict >= 0.985
    assert first >= 0.82


def test_a_few_lines_against_the_tool() -> None:
    command = tool("ptxas")
    lines = [
        "add.s32 %r1,%r2,%r3;",
        "add.s32 %r1,%r2;",
        "add.foo.s32 %r1,%r2,%r3;",
        "ld.global.u32 %f1,[%rd1];",
        "cvt.s32.f32 %r1,%f1;",
        "redux.sync.add.s32 %r1,%r2,-1;",
        "mov.u32 %r1,nosuch;",
    ]
    assert ours(lines, "6.4", "sm_75") == ptxas(command, lines, "6.4", "sm_75")
