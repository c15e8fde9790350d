"""Front end beside ptxas: verdict, first message and whole text on generated programs.

usage: python -m tools.front_end.compare {instructions,odd,several,operands,directives,features,mutants} [--count N] [--seed N] [--first N] [--seconds S] [--arch sm_75,...]
           [--mutations N] [--corpus DIR] [--cache FILE] [--out FILE.jsonl] [--clusters N]

odd: right instructions with one odd thing in each (tools/front_end/odd.py).
several: two to four faults in one program (tools/front_end/several.py).
operands: each operand of each opcode exchanged for each other kind (tools/front_end/operand_sweep.py), from number --first on.
mutants: mild mutants (tools/mutants.py) of the PTX files of at most 20 KB below --corpus, for their own targets where --arch has them.
Prints how often they agree, and the disagreements in clusters with a short example each; --out keeps them, a JSON object a line;
--cache keeps ptxas's answers.
"""

import argparse
import hashlib
import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import orias
from orias.diag import CompileError, Diagnostic
from orias.progress import Bar
from orias.ptx.names import NAMES, WORDS
from orias.target.own_target import own_target
from orias.target.profile import TARGETS
from tests.nvtools import find
from tools.front_end import directives, instructions, odd, operand_sweep, several
from tools.front_end.instructions import Program
from tools.mutants import mutant

_TIMEOUT = 30
_MOST = 50
"""Programs in one module."""
_LARGEST = 20_000
"""Bytes of a file that is changed: larger ones say the same again."""
_MESSAGE = re.compile(r"ptxas (?:.+?, line (\d+); )?(info|warning|error|fatal)\s*: (.*)")
_CURRENT = "; current version is "
"""What follows is the newest version, which differs between releases."""
_LATER_VERSION = re.compile(r"Unsupported \.version 9\.[1-5];")
_NOT_MESSAGES = "Ptx assembly aborted"
KINDS = ("internal error", "wrong accept", "wrong refusal", "other first message", "other text", "same")


class Answer(NamedTuple):
    """What an assembler says: whether it accepts, and its messages, each as ``severity line: text``."""

    accepted: bool
    messages: list[str]

    def first(self) -> str:
        """The first error."""
        return next((m for m in self.messages if m.startswith(("error", "fatal"))), "")


class Judge:
    """ptxas with a time limit and a file of its answers."""

    def __init__(self, cache: Path | None) -> None:
        tool = find("ptxas")
        if tool is None:
            raise SystemExit("there is no ptxas (pip install '.[test]')")
        self.tool = tool
        self.known: dict[str, Answer | None] = {}
        if cache is not None and cache.exists():
            for text in cache.read_text().splitlines():
                key, answer = json.loads(text)
                self.known[key] = Answer(*answer) if answer else None
        self.kept = cache.open("a") if cache else None

    def answers(self, block: list[Program]) -> list[Answer | None]:
        """What ptxas says of programs with one target and head; None where it crashes or takes too long."""
        keys = [hashlib.sha1(f"{p.target}\n{p.text}".encode()).hexdigest() for p in block]
        fresh = {k: p for k, p in zip(keys, block, strict=True) if k not in self.known}
        if fresh:
            with tempfile.TemporaryDirectory() as folder:
                found = self._together(list(fresh.values()), Path(folder))
            for key, answer in zip(fresh, found, strict=True):
                self._keep(key, answer)
        return [self.known[key] for key in keys]

    def alone(self, program: Program) -> Answer | None:
        """What ptxas says of a program in a module of its own."""
        key = hashlib.sha1(f"alone {program.target}\n{program.text}".encode()).hexdigest()
        if key not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                self._keep(key, self._asked(program, Path(folder)))
        return self.known[key]

    def takes(self, all_: list[Program]) -> list[bool]:
        """Which of some programs with one target and head ptxas takes."""
        answers = [a for k in range(0, len(all_), _MOST) for a in self.answers(all_[k : k + _MOST])]
        return [a is not None and a.accepted for a in answers]

    def _keep(self, key: str, answer: Answer | None) -> None:
        self.known[key] = answer
        if self.kept:
            self.kept.write(json.dumps([key, answer]) + "\n")
            self.kept.flush()

    def _together(self, block: list[Program], folder: Path) -> list[Answer | None]:
        """Asks for all in one module.  What a syntax error ends or an error makes incomplete is asked again without the wrong ones."""
        found: list[Answer | None] = [None] * len(block)
        active = list(range(len(block)))
        while len(active) > 1:
            answer = self._asked(_module([block[i] for i in active]), folder)
            if answer is None:
                break
            parts, others = _parts([block[i] for i in active], answer.messages)
            if others:
                break
            fatal = [k for k, messages in enumerate(parts) if any(m.startswith("fatal") for m in messages)]
            if fatal:
                k = fatal[0]
                found[active[k]] = Answer(False, parts[k])
                del active[k]
                continue
            wrong = [any(m.startswith("error") for m in messages) for messages in parts]
            if answer.accepted == any(wrong):
                break
            for i, messages, is_wrong in zip(active, parts, wrong, strict=True):
                if is_wrong or answer.accepted:
                    found[i] = Answer(not is_wrong, messages)
            active = [] if answer.accepted else [i for i, is_wrong in zip(active, wrong, strict=True) if not is_wrong]
        for i in active:
            found[i] = self._asked(block[i], folder)
        return found

    def _asked(self, program: Program, folder: Path) -> Answer | None:
        source = folder / "x.ptx"
        source.write_bytes(program.text.encode())
        command = [self.tool, "-arch", program.target, "-O0", str(source), "-o", str(folder / "x.cubin")]
        try:
            run = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return None
        if run.returncode not in (0, 255):
            return None
        said = (run.stderr + run.stdout).decode(errors="replace").replace(f"file '{source}'", "file '<ptx>'")
        if "Internal compiler error" in said or "Memory allocation failure" in said:
            return None
        found = [m for m in map(_MESSAGE.fullmatch, said.split("\n")) if m and not m[3].startswith(_NOT_MESSAGES)]
        return Answer(run.returncode == 0, [_message(m[2], int(m[1] or 0), m[3]) for m in found])


