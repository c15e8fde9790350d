"""Compiles modules of forms with our compiler or ptxas and runs them in the simulator."""

import os
import subprocess
import tempfile
from collections.abc import Sequence

import numpy as np

from orias.diag import CompileError
from orias.sim import SimError
from tests.device import load
from tests.forms.form import SLOT, Form, module_text
from tests.nvtools import tool

SCRATCH = 32
"""Bytes of %mem for each thread."""


def ptxas_cubin(text: str, arch: str, opt: int) -> bytes:
    """The cubin that ptxas makes."""
    with tempfile.TemporaryDirectory() as d:
        src, out = os.path.join(d, "a.ptx"), os.path.join(d, "a.cubin")
        with open(src, "w", encoding="utf-8") as f:
            f.write(text)
        p = subprocess.run(
            [tool("ptxas"), f"-O{opt}", f"-arch={arch}", src, "-o", out], capture_output=True, text=True, timeout=300
        )
        if p.returncode:
            raise RuntimeError(p.stderr[:2000])
        with open(out, "rb") as b:
            return b.read()


def our_cubin(text: str, arch: str, opt: int) -> bytes:
    """The cubin that our compiler makes."""
    from orias.compiler import compile_text
    from orias.options import Options

    return compile_text([("forms.ptx", text)], Options(arch, opt)).data


def run_form(image: object, kernel: str, form: Form) -> list[str]:
    """Launch one kernel of a loaded image; the mismatches."""
    n = len(form.vectors)
    nin, nout = max(len(form.ins), 1), len(form.outs)
    inputs = np.zeros((n, nin), np.uint64)
    for k, row in enumerate(form.vectors):
        for j, x in enumerate(row):
            inputs[k, j] = x & 0xFFFFFFFFFFFFFFFF
    outputs = np.full((n, nout), 0xA5A5A5A5A5A5A5A5, np.uint64)
    memory = np.zeros(n * SCRATCH, np.uint8)
    assert inputs.itemsize == SLOT
    try:
        form.launch(image, kernel, inputs, outputs, memory)
    except SimError as e:
        return [f"{form.name}: {e}"]
    return form.mismatches([[int(x) for x in row] for row in outputs])


def failures(forms: Sequence[Form], compiler: str, arch: str, opt: int) -> dict[str, list[str]]:
    """What goes wrong, by form: a refusal, a crash, or wrong outputs.  Forms that need a later SM are left out."""
    forms = [f for f in forms if f.sm <= int(arch[3:].rstrip("af")) and (not f.archs or arch in f.archs)]
    if compiler == "ptxas":
        forms = [f for f in forms if f.judged]
    make = our_cubin if compiler == "orias" else ptxas_cubin
    out: dict[str, list[str]] = {}
    _run(forms, make, arch, opt, out)
    return out


def _run(forms: list[Form], make: object, arch: str, opt: int, out: dict[str, list[str]]) -> None:
    if not forms:
        return
    try:
        image = load(make(module_text(forms, arch), arch, opt))  # type: ignore[operator]
    except (
        CompileError,
        RuntimeError,
        SimError,
        AssertionError,
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        AttributeError,
    ) as e:
        if len(forms) == 1:
            out[forms[0].name] = [f"{forms[0].name} ({forms[0].body.strip()}): {type(e).__name__} {e}"[:400]]
            return
        half = len(forms) // 2
        _run(forms[:half], make, arch, opt, out)
        _run(forms[half:], make, arch, opt, out)
        return
    for n, f in enumerate(forms):
        bad = run_form(image, f"k{n}", f)
        if bad:
            out[f.name] = bad
