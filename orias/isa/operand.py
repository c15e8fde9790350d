"""The operand: one packed integer, from lowering to encoding.

An :data:`Opnd` is an immutable ``int``, so equality, hashing and CSE keys are free.  Layout, least
significant bit first::

    0..3    kind (K_*)
    4       neg   (-x)          5  abs (|x|)          6  inv (~x, or !p for predicates)
    7..10   suffix (S_*): half or byte selection, address scaling
    11..14  lane: 0 whole register, 1..8 word k-1, 9..12 pair k-9, 13..14 quad k-13
    15..    payload

Payload by kind: registers hold the register id -- ids below 256 are *physical* (``R4``, ``P2``,
``UR6``; 255 is RZ and URZ, 7 is PT and UPT), ids from 256 up are virtual.  ``K_IMM`` holds an unsigned
bit pattern (32 bits; 64 for the operands of 64-bit operations), ``K_CONST`` ``offset << 5 | bank``,
``K_LABEL`` a block id, ``K_SYM`` an index into ``Func.syms``, ``K_WORD`` an interned name
(``SR_TID.X``, ``PR``), ``K_SB`` a scoreboard number.
"""

from typing import Final

Opnd = int

KIND_MASK: Final = 15
K_NONE: Final = 0
K_R: Final = 1
K_UR: Final = 2
K_P: Final = 3
K_UP: Final = 4
K_B: Final = 5
K_IMM: Final = 6
K_CONST: Final = 7
K_LABEL: Final = 8
K_SYM: Final = 9
K_WORD: Final = 10
K_SB: Final = 11

NEG: Final = 1 << 4
ABS: Final = 1 << 5
INV: Final = 1 << 6
FLAG_MASK: Final = NEG | ABS | INV

SUFFIX_SHIFT: Final = 7
SUFFIX_MASK: Final = 15 << SUFFIX_SHIFT
LANE_SHIFT: Final = 11
LANE_MASK: Final = 15 << LANE_SHIFT
PAYLOAD_SHIFT: Final = 15

# Suffix codes; the text is what nvdisasm prints behind the register.
S_NONE: Final = 0
S_H0_H0: Final = 1
S_H1_H1: Final = 2
S_B0: Final = 3
S_B1: Final = 4
S_B2: Final = 5
S_B3: Final = 6
S_H1: Final = 7
S_X4: Final = 8
S_X8: Final = 9
S_X16: Final = 10
S_F32: Final = 11
S_U32: Final = 12
S_H0: Final = 13
S_H0_NH1: Final = 14
S_H1_H0: Final = 15
SUFFIX_TEXT: Final[tuple[str, ...]] = (
    "", ".H0_H0", ".H1_H1", ".B0", ".B1", ".B2", ".B3", ".H1", ".X4", ".X8", ".X16", ".F32", ".U32", ".H0", ".H0_NH1",
    ".H1_H0",
)  # fmt: skip

FIRST_VIRTUAL: Final = 256

NONE: Final[Opnd] = K_NONE
RZ: Final[Opnd] = K_R | 255 << PAYLOAD_SHIFT
URZ: Final[Opnd] = K_UR | 255 << PAYLOAD_SHIFT
PT: Final[Opnd] = K_P | 7 << PAYLOAD_SHIFT
NOT_PT: Final[Opnd] = PT | INV
UPT: Final[Opnd] = K_UP | 7 << PAYLOAD_SHIFT
NOT_UPT: Final[Opnd] = UPT | INV
ZERO: Final[Opnd] = K_IMM
"""The immediate 0."""

_REG_KINDS: Final = 1 << K_R | 1 << K_UR | 1 << K_P | 1 << K_UP | 1 << K_B


def kind(o: Opnd) -> int:
    """The kind, one of K_*."""
    return o & KIND_MASK


def payload(o: Opnd) -> int:
    """The payload: register id, immediate pattern, block id, ..."""
    return o >> PAYLOAD_SHIFT


def is_reg(o: Opnd) -> bool:
    """True for a register of any file, physical, virtual or constant (RZ, PT)."""
    return (_REG_KINDS >> (o & KIND_MASK)) & 1 == 1


def is_virtual(o: Opnd) -> bool:
    """True for a virtual register."""
    return (_REG_KINDS >> (o & KIND_MASK)) & 1 == 1 and (o >> PAYLOAD_SHIFT) >= FIRST_VIRTUAL


def is_zero_reg(o: Opnd) -> bool:
    """True for RZ or URZ, whatever the flags."""
    return (o & KIND_MASK) in (K_R, K_UR) and (o >> PAYLOAD_SHIFT) == 255


def is_true_pred(o: Opnd) -> bool:
    """True for PT or UPT, negated or not."""
    return (o & KIND_MASK) in (K_P, K_UP) and (o >> PAYLOAD_SHIFT) == 7


def reg(file_kind: int, ident: int) -> Opnd:
    """A plain register operand of a file (K_R, K_UR, K_P, K_UP, K_B)."""
    return file_kind | ident << PAYLOAD_SHIFT


def r(ident: int) -> Opnd:
    """R register (physical below 256)."""
    return K_R | ident << PAYLOAD_SHIFT


def ur(ident: int) -> Opnd:
    """UR register."""
    return K_UR | ident << PAYLOAD_SHIFT


def p(ident: int) -> Opnd:
    """P register."""
    return K_P | ident << PAYLOAD_SHIFT