def _module(block: list[Program]) -> Program:
    """One program with the bodies of several, their kernels renamed."""
    bodies = [p.body.replace(" k(", f" k{i}(", 1) for i, p in enumerate(block)]
    return Program(block[0].target, "", block[0].head, "".join(bodies))


def _parts(block: list[Program], messages: list[str]) -> tuple[list[list[str]], list[str]]:
    """The messages on each program, with the lines they have in a module of their own; and those that belong to none."""
    top = block[0].head.count("\n")
    owners = [(i, k) for i, p in enumerate(block) for k in range(p.body.count("\n"))]
    parts: list[list[str]] = [[] for _ in block]
    others: list[str] = []
    for message in messages:
        severity, number, text = re.split(r" (?=\d)|: ", message, maxsplit=2)
        at = int(number) - top - 1
        if 0 <= at < len(owners):
            i, k = owners[at]
            parts[i].append(_message(severity, top + 1 + k, text))
        else:
            others.append(message)
    return parts, others


def _message(severity: str, line: int, text: str) -> str:
    return f"{severity} {line}: {text}"


def ours(program: Program) -> Answer:
    """What Orias says; an internal error is a message of its own."""
    try:
        said: list[Diagnostic] = orias.compile(program.text, arch=program.target, opt_level=0).diagnostics
    except CompileError as e:
        return Answer(False, [_message(d.severity, d.line, d.message) for d in e.diagnostics])
    except Exception as e:
        return Answer(False, [f"INTERNAL {type(e).__name__}: {e}"])
    return Answer(True, [_message(d.severity, d.line, d.message) for d in said])


def classify(mine: Answer, real: Answer) -> str:
    """One of KINDS."""
    mine, real = (Answer(a.accepted, [m.partition(_CURRENT)[0] for m in a.messages]) for a in (mine, real))
    if any("Internal error" in m or m.startswith("INTERNAL") for m in mine.messages):
        return "internal error"
    if mine.accepted != real.accepted:
        return "wrong accept" if mine.accepted else "wrong refusal"
    if mine.first() != real.first():
        return "other first message"
    return "same" if mine.messages == real.messages else "other text"


_UNKNOWN = re.compile(r"(?:Unknown modifier|Not a name of any known instruction:) '\.?(.+?)'")
_HEADS = {part for name in NAMES for part in name.split(".")}


def is_later(mine: Answer, real: Answer) -> bool:
    """Whether both refuse a program for what a release after ptxas's brought: it knows no such word, or Orias names the version."""
    if _LATER_VERSION.search(real.first()):
        return True
    if mine.accepted or real.accepted:
        return False
    if any(re.search(r"requires PTX ISA \.version 9\.[1-9] or later", m) for m in mine.messages):
        return True
    strange = [set(_UNKNOWN.findall("\n".join(a.messages))) for a in (mine, real)]
    return any(w in WORDS or w in _HEADS for w in strange[1] - strange[0])


def cluster(kind: str, mine: Answer, real: Answer) -> str:
    """A name for disagreements with one cause: the first messages that differ, without numbers and names."""
    if kind == "other first message":
        pair = (mine.first(), real.first())
    else:
        a, b = (
            [m for m in mine.messages if m not in real.messages],
            [m for m in real.messages if m not in mine.messages],
        )
        pair = (a[0] if a else "-", b[0] if b else "-") if a or b else ("order", "order")
    return " / ".join(re.sub(r"'[^']*'", "'*'", re.sub(r" \d+:", "", m)) for m in pair)


