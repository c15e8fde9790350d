"""Finds the fields of Mercury instructions: which bits of a record hold which operand.

A *layout* belongs to the first four bytes of a record and the kinds of the operands.  An operand is a field where the bits at a place equal its
value in every sample; it must have varied, or only one place fits.  An operand that is no field is fixed: a condition on its value.
"""

import random
from collections import defaultdict
from typing import NamedTuple

from orias.cubin.capsule.capsule_rules import FIELD_WIDTHS, GUARD_BITS, field_value, fits_half
from orias.cubin.capsule.items import HEAD, SAME, WHOLE
from orias.cubin.capsule.signature import operand_value
from orias.isa.operand import K_B, K_CONST, K_IMM, K_NONE, K_P, K_R, K_UP, K_UR, K_WORD, Opnd, kind_of, payload
from tools.capsules.samples import Sample

_SLOTS = (80, 96, 112, 136, 152, 168, 184, 200, 216, 232, 248, 264, 280, 296, 312, 64)
"""Bits at which operands may begin: every 16 bits of a unit after guard and modifiers; last a place that reductions at barriers alone use."""
_IMMEDIATES = (192, 208, 224, 320, 352, 184, 200, 88, 216)
"""Bits at which immediates are looked for first."""
_MOST = 800
"""Samples that a layout is read off (all must agree with it)."""
_WIDE = "IDCKXH"
_POSITIVE = "+"
"""Condition: the predicate is not negated (its negation is not stated)."""
_NEAR = 11
_VARIED = 3
"""The fewest values of a register whose successor is a field (the second of two that an instruction reads from one operand)."""

Fixed = tuple[tuple[int, int | str], ...]
"""Conditions: number of the operand, and its value or a text of the table's notation."""
Place = tuple[int, str, int]
"""A field: number of the operand, type, lowest bit."""
LayoutKey = tuple[bytes, tuple[str, ...]]


class Outcome(NamedTuple):
    """What a capsule says: the same for all samples that a rule is about."""

    kind: int
    code: bytes = b""
    fields: tuple[Place, ...] = ()
    fixed: Fixed = ()


class Layout(NamedTuple):
    """Fields, and operands that are fixed (or have a condition that is given)."""

    fields: list[Place]
    fixed: list[int | tuple[int, str]]


def record(s: Sample) -> int:
    """The bits of a record."""
    return int.from_bytes(s.code, "little")


def layout_key(s: Sample) -> LayoutKey:
    """Samples with the same key have the same layout."""
    words = [w.split(".")[0].split(":")[0].rstrip("-|~") if w != "|" else w for w in s.signature.split()]
    return s.code[:4], tuple(words)


def _types(o: Opnd) -> str:
    k = kind_of(o)
    if k == K_R:
        return "R"
    if k == K_UR:
        return "RN"
    if k in (K_P, K_UP):
        return "P!"
    return {K_B: "B", K_IMM: "XIDH", K_CONST: "CK"}.get(k, "")


def _bits(value: int, place: Place) -> int:
    return value >> place[2] & (1 << FIELD_WIDTHS[place[1]]) - 1


def _mask(places: list[Place] | tuple[Place, ...]) -> int:
    out = 0
    for _, kind, low in places:
        out |= ((1 << FIELD_WIDTHS[kind]) - 1) << low
    return out


def _candidates(samples: list[Sample], j: int, kind: str) -> tuple[list[int], int]:
    """The places where an operand may be, best first, and how many values it has."""
    operands = [payload(s.operands[j]) for s in samples]
    if kind == "X" and (any(p >> 32 for p in operands) or not any(p >> 31 for p in operands)):
        return [], 0
    if (kind == "I" and any(p >> 32 for p in operands)) or (kind == "D" and any(p & 0xFFFFFFFF for p in operands)):
        return [], 0
    if kind == "H" and not all(fits_half(s.operands[j]) for s in samples):
        return [], 0
    size, width = len(samples[0].code) * 8, FIELD_WIDTHS[kind]
    values = [(record(s), field_value(kind, s.operands[j]) & (1 << width) - 1) for s in samples]
    distinct = len({v for _, v in values})
    if kind in _WIDE and distinct < 2:
        return [], distinct
    places: list[int] = []
    if kind == "N" and distinct < _VARIED:
        return [], distinct
    if kind in ("R", "N"):
        places = [s + 6 for s in _SLOTS]
    elif kind == "P":
        places = [s + 11 for s in _SLOTS]
    elif kind == "X":
        places = [192, 320]
    elif kind == "B":
        places = [s + low for s in _SLOTS for low in (11, 6, 1)]
    else:
        places = [*(_IMMEDIATES if kind != "!" else ()), *range(48, size)]
    places = [p for p in dict.fromkeys(places) if p + width <= size]
    return [p for p in places if all(r >> p & (1 << width) - 1 == v for r, v in values)], distinct