def up(ident: int) -> Opnd:
    """UP register."""
    return K_UP | ident << PAYLOAD_SHIFT


def imm(value: int) -> Opnd:
    """A 32-bit immediate; negative values are taken modulo 2**32."""
    return K_IMM | (value & 0xFFFFFFFF) << PAYLOAD_SHIFT


def imm64(value: int) -> Opnd:
    """A 64-bit immediate pattern."""
    return K_IMM | (value & 0xFFFFFFFFFFFFFFFF) << PAYLOAD_SHIFT


def imm_signed(o: Opnd) -> int:
    """The immediate read as a signed 32-bit number."""
    v = (o >> PAYLOAD_SHIFT) & 0xFFFFFFFF
    return v - (1 << 32) if v >> 31 else v


def const(bank: int, offset: int) -> Opnd:
    """Constant-bank operand c[bank][offset], offset in bytes."""
    return K_CONST | (offset << 5 | bank) << PAYLOAD_SHIFT


def const_bank(o: Opnd) -> int:
    """Bank of a constant operand."""
    return (o >> PAYLOAD_SHIFT) & 31


def const_offset(o: Opnd) -> int:
    """Byte offset of a constant operand (its lane included)."""
    base = o >> (PAYLOAD_SHIFT + 5)
    lane = (o >> LANE_SHIFT) & 15
    if lane == 0:
        return base
    return base + 4 * lane_range(lane, 1)[0]


def label(block_id: int) -> Opnd:
    """A block label."""
    return K_LABEL | block_id << PAYLOAD_SHIFT


def sym(index: int) -> Opnd:
    """Reference to ``Func.syms[index]``."""
    return K_SYM | index << PAYLOAD_SHIFT


def sb(number: int) -> Opnd:
    """Scoreboard SBn (DEPBAR)."""
    return K_SB | number << PAYLOAD_SHIFT


_words: list[str] = []
_word_ids: dict[str, int] = {}


def word(name: str) -> Opnd:
    """An interned word operand: special register names, ``PR``, texture shapes."""
    i = _word_ids.get(name)
    if i is None:
        i = len(_words)
        _words.append(name)
        _word_ids[name] = i
    return K_WORD | i << PAYLOAD_SHIFT


def word_text(o: Opnd) -> str:
    """The text of a word operand."""
    return _words[o >> PAYLOAD_SHIFT]


def lane(o: Opnd) -> int:
    """The lane code (0 whole)."""
    return (o >> LANE_SHIFT) & 15


def lane_range(code: int, width: int) -> tuple[int, int]:
    """(first word, number of words) that a lane code selects of a register of `width` words."""
    if code == 0:
        return 0, width
    if code <= 8:
        return code - 1, 1
    if code <= 12:
        return 2 * (code - 9), 2
    return 4 * (code - 13), 4


def with_word_lane(o: Opnd, k: int) -> Opnd:
    """The operand's 32-bit word `k`.

    Works on whole registers, 64-bit immediates and constant operands, and on pair or quad lanes.
    Flags and suffix are dropped for immediates and kept otherwise.  RZ gives RZ.
    """
    kd = o & KIND_MASK
    if kd == K_IMM:
        return K_IMM | ((o >> PAYLOAD_SHIFT) >> (32 * k) & 0xFFFFFFFF) << PAYLOAD_SHIFT
    code = (o >> LANE_SHIFT) & 15
    first = 0 if code == 0 else lane_range(code, 0)[0]
    if kd == K_CONST:
        pl = o >> PAYLOAD_SHIFT
        return K_CONST | (pl + ((first + k) * 4 << 5)) << PAYLOAD_SHIFT | (o & FLAG_MASK)
    if is_zero_reg(o):
        return o
    ident = o >> PAYLOAD_SHIFT
    if ident < FIRST_VIRTUAL:
        return (o & (KIND_MASK | FLAG_MASK | SUFFIX_MASK)) | (ident + first + k) << PAYLOAD_SHIFT
    return (o & ~LANE_MASK) | (first + k + 1) << LANE_SHIFT


def with_pair_lane(o: Opnd, j: int) -> Opnd:
    """The operand's 64-bit pair `j` (words 2j and 2j+1) of a whole register, immediate or constant."""
    kd = o & KIND_MASK
    if kd == K_IMM:
        return K_IMM | ((o >> PAYLOAD_SHIFT) >> (64 * j) & 0xFFFFFFFFFFFFFFFF) << PAYLOAD_SHIFT
    if kd == K_CONST:
        return K_CONST | ((o >> PAYLOAD_SHIFT) + (8 * j << 5)) << PAYLOAD_SHIFT
    if is_zero_reg(o):
        return o
    ident = o >> PAYLOAD_SHIFT
    if ident < FIRST_VIRTUAL:
        return (o & ~(-1 << PAYLOAD_SHIFT)) | (ident + 2 * j) << PAYLOAD_SHIFT
    return (o & ~LANE_MASK) | (9 + j) << LANE_SHIFT


def base(o: Opnd) -> Opnd:
    """The operand without flags, suffix and lane: the register, immediate or constant itself."""
    return o & (KIND_MASK | -1 << PAYLOAD_SHIFT)


def suffix(o: Opnd) -> int:
    """The suffix code S_*."""
    return (o >> SUFFIX_SHIFT) & 15


def with_suffix(o: Opnd, code: int) -> Opnd:
    """The operand with its suffix replaced."""
    return (o & ~SUFFIX_MASK) | code << SUFFIX_SHIFT
