"""Instructions that a rule is about, with operands of chosen classes; registers are aligned for every size of access.

Classes: ``r`` a register, ``z`` RZ; ``P`` a predicate, ``N`` a negated one, ``T`` PT, ``F`` !PT; immediates ``s`` small,
``0`` zero, ``b`` large, ``m`` negative; tables of LOP3 ``a`` AND or OR of two operands, ``x`` XOR, ``l`` other; ``-`` everything else (words, constants, barriers, fixed operands).
"""

import random
from typing import NamedTuple

from orias.cubin.capsule.capsule_rules import AND_OR_TABLES, XOR_TABLES
from orias.cubin.capsule.signature import JOIN, LETTERS
from orias.isa.decode import Decoded, IllegalWord
from orias.isa.isa_table import EncodeError, IsaTable
from orias.isa.op import op
from orias.isa.operand import (
    ABS,
    INV,
    K_B,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NEG,
    NONE,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_SHIFT,
    SUFFIX_TEXT,
    Opnd,
    const,
    kind_of,
    payload,
    reg,
    reg_plus,
    word,
)
from orias.isa.widths import dst_width, src_width

CONTROL = 0x7F1
"""A control word that every instruction accepts."""
_TRIES = 12
_REGISTERS = range(8, 248, 8)
_UNIFORM = range(8, 248, 4)
_OFFSETS = range(0x380, 0x400, 16)
_ZERO = 255
_LOGIC = ("LOP3", "ULOP3")
_TABLES = {
    "l": [v for v in range(256) if v not in (*AND_OR_TABLES, *XOR_TABLES)],
    "a": sorted(AND_OR_TABLES),
    "x": sorted(XOR_TABLES),
}


class Token(NamedTuple):
    """An operand of a signature: what it is, its condition, whether it is a result, and whether it is a table of LOP3."""

    text: str
    condition: str
    result: bool
    table: bool = False


class Member(NamedTuple):
    """An instruction of a signature: its guard (of groups), its operation, and its operands."""

    guard: str
    name: str
    operands: list[Token]


def members_of(left: str) -> list[Member]:
    """The members of the left side of a rule."""
    out: list[Member] = []
    for text in left.split(f" {JOIN} "):
        words = text.split()
        guard = words.pop(0) if words[0].startswith("@") else ""
        name = words.pop(0)
        at = words.index("|")
        tokens = [Token(w.partition("=")[0], w.partition("=")[2], i < at) for i, w in enumerate(words) if w != "|"]
        last = max((i for i, t in enumerate(tokens) if t.text == "I"), default=-1)
        if last >= 0 and name.startswith(_LOGIC):
            tokens[last] = tokens[last]._replace(table=True)
        out.append(Member(guard, name, tokens))
    return out


def classes(t: Token) -> str:
    """The classes that an operand may have, the ordinary one first."""
    c, kind = t.condition, LETTERS.find(t.text[0])
    if t.text.startswith("W:") or (c and c[0] not in "rpn+la"):
        return "-"
    if t.table:
        return c or "lax"
    if kind in (K_R, K_UR):
        return "r" if c == "r" else "rz"
    if kind in (K_P, K_UP):
        if t.result:
            return {"p": "P", "r": "P"}.get(c, "PT")
        return {"+": "PT", "p": "P", "r": "PN", "n": "PNT"}.get(c, "PNTF")
    return "s0bm" if kind == K_IMM else "-"


def _payload(kind: int, class_: str, condition: str, rng: random.Random) -> int:
    """A payload; predicates have their negation in bit 3."""
    if condition and condition[0] not in "rpn+ola":
        return int(condition, 0)
    if class_ in _TABLES:
        return rng.choice(_TABLES[class_])
    if kind in (K_R, K_UR):
        return _ZERO if class_ == "z" else rng.choice(_REGISTERS if kind == K_R else _UNIFORM)
    if kind in (K_P, K_UP):
        return (7 if class_ in "TF" else rng.randrange(7)) | (8 if class_ in "NF" else 0)
    if kind == K_B:
        return rng.randrange(16)
    if kind == K_IMM:
        if class_ == "0":
            return 0
        if class_ == "s":
            return rng.choice((1, 2, 3, 4, 8, 16, 32, 64, 80, 0x3F800000 << 32))
        if class_ == "m":
            return rng.choice((0xFFFFFFF0, 0xFFFFFE00, 0xBFF00000 << 32))
        return rng.choice((0x12340, 0x7FFF0, 0x48, 0x1230, 0xE4, 0x12345678, 0x40490FDB << 32))
    return rng.choice(_OFFSETS) if kind == K_CONST else 0


def _operand(t: Token, class_: str, chosen: list[Opnd], rng: random.Random) -> Opnd:
    if t.text.startswith("W:"):
        return word(t.text[2:])
    kind = LETTERS.index(t.text[0])
    if kind == 0:
        return NONE
    text, _, suffix = t.text[1:].partition(".")
    out = kind | SUFFIX_TEXT.index(f".{suffix}" if suffix else "") << SUFFIX_SHIFT
    out |= (NEG if "-" in text else 0) | (ABS if "|" in text else 0) | (INV if "~" in text else 0)
    if t.condition.startswith(("o", "s")):
        other = chosen[int(t.condition[1:])]
        if t.condition.startswith("s"):
            other = reg_plus(other, 1)
        negated = other & INV if kind in (K_P, K_UP) else 0
        return out | other >> PAYLOAD_SHIFT << PAYLOAD_SHIFT | negated
    value = _payload(kind, class_, t.condition, rng)
    if kind == K_CONST:
        return out | const(int("".join(c for c in text if c.isdigit())), value)
    if kind in (K_P, K_UP):
        return out | reg(kind, value & 7) | (INV if value & 8 else 0)
    return out | value << PAYLOAD_SHIFT


def instance(
    members: list[Member], chosen: str, guard: str, table: IsaTable, rng: random.Random
) -> list[Decoded] | None:
    """Instructions with operands of the classes `chosen` (a letter each) and, if there is one, a guard of a class; None if the table has none."""
    for _ in range(_TRIES):
        done: list[Opnd] = []
        out: list[Decoded] = []
        for m in members:
            start = len(done)
            for t in m.operands:
                done.append(_operand(t, chosen[len(done)], done, rng))
            results = sum(t.result for t in m.operands)
            g = _guard(m.guard, guard if len(members) == 1 else "T", rng)
            try:
                w = table.encode(op(m.name), g, done[start : start + results], done[start + results :], CONTROL)
                out.append(table.decode(w))
            except (EncodeError, IllegalWord, KeyError):
                break
        if len(out) == len(members) and all(map(_exists, out)):
            return out
    return None


def _exists(d: Decoded) -> bool:
    """False if a register of several words ends beyond the last one."""
    words = [(o, dst_width(d.op, k)) for k, o in enumerate(d.dst)]
    words += [(o, src_width(d.op, k, o)) for k, o in enumerate(d.src)]
    return all(payload(o) == _ZERO or payload(o) + n <= _ZERO for o, n in words if kind_of(o) in (K_R, K_UR))


def _guard(text: str, class_: str, rng: random.Random) -> Opnd:
    if text:
        number = 7 if text.endswith("T") else int(text[-1])
        return reg(K_UP if "U" in text or "Q" in text else K_P, number) | (INV if "!" in text else 0)
    return PT if class_ == "T" else reg(K_P, rng.randrange(7)) | (INV if class_ == "N" else 0)
