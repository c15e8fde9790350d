"""One-line programs through the whole compiler: what the front end takes becomes a cubin that the hazard checker passes, or is refused by name."""

import pytest

import orias
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import TARGETS
from tests.ptx.form_lines import from_rows
from tests.ptx.probe import head, ours
from tests.ptx.test_families import LINES
from tests.rotation import rotating, seed

NAMES = [f"sm_{name.removeprefix('sm_')}" for name in TARGETS]


def refused(lines: list[str], arch: str, level: int) -> list[str]:
    """The lines that the front end takes and the compiler does not, with the message; an internal error goes through."""
    found = []
    for line, messages in zip(lines, ours(lines, "9.0", arch), strict=True):
        text = head("9.0", arch) + line + "\nret;\n}\n"
        if messages or any(d.severity != "warning" for d in check(parse(text), TARGETS[arch], False)):
            continue
        try:
            orias.compile(text, arch=arch, opt_level=level, self_check=True)
        except orias.CompileError as e:
            errors = [d.message for d in e.diagnostics if d.severity != "warning"]
            found.append(f"{arch} -O{level}: {line} {errors[0]}")
    return found


def unexplained(found: list[str]) -> list[str]:
    """Refusals that do not name the instruction (docs/status.md lists the others)."""
    return [text for text in found if "not supported yet" not in text]


def test_a_few_programs() -> None:
    for arch in rotating(NAMES, 2, "targets of programs"):
        assert unexplained(refused(rotating(LINES + from_rows(seed(), 2), 15, f"programs {arch}"), arch, 3)) == []


@pytest.mark.sweep
def test_programs() -> None:
    lines = LINES + from_rows(seed(), 6)
    for arch in rotating(NAMES, 4, "more targets of programs"):
        for level in (0, 3):
            assert unexplained(refused(rotating(lines, 150, f"{arch} {level}"), arch, level)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 3])
def test_rows_of_families(level: int) -> None:
    """Every row that a target takes compiles, but for two whose code of ptxas stores nothing or adds instead."""
    for arch in rotating([n for n in NAMES if int(n[3:].rstrip("af")) >= 90], 2, f"rows {level}"):
        found = refused(LINES, arch, level)
        assert all("st.async.weak.global" in text or ".global.inc" in text for text in found), found
