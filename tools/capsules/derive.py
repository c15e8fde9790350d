"""Makes rules of samples: per signature, the fewest conditions on operands that tell what the capsule says, and its notation.

Where no conditions separate *same* from *head* (both spellings are one SASS word), the rule says *same*; where only a hint differs that the
SASS word does not hold, the most frequent one counts.  What is still ambiguous has no rule.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from orias.cubin.capsule.capsule_rules import PARAMETERS
from orias.cubin.capsule.items import HEAD, SAME, WHOLE
from orias.cubin.capsule.signature import JOIN, operand_value
from orias.isa.operand import INV, K_CONST, K_IMM, K_P, K_R, K_UP, K_UR, Opnd, const_offset, kind_of, payload
from tools.capsules.layouts import Layouts, Outcome
from tools.capsules.lengths import Lengths, loose
from tools.capsules.samples import Sample, Shape

_HINTS = slice(7, 9)
"""The bytes of a record that hold hints and scopes."""
_MOST_BYTES = 260
_MOST_VALUES = 40
"""The most values of an immediate that are told apart, if they are bytes or not."""
_EFFORTS = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2))
"""Tried in this order: what may be merged (0 nothing, 1 same and head, 2 hints), and how many operands are asked for."""
_PREDICATES = {"t": 7, "f": 15}
_NEGATED = 8
_TRUE = 7
_ZERO = 255
_NOTHING = -1
_FALSE = 15

Value = int | str


class Question(NamedTuple):
    """What is asked of an operand: its number, its answer by its value, and whether it is an immediate; the answer -1 is no condition."""

    operand: int
    answer: Callable[[Opnd], int]
    immediate: bool = False

    def ask(self, s: Sample) -> int:
        """The answer of a sample."""
        return self.answer(s.operands[self.operand])


class Row(NamedTuple):
    """A rule before it is written: conditions, what the capsule says, and the samples that it rests on."""

    conditions: dict[int, Value]
    outcome: Outcome
    samples: list[Sample]


class Rule(NamedTuple):
    """A line of the table, how many occurrences and how many sources it rests on."""

    line: str
    instructions: int
    sources: int


def holds(conditions: dict[int, Value], s: Sample) -> bool:
    """True if a sample fulfils conditions."""
    for j, value in conditions.items():
        o = s.operands[j]
        if value == "+":
            if o & INV:
                return False
        elif isinstance(value, str):
            if operand_value(s.operands[int(value[1:])]) != operand_value(o):
                return False
        elif operand_value(o) != value:
            return False
    return True


def _is_zero(o: Opnd) -> int:
    return _ZERO if payload(o) == _ZERO else _NOTHING


def _is_true(o: Opnd) -> int:
    return _TRUE if operand_value(o) == _TRUE else _NOTHING


def _is_false(o: Opnd) -> int:
    return _FALSE if operand_value(o) == _FALSE else _NOTHING


def _system_offset(o: Opnd) -> int:
    return const_offset(o) if const_offset(o) < PARAMETERS else _NOTHING


def _questions(s: Sample) -> list[Question]:
    out: list[Question] = []
    for j, o in enumerate(s.operands):
        k = kind_of(o)
        if k in (K_R, K_UR):
            out.append(Question(j, _is_zero))
        elif k in (K_P, K_UP):
            out += [Question(j, _is_true), Question(j, _is_false)]
        elif k == K_IMM:
            out.append(Question(j, operand_value, True))
        elif k == K_CONST:
            out.append(Question(j, _system_offset))
    return out


def _row(conditions: dict[int, Value], outcome: Outcome, found: list[Sample]) -> Row:
    out = dict(conditions)
    for j, value in outcome.fixed:
        if isinstance(value, str):
            out.setdefault(j, value)
        else:
            out[j] = value
    return Row(out, outcome, found)


def _count(found: list[Sample]) -> int:
    return sum(s.count for s in found)


def _merge(part: dict[Outcome, list[Sample]], soft: int) -> None:
    """Let one outcome stand for all, where the rest cannot be told apart by anything in the SASS words."""
    hints = {(o.code[: _HINTS.start], o.code[_HINTS.stop :], o.fields, o.fixed) for o in part}
    if soft == 2 and all(o.kind == WHOLE for o in part) and len(hints) == 1:
        best = max(part, key=lambda o: _count(part[o]))
    elif all(o.kind in (SAME, HEAD) for o in part) or (soft == 2 and any(o.kind in (SAME, HEAD) for o in part)):
        short = [o for o in part if o.kind in (SAME, HEAD)]
        best = Outcome(SAME) if Outcome(SAME) in part else max(short, key=lambda o: _count(part[o]))
    else:
        return
    everything = [s for found in part.values() for s in found]
    part.clear()
    part[best] = everything


def _with_questions(outcomes: dict[Outcome, list[Sample]], asked: tuple[Question, ...], soft: int) -> list[Row] | None:
    """Rows that ask these questions; None if they do not tell the outcomes apart."""
    immediates = [q for q in asked if q.immediate]
    if len(immediates) > 1:
        return None
    if immediates:
        values = {immediates[0].ask(s) for found in outcomes.values() for s in found}
        if len(values) > (_MOST_BYTES if max(values) < 256 else _MOST_VALUES):
            return None
    parts: dict[tuple[tuple[int, ...], tuple[tuple[int, Value], ...]], dict[Outcome, list[Sample]]] = {}
    for o, found in outcomes.items():
        for s in found:
            key = tuple(q.ask(s) for q in asked), o.fixed
            parts.setdefault(key, {}).setdefault(o, []).append(s)
    if soft:
        for part in parts.values():
            if len(part) > 1:
                _merge(part, soft)
    if any(len(part) > 1 for part in parts.values()):
        return None
    members: dict[Outcome, int] = Counter()
    for part in parts.values():
        for o, found in part.items():
            members[o] += len(found)
    free = [o for o in members if not o.fixed]
    default: Outcome | None = None
    if Outcome(SAME) in members:
        default = Outcome(SAME)
    elif free:
        default = max(free, key=lambda o: members[o])
    out: list[Row] = []
    rest: list[Sample] = []
    for (answers, _), part in parts.items():
        ((o, found),) = part.items()
        if o == default:
            rest += found
            continue
        conditions: dict[int, Value] = {q.operand: a for q, a in zip(asked, answers, strict=True) if a != _NOTHING}
        out.append(_row(conditions, o, found))
    out.sort(key=lambda r: -sum(isinstance(v, int) for v in r.conditions.values()))
    if default is not None:
        out.append(_row({}, default, rest))
    return out if _right(out, outcomes, soft) else None


def _right(rows: list[Row], outcomes: dict[Outcome, list[Sample]], soft: int) -> bool:
    """True if the first row that holds says what each sample says (or what may be said instead)."""
    for o, found in outcomes.items():
        for s in found:
            said = next((r.outcome for r in rows if holds(r.conditions, s)), None)
            if said is None or (said != o and not (soft == 2 or (soft and said.kind != WHOLE and o.kind != WHOLE))):
                return False
    return True


def rows_of(found: list[Sample], layouts: Layouts) -> list[Row]:
    """The rows of one signature; none if it is ambiguous or a layout is missing."""
    outcomes: dict[Outcome, list[Sample]] = defaultdict(list)
    for s in found:
        o = layouts.outcome(s)
        if o is None:
            return []
        outcomes[o].append(s)
    if len(outcomes) == 1:
        ((o, _),) = outcomes.items()
        return [_row({}, o, found)]
    questions = _questions(found[0])
    for soft, size in _EFFORTS:
        for asked in itertools.combinations(questions, size):
            rows = _with_questions(outcomes, asked, soft)
            if rows is not None:
                return rows
    if all(o.kind != WHOLE for o in outcomes):
        return [
            Row(
                {},
                Outcome(SAME) if Outcome(SAME) in outcomes else max(outcomes, key=lambda o: _count(outcomes[o])),
                found,
            )
        ]
    return []


def predicate_sources(text: str) -> list[int]:
    """The numbers of a signature's operands that are predicates and no results."""
    out: list[int] = []
    number, operation, source = 0, True, False
    for word in text.split():
        if operation or word in ("|", JOIN):
            operation, source = word == JOIN or word.startswith("@"), word == "|"
            continue
        if source and word[0] in "PQ":
            out.append(number)
        number += 1
    return out


