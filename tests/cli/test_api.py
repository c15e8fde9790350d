"""The Python interface as a user meets it: keywords, the table of a cubin, occupancy."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import orias
from orias.compile_options import CompileOptions
from orias.options import Options

EXAMPLE = (Path(__file__).parents[2] / "examples" / "saxpy.ptx").read_text()


def test_keywords_are_the_options() -> None:
    hints = get_type_hints(CompileOptions)
    assert set(hints) | {"arch", "opt_level"} == set(Options.__slots__)
    plain = Options()
    for name, hint in hints.items():
        if name != "knobs":
            value = getattr(plain, name)
            assert type(value) is (hint if isinstance(hint, type) and hint in (int, bool, str, bytes) else list), name


def test_a_wrong_keyword_names_the_nearest() -> None:
    with pytest.raises(
        TypeError, match=r"^compile\(\) got an unexpected option 'maxregcount'; did you mean 'maxrregcount'\?$"
    ):
        orias.compile(EXAMPLE, arch="sm_80", maxregcount=32)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^compile\(\) got an unexpected option 'zzz'$"):
        orias.compile(EXAMPLE, arch="sm_80", zzz=1)  # type: ignore[call-arg]


def test_a_value_of_a_wrong_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^compile\(\): option 'maxrregcount' takes int, not str$"):
        orias.compile(EXAMPLE, arch="sm_80", maxrregcount="32")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^compile\(\): option 'entries' takes list, not str$"):
        orias.compile(EXAMPLE, arch="sm_80", entries="saxpy")  # type: ignore[arg-type]


def test_a_cubin_prints_as_a_table() -> None:
    cubin = orias.compile(EXAMPLE, arch="sm_80")
    k = cubin.kernels["saxpy"]
    first, head, row = str(cubin).split("\n")
    assert first == f"cubin for sm_80, {len(cubin.data)} bytes"
    assert head.split()[:2] == ["kernel", "registers"] and row.split()[:2] == ["saxpy", str(k.registers)]
    assert row.split()[-1] == str(k.instructions) and len(head) == len(row)
    html = cubin._repr_html_()
    assert html.count("<tr>") == 2 and "<th>registers</th>" in html and f"<td>{k.registers}</td>" in html


def test_occupancy() -> None:
    cubin = orias.compile(EXAMPLE, arch="sm_80")
    full = cubin.occupancy("saxpy", 256)
    assert (full.blocks, full.warps, full.most_warps, full.limit) == (8, 64, 64, "threads")
    assert cubin.occupancy("saxpy", 256, dynamic_shared=60_000).limit == "shared memory"
    assert cubin.occupancy("saxpy", 256, dynamic_shared=60_000).blocks == 2
    with pytest.raises(KeyError):
        cubin.occupancy("none", 256)
    with pytest.raises(ValueError, match="1 to 1024 threads"):
        cubin.occupancy("saxpy", 2048)


ROOT = Path(__file__).parents[2]
SAMPLE = """\
import orias

good = orias.compile("", arch="sm_90", opt_level=2, lineinfo=True, maxrregcount=64)
registers: int = good.kernels["k"].registers
orias.compile("", lineinfo="maybe")
orias.compile("", maxrregcount="64")
orias.compile("", opt_level="3")
orias.compile("", nonsense=3)
orias.compile(3)
text: str = good.data
"""


@pytest.mark.sweep
def test_mypy_refuses_a_wrong_option(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed (pip install '.[dev]')")
    (tmp_path / "sample.py").write_text(SAMPLE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(tmp_path / "sample.py")]
    environment = {**os.environ, "PYTHONPATH": "", "PYTHONSAFEPATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580, check=False)
    found = [
        (int(line.split(":")[1]), line.rpartition("[")[2]) for line in done.stdout.splitlines() if ": error: " in line
    ]
    wrong = ["arg-type]", "arg-type]", "arg-type]", "call-arg]", "arg-type]", "assignment]"]
    assert found == list(enumerate(wrong, 5)), done.stdout + done.stderr
