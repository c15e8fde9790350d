"""Which of sm_90 to sm_121f has which feature: gates by family and by exact SM, against ptxas 13.0.88.

data/families.txt holds instructions below the targets that take them.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from orias.diag import CompileError
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.ptx.targets import GROUPS, listed
from orias.target.profile import TARGETS, target
from tests.nvtools import LIMIT_S, tool
from tests.ptx.form_lines import from_rows, mutated
from tests.ptx.probe import ours, ptxas
from tests.rotation import rotating

DATA = Path(__file__).parent / "data"
NEW = [name.removeprefix("sm_") for name, t in TARGETS.items() if t.sm >= 90]
NAMES = ["75", "80", "86", "87", "88", "89", *NEW, "101", "101a", "101f", "70", "90f"]
"""Names of .target, two of which do not exist."""


def rows() -> list[tuple[str, str, list[str]]]:
    """(feature, line, targets that take it) of data/families.txt."""
    found = []
    where: list[str] = []
    for text in (DATA / "families.txt").read_text().splitlines():
        if text.startswith("# "):
            where = text.split()[1:]
        else:
            feature, _, line = text.partition("\t")
            found.append((feature, line, where))
    return found


ROWS = rows()
LINES = [line for _, line, _ in ROWS]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", NEW)
def test_recorded_verdicts(name: str) -> None:
    found = ours(LINES, "9.0", f"sm_{name}")
    wrong = [(f, m) for (f, _, where), m in zip(ROWS, found, strict=True) if (name in where) == bool(m)]
    assert wrong == []


NEWER = re.compile(r"requires PTX ISA \.version 9\.[1-9]")


def against_the_tool(lines: list[str], names: list[str]) -> tuple[list[str], int]:
    """Lines with another verdict than ptxas's, and how many first messages differ."""
    command = tool("ptxas")
    wrong = []
    different = 0
    for name in names:
        theirs = ptxas(command, lines, "9.0", f"sm_{name}")
        for line, a, b in zip(lines, theirs, ours(lines, "9.0", f"sm_{name}"), strict=True):
            # What PTX 9.1 to 9.5 added is refused in the words of ptxas 13.5 (tests/ptx/test_newer.py).
            newer = bool(b) and NEWER.search(b[0]) is not None
            different += a[:1] != b[:1] and not newer
            if bool(a) != bool(b):
                wrong.append(f"{name}: {line} {a[:1]} {b[:1]}")
    return wrong, different


def test_a_few_rows_against_the_tool() -> None:
    lines = rotating(LINES, 40, "families")
    wrong, different = against_the_tool(lines, rotating(NEW, 3, "targets of families"))
    assert wrong == []
    assert different <= 6


@pytest.mark.sweep
def test_all_rows_against_the_tool() -> None:
    wrong, different = against_the_tool(LINES, NEW)
    assert wrong == []
    assert different <= 0.02 * len(LINES) * len(NEW)


def test_a_few_programs_of_the_form_tables_against_the_tool() -> None:
    lines = rotating(from_rows(1, 4), 150, "lines of forms")
    wrong, _ = against_the_tool(lines, rotating([*NAMES[:6], *NEW], 2, "targets of forms"))
    assert len(wrong) <= 1, wrong


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*NAMES[:6], *NEW])
def test_programs_of_the_form_tables_against_the_tool(name: str) -> None:
    lines = from_rows(7, 12)
    assert len(lines) > 5000
    wrong = []
    for k in range(0, len(lines), 500):
        wrong += against_the_tool(lines[k : k + 500], [name])[0]
    assert len(wrong) <= 0.001 * len(lines), wrong


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["90a", "100a", "103f", "110a", "120f", "121a"])
def test_changed_words_against_the_tool(name: str) -> None:
    """Rows with operands of any kind: a word of the opcode dropped, moved, exchanged or added."""
    lines = mutated([line for line in LINES if line[0] != "{"], 5, 600)
    wrong, _ = against_the_tool(lines, [name])
    assert len(wrong) <= 0.01 * len(lines), wrong


def module(name: str, version: str = "9.0") -> str:
    return f".version {version}\n.target sm_{name}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"


