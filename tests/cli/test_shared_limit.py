"""Too much shared memory: what counts, what is said, and where nothing is, as with ptxas."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from orias.cli.main import run
from tests.nvtools import LIMIT_S, tool

LARGE: Final = ".shared .f32 large[65536];"
CASES: Final = {
    "used": f".entry k() {{ {LARGE} st.shared.u32 [large], 1; ret; }}",
    "declared": f".entry k() {{ {LARGE} ret; }}",
    "in an inner block": f".entry k() {{ {{ {LARGE} }} ret; }}",
    "of the module, not used": f"{LARGE} .entry k() {{ ret; }}",
    "in a function": f".func f() {{ {LARGE} ret; }} .entry k() {{ call f; ret; }}",
    "in a function that nobody calls": f".func f() {{ {LARGE} ret; }} .entry k() {{ ret; }}",
    "used ones come first": ".entry k() { .shared .u8 a; .shared .u64 b[5000]; .shared .u8 c; .shared .u64 d[5000]; st.shared.u64 [d], 1; ret; }",
}  # fmt: skip


@pytest.mark.parametrize("options", [[], ["-c"]])
@pytest.mark.parametrize("name", CASES)
def test_as_ptxas(name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(f".version 8.0\n.target sm_80\n.address_size 64\n{CASES[name]}\n")
    line = ["-arch=sm_80", *options, str(source), "-o", str(tmp_path / "k.cubin")]
    real = subprocess.run([tool("ptxas"), *line], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run(["ptxas", *line]) == real.returncode
    assert capsys.readouterr().err == real.stderr