def programs(o: argparse.Namespace, judge: Judge) -> Iterator[Program]:
    """The programs that the options ask for."""
    targets = tuple(o.arch.split(","))
    if o.what == "features":
        for target in targets:
            for feature, text in instructions.features():
                yield Program(target, feature, instructions.head("9.0", target), instructions.kernel(text))
        return
    if o.what == "operands":
        yield from operand_sweep.programs(instructions.lines(o.corpus), judge.takes, o.first, o.count)
        return
    if o.what == "mutants":
        yield from _mutants(o.corpus, o.seed, targets, o.count)
        return
    maker: instructions.Maker | directives.Maker | odd.Maker | several.Maker
    if o.what == "odd":
        maker = odd.Maker(instructions.lines(o.corpus), o.seed, targets)
    elif o.what == "several":
        maker = several.Maker(instructions.lines(o.corpus), o.seed, targets)
    elif o.what == "directives":
        maker = directives.Maker(o.seed, targets, o.mutations)
    else:
        maker = instructions.Maker(instructions.lines(o.corpus), o.seed, targets, o.mutations)
    for _ in range(o.count):
        yield maker.program()


def _mutants(folder: Path, seed: int, targets: tuple[str, ...], count: int) -> Iterator[Program]:
    """Texts with one to three mild changes."""
    paths = [p for p in sorted(folder.rglob("*.ptx")) if 0 < p.stat().st_size <= _LARGEST]
    for n in range(count):
        r = random.Random(seed << 32 | n)
        path = r.choice(paths)
        data = path.read_text(encoding="ascii", errors="ignore").encode()
        own = own_target(data.decode())
        target = own if own in targets else r.choice(targets)
        yield Program(target, f"mutant {n} of {path.name}", "", mutant(data, r, "mild").decode())


def _blocks(all_: Iterator[Program]) -> Iterator[list[Program]]:
    """The programs in lists of those that follow each other with one target and head."""
    for _, members in groupby(all_, lambda p: (p.target, p.head)):
        found = list(members)
        together = _MOST if found[0].body.startswith(instructions.KERNEL) else 1
        yield from (found[k : k + together] for k in range(0, len(found), together))


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument(
        "what", choices=("instructions", "odd", "several", "operands", "directives", "features", "mutants")
    )
    options.add_argument("--corpus", type=Path)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seconds", type=float, default=1e9)
    options.add_argument("--mutations", type=int, default=2)
    options.add_argument("--arch", default=",".join(TARGETS))
    options.add_argument("--cache", type=Path)
    options.add_argument("--out", type=Path)
    options.add_argument("--clusters", type=int, default=30)
    return options.parse_args(given)


def main(given: list[str] | None = None) -> Counter[str]:
    """Run the comparison; the counts of KINDS."""
    o = arguments(given)
    judge = Judge(o.cache)
    counts: Counter[str] = Counter()
    clusters: dict[tuple[str, str], list[tuple[Program, Answer, Answer]]] = {}
    end = time.monotonic() + o.seconds
    bar = Bar()
    done = 0
    for block in _blocks(programs(o, judge)):
        if time.monotonic() > end:
            break
        for program, real in zip(block, judge.answers(block), strict=True):
            done += 1
            bar(done, o.count, program.about[:40])
            if real is None:
                counts["ptxas fails"] += 1
                continue
            mine = ours(program)
            kind = classify(mine, real)
            if kind != "same" and len(block) > 1:  # one program of a module may change what ptxas says of another
                real = judge.alone(program)
                if real is None:
                    counts["ptxas fails"] += 1
                    continue
                kind = classify(mine, real)
            if kind != "same" and is_later(mine, real):
                counts["of later releases"] += 1
                continue
            counts[kind] += 1
            counts["accepted by ptxas"] += real.accepted
            if kind != "same":
                clusters.setdefault((kind, cluster(kind, mine, real)), []).append((program, mine, real))
    _report(o, counts, clusters)
    return counts


def _report(
    o: argparse.Namespace, counts: Counter[str], clusters: dict[tuple[str, str], list[tuple[Program, Answer, Answer]]]
) -> None:
    order = sorted(clusters.items(), key=lambda c: (KINDS.index(c[0][0]), -len(c[1])))
    for (kind, name), members in order[: o.clusters]:
        program, mine, real = min(members, key=lambda m: len(m[0].text))
        print(
            f"{len(members):5} {kind}: {name}\n      {program.target} {program.text.split(chr(10), 1)[0]} {program.about!r}"
        )
    if o.out:
        with o.out.open("w") as kept:
            for (kind, name), members in order:
                for program, mine, real in members:
                    row = {
                        "kind": kind,
                        "cluster": name,
                        "size": len(members),
                        "target": program.target,
                        "about": program.about,
                    }
                    kept.write(
                        json.dumps({**row, "ours": mine.messages, "ptxas": real.messages, "text": program.text}) + "\n"
                    )
    total = max(sum(counts[k] for k in KINDS), 1)
    wrong = sum(counts[k] for k in KINDS[:3])
    first = wrong + counts["other first message"]
    print(f"{total} {o.what}, seed {o.seed}: {dict(counts)}")
    print(
        f"verdict {100 * (total - wrong) / total:.2f} %, and first message {100 * (total - first) / total:.2f} %,"
        f" whole text {100 * counts['same'] / total:.2f} %"
    )


if __name__ == "__main__":
    main()
