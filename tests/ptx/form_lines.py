"""One-line programs from the form tables: every row with every type list, its required words, and one or two of the others.

Rows with operands of any kind have no lines of their own; :func:`mutated` changes the words of given lines instead.
"""

import random

from orias.ptx.ast import TYPE_BITS, TYPE_WORDS
from orias.ptx.form_table import Row, Slot, names, rows
from orias.ptx.instructions import variant

_REGISTER = {
    "pred": "%p", "b8": "%b", "u8": "%ub", "s8": "%b", "b16": "%h", "u16": "%us", "s16": "%ss", "b32": "%r", "u32": "%u",
    "s32": "%s", "b64": "%rd", "u64": "%ud", "s64": "%sd", "f32": "%f", "f64": "%fd", "f16": "%hf", "f16x2": "%hx",
    "bf16": "%h", "b128": "%q",
}  # fmt: skip
_BY_WIDTH = {8: "%b", 16: "%h", 32: "%r", 64: "%rd", 128: "%q", 4: "%b", 2: "%b", 1: "%b"}
_OBJECT = {"shared": "sm", "shared::cta": "sm", "shared::cluster": "sm", "global": "gl", "const": "cn", "local": "lo"}
_SKIPPED = (
    "bra",
    "brx.idx",
    "call",
    "ret",
    "exit",
    "trap",
    "brkpt",
    "tex",
    "tld4",
    "txq",
    "suq",
    "suld",
    "sust",
    "sured",
)
_STEMS = tuple(name + "." for name in _SKIPPED)
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def _operand(slot: Slot, types: tuple[str, ...], words: list[str], number: int) -> str:
    """An operand that fits a position of a row."""
    role = slot.role
    if role == "M":
        space = next((w for w in words if w in _OBJECT), "")
        return f"[{_OBJECT.get(space, '%rd1')}]"
    if role == "i":
        return "16"
    if role in "PQ":
        return f"%p{number}"
    if role == "A":
        return f"%rd{number}"
    if role == "L":
        return "nowhere"
    kind = slot.type or (types[slot.index] if slot.index < len(types) else "b32")
    if slot.wide:
        kind = _WIDE.get(kind, kind)
    stem = _REGISTER.get(kind) or _BY_WIDTH.get(TYPE_BITS.get(kind, 32), "%r")
    count = next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 1)
    if slot.vector and count > 1:
        return "{" + ",".join(f"{stem}{(number + k) % 8}" for k in range(count)) + "}"
    return f"{stem}{number}"


def _line(name: str, types: tuple[str, ...], words: list[str], entry: list[Slot]) -> str:
    """One program: the words of vectors stand right before the types."""
    late = [w for w in words if w in ("v2", "v4", "v8")]
    opcode = ".".join([name, *[w for w in words if w not in late], *late, *types])
    slots = [s for s in entry if not s.when or _present(s.when, words)]
    return f"{opcode} {','.join(_operand(s, types, words, i + 1) for i, s in enumerate(slots))};".replace(" ;", ";")


def _present(when: str, words: list[str]) -> bool:
    if when == "mbarrier":
        return "mbarrier::complete_tx::bytes" in words
    if when == "cache_hint":
        return "L2::cache_hint" in words
    if when == "multicast":
        return "multicast::cluster" in words
    if when == "bool":
        return any(w in words for w in ("and", "or", "xor"))
    return when in words


def _choices(row: Row, rng: random.Random, count: int) -> list[list[str]]:
    """Lists of words: one of each required group and none, one or two more."""
    others = sorted(row.words - {w for group in row.required for w in group})
    result = []
    for k in range(count):
        words = [rng.choice(group) for group in row.required]
        extra = rng.sample(others, min(len(others), k if k < 3 else rng.choice((1, 2))))
        result.append([*words, *extra])
    return result


def from_rows(seed: int, count: int) -> list[str]:
    """Up to ``count`` lines for each type list of each row."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    for name in names():
        if name in _SKIPPED or name.startswith(_STEMS):
            continue
        for types, row in rows(name).items():
            if row.open or row.rest or any(s.role in "Xm" for entry in row.lists for s in entry) or "*" in types:
                continue
            for words in _choices(row, rng, count):
                found[_line(name, types, words, rng.choice(row.lists))] = None
    return list(found)


def mutated(lines: list[str], seed: int, count: int) -> list[str]:
    """``count`` lines: given ones with one word of the opcode dropped, repeated elsewhere, exchanged or added."""
    rng = random.Random(seed)
    every = sorted({w for name in names() for row in rows(name).values() for w in row.words} - {"*"})
    types = sorted(t for t in TYPE_WORDS if t in _REGISTER)
    found: dict[str, None] = {}
    while len(found) < count:
        text = rng.choice(lines)
        opcode, blank, rest = text.partition(" " if " " in text else ";")
        name, words = variant(opcode)
        if not name or not words or "{" in opcode or ";" in rest[:-1] or name.startswith(_SKIPPED):
            continue
        words = list(words)
        own = sorted({w for row in rows(name).values() for w in row.words})
        pool = own if own and rng.random() < 0.9 else every
        at = rng.randrange(len(words))
        what = rng.randrange(4)
        if what == 0:
            del words[at]
        elif what == 1:
            words[at] = rng.choice(types) if words[at] in TYPE_WORDS else rng.choice(pool)
        elif what == 2:
            words.insert(at, rng.choice(pool))
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        head = opcode.split(".")[: len(opcode.split(".")) - len(variant(opcode)[1])]
        found[".".join([*head, *words]) + blank + rest] = None
    return list(found)
