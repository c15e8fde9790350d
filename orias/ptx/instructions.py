"""Semantic checks of instructions against the instruction table, with ptxas's message texts.

The parser calls the checks once per opcode text (:class:`Checker.opcode`) and once per combination of operand classes
(:class:`Checker.operands`), so an instruction costs one set look-up.  Facts: docs/facts/front-end.md (order of
messages).
"""

from collections.abc import Callable
from typing import Final, final

from orias.ptx.ast import TYPE_WORDS, Instr, Module, Operand, Sig
from orias.ptx.computed_checks import fraction_errors, tensor_errors
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
from orias.ptx.gates import EARLY, LATE, PRODUCT_WORDS, SPARSE, Place, fill, messages
from orias.ptx.matrix_checks import mma_facts, selector_errors
from orias.ptx.modifier_messages import (
    MANY_PRIORITIES,
    SPACES,
    advisories,
    illegal,
    missing,
    refused_priorities,
    spelled,
    unexpected,
    unspecified_vectors,
    without_sync,
)
from orias.ptx.names import IGNORED, NAME_PARTS, SLOT_OF
from orias.ptx.opcode import FORMATS, dotted, is_shape, known_word
from orias.ptx.operand_checks import operand_errors
from orias.ptx.rules import SETS, apply
from orias.ptx.targets import number_of, suffix_of
from orias.ptx.wgmma_checks import wgmma_facts
from orias.ptx.wmma_checks import wmma_facts

_LONGEST: Final = 6
_TWO_SPACES: Final = frozenset(
    ("cp.async", "cp.async.bulk", "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk",
     "cp.reduce.async.bulk.tensor", "tensormap.cp_fenceproxy", "membar.proxy", "fence.proxy")
)  # fmt: skip

_TWO_OPERATIONS: Final = "Multiple instruction post-operation flags set"
_REPEATED: Final[dict[str, str]] = {
    "rnd": "Multiple rounding modifiers specified",
    "cmp": "Multiple comparisons set",
    "cop": "Multiple cache operation modifiers specified",
    "dim": "Multiple dimension modifiers specified",
    "scope": "Multiple scope modifiers specified",
    "shape": "Multiple matrix shape modifiers specified",
    "clamp": "Multiple clamp modifiers specified",
    "wrap": "Multiple clamp modifiers specified",
    "num": "Multiple .num modifiers specified",
    "completion": "Multiple .{shown} modifiers specified",
    "order": "Duplicate .{word} modifier",
    "evict": "Duplicate '.L1::eviction_priority' modifier specified for instruction '{n}'",
    "evict2": "Duplicate '.L2::eviction_priority' modifier specified for instruction '{n}'",
    "prefetch": "Multiple cache prefetching modifiers specified",
    "level": "Multiple cache operation modifiers specified",
    "vec": "Multiple vector modifiers specified",
    "permute": "Multiple permute modifiers specified",
    "mode": "Multiple .load_mode modifiers specified",
    **dict.fromkeys(
        (
            "aligned",
            "trans",
            "xorsign",
            "abs",
            "mmio",
            "noinc",
            "read",
            "down",
            "alloc",
            "cp",
            "dealloc",
            "ld",
            "mma",
            "shift",
            "st",
            "ashift",
            "block_scale",
            "cp_mask",
            "mbarrier_init",
            "noComplete",
            "pack::16b",
            "unpack::16b",
            "multicast",
            "multicast::cluster::all",
            "cache_hint",
        ),
        "Multiple .{word} modifiers specified",
    ),
    "field": "Multiple .{word} modifiers specified",
    "sync_restrict": "Multiple .{word} modifiers specified",
    "collector": "Multiple .collector_usage modifiers specified",
    "scale_vec": "Multiple .scale_vec_size modifiers specified",
    "scale_vectorsize": "Multiple .scale_vectorsize modifiers specified",
    "collector_a": "Multiple .collector_usage modifiers specified",
    "sp": "Multiple sparsity modifiers specified",
    "texture": "Multiple texture modifiers specified",
    "any": "Multiple .any/.all modifiers specified",
    "shuffle": "Multiple shuffle modifiers specified",
    "vote": "Multiple vote modifiers specified",
    "acc": "Multiple accumulation precision modifiers specified",
    "scale": "Multiple shift-right modifiers specified",
    "po": "Conflicting use of '.po' modifier with operand negation",
    "kind": "Multiple .kind modifiers specified",
    "cta_group": "Multiple .{word} modifiers specified",
    "warpx": "Multiple .{word} modifiers specified",
    "query": "Multiple .{word} modifiers specified",
    "test": "Multiple testp operation modifiers specified",
    "asked": "Multiple query modifiers specified",
    "component": "Multiple component modifiers specified",
    "proxy": "Multiple .{first} modifiers specified",
    "op": _TWO_OPERATIONS,
    "bool": _TWO_OPERATIONS,
}
"""Slot -> message on the second of two words that fill it; in other slots only a repetition of the same word is an error."""

