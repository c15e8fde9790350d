"""Records of loads and stores (``accesses.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    K_R,
    S_NONE,
    S_U32,
    imm_signed,
    is_zero_reg,
    kind_of,
    payload,
    suffix_of,
    with_suffix,
    without_modifiers,
    without_suffix,
)
from orias.sim.native.record import IMMEDIATE, Record, Unknown
from orias.sim.sass.memory_places import GENERIC, GLOBAL, SCALE, access_size, space_of

_IGNORED: Final = frozenset((
    "E", "64", "128", "U8", "S8", "U16", "S16", "CONSTANT", "WEAK", "LTC64B", "LTC128B", "LTC256B", "EF", "EL", "LU", "EU", "NA", "U",
))  # fmt: skip
"""Modifiers of accesses that change size only, or nothing here."""
_ATOMICS: Final = {"ADD": 0, "MIN": 1, "MAX": 2, "AND": 3, "OR": 4, "XOR": 5, "EXCH": 6, "INC": 7, "DEC": 8, "CAS": 9}
_OF_ATOMICS: Final = frozenset((
    "E", "STRONG", "WEAK", "CTA", "SM", "GPU", "SYS", "POPC", "32", "64", "U32", "S32", "U64", "S64", "F32", "F64", "FTZ", "RN", "G",
))  # fmt: skip
"""Further modifiers of atomics."""


def _access(r: Record) -> None:
    """Address, memory and size of loads and stores."""
    s = r.s
    if not set(s.op.mods) <= _IGNORED or s.uniform:
        raise Unknown
    size, signed = access_size(s)
    _reach(r, size)
    r.x |= 256 if signed else 0


def _reach(r: Record, size: int) -> None:
    """Address and memory of an access of `size` bytes."""
    s = r.s
    space = space_of(s.op)
    if size > 16 or any(payload(o) != 7 for o in s.preds):
        raise Unknown
    base, uniform, offset = s.src[1], s.src[2], s.src[3]
    r.z = imm_signed(offset)
    if not -(1 << 31) <= r.z < 1 << 31:
        raise Unknown
    if space in (GLOBAL, GENERIC):
        if not r.has("E") and not is_zero_reg(base):
            base = with_suffix(base, S_U32)
        r.integer(base, wide=True)
        r.integer(uniform, wide=True)
        r.y = space
    else:
        shift = SCALE.get(suffix_of(base), 0)
        if suffix_of(base) != S_NONE and not shift:
            raise Unknown
        r.integer(without_suffix(base))
        r.integer(uniform)
        r.y = space | shift << 4
    r.x = size
    r.words = max(1, size // 4)


def _load(r: Record) -> None:
    r.code = "LOAD"
    _access(r)
    if len(r.s.regs) != 1:
        raise Unknown
    r.result(r.s.regs[0])
    base = r.s.src[1]
    held = () if is_zero_reg(base) else (payload(base), payload(base) + 1)
    if not any(r.d <= x < r.d + r.words for x in held):
        r.x |= 512  # It may be done again after a part of it.


def _store(r: Record) -> None:
    r.code = "STORE"
    _access(r)
    data = r.s.src[4]
    r.integer(data)
    if not is_zero_reg(data) and kind_of(data) == K_R:
        r.top = max(r.top, payload(data) + r.words - 1)


def _atom(r: Record) -> None:
    s = r.s
    mods = set(s.op.mods)
    if mods - _OF_ATOMICS - _ATOMICS.keys() or s.uniform:
        raise Unknown
    size = 8 if mods & {"64", "S64", "U64", "F64"} else 4
    wide = size == 8
    real = bool(mods & {"F32", "F64"})
    r.code = "ATOM"
    _reach(r, size)
    if s.regs and not is_zero_reg(s.regs[0]):
        r.result(s.regs[0])
    if "POPC" in mods:
        r.p[0] = _ATOMICS["ADD"]
        r.sources.append((IMMEDIATE, 0, 1, 0))
        return
    (name,) = mods & _ATOMICS.keys()
    if real and (name != "ADD" or space_of(s.op) == GENERIC or (wide and "FTZ" in mods)):
        raise Unknown
    signed = bool(mods & {"S32", "S64"})
    r.p[0] = _ATOMICS[name] | (16 if signed else 0) | (32 if real else 0) | (64 if "FTZ" in mods else 0)
    operands = s.src[4:6] if name == "CAS" else s.src[4:5]
    for o in operands:
        if kind_of(o) != K_R or without_modifiers(o) != o:
            raise Unknown
        if not is_zero_reg(o):
            r.top = max(r.top, payload(o) + (1 if wide else 0))
    r.integer(operands[0], wide=wide)
    if name == "CAS":
        r.p[1] = -1 if is_zero_reg(operands[1]) else payload(operands[1])


ACCESSES: Final[dict[str, Callable[[Record], None]]] = {
    "LD": _load, "LDG": _load, "LDS": _load, "LDL": _load, "ST": _store, "STG": _store, "STS": _store, "STL": _store,
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG"), _atom),
}  # fmt: skip
"""Mnemonic -> what fills its record."""
