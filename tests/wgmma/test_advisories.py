"""Why ptxas injects and serialises: our messages are its messages, and operations run one at a time where they say so."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.options import Options
from orias.sim import load
from tests.nvtools import LIMIT_S, tool
from tests.wgmma.advisories import CASES, Said, program
from tests.wgmma.test_remarks import operations

_SERIAL = range(7509, 7517)


def said(messages: list[str]) -> Said:
    """(code, line, function) of messages with or without ptxas's prefix."""
    out: Said = []
    for m in messages:
        code = re.search(r"\(C(75..)\)", m)
        if code is not None:
            line = re.search(r"around line (\d+) ", m)
            function = re.search(r"(?:in|for) (?:the )?function '(.+)'$", m)
            assert function is not None, m
            out.append((int(code[1]), int(line[1]) if line else 0, function[1]))
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", list(CASES))
def test_case(name: str) -> None:
    _, _, flags, want = CASES[name]
    level = next((int(f[2:]) for f in flags if f.startswith("-O")), 3)
    options = Options("sm_90a", level)
    options.compile_only = "-c" in flags
    cubin = compile_text([("k.ptx", program(name))], options)
    assert said([d.message for d in cubin.diagnostics]) == want
    if any(code in _SERIAL or code in (7518, 7520) for code, _, _ in want):
        ops = [o for o in operations(cubin.data).split() if o != "S"]
        assert ops == ["A", "M+", "W0"] * (len(ops) // 3)


RUN = (
    "calls in the file",
    "calls in the file before the commit",
    "calls in the file after the fence",
    "callee multiplies",
    "callee does not wait",
    "callee does not fence",
    "callee waits",
    "next A",
    "next A, no wait",
    "A changes",
    "second group changes",
    "second group read on a path",
    "some wait",
    "result is A",
    "guarded wait",
    "guarded fence",
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", RUN)
def test_run(name: str) -> None:
    """Values that code reads before an operation is over would not be those of -O0, where nothing is under way."""
    results = []
    for level in (3, 0):
        cubin = compile_text([("k.ptx", program(name))], Options("sm_90a", level))
        memory = np.arange(1 << 14, dtype=np.float32) / 64 + 1
        load(cubin.data).launch("k", 1, 128, [memory, 0, 0, 1], max_steps=500_000)
        results.append(memory.view(np.uint32))
    assert (results[0] == results[1]).all()


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(CASES))
def test_case_ptxas(name: str, tmp_path: Path) -> None:
    _, _, flags, want = CASES[name]
    (tmp_path / "k.ptx").write_text(program(name))
    command = [tool("ptxas"), "-arch=sm_90a", *flags, str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert said(run.stderr.splitlines()) == want
