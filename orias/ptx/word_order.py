"""The order in which ptxas tells what is wrong with the words of an opcode: those that are illegal and those that are too new.

Each slot of words has its place, whatever the order of the text: there ptxas refuses a word or names the version and target that it
needs.  Facts: docs/facts/front-end.md (order of messages).
"""

from typing import Final

from orias.ptx.modifier_messages import SPACES
from orias.ptx.names import SLOT_OF

Ranked = tuple[int, int, list[str]]
"""Messages on a word with their rank and, within it, their position."""
TWO_SPACES: Final = frozenset(
    ("cp.async", "cp.async.bulk", "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk",
     "cp.reduce.async.bulk.tensor", "tensormap.cp_fenceproxy", "membar.proxy", "fence.proxy")
)  # fmt: skip
_ILLEGAL_EARLY: Final = frozenset(("sat", "approx", "aligned", "all", "ballot", "up", "bfly", "idx"))
"""Words that are refused before absent ones that are required late are reported."""
_REFUSED: Final = (
    "dim level tensormap evict space priority evict2 uni sp any down warpx alloc cp dealloc ld mma shift st pack::16b unpack::16b cp_mask oob"
    " cta_group multicast multicast::cluster::all mode completion async::generic tensormap::generic launch_dependents wait mbarrier_init"
    " sync_restrict noinc noComplete sync shuffle ballot aligned sat approx ftz noftz shape col row cmp vec order scope mmio nc kind"
    " block_scale scale_vec scale_vectorsize ashift collector_a collector rnd shiftamt cc NaN xorsign cop texture component asked wrap clamp"
    " scale po permute num trans abs proxy prefetch"
)
_POSITION: Final[dict[str, int]] = {word: k for k, word in enumerate(_REFUSED.split())}
"""Words, or slots of words, in the order in which ptxas refuses them, whatever the order of the text; measured pair by pair."""
RULES_LAST: Final = frozenset(
    ("abs", "bar", "barrier.cta", "clusterlaunchcontrol.query_cancel", "cvta", "cvta.to", "fence.proxy", "ldmatrix", "lop3", "mad", "neg",
     "membar", "pmevent", "prefetch", "st", "tanh", "vote")
)  # fmt: skip
"""Instructions whose own rules are told after the words that are illegal or too new; those of others precede them."""
ROUNDING_LAST: Final = ("cvt", "fma")
"""Instructions whose absent rounding is told after the words that are illegal or too new; that of others before late ones."""
QUERIES: Final = ("txq", "txq.level", "suq", "tex", "cp.async")
"""Instructions whose absent query, geometry or cache operation is told there too."""
_FIRST: Final = _POSITION["sync"]
"""The place of an absent ``.sync``: words before it are refused before anything is said of absent words and of combinations."""
GATED_LATE: Final = frozenset(("griddepcontrol", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"))
"""Instructions whose own gates are told after words that are refused first and absent ones; those of others follow ``.1d`` and the like."""
ABSENT_FIRST: Final[dict[str, tuple[str, ...]]] = {
    "movmatrix": (".trans", ".aligned"),
    "redux": ("Reduction operation",),
    "setmaxnreg.dec": (".aligned",),
    "setmaxnreg.inc": (".aligned",),
}
"""Instruction -> how the messages on absent words begin that precede those on words that are refused first."""
VALUES_FIRST: Final = ("applypriority", "discard")
"""Instructions whose sizes are judged before their words."""
BEFORE_GATES: Final = -2
"""Rank of words that are refused before the gates of the instruction."""
_LAST_AT: Final[dict[str, str]] = {
    "cp": "mode",
    "cp.async.bulk": "scope",
    "mbarrier": "scope",
    "multimem": "scope",
    "red": "scope",
    "st": "scope",
    "tensormap": "aligned",
}
"""First part of a name, or a whole one -> the slot with whose words the rows of :data:`LAST` are told; those of others come at the end."""


def rank(word: str, slot: str) -> int:
    """When a word is told of: -2 before the gates of the instruction, -1 before all else, 0 before the absence of words that are required late, 1 and 2 after it."""
    if slot == "dim":
        return BEFORE_GATES
    if word in SPACES or position(word, slot) < _FIRST:
        return -1
    if slot in _ILLEGAL_EARLY or word in _ILLEGAL_EARLY:
        return 0
    if position(word, slot) < _POSITION["sat"]:
        return 0
    return 1 if slot == "shape" else 2


def in_order(found: Ranked) -> tuple[int, int]:
    """The key to sort messages by."""
    return found[:2]


def position(word: str, slot: str) -> int:
    """The place of a word in the order of :data:`_REFUSED`."""
    return _POSITION.get(word, _POSITION.get(slot, len(_POSITION)))


def place_of_last_rules(name: str) -> tuple[int, int]:
    """Rank and position of the rules of an instruction that follow gates of words."""
    at = _LAST_AT.get(name) or _LAST_AT.get(name.split(".")[0])
    return (rank(at, at), position(at, at)) if at else (3, 2)


def late_order(name: str, words: list[str]) -> list[str]:
    """The words whose gates come last, in ptxas's order; of completion mechanisms and groups of CTAs only the last word counts."""
    last = {SLOT_OF.get(w, ""): w for w in words}
    kept = [
        w for w in dict.fromkeys(words) if SLOT_OF.get(w) not in ("completion", "cta_group") or last[SLOT_OF[w]] == w
    ]
    ends = [w for w in kept if SLOT_OF.get(w) == "completion"]
    begins = [w for w in kept if w in SPACES][: 9 if name in TWO_SPACES else 1]
    return [*begins, *[w for w in kept if w not in ends and w not in SPACES], *ends]
