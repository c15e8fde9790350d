"""``python -m tools.capsules.refine TABLE``: every rule through nvlink; conditions are added where it changes an instruction.

For each rule: instructions with ordinary operands, then with each other class of each operand alone, then mixed.  The
classes that nvlink gives back unchanged become the conditions of the rule; a rule without any is dropped.  Rules of
branches, and others that are about places in the code, are not judged.
"""

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from orias.cubin.capsule.capsule_rules import Rules
from orias.cubin.capsule.signature import JOIN
from orias.isa.decode import Decoded
from orias.isa.op import F_BRANCH, F_CALL, F_RETURNS, F_TABLE_JUMP, op
from tools.capsules.finalising import FAMILY, Finaliser
from tools.capsules.instances import Member, classes, instance, members_of

_PLACES = F_BRANCH | F_CALL | F_RETURNS | F_TABLE_JUMP
_HANDLES = "C9"
_NOT_JUDGED = (
    "IMNMX",
    "BSSY",
    "BSYNC",
    "EXIT",
    "NOP",
    "WARPSYNC",
    "BREAK",
    "LEPC",
    "BPT",
    "BMOV",
    "YIELD",
    "BRX",
    "DEPBAR",
)
_STOCHASTIC = "RS"
"""Stochastic rounding, which PTX has for sm_100 and sm_103 only; nvlink gives nothing back on sm_121."""
_NOT_ON_100 = ("REDUX.MAX.S32 ", "REDUX.MIN.S32 ")
"""Operations of sm_120 that nvlink makes CREDUX on sm_100 to 110, which is what Orias writes there."""
_MIXED = 4
_RULES_AT_ONCE = 40
_CONDITIONS = {
    "rz": "", "r": "r", "z": "255",
    "PNTF": "", "PNT": "n", "PN": "r", "PT": "+", "P": "p", "T": "7", "F": "15",
    "lax": "", "l": "l", "a": "a",
}  # fmt: skip
"""The condition that allows a set of classes of a source."""
_SETS = tuple(_CONDITIONS)
_MOST_ROWS = 4


def with_addresses(line: str) -> str:
    """The rule of a group with the condition that addresses are registers: with RZ nvlink does not end (80 of 80 rules).

    It does for barriers in memory (21 of 21 rules).
    """
    left, _, right = line.partition("\t")
    if f" {JOIN} " not in left:
        return line
    members: list[str] = []
    for text in left.split(f" {JOIN} "):
        words = text.split()
        first = words.index("|") + 1
        any_address = words[0].startswith(("@", "SYNCS."))
        for a in () if any_address else op(words[0]).addr:
            if words[first + a + 1] == "R":
                words[first + a + 1] = "R=r"
        members.append(" ".join(words))
    return f" {JOIN} ".join(members) + "\t" + right


