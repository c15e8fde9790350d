"""Single faults in PTX text, each of one class of error that the sanitizer should find.

A fault changes one line of the body of a kernel: it takes a synchronisation away, moves an address out of its allocation,
takes the store or the move away that writes what is read later, or gives a barrier a wrong mask or count.
"""

import random
import re
from typing import NamedTuple

_DROPPED = (
    ("barrier", r"^(bar\.sync|barrier\.sync|bar\.cta\.sync|barrier\.cta\.sync)\b"),
    ("warp barrier", r"^bar\.warp\.sync\b"),
    ("cluster barrier", r"^barrier\.cluster\.wait\b"),
    ("copy wait", r"^cp\.async\.(wait_group|wait_all|bulk\.wait_group)\b"),
    ("proxy fence", r"^fence\.proxy\.async\b"),
    ("barrier object", r"^mbarrier\.init\b"),
    ("initial store", r"^st\.(volatile\.)?shared\b"),
    ("initial value", r"^mov\.[bsuf](32|64)\s+%\w+,\s*(-?\d|0f)"),
)
"""Class of a fault, and the instructions that it takes away."""
INITIAL = {"initial store": r"\[[^\]]*\]", "initial value": r"%\w+"}
"""Classes of which only the first instruction of a program with the same address or register is one: later ones are updates."""
ADDRESSES = ("past the end", "misaligned", "past shared memory")
"""Classes that change an address."""
_ADDRESS = re.compile(r"(\[[%\w.$]+)(\+-?\d+)?\]")
_GLOBAL = re.compile(r"^(ld|st|atom|red)\.(\w+\.)*global\b")
_SHARED = re.compile(r"^(ld|st|atom|red)\.(\w+\.)*shared\b")
_BYTE = re.compile(r"^\w+\.\S*\.[bus]8\b")
_FULL_MASK = re.compile(
    r"^(bar\.warp\.sync|shfl\.sync|vote\.sync|match\.\w+\.sync|redux\.sync)\b.*?(-1|0x[fF]{8}|4294967295)\s*;"
)
_BEYOND = 1 << 28


class Fault(NamedTuple):
    """A changed program: the class of the fault, its line (from 1) and what is found there."""

    kind: str
    line: int
    was: str
    text: str


def faults(text: str, seed: int) -> list[Fault]:
    """All single faults of a program in an order that the seed decides, those of synchronisation first."""
    lines = text.split("\n")
    found: list[Fault] = []
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(lines):
        guard, bare = _split(line.strip())
        for kind, changed in _changes(guard, bare):
            place = re.search(INITIAL.get(kind, "$"), bare)
            assert place is not None
            if kind in INITIAL and (kind, place[0]) in seen:
                continue
            seen.add((kind, place[0]))
            found.append(
                Fault(kind, number + 1, line.strip(), "\n".join([*lines[:number], changed, *lines[number + 1 :]]))
            )
    random.Random(seed).shuffle(found)
    order = [kind for kind, _ in _DROPPED]
    return sorted(found, key=lambda f: f.kind not in order)


def _split(line: str) -> tuple[str, str]:
    """Guard (or a label) and instruction of a line."""
    found = re.match(r"((?:[\w$]+:\s*)?(?:@!?%\w+\s+)?)(.*)", line)
    assert found is not None
    return found[1], found[2]


def _changes(guard: str, bare: str) -> list[tuple[str, str]]:
    """Class and changed line of each fault of an instruction."""
    out: list[tuple[str, str]] = []
    if bare.count(";") != 1 or bare.startswith("."):
        return out
    label = guard if guard.strip().endswith(":") else ""
    for kind, pattern in _DROPPED:
        if re.match(pattern, bare):
            out.append((kind, label))
    if _GLOBAL.match(bare) and _ADDRESS.search(bare):
        out.append(("past the end", guard + _moved(bare, _BEYOND)))
        if not _BYTE.match(bare):
            out.append(("misaligned", guard + _moved(bare, 1)))
    if _SHARED.match(bare) and _ADDRESS.search(bare):
        out.append(("past shared memory", guard + _moved(bare, 1 << 18)))
    mask = _FULL_MASK.match(bare)
    if mask:
        at = mask.start(2)
        out.append(("wrong mask", guard + bare[:at] + "0x7fff7ffe" + bare[mask.end(2) :]))
    return out


def _moved(bare: str, by: int) -> str:
    found = _ADDRESS.search(bare)
    assert found is not None
    offset = int((found[2] or "0").replace("+-", "-")) + by
    return f"{bare[: found.start()]}{found[1]}{'+' if offset >= 0 else ''}{offset}]{bare[found.end() :]}"
