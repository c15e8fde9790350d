"""All inputs of instructions with at most 32 bits of input: our code in the simulator against C on the host.

usage: python -m tools.judge.every_input.campaign RESULTS.jsonl [--arch sm_NN] [--match PATTERN] [--bits N] [--most N] [--launches] [--record] [--until HH:MM] [--json] [--quiet]

Instructions that compile to the same code run once, and each is judged on the results.  Code without branches runs as one C function of the
simulator's steps (direct.py), other code in launches.  ``--most``: where the inputs are 2^32, at most so many
of them, in equal steps.  A line of RESULTS for each instruction, with a hash of its code and of what the simulator is made of;
goes on where it was stopped, and leaves out what done.txt has with the same code; ``--record`` adds to it what is right for all inputs.  After a run with ``--most`` a longer one knows which code is the same and takes what cost least first.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import orias
from orias.diag import CompileError
from orias.progress import Bar
from orias.sim import SimError, load
from tools.judge.clock import moment
from tools.judge.every_input import done
from tools.judge.every_input.direct import Direct, Outputs, Unknown, direct, functions
from tools.judge.every_input.host import Check, checks, host_code, wrong_inputs
from tools.judge.every_input.instructions import BLACKWELL, Instruction, instructions
from tools.judge.every_input.kernel import Planes, module
from tools.judge.every_input.straight import NotStraight

RANGE: Final = 1 << 22
"""Inputs of one launch where there are 2^32."""
CLOSE: Final = 1 << 16
"""Inputs of one call of a function: as many as the second cache of a processor holds."""
TOGETHER: Final = 32
"""Instructions that are compiled together."""
FEW: Final = 1 << 24
"""Up to so many inputs the checks are compiled together, and fast: that costs more than their runs."""
_TREE: Final = Path(__file__).resolve().parents[3]


class Group(NamedTuple):
    """Instructions with the same code, the code, and what it is a hash of."""

    members: list[Instruction]
    code: str
    image: Any = None
    direct: Direct | None = None

    @property
    def together(self) -> int:
        """Inputs of one range."""
        return CLOSE if self.direct else RANGE


@cache
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
    """A hash of a cubin, which has no name of the instruction in it, and of what else its results depend on."""
    return hashlib.sha256(data + name.encode()).hexdigest()[:12]


def ranges(bits: int, most: int, together: int) -> Iterator[tuple[int, int, int]]:
    """First input, stride and number of inputs of the launches: all 2^bits, or `most` of them at an odd stride, so that all bits change."""
    if bits <= 16:
        yield 0, 1, 1 << 16
        return
    whole = 1 << bits
    stride = 1 if most >= whole else whole // most - 1 | 1
    for at in range(0, min(most, whole), together):
        yield at * stride % whole, stride, min(together, most - at)


def run(group: Group, tests: list[Check], most: int) -> list[dict[str, Any]]:
    """Runs all inputs of a group; number of inputs and wrong ones of each member."""
    first = group.members[0]
    size = max(1 << 16, min(group.together, most)) if first.bits > 16 else 1 << 16
    planes: Planes | Outputs
    if group.direct is not None:
        planes = Outputs(functions([group.direct])[0], size)
    else:
        planes = Planes(group.image, first.outs, size)
    lines: list[dict[str, Any]] = [{"inputs": 0, "wrong": 0, "first": []} for _ in group.members]
    for base, stride, count in ranges(first.bits, most, group.together):
        places = planes.run(base, stride, count)
        for check, line in zip(tests, lines, strict=True):
            n, some = wrong_inputs(check, base, stride, count, places)
            line["inputs"] += count
            line["wrong"] += n
            line["first"] += [hex(x) for x in some[: 8 - len(line["first"])]]
    return lines


def judge(group: Group, tests: list[Check], most: int, arch: str) -> list[dict[str, Any]]:
    """The lines of results of a group."""
    start = time.process_time()
    try:
        results = run(group, tests, most)
    except SimError as e:
        results = [{"inputs": 0, "wrong": 0, "first": [str(e)[:200]]} for _ in group.members]
    seconds = round(time.process_time() - start, 2)
    lines = []
    for i, line in zip(group.members, results, strict=True):
        same = {"same code as": group.members[0].name} if i is not group.members[0] else {}
        lines.append(
            {
                "instruction": i.name,
                "arch": i.arch or arch,
                "bits": i.bits,
                **line,
                **same,
                "seconds": seconds,
                "code": group.code,
                "host": host_code(i),
            }
        )
    return lines


def groups(chosen: list[Instruction], arch: str, launches: bool, out: Callable[[dict[str, Any]], None]) -> list[Group]:
    """The instructions by their code; refusals are written to `out`."""
    found: dict[str, Group] = {}
    for i in chosen:
        target = i.arch or arch
        try:
            group = _group(i, target, launches)
        except CompileError as e:
            none = {"instruction": i.name, "arch": target, "bits": i.bits, "inputs": 0, "wrong": 0}
            out({**none, "refused": str(e)[:200]})
            continue
        found.setdefault(group.code, group).members.append(i)
    return list(found.values())


def _group(i: Instruction, target: str, launches: bool) -> Group:
    """A group of no members yet, for an instruction's code."""
    if not launches:
        try:
            made = direct(i, target)
            return Group([], code=f"{made.code}.{i.bits}", direct=made)
        except (NotStraight, Unknown):
            pass
    data = orias.compile(module(i, target), arch=target).data
    return Group([], code=code_of(data, f"{target} {i.bits} {semantics()}"), image=load(data))