_REQUIRED_LATE: Final = frozenset(("rnd", "cmp", "clamp", "wrap", "test"))
"""Slots whose absence is reported after the first illegal words."""
_REQUIRED_LAST: Final = frozenset(("level", "scope"))
"""Slots whose absence is reported after all illegal words."""
_ILLEGAL_EARLY: Final = frozenset(
    ("sat", "approx", "aligned", "uni", "evict", "evict2", "completion", "1d", "2d", "3d", "4d", "5d", "any", "all", "ballot", "up",
     "down", "bfly", "idx")
)  # fmt: skip
"""Words, and slots of words, that are refused before absent ones are reported; spaces too."""
_REFUSED: Final = (
    "uni any down shuffle ballot dim texture level tensormap evict evict2 space sp warpx alloc cp dealloc ld mma shift st pack::16b unpack::16b cp_mask oob"
    " completion async::generic tensormap::generic launch_dependents wait mbarrier_init sync_restrict aligned noinc"
    " noComplete sat approx ftz noftz rnd shape col row cmp vec order scope mmio nc kind block_scale scale_vec scale_vectorsize"
    " ashift collector_a collector shiftamt cc NaN xorsign cop component asked wrap clamp scale po permute num trans abs"
    " proxy prefetch"
)
_POSITION: Final[dict[str, int]] = {word: k for k, word in enumerate(_REFUSED.split())}
"""Words, or slots of words, in the order in which ptxas refuses them, whatever the order of the text; measured pair by pair."""
_ONE_SLOT: Final[dict[str, str]] = {"row": "layout", "col": "layout"}
"""Slots of words where an instruction takes none of them, if others: of several words in one slot the last is refused."""
_SLOTS: Final[dict[str, str]] = {
    **dict.fromkeys(("a1d", "a2d", "cube", "acube", "2dms", "a2dms"), "texture"),
    **dict.fromkeys(("any", "all"), "any"), "uni": "uni", "ballot": "ballot", "down": "down",
    **dict.fromkeys(("up", "bfly", "idx"), "shuffle"),
    **dict.fromkeys(("clamp", "wrap", "trap", "zero"), "clamp"),
    **dict.fromkeys(("hi", "lo"), "cmp"),
    **dict.fromkeys(("block16", "block32"), "scale_vectorsize"),
    **dict.fromkeys((f"collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")), "collector_a"),
    **dict.fromkeys(("shr7", "shr15"), "scale"),
    "approx": "approx", "memory_layout": "asked",
}  # fmt: skip
"""Slots in which ptxas counts words, where they are not those of the opcode."""
_EXCLUSIVE: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "vote": ("vote", frozenset(("any", "uni", "ballot"))),
    "shfl": ("shuffle", frozenset(("shuffle", "down"))),
}
"""Instruction -> the slot that stands for several, of which one may be filled."""
_GEOMETRY: Final = ("tex", "tld4", "suld", "sust", "sured")
"""Instructions in which all words of the dimension and the texture are of one slot."""
_COUNTED: Final = ("field", "acc")
"""Slots of words without meaning that may still stand only once."""
_ALONE: Final = frozenset(("uni", "any", "down", "shuffle", "ballot"))
"""Slots of words that are refused before all other messages on words."""
_REPEATABLE: Final = frozenset(
    ("sync", "uni", "approx", "shiftamt", "row", "col", "NaN", "sat", "satfinite", "relu", "cc", "noalias")
)
"""Words that may stand twice."""
_OPERATED: Final = ("red.async", "multimem.", "cp.reduce.")
"""Instructions for which a boolean operation is one of several operations."""
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
_TESTS: Final = frozenset(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
_PROXIES: Final = frozenset(("alias", "async", "tensormap::generic", "async::generic"))
_QUERIES: Final = frozenset(SETS["QUERY"].split("/"))
_COMPUTED: Final[dict[str, Callable[[str, Instr], list[str]]]] = {
    "mma": selector_errors,
    "createpolicy.fractional": fraction_errors,
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


def _slot(name: str, word: str) -> str:
    """The slot that a modifier word fills in an instruction."""
    if word in _QUERIES:
        return "asked"
    if word in _PROXIES:
        return "proxy"
    if word in ("r", "g", "b", "a"):
        return "component"
    if word in _SLOTS:
        return _SLOTS[word]
    slot = SLOT_OF.get(word) or ("test" if word in _TESTS else "") or ("shape" if is_shape(word) else word)
    if word == "popc" and name == "mma":
        return word
    if slot == "bool" and (name in ("atom", "red") or name.startswith(_OPERATED)):
        return "op"
    return slot


def _repetition(name: str, word: str, slot: str, slots: dict[str, str], allowed: set[str]) -> str:
    """The message on a word whose slot is already filled; empty if that is legal."""
    group, members = _EXCLUSIVE.get(name, ("", frozenset()))
    if slot in members and slot not in slots and not members.isdisjoint(slots):
        return _REPEATED[group]
    if (
        name.startswith(_GEOMETRY)
        and slot in ("dim", "texture")
        and {"dim": "texture", "texture": "dim"}[slot] in slots
    ):
        return _REPEATED["texture"]
    if word != slots.get(slot) and not (slot in slots and slot in _REPEATED):
        return ""
    if word in _REPEATABLE or (slot in ("op", "bool") and word not in allowed and word not in ("inc", "dec", "exch")):
        return ""
    if slot in ("evict", "evict2") and word not in allowed:
        return ""  # said with the refusal
    if name in ("prefetch", "applypriority") and slot == "evict2":
        return MANY_PRIORITIES
    if slot == "ballot":
        slot = "vote"
    return fill(
        _REPEATED.get(slot, "Duplicate .{word} modifier"),
        {"word": word, "shown": spelled(word), "n": name, "first": slots.get(slot, "")},
    )


def _repetitions(name: str, words: list[str], allowed: set[str]) -> list[str]:
    """The messages on all words whose slots are already filled."""
    slots: dict[str, str] = {}
    found: list[str] = []
    for word in words:
        slot = _slot(name, word)
        ignored = word in IGNORED and slot not in _COUNTED
        if word in SPACES or (word not in allowed and word not in _TESTS and (ignored or word in TYPE_WORDS)):
            continue
        if name.startswith("createpolicy") and slot == "evict2":
            continue
        message = _repetition(name, word, slot, slots, allowed)
        if message:
            found.append(message)
        slots[slot] = word
    return found + _too_many_priorities(name, words)


def _too_many_priorities(name: str, words: list[str]) -> list[str]:
    """The messages on more eviction priorities than the two of a cache policy."""
    extra = sum(SLOT_OF.get(w) == "evict2" for w in words) - 2 if name.startswith("createpolicy") else 0
    return [
        "Unexpected number of '.level::eviction_priority' modifiers specified",
        "Unexpected number of 'cache eviction priority' modifiers specified",
    ] * extra


def _rank(word: str, slot: str) -> int:
    """When an illegal word is reported: -1 and 0 before, 1 and 2 after the absence of words of the middle rank."""
    if slot in _ALONE:
        return -1
    if word in SPACES or slot in _ILLEGAL_EARLY or word in _ILLEGAL_EARLY:
        return 0
    if _POSITION.get(word, _POSITION.get(slot, len(_POSITION))) < _POSITION["sat"]:
        return 0
    return 1 if slot == "shape" else 2


def _place(found: tuple[int, int, list[str]]) -> int:
    return found[1]


def _absent(
    name: str, row: Row, types: tuple[str, ...], words: list[str], slots: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """The messages on required groups without a word in the opcode, in three ranks."""
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for group in row.required:
        slot = "test" if group[0] in _TESTS else SLOT_OF.get(group[0], "shape")
        if group == ("approx",):
            _absent_approximation(name, types[0], words, slots, found)
            continue
        both = "approx" in words and "approx" in group and any(w in words for w in group if w != "approx")
        other = slot in ("rnd", "cmp") and slot in slots and "approx" not in group
        if both or not (any(word in words for word in group) or other or (slot == "bool" and "op" in slots)):
            messages = missing(name, group, types)
            if group[0] == "and":
                found[0].append(messages[0])
                found[1].extend(messages[1:])
                continue
            rank = 1 if slot in _REQUIRED_LATE else 2 if slot in _REQUIRED_LAST else 0
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


def _too_many_spaces(name: str, spaces: int) -> list[str]:
    """The message on more state spaces than an instruction takes."""
    if name not in _TWO_SPACES:
        return [f"Unexpected number of state spaces specified in instruction '{name}'"]
    return ["Multiple state spaces specified"] if spaces > 2 else []


def _matrix_facts(name: str, sig: Sig, words: list[str], types: tuple[str, ...]) -> dict[str, str]:
    """The facts from the tables of matrix shapes and types."""
    if name == "mma":
        return mma_facts(sig, types)
    if name == "wgmma.mma_async":
        return wgmma_facts(sig, types)
    return wmma_facts(name, sig, words, types) if name.startswith("wmma.") else {}


@final
class Checked:
    """The checked opcode text: its row (None: not usable), its name, and the messages that every use of it gets.

    ``early``: messages that precede those on operands; ``errors``: the others; ``notes``: (severity, message) of warnings and advisories; ``values``: operands must be
    checked at every use, because a rule depends on their values; ``facts``: the facts that rules on operands test;
    ``ruled``: there are such rules.
    """

    __slots__ = ("early", "errors", "facts", "name", "notes", "row", "ruled", "types", "values")

    def __init__(self, name: str) -> None:
        self.name: Final[str] = name
        self.row: Row | None = None
        self.types: tuple[str, ...] = ()
        self.early: Final[list[str]] = []
        self.errors: Final[list[str]] = []
        self.notes: Final[list[tuple[str, str]]] = []
        self.values: bool = False
        self.ruled: bool = False
        self.facts: dict[str, str] = {}


@final
class Checker:
    """Checks instructions of one module."""

    __slots__ = ("place",)

    def __init__(self, module: Module) -> None:
        target = module.target
        self.place: Final[Place] = Place(
            module.version[0] * 10 + module.version[1], number_of(suffix_of(target)), target
        )

    def opcode(self, sig: Sig) -> Checked:
        """Checks an opcode: name, types, modifiers, gates."""
        name, words = variant(sig.text)
        result = Checked(name)
        errors = result.errors
        early = result.early
        early.extend([f"Unknown modifier '.{w}'" for w in words if w in NAME_PARTS or not known_word(w)])
        if not name:
            early.extend(_repetitions(sig.name, words, set()))
            errors.append(f"Not a name of any known instruction: '{sig.name}'")
            return result
        words = [w for w in words if w not in NAME_PARTS and known_word(w)]
        types = tuple([w for w in words if w in TYPE_WORDS and (w not in FORMATS or name == "ldmatrix")])
        table = rows(name)
        row = table.get(types) or table.get((ANY,))
        early.extend(self._early_gates(name, words, types))
        early.extend(unspecified_vectors(words))
        layouts = [w for w in words if w in ("row", "col")]
        early.extend([f"Parsing error near '.{w}': too many layout specifiers" for w in layouts[2:]])
        foreign = "" if row is not None and row.open else _foreign_feature(name, words)
        if foreign:
            early.extend(_repetitions(name, [w for w in words if SLOT_OF.get(w) not in ("op", "bool")], set()))
            self._refuse_feature(result, foreign, words, types, row)
            return result
        if row is None or _is_other_form(name, row, words):
            early.extend(_repetitions(name, words, set()))
            errors.append(unexpected(name, words, types))
            return result
        result.row = row
        result.types = types
        if is_ruled(name):
            facts = opcode_facts(name, words, types, sig.mods, self.place)
            facts.update(_matrix_facts(name, sig, words, types))
        else:
            facts = label_facts(name, types)
        if "::" in sig.name:
            facts["named"] = sig.name
        if row.open:
            choices = [w for slot, w in sig.mods.items() if slot not in ("mode", "shape", "space")]
            errors.extend(apply(MODIFIERS.of(name), facts, choices, self.place))
            early.extend(
                _repetitions(
                    name, [w for w in words if w not in TYPE_WORDS and _slot(name, w) not in ("op", "bool")], set(words)
                )
            )
            if name in _TWO_SPACES:
                early.extend(_too_many_spaces(name, sum(w in SPACES for w in words)))
        else:
            self._modifiers(result, sig, row, words, facts)
        self._gates(result, sig, row, words, facts)
        errors[:0] = apply(FIRST.of(name), facts, words, self.place)
        if any(e.startswith("Unexpected instruction types") for e in errors):
            result.row = None
        result.facts = facts
        result.values = (
            name in _COMPUTED or bool(VALUES.of(name)) or (name == "st" and sig.mods.get("space") == "param")
        )
        result.ruled = result.values or bool(OPERANDS.of(name))
        return result

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

    def _early_gates(self, name: str, words: list[str], types: tuple[str, ...]) -> list[str]:
        """The messages of the gates of words that precede all others."""
        found: list[str] = []
        for word in words:
            if word in EARLY:
                found.extend(messages(EARLY[word], self.place, label_facts(name, types)))
        return found

    def _modifiers(self, result: Checked, sig: Sig, row: Row, words: list[str], facts: dict[str, str]) -> None:
        """Checks the modifier words against those of the row, and the rules between them."""
        name = result.name
        errors = result.errors
        allowed = row.words
        slots: dict[str, str] = {}
        repeated: list[str] = []
        wrong: dict[str, tuple[int, int, list[str]]] = {}
        """Slot -> rank, place and messages of the last word in it, if it is illegal."""
        spaces = 0
        for word in words:
            slot = _slot(name, word)
            if word not in allowed and (word in IGNORED or word in TYPE_WORDS):
                if slot in _COUNTED or slot == "test":
                    if slot in slots:
                        repeated.append(fill(_REPEATED[slot], {"word": word}))
                    slots[slot] = word
                continue
            if word in SPACES:
                spaces += 1
            elif not name.startswith("createpolicy") or slot != "evict2":  # primary and secondary priority may be equal
                message = _repetition(name, word, slot, slots, allowed)
                if message:
                    repeated.append(message)
                if message and slot == "rnd" and word in allowed:
                    wrong.pop(slot, None)
            slots[slot] = word
            if word not in allowed and not (name == "mma" and slot == "shape"):
                place = _POSITION.get(word, _POSITION.get(slot, len(_POSITION)))
                found = illegal(word, slot, name, row, result.types, self.place)
                if slot in ("evict", "evict2"):
                    earlier = wrong.pop("evict", None)
                    found = refused_priorities(found, earlier[2] if earlier else [])
                    slot = "evict"
                wrong[_ONE_SLOT.get(word, slot)] = (_rank(word, slot), place, found)
        if spaces > 1 and not allowed.isdisjoint(SPACES):
            if name not in _TWO_SPACES:
                result.early.extend(["Multiple state spaces specified"] * (spaces - 2))
            (result.early if name in _TWO_SPACES else errors).extend(_too_many_spaces(name, spaces))
        operations = [m for m in repeated if m in (_TWO_OPERATIONS, MANY_PRIORITIES)]
        errors[:0] = operations
        result.early.extend([m for m in repeated if m not in operations] + _too_many_priorities(name, words))
        absent = _absent(name, row, result.types, words, slots)
        refused = sorted(wrong.values(), key=_place)
        lone, first, second, third = [
            [m for rank, _, found in refused if rank == k for m in found] for k in range(-1, 3)
        ]
        before = [m for m in absent[0] if m.startswith("Illegal reduction operation")]
        rest = [m for m in absent[0] if m not in before]
        for found in (before, lone, rest, first, absent[1], second, third, absent[2]):
            errors.extend(found)
        rules = MODIFIERS.of(name)
        if rules:
            if slots != sig.mods or "isa" not in facts:
                facts = opcode_facts(name, words, result.types, {**sig.mods, **slots}, self.place)
                facts.update(_matrix_facts(name, sig, words, result.types))
            errors.extend(apply(rules, facts, words, self.place))

    def _gates(self, result: Checked, sig: Sig, row: Row, words: list[str], facts: dict[str, str]) -> None:
        """Version and target gates that need no operands, in ptxas's order: words, the instruction, combinations, words."""
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
        if found:
            result.errors[:0] = found
        for word in dict.fromkeys(words):
            if word in PRODUCT_WORDS and word not in row.words:
                continue  # reported with the refusal
            if word in ("shared::cta", "shared::cluster") and name in _TWO_SPACES and name != "fence.proxy":
                continue
            if word in LATE and not (word == "cluster" and "scope" not in sig.mods):
                gate = SPARSE.get(word) if "sp" in sig.mods else None
                result.errors.extend(messages(gate or LATE[word], place, facts))
        result.errors.extend(apply(LAST.of(name), facts, words, place))
        if sig.name in ("shfl", "vote") and "sync" not in sig.mods:
            if place.version >= 64 and place.reaches(70):
                result.errors.append(
                    f"Instruction '{sig.name}' without '.sync' is not supported on .target sm_70 and higher"
                    " from PTX ISA version 6.4"
                )
            else:
                result.notes.extend([("warning", m) for m in without_sync(sig.name, place)])
        result.notes.extend(advisories(name, sig, words, place))

    def operands(self, checked: Checked, instr: Instr) -> list[str]:
        """Checks the operands of an instruction whose opcode is in the table; returns the messages, arguments first."""
        assert checked.row is not None
        return operand_errors(checked.row, checked.name, checked.types, instr)

    def values(self, checked: Checked, instr: Instr) -> list[str]:
        """Messages of the rules on modifiers and operands, on values of operands and on the objects that names refer to."""
        if not checked.ruled:
            return []
        name = checked.name
        if name == "st":
            return _written_parameter(instr.ops)
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


def _written_parameter(ops: list[Operand]) -> list[str]:
    """The message on a store into an input parameter of a function."""
    var = ops[0].var if ops else None
    if var is None or var.function is None or not any(p is var for p in var.function.params):
        return []
    return [f"Illegal to write to function input parameter '{var.name}'"]
