"""Makes cubins for the simulator's tests with the ptxas of the test extra."""

import hashlib
import resource
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.nvtools import tool

HERE = Path(__file__).parent
OURS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
"""Targets that we compile for."""
TARGETS = (*OURS, "sm_100", "sm_120")

_PROCESSOR_S = 60
"""Processor time that ptxas may take for a module, in seconds."""


@cache
def _directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="orias-sim-"))


def _limit_processor_time() -> None:
    # Not the time of the clock, which on a loaded machine says nothing of ptxas.
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_S, _PROCESSOR_S))


@cache
def assemble(text: str, target: str, level: str = "-O3") -> bytes:
    """The cubin of a PTX text; skips the test if ptxas is missing."""
    name = hashlib.sha256((text + target + level).encode()).hexdigest()[:16]
    source, out = _directory() / f"{name}.ptx", _directory() / f"{name}.cubin"
    source.write_text(text)
    run = subprocess.run(
        [tool("ptxas"), "-arch", target, level, "-o", str(out), str(source)],
        capture_output=True, text=True, preexec_fn=_limit_processor_time, timeout=10 * _PROCESSOR_S,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return out.read_bytes()


def program(name: str) -> str:
    """The text of a PTX program of the tests."""
    return (HERE / "programs" / f"{name}.ptx").read_text()
