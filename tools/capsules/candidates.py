"""``python -m tools.capsules.candidates TABLE --missing FILE``: rules for signatures that no cubin of ptxas showed.

A candidate says of an instruction what the table says of others of its operation, or *same* with one or two units.  nvlink judges it with every
class of operands (``refine.py``) for both families; what comes back with the right length is added, with the conditions that it needs.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from itertools import product
from pathlib import Path

from orias.cubin.capsule.capsule_parser import HEAD_BYTES, TOKEN_HEAD
from orias.cubin.capsule.signature import JOIN
from orias.isa.op import op
from tools.capsules.instances import members_of
from tools.capsules.refine import Judge, Trial, judgeable, with_addresses

ARCHES = ("sm_100", "sm_120")
_PLAIN = ("same", "same 2")
_MOST_SPELLINGS = 6
_MOST_VARIANTS = 48
_AT_ONCE = 40
_BATCH = 200
_FLOAT = ("FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "FSETP", "FSEL", "DADD", "DMUL", "DFMA", "DSETP", "MUFU", "FSWZADD", "FCHK", "F2I", "F2F", "F2FP", "HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2")  # fmt: skip
"""Operations whose sources may be negated or without sign."""
_COMPARED = ("EQ", "NE", "LT", "LE", "GT", "GE")
_COMBINED = ("AND", "OR", "XOR")


def signature_of(line: str) -> str:
    """The signature of a line, without conditions."""
    return " ".join(word.partition("=")[0] for word in line.partition("\t")[0].split())


def _base(signature: str) -> str:
    return signature.partition(" ")[0].partition(".")[0]


def _kinds(signature: str) -> str:
    """The kinds of operands, without signs and halves."""
    out: list[str] = []
    for word in signature.split()[1:]:
        out.append(word if word == "|" or word.startswith("W:") else word[0])
    return " ".join(out)


def spellings(signature: str, table: list[str]) -> list[str]:
    """What the table says of instructions of the same operation, those with the same kinds of operands first.

    Of *whole* records, which state operands that the signature may not have, only the head is a candidate.
    """
    near: Counter[str] = Counter()
    for line in table:
        if line.startswith(_base(signature)) and _base(line) == _base(signature) and f" {JOIN} " not in line:
            right = line.partition("\t")[2]
            if right.startswith("whole"):
                right = _head(right)
            if right:
                near[right] += 100 if _kinds(signature_of(line)) == _kinds(signature) else 1
    best = [s for s, n in near.most_common() if n >= 100]
    rest = [s for s in (*_PLAIN, *(s for s, _ in near.most_common())) if s not in best]
    return list(dict.fromkeys([*best, *rest]))[:_MOST_SPELLINGS]


def _head(right: str) -> str:
    """The head of a *whole* record: its first four bytes, whose first says that it is one."""
    code = bytes.fromhex(right.split()[1])
    return f"head {code[0] | TOKEN_HEAD:02x}{code[1:HEAD_BYTES].hex()}"


def variants(signature: str) -> list[str]:
    """The signature, and others of its operation: other comparisons, signs of floats, kinds of one source."""
    if f" {JOIN} " in signature:
        return [signature]
    words = signature.split()
    names = [words[0]]
    parts = words[0].split(".")
    for choices in (_COMPARED, _COMBINED):
        if any(p in choices for p in parts) and parts[0].endswith(("SETP", "SETP2")):
            names = [".".join(c if p in choices else p for p in n.split(".")) for n in names for c in choices]
    at = words.index("|")
    options: list[list[str]] = []
    for i, w in enumerate(words[1:], 1):
        plain = w.rstrip("-|")
        if i > at and parts[0] in _FLOAT and plain in ("R", "U"):
            options.append([plain, f"{plain}-", f"{plain}|"])
        else:
            options.append([w])
    out = [signature]
    for name in names:
        for chosen in product(*options):
            text = " ".join([name, *chosen])
            if text not in out:
                out.append(text)
    return out[:_MOST_VARIANTS]


def _known(signature: str) -> bool:
    """True if all operations of a signature exist."""
    try:
        for m in members_of(signature):
            op(m.name)
    except KeyError:
        return False
    return True


def judged(candidates: list[str], table: list[str], arch: str, folder: Path, seed: int) -> tuple[list[str], list[str]]:
    """The candidates as nvlink leaves them, and those that the target has no instruction for."""
    judge = Judge([*table, *candidates], arch, folder, seed, False)
    kept: list[str] = []
    without: list[str] = []
    for i in range(0, len(candidates), _AT_ONCE):
        trials = [Trial(x) for x in candidates[i : i + _AT_ONCE]]
        new = judge.refine(trials)
        for t in trials:
            if t.results:
                kept += new.get(t.line, [t.line])
            else:
                without.append(t.line)
    return kept, without


def add_candidates(table: list[str], signatures: list[str], folder: Path, seed: int, seconds: float) -> list[str]:
    """New lines for signatures: what both families, or the one that has the operation, give back."""
    added: list[str] = []
    end = time.monotonic() + seconds
    found = {s: spellings(s, table) for s in signatures if _known(s) and judgeable(f"{s}\tsame")}
    for turn in range(_MOST_SPELLINGS):
        have = {*table, *added}
        lines = [with_addresses(f"{s}\t{x[turn]}") for s, x in found.items() if turn < len(x)]
        lines = [x for x in lines if x not in have]
        for i in range(0, len(lines), _BATCH):
            if time.monotonic() > end:
                print("time")
                return added
            part = lines[i : i + _BATCH]
            rules = [*table, *added]
            first, other = judged(part, rules, ARCHES[0], folder, seed)
            both, absent = judged([*first, *other], rules, ARCHES[1], folder, seed)
            kept = [*both, *(x for x in absent if x in first)]
            added += kept
            print(f"spelling {turn + 1}: {i + len(part)} of {len(lines)}, {len(added)} rules added", flush=True)
    return added


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.candidates", description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument(
        "--missing", type=Path, nargs="+", default=[], help="what tools.capsules.campaign --missing wrote"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--alone", action="store_true", help="no variants of the signatures")
    parser.add_argument("-o", type=Path, dest="out", required=True)
    o = parser.parse_args(arguments)
    lines = o.table.read_text(encoding="utf-8").splitlines()
    table = [x for x in lines if x and not x.startswith("#")]
    wanted: list[str] = []
    for path in o.missing:
        for line in path.read_text(encoding="utf-8").splitlines():
            key = line.split("\t")[1]
            wanted += [key] if o.alone else variants(key)
    have = {x.partition("\t")[0] for x in table}
    wanted = [s for s in dict.fromkeys(wanted) if s not in have]
    print(f"{len(wanted)} signatures")
    with tempfile.TemporaryDirectory() as folder:
        added = add_candidates(table, wanted, Path(folder), o.seed, o.seconds)
    o.out.write_text("\n".join(with_lines(lines, added)) + "\n", encoding="utf-8")
    return 0


def with_lines(table: list[str], added: list[str]) -> list[str]:
    """A table with lines after its own of the same signature."""
    heading = [x for x in table if x.startswith("#")]
    own = [x for x in table if x and not x.startswith("#")]
    return [*heading, *sorted(dict.fromkeys([*own, *added]), key=signature_of)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
