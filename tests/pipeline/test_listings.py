"""PTX and the finished code it becomes: every register, the order of instructions, every control word.

The programs are those of other folders, which judge them by running them.  ``listings/NAME.txt`` holds the code of all
functions of a program; ``ORIAS_BLESS=1 pytest tests/pipeline/test_listings.py`` rewrites it.  A change that is meant
shows here what it does to code; one that is not meant shows here first.
"""

import os
import re
from pathlib import Path

import pytest

import orias
from orias.tools.disassemble import disassemble

HERE = Path(__file__).parent / "listings"
TESTS = Path(__file__).parents[1]
BLESS = bool(os.environ.get("ORIAS_BLESS"))
PROGRAMS = {
    "asynchronous/ptx/cluster.90": ("sm_90", 3),
    "asynchronous/ptx/tma.90": ("sm_90", 3),
    "kernels/matrix/ptx/hopper_bf16": ("sm_90a", 3),
    "kernels/matrix/ptx/layer_norm_f16": ("sm_86", 3),
    "kernels/matrix/ptx/wmma_f16": ("sm_75", 3),
    "kernels/ptx/asynccopy": ("sm_80", 3),
    "kernels/ptx/bfs": ("sm_90", 3),
    "kernels/ptx/collatz": ("sm_75", 3),
    "kernels/ptx/divide": ("sm_80", 3),
    "kernels/ptx/dynshared": ("sm_90", 3),
    "kernels/ptx/floats": ("sm_75", 3),
    "kernels/ptx/funcptr": ("sm_80", 3),
    "kernels/ptx/half": ("sm_90", 3),
    "kernels/ptx/hashing": ("sm_75", 3),
    "kernels/ptx/heap": ("sm_80", 3),
    "kernels/ptx/histogram": ("sm_90", 3),
    "kernels/ptx/mandelbrot": ("sm_75", 3),
    "kernels/ptx/matmul": ("sm_80", 3),
    "kernels/ptx/nbody": ("sm_90", 3),
    "kernels/ptx/params": ("sm_75", 3),
    "kernels/ptx/recursion": ("sm_80", 1),
    "kernels/ptx/reduce": ("sm_90", 3),
    "kernels/ptx/saxpy": ("sm_75", 0),
    "kernels/ptx/scan": ("sm_75", 3),
    "kernels/ptx/spinlock": ("sm_80", 3),
    "kernels/ptx/spmv": ("sm_90", 3),
    "kernels/ptx/stencil": ("sm_75", 1),
    "kernels/ptx/strsearch": ("sm_80", 3),
    "kernels/ptx/transpose": ("sm_90", 3),
    "kernels/ptx/votes": ("sm_75", 3),
}
"""Program -> target, level: each shows one, and together they show all that the tests run."""
_ROW = re.compile(r" +/\*[0-9a-f]{4}\*/ +(?P<text>.*?) *;? +/\* (?P<control>B.*) \*/")


def listing(data: bytes) -> list[str]:
    """Names of functions, labels, and of each instruction its control word and text."""
    out = []
    for line in disassemble(data, control=True).splitlines():
        row = _ROW.fullmatch(line)
        if row is not None:
            out.append(f"  {row['control']:<20} {row['text']}")
        elif line.endswith(":") and not line.startswith(".text."):
            out.append(line)
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_listing(name: str) -> None:
    arch, level = PROGRAMS[name]
    text = (TESTS / f"{name}.ptx").read_text(encoding="utf-8")
    now = f"{name} {arch} -O{level}\n" + "\n".join(listing(orias.compile(text, arch=arch, opt_level=level).data)) + "\n"
    file = HERE / f"{Path(name).name}.txt"
    if BLESS:
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8")


def test_every_listing_has_its_program() -> None:
    assert sorted(p.stem for p in HERE.glob("*.txt")) == sorted(Path(n).name for n in PROGRAMS)
