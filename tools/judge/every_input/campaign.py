"""All inputs of instructions with at most 32 bits of input: our code in the simulator against C on the host.

usage: python -m tools.judge.every_input.campaign RESULTS.jsonl [--arch sm_NN] [--match TEXT] [--bits N] [--most N] [--until HH:MM] [--json] [--quiet]

Instructions that compile to the same code run once, and each is judged on the results.  ``--most``: where the inputs are 2^32, at most so many
of them, in equal steps of whole ranges.  Those that cost least come first, as a short run of each says.  A line of RESULTS for each
instruction, with a hash of the code, of what the simulator is made of and of the host's side; goes on where it was stopped.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orias
from orias.diag import CompileError
from orias.progress import Bar
from orias.sim import SimError, load
from tools.judge.clock import moment
from tools.judge.every_input.host import Check, checks, wrong_inputs
from tools.judge.every_input.instructions import Instruction, instructions
from tools.judge.every_input.kernel import STEP, Planes, module

RANGE: Final = 1 << 22
"""Inputs of one launch where there are 2^32."""
FEW: Final = 1 << 24
"""Up to so many inputs the checks are compiled together, and fast: that costs more than their runs."""
_TREE: Final = Path(__file__).parents[3]


class Group(NamedTuple):
    """Instructions with the same code, the code, and nanoseconds per input."""

    members: list[Instruction]
    image: Any
    code: str
    cost: float


def semantics() -> str:
    """A hash of the files that say what code does in the simulator, and of this tool's kernels."""
    digest = hashlib.sha256()
    folders = (_TREE / "orias" / "sim", _TREE / "orias" / "semantics")
    files = [p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".c", ".h")]
    for path in sorted((*files, Path(__file__).with_name("kernel.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def commit() -> str:
    """The commit of the tree, with a mark where files differ from it."""
    done = subprocess.run(["git", "-C", str(_TREE), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip()


def code_of(data: bytes, name: str) -> str:
    """A hash of a cubin, which has no name of the instruction in it."""
    return hashlib.sha256(data + name.encode()).hexdigest()[:12]


def ranges(bits: int, most: int) -> Iterator[tuple[int, int]]:
    """First inputs and numbers of inputs of the launches: all 2^bits, or `most` of them in equal steps."""
    if bits <= 16:
        yield 0, 1 << 16
        return
    size = min(RANGE, most)
    parts = min(most, 1 << bits) // size
    for k in range(parts):
        yield k * ((1 << bits) // parts), size


def run(group: Group, tests: list[Check], most: int) -> list[dict[str, Any]]:
    """Runs all inputs of a group; number of inputs and wrong ones of each member."""
    first = group.members[0]
    size = max(1 << 16, min(RANGE, most)) if first.bits > 16 else 1 << 16
    planes = Planes(group.image, first.outs, size)
    lines: list[dict[str, Any]] = [{"inputs": 0, "wrong": 0, "first": []} for _ in group.members]
    for base, count in ranges(first.bits, most):
        places = planes.run(base, count)
        for check, line in zip(tests, lines, strict=True):
            n, some = wrong_inputs(check, base, count, places)
            line["inputs"] += count
            line["wrong"] += n
            line["first"] += [hex(x) for x in some[: 8 - len(line["first"])]]
    return lines


def groups(chosen: list[Instruction], arch: str, bar: Bar, out: Any) -> list[Group]:
    """The instructions by their code, cheapest first; refusals are written to `out`."""
    found: dict[str, list[Instruction]] = defaultdict(list)
    images: dict[str, Any] = {}
    for k, i in enumerate(chosen):
        bar(k, len(chosen), i.name)
        target = i.arch or arch
        try:
            data = orias.compile(module(i, target), arch=target).data
        except CompileError as e:
            out({"instruction": i.name, "arch": target, "refused": str(e)[:200]})
            continue
        code = code_of(data, f"{target} {i.bits}")
        found[code].append(i)
        images.setdefault(code, load(data))
    made = []
    for code, members in found.items():
        cost = 0.0
        if members[0].bits > 16:
            planes = Planes(images[code], members[0].outs, STEP)
            planes.run(0x3F000000, STEP)
            start = time.process_time()
            planes.run(0x3F000000, STEP)
            cost = (time.process_time() - start) / STEP * 1e9
        made.append(Group(members, images[code], code, cost))
    return sorted(made, key=lambda g: g.cost)


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m tools.judge.every_input.campaign")
    p.add_argument("results", type=Path)
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--match", default="")
    p.add_argument("--bits", type=int, default=0)
    p.add_argument("--most", type=int, default=1 << 32)
    p.add_argument("--until", default="")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    number = int(a.arch[3:].rstrip("af"))
    inputs = {16: 1 << 16, 32: a.most}
    done = {(x["instruction"], x["arch"]) for x in lines if "refused" in x or x["inputs"] >= inputs[x["bits"]]}
    chosen = [
        i for i in instructions()
        if a.match in i.name and (i.sm <= number or i.arch) and a.bits in (0, i.bits) and (i.name, i.arch or a.arch) not in done
    ]  # fmt: skip
    bar, end = Bar(a.quiet or a.json), moment(a.until)
    meaning, at = semantics(), commit()
    with a.results.open("a") as file:

        def out(line: dict[str, Any]) -> None:
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()

        todo = groups(chosen, a.arch, bar, out)
        small = [g for g in todo if g.members[0].bits <= 16 or a.most <= FEW]
        prepared: dict[str, Check] = {}
        for k in range(0, len(small), 64):
            members = [i for g in small[k : k + 64] for i in g.members]
            prepared |= dict(zip((i.name for i in members), checks(members, optimise=False), strict=True))
        for k, group in enumerate(todo):
            if time.time() > end:
                break
            bar(k, len(todo), group.members[0].name)
            start = time.process_time()
            try:
                tests = [prepared[i.name] for i in group.members] if group.members[0].name in prepared else checks(group.members)
                results = run(group, tests, a.most)
            except SimError as e:
                results = [{"inputs": 0, "wrong": 0, "first": [str(e)[:200]]} for _ in group.members]
            seconds = round(time.process_time() - start, 1)
            for i, line in zip(group.members, results, strict=True):
                same = {"same code as": group.members[0].name} if i is not group.members[0] else {}
                head = {"instruction": i.name, "arch": i.arch or a.arch, "bits": i.bits}
                tail = {"seconds": seconds, "code": group.code, "semantics": meaning, "commit": at}
                out({**head, **line, **same, **tail})
    wrong = [x for x in lines if x.get("wrong") or x.get("refused") or not x.get("inputs")]
    if a.json:
        print(json.dumps(lines))
    else:
        for bits in (16, 32):
            mine = [x for x in lines if x.get("bits") == bits]
            print(f"{len(mine)} instructions with {bits} bits of input: {sum(x['inputs'] for x in mine):,} inputs, {sum(x['wrong'] for x in mine)} wrong")
        for x in wrong:
            print(x)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