def _seen(text: str, row: Row) -> Row:
    """A *same* or *head* row that asks for predicates as in the samples: nvlink reads some forms without their negation."""
    conditions = dict(row.conditions)
    for j in predicate_sources(text):
        values = {operand_value(s.operands[j]) for s in row.samples}
        if values in ({_TRUE}, {_FALSE}):
            conditions.setdefault(j, values.pop())
        elif not any(v & _NEGATED for v in values):
            conditions.setdefault(j, "+")
        elif _FALSE not in values:
            conditions.setdefault(j, "n")
    return Row(conditions, row.outcome, row.samples)


def _left(text: str, conditions: dict[int, Value]) -> str:
    """The signature with conditions after its operands."""
    out: list[str] = []
    number, operation = 0, True
    for word in text.split():
        if operation or word in ("|", JOIN):
            out.append(word)
            operation = word == JOIN or word.startswith("@")
            continue
        if number in conditions:
            value = conditions[number]
            word += f"={value if isinstance(value, str) or value < 256 else hex(value)}"
        out.append(word)
        number += 1
    return " ".join(out)


def _hardwired(kind: str) -> Value:
    """The condition that an operand is hardwired as a letter says, or not at all."""
    return _ZERO if kind[1:] == "z" else _PREDICATES.get(kind[1:], "r")


