"""The table of phases, its order constraints, and the record of all documented phases."""

import re

import pytest

from bench.phase_probes import DONE, PROBES
from orias.diag import CompileError
from orias.options import Options
from orias.pipeline.documented import documented_phases
from orias.pipeline.find_phase import find_phase, find_phases
from orias.pipeline.functions import FUNCTIONS
from orias.pipeline.order import check_order
from orias.pipeline.phases import ORDER, PHASES, Phase
from orias.pipeline.runner import Runner


def test_order_holds() -> None:
    check_order(PHASES, ORDER, FUNCTIONS)


def test_every_function_is_used_and_every_level_is_one() -> None:
    assert {p.key for p in PHASES} == set(FUNCTIONS)
    assert {p.levels for p in PHASES} <= {"0123", "123", "23", "1"}


@pytest.mark.parametrize("constraint", ORDER, ids=lambda c: f"{c[0]}-{c[1]}")
def test_each_constraint_bites(constraint: tuple[str, str, str]) -> None:
    first, second, why = constraint
    row = find_phase(first)
    moved = [p for p in PHASES if p is not row]
    moved.insert(moved.index(find_phase(second)) + 1, row)
    with pytest.raises(ValueError, match="must run before") as e:
        check_order(tuple(moved), (constraint,), FUNCTIONS)
    assert first in str(e.value) and second in str(e.value) and why in str(e.value)


@pytest.mark.parametrize(
    ("phases", "order", "message"),
    [
        ((*PHASES, PHASES[3]), (), "twice"),
        ((Phase("New", "0123", "nothing", ""),), (), "no function"),
        (PHASES, (("OriCopyProp", "Other", ""),), "names Other"),
    ],
)
def test_faults_of_the_tables(phases: tuple[Phase, ...], order: tuple[tuple[str, str, str], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_order(phases, order, FUNCTIONS)


def test_documented_phases() -> None:
    documented = documented_phases()
    assert len(documented) == len({d.name for d in documented}) == 159
    running = [d for d in documented if d.state == "runs"]
    assert [d.name for d in running] == [p.name for p in PHASES]
    assert all((d.text == "") == (d.state == "runs") for d in documented)
    # A level that is known of ptxas is that of the row; where Orias starts later, ptxas runs the phase with nothing to do.
    least = {"all": "0", "O1": "1", "O2": "2", "arch": "1"}
    for d, p in zip(running, PHASES, strict=True):
        assert p.levels[0] == least[d.gate] or (p.name, p.levels) == ("AnalyzeUniformsForSpeculation", "123")


def test_rows_name_probes() -> None:
    """A phase that is not done says which kernels show what that costs."""
    pointed = {}
    for d in documented_phases():
        named = set(re.findall(r"[a-z]+(?:_[a-z]+)*", d.text)) & set(PROBES)
        if d.text.startswith("as "):
            named |= pointed[d.text[3:]]
        pointed[d.name.removesuffix(" (*)")] = named
        assert named or d.state not in ("absent", "open"), d.name
    assert set().union(*pointed.values()) == set(PROBES) - DONE


def test_phases_by_name() -> None:
    assert find_phase("oricopyprop").name == "OriCopyProp"
    assert [p.name for p in find_phases("*hoist*")] == [f"OriHoistInvariants{x}" for x in ("Early", "Late", "Late3")]
    for name, message in [
        ("OriCopyPropp", "did you mean OriCopyProp"),
        ("EmitPSI", "does nothing in Orias: graphics only"),
        ("zzz", "orias opt --list"),
        ("zz*", "No phase matches"),
    ]:
        with pytest.raises(CompileError, match=message):
            find_phases(name)


def names(**fields: object) -> list[str]:
    o = Options("sm_80", 3)
    for name, value in fields.items():
        setattr(o, name, value)
    return [p.name for p in Runner(o).phases]


def test_selection() -> None:
    assert "OriCommoning" in names(opt_level=1)
    assert "OriCommoning" not in names()
    assert "GvnCse" not in names(opt_level=1)
    assert all(p.levels == "0123" for p in map(find_phase, names(opt_level=0)))
    assert set(names()) - set(names(skip_phases=["gvncse", "OriDoRemat"])) == {"GvnCse", "OriDoRemat"}
    assert names(stop_after="oricopyprop")[-1] == "OriCopyProp"
    # A level that leaves the last phase out stops where it would have run.
    assert names(stop_after="OriCopyProp", opt_level=0)[-1] == "EarlyOriSimpleLiveDead"
    with pytest.raises(CompileError, match="cannot be skipped"):
        names(skip_phases=["AllocateRegisters"])


def test_page_is_that_of_the_tables() -> None:
    from tools.write_phases_page import ROOT, page

    assert (ROOT / "docs" / "phases.md").read_text() == page(), "run python tools/write_phases_page.py"
