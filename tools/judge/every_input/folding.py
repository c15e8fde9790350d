"""Inputs of instructions as the compiler's folder computes them, against C on the host.

usage: python -m tools.judge.every_input.folding RESULTS.jsonl [--arch sm_NN] [--match PATTERN] [--bits N] [--inputs N] [--until HH:MM] [--json] [--quiet]

An input of 16 bits takes all of its values.  One of 32 bits, or two of 16, take ``--inputs`` (4,096): the ends of every range of an exponent
or a power of two, and random ones, as many from each range of the highest eight bits.  A line of RESULTS for each instruction, with how many
of the inputs were folded; goes on where it was stopped.
"""

import argparse
import json
import random
import re
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from orias.diag import CompileError
from orias.progress import Bar
from tools.judge.clock import moment
from tools.judge.every_input.campaign import TOGETHER, commit
from tools.judge.every_input.folder import Folder
from tools.judge.every_input.host import BYTES, Check, checks, wrong_inputs
from tools.judge.every_input.instructions import Instruction, instructions
from tools.judge.every_input.straight import NotStraight

_TYPES: Final = {2: np.uint16, 4: np.uint32, 8: np.uint64, 1: np.uint8}


def inputs(i: Instruction, count: int) -> list[int]:
    """The inputs of an instruction: all of 16 bits, else edges and a stratified sample."""
    if i.bits == 16:
        return list(range(1 << 16))
    r = random.Random(i.name)
    edges = [
        0,
        1,
        0x7F,
        0x80,
        0x7FFF,
        0x8000,
        0x7FFFFF,
        0x800000,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        0x7F800000,
        0x7F800001,
        0xFF800000,
    ]
    words = [(e + d) & 0xFFFFFFFF for e in edges for d in (-1, 0, 1)]
    words += [((k << 23) + d) & 0xFFFFFFFF for k in range(0, 512, 4) for d in (-1, 0)]
    while len(words) < count:
        words += [top << 24 | r.getrandbits(24) for top in range(256)]
    return list(dict.fromkeys(words[:count]))


def judge(i: Instruction, check: Check, arch: str, words: list[int]) -> dict[str, Any]:
    """How many of some inputs are folded, and how many of these are wrong."""
    folder = Folder(i, arch)
    size = BYTES[i.outs[0]]
    mask = (1 << 8 * size) - 1
    results = [folder.result(word) for word in words]
    values = {word: value & mask for word, value in zip(words, results, strict=True) if value is not None}
    plane = np.array(list(values.values()), _TYPES[size])
    folded = list(values)
    if folded == list(range(len(folded))):
        wrong, bad = wrong_inputs(check, 0, 1, len(folded), [plane.ctypes.data])
    else:
        bad = [w for k, w in enumerate(folded) if wrong_inputs(check, w, 1, 1, [plane.ctypes.data + size * k])[0]]
        wrong = len(bad)
    first = [f"{word:#x}: {values[word]:#x}" for word in bad[:8]]
    return {"inputs": len(words), "folded": len(folded), "wrong": wrong, "first": first}


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m tools.judge.every_input.folding")
    p.add_argument("results", type=Path)
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--match", default="")
    p.add_argument("--bits", type=int, default=0)
    p.add_argument("--inputs", type=int, default=4096)
    p.add_argument("--until", default="")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    done = {(x["instruction"], x["arch"]) for x in lines}
    number = int(a.arch[3:].rstrip("af"))
    chosen = [
        i for i in instructions()
        if re.search(a.match, i.name) and (i.sm <= number or i.arch) and a.bits in (0, i.bits) and (i.name, i.arch or a.arch) not in done
    ]  # fmt: skip
    bar, end, at = Bar(a.quiet or a.json), moment(a.until), commit()
    tests: dict[str, Check] = {}
    with a.results.open("a") as file:
        for k, i in enumerate(chosen):
            if time.time() > end:
                break
            bar(k, len(chosen), i.name)
            if i.name not in tests:
                some = chosen[k : k + TOGETHER]
                tests = dict(zip((x.name for x in some), checks(some, optimise=False), strict=True))
            start = time.process_time()
            line: dict[str, Any] = {"instruction": i.name, "arch": i.arch or a.arch, "bits": i.bits, "commit": at}
            try:
                line |= judge(i, tests[i.name], i.arch or a.arch, inputs(i, a.inputs))
            except (NotStraight, CompileError) as e:
                line["left out"] = f"{type(e).__name__} {e}"[:200]
            line["seconds"] = round(time.process_time() - start, 1)
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()
    if a.json:
        print(json.dumps(lines))
    else:
        for bits in (16, 32):
            mine = [x for x in lines if x["bits"] == bits and "inputs" in x]
            whole = sum(x["folded"] == x["inputs"] for x in mine)
            total = f"{sum(x['inputs'] for x in mine):,} inputs, {sum(x['folded'] for x in mine):,} folded"
            print(
                f"{len(mine)} instructions with {bits} bits of input, {whole} folded at every input: {total}, {sum(x['wrong'] for x in mine)} wrong"
            )
        for x in lines:
            if x.get("wrong") or "left out" in x:
                print(x)
    return 1 if any(x.get("wrong") for x in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