def first_error(text: str, arch: str) -> str:
    """Our first error message, or nothing."""
    try:
        found = check(parse(text, "F"), target(arch))
    except CompileError as e:
        found = e.diagnostics
    return next((d.message for d in found if d.severity in ("error", "fatal")), "")


def asked(text: str, arch: str) -> str:
    """ptxas's first error message, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ptx"
        path.write_text(text)
        command = [tool("ptxas"), "-arch", arch, str(path), "-o", str(Path(folder) / "out")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    lines = [line for line in run.stderr.splitlines() if "error   :" in line or "fatal   :" in line]
    return lines[0].partition(" : ")[2] if lines else ""


PAIRS = [(name, arch) for name in NAMES for arch in TARGETS]


def test_a_few_targets_and_architectures_against_the_tool() -> None:
    for name, arch in rotating(PAIRS, 25, "targets and architectures"):
        assert first_error(module(name), arch) == asked(module(name), arch), (name, arch)


@pytest.mark.sweep
def test_targets_and_architectures_against_the_tool() -> None:
    for name, arch in PAIRS:
        assert first_error(module(name), arch) == asked(module(name), arch), (name, arch)
    for name in NAMES:
        for version in ("8.5", "8.6", "8.7", "8.8"):
            text = module(name, version)
            assert first_error(text, "sm_121a") == asked(text, "sm_121a"), (name, version)


def test_members_of_a_family_take_its_code() -> None:
    for name, members in (
        ("100f", "100a 100f 103a 103f"),
        ("103f", "103a 103f"),
        ("110f", "110a"),
        ("120f", "121a 121f"),
    ):
        for member in members.split():
            assert first_error(module(name), f"sm_{member}") == ""
    assert (
        first_error(module("100f"), "sm_120")
        == "Program with .target 'sm_100f' cannot be compiled to different SM-family architecture"
    )
    assert (
        first_error(module("100a"), "sm_103a")
        == "Program with .target 'sm_100a' cannot be compiled to future architecture"
    )
    assert (
        first_error(module("100a"), "sm_100f")
        == "PTX with .target 'sm_100a' cannot be compiled for architecture 'sm_100f'"
    )


def test_warpgroup_instructions_are_refused_one_by_one_where_the_text_names_sm_90a() -> None:
    body = "{ setmaxnreg.inc.sync.aligned.u32 40; wgmma.fence.sync.aligned; wgmma.wait_group.sync.aligned 0; ret; }"
    text = module("90a").replace("{ ret; }", body)
    for arch in ("sm_100a", "sm_121f"):
        assert first_error(text, arch) == f"Instruction 'wgmma.fence' cannot be compiled for architecture '{arch}'"
        assert asked(text, arch) == first_error(text, arch)
        assert first_error(module("90a"), arch) == asked(module("90a"), arch)


def test_lists_of_targets() -> None:
    assert listed("sm_100a", "100a/110a") and listed("compute_110a", "100a/110a") and listed("sm_101a", "110a")
    assert not listed("sm_100f", "100a/110a") and not listed("sm_100", "100af") and listed("sm_103f", "103af")
    assert listed("sm_120", "100") and not listed("sm_90a", "100") and not listed("sm_90", "90a/NEW")
    for text in GROUPS.values():
        assert all(f"sm_{n}{m}" in TARGETS for n in ("100", "103", "110") for m in "af" if listed(f"sm_{n}{m}", text))


def test_static_shared_memory_of_exact_targets() -> None:
    """A target with suffix a may use all shared memory of its SM for static variables."""
    for arch, limit in (
        ("sm_90", 49152),
        ("sm_90a", 232448),
        ("sm_100f", 49152),
        ("sm_110a", 232448),
        ("sm_121a", 101376),
    ):
        for size in (limit, limit + 1):
            text = f".version 9.0\n.target sm_90\n.address_size 64\n.shared .b8 s[{size}];\n.entry k() {{ st.shared.b8 [s], 1; ret; }}\n"
            assert bool(first_error(text, arch)) is (size > limit)
            assert first_error(text, arch) == asked(text, arch)
