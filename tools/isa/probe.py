"""Derives forms of the instruction table by asking nvdisasm what each bit of a word does.

Steps for one seed, after setting the control bits to harmless values:

1. flip every bit: illegal, no change (hidden), another mnemonic or operand layout (selector), a changed number, changed modifiers;
2. set the numeric fields to middling values and flip again, so that no flip lands on RZ, PT or zero;
3. numbers: the difference of each flip is the weight of the bit;
4. modifiers: bits whose effects do not simply add are one field, and every field is tried completely; literals are what is left;
5. values that drop an operand (255, 7, 0) become exclusions.

``derive.py`` chooses the seeds and judges the result.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Generator
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))


from oracle import Parsed  # noqa: E402

from orias.isa.float_text import float_text  # noqa: E402
from orias.isa.printer import bar_is_last  # noqa: E402

CONTROL = ((1 << 23) - 1) << 105
CALM = 18 << 105 | 7 << 110 | 7 << 113
OPCODE = 0xFFF | 1 << 91
GUARD = 15 << 12
PROBED = [b for b in range(16, 105) if b != 91]
MAX_ENUM = 8
"""Bits of a modifier field whose values are all listed; where more depend on each other, some are fixed as the seed has them."""

Ask = Generator[list[int], dict[int, str | None], Any]
Place = tuple[Any, ...]
"""("mods",), (operand, "pre"), (operand, "post"), (operand, part, "suf"), (operand, part, "word")."""


def calm(w: int) -> int:
    return w & ~CONTROL & ~GUARD | CALM | 7 << 12


def places(p: Parsed) -> dict[Place, str]:
    out: dict[Place, str] = {("mods",): p.mods}
    for i, a in enumerate(p.args):
        out[(i, "pre")] = a.pre
        out[(i, "post")] = a.post
        for j, x in enumerate(a.parts):
            if x.kind == "W":
                out[(i, j, "word")] = str(x.value)
            else:
                out[(i, j, "suf")] = x.suffix
    return out


def numbers(p: Parsed) -> dict[tuple[int, int], tuple[str, int | str]]:
    return {(i, j): (x.kind, x.value) for i, a in enumerate(p.args) for j, x in enumerate(a.parts) if x.kind != "W"}


class NotDerived(Exception):
    pass


class Probe:
    """Derivation of one form."""

    def __init__(self, base: int, zero_ur: int) -> None:
        self.base = calm(base)
        self.zero_ur = zero_ur
        self.weights: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        self.float_bits: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.effects: dict[int, set[Place]] = defaultdict(set)
        self.selectors: set[int] = set()
        self.odd: set[int] = set()
        """Selectors that change how a number is written."""
        self.silent: set[int] = set()
        self.illegal: set[int] = set()
        self.nots: list[tuple[int, int]] = []
        self.groups: list[tuple[list[int], dict[int, dict[Place, str]]]] = []
        self.reuse: dict[tuple[int, int], int] = {}
        self.bars: set[tuple[int, int, str]] = set()
        """(operand, part, suffix) that were seen after the bar of an absolute value."""

    def number(self, v: int | str) -> int:
        if v == -1:
            return self.zero_ur
        return int(v)

    def run(self) -> Ask:
        got = yield [self.base]
        text = got[self.base]
        if text is None:
            raise NotDerived("the seed is illegal with calm control bits")
        self.parsed = Parsed(text)
        yield from self.flips(self.base)
        self.drop_odd_bits({b for b, changed in self.effects.items() if ("mods",) in changed})
        for seed in (0x5555555555555555, 0x2AAAAAAAAAAAAAAA):
            generic = self.middling(seed)
            got = yield [generic]
            t = got[generic]
            if t is not None and Parsed(t).key == self.parsed.key:
                self.base = generic
                self.parsed = Parsed(t)
                yield from self.flips(generic)
        self.drop_odd_bits()
        used = (
            {b for w in self.weights.values() for b in w}
            | {b for s in self.float_bits.values() for b in s}
            | set(self.effects)
            | set(self.reuse.values())
        )
        self.selectors -= used
        self.silent -= used | self.selectors
        self.illegal -= used | self.silent | self.selectors
        yield from self.modifiers()
        yield from self.exclusions()
        yield from self.control()

    def drop_odd_bits(self, among: set[int] | None = None) -> None:
        """A bit that changes how a number is written (signed, other float) is no part of it: it selects another form.

        After the first flips, when a number may lack bits, only those `among` the bits that change modifiers too are taken.
        """
        odd: set[int] = set()
        for bits in self.weights.values():
            run = sorted(bits) if is_split(bits) else longest_run(sorted(bits))
            odd |= set(bits) - set(run)
        for found in self.float_bits.values():
            odd |= found - set(longest_run(sorted(found)))
        if among is not None:
            odd &= among
        for bits in self.weights.values():
            for b in odd & set(bits):
                del bits[b]
        for found in self.float_bits.values():
            found -= odd
        for b in odd:
            self.effects.pop(b, None)
        self.selectors |= odd
        self.odd |= odd

    def middling(self, seed: int) -> int:
        w = self.base
        for key, bits in self.weights.items():
            kind = self.parsed.args[key[0]].parts[key[1]].kind
            lo = min(bits)
            for b in bits:
                want = seed >> (b - lo) & 1
                if kind in "PQ" and len(bits) <= 3:
                    want = (2 >> (b - lo)) & 1
                w = w & ~(1 << b) | want << b
        return w

    def flips(self, base: int) -> Ask:
        got = yield [base ^ 1 << b for b in PROBED]
        here = places(self.parsed)
        nums = numbers(self.parsed)
        for b in PROBED:
            if b in self.odd:
                continue
            t = got[base ^ 1 << b]
            if t is None:
                self.illegal.add(b)
                continue
            p = Parsed(t)
            if p.key != self.parsed.key:
                self.selectors.add(b)
                continue
            there = places(p)
            changed = {k for k in here if here[k] != there.get(k)}
            moved = False
            for i, a in enumerate(p.args):
                for j, x in enumerate(a.parts):
                    if x.reuse != self.parsed.args[i].parts[j].reuse:
                        self.reuse[i, j] = b
                        moved = True
            for k, (kind, v) in numbers(p).items():
                old = nums[k][1]
                if v != old:
                    moved = True
                    if kind == "F":
                        self.float_bits[k].add(b)
                    else:
                        d = self.number(v) - self.number(old)
                        self.weights[k][b] = d if base >> b & 1 == 0 else -d
            if changed:
                self.effects[b] |= changed
            if not changed and not moved:
                self.silent.add(b)

    # -- modifiers ------------------------------------------------------------------------------------------------

    def modifiers(self) -> Ask:
        bits = sorted(self.effects)
        base = self.base
        pairs = list(combinations(bits, 2))
        got = yield [base ^ 1 << a ^ 1 << b for a, b in pairs] + [base ^ 1 << a for a in bits]
        single = {a: self.view(got[base ^ 1 << a]) for a in bits}
        here = places(self.parsed)
        edges: set[tuple[int, int]] = set()
        for a, b in pairs:
            both = self.view(got[base ^ 1 << a ^ 1 << b])
            if both is None or single[a] is None or single[b] is None:
                joint = both is not None or (single[a] is not None and single[b] is not None)
                if both is None and (self.effects[a] & self.effects[b]):
                    joint = True
                if joint:
                    edges.add((a, b))
                continue
            va, vb = single[a], single[b]
            assert va is not None and vb is not None
            if any(not adds(t0, va[k], vb[k], both[k], k == ("mods",)) for k, t0 in here.items()):
                edges.add((a, b))
        bits = separate(bits, edges)
        parent = {b: b for b in bits}

        def root(x: int) -> int:
            while parent[x] != x:
                x = parent[x]
            return x

        for a, b in edges:
            if a in parent and b in parent:
                parent[root(a)] = root(b)
        while True:
            members: dict[int, list[int]] = defaultdict(list)
            for b in bits:
                members[root(b)].append(b)
            yield from self.enumerate([sorted(group) for group in members.values()])
            merged = yield from self.depend(parent, root)
            bits = [b for b in bits if b in parent]
            if not merged:
                break
        yield from self.arrange()

    def enumerate(self, groups: list[list[int]]) -> Ask:
        """Every value of the fields."""
        for group in groups:
            if len(group) > MAX_ENUM:
                raise NotDerived(f"{len(group)} modifier bits depend on each other: {group}")
        words = [[self.put(self.base, group, v) for v in range(1 << len(group))] for group in groups]
        answers = yield [w for ws in words for w in ws]
        self.groups = []
        for group, ws in zip(groups, words, strict=True):
            views = {v: self.view(answers[w]) for v, w in enumerate(ws)}
            self.groups.append((group, {v: view for v, view in views.items() if view is not None}))

    def depend(self, parent: dict[int, int], root: Callable[[int], int]) -> Ask:
        """Joins fields of which values together give another text than each on its own; returns whether there were any."""
        here = places(self.parsed)
        asked: list[tuple[int, int, int, int, int]] = []
        for (i, (bits_a, table_a)), (j, (bits_b, table_b)) in combinations(enumerate(self.groups), 2):
            options = [(x, y) for x in table_a for y in table_b]
            random.Random(7).shuffle(options)
            asked += [(i, j, x, y, self.put(self.put(self.base, bits_a, x), bits_b, y)) for x, y in options[:48]]
        got = yield [w for *_, w in asked]
        merged = False
        joined: set[int] = set()
        for i, j, x, y, w in asked:
            (bits_a, table_a), (bits_b, table_b) = self.groups[i], self.groups[j]
            view = self.view(got[w])
            if view is None or bits_a[0] not in parent or bits_b[0] not in parent:
                continue
            if root(bits_a[0]) == root(bits_b[0]):
                continue
            if nameless(view) - nameless(table_a[x]) - nameless(table_b[y]):
                continue
            mods = tokens(view[("mods",)])
            inside = all(mods != self.assembled(p, q) for p, q in (((i, x), (j, y)), ((j, y), (i, x))))
            for k, t0 in here.items():
                alone = adds(t0, table_a[x][k], table_b[y][k], view[k], k == ("mods",)) or (
                    k[-1] == "pre" and sorted(view[k]) == sorted(table_a[x][k] + table_b[y][k])
                )
                if not alone or (inside and k == ("mods",)):
                    merged = True
                    if i in joined or j in joined:
                        break
                    joined |= {i, j}
                    if len(bits_a) + len(bits_b) > MAX_ENUM:
                        # Too many values to list: the form holds for one value of the smaller field.
                        for bit in min(bits_a, bits_b, key=len):
                            parent.pop(bit, None)
                    else:
                        parent[root(bits_a[0])] = root(bits_b[0])
                    break
        return merged

    def assembled(self, a: tuple[int, int], b: tuple[int, int]) -> list[str]:
        """The modifiers that two fields (index, value) write one after the other, all others as they are.

        What a field writes inside the text of another (``SCR.B.TEX``: ``B`` inside ``SCR.TEX``) makes them one field.
        """
        base = tokens(self.parsed.mods)
        out: list[str] = []
        at = 0
        for i, v in (a, b):
            bits, table = self.groups[i]
            head, middle = spans(table)
            if len({tuple(t) for t in middle.values()}) < 2:
                continue
            out += base[at:head] + middle[v]
            own = sum((self.base >> bit & 1) << k for k, bit in enumerate(bits))
            at = max(at, head) + len(middle[own])
        return out + base[at:]

    def view(self, text: str | None) -> dict[Place, str] | None:
        if text is None:
            return None
        p = Parsed(text)
        if p.key != self.parsed.key or numbers(p) != numbers(self.parsed):
            # A modifier that changes how a number is read (the format of a float) makes another form.
            return None
        self.bars |= {(i, j, x.suffix) for i, a in enumerate(p.args) for j, x in enumerate(a.parts) if x.bar}
        return places(p)

    def arrange(self) -> Ask:
        """Order of the modifier fields and literals between them."""
        items: list[tuple[list[int], dict[int, list[str]], int]] = []
        base_tokens = tokens(self.parsed.mods)
        for bits, table in self.groups:
            head, middle = spans(table)
            if len({tuple(t) for t in middle.values()}) > 1:
                items.append((bits, middle, head))
        # A field whose text is empty at the base has no place of its own there: ask pairs.
        before: dict[tuple[int, int], bool] = {}
        asked: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for (i, (bits_a, mid_a, head_a)), (j, (bits_b, mid_b, head_b)) in combinations(enumerate(items), 2):
            if head_a != head_b:
                before[i, j] = head_a < head_b
                continue
            options = [(x, y) for x in mid_a for y in mid_b if mid_a[x] and mid_b[y] and mid_a[x] != mid_b[y]]
            asked[i, j] = [(x, y, self.put(self.put(self.base, bits_a, x), bits_b, y)) for x, y in options[:40]]
        got = yield [w for ws in asked.values() for *_, w in ws]
        for (i, j), ws in asked.items():
            mid_a, head_a, mid_b = items[i][1], items[i][2], items[j][1]
            for x, y, w in ws:
                view = self.view(got[w])
                if view is None:
                    continue
                t = tokens(view[("mods",)])[head_a:]
                if t[: len(mid_a[x])] == mid_a[x] and t[len(mid_a[x]) :][: len(mid_b[y])] == mid_b[y]:
                    before[i, j] = True
                    break
                if t[: len(mid_b[y])] == mid_b[y]:
                    before[i, j] = False
                    break
            before.setdefault((i, j), True)
        order = sorted(
            range(len(items)), key=lambda i: sum(1 for j in range(len(items)) if j != i and not first(before, i, j))
        )
        self.mods: list[Any] = []
        at = 0
        for i in order:
            bits, middle, head = items[i]
            if head > at:
                self.mods.extend(base_tokens[at:head])
                at = head
            value = sum((self.base >> b & 1) << k for k, b in enumerate(bits))
            at += len(middle[value])
            self.mods.append({"b": bits, "t": {str(v): ".".join(t) for v, t in middle.items()}})
        self.mods.extend(base_tokens[at:])

    @staticmethod
    def put(w: int, bits: list[int], v: int) -> int:
        for i, b in enumerate(bits):
            w = w & ~(1 << b) | (v >> i & 1) << b
        return w

    # -- the rest ---------------------------------------------------------------------------------------------------

    def fields(self) -> dict[tuple[int, int], tuple[int, int]]:
        """(low bit, width) of each number whose weights double from bit to bit."""
        out: dict[tuple[int, int], tuple[int, int]] = {}
        for k, bits in self.weights.items():
            order = sorted(bits)
            if not order:
                continue
            lo = order[0]
            if is_split(bits) and len(split_parts(bits)) > 1:
                continue
            if order != list(range(lo, lo + len(order))):
                raise NotDerived(f"the bits of a number do not lie together: {order}")
            scale = bits[lo]
            for i, b in enumerate(order):
                w = bits[b]
                if w != scale << i and not (i == len(order) - 1 and w == -(scale << i)):
                    raise NotDerived(f"the bits of a number have weights {[bits[x] for x in order]}")
            out[k] = (lo, len(order))
        return out

    def exclusions(self) -> Ask:
        special: list[tuple[int, int, int]] = []
        signs = {
            i: bits
            for i in range(len(self.parsed.args))
            for bits, table in self.groups
            if len({v[i, "pre"] for v in table.values()}) > 1
        }
        for k, (lo, width) in self.fields().items():
            kind = self.parsed.args[k[0]].parts[k[1]].kind
            full = (1 << width) - 1
            true = 0 if min(self.weights[k].values()) < 0 else 7
            values = {"R": [full], "U": [full], "P": [true], "Q": [true], "I": [0, full]}.get(kind, [])
            sign = signs.get(k[0], [])
            if kind in "PQ" and len(sign) == 1:
                for bit in (0, 1):
                    both = full << lo | 1 << sign[0]
                    word = self.base & ~both | true << lo & both | bit << sign[0]
                    special.append((both, word & both, word))
                continue
            for v in values:
                special.append((full << lo, v << lo, self.base & ~(full << lo) | v << lo))
        for k, bits in self.weights.items():
            if k not in self.fields() and is_split(bits):
                every = sum(1 << b for b in bits)
                special += [(every, v, self.base & ~every | v) for v in (0, every)]
        got = yield [w for _, _, w in special]
        for mask, value, w in special:
            t = got[w]
            if t is None or Parsed(t).key != self.parsed.key:
                self.nots.append((mask, value))

    def control(self) -> Ask:
        b = self.base
        reuse = [b | 1 << i for i in (122, 123, 124)]
        wr = b & ~(7 << 110)
        rd = b & ~(7 << 113)
        guard = b & ~(7 << 12)
        got = yield [*reuse, wr, rd, guard]
        base = {(x, y) for x, a in enumerate(self.parsed.args) for y, part in enumerate(a.parts) if part.reuse}
        for i, w in zip((122, 123, 124), reuse, strict=True):
            t = got[w]
            if t is not None:
                for x, a in enumerate(Parsed(t).args):
                    for y, part in enumerate(a.parts):
                        if part.reuse and (x, y) not in base:
                            self.reuse[x, y] = i
        self.bar = ("w" if got[wr] is not None else "") + ("r" if got[rd] is not None else "")
        t = got[guard]
        self.guard = Parsed(t).guard if t is not None else "P"

    def form(self) -> dict[str, Any]:
        """What was found, as ``derived.derived_record`` takes it."""
        fields = self.fields()
        ops: list[dict[str, Any]] = []
        for i, a in enumerate(self.parsed.args):
            els: list[dict[str, Any]] = []
            for j, part in enumerate(a.parts):
                e: dict[str, Any] = {}
                if part.kind == "W":
                    e["w"] = self.pieces((i, j, "word"), str(part.value))
                elif part.kind == "F":
                    e.update(self.float_field((i, j)))
                elif is_split(self.weights.get((i, j), {})) and self.weights.get((i, j)) and (i, j) not in fields:
                    e["wsum"] = [0, split_parts(self.weights[i, j])]
                elif (i, j) in fields:
                    lo, width = fields[i, j]
                    bits = self.weights[i, j]
                    scale = bits[lo]
                    negative = bits[lo + width - 1] < 0
                    if part.kind in "IL":
                        e["f"] = [lo, width, "s" if negative else "u", scale]
                    elif part.kind == "S":
                        e["set"] = [lo, width]
                    elif scale < 0:
                        e["wsum"] = [7, [[lo, width, scale]]]
                    elif part.kind == "U" and (more := self.number(part.value) - (self.base >> lo & (1 << width) - 1)):
                        e["wsum"] = [more, [[lo, width, scale]]]
                    else:
                        e["f"] = [lo, width]
                else:
                    e["const"] = "255" if part.value == -1 else str(part.value)
                if part.kind != "W":
                    suf = self.barred(i, j, part.kind, self.pieces((i, j, "suf"), part.suffix))
                    if suf:
                        e["suf"] = suf
                if (i, j) in self.reuse:
                    e["reuse"] = self.reuse[i, j]
                els.append(e)
            o: dict[str, Any] = {"s": a.skeleton, "el": els}
            pre = self.pieces((i, "pre"), a.pre)
            post = self.pieces((i, "post"), a.post)
            if pre:
                o["pre"] = pre
            if post:
                o["post"] = post
            ops.append(o)
        moving = 0
        for bits, _ in self.groups:
            for b in bits:
                moving |= 1 << b
        for found in self.weights.values():
            for b in found:
                moving |= 1 << b
        for lo, width in fields.values():
            moving |= ((1 << width) - 1) << lo
        for s in self.float_bits.values():
            for b in s:
                moving |= 1 << b
        hidden = 0
        for b in self.silent:
            hidden |= 1 << b
        for b in self.reuse.values():
            moving |= 1 << b
        hidden &= ~moving
        mask = ((1 << 105) - 1) & ~GUARD & ~moving & ~hidden
        out: dict[str, Any] = {
            "mn": self.parsed.mnemonic,
            "mask": f"{mask:x}",
            "val": f"{self.base & mask:x}",
            "guard": self.guard or "P",
            "hidden": f"{hidden | 7 << 122 & ~sum(1 << r for r in self.reuse.values()):x}",
            "bar": self.bar,
            "n": 0,
        }
        if hidden & self.base:
            out["hidden_default"] = f"{hidden & self.base:x}"
        if self.nots:
            out["not"] = [[f"{m:x}", f"{v:x}"] for m, v in self.nots]
        if self.mods:
            out["mods"] = self.mods
        if ops:
            out["ops"] = ops
        return out

    def barred(self, i: int, j: int, kind: str, pieces: list[Any]) -> list[Any]:
        """The pieces of a suffix, with the bar before those texts that stand after it although most do not."""
        if not any(bar_is_last(kind, t) for x, y, t in self.bars if (x, y) == (i, j)):
            return pieces
        if len(pieces) != 1 or isinstance(pieces[0], str):
            raise NotDerived("a bar before a suffix that is no single field")
        p = pieces[0]
        return [{"b": p["b"], "t": {v: "|" + t if bar_is_last(kind, t) else t for v, t in p["t"].items()}}]

    def pieces(self, place: Place, base: str) -> list[Any]:
        found: list[dict[str, Any]] = []
        for bits, table in self.groups:
            if len({view[place] for view in table.values()}) > 1:
                found.append({"b": bits, "t": {str(v): view[place] for v, view in table.items()}})
        if not found:
            return [base] if base else []
        if len(found) == 1:
            return found
        # Several fields write one text (separate minus and bar bits): each adds to what the empty one leaves.
        out = []
        for p in found:
            empty = min(p["t"].values(), key=len)
            if empty:
                raise NotDerived(f"two fields write the text {base!r}")
            out.append(p)
        out.sort(key=lambda p: "|" in "".join(p["t"].values()))
        return out

    def float_field(self, k: tuple[int, int]) -> dict[str, Any]:
        bits = sorted(self.float_bits[k])
        if not bits:
            raise NotDerived("a float without bits")
        shown = str(self.parsed.args[k[0]].parts[k[1]].value)
        lo = bits[0]
        halves = bits[-1] - lo + 1 <= 16
        for kind in ("f16", "bf16") if halves else ("f32", "f64h"):
            low = lo & ~15 if halves else 32
            pattern = self.base >> low & (0xFFFF if halves else 0xFFFFFFFF)
            if float_text(kind, pattern) == shown:
                return {"float": [kind, low]}
        raise NotDerived(f"the float {shown} has no known format")


def separate(bits: list[int], edges: set[tuple[int, int]]) -> list[int]:
    """The bits without those with the most dependencies, so that no more than MAX_ENUM bits depend on each other."""
    left = list(bits)
    while True:
        group: dict[int, set[int]] = {b: {b} for b in left}
        for a, b in edges:
            if a in group and b in group and group[a] is not group[b]:
                joined = group[a] | group[b]
                for x in joined:
                    group[x] = joined
        large = max(group.values(), key=len, default=set())
        if len(large) <= MAX_ENUM:
            return left
        left.remove(max(sorted(large), key=lambda x: sum(x in e and e[0] in group and e[1] in group for e in edges)))


def is_split(bits: dict[int, int]) -> bool:
    """True for a number stored in several fields: every weight from the least up occurs once, the largest may be negative."""
    order = sorted(bits)
    if not order or (order[-1] - order[0] + 1 == len(order) and bits[order[-1]] < 0):
        return False
    weights = sorted(bits.values(), key=abs)
    least = abs(weights[0])
    return [*weights[:-1], abs(weights[-1])] == [least << i for i in range(len(bits))]


def split_parts(bits: dict[int, int]) -> list[list[int]]:
    """(low bit, width, weight) of the fields of a number in several fields."""
    parts: list[list[int]] = []
    for b in sorted(bits):
        if parts and parts[-1][0] + parts[-1][1] == b and parts[-1][2] << parts[-1][1] == bits[b]:
            parts[-1][1] += 1
        else:
            parts.append([b, 1, bits[b]])
    return parts


def longest_run(bits: list[int]) -> list[int]:
    best: list[int] = []
    run: list[int] = []
    for b in bits:
        run = [*run, b] if run and run[-1] == b - 1 else [b]
        if len(run) > len(best):
            best = run
    return best


def first(before: dict[tuple[int, int], bool], i: int, j: int) -> bool:
    return before[i, j] if i < j else not before[j, i]


def tokens(mods: str) -> list[str]:
    return mods.split(".") if mods else []


def nameless(view: dict[Place, str]) -> set[str]:
    """The values without a meaning (``INVALID3``, ``???0``) of a text."""
    return {t for text in view.values() for t in text.split(".") if "INVALID" in t or "?" in t}


def spans(table: dict[int, dict[Place, str]]) -> tuple[int, dict[int, list[str]]]:
    """What each value of a field writes into the modifiers, and how many modifiers stand before it."""
    lists = {v: tokens(view[("mods",)]) for v, view in table.items()}
    head = common(list(lists.values()))
    tail = common([t[head:][::-1] for t in lists.values()])
    return head, {v: t[head : len(t) - tail] for v, t in lists.items()}


def common(lists: list[list[str]]) -> int:
    n = 0
    while all(len(x) > n for x in lists) and len({x[n] for x in lists}) == 1:
        n += 1
    return n


def adds(base: str, a: str, b: str, both: str, dotted: bool) -> bool:
    """True if the effects of two bits on a text are independent."""
    if a == base:
        return both == b
    if b == base:
        return both == a
    if not dotted:
        return False
    t0, ta, tb, tt = tokens(base), tokens(a), tokens(b), tokens(both)
    return len(tt) - len(t0) == len(ta) - len(t0) + len(tb) - len(t0) and merge_ok(t0, ta, tb, tt)


def merge_ok(t0: list[str], ta: list[str], tb: list[str], tt: list[str]) -> bool:
    ha, hb = common([t0, ta]), common([t0, tb])
    ra, rb = common([t0[ha:][::-1], ta[ha:][::-1]]), common([t0[hb:][::-1], tb[hb:][::-1]])
    sa, sb = (ha, len(t0) - ra, ta[ha : len(ta) - ra]), (hb, len(t0) - rb, tb[hb : len(tb) - rb])
    for x, y in ((sa, sb), (sb, sa)):
        if x[1] <= y[0]:
            made = t0[: x[0]] + x[2] + t0[x[1] : y[0]] + y[2] + t0[y[1] :]
            if made == tt:
                return True
    return False