class Trial:
    """A rule under judgement: the classes of each operand that are tried, and results by classes.

    ``base``: the classes that the others are compared with; results are PT but the first.
    """

    def __init__(self, line: str, all_results: bool = False) -> None:
        """`all_results`: the base has predicates, not PT, in all results."""
        self.line = line
        self.left, _, self.right = line.partition("\t")
        self.members: list[Member] = members_of(self.left)
        self.tokens = [t for m in self.members for t in m.operands]
        self.options = [classes(t) for t in self.tokens]
        first = True
        self.base = ""
        for t, o in zip(self.tokens, self.options, strict=True):
            self.base += "T" if t.result and o == "PT" and not first and not all_results else o[0]
            first = False
        self.predicates = sum(t.result and o == "PT" for t, o in zip(self.tokens, self.options, strict=True))
        self.results: dict[str, list[str]] = {}
        self.texts: list[str] = []

    def add(self, chosen: str, why: str) -> None:
        """Note a result."""
        self.results.setdefault(chosen, []).append(why)

    def good(self, chosen: str) -> bool | None:
        """True if instructions of the classes come back; None if none was tried."""
        found = self.results.get(chosen)
        return None if not found else not any(found)

    def changed(self, *places: tuple[int, str]) -> str:
        """The base with other classes at places."""
        out = list(self.base)
        for j, c in places:
            out[j] = c
        return "".join(out)

    def others(self) -> list[tuple[int, str]]:
        """All classes of operands that are not in the base and do not fail alone."""
        places = [(j, c) for j, o in enumerate(self.options) for c in o if c != self.base[j]]
        return [x for x in places if self.good(self.changed(x)) is not False]

    def allowed(self) -> list[str]:
        """The classes of each operand that do not fail alone."""
        places = set(self.others())
        return ["".join(c for c in o if c == self.base[j] or (j, c) in places) for j, o in enumerate(self.options)]

    def rows(self) -> list[list[str]]:
        """Classes of each operand: sets that conditions can ask for, without pairs that fail together."""
        rows = [self.allowed()]
        places = self.others()
        for n, x in enumerate(places):
            for y in places[n + 1 :]:
                if x[0] == y[0] or self.good(self.changed(x, y)) is not False:
                    continue
                split: list[list[str]] = []
                for row in rows:
                    if x[1] in row[x[0]] and y[1] in row[y[0]]:
                        split += [_without(row, y), _without(row, x)]
                    else:
                        split.append(row)
                rows = split[:_MOST_ROWS]
        out: list[list[str]] = []
        for row in rows:
            if any(o[0] == "s" and len(set(row[j])) < len(o) for j, o in enumerate(self.options)):
                continue  # no condition asks for the size of an immediate
            choices = [self._sets(j, row[j]) for j in range(len(row))]
            for chosen in itertools.islice(itertools.product(*choices), _MOST_ROWS):
                r = list(chosen)
                if not any(all(set(a) <= set(b) for a, b in zip(r, other, strict=True)) for other in out):
                    out = [o for o in out if not all(set(a) <= set(b) for a, b in zip(o, r, strict=True))] + [r]
        return out

    def _sets(self, j: int, good: str) -> list[str]:
        """Sets of classes that a condition can ask for, largest first, and that together are the good ones."""
        o = self.options[j]
        if o[0] in "s-":
            return [good]
        out: list[str] = []
        left = set(good)
        while left:
            sets = [x for x in _SETS if set(x) <= set(good) and set(x) & left]
            if not sets:
                break
            out.append(max(sets, key=lambda x: len(set(x) & left)))
            left -= set(out[-1])
        return out

    def text(self, row: list[str]) -> str:
        """The rule for a row."""
        words: list[str] = []
        at, operation = 0, True
        for w in self.left.split():
            if operation or w in ("|", JOIN):
                words.append(w)
                operation = w == JOIN or w.startswith("@")
                continue
            found, o, t = row[at], self.options[at], self.tokens[at]
            same = o[0] in "s-" or set(found) == set(o)
            words.append(w if same else f"{t.text}={_CONDITIONS[found]}")
            at += 1
        return " ".join(words) + "\t" + self.right


def _without(row: list[str], place: tuple[int, str]) -> list[str]:
    out = list(row)
    out[place[0]] = out[place[0]].replace(place[1], "")
    return out


def _covers(one: list[Member], other: list[Member]) -> bool:
    """True if one left side holds wherever another does."""
    pairs = [(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x.operands, y.operands, strict=True)]
    return all(
        a == b or (a.condition != b.condition and set(classes(b)) <= set(classes(a)) and classes(b) != "-")
        for a, b in pairs
    )


