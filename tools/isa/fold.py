"""Folds the layouts of a form that differ by an optional operand into one line of the table.

Input and output are lines as ``tablefile.py`` writes them: template, notes, count.  Two lines become one if they say the same but
for one run of operands, and a condition decides between the two texts: the first holds ``when`` the condition is true, the second
``unless`` it is.  A line made so can be folded again by another condition; the alternatives at the same place make one choice, choices at different
places multiply.  Nothing is folded that would read back otherwise (``orias.isa.choices`` undoes it).
"""

import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.isa.choices import Choice  # noqa: E402
from orias.isa.notation import ones, parse_condition, split_operands, split_template_head  # noqa: E402

Condition = tuple[int, int]
Segment = tuple[str, ...]
Alternatives = tuple[tuple[Condition | None, Segment], ...]
Item = str | Alternatives
"""An operand, or the alternatives of a choice."""


class Names:
    """The choices of the table: name by alternatives.  A choice keeps its name as long as it stays the same."""

    def __init__(self, known: dict[str, Choice]) -> None:
        self.by_text = {choice_text(_parsed(c)): n for n, c in known.items()}
        self.taken = set(known)
        self.used: dict[str, str] = {}

    def name(self, choice: Alternatives) -> str:
        text = choice_text(choice)
        found = self.by_text.get(text)
        if found is None:
            last = ", ".join(choice[-1][1]).replace("^", "")
            written = any(x.startswith("^") for x in choice[-1][1])
            n = 1
            while not found or found in self.taken:
                mark = f"?{n if n > 1 else ''}{'^' if written else ''}"
                found = f"{mark}({last})" if len(choice[-1][1]) != 1 else mark + last
                n += 1
            self.by_text[text] = found
            self.taken.add(found)
        self.used[found] = text
        return found

    def file_text(self) -> str:
        head = "# Optional operands: what a choice prints; see docs/isa-table.md.\n"
        return head + "".join(f"{name} = {self.used[name]}\n" for name in sorted(self.used))


def _parsed(choice: Choice) -> Alternatives:
    return tuple((parse_condition(c) if c else None, tuple(texts)) for c, texts in choice)


def runs(mask: int) -> list[tuple[int, int]]:
    """(low bit, width) of the runs of set bits."""
    out: list[tuple[int, int]] = []
    b = 0
    while mask >> b:
        n = 0
        while mask >> b + n & 1:
            n += 1
        if n:
            out.append((b, n))
        b += n or 1
    return out


def ones_text(word: int) -> str:
    return ",".join(f"{lo}+{n}" if n > 1 else str(lo) for lo, n in runs(word))


def condition_text(c: Condition) -> str:
    out = []
    for lo, n in runs(c[0]):
        v = c[1] >> lo & (1 << n) - 1
        where = f"{lo}+{n}" if n > 1 else str(lo)
        out.append(f"{where}={v}" if v < 10 else f"{where}={v:#x}")
    return ",".join(out)


def choice_text(choice: Alternatives) -> str:
    return " | ".join(
        (f"{condition_text(c)}: " if c else "").strip() + (" " if c and texts else "") + ", ".join(texts)
        for c, texts in choice
    )


