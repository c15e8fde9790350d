"""Semantic checks of instructions against the instruction table, with ptxas's message texts.

The parser calls the checks once per opcode text (:class:`Checker.opcode`) and once per combination of operand classes
(:class:`Checker.operands`), so an instruction costs one set look-up.  Facts: docs/facts/front-end.md (order of
messages).
"""

from collections.abc import Callable
from typing import Final, final

from orias.ptx.ast import TYPE_WORDS, Instr, Module, Operand, Sig
from orias.ptx.computed_checks import fraction_errors, range_errors, tensor_errors
from orias.ptx.facts import label_facts, opcode_facts, operand_facts
from orias.ptx.form_table import (
    ANY,
    FIRST,
    GATES,
    INSTEAD,
    LAST,
    MODIFIERS,
    OPERANDS,
    VALUES,
    Row,
    has_name,
    is_ruled,
    rows,
)
from orias.ptx.gates import EARLY, LATE, PRODUCT_WORDS, SPARSE, Place, messages
from orias.ptx.matrix_checks import mma_facts, selector_errors
from orias.ptx.modifier_messages import (
    MANY_PRIORITIES,
    RESTRICTIONS,
    SPACES,
    VECTOR_REMARK,
    advisories,
    illegal,
    is_vector_without_type,
    missing,
    multicast_advisory,
    refused_priorities,
    unexpected,
    without_sync,
)
from orias.ptx.names import IGNORED, NAME_PARTS, SLOT_OF
from orias.ptx.opcode import FORMATS, dotted, known_word, without_ignored
from orias.ptx.operand_checks import operand_errors
from orias.ptx.repeated_words import TESTS, TWO_OPERATIONS, repetitions, slot_of, too_many_priorities
from orias.ptx.rules import apply
from orias.ptx.targets import number_of, suffix_of
from orias.ptx.wgmma_checks import wgmma_facts
from orias.ptx.wmma_checks import wmma_facts
from orias.ptx.word_order import (
    ABSENT_FIRST,
    BEFORE_GATES,
    GATED_LATE,
    QUERIES,
    ROUNDING_LAST,
    RULES_LAST,
    TWO_SPACES,
    VALUES_FIRST,
    Ranked,
    in_order,
    late_order,
    place_of_last_rules,
    position,
    rank,
)

_SHAPED: Final = ("mma", "wmma.mma", "wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d", "wgmma.mma_async")
"""Instructions whose shape their rules judge."""
_LONGEST: Final = 6

_REQUIRED_LATE: Final = frozenset(("rnd", "cmp", "clamp", "wrap", "test"))
"""Slots whose absence is reported after the first illegal words."""
_REQUIRED_LAST: Final = frozenset(("scope",))
"""Slots whose absence is reported after all illegal words."""
_ONE_SLOT: Final[dict[str, str]] = {"row": "layout", "col": "layout"}
"""Slots of words where an instruction takes none of them, if others: of several words in one slot the last is refused."""
_OPERATIONS: Final = frozenset(("add", "and", "cas", "max", "min", "or", "popc", "xor"))
_FEATURES: Final[tuple[frozenset[str], ...]] = (
    frozenset(("sync",)),
    _OPERATIONS,
    frozenset(("relu",)),
    frozenset(("satfinite",)),
    frozenset(("L2::64B", "L2::128B", "L2::256B")),
    frozenset(("L2::cache_hint",)),
    frozenset(("multicast::cluster", "multicast::cluster::all")),
    frozenset(("im2col", "im2col::w", "im2col::w::128", "im2col_no_offs", "tile", "tile::gather4", "tile::scatter4")),
    frozenset(("cta_group::1", "cta_group::2")),
)
"""Words by which ptxas selects the form of an instruction, in the order in which it reports those that no form has."""
_COMPUTED: Final[dict[str, Callable[[str, Instr], list[str]]]] = {
    "mma": selector_errors,
    "createpolicy.fractional": fraction_errors,
    "createpolicy.range": range_errors,
    "cp.async.bulk.tensor": tensor_errors,
    "cp.reduce.async.bulk.tensor": tensor_errors,
    "cp.async.bulk.prefetch.tensor": tensor_errors,
}
"""Rules on operands that rows cannot express."""