class Judge:
    """Judges the rules of a table for a target."""

    def __init__(self, lines: list[str], arch: str, folder: Path, seed: int, drops: bool) -> None:
        self.drops = drops
        self.lines = lines
        self.rules = Rules(lines)
        self.finaliser = Finaliser(arch, self.rules, folder)
        self.rng = random.Random(seed)
        self.line_of: dict[int, str] = {}
        seen: Counter[str] = Counter()
        for line in lines:
            sig = " ".join(w.partition("=")[0] for w in line.partition("\t")[0].split())
            self.line_of[id(self.rules.of_signature(sig)[seen[sig]])] = line
            seen[sig] += 1

    def cases(self, trials: list[Trial], wanted: list[tuple[int, str, str]]) -> None:
        """Judge instructions: (number of the trial, classes, class of the guard)."""
        made: list[list[Decoded]] = []
        owners: list[tuple[Trial, str]] = []
        for i, chosen, guard in wanted:
            t = trials[i]
            found = instance(t.members, chosen, guard, self.finaliser.table, self.rng)
            if found is None:
                continue
            rule = self.rules.find(found)
            if rule is not None and self.line_of[id(rule)] == t.line:
                made.append(found)
                owners.append((t, chosen))
        for (t, chosen), why, members in zip(owners, self.finaliser.judge(made), made, strict=True):
            t.add(chosen, why)
            if why:
                t.texts.append(f"{chosen}: {' / '.join(self.finaliser.table.text(d) for d in members)}: {why}")

    def refine(self, trials: list[Trial]) -> dict[str, list[str]]:
        """For each line that must change, the lines in its place."""
        out = self._lines(trials)
        more = [Trial(t.line, True) for t in trials if t.line in out and t.predicates > 1]
        for line, others in self._lines(more, keep=True).items():
            rows = [members_of(x.partition("\t")[0]) for x in out[line]]
            out[line] += [x for x in others if not any(_covers(r, members_of(x.partition("\t")[0])) for r in rows)]
        return {line: lines for line, lines in out.items() if lines != [line]}

    def _lines(self, trials: list[Trial], keep: bool = False) -> dict[str, list[str]]:
        """The lines that a rule must become, if they are others (`keep`: for all)."""
        numbers = range(len(trials))
        self.cases(trials, [(i, trials[i].base, g) for i in numbers for g in "TPN"])
        self.cases(trials, self._singles(trials, list(numbers)))
        self.cases(trials, self._singles(trials, self._other_bases(trials)))
        self.cases(
            trials,
            [
                (i, t.changed(x, y), "T")
                for i, t in enumerate(trials)
                if t.good(t.base)
                for n, x in enumerate(t.others())
                for y in t.others()[n + 1 :]
                if x[0] != y[0]
            ],
        )
        rows = [t.rows() if t.good(t.base) else [] for t in trials]
        mixed = [
            (i, k, "".join(self.rng.choice(s) for s in row))
            for i in numbers
            for k, row in enumerate(rows[i])
            for _ in range(_MIXED)
        ]
        self.cases(trials, [(i, chosen, self.rng.choice("TPN")) for i, _, chosen in mixed])
        bad = {(i, k) for i, k, chosen in mixed if trials[i].good(chosen) is False}
        out: dict[str, list[str]] = {}
        for i, t in enumerate(trials):
            if not t.results:
                if self.drops:
                    out[t.line] = []
                continue
            lines = [t.text(row) for k, row in enumerate(rows[i]) if (i, k) not in bad]
            lines = list(dict.fromkeys(lines))
            if keep or lines != [t.line]:
                out[t.line] = lines
        return out

    @staticmethod
    def _singles(trials: list[Trial], numbers: list[int]) -> list[tuple[int, str, str]]:
        return [
            (i, trials[i].changed((j, c)), "T")
            for i in numbers
            for j, o in enumerate(trials[i].options)
            for c in o
            if c != trials[i].base[j]
        ]

    @staticmethod
    def _other_bases(trials: list[Trial]) -> list[int]:
        """Where the base fails but other classes do not: these become the base."""
        out: list[int] = []
        for i, t in enumerate(trials):
            passing = [c for c in t.results if t.good(c)]
            if not t.good(t.base) and passing:
                t.base = passing[0]
                out.append(i)
        return out


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--arch", default="sm_100", choices=sorted(FAMILY))
    parser.add_argument("--only", default="", help="rules that contain a text")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--lines", type=Path, help="judge only the lines of this file")
    parser.add_argument("--drop", action="store_true", help="drop rules that no instruction could be made for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="what nvlink changed, and the new rules")
    parser.add_argument("-o", type=Path, dest="out")
    o = parser.parse_args(arguments)
    all_lines = [with_addresses(x) for x in o.table.read_text(encoding="utf-8").splitlines()]
    lines = [x for x in all_lines if x and not x.startswith("#")]
    changed: dict[str, list[str]] = {}
    start = time.time()
    judged = 0
    log = []
    wanted = set(lines)
    if o.lines is not None:
        wanted = {with_addresses(x) for x in o.lines.read_text(encoding="utf-8").splitlines()}
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(lines, o.arch, Path(folder), o.seed, o.drop)
        chosen = [x for x in lines[o.first : o.first + o.count] if o.only in x and x in wanted and judgeable(x, o.arch)]
        for i in range(0, len(chosen), _RULES_AT_ONCE):
            trials = [Trial(x) for x in chosen[i : i + _RULES_AT_ONCE]]
            new = judge.refine(trials)
            changed.update(new)
            judged += sum(bool(t.results) for t in trials)
            for t in trials:
                if t.texts:
                    log.append(
                        f"{t.line}\n  => {new.get(t.line, 'as it is')}\n" + "".join(f"    {x}\n" for x in t.texts[:6])
                    )
            print(
                f"{i + len(trials)} of {len(chosen)} rules, {judged} judged, {len(changed)} changed, {judge.finaliser.calls} calls, {time.time() - start:.0f} s",
                flush=True,
            )
            if o.log is not None:
                o.log.write_text("".join(log), encoding="utf-8")
            if o.out is not None:
                text = [y for x in all_lines for y in changed.get(x, [x])]
                o.out.write_text("\n".join(text) + "\n", encoding="utf-8")
    return 0


def judgeable(line: str, arch: str = "") -> bool:
    """False for rules about places in the code, handles of textures, which nvlink puts into another bank, and what ``arch`` writes otherwise.

    The NOP that ends a group waits for the access that acquires.
    """
    key = line.partition("\t")[0]
    if _HANDLES in key.split() or (arch == "sm_100" and key.startswith(_NOT_ON_100)):
        return False
    members = members_of(key)
    if arch == "sm_120" and any(_STOCHASTIC in m.name.split(".") for m in members):
        return False
    if len(members) > 1 and members[-1].name == "NOP":
        members.pop()
    return not any(op(m.name).flags & _PLACES or op(m.name).base in _NOT_JUDGED for m in members)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
