"""Smallest distances between two independent products of matrices: what the code of a compiler leaves for each form.

    python -m tools.latency.matrix_intervals sm_90a        # ptxas beside Orias

Each form is a kernel of eight products with accumulators of their own between two barriers.  Operations that ptxas replaces by
others are listed under the name of what it wrote.
"""

import argparse
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orias
from orias.isa.decode import Decoded
from orias.isa.op import F_MATRIX
from orias.timing.ctl import stall
from tests.schedule.decoded import code_of

_PRODUCTS = 8


class Form(NamedTuple):
    """``words``: registers of A, B and C; ``type``: that of C; ``factor``: that of A and B."""

    name: str
    words: tuple[int, int, int]
    type: str = "f32"
    factor: str = "b32"
    sparse: bool = False


FORMS = [
    Form("m16n8k8.row.col.f32.f16.f16.f32", (2, 1, 4)),
    Form("m16n8k8.row.col.f16.f16.f16.f16", (2, 1, 2), "b32"),
    Form("m16n8k16.row.col.f32.f16.f16.f32", (4, 2, 4)),
    Form("m16n8k16.row.col.f16.f16.f16.f16", (4, 2, 2), "b32"),
    Form("m16n8k16.row.col.f32.bf16.bf16.f32", (4, 2, 4)),
    Form("m16n8k4.row.col.f32.tf32.tf32.f32", (2, 1, 4)),
    Form("m16n8k8.row.col.f32.tf32.tf32.f32", (4, 2, 4)),
    Form("m8n8k16.row.col.s32.s8.s8.s32", (1, 1, 2), "s32"),
    Form("m16n8k16.row.col.s32.s8.s8.s32", (2, 1, 4), "s32"),
    Form("m16n8k32.row.col.s32.s8.s8.s32", (4, 2, 4), "s32"),
    Form("m8n8k32.row.col.s32.s4.s4.s32", (1, 1, 2), "s32"),
    Form("m16n8k64.row.col.s32.s4.s4.s32", (4, 2, 4), "s32"),
    Form("m8n8k128.row.col.s32.b1.b1.s32.xor.popc", (1, 1, 2), "s32"),
    Form("m16n8k128.row.col.s32.b1.b1.s32.and.popc", (2, 1, 4), "s32"),
    Form("m16n8k256.row.col.s32.b1.b1.s32.and.popc", (4, 2, 4), "s32"),
    Form("m8n8k4.row.col.f64.f64.f64.f64", (1, 1, 2), "f64", "f64"),
    Form("m16n8k4.row.col.f64.f64.f64.f64", (2, 1, 4), "f64", "f64"),
    Form("m16n8k8.row.col.f64.f64.f64.f64", (4, 2, 4), "f64", "f64"),
    Form("m16n8k16.row.col.f64.f64.f64.f64", (8, 4, 4), "f64", "f64"),
    Form("m16n8k16.row.col.f32.e4m3.e4m3.f32", (2, 1, 4)),
    Form("m16n8k32.row.col.f32.e4m3.e4m3.f32", (4, 2, 4)),
    Form("m16n8k16.row.col.f32.f16.f16.f32", (2, 2, 4), sparse=True),
    Form("m16n8k32.row.col.f32.f16.f16.f32", (4, 4, 4), sparse=True),
    Form("m16n8k8.row.col.f32.tf32.tf32.f32", (2, 2, 4), sparse=True),
    Form("m16n8k16.row.col.f32.tf32.tf32.f32", (4, 4, 4), sparse=True),
    Form("m16n8k32.row.col.s32.s8.s8.s32", (2, 2, 4), "s32", sparse=True),
    Form("m16n8k64.row.col.s32.s8.s8.s32", (4, 4, 4), "s32", sparse=True),
    Form("m16n8k64.row.col.f32.e4m3.e4m3.f32", (4, 4, 4), sparse=True),
]


def text(form: Form, arch: str) -> str:
    """The kernel of a form."""
    a, b, c = form.words
    size, step = (8 if form.factor == "f64" else 4), (8 if form.type == "f64" else 4)
    lines = [f"ld.global.{form.factor} %a{k}, [%p+{size * k}];" for k in range(a)]
    lines += [f"ld.global.{form.factor} %b{k}, [%p+{128 + size * k}];" for k in range(b)]
    lines += [f"ld.global.{form.type} %c{k}, [%p+{256 + step * k}];" for k in range(c * _PRODUCTS)]
    lines += ["ld.global.b32 %e, [%p+248];", "bar.sync 0;"]
    name = ("mma.sp::ordered_metadata" if form.sparse else "mma") + f".sync.aligned.{form.name}"
    for n in range(_PRODUCTS):
        d = _vector("c", c, c * n)
        lines.append(f"{name} {d}, {_vector('a', a)}, {_vector('b', b)}, {d}{', %e, 0' if form.sparse else ''};")
    lines += ["bar.sync 0;"]
    lines += [f"st.global.{form.type} [%p+{256 + step * k}], %c{k};" for k in range(c * _PRODUCTS)]
    return f""".version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .u64 %p; .reg .{form.factor} %a<9>, %b<5>; .reg .{form.type} %c<40>; .reg .b32 %e;
ld.param.u64 %p, [p];
{chr(10).join(lines)}
ret; }}
"""


def _vector(name: str, count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"%{name}{first + k}" for k in range(count)) + "}"


def distances(code: list[Decoded]) -> Iterator[tuple[str, int]]:
    """(operation, cycles to the next one) of each pair of products in straight code."""
    last, at, now = "", 0, 0
    for d in code:
        if d.op.flags & F_MATRIX:
            if last:
                yield last, now - at
            last, at = d.op.name, now
        now += max(1, stall(d.ctl))


def shortest(code: list[Decoded]) -> dict[str, int]:
    """The smallest distance after each operation."""
    out: dict[str, int] = {}
    for name, cycles in distances(code):
        out[name] = min(cycles, out.get(name, cycles))
    return out


def theirs(source: str, arch: str, folder: Path) -> list[Decoded] | None:
    """ptxas's code; None if it refuses the text."""
    path = folder / "k.ptx"
    path.write_text(source, encoding="utf-8")
    command = ["ptxas", f"-arch={arch}", str(path), "-o", str(folder / "k.cubin")]
    if subprocess.run(command, capture_output=True, timeout=60, check=False).returncode:
        return None
    return code_of((folder / "k.cubin").read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch", nargs="+")
    with TemporaryDirectory() as folder:
        for arch in parser.parse_args().arch:
            for form in FORMS:
                source = text(form, arch)
                code = theirs(source, arch, Path(folder))
                if code is not None:
                    ours = shortest(code_of(orias.compile(source, arch=arch).data))
                    mark = "" if ours == shortest(code) else "  differs"
                    print(f"{arch} {form.name}: {shortest(code)}, Orias {ours}{mark}")


if __name__ == "__main__":
    main()
