"""Decoded instructions as the records of ``vector.c``.

An instruction that has no record here is executed by its builder; both give the same results.  A record is made only of forms
that cannot fail, or whose failing the C code leaves to the builder.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from orias.isa.decode import Decoded
from orias.isa.operand import (
    ABS,
    INV,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NEG,
    PT,
    S_NONE,
    S_U32,
    SUFFIX_MASK,
    Opnd,
    const_bank,
    const_offset,
    imm_signed,
    in_file,
    is_imm,
    is_pred,
    is_zero_reg,
    kind_of,
    payload,
    suffix_of,
    with_suffix,
    word_text,
)
from orias.semantics.floats import ROUNDINGS, SCALES
from orias.sim.core.site import Site
from orias.sim.core.state import UNIFORM_ROWS
from orias.sim.sass.exec_flow import branch_target
from orias.sim.sass.memory_places import GENERIC, GLOBAL, SCALE, access_size, space_of

CODES: Final = [
    "NONE", "BRA", "NOP", "MOV", "MOV64", "IADD3", "IADDC", "IMAD", "IMADX", "IMADW", "IMADH", "LEA", "LEAC", "LEAH",
    "SHF", "LOP3", "LOP3P", "PLOP3", "SEL", "ISETP", "IMNMX", "PRMT", "POPC", "FADD", "FMUL", "FFMA", "FSETP", "FSEL",
    "FMNMX", "I2F", "DADD", "DMUL", "DFMA", "DSETP", "F2F64", "F2F32", "RCP", "RSQ", "SQRT", "LDC", "F2I", "I2D",
    "IABS", "SHFL", "VOTE", "LOAD", "STORE",
]  # fmt: skip
"""The first enumeration of codes in ``vector.c``."""
RECORD: Final = np.dtype(
    [
        ("code", "i4"), ("guard", "i4"), ("d", "i4"), ("uniform", "i4"), ("kind", "i4", 3), ("flag", "i4", 3), ("value", "u4", 3),
        ("high", "u4", 3), ("p", "i4", 3), ("q", "i4", 2), ("x", "i4"), ("y", "i4"), ("z", "i4"), ("closely", "i4"),
    ]
)  # fmt: skip
"""``Op`` of ``vector.c``."""

_REGISTER, _IMMEDIATE, _CONSTANT, _UNIFORM = range(4)
_F_ABS, _F_SIGN, _F_INV, _F_NEG, _I_ABS, _UNSIGNED_WORD = 1, 2, 4, 8, 16, 64
_FALSE: Final = 15
_PAIRS: Final = ("MOV64", "IMADW", "DADD", "DMUL", "DFMA", "F2F64", "I2D")
"""Codes with results in pairs."""
_NOWHERE: Final = 7
BANKS: Final = (0, 2, 3, 4)
"""Constant banks that every launch has."""
_FTZ, _SAT, _WITH_NAN = 1, 2, 4
_COMPARISONS: Final = {"F": 0, "T": 1, "LT": 2, "LE": 3, "GT": 4, "GE": 5, "EQ": 6, "NE": 7}
_OF_FLOATS: Final = {
    **_COMPARISONS, "LTU": 8, "LEU": 9, "GTU": 10, "GEU": 11, "EQU": 12, "NEU": 13, "NUM": 14, "NAN": 15,
}  # fmt: skip
_LOGIC: Final = {"AND": 0, "OR": 1, "XOR": 2}
_ROUNDS: Final = {"RN": 0, "RM": 1, "FLOOR": 1, "RP": 2, "CEIL": 2, "RZ": 3, "TRUNC": 3}


class _Unknown(Exception):
    """The C code does not have this form."""


class _Record:
    """One instruction on its way to a record."""

    def __init__(self, s: Site) -> None:
        self.s = s
        self.code = ""
        self.d = -1
        self.sources: list[tuple[int, int, int, int]] = []
        """Kind, flags, value and upper word or bank."""
        self.p = [_FALSE, _FALSE, _FALSE]
        self.q = [_NOWHERE, _NOWHERE]
        self.x = self.y = self.z = 0
        self.top = self.top_uniform = 0
        """The highest registers that are read, of the file of results and of the uniform file."""
        self.words = 1
        """Registers that a load fills, or of which a store takes its data."""

    def only(self, *mods: str) -> None:
        """Refuses modifiers that are not named."""
        if set(self.s.op.mods) - set(mods):
            raise _Unknown

    def result(self, o: Opnd) -> None:
        """The register of the result."""
        file = K_UR if self.s.uniform else K_R
        if kind_of(o) != file or o & SUFFIX_MASK:
            raise _Unknown
        self.d = -1 if is_zero_reg(o) else payload(o)

    def _source(self, o: Opnd, flags: int, wide: bool) -> None:
        k, p = kind_of(o), payload(o)
        if suffix_of(o) != S_NONE:
            if not (wide and suffix_of(o) == S_U32):
                raise _Unknown
            flags |= _UNSIGNED_WORD
        last = p + 1 if wide and not flags & _UNSIGNED_WORD else p
        if is_zero_reg(o):
            self.sources.append((_IMMEDIATE, flags & ~_UNSIGNED_WORD, 0, 0))
        elif k == K_R and not self.s.uniform:
            self.top = max(self.top, last)
            self.sources.append((_REGISTER, flags, p, 0))
        elif k == K_UR:
            self.top = max(self.top, last) if self.s.uniform else self.top
            self.top_uniform = max(self.top_uniform, last)
            self.sources.append((_REGISTER if self.s.uniform else _UNIFORM, flags, p, 0))
        elif k == K_IMM:
            self.sources.append((_IMMEDIATE, flags, p & 0xFFFFFFFF, p >> 32 & 0xFFFFFFFF))
        elif k == K_CONST and const_bank(o) in BANKS and const_offset(o) % 4 == 0:
            self.sources.append((_CONSTANT, flags, const_offset(o) >> 2, const_bank(o)))
        else:
            raise _Unknown

    def integer(self, o: Opnd, wide: bool = False) -> None:
        """A word (or with `wide` a pair) with its flags."""
        flags = (_I_ABS if o & ABS else 0) | (_F_INV if o & INV else 0) | (_F_NEG if o & NEG else 0)
        if wide and flags & _I_ABS:
            raise _Unknown
        self._source(o, flags, wide)

    def real(self, o: Opnd, wide: bool = False) -> None:
        """A float with its flags."""
        self._source(o, (_F_ABS if o & ABS else 0) | (_F_SIGN if o & NEG else 0), wide)

    def predicate(self, k: int, o: Opnd) -> None:
        """Source predicate `k`."""
        self.p[k] = self.condition(o)

    def condition(self, o: Opnd) -> int:
        """The code of a predicate."""
        file, p = kind_of(o), payload(o)
        inverted = 8 if o & INV else 0
        if file not in (K_P, K_UP):
            raise _Unknown
        if p == 7:
            return 7 | inverted
        if self.s.uniform:
            if file != K_UP:
                raise _Unknown
            return p | inverted
        return p | inverted | (16 if file == K_UP else 0)

    def flags(self) -> None:
        """The predicates of the result."""
        file = K_UP if self.s.uniform else K_P
        if len(self.s.preds) > 2:
            raise _Unknown
        for k, o in enumerate(self.s.preds):
            if payload(o) != 7:
                if kind_of(o) != file:
                    raise _Unknown
                self.q[k] = payload(o)

    def has(self, *mods: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(self.s.has(x) for x in mods)


def _values(s: Site) -> tuple[list[Opnd], list[Opnd]]:
    """Sources that are no predicates, and predicates."""
    return [o for o in s.src if not is_pred(o)], [o for o in s.src if is_pred(o)]


def _iadd3(r: _Record) -> None:
    s = r.s
    r.only("X")
    values, carries = _values(s)
    carries = carries if r.has("X") else []
    r.result(s.regs[0])
    r.flags()
    if not s.preds and not carries:
        r.code = "IADD3"
        for o in values:
            r.integer(o)
        if len(values) == 2:
            r.sources.append((_IMMEDIATE, 0, 0, 0))
        return
    r.code = "IADDC"
    if len(carries) > 2 or len(values) > 3:
        raise _Unknown
    for k, o in enumerate(values):
        r.integer(o & ~NEG)
        if o & NEG:
            r.x |= 1 << k
    for k, o in enumerate(carries):
        r.predicate(k, o)


def _imad(r: _Record) -> None:
    s = r.s
    r.only("X", "U32", "S32", "WIDE", "HI", "MOV", "SHL", "IADD")
    values, carries = _values(s)
    carries = carries if r.has("X") else []
    a, b, c = values
    negative = (a ^ b) & NEG
    r.result(s.regs[0])
    r.flags()
    if r.has("WIDE", "HI"):
        if carries or s.preds:
            raise _Unknown
        r.code = "IMADW" if r.has("WIDE") else "IMADH"
        r.integer(a & ~NEG)
        r.integer(b & ~NEG)
        r.integer(c, wide=True)
        r.x = (0 if r.has("U32") else 1) | (2 if negative else 0)
        return
    if carries or s.preds:
        if len(carries) > 1 or len(s.preds) > 1:
            raise _Unknown
        extended = r.has("X")
        r.code = "IMADX"
        r.integer(a & ~NEG)
        r.integer(b & ~NEG)
        r.integer(c & ~NEG if extended else c)
        r.x = (1 if negative else 0) | (2 if c & NEG else 0)
        if not extended or not carries:
            raise _Unknown
        r.predicate(0, carries[0])
        return
    if r.has("X"):
        raise _Unknown
    r.code = "IMAD"
    r.integer(a & ~NEG | negative)
    r.integer(b & ~NEG)
    r.integer(c)


def _lea(r: _Record) -> None:
    s = r.s
    r.only("HI", "X", "SX32")
    values, carries = _values(s)
    carries = carries if r.has("X") else []
    if not is_imm(values[-1]) or len(carries) > 1 or len(s.preds) > 1:
        raise _Unknown
    a, b = values[0], values[1]
    r.result(s.regs[0])
    r.flags()
    r.y = payload(values[-1]) & 31
    r.integer(a & ~NEG)
    r.integer(b & ~NEG)
    r.x = (1 if a & NEG else 0) | (2 if b & NEG else 0)
    for o in carries:
        r.predicate(0, o)
    if r.has("HI"):
        r.code = "LEAH"
        if r.has("SX32"):
            r.x |= 4
        else:
            r.integer(values[2])
    else:
        r.code = "LEAC" if r.x or carries or s.preds else "LEA"


def _shf(r: _Record) -> None:
    s = r.s
    r.only("L", "R", "W", "HI", "U32", "S32", "U64", "S64")
    if s.preds:
        raise _Unknown
    r.code = "SHF"
    r.result(s.regs[0])
    for o in s.src:
        r.integer(o)
    left, wide = r.has("L"), r.has("U64", "S64")
    wrap = r.has("W") and not (is_imm(s.src[1]) and payload(s.src[1]) < (64 if wide else 32))
    sign = r.has("S32", "S64") and not left
    r.x = (1 if left else 0) | (2 if wrap else 0) | (4 if wide else 0) | (8 if sign else 0) | (16 if r.has("HI") else 0)


def _lop3(r: _Record) -> None:
    s = r.s
    r.only("LUT", "PAND")
    for o in s.src[:3]:
        r.integer(o)
    r.x = payload(s.src[3]) & 0xFF
    r.code = "LOP3P" if s.preds else "LOP3"
    if s.regs:
        r.result(s.regs[0])
    r.flags()
    if s.preds:
        r.predicate(0, s.src[4])
        r.y = 0 if r.has("PAND") else 1


def _plop3(r: _Record) -> None:
    s = r.s
    r.only("LUT")
    r.code = "PLOP3"
    for k, o in enumerate(s.src[:3]):
        r.predicate(k, o)
    tables = [payload(o) & 0xFF for o in s.src[3:]]
    r.x, r.y = tables[0], tables[-1]
    r.flags()
    if len(tables) < len(s.preds):
        raise _Unknown


def _mov(r: _Record) -> None:
    s = r.s
    r.only()
    if len(s.src) > 1 and payload(s.src[1]) != 15:
        raise _Unknown
    r.code = "MOV"
    r.result(s.regs[0])
    r.integer(s.src[0])


def _choice(code: str, take: Callable[[_Record, Opnd], None]) -> Callable[[_Record], None]:
    """One of two sources by a predicate; `take` reads a source."""

    def translate(r: _Record) -> None:
        s = r.s
        r.only()
        r.code = code
        r.result(s.regs[0])
        take(r, s.src[0])
        take(r, s.src[1])
        r.predicate(0, s.src[2])

    return translate


def _isetp(r: _Record) -> None:
    s = r.s
    r.only(*_COMPARISONS, *_LOGIC, "U32", "S32", "EX")
    r.code = "ISETP"
    r.flags()
    r.integer(s.src[0])
    r.integer(s.src[1])
    r.predicate(0, s.src[2])
    r.x = _COMPARISONS[s.op.mods[0]] | (0 if r.has("U32") else 16)
    if r.has("EX"):
        r.predicate(1, s.src[3])
        r.x |= 32
    r.y = next(_LOGIC[x] for x in s.op.mods if x in _LOGIC)


def _imnmx(r: _Record) -> None:
    s = r.s
    r.only("U32", "S32")
    values, predicates = _values(s)
    if len(values) != 2 or any(payload(o) != 7 for o in s.preds):
        raise _Unknown
    r.code = "IMNMX"
    r.result(s.regs[0])
    for o in values:
        r.integer(o)
    r.predicate(0, predicates[0])
    r.x = 0 if r.has("U32") else 1


def _prmt(r: _Record) -> None:
    s = r.s
    r.only()
    r.code = "PRMT"
    r.result(s.regs[0])
    for o in s.src[:3]:
        r.integer(o)


def _popc(r: _Record) -> None:
    r.only()
    r.code = "POPC"
    r.result(r.s.regs[0])
    r.integer(r.s.src[-1])


def _iabs(r: _Record) -> None:
    _popc(r)
    r.code = "IABS"


_SHUFFLES: Final = ("IDX", "UP", "DOWN", "BFLY")
_VOTES: Final = ("ALL", "ANY", "EQ")


def _shfl(r: _Record) -> None:
    s = r.s
    r.only(*_SHUFFLES)
    r.code, r.x = "SHFL", _SHUFFLES.index(s.op.mods[0])
    r.result(s.regs[0])
    r.flags()
    for o in s.src[:3]:
        r.integer(o)


def _vote(r: _Record) -> None:
    s = r.s
    r.only(*_VOTES)
    r.code, r.x = "VOTE", _VOTES.index(s.op.mods[0])
    if s.regs:
        r.result(s.regs[0])
    r.flags()
    r.predicate(0, s.src[0])


def _nearest(r: _Record) -> None:
    if any(ROUNDINGS.get(x, ROUNDINGS["RN"]) != ROUNDINGS["RN"] or x in SCALES for x in r.s.op.mods):
        raise _Unknown


def _finish(r: _Record) -> int:
    return (_FTZ if r.has("FTZ") else 0) | (_SAT if r.has("SAT") else 0)


def _float(code: str, count: int) -> Callable[[_Record], None]:
    def translate(r: _Record) -> None:
        r.only("FTZ", "SAT", "RN")
        _nearest(r)
        r.code = code
        r.result(r.s.regs[0])
        if len(r.s.src) < count:
            raise _Unknown
        for o in r.s.src[:count]:
            r.real(o)
        r.x = _finish(r)

    return translate


def _double(code: str, count: int) -> Callable[[_Record], None]:
    def translate(r: _Record) -> None:
        s = r.s
        r.only("RN")
        r.code = code
        r.result(s.regs[0])
        operands = s.src
        if code == "DADD":
            used = [o for o in s.src if not is_zero_reg(o) or len(s.src) == 2]
            operands = [used[0], used[-1]]
        for o in operands[:count]:
            r.real(o, wide=True)

    return translate


def _setp(code: str, wide: bool) -> Callable[[_Record], None]:
    def translate(r: _Record) -> None:
        s = r.s
        r.only(*_OF_FLOATS, *_LOGIC, "FTZ")
        r.code = code
        r.flags()
        r.real(s.src[0], wide)
        r.real(s.src[1], wide)
        r.predicate(0, s.src[2])
        r.x = next(_OF_FLOATS[x] for x in s.op.mods if x in _OF_FLOATS)
        r.y = next(_LOGIC[x] for x in s.op.mods if x in _LOGIC)
        r.z = 1 if r.has("FTZ") else 0

    return translate


def _fmnmx(r: _Record) -> None:
    s = r.s
    r.only("FTZ", "NAN")
    r.code = "FMNMX"
    r.result(s.regs[0])
    r.real(s.src[0])
    r.real(s.src[1])
    r.predicate(0, s.src[2])
    r.x = (_FTZ if r.has("FTZ") else 0) | (_WITH_NAN if r.has("NAN") else 0)


def _i2f(r: _Record) -> None:
    s = r.s
    r.only("F32", "F64", "U32", "S32", "RN")
    r.code = "I2D" if r.has("F64") else "I2F"
    r.result(s.regs[0])
    r.integer(s.src[0])
    r.x = 0 if r.has("U32") else 1


def _f2i(r: _Record) -> None:
    s = r.s
    r.only("U32", "S32", "FTZ", "NTZ", "F32", *_ROUNDS)
    r.code = "F2I"
    r.result(s.regs[0])
    r.real(s.src[0])
    r.x = (0 if r.has("U32") else 1) | (2 if r.has("NTZ") else 0) | (4 if r.has("FTZ") else 0)
    r.y = next((_ROUNDS[x] for x in s.op.mods if x in _ROUNDS), 0)


def _f2f(r: _Record) -> None:
    s = r.s
    mods = [x for x in s.op.mods if x in ("F32", "F64")]
    if mods == ["F64", "F32"]:
        r.only("F64", "F32", "FTZ")
        r.code, r.x = "F2F64", 1 if r.has("FTZ") else 0
        r.result(s.regs[0])
        r.real(s.src[0])
    elif mods == ["F32", "F64"]:
        r.only("F64", "F32", "FTZ", "SAT", "RN")
        r.code, r.x = "F2F32", _finish(r)
        r.result(s.regs[0])
        r.real(s.src[0], wide=True)
    else:
        raise _Unknown


def _mufu(r: _Record) -> None:
    s = r.s
    r.only("RCP", "RSQ", "SQRT")
    if len(s.op.mods) != 1:
        raise _Unknown
    r.code = s.op.mods[0]
    r.result(s.regs[0])
    r.real(s.src[0])


def _ldc(r: _Record) -> None:
    s = r.s
    r.only("64", "128")
    if not is_zero_reg(s.src[1]) or const_bank(s.src[0]) not in BANKS or const_offset(s.src[0]) % 4:
        raise _Unknown
    r.code = "LDC"
    r.result(s.regs[0])
    r.sources.append((_CONSTANT, 0, const_offset(s.src[0]) >> 2, const_bank(s.src[0])))
    r.x = r.words = 4 if r.has("128") else 2 if r.has("64") else 1


def _cs2r(r: _Record) -> None:
    s = r.s
    if word_text(s.src[0]) != "SRZ":
        raise _Unknown
    r.code = "MOV" if r.has("32") else "MOV64"
    r.result(s.regs[0])
    r.sources.append((_IMMEDIATE, 0, 0, 0))


def _nop(r: _Record) -> None:
    r.code = "NOP"


_IGNORED: Final = frozenset((
    "E", "64", "128", "U8", "S8", "U16", "S16", "CONSTANT", "WEAK", "LTC64B", "LTC128B", "LTC256B", "EF", "EL", "LU", "EU", "NA", "U",
))  # fmt: skip
"""Modifiers of accesses that change size only, or nothing here."""


def _access(r: _Record) -> None:
    """What loads and stores share: address, memory and size."""
    s = r.s
    if not set(s.op.mods) <= _IGNORED or s.uniform:
        raise _Unknown
    size, signed = access_size(s)
    space = space_of(s.op)
    if size > 16 or any(payload(o) != 7 for o in s.preds):
        raise _Unknown
    base, uniform, offset = s.src[1], s.src[2], s.src[3]
    r.z = imm_signed(offset)
    if not -(1 << 31) <= r.z < 1 << 31:
        raise _Unknown
    if space in (GLOBAL, GENERIC):
        if not r.has("E") and not is_zero_reg(base):
            base = with_suffix(base, S_U32)
        r.integer(base, wide=True)
        r.integer(uniform, wide=True)
        r.y = space
    else:
        shift = SCALE.get(suffix_of(base), 0)
        if suffix_of(base) != S_NONE and not shift:
            raise _Unknown
        r.integer(base & ~SUFFIX_MASK)
        r.integer(uniform)
        r.y = space | shift << 4
    r.x = size | (256 if signed else 0)
    r.words = max(1, size // 4)


def _load(r: _Record) -> None:
    r.code = "LOAD"
    _access(r)
    if len(r.s.regs) != 1:
        raise _Unknown
    r.result(r.s.regs[0])
    base = r.s.src[1]
    held = () if is_zero_reg(base) else (payload(base), payload(base) + 1)
    if not any(r.d <= x < r.d + r.words for x in held):
        r.x |= 512  # It may be done again after a part of it.


def _store(r: _Record) -> None:
    r.code = "STORE"
    _access(r)
    data = r.s.src[4]
    r.integer(data)
    if not is_zero_reg(data) and kind_of(data) == K_R:
        r.top = max(r.top, payload(data) + r.words - 1)


def _bra(r: _Record) -> None:
    s = r.s
    r.only()
    if len(s.src) != 1 or not is_imm(s.src[0]):
        raise _Unknown
    r.code = "BRA"
    r.x = branch_target(s, s.src[0])


_TRANSLATE: Final[dict[str, Callable[[_Record], None]]] = {
    "IADD3": _iadd3, "IADD": _iadd3, "VIADD": _iadd3, "IMAD": _imad, "LEA": _lea, "SHF": _shf, "LOP3": _lop3, "PLOP3": _plop3,
    "MOV": _mov, "SEL": _choice("SEL", _Record.integer), "ISETP": _isetp, "IMNMX": _imnmx, "VIMNMX": _imnmx, "PRMT": _prmt, "POPC": _popc, "IABS": _iabs, "SHFL": _shfl, "VOTE": _vote,
    "FADD": _float("FADD", 2), "FMUL": _float("FMUL", 2), "FFMA": _float("FFMA", 3),
    "DADD": _double("DADD", 2), "DMUL": _double("DMUL", 2), "DFMA": _double("DFMA", 3), "FSETP": _setp("FSETP", False),
    "DSETP": _setp("DSETP", True), "FSEL": _choice("FSEL", _Record.real), "FMNMX": _fmnmx, "I2F": _i2f, "I2FP": _i2f, "F2I": _f2i, "F2F": _f2f,
    "MUFU": _mufu, "LDC": _ldc, "CS2R": _cs2r, "NOP": _nop, "BRA": _bra,
    "LD": _load, "LDG": _load, "LDS": _load, "LDL": _load, "ST": _store, "STG": _store, "STS": _store, "STL": _store,
}  # fmt: skip


def record(d: Decoded, address: int, registers: int) -> tuple[object, ...] | None:
    """The record of an instruction at an address of code, None for one that its builder has to execute.

    `registers`: rows of registers that every machine has.
    """
    translate = _TRANSLATE.get(d.op.means or d.op.base)
    if translate is None:
        return None
    s = Site(d.op, d.dst, d.src, address, d.op.means != "")
    r = _Record(s)
    guard = -1
    try:
        if d.guard != PT:
            if not in_file(d.guard, K_P) or s.uniform:
                return None
            guard = r.condition(d.guard)
        translate(r)
        whole = r.code in ("SHFL", "VOTE")
        if whole and guard >= 0:
            return None
    except (_Unknown, IndexError, StopIteration, KeyError, ValueError):
        return None
    top = max(r.top, r.d + (2 if r.code in _PAIRS else r.words) - 1)
    if top >= (UNIFORM_ROWS if s.uniform else registers) or r.top_uniform >= UNIFORM_ROWS:
        return None
    r.sources += [(_IMMEDIATE, 0, 0, 0)] * (3 - len(r.sources))
    if len(r.sources) > 3:
        return None
    kind, flag, value, high = zip(*r.sources, strict=True)
    return (
        CODES.index(r.code), guard, r.d, 1 if s.uniform else 2 if whole else 0, kind, flag, value, high, tuple(r.p), tuple(r.q), r.x, r.y, r.z, 0,
    )  # fmt: skip