class Folded:
    """A line, perhaps of several layouts."""

    def __init__(self, head: str, items: list[Item], notes: list[str], seen: dict[Segment, int]) -> None:
        self.head = head
        self.items = items
        self.when: Condition = (0, 0)
        self.nots: list[Condition] = []
        self.unused: dict[str, int] = {}
        self.other: list[str] = []
        for note in notes:
            word, _, rest = note.partition(" ")
            if word == "when":
                self.when = parse_condition(rest)
            elif word == "unless":
                self.nots = [parse_condition(x) for x in rest.split(" or ")]
            elif word.startswith("unused"):
                self.unused[word] = ones(rest) if rest else 0
            else:
                self.other.append(note)
        self.seen = seen
        self.free: dict[Segment, int] = {}
        """Bits that no text shows, by layout."""

    def expand(self) -> list[tuple[Segment, Condition, frozenset[Condition]]]:
        """Operands, fixed bits and exclusions (what the fixed bits leave open) of each layout."""
        found: list[tuple[Segment, Condition, list[Condition]]] = [((), self.when, list(self.nots))]
        for item in self.items:
            after: list[tuple[Segment, Condition, list[Condition]]] = []
            for texts, when, nots in found:
                if isinstance(item, str):
                    after.append(((*texts, item), when, nots))
                    continue
                earlier = list(nots)
                for c, x in item:
                    after.append((texts + x, _both(when, c) if c else when, list(earlier)))
                    if c:
                        earlier.append(c)
            found = after
        return [(t, w, _open(w, n)) for t, w, n in found]

    def text(self, names: Names) -> tuple[str, list[str], list[str], list[int]]:
        """Template, notes that tell forms apart, notes about bits that no text shows, counts by layout."""
        notes: list[str] = []
        if self.when[0]:
            notes.append("when " + condition_text(self.when))
        if self.nots:
            notes.append("unless " + " or ".join(condition_text(c) for c in self.nots))
        notes += [n for n in self.other if not n.startswith("prefer ")]
        extra = [f"{word} {ones_text(x)}".strip() for word, x in sorted(self.unused.items()) if x or word != "unused"]
        extra += [n for n in self.other if n.startswith("prefer ")]
        items = [x if isinstance(x, str) else names.name(x) for x in self.items]
        template = self.head + (" " if items else "") + ", ".join(items)
        return template, notes, extra, [self.seen[t] for t, _, _ in self.expand()]


def _both(a: Condition, b: Condition) -> Condition:
    return a[0] | b[0], a[1] | b[1]


def _agree(a: Condition, b: Condition) -> bool:
    return (a[1] ^ b[1]) & a[0] & b[0] == 0


def _open(when: Condition, nots: list[Condition]) -> frozenset[Condition]:
    """The exclusions as far as the fixed bits leave them open, without those that others cover."""
    left = {(m & ~when[0], v & m & ~when[0]) for m, v in nots if _agree(when, (m, v))}
    return frozenset(x for x in left if not any(y != x and y[0] & ~x[0] == 0 and _agree(x, y) for y in left))


def apart(a: Folded, b: Folded) -> bool:
    """True if no word belongs to both lines."""
    for _, wa, na in a.expand():
        for _, wb, nb in b.expand():
            if not _agree(wa, wb):
                continue
            if any(m & ~wb[0] == 0 and _agree(wb, (m, v)) for m, v in na):
                continue
            if any(m & ~wa[0] == 0 and _agree(wa, (m, v)) for m, v in nb):
                continue
            return False
    return True


