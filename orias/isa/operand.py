"""The operand: one packed integer, from lowering to encoding, and the functions to build and query it.

An :data:`Opnd` is an immutable ``int``, so equality, hashing and CSE keys are free.  Layout, least
significant bit first::

    0..3    kind (K_*)
    4       neg   (-x)          5  abs (|x|)          6  inv (~x, or !p for predicates)
    7..10   suffix (S_*): half or byte selection, address scaling
    11..18  lane: 0 whole register, 1..8 word k-1, 9..12 pair k-9, 13..14 quad k-13; of vectors with more than
            8 words 15..134 word k-7, 135..194 pair k-131, 195..224 quad k-193
    19..    payload

Payload by kind: registers hold the register id -- ids below 256 are *physical* (``R4``, ``P2``,
``UR6``; 255 is RZ and URZ, 7 is PT and UPT), ids from 256 up are virtual.  ``K_IMM`` holds an unsigned
bit pattern (32 bits; 64 for the operands of 64-bit operations), ``K_CONST`` ``offset << 5 | bank``,
``K_LABEL`` a block id, ``K_SYM`` an index into ``Func.syms``, ``K_WORD`` an interned name
(``SR_TID.X``, ``PR``), ``K_SB`` a scoreboard number.

Other modules query and build operands with the functions of this module:

===============  ==================================================================================
what is it       ``is_reg is_vreg is_physical is_hardwired in_file(o, K_R) is_pred is_zero_reg is_true_pred
                 is_imm is_const is_label``; other kinds and several at once: ``kind_of(o) in (K_R, K_UR)``
which one        ``vreg`` (a virtual register) ``reg_id`` (any register) ``imm_value imm_signed label_id
                 const_bank const_offset word_text``; other kinds: ``payload``
how it is read   flags are NEG, ABS and INV; modifiers are flags and suffix; bare is without modifiers and lane:
                 ``has_flags has_suffix has_modifiers has_lane is_bare``, ``flags_of modifiers_of suffix_of
                 lane_of lane_words word_lane pair_lane
                 quad_lane``; one flag is tested with ``o & NEG`` and set with ``o | NEG``
a changed copy   ``bare without_flags without_modifiers without_lane``, ``with_suffix with_lane with_word_lane
                 with_pair_lane with_file with_reg reg_plus in_place_of``
a new operand    ``r ur p up reg imm imm64 const label sym sb word``
===============  ==================================================================================

A function call costs plain Python some 30 ns.  The loops that visit every operand of a function many times (use counts,
liveness, live ranges, copy propagation) therefore compare with :data:`FIRST_VREG` and shift directly; a test limits the
number of such lines.
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
LANE_MASK: Final = 255 << LANE_SHIFT
PAYLOAD_SHIFT: Final = 19

# Suffix codes; the text is what nvdisasm prints after the register.
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
FIRST_VREG: Final[Opnd] = FIRST_VIRTUAL << PAYLOAD_SHIFT
"""Operands from here up have a payload of 256 or more.  Among results and guards these are the virtual registers."""

NONE: Final[Opnd] = K_NONE
RZ: Final[Opnd] = K_R | 255 << PAYLOAD_SHIFT
URZ: Final[Opnd] = K_UR | 255 << PAYLOAD_SHIFT
SP: Final[Opnd] = K_R | 1 << PAYLOAD_SHIFT
"""The stack pointer, R1."""
PT: Final[Opnd] = K_P | 7 << PAYLOAD_SHIFT
NOT_PT: Final[Opnd] = PT | INV
UPT: Final[Opnd] = K_UP | 7 << PAYLOAD_SHIFT
NOT_UPT: Final[Opnd] = UPT | INV
ZERO: Final[Opnd] = K_IMM
"""The immediate 0."""

_BELOW_PAYLOAD: Final = (1 << PAYLOAD_SHIFT) - 1
_MODIFIERS: Final = FLAG_MASK | SUFFIX_MASK

# Lane codes: the code of the first word, pair and quad; the k-th one of the first eight words has the code + k.  Vectors of
# tensor memory have up to 128 words: the codes of later lanes come from :func:`word_lane`, `pair_lane` and `quad_lane`.
LANE_WORD: Final = 1
LANE_PAIR: Final = 9
LANE_QUAD: Final = 13
_NEAR: Final = 8
_FAR_WORD: Final = 15 - _NEAR
_FAR_PAIR: Final = 135 - _NEAR // 2
_FAR_QUAD: Final = 195 - _NEAR // 4


def kind_of(o: Opnd) -> int:
    """The kind, one of K_*; for a register its file."""
    return o & KIND_MASK


def payload(o: Opnd) -> int:
    """The raw payload, for the kinds without a getter (words, symbols, scoreboards)."""
    return o >> PAYLOAD_SHIFT


def in_file(o: Opnd, file: int) -> bool:
    """True for a register of the file K_R, K_UR, K_P, K_UP or K_B."""
    return (o & KIND_MASK) == file


def is_reg(o: Opnd) -> bool:
    """True for a register of any file, physical, virtual or hardwired (RZ, PT)."""
    return 0 < (o & KIND_MASK) <= K_B


def is_vreg(o: Opnd) -> bool:
    """True for a virtual register."""
    return o >= FIRST_VREG and 0 < (o & KIND_MASK) <= K_B


def is_pred(o: Opnd) -> bool:
    """True for a register of the files P and UP."""
    return K_P <= (o & KIND_MASK) <= K_UP


def is_imm(o: Opnd) -> bool:
    """True for an immediate."""
    return (o & KIND_MASK) == K_IMM


def is_const(o: Opnd) -> bool:
    """True for a constant-bank operand."""
    return (o & KIND_MASK) == K_CONST


def is_label(o: Opnd) -> bool:
    """True for a block label."""
    return (o & KIND_MASK) == K_LABEL


def is_zero_reg(o: Opnd) -> bool:
    """True for RZ or URZ, whatever the flags."""
    return (o & KIND_MASK) in (K_R, K_UR) and (o >> PAYLOAD_SHIFT) == 255


def is_true_pred(o: Opnd) -> bool:
    """True for PT or UPT, negated or not."""
    return (o & KIND_MASK) in (K_P, K_UP) and (o >> PAYLOAD_SHIFT) == 7


def is_hardwired(o: Opnd) -> bool:
    """True for a register that holds no value of its own: RZ, URZ, PT, UPT."""
    kd = o & KIND_MASK
    return 0 < kd < K_B and o >> PAYLOAD_SHIFT == (255 if kd <= K_UR else 7)


def is_physical(o: Opnd) -> bool:
    """True for a physical register that holds a value (not RZ, PT)."""
    kd = o & KIND_MASK
    if kd == K_B:
        return o < FIRST_VREG
    return 0 < kd < K_B and o < FIRST_VREG and o >> PAYLOAD_SHIFT != (255 if kd <= K_UR else 7)


def vreg(o: Opnd) -> int:
    """The id of a virtual register."""
    return o >> PAYLOAD_SHIFT


def reg_id(o: Opnd) -> int:
    """The id of a register: below 256 the number of a physical one, from 256 up a virtual one."""
    return o >> PAYLOAD_SHIFT


def imm_value(o: Opnd) -> int:
    """The bit pattern of an immediate, unsigned."""
    return o >> PAYLOAD_SHIFT


def label_id(o: Opnd) -> int:
    """The block id of a label."""
    return o >> PAYLOAD_SHIFT


def has_flags(o: Opnd) -> bool:
    """True if the operand is negated, absolute or inverted."""
    return o & FLAG_MASK != 0


def has_suffix(o: Opnd) -> bool:
    """True if the operand selects a half or byte, or scales an address."""
    return o & SUFFIX_MASK != 0


def has_modifiers(o: Opnd) -> bool:
    """True if the operand has a flag or a suffix."""
    return o & _MODIFIERS != 0


def has_lane(o: Opnd) -> bool:
    """True if the operand selects a part of its register."""
    return o & LANE_MASK != 0


def is_bare(o: Opnd) -> bool:
    """True without flag, suffix and lane."""
    return o & (_MODIFIERS | LANE_MASK) == 0


def flags_of(o: Opnd) -> int:
    """The flags NEG, ABS and INV in their places, to be put on another operand with ``|``."""
    return o & FLAG_MASK


def modifiers_of(o: Opnd) -> int:
    """Flags and suffix in their places, to be put on another operand with ``|``."""
    return o & _MODIFIERS


def lane_of(o: Opnd) -> int:
    """The lane code (0 whole)."""
    return (o >> LANE_SHIFT) & 255


def suffix_of(o: Opnd) -> int:
    """The suffix code S_*."""
    return (o >> SUFFIX_SHIFT) & 15


def bare(o: Opnd) -> Opnd:
    """The operand without flags, suffix and lane: the register, immediate or constant itself."""
    return o & (KIND_MASK | ~_BELOW_PAYLOAD)


def without_flags(o: Opnd) -> Opnd:
    """The operand without NEG, ABS and INV."""
    return o & ~FLAG_MASK


def without_suffix(o: Opnd) -> Opnd:
    """The operand with all of its words or bits; flags and lane stay."""
    return o & ~SUFFIX_MASK


def without_modifiers(o: Opnd) -> Opnd:
    """The operand without flags and suffix; its lane stays."""
    return o & ~_MODIFIERS


def without_lane(o: Opnd) -> Opnd:
    """The whole register; flags and suffix stay."""
    return o & ~LANE_MASK


def with_lane(o: Opnd, code: int) -> Opnd:
    """The operand with its lane code replaced (``LANE_PAIR + 1``: the second pair)."""
    return (o & ~LANE_MASK) | code << LANE_SHIFT


def with_suffix(o: Opnd, code: int) -> Opnd:
    """The operand with its suffix replaced."""
    return (o & ~SUFFIX_MASK) | code << SUFFIX_SHIFT


def with_file(o: Opnd, file: int) -> Opnd:
    """The register of the same id in another file; flags, suffix and lane stay."""
    return (o & ~KIND_MASK) | file


def with_reg(o: Opnd, ident: int) -> Opnd:
    """Another register of the same file; flags, suffix and lane stay."""
    return (o & _BELOW_PAYLOAD) | ident << PAYLOAD_SHIFT


def renamed(o: Opnd, names: dict[int, int]) -> Opnd:
    """The operand with another virtual register of the same file where `names` has one for its own."""
    return with_reg(o, names[vreg(o)]) if is_vreg(o) and vreg(o) in names else o


def in_place_of(use: Opnd, o: Opnd) -> Opnd:
    """The bare operand `o` with the flags, suffix and lane of `use`, the operand that it replaces."""
    return o | (use & (_MODIFIERS | LANE_MASK))


def reg_plus(o: Opnd, k: int) -> Opnd:
    """The physical register `k` numbers after a register."""
    return o + (k << PAYLOAD_SHIFT)


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
    lane = (o >> LANE_SHIFT) & 255
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


def lane_range(code: int, width: int) -> tuple[int, int]:
    """(first word, number of words) that a lane code selects of a register of `width` words."""
    if code == 0:
        return 0, width
    if code <= 8:
        return code - 1, 1
    if code <= 12:
        return 2 * (code - 9), 2
    if code <= 14:
        return 4 * (code - 13), 4
    if code < 135:
        return code - _FAR_WORD, 1
    if code < 195:
        return 2 * (code - _FAR_PAIR), 2
    return 4 * (code - _FAR_QUAD), 4


def word_lane(k: int) -> int:
    """The lane code of word `k`."""
    return (LANE_WORD if k < _NEAR else _FAR_WORD) + k


def pair_lane(k: int) -> int:
    """The lane code of pair `k`."""
    return (LANE_PAIR if 2 * k < _NEAR else _FAR_PAIR) + k


def quad_lane(k: int) -> int:
    """The lane code of quad `k`."""
    return (LANE_QUAD if 4 * k < _NEAR else _FAR_QUAD) + k


def lane_words(o: Opnd, width: int) -> tuple[int, int]:
    """(first word, number of words) that an operand selects of its register of `width` words."""
    code = (o >> LANE_SHIFT) & 255
    return lane_range(code, width) if code else (0, width)


def with_word_lane(o: Opnd, k: int) -> Opnd:
    """The operand's 32-bit word `k`.

    Works on whole registers, 64-bit immediates and constant operands, and on pair or quad lanes.
    Flags and suffix are dropped for immediates and kept otherwise.  RZ gives RZ.
    """
    kd = o & KIND_MASK
    if kd == K_IMM:
        return K_IMM | ((o >> PAYLOAD_SHIFT) >> (32 * k) & 0xFFFFFFFF) << PAYLOAD_SHIFT
    code = (o >> LANE_SHIFT) & 255
    first = 0 if code == 0 else lane_range(code, 0)[0]
    if kd == K_CONST:
        pl = o >> PAYLOAD_SHIFT
        return K_CONST | (pl + ((first + k) * 4 << 5)) << PAYLOAD_SHIFT | (o & FLAG_MASK)
    if is_zero_reg(o):
        return o
    ident = o >> PAYLOAD_SHIFT
    if ident < FIRST_VIRTUAL:
        return (o & (KIND_MASK | FLAG_MASK | SUFFIX_MASK)) | (ident + first + k) << PAYLOAD_SHIFT
    return (o & ~LANE_MASK) | word_lane(first + k) << LANE_SHIFT


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
    return (o & ~LANE_MASK) | pair_lane(j) << LANE_SHIFT
