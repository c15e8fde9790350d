"""One-instruction programs made of real ones: does Orias accept and refuse what ptxas does, with the same message?

usage: python -m tools.front_end.one_line [--count N] [--seed N] [--seconds S] [--arch sm_75,...] [--mutations N] [--out FILE.jsonl] CORPUS

Instructions are taken from the PTX files of a corpus, not from Orias's own tables.  Each program has one of them, most often changed:
modifiers dropped, added, exchanged, operands of another kind, type or number, another PTX version, another of the 23 targets.  Prints how
often verdict and first message agree, and the disagreements by class; --out keeps them, a JSON object a line.
"""

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import orias
from orias.diag import CompileError
from orias.progress import Bar
from tests.nvtools import find

TARGETS = [
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_100f",
    "sm_103",
    "sm_103a",
    "sm_103f",
    "sm_110",
    "sm_110a",
    "sm_110f",
    "sm_120",
    "sm_120a",
    "sm_120f",
    "sm_121",
    "sm_121a",
    "sm_121f",
]
VERSIONS = ["6.3", "7.0", "7.1", "7.4", "7.8", "8.0", "8.3", "8.6", "8.7", "8.8", "9.0"]
TYPES = ["pred", "b16", "u16", "s16", "f16", "f16x2", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"]
SKIPPED = {"bra", "brx", "call", "ret", "exit"}
_TIMEOUT = 30


class Line(NamedTuple):
    """An instruction: the parts of its opcode and its operands, with registers named by type."""

    opcode: tuple[str, ...]
    operands: tuple[str, ...]


def harvest(folder: Path) -> list[Line]:
    """The different instructions of all PTX files under a folder, registers and variables renamed; sorted."""
    found: set[Line] = set()
    for path in sorted(folder.rglob("*.ptx")):
        text = path.read_text(errors="replace")
        kinds: dict[str, str] = {}
        for type_, names in re.findall(r"\.reg\s+\.(\w+)\s+([^;]+);", text):
            for name in names.split(","):
                kinds[name.strip().split("<")[0]] = type_
        spaces = {
            name: space
            for space, name in re.findall(r"\.(shared|global|const|local)\s[^;={]*?([\w$]+)\s*(?:\[|=|;)", text)
        }
        for opcode, rest in re.findall(
            r"^\s*(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:][\w:]+)*)\s+([^;{}]*(?:\{[^;]*)?);", text, re.M
        ):
            parts = tuple(opcode.split("."))
            if parts[0] in SKIPPED or len(rest) > 200:
                continue
            line = Line(parts, tuple(_split(_renamed(rest, kinds, spaces))))
            if not re.search(
                r"%(?![a-z]+\d*_\d|tid|ctaid|ntid|nctaid|laneid|warpid|clock|smid|lanemask|cluster|dynamic|total)",
                " ".join(line.operands),
            ):
                found.add(line)
    return sorted(found)


def _renamed(text: str, kinds: dict[str, str], spaces: dict[str, str]) -> str:
    """Operands with registers as ``%type_N`` and variables as ``var_space``."""
    numbers: dict[str, int] = {}

    def one(match: re.Match[str]) -> str:
        name = match.group(0)
        stem = re.sub(r"\d+$", "", name)
        type_ = kinds.get(name) or kinds.get(stem)
        if type_:
            return f"%{type_}_{numbers.setdefault(name, len(numbers)) % 10}"
        if name in spaces:
            return f"var_{spaces[name]}"
        return "var_param" if "param" in name and not name.startswith("%") else name

    return re.sub(r"%?[A-Za-z_$][\w$]*", one, text)


def _split(text: str) -> list[str]:
    """Operands at the commas outside of brackets."""
    out, depth, now = [], 0, ""
    for c in text:
        depth += (c in "{[(" and 1) or 0
        depth -= (c in "}])" and 1) or 0
        if c == "," and depth == 0:
            out.append(now.strip())
            now = ""
        else:
            now += c
    return [*out, now.strip()] if now.strip() else out


class Maker:
    """Makes programs from harvested lines; the same seed makes the same programs."""

    def __init__(self, lines: list[Line], seed: int, targets: list[str], most: int) -> None:
        self.lines = lines
        self.random = random.Random(seed)
        self.targets = targets
        self.most = most
        self.by_name: dict[str, list[Line]] = {}
        for x in lines:
            self.by_name.setdefault(x.opcode[0], []).append(x)
        self.names = sorted(self.by_name)
        self.modifiers = sorted({m for x in lines for m in x.opcode[1:]})

    def program(self) -> tuple[str, str, str]:
        """(target, instruction, PTX text)."""
        r = self.random
        line = r.choice(self.by_name[r.choice(self.names)])
        for _ in range(r.choice([0, *range(1, self.most + 1)])):
            line = self._mutated(line)
        guard = r.choice(["", "", "", "", "@%pred_9 ", "@!%pred_9 "])
        text = f"{guard}{'.'.join(line.opcode)} {', '.join(line.operands)};"
        target = r.choice(self.targets)
        version = "9.0" if r.random() < 0.7 else r.choice(VERSIONS)
        used = [t for t in TYPES if f"%{t}_" in text]
        registers = "\n".join(f" .reg .{t} %{t}_<10>;" for t in used)
        return (
            target,
            text,
            f".version {version}\n.target {target}\n.address_size 64\n"
            ".global .align 16 .b8 var_global[1024];\n.const .align 16 .b8 var_const[1024];\n"
            ".visible .entry k(.param .align 16 .b8 var_param[64])\n{\n"
            f"{registers}\n .shared .align 16 .b8 var_shared[1024];\n .local .align 16 .b8 var_local[64];\n {text}\n ret;\n}}\n",
        )

    def _mutated(self, line: Line) -> Line:
        r = self.random
        opcode, operands = list(line.opcode), list(line.operands)
        kind = r.randrange(9)
        if kind == 0 and len(opcode) > 1:
            del opcode[r.randrange(1, len(opcode))]
        elif kind == 1:
            opcode.insert(r.randrange(1, len(opcode) + 1), r.choice(self.modifiers))
        elif kind == 2 and len(opcode) > 1:
            opcode[r.randrange(1, len(opcode))] = r.choice(self.modifiers)
        elif kind == 3 and len(opcode) > 1:
            other = r.choice(self.by_name[opcode[0]])
            if len(other.opcode) > 1:
                opcode[r.randrange(1, len(opcode))] = r.choice(other.opcode[1:])
        elif kind == 4 and len(opcode) > 2:
            a, b = r.sample(range(1, len(opcode)), 2)
            opcode[a], opcode[b] = opcode[b], opcode[a]
        elif kind == 5 and operands:
            operands[r.randrange(len(operands))] = self._operand()
        elif kind == 6 and operands and r.random() < 0.5:
            del operands[r.randrange(len(operands))]
        elif kind == 6:
            operands.insert(r.randrange(len(operands) + 1), self._operand())
        elif kind == 7 and operands:
            k = r.randrange(len(operands))
            operands[k] = re.sub(r"%[a-z]+\d*(x2)?_", lambda m: f"%{r.choice(TYPES)}_", operands[k], count=1)
        elif operands:
            other = r.choice(self.by_name[opcode[0]])
            if other.operands:
                operands[r.randrange(len(operands))] = r.choice(other.operands)
        return Line(tuple(opcode), tuple(operands))

    def _operand(self) -> str:
        r = self.random
        reg = f"%{r.choice(TYPES)}_{r.randrange(10)}"
        return r.choice(
            [reg, reg, reg, "0", "1", "-1", "0x1ffffffff", "32", "0f3F800000", "0d3FF0000000000000", "1.5", "_", "!%pred_1",
             "-" + reg, "%tid.x", "%clock64", "var_shared", "var_global", "var_param", f"[{reg}]", f"[{reg}+4]", "[var_shared]",
             "[var_global+8]", "[var_param]", f"{{{reg}, {reg}}}", "{%b32_1, %b32_2}", "{%b32_1, %b32_2, %b32_3, %b32_4}", "[4]", reg + ".x"]
        )  # fmt: skip


def theirs(ptxas: str, target: str, text: str, folder: Path) -> tuple[bool, str]:
    """(accepted, first message) of ptxas."""
    source = folder / "x.ptx"
    source.write_text(text)
    run = subprocess.run(
        [ptxas, "-arch", target, "-O0", str(source), "-o", str(folder / "x.cubin")],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    return run.returncode == 0, "" if run.returncode == 0 else _first(run.stderr + run.stdout)


def _first(said: str) -> str:
    """The first message with its line, without the file's name."""
    for line in said.splitlines():
        found = re.match(r"ptxas \S+, (line \d+); (?:error|fatal)\s*: (.*)", line) or re.match(
            r"ptxas ()(?:error|fatal)\s*: (.*)", line
        )
        if found:
            return f"{found[1]}: {found[2]}" if found[1] else found[2]
    return said.strip().splitlines()[0] if said.strip() else ""


def ours(target: str, text: str) -> tuple[bool, str]:
    """(accepted, first message) of Orias; an internal error is a message of its own."""
    try:
        orias.compile(text, arch=target, opt_level=0)
    except CompileError as e:
        first = next(d for d in e.diagnostics if d.severity in ("error", "fatal"))
        return False, f"line {first.line}: {first.message}" if first.line else first.message
    except Exception as e:
        return False, f"INTERNAL {type(e).__name__}: {e}"
    return True, ""


def classify(mine: tuple[bool, str], real: tuple[bool, str]) -> str:
    """The class of a disagreement, or ``same``."""
    if mine[1].startswith("INTERNAL"):
        return "internal error"
    if mine[0] and not real[0]:
        return "wrong accept"
    if real[0] and not mine[0]:
        return "wrong refusal"
    return "same" if mine[1] == real[1] else "other message"


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison; `arguments`: those of the command line unless given."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("corpus", type=Path)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=1e9)
    options.add_argument("--mutations", type=int, default=2)
    options.add_argument("--arch", default=",".join(TARGETS))
    options.add_argument("--out", type=Path)
    o = options.parse_args(arguments)
    ptxas = find("ptxas")
    if ptxas is None:
        raise SystemExit("there is no ptxas (pip install '.[test]')")
    maker = Maker(harvest(o.corpus), o.seed, o.arch.split(","), o.mutations)
    counts: Counter[str] = Counter()
    end = time.monotonic() + o.seconds
    kept = o.out.open("a") if o.out else None
    bar = Bar()
    with tempfile.TemporaryDirectory() as folder:
        for done in range(o.count):
            if time.monotonic() > end:
                break
            target, line, text = maker.program()
            try:
                real = theirs(ptxas, target, text, Path(folder))
            except subprocess.TimeoutExpired:
                counts["ptxas hangs"] += 1
                continue
            mine = ours(target, text)
            what = classify(mine, real)
            counts[what] += 1
            counts["accepted by ptxas"] += real[0]
            if what != "same" and kept:
                version = text.split("\n", 1)[0]
                kept.write(
                    json.dumps(
                        {
                            "class": what,
                            "target": target,
                            "version": version,
                            "line": line,
                            "ours": mine[1],
                            "ptxas": real[1],
                        }
                    )
                    + "\n"
                )
            bar(done + 1, o.count, line)
    total = sum(counts[k] for k in ("same", "wrong accept", "wrong refusal", "internal error", "other message"))
    wrong = counts["wrong accept"] + counts["wrong refusal"] + counts["internal error"]
    print(f"{total} programs, seed {o.seed}, {len(maker.lines)} different instructions: {dict(counts)}")
    print(
        f"verdict {100 * (total - wrong) / max(total, 1):.2f} %, verdict and first message {100 * counts['same'] / max(total, 1):.2f} %"
    )


if __name__ == "__main__":
    main()
