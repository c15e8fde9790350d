"""``python -m tools.capsules.neighbours TABLE -o FILE``: signatures next to those of the table that it has no rule for.

A neighbour of an arithmetic instruction has the operands of one and the modifiers of another of its operation, another comparison or
rounding, or another kind of a source (register, uniform register, immediate); only what a target of the families can encode counts.
The file has the form of ``campaign --missing``: ``candidates --alone`` asks nvlink about them.
"""

import argparse
import itertools
import random
import sys
from collections import defaultdict
from pathlib import Path

from orias.cubin.capsule.capsule_rules import RULES_PATH
from orias.cubin.capsule.signature import JOIN, LETTERS, signature
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import (
    F_ATOMIC,
    F_BRANCH,
    F_CALL,
    F_COOPERATIVE,
    F_FENCE,
    F_MATRIX,
    F_PINNED,
    F_READ,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_TEXTURE,
    F_WGMMA,
    F_WRITE,
    op,
)
from orias.isa.operand import K_IMM, K_R, K_UR
from orias.target.decoder_class import table_of_sm
from tools.capsules.candidates import signature_of
from tools.capsules.instances import instance, members_of
from tools.capsules.refine import Trial, judgeable

_OTHER_WORK = (
    F_READ | F_WRITE | F_SIDE | F_TERM | F_FENCE | F_CALL | F_BRANCH | F_ATOMIC | F_MATRIX | F_WGMMA | F_TEXTURE | F_COOPERATIVE
    | F_SPECIAL | F_PINNED
)  # fmt: skip
_KINDS = (LETTERS[K_R], LETTERS[K_UR], LETTERS[K_IMM])
_CHOICES = (
    ("EQ", "NE", "LT", "LE", "GT", "GE"),
    ("EQU", "NEU", "LTU", "LEU", "GTU", "GEU"),
    ("AND", "OR", "XOR"),
    ("RM", "RP", "RZ"),
    ("L", "R"),
)
"""Modifiers that exclude each other; each of a group may stand for another."""


def names_of(names: set[str]) -> set[str]:
    """Names of an operation, and those with other modifiers of the same groups."""
    out = set(names)
    for name in names:
        parts = name.split(".")
        choices = [next((c for c in _CHOICES if p in c), (p,)) for p in parts[1:]]
        out |= {".".join((parts[0], *chosen)) for chosen in itertools.product(*choices)}
    return out


def _source(token: str) -> tuple[str, str]:
    """The kind of a source and its flags: ``R-`` is ``R`` and ``-``."""
    return (token[0], token[1:]) if token[0] in _KINDS and not token.startswith("W:") else (token, "")


def shapes_of(shapes: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Shapes of operands, and those with another kind of one source."""
    out = set(shapes)
    for shape in shapes:
        for i in range(shape.index("|") + 1, len(shape)):
            kind, flags = _source(shape[i])
            if kind in _KINDS:
                for other in _KINDS:
                    out.add((*shape[:i], other + (flags if other != LETTERS[K_IMM] else ""), *shape[i + 1 :]))
    return out


def neighbours(lines: list[str], tables: list[IsaTable], only: list[str]) -> list[str]:
    """Signatures without rule; `only`: of these operations, or of all."""
    have = {signature_of(x) for x in lines}
    names: dict[str, set[str]] = defaultdict(set)
    shapes: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for s in have:
        words = s.split()
        if JOIN in words or words[0].startswith("@") or op(words[0]).flags & _OTHER_WORK or not judgeable(f"{s}\tsame"):
            continue
        base = words[0].partition(".")[0]
        names[base].add(words[0])
        shapes[base].add(tuple(words[1:]))
    rng = random.Random(1)
    out: list[str] = []
    for base in sorted(names.keys() & set(only) if only else names):
        for name, shape in itertools.product(sorted(names_of(names[base])), sorted(shapes_of(shapes[base]))):
            text = " ".join((name, *shape))
            if text not in have and any(_encodes(text, t, rng) for t in tables):
                out.append(text)
    return out


def _encodes(text: str, table: IsaTable, rng: random.Random) -> bool:
    """True if a target has an instruction of a signature, and decodes it to the same one."""
    try:
        trial = Trial(f"{text}\tsame")
        found = instance(members_of(text), trial.base, "T", table, rng)
    except KeyError:
        return False
    return found is not None and signature(found) == text


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.neighbours", description=__doc__)
    parser.add_argument("table", type=Path, nargs="?", default=Path(RULES_PATH))
    parser.add_argument("--only", default="", help="operations, such as FADD,FMUL")
    parser.add_argument("-o", type=Path, dest="out", required=True)
    o = parser.parse_args(arguments)
    lines = [x for x in o.table.read_text(encoding="utf-8").splitlines() if x and not x.startswith("#")]
    found = neighbours(lines, [load(table_of_sm(sm)) for sm in (100, 120)], [x for x in o.only.split(",") if x])
    o.out.write_text("".join(f"1\t{s}\t\n" for s in found), encoding="utf-8")
    print(f"{len(found)} signatures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