def _choose(samples: list[Sample]) -> dict[tuple[int, str], int]:
    """The place of each operand that has one: unique ones first."""
    operands = samples[0].operands
    waiting = [(j, kind, *_candidates(samples, j, kind)) for j in range(len(operands)) for kind in _types(operands[j])]
    got: dict[tuple[int, str], int] = {}
    used = 0
    for turn in range(4):
        last = turn == 3
        for j, kind, places, distinct in waiting:
            if (j, kind) in got or (kind == "I" and (j, "X") in got) or (kind == "!" and distinct < 2):
                continue
            if kind == "N" and not last:
                continue
            if kind == "H" and (turn < 2 or any((j, wide) in got for wide in "XID")):
                continue
            free = [p for p in places if not used >> p & (1 << FIELD_WIDTHS[kind]) - 1]
            if kind == "!":
                number = got.get((j, "P"))
                near = [p for p in free if number is not None and 0 < number - p <= _NEAR]
                free = near if len(near) == 1 else free
                if len(free) > 1:
                    continue
            if kind in _WIDE and len(free) > 1 and free[0] in _IMMEDIATES:
                free = free[:1]
            if len(free) == 1 or (free and last and distinct > 1 and kind == "R"):
                got[j, kind] = free[0]
                used |= ((1 << FIELD_WIDTHS[kind]) - 1) << free[0]
    return got


def layout(samples: list[Sample]) -> Layout | None:
    """The layout of samples with one key; None for a group with a register that is neither field nor fixed."""
    part = samples if len(samples) < _MOST else random.Random(5).sample(samples, _MOST)
    operands = samples[0].operands
    got = _choose(part)
    got = {
        (j, kind): low
        for (j, kind), low in got.items()
        if all(
            _bits(record(s), (j, kind, low)) == field_value(kind, s.operands[j]) & (1 << FIELD_WIDTHS[kind]) - 1
            for s in samples
        )
    }
    fields = [(j, kind, low) for (j, kind), low in sorted(got.items())]
    fixed: list[int | tuple[int, str]] = []
    for j, o in enumerate(operands):
        kinds = [kind for k, kind, _ in fields if k == j]
        if kind_of(o) in (K_WORD, K_NONE):
            continue
        if kind_of(o) in (K_P, K_UP):
            if "P" not in kinds:
                fixed.append(j)
            elif "!" not in kinds:
                fixed.append((j, _POSITIVE))
        elif not kinds or kinds == ["N"]:
            fixed.append(j)
    if samples[0].members > 1:
        return _group(samples, Layout(fields, fixed))
    return Layout(fields, fixed)


def _group(samples: list[Sample], found: Layout) -> Layout | None:
    """The layout of a group: a register of a later member is a field, fixed everywhere, or the same as a field."""
    operands = samples[0].operands
    fixed: list[int | tuple[int, str]] = []
    for j in found.fixed:
        if isinstance(j, int) and kind_of(operands[j]) in (K_R, K_UR, K_P, K_UP):
            same = [
                q
                for q, kind, _ in found.fields
                if kind == "R"
                and kind_of(operands[q]) == kind_of(operands[j])
                and all(payload(s.operands[q]) == payload(s.operands[j]) for s in samples)
            ]
            if all(payload(s.operands[j]) in (255, 7) for s in samples):
                fixed.append(j)
            elif same:
                fixed.append((j, f"o{same[0]}"))
            else:
                return None
        else:
            fixed.append(j)
    return Layout(found.fields, fixed)


class Layouts:
    """The layouts of all whole records."""

    def __init__(self, samples: dict[str, list[Sample]]) -> None:
        groups: dict[LayoutKey, list[Sample]] = defaultdict(list)
        for found in samples.values():
            for s in found:
                if s.kind == WHOLE:
                    groups[layout_key(s)].append(s)
        self._known = {key: layout(found) for key, found in groups.items()}

    def outcome(self, s: Sample) -> Outcome | None:
        """What the capsule says about a sample; None if its layout is not known."""
        if s.kind == SAME:
            return Outcome(SAME)
        if s.kind == HEAD:
            return Outcome(HEAD, s.code)
        found = self._known.get(layout_key(s))
        if found is None:
            return None
        rest = record(s) & ~(_mask(found.fields) | (GUARD_BITS if s.members == 1 else 0))
        fixed = tuple((j, operand_value(s.operands[j])) if isinstance(j, int) else j for j in found.fixed)
        return Outcome(WHOLE, rest.to_bytes(len(s.code), "little"), tuple(found.fields), fixed)
