"""All inputs of instructions with small operands: our code in the simulator, and our folder, against exact results of the host.

usage: python -m tools.judge.exhaustive RESULTS.jsonl [--arch sm_NN] [--match TEXT] [--inputs N] [--constants N] [--until HH:MM] [--json] [--quiet]

Every form of tests/forms with one input of 16 bits runs with all 65,536 of them.  Of a form with one input of 32 bits, or two of 16, that
many are 2^32: --inputs (65,536) of them are taken, spread evenly, with an offset that the form's name gives.  --constants (2,048): that many of
the inputs also stand in the text as constants, so that the compiler computes the result.  A line of RESULTS for each form; goes on
where it was stopped.
"""

import argparse
import json
import sys
import time
import zlib
from pathlib import Path
from typing import Final

from orias.diag import CompileError
from orias.progress import Bar
from orias.sim import load
from tests.forms.constant_forms import constant_forms
from tests.forms.form import BITS, Form, module_text
from tests.forms.generate import all_forms
from tests.forms.run import our_cubin, run_form
from tools.judge.clock import moment

FAMILIES: Final = ("integer", "float", "convert", "later", "divide")
BLOCK: Final = 1024
TOGETHER: Final = 128
"""Inputs that one kernel has as constants."""


def bits_of(form: Form) -> int:
    """Bits of all inputs of a form: 16 or 32 for those that are of interest here, else 0."""
    n = sum(BITS[t] for t in form.ins)
    return n if n in (16, 32) and "pred" not in form.ins and "%idx" not in form.body and "%mem" not in form.body else 0


def inputs(form: Form, bits: int, count: int) -> list[tuple[int, ...]]:
    """All inputs of 16 bits; `count` of 32 bits, in equal steps."""
    if bits == 16:
        return [(x,) for x in range(1 << 16)]
    step = (1 << 32) // count
    first = zlib.crc32(form.name.encode()) % step
    words = [first + k * step for k in range(count)]
    if len(form.ins) == 2:
        return [(w & 0xFFFF, w >> 16) for w in words]
    return [(w,) for w in words]


def with_inputs(form: Form, rows: list[tuple[int, ...]]) -> Form:
    """The form with other inputs."""
    return Form(
        form.name,
        form.body,
        form.ins,
        form.outs,
        rows,
        form._want,
        sm=form.sm,
        decl=form.decl,
        module=form.module,
        archs=form.archs,
    )


def run(form: Form, rows: list[tuple[int, ...]], arch: str) -> list[str]:
    """The first mismatches over some inputs."""
    image = load(our_cubin(module_text([form], arch), arch, 3))
    for at in range(0, len(rows), BLOCK):
        bad = run_form(image, "k0", with_inputs(form, rows[at : at + BLOCK]))
        if bad:
            return bad[:3]
    return []


def run_constants(form: Form, rows: list[tuple[int, ...]], arch: str) -> list[str]:
    """The first mismatches where the inputs are constants."""
    for at in range(0, len(rows), TOGETHER):
        part = rows[at : at + TOGETHER]
        some = constant_forms([with_inputs(form, part)], len(part))
        image = load(our_cubin(module_text(some, arch), arch, 3))
        for k, f in enumerate(some):
            bad = run_form(image, f"k{k}", f)
            if bad:
                return bad[:3]
    return []


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m tools.judge.exhaustive")
    p.add_argument("results", type=Path)
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--match", default="")
    p.add_argument("--inputs", type=int, default=1 << 16)
    p.add_argument("--constants", type=int, default=2048)
    p.add_argument("--until", default="")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    done = {(x["form"], x["arch"]) for x in lines}
    families = all_forms()
    number = int(a.arch[3:].rstrip("af"))
    forms = [
        f for name in FAMILIES for f in families[name]
        if bits_of(f) and f._want is not None and a.match in f.name and f.sm <= number and (not f.archs or a.arch in f.archs)
    ]  # fmt: skip
    forms.sort(key=bits_of)
    bar, end = Bar(a.quiet or a.json), moment(a.until)
    with a.results.open("a") as out:
        for k, form in enumerate(forms):
            if time.time() > end:
                break
            if (form.name, a.arch) in done:
                continue
            bar(k, len(forms), form.name)
            bits = bits_of(form)
            rows = inputs(form, bits, a.inputs)
            start = time.process_time()
            line: dict[str, object] = {"form": form.name, "arch": a.arch, "bits": bits, "inputs": len(rows)}
            try:
                line["wrong"] = run(form, rows, a.arch)
                some = rows[:: max(1, len(rows) // a.constants)] if a.constants else []
                line["constants"] = len(some)
                line["wrong constants"] = run_constants(form, some, a.arch)
            except CompileError as e:
                line["refused"] = str(e)[:200]
            line["seconds"] = round(time.process_time() - start, 1)
            lines.append(line)
            out.write(json.dumps(line) + "\n")
            out.flush()
    wrong = [x for x in lines if x.get("wrong") or x.get("wrong constants") or x.get("refused")]
    if a.json:
        print(json.dumps(lines))
    else:
        for bits in (16, 32):
            mine = [x for x in lines if x["bits"] == bits]
            print(
                f"{len(mine)} of {sum(bits_of(f) == bits for f in forms)} forms with {bits} bits of input: {sum(x['inputs'] for x in mine)} inputs, {sum(x.get('constants', 0) for x in mine)} constants"
            )
        for x in wrong:
            print(x)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