def parts(chosen: list[Instruction], earlier: dict[str, dict[str, Any]]) -> list[list[Instruction]]:
    """Instructions whose code an earlier and shorter run found to be the same, those that took least time first; the others before them."""
    by_code: dict[str, list[Instruction]] = defaultdict(list)
    for i in chosen:
        by_code[earlier[i.name]["code"] if i.name in earlier else ""].append(i)
    new = by_code.pop("", [])
    known = sorted(by_code.values(), key=lambda some: float(earlier[some[0].name]["seconds"]))
    by_bits = [[i for i in new if (i.bits > 16) == wide] for wide in (False, True)]
    return [some[k : k + TOGETHER] for some in by_bits for k in range(0, len(some), TOGETHER)] + known


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m tools.judge.every_input.campaign")
    p.add_argument("results", type=Path)
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--match", default="")
    p.add_argument("--bits", type=int, default=0)
    p.add_argument("--most", type=int, default=1 << 32)
    p.add_argument("--launches", action="store_true", help="no functions: the whole simulator")
    p.add_argument("--record", action="store_true", help="write results that cover all inputs to done.txt")
    p.add_argument("--until", default="")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    number = int(a.arch[3:].rstrip("af"))
    inputs = {16: 1 << 16, 32: a.most}
    here = {(x["instruction"], x["arch"]) for x in lines if "refused" in x or x["inputs"] >= inputs[x["bits"]]}
    chosen = [
        i for i in instructions()
        if re.search(a.match, i.name) and (i.sm <= number or i.arch) and a.bits in (0, i.bits) and (i.name, i.arch or a.arch) not in here
    ]  # fmt: skip
    earlier = {x["instruction"]: x for x in lines if "code" in x and x["arch"] in (a.arch, BLACKWELL)}
    bar, end = Bar(a.quiet or a.json), moment(a.until)
    at, known = commit(), done.read()
    with a.results.open("a") as file:

        def out(line: dict[str, Any]) -> None:
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()

        ready = 0
        for some in parts(chosen, earlier):
            if time.time() > end:
                break
            bar(ready, len(chosen), some[0].name)
            found = groups(some, a.arch, a.launches, out)
            for group in found:
                whole = a.most >= 1 << group.members[0].bits
                group.members[:] = [
                    i for i in group.members
                    if not whole or known.get((i.name, i.arch or a.arch)) != (group.code, host_code(i))
                ]  # fmt: skip
            found = [group for group in found if group.members]
            some = [i for group in found for i in group.members]
            if not some:
                continue
            many = a.most <= FEW or some[0].bits <= 16
            tests = dict(zip((i.name for i in some), checks(some, optimise=not many), strict=True))
            for group in found:
                if time.time() > end:
                    break
                bar(ready, len(chosen), group.members[0].name)
                for line in judge(group, [tests[i.name] for i in group.members], a.most, a.arch):
                    out({**line, "commit": at})
                ready += len(group.members)
    if a.record:
        done.record(lines)
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for x in lines:
        key = x["instruction"], x["arch"]
        if key not in best or x["inputs"] >= best[key]["inputs"]:
            best[key] = x
    last = list(best.values())
    wrong = [x for x in last if x["wrong"] or not x["inputs"]]
    if a.json:
        print(json.dumps(last))
    else:
        for bits in (16, 32):
            mine = [x for x in last if x["bits"] == bits]
            whole = sum(x["inputs"] == 1 << bits for x in mine)
            total = f"{sum(x['inputs'] for x in mine):,} inputs, {sum(x['wrong'] for x in mine)} wrong"
            print(f"{len(mine)} instructions with {bits} bits of input, {whole} of them with all: {total}")
        for x in wrong:
            print(x)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