def _pair(a: Folded, b: Folded, before: bool) -> Folded | None:
    """`a` (the case where a condition holds) and `b` as one line, or None; `before`: `a` is matched first.

    What `a` takes first need not be excluded from `b`: both have the same modifiers, so each word of the condition is one of `a`.
    """
    if a.head != b.head or a.other != b.other:
        return None
    if b.when[0] & ~a.when[0] or not _agree(a.when, b.when):
        return None
    extra = a.when[0] & ~b.when[0]
    cond = (extra, a.when[1] & extra)
    nots = list(b.nots)
    if not extra:
        return None
    if cond not in _open(b.when, b.nots):
        if not before:
            return None
        nots.append(cond)
    n = min(len(a.items), len(b.items))
    front = 0
    while front < n and a.items[front] == b.items[front]:
        front += 1
    back = 0
    while back < n - front and a.items[-1 - back] == b.items[-1 - back]:
        back += 1
    mine = a.items[front : len(a.items) - back]
    rest = b.items[front : len(b.items) - back]
    if not all(isinstance(x, str) for x in mine) or (not mine and not rest):
        return None
    first = (cond, tuple(str(x) for x in mine))
    if len(rest) == 1 and not isinstance(rest[0], str):
        choice: Alternatives = (first, *rest[0])
    elif all(isinstance(x, str) for x in rest) and rest:
        choice = (first, (None, tuple(str(x) for x in rest)))
    else:
        return None
    out = Folded(b.head, [*b.items[:front], choice, *b.items[len(b.items) - back :]], [], {})
    out.when = b.when
    out.nots = [x for x in nots if (x[0] & ~b.when[0], x[1] & ~b.when[0]) != cond]
    out.other = b.other
    out.free = a.free | b.free
    out.seen = a.seen | b.seen
    if len(out.seen) != len(a.seen) + len(b.seen):
        return None
    for word in {*a.unused, *b.unused}:
        if (word in a.unused) != (word in b.unused) and word != "unused":
            return None
        x, y = a.unused.get(word, 0), b.unused.get(word, 0)
        if any((x | y) & free != x & free for free in a.free.values()) or any(
            (x | y) & free != y & free for free in b.free.values()
        ):
            return None
        out.unused[word] = x | y
    wanted = set(a.expand()) | {(t, w, _open(w, [*n, cond])) for t, w, n in b.expand()}
    return out if wanted == set(out.expand()) else None


ORDERS: Final = 120
"""How many orders of the optional operands are tried at most."""


def fold(lines: list[Folded]) -> list[Folded]:
    """The lines of one opcode and class, in match order, with optional operands folded into as few lines as are found."""
    best = _joined(list(lines), None)
    conditions = _conditions(lines)
    if len(best) == 1 or len(conditions) < 2:
        return best
    for order in itertools.islice(itertools.permutations(conditions), ORDERS):
        found = list(lines)
        for condition in order:
            found = _joined(found, condition)
        found = _joined(found, None)
        if len(found) < len(best):
            best = found
    return best


def _conditions(lines: list[Folded]) -> list[Condition]:
    """What tells a line with an operand from one without, the most frequent first."""
    count: Counter[Condition] = Counter()
    for a in lines:
        for b in lines:
            extra = a.when[0] & ~b.when[0]
            if extra and a.head == b.head and not b.when[0] & ~a.when[0] and _agree(a.when, b.when):
                count[extra, a.when[1] & extra] += 1
    return [c for c, _ in count.most_common() if not any(_within(x, c) for x in count if x != c)]


def _within(x: Condition, c: Condition) -> bool:
    """True if the condition `x` is a part of `c`."""
    return x[0] & ~c[0] == 0 and _agree(x, c)


def _joined(lines: list[Folded], condition: Condition | None) -> list[Folded]:
    """The lines with pairs joined that a condition (any, if None) tells apart."""
    again = True
    while again:
        again = False
        for i in range(len(lines)):
            for j in range(i + 1, len(lines)):
                if condition is not None and not _toldapart(lines[i], lines[j], condition):
                    continue
                new = _pair(lines[i], lines[j], True) or _pair(lines[j], lines[i], False)
                if new is None:
                    continue
                between = lines[i + 1 : j]
                if all(apart(lines[j], x) for x in between):
                    lines[i] = new
                    del lines[j]
                elif all(apart(lines[i], x) for x in between):
                    lines[j] = new
                    del lines[i]
                else:
                    continue
                again = True
                break
            if again:
                break
    return lines


def _toldapart(a: Folded, b: Folded, condition: Condition) -> bool:
    return a.when[0] ^ b.when[0] == condition[0] and (a.when[1] ^ b.when[1]) == condition[1]


def from_text(template: str, notes: list[str], seen: int, free: int) -> Folded:
    """A line of one layout; `free`: the bits that no text shows."""
    head, rest = split_template_head(template)
    operands = split_operands(rest)
    out = Folded(head, list(operands), notes, {tuple(operands): seen})
    out.free = {tuple(operands): free}
    return out
