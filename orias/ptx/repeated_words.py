"""Which words of an opcode may not stand beside others, and ptxas's messages on those that do.

Facts: docs/facts/front-end.md (order of messages).
"""

from typing import Final

from orias.ptx.ast import TYPE_WORDS
from orias.ptx.gates import fill
from orias.ptx.modifier_messages import MANY_PRIORITIES, SPACES, spelled
from orias.ptx.names import IGNORED, SLOT_OF
from orias.ptx.opcode import FORMATS, is_shape, known_word
from orias.ptx.rules import SETS

TWO_OPERATIONS: Final = "Multiple instruction post-operation flags set"
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
    "op": TWO_OPERATIONS,
    "bool": TWO_OPERATIONS,
}
"""Slot -> message on the second of two words that fill it; in other slots only a repetition of the same word is an error."""

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
_COUNTED: Final = ("field", "acc", "test")
"""Slots of words without meaning that may still stand only once."""
_REPEATABLE: Final = frozenset(
    ("sync", "uni", "approx", "shiftamt", "row", "col", "NaN", "sat", "satfinite", "relu", "cc", "noalias")
)
"""Words that may stand twice."""
_OPERATED: Final = ("red.async", "multimem.", "cp.reduce.")
"""Instructions for which a boolean operation is one of several operations."""
_TWO_OPERATIONS: Final = ("mma", "wmma.mma", "wgmma.mma_async")
"""Instructions on single bits with two operations."""
TESTS: Final = frozenset(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
_PROXIES: Final = frozenset(("alias", "async", "tensormap::generic", "async::generic"))
_QUERIES: Final = frozenset(SETS["QUERY"].split("/"))


def slot_of(name: str, word: str) -> str:
    """The slot that a modifier word fills in an instruction."""
    if word in _QUERIES:
        return "asked"
    if word in _PROXIES:
        return "proxy"
    if word in ("r", "g", "b", "a"):
        return "component"
    if word in _SLOTS:
        return _SLOTS[word]
    slot = SLOT_OF.get(word) or ("test" if word in TESTS else "") or ("shape" if is_shape(word) else word)
    if word == "popc" and name in _TWO_OPERATIONS:
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
    if name == "wmma.mma" and slot in ("bool", "popc"):
        return ""  # its rules count operations
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


_MOST_FORMATS: Final = 2
"""Formats of elements that an opcode may name, also where they mean nothing."""
_FORMATS_MESSAGE: Final = "Unexpected number of 'format conversion' modifiers specified"


def repetitions(name: str, words: list[str], allowed: set[str]) -> list[tuple[int, str]]:
    """The messages on words whose slots are already filled, each with the place of the word; ``allowed``: those of the instruction."""
    slots: dict[str, str] = {}
    found: list[tuple[int, str]] = []
    formats = 0
    for place, word in enumerate(words):
        if word in FORMATS:
            formats += 1
            if formats > _MOST_FORMATS:
                found.append((place, _FORMATS_MESSAGE))
            continue
        slot = slot_of(name, word)
        if word not in allowed and (word in IGNORED or word in TYPE_WORDS):
            if slot in _COUNTED:
                if slot in slots:
                    found.append((place, fill(_REPEATED[slot], {"word": word})))
                slots[slot] = word
            continue
        if not known_word(word):
            continue
        if word in SPACES or (name.startswith("createpolicy") and slot == "evict2"):
            continue  # primary and secondary priority may be equal
        message = _repetition(name, word, slot, slots, allowed)
        if message:
            found.append((place, message))
        slots[slot] = word
    return found


def too_many_priorities(name: str, words: list[str]) -> list[str]:
    """The messages on more eviction priorities than the two of a cache policy."""
    extra = sum(SLOT_OF.get(w) == "evict2" for w in words) - 2 if name.startswith("createpolicy") else 0
    return [
        "Unexpected number of '.level::eviction_priority' modifiers specified",
        "Unexpected number of 'cache eviction priority' modifiers specified",
    ] * extra
