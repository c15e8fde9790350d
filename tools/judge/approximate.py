"""Approximate functions of one f32 over all of its bit patterns: our code in the simulator, against double precision.

usage: python -m tools.judge.approximate RESULTS.jsonl [--arch sm_NN] [--match TEXT] [--step N] [--until HH:MM] [--json] [--quiet]

Every --step'th (64) of the 2^32 inputs, from an offset that the function's name gives, and all subnormal ones.  The result must lie within
the accuracy that the PTX manual gives, be an infinity, a zero or a NaN where the function is, and with ``.ftz`` no subnormal number.  The
simulator's MUFU is the true value rounded once, so this judges the code around it; what hardware does stands in docs/gpu-runs.md.  A line
of RESULTS for each function; goes on where it was stopped.
"""

import argparse
import json
import math
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import orias
from orias.progress import Bar
from orias.sim import load
from tools.judge.clock import moment

BLOCK: Final = 1024
TOGETHER: Final = 1 << 20
"""Inputs of one launch."""
LEAST_NORMAL: Final = 2.0**-126
LEAST: Final = 2.0**-149
LARGEST: Final = float(np.finfo(np.float32).max)
Doubles = Any
"""A numpy array of float64."""


class Function(NamedTuple):
    """A function, its accuracy (relative, or absolute where `relative` is 0), and the largest argument for which that is given."""

    name: str
    value: Callable[[Doubles], Doubles]
    relative: float
    absolute: float = 0.0
    largest: float = math.inf


_FUNCTIONS: Final = (
    Function("ex2.approx", np.exp2, 2.0**-22.5),
    Function("lg2.approx", np.log2, 2.0**-22, 2.0**-22),
    Function("rcp.approx", lambda x: 1 / x, 2.0**-23),
    Function("rsqrt.approx", lambda x: 1 / np.sqrt(x), 2.0**-22.9),
    Function("sqrt.approx", np.sqrt, 2.0**-23),
    Function("sin.approx", np.sin, 0.0, 2.0**-20.5, math.pi),
    Function("cos.approx", np.cos, 0.0, 2.0**-20.5, math.pi),
    Function("tanh.approx", np.tanh, 2.0**-11),
)
FUNCTIONS: Final = {
    name: f
    for f in _FUNCTIONS
    for name in (f"{f.name}.f32", f"{f.name}.ftz.f32")
    if not name.startswith("tanh.approx.ftz")
}
"""Instruction -> function."""


def program(instruction: str) -> str:
    """PTX that applies an instruction to the numbers whose bits are `base` + `step` * thread."""
    return f"""
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 base, .param .u32 step)
{{
    .reg .b64 %d<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<2>;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r0, [base];
    ld.param.u32 %r1, [step];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r2, %r2, {BLOCK}, %r3;
    mul.wide.u32 %d1, %r2, 4;
    add.u64 %d0, %d0, %d1;
    mad.lo.u32 %r4, %r2, %r1, %r0;
    mov.b32 %f0, %r4;
    {instruction} %f1, %f0;
    st.global.f32 [%d0], %f1;
    ret;
}}
"""


def errors(instruction: str, bits: Any, got: Any) -> tuple[Any, float]:
    """Where results are wrong (an array of bool), and the largest error of the others in units of the accuracy."""
    f, ftz = FUNCTIONS[instruction], ".ftz" in instruction
    with np.errstate(all="ignore"):
        x = bits.view(np.float32).astype(np.float64)
        if ftz:
            x = np.where(np.abs(x) < LEAST_NORMAL, np.copysign(0.0, x), x)
        want = f.value(x)
        y = got.view(np.float32).astype(np.float64)
        allowed = np.maximum(f.relative * np.abs(want), f.absolute)
        # A result that is itself subnormal has its own steps; a scaled one is rounded twice.
        least = LEAST_NORMAL if ftz else 2 * LEAST
        error = np.abs(y - want)
        near = (error <= allowed) | ((np.abs(want) < LEAST_NORMAL) & (error <= least))
        near |= (np.abs(want) * (1 + f.relative) > LARGEST) & np.isinf(y) & (np.sign(y) == np.sign(want))
        near |= (np.isnan(want) & np.isnan(y)) | (np.isinf(want) & (y == want))
        given = np.abs(x) <= f.largest
        near = np.where(given | ~np.isfinite(x), near, np.abs(y) <= 1)
        if ftz:
            near &= (y == 0) | ~(np.abs(y) < LEAST_NORMAL)
        counted = near & given & np.isfinite(want) & (np.abs(want) >= LEAST_NORMAL) & np.isfinite(y)
        worst = float(np.max(np.where(counted, error / allowed, 0.0), initial=0.0))
    return ~near, worst


def judge(
    instruction: str, arch: str, step: int, image: Any = None, subnormal: bool = True, **options: Any
) -> dict[str, Any]:
    """The line of results of an instruction; `subnormal`: with all subnormal inputs, whatever the step."""
    if image is None:
        image = load(orias.compile(program(instruction), arch=arch).data)
    line: dict[str, Any] = {"function": instruction, "arch": arch, "step": step, "inputs": 0, "worst": 0.0, "wrong": []}
    first = zlib.crc32(instruction.encode()) % step
    parts = [(first + step * at, step) for at in range(0, (1 << 32) // step, TOGETHER)]
    if step > 1 and subnormal:
        parts += [(sign + at, 1) for sign in (0, 1 << 31) for at in range(0, 1 << 23, TOGETHER)]
    for base, stride in parts:
        count = min(TOGETHER, ((1 << 32) - base + stride - 1) // stride)
        bits = (np.arange(count, dtype=np.uint64) * stride + base).astype(np.uint32)
        got = np.zeros(-(-count // BLOCK) * BLOCK, np.uint32)
        image.launch("k", len(got) // BLOCK, BLOCK, [got, np.uint32(base), np.uint32(stride)], **options)
        got = got[:count]
        bad, worst = errors(instruction, bits, got)
        line["inputs"] += count
        line["worst"] = max(line["worst"], worst)
        if bad.any():
            line["wrong"] += [f"{int(bits[k]):#010x}: {int(got[k]):#010x}" for k in np.flatnonzero(bad)[:3]]
            break
    return line


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m tools.judge.approximate")
    p.add_argument("results", type=Path)
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--match", default="")
    p.add_argument("--step", type=int, default=64)
    p.add_argument("--until", default="")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    done = {(x["function"], x["arch"], x["step"]) for x in lines}
    names = [n for n in FUNCTIONS if a.match in n]
    bar, end = Bar(a.quiet or a.json), moment(a.until)
    with a.results.open("a") as out:
        for k, name in enumerate(names):
            if time.time() > end:
                break
            if (name, a.arch, a.step) in done:
                continue
            bar(k, len(names), name)
            start = time.process_time()
            line = judge(name, a.arch, a.step)
            line["seconds"] = round(time.process_time() - start, 1)
            lines.append(line)
            out.write(json.dumps(line) + "\n")
            out.flush()
    if a.json:
        print(json.dumps(lines))
    else:
        print("| function | target | inputs | largest error by the accuracy given | wrong |")
        print("|---|---|---|---|---|")
        for x in lines:
            wrong = ", ".join(x["wrong"]) or "none"
            print(f"| `{x['function']}` | {x['arch']} | {x['inputs']:,} | {x['worst']:.3f} | {wrong} |")
    return 1 if any(x["wrong"] for x in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