def _only_known(row: Row, lengths: Lengths, units: int) -> dict[int, Value]:
    """Conditions that leave out hardwired operands, or others, that no sample has and whose length is not known: a wrong one crashes nvlink."""
    conditions = dict(row.conditions)
    shapes = {s.shape for s in row.samples}
    for j, letter in enumerate(next(iter(shapes))[1]):
        seen = {kinds[j] for _, kinds in shapes}
        if letter[0] not in "RUPQ" or conditions.get(j) not in (None, "+", "n"):
            continue
        base = letter[0]
        for other in {base, base + ("z" if base in "RU" else "t")} - seen:
            variants = {(name, (*kinds[:j], other, *kinds[j + 1 :])) for name, kinds in shapes}
            if any(lengths.of(v, guess=False) != units for v in variants):
                if base + "f" in seen and len(seen) > 1:
                    continue
                value = _hardwired(next(iter(seen)))
                conditions[j] = "p" if value == "r" and conditions.get(j) == "+" else value
    return conditions


def _lengths(row: Row, lengths: Lengths) -> Iterator[tuple[dict[int, Value], int]]:
    """Conditions and length of a *same* row: one, or one for each set of hardwired registers if these matter."""
    shapes: dict[Shape, int | None] = {s.shape: lengths.of(s.shape) for s in row.samples}
    if len(set(shapes.values())) > 1:
        name = row.samples[0].shape[0]
        wanted = {loose(kinds) for _, kinds in shapes}
        for _, kinds in list(shapes):
            for other in lengths.alike((name, kinds)):
                if loose(other[1]) in wanted:
                    shapes.setdefault(other, lengths.of(other))
    values = set(shapes.values())
    if len(values) == 1:
        units = values.pop()
        if units is not None:
            yield _only_known(row, lengths, units), units
        return
    everything = [kinds for _, kinds in shapes]
    for (_, kinds), units in sorted(shapes.items()):
        if units is None:
            continue
        conditions = dict(row.conditions)
        for j, k in enumerate(kinds):
            if k[0] in "RUPQ" and len({other[j] for other in everything}) > 1:
                wanted_value = _hardwired(k)
                if wanted_value == "r" and conditions.get(j) == "+":
                    conditions[j] = "p"
                elif conditions.get(j) in (None, "+", "n"):
                    conditions[j] = wanted_value
        yield conditions, units


def rules_of(samples: dict[str, list[Sample]], lengths: Lengths) -> tuple[list[Rule], list[str]]:
    """The table, and the signatures that have no rule."""
    layouts = Layouts(samples)
    out: list[Rule] = []
    without: list[str] = []
    for text, found in sorted(samples.items()):
        done = len(out)
        for row in rows_of(found, layouts):
            evidence = _count(row.samples), len(set().union(*(s.sources for s in row.samples)))
            o = row.outcome
            if o.kind != WHOLE:
                row = _seen(text, row)
            if o.kind == SAME:
                for conditions, units in _lengths(row, lengths):
                    out.append(Rule(f"{_left(text, conditions)}\tsame{f' {units}' if units != 1 else ''}", *evidence))
                continue
            what = f"head {o.code.hex()}"
            if o.kind == WHOLE:
                what = f"whole {o.code.rstrip(bytes(1)).hex()}" + "".join(
                    f" {j}{kind}{low}" for j, kind, low in o.fields
                )
            out.append(Rule(f"{_left(text, row.conditions)}\t{what}", *evidence))
        if len(out) == done:
            without.append(text)
    return out, without
