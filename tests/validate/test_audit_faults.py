"""orias audit names the proven faults of ptxas from PTX and cubin alone, and finds nothing in our cubins of the same PTX."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.tools.audit.audit_kernel import DIFFERENT, EQUAL, Auditor
from orias.tools.audit.audit_subject import Binary, Subject
from orias.tools.audit.known_faults import catalogue
from tests.nvtools import LIMIT_S, tool
from tests.oracle_faults.test_faults import HERE, WRONG

ARCHES = {name: arch for name, arch, _, _ in WRONG} | {
    "szext_parameter.ptx": "sm_80",
    "missing_break.ptx": "sm_80",
    "rematerialised_offset.ptx": "sm_90a",
}
LEVELS = {"loop_negation.ptx": 1, "missing_break.ptx": 0}
"""Levels at which ptxas has a fault, where -O3 has not."""
PROGRAMS = [f for f in catalogue() if f.kind == "wrong code" and f.file.endswith(".ptx") and not f.unwritten]


@pytest.mark.sweep
@pytest.mark.parametrize("fault", PROGRAMS, ids=[f.name for f in PROGRAMS])
def test_the_fault_is_named(fault: object, tmp_path: Path) -> None:
    f = next(f for f in PROGRAMS if f is fault)
    text = (HERE / f.file).read_text(encoding="utf-8")
    arch, level = ARCHES.get(f.file, "sm_90"), LEVELS.get(f.file, 3)
    out = tmp_path / "x.cubin"
    command = [tool("ptxas"), f"-arch={arch}", f"-O{level}", str(HERE / f.file), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    subject = Subject("x", text)
    subject.add("ptxas", out.read_bytes(), "13.0.88")
    auditor = Auditor(text)
    (kernel,) = auditor.kernels()
    found = auditor.audit(kernel, subject.binaries[0])
    assert found.outcome == DIFFERENT
    assert f.name in [x.name for x in found.faults]
    assert auditor.audit(kernel, Binary("ours", orias.compile(text, arch=arch).data)).outcome == EQUAL


def test_most_are_programs() -> None:
    assert len(PROGRAMS) >= 20
