"""mma.sp.m16n8k32 with f16 factors: ptxas 13.0.88 forgets the range of the sparsity selector where the accumulator is f32.

The selector names the pair of threads of each quad (or the thread) whose metadata count; with this shape it is 0 or 1, and ptxas says so
for an f16 accumulator and for bf16 factors, of the same metadata layout.  For f32 accumulators of f16 factors it takes 2 and 3 too.
We take what ptxas takes (``orias.ptx.matrix_checks.selector_errors``).

The test fails when the fault is gone in a newer release: then the exception there goes too.
"""

import subprocess
from pathlib import Path

import pytest

import orias
from tests.nvtools import LIMIT_S, tool

FORMS = {
    "f32.f16.f16.f32": ("{%r1, %r2, %r3, %r4}", True),
    "f32.bf16.bf16.f32": ("{%r1, %r2, %r3, %r4}", False),
    "f16.f16.f16.f16": ("{%r1, %r2}", False),
}
RANGE = "Argument 6 of instruction 'Sparse mma': value '2' out of range, expected to be in range [0..1]"


@pytest.mark.parametrize("types", list(FORMS))
def test_selector_two(types: str, tmp_path: Path) -> None:
    c, taken = FORMS[types]
    text = (
        ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<5>;\n"
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.{types} {c}, {{%r1, %r2, %r3, %r4}}, {{%r1, %r2, %r3, %r4}}, {c}, %r1, 2;\n"
        "ret; }\n"
    )
    if types.startswith("f32"):
        text = text.replace(".reg .b32 %r<5>;", ".reg .b32 %r<5>; .reg .f32 %f<5>;").replace(
            c + ", {", "{%f1, %f2, %f3, %f4}, {", 1
        )
        text = text.replace(f", {c}, %r1", ", {%f1, %f2, %f3, %f4}, %r1")
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-arch=sm_80", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert (run.returncode == 0) == taken
    assert (RANGE in run.stderr) != taken
    if taken:
        orias.compile(text, arch="sm_80")
    else:
        with pytest.raises(orias.CompileError, match="out of range"):
            orias.compile(text, arch="sm_80")
