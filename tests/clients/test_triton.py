"""Kernels of Triton for sm_100a to sm_121a: compiled by Orias and by ptxas, run in the simulator against host results.

``ORIAS_TRITON`` names a Python that has Triton (3.6 and 3.9 were tried), which makes the PTX, for sm_100 and sm_120, with Orias in place
of its assembler.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import orias
from tests.clients.triton_cases import CASES
from tests.forms.run import our_cubin, ptxas_cubin

pytestmark = pytest.mark.sweep
HERE = Path(__file__).parent
PYTHON = os.environ.get("ORIAS_TRITON")
TARGETS = {"sm_100a": 100, "sm_103a": 100, "sm_110a": 100, "sm_120a": 120, "sm_121a": 120}
"""Targets, and the SM that Triton compiles for: the text for another one differs in its target only."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not PYTHON:
        pytest.skip("ORIAS_TRITON does not name a Python with Triton")
    out = tmp_path_factory.mktemp("triton")
    launcher = out / "ptxas"
    root = Path(orias.__file__).parents[1]
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m orias "$@"\n')
    launcher.chmod(0o755)
    names = dict.fromkeys(("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"), str(launcher))
    command = [PYTHON, str(HERE / "triton_kernels.py"), str(out), "100", "120"]
    subprocess.run(command, env={**os.environ, **names}, check=True, capture_output=True, timeout=1800)
    yield out


def wrong(folder: Path, name: str, compiler: str, arch: str, level: int) -> str:
    """What is wrong with a kernel's results; nothing if all is right."""
    sm = TARGETS[arch]
    text = (folder / str(sm) / f"{name}.ptx").read_text()
    shared = int(re.match(r"// shared (\d+)", text)[1])  # type: ignore[index]
    text = text.replace(f".target sm_{sm}a", f".target {arch}")
    threads = int(re.search(r"\.reqntid (\d+)", text)[1])  # type: ignore[index]
    make = our_cubin
    if compiler == "ptxas":
        # Triton writes the newest version that Orias has; the judge knows 9.0.
        make, text = ptxas_cubin, re.sub(r"(?m)^\.version 9\.\d$", ".version 9.0", text)
    try:
        CASES[name]()._replace(threads=threads).run(make(text, arch, level), shared)
    except (AssertionError, orias.CompileError, orias.sim.SimError) as e:
        return f"{name} {compiler} {arch} -O{level}: {type(e).__name__} {' '.join(str(e).split())[:300]}"
    return ""


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_kernel(folder: Path, name: str, arch: str) -> None:
    sm = TARGETS[arch]
    if not (folder / str(sm) / f"{name}.ptx").exists():
        reasons = [x for x in (folder / str(sm) / "refused").read_text().splitlines() if x.startswith(name)]
        assert reasons and "ptxas" not in reasons[0].lower(), reasons
        pytest.skip(f"Triton refuses it: {reasons[0]}")
    text = (folder / str(sm) / f"{name}.ptx").read_text()
    if arch == "sm_110a" and re.search(r"redux\.sync\.\w+\.(abs\.)?(NaN\.)?f32", text):
        pytest.skip("made for sm_100a: sm_110a has no redux of floats")
    runs = [("orias", level) for level in (0, 1, 3)] + [("ptxas", 3)]
    bad = [w for compiler, level in runs if (w := wrong(folder, name, compiler, arch, level))]
    assert not bad, "\n".join(bad)
