"""The signature of SASS instructions: what selects the rule by which a capsule states them.

It is the operation with all modifiers, and the kinds of its operands with their flags: ``STG.E | - R U I R``.  Register
numbers, immediates and the negation of predicates are not in it; rules may ask for their values (``rules.py``).
"""

from typing import Final

from orias.isa.decode import Decoded
from orias.isa.operand import (
    ABS,
    INV,
    K_CONST,
    K_P,
    K_UP,
    K_WORD,
    NEG,
    PT,
    SUFFIX_MASK,
    SUFFIX_SHIFT,
    SUFFIX_TEXT,
    Opnd,
    const_bank,
    const_offset,
    kind_of,
    payload,
    word_text,
)

LETTERS: Final = "-RUPQBICLYWS"
"""The letter of each kind of operand, in the order of K_NONE, K_R, K_UR ..."""
JOIN: Final = "+"
"""Stands between the signatures of the members of a group."""


def operand_token(o: Opnd) -> str:
    """The part of a signature that stands for an operand."""
    k = kind_of(o)
    if k == K_WORD:
        return "W:" + word_text(o)
    out = LETTERS[k]
    if k == K_CONST:
        out += str(const_bank(o))
    if o & NEG:
        out += "-"
    if o & ABS:
        out += "|"
    if o & INV and k not in (K_P, K_UP):
        out += "~"
    return out + SUFFIX_TEXT[(o & SUFFIX_MASK) >> SUFFIX_SHIFT]


def operand_value(o: Opnd) -> int:
    """The value of an operand that a condition may ask for: number (negated predicates plus 8), bits, offset."""
    k = kind_of(o)
    if k == K_WORD:
        return 0
    if k == K_CONST:
        return const_offset(o)
    p = payload(o)
    return p | 8 if o & INV and k in (K_P, K_UP) else p


def signature(members: list[Decoded]) -> str:
    """The signature of an instruction, or of a group of adjacent ones, whose guards are part of it."""
    out: list[str] = []
    for d in members:
        if out:
            out.append(JOIN)
        if len(members) > 1 and d.guard != PT:
            g = d.guard
            number = payload(g)
            out.append(f"@{'!' if g & INV else ''}{LETTERS[kind_of(g)]}{'T' if number == 7 else number}")
        out.append(d.op.name)
        out += [operand_token(o) for o in d.dst]
        out.append("|")
        out += [operand_token(o) for o in d.src]
    return " ".join(out)