def variant(text: str) -> tuple[str, list[str]]:
    """The instruction name (in ptxas's sense) of an opcode text, "" if there is none, and the words after it."""
    parts, first = dotted(text)
    for n in range(min(first, _LONGEST), 0, -1):
        name = ".".join(parts[:n])
        if has_name(name):
            head, _, _ = name.partition("::")
            return head, parts[n:]
    return "", parts[1:]


def _first(found: tuple[int, str]) -> int:
    return found[0]


def _absent(
    name: str, row: Row, types: tuple[str, ...], words: list[str], slots: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """The messages on required groups without a word in the opcode, in three ranks."""
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for group in row.required:
        slot = "test" if group[0] in TESTS else SLOT_OF.get(group[0], "shape")
        if group == ("approx",):
            _absent_approximation(name, types[0], words, slots, found)
            continue
        both = "approx" in words and "approx" in group and any(w in words for w in group if w != "approx")
        other = slot in ("rnd", "cmp", "space") and slot in slots and "approx" not in group
        if both or not (any(word in words for word in group) or other or (slot == "bool" and "op" in slots)):
            messages = missing(name, group, types)
            if group[0] == "and":
                found[0].append(messages[0])
                found[1].extend(messages[1:])
                continue
            last = slot in _REQUIRED_LAST or name in QUERIES or (slot == "rnd" and name in ROUNDING_LAST)
            rank = 2 if last else 1 if slot in _REQUIRED_LATE else 0
            found[rank].extend(messages)
    return found


def _absent_approximation(
    name: str, type_: str, words: list[str], slots: dict[str, str], found: tuple[list[str], list[str], list[str]]
) -> None:
    """Adds the messages on `.approx`, which is absent or has a rounding beside it, in instructions without rounding."""
    plain = f".approx modifier required for instruction '{name}'"
    either = f"Rounding modifier or '.approx' modifier required for instruction '{name}'"
    half = type_ in ("f16", "f16x2")
    if "approx" in words:
        if half and "rnd" in slots:
            found[1].append(either)
        return
    if half and "rnd" not in slots:
        found[1].append(either)
    found[1].append(plain)
    if name in ("ex2", "tanh") and not half:
        found[2 if name == "tanh" else 1].append(plain)


def _is_other_form(name: str, row: Row, words: list[str]) -> bool:
    """Whether an opcode has words that its row lacks: for ptxas, forms with and without them are different instructions."""
    if row.open or (name == "cvt" and "sat" in words):
        return False
    return any(w in ("relu", "satfinite") and w not in row.words for w in words)


def _foreign_feature(name: str, words: list[str]) -> str:
    """The first word, by rank, that selects a form in some instructions, but in no form of this one; "" if there is none."""
    for group in _FEATURES:
        for word in words if group is _OPERATIONS else reversed(words):
            if word in group:
                if not any(word in row.words for row in rows(name).values()):
                    return word
                break
    return ""


def _split_priorities(refused: list[Ranked]) -> list[Ranked]:
    """Words that are refused, the second message on an eviction priority apart: it follows the one on a state space."""
    found: list[Ranked] = []
    for one in refused:
        said = one[2]
        if len(said) == 2 and "eviction_priority" in said[0]:
            found.extend([(one[0], one[1], said[:1]), (one[0], position("priority", ""), said[1:])])
        else:
            found.append(one)
    return found


def _told_early(name: str, wrong: dict[str, Ranked], absent: list[str]) -> tuple[list[Ranked], list[Ranked]]:
    """The words that are refused by rank, and those, with messages on absent words, that are refused first."""
    if name in VALUES_FIRST:
        return list(wrong.values()), []
    early = _split_priorities([x for x in wrong.values() if x[0] < 0])
    starts = ABSENT_FIRST.get(name, ("no message",))
    early.extend([(BEFORE_GATES + 1, -1, [m]) for m in absent if m.startswith(starts)])
    operation = position("priority", "")
    early.extend([(BEFORE_GATES + 1, operation, [m]) for m in absent if m.startswith("Illegal reduction operation")])
    return [x for x in wrong.values() if x[0] >= 0], early


def _too_many_spaces(name: str, spaces: int) -> list[str]:
    """The message on more state spaces than an instruction takes."""
    if name not in TWO_SPACES:
        return [f"Unexpected number of state spaces specified in instruction '{name}'"]
    return ["Multiple state spaces specified"] if spaces > 2 else []


def _matrix_facts(name: str, sig: Sig, words: list[str], types: tuple[str, ...]) -> dict[str, str]:
    """The facts from the tables of matrix shapes and types."""
    if name == "mma":
        return mma_facts(sig, types)
    if name == "wgmma.mma_async":
        return wgmma_facts(sig, types)
    return wmma_facts(name, sig, words, types) if name.startswith("wmma.") else {}


def _first_space(name: str, words: list[str], facts: dict[str, str]) -> None:
    """Sets the fact of the state space where there are several, but one counts: the first."""
    spaces = [w for w in words if w in SPACES]
    if len(spaces) > 1 and name not in TWO_SPACES:
        facts["space"] = spaces[0]
        facts["where"] = f".{spaces[0]}"


@final
class Checked:
    """The checked opcode text: its row (None: not usable), its name, and the messages that every use of it gets.

    ``early``: messages that precede those on operands; ``late``: those that follow the rules on operands; ``errors``: the others; ``notes``: (severity, message) of warnings and advisories; ``values``: operands must be
    checked at every use, because a rule depends on their values; ``facts``: the facts that rules on operands test;
    ``ruled``: there are such rules.
    """

    __slots__ = ("early", "errors", "facts", "late", "name", "notes", "row", "ruled", "types", "values")

    def __init__(self, name: str) -> None:
        self.name: Final[str] = name
        self.row: Row | None = None
        self.types: tuple[str, ...] = ()
        self.early: Final[list[str]] = []
        self.errors: Final[list[str]] = []
        self.late: Final[list[str]] = []
        self.notes: Final[list[tuple[str, str]]] = []
        self.values: bool = False
        self.ruled: bool = False
        self.facts: dict[str, str] = {}


@final
class Checker:
    """Checks instructions of one module, for the target that it names or another one."""

    __slots__ = ("independent", "place")

    def __init__(self, module: Module, other: str = "") -> None:
        target = other or module.target
        self.independent: Final[bool] = "texmode_independent" in module.target_options
        self.place: Final[Place] = Place(
            module.version[0] * 10 + module.version[1], number_of(suffix_of(target)), target
        )

    def opcode(self, sig: Sig) -> Checked:
        """Checks an opcode: name, types, modifiers, gates."""
        name, text = variant(sig.text)
        result = Checked(name)
        if not name:
            self._early(result, sig.name, text, (), repetitions(sig.name, text, set()))
            result.errors.append(f"Not a name of any known instruction: '{sig.name}'")
            return result
        text = without_ignored(name, text)
        words = [w for w in text if w not in NAME_PARTS and known_word(w)]
        types = tuple([w for w in words if w in TYPE_WORDS and (w not in FORMATS or name == "ldmatrix")])
        table = rows(name)
        row = table.get(types) or table.get((ANY,))
        foreign = "" if row is not None and row.open else _foreign_feature(name, words)
        if foreign or row is None or _is_other_form(name, row, words):
            repeated = repetitions(name, text, set())
            if foreign:
                repeated = [x for x in repeated if SLOT_OF.get(text[x[0]]) not in ("op", "bool")]
            self._early(result, name, text, types, repeated)
            if foreign:
                self._refuse_feature(result, foreign, words, types, row)
            else:
                result.errors.append(unexpected(name, words, types))
            return result
        result.row = row
        result.types = types
        repeated = repetitions(name, text, set(text) if row.open else row.words)
        if row.open:
            repeated = [
                x for x in repeated if text[x[0]] not in TYPE_WORDS and slot_of(name, text[x[0]]) not in ("op", "bool")
            ]
        self._early(result, name, text, types, repeated)
        self._usable(result, sig, row, words, types)
        return result

    def _usable(self, result: Checked, sig: Sig, row: Row, words: list[str], types: tuple[str, ...]) -> None:
        """Checks an opcode of which there is a row: modifiers and gates."""
        name = result.name
        errors = result.errors
        if is_ruled(name):
            facts = opcode_facts(name, words, types, sig.mods, self.place)
            facts.update(_matrix_facts(name, sig, words, types))
        else:
            facts = label_facts(name, types)
        _first_space(name, words, facts)
        if "::" in sig.name:
            facts["named"] = sig.name
        ranked: list[Ranked] = []
        refused: list[Ranked] = []
        self._spaces(result, row, words, refused)
        if row.open:
            choices = [w for slot, w in sig.mods.items() if slot not in ("mode", "shape", "space")]
            errors.extend(apply(MODIFIERS.of(name), facts, choices, self.place))
        else:
            refused += self._modifiers(result, sig, row, words, facts, ranked)
        gates = self._gates(result, sig, row, words, facts, ranked)
        for _, _, found in sorted(ranked, key=in_order):
            result.late.extend(found)
        first = apply(FIRST.of(name), facts, words, self.place)
        if any(e.startswith("Unexpected instruction types") for e in first):
            errors.clear()
            result.late.clear()
            refused.clear()
            gates.clear()
        refused.sort(key=in_order)
        before = [m for x in refused if x[0] == BEFORE_GATES for m in x[2]]
        after = [m for x in refused if x[0] != BEFORE_GATES for m in x[2]]
        if name in GATED_LATE:
            errors[:] = [*before, *after, *first, *errors, *gates]
        else:
            errors[:0] = [*first, *before, *gates, *after]
        if any(e.startswith("Unexpected instruction types") for e in errors):
            result.row = None
        result.facts = facts
        result.values = (
            name in _COMPUTED
            or bool(VALUES.of(name))
            or (name in ("ld", "st") and sig.mods.get("space", "").startswith("param"))
        )
        result.ruled = result.values or bool(OPERANDS.of(name))

    def _early(
        self, result: Checked, name: str, words: list[str], types: tuple[str, ...], repeated: list[tuple[int, str]]
    ) -> None:
        """Adds the messages on words that ptxas has while it reads them, in their order."""
        found = list(repeated)
        layouts = 0
        facts = label_facts(name, types)
        for place, word in enumerate(words):
            if word in NAME_PARTS or not known_word(word):
                found.append((place, f"Unknown modifier '.{word}'"))
            elif word in EARLY and result.name and (word != "tensormap" or name == "prefetch"):
                found.extend([(place, m) for m in messages(EARLY[word], self.place, facts)])
            elif word in ("row", "col"):
                layouts += 1
                if layouts > 2:
                    found.append((place, f"Parsing error near '.{word}': too many layout specifiers"))
            if place and is_vector_without_type(words[place - 1], word):
                found.append((place, VECTOR_REMARK))
        if words and is_vector_without_type(words[-1], ""):
            result.notes.append(("warning", VECTOR_REMARK))
        moved = (TWO_OPERATIONS, MANY_PRIORITIES) if result.row is not None and not result.row.open else ()
        result.errors.extend([m for _, m in found if m in moved])
        result.early.extend([m for _, m in sorted(found, key=_first) if m not in moved])
        result.early.extend(too_many_priorities(name, words))

    def _refuse_feature(
        self, result: Checked, foreign: str, words: list[str], types: tuple[str, ...], row: Row | None
    ) -> None:
        """The message on a word that selects a form, but none of this instruction; `row` is that of its types."""
        name = result.name
        if foreign == "relu" and "sat" in words:
            result.early.append("Modifier '.relu' cannot be combined with modifier '.sat'")
            if row is None:
                result.errors.append(unexpected(name, [], types))
        elif foreign in _OPERATIONS and foreign != "cas" and name.startswith("bar") and name.endswith("red"):
            plain = ".".join((name, *types))
            found = f"Illegal reduction operation for instruction '{plain}'"
            result.errors.append(found if row is not None else unexpected(name, words, types))
        else:
            result.errors.append(f"Illegal modifier '.{foreign}' for instruction '{name}'")

    def _spaces(self, result: Checked, row: Row, words: list[str], refused: list[Ranked]) -> None:
        """Adds the messages on too many state spaces."""
        name = result.name
        spaces = sum(w in SPACES for w in words)
        if name == "fence.proxy" and spaces < 3:
            if spaces == 2:
                result.errors.append(f"Unexpected number of state spaces specified in instruction '{name}'")
        elif name in TWO_SPACES:
            if row.open or not row.words.isdisjoint(SPACES):
                result.early.extend(_too_many_spaces(name, spaces))
        elif not row.open and spaces > 1 and not row.words.isdisjoint(SPACES):
            result.early.extend(["Multiple state spaces specified"] * (spaces - 2))
            refused.append((BEFORE_GATES + 1, position("space", "space"), _too_many_spaces(name, spaces)))

    def _modifiers(
        self, result: Checked, sig: Sig, row: Row, words: list[str], facts: dict[str, str], ranked: list[Ranked]
    ) -> list[Ranked]:
        """Checks the modifier words against those of the row, and the rules between them; adds to ``ranked`` what is told by rank.

        The words that are refused first are the result.
        """
        name = result.name
        errors = result.errors
        allowed = row.words
        slots: dict[str, str] = {}
        refused: list[Ranked] = []
        wrong: dict[str, Ranked] = {}
        """Slot -> the last word in it, if it is illegal."""
        for word in words:
            slot = slot_of(name, word)
            if word not in allowed and (word in IGNORED or word in TYPE_WORDS):
                continue
            if slot == "rnd" and word in allowed:
                wrong.pop(slot, None)
            if slot != "space" or name in TWO_SPACES or slot not in slots:
                slots[slot] = word
            if word not in allowed and not (name in _SHAPED and slot == "shape"):
                found = illegal(word, slot, name, row, result.types, self.place)
                if slot in ("evict", "evict2"):
                    earlier = wrong.pop("evict", None)
                    found = refused_priorities(found, earlier[2] if earlier else [])
                    slot = "evict"
                wrong[_ONE_SLOT.get(word, slot)] = (rank(word, slot), position(word, slot), found)
        if sum(w in SPACES for w in words) > 1 and name not in TWO_SPACES and not allowed.isdisjoint(SPACES):
            wrong.pop("space", None)  # their number is refused
        absent = _absent(name, row, result.types, words, slots)
        kept, early = _told_early(name, wrong, absent[0])
        ranked.extend(kept)
        refused.extend(early)
        errors.extend([m for m in absent[0] if not any(m in x[2] for x in early)])
        ranked.append((1, -1, absent[1]))
        rules = MODIFIERS.of(name)
        found = []
        if rules:
            if slots != sig.mods or "isa" not in facts:
                facts = opcode_facts(name, words, result.types, {**sig.mods, **slots}, self.place)
                facts.update(_matrix_facts(name, sig, words, result.types))
            found = apply(rules, facts, words, self.place)
        if name in RULES_LAST:
            ranked.extend([(3, 0, absent[2]), (3, 1, found)])
        elif name in ROUNDING_LAST or name in QUERIES:
            ranked.append((3, 0, absent[2]))
            errors.extend(found)
        else:
            errors.extend([*absent[2], *found])
        return refused

    def _gates(
        self, result: Checked, sig: Sig, row: Row, words: list[str], facts: dict[str, str], ranked: list[Ranked]
    ) -> list[str]:
        """Version and target gates that need no operands, in ptxas's order: words, the instruction, combinations, words.

        Those of the instruction and of combinations are the result, the others are added to ``ranked``.
        """
        place = self.place
        name = result.name
        found: list[str] = []
        instead = INSTEAD.of(name)
        if instead and any(rule.holds(facts) for rule in instead):
            found.extend(apply(instead, facts, words, place))
        elif row.gate:
            found.extend(messages(row.gate, place, facts))
        gates = GATES.of(name)
        if gates:
            found.extend(apply(gates, facts, words, place))
        ranked.extend(self._late_gates(name, sig, row, words, facts))
        ranked.append((*place_of_last_rules(name), apply(LAST.of(name), facts, words, place)))
        if sig.name in ("shfl", "vote") and "sync" not in sig.mods:
            if place.version >= 64 and place.reaches(70):
                result.errors.append(
                    f"Instruction '{sig.name}' without '.sync' is not supported on .target sm_70 and higher"
                    " from PTX ISA version 6.4"
                )
            else:
                result.notes.extend([("warning", m) for m in without_sync(sig.name, place)])
        result.notes.extend(advisories(name, sig, words, place))
        return found

    def _late_gates(self, name: str, sig: Sig, row: Row, words: list[str], facts: dict[str, str]) -> list[Ranked]:
        """The gates of words that follow those of the instruction."""
        found: list[Ranked] = []
        for word in late_order(name, words):
            if (word in PRODUCT_WORDS or word in RESTRICTIONS) and word not in row.words:
                continue  # reported with the refusal
            if word in ("shared::cta", "shared::cluster") and name in TWO_SPACES and name != "fence.proxy":
                continue
            if word in SPACES and not row.open and word not in row.words:
                continue  # reported with the refusal
            if word in LATE and not (word == "cluster" and "scope" not in sig.mods):
                gate = SPARSE.get(word) if "sp" in sig.mods else None
                unmet = messages(gate or LATE[word], self.place, facts)
                slot = slot_of(name, word)
                if slot == "multicast":
                    unmet.extend(multicast_advisory(name, self.place))
                found.append((rank(word, slot), position(word, slot), unmet))
        return found

    def operands(self, checked: Checked, instr: Instr) -> list[str]:
        """Checks the operands of an instruction whose opcode is in the table; returns the messages, arguments first."""
        assert checked.row is not None
        return operand_errors(checked.row, checked.name, checked.types, instr, self.independent)

    def values(self, checked: Checked, instr: Instr) -> list[str]:
        """Messages of the rules on modifiers and operands, on values of operands and on the objects that names refer to."""
        if not checked.ruled:
            return []
        name = checked.name
        if name == "st":
            return _written_parameter(instr.ops)
        if name == "ld":
            return _read_result(instr.ops)
        found: list[str] = []
        rules = OPERANDS.of(name)
        values = VALUES.of(name)
        if rules or values:
            facts = operand_facts(checked.facts, instr.ops)
            found = apply(rules, facts, [], self.place) + apply(values, facts, [], self.place)
        computed = _COMPUTED.get(name)
        if computed is not None and not found:
            found = computed(name, instr)
        return found


def _read_result(ops: list[Operand]) -> list[str]:
    """The message on a load from a result of the function, or from a parameter in it that has the name of one."""
    var = ops[1].var if len(ops) > 1 else None
    if var is None or var.function is None or not any(r.name == var.name for r in var.function.rets):
        return []
    return [f"Illegal to read function return parameter '{var.name}'"]


def _written_parameter(ops: list[Operand]) -> list[str]:
    """The message on a store into an input parameter of a function."""
    var = ops[0].var if ops else None
    if var is None or var.function is None or not any(p is var for p in var.function.params):
        return []
    return [f"Illegal to write to function input parameter '{var.name}'"]
