"""Records of loads and stores (``accesses.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    K_R,
    S_NONE,
    S_U32,
    SUFFIX_MASK,
    imm_signed,
    is_zero_reg,
    kind_of,
    payload,
    suffix_of,
    with_suffix,
)
from orias.sim.native.record import Record, Unknown
from orias.sim.sass.memory_places import GENERIC, GLOBAL, SCALE, access_size, space_of

_IGNORED: Final = frozenset((
    "E", "64", "128", "U8", "S8", "U16", "S16", "CONSTANT", "WEAK", "LTC64B", "LTC128B", "LTC256B", "EF", "EL", "LU", "EU", "NA", "U",
))  # fmt: skip
"""Modifiers of accesses that change size only, or nothing here."""


def _access(r: Record) -> None:
    """What loads and stores share: address, memory and size."""
    s = r.s
    if not set(s.op.mods) <= _IGNORED or s.uniform:
        raise Unknown
    size, signed = access_size(s)
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
        r.integer(base & ~SUFFIX_MASK)
        r.integer(uniform)
        r.y = space | shift << 4
    r.x = size | (256 if signed else 0)
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


ACCESSES: Final[dict[str, Callable[[Record], None]]] = {
    "LD": _load, "LDG": _load, "LDS": _load, "LDL": _load, "ST": _store, "STG": _store, "STS": _store, "STL": _store,
}  # fmt: skip
"""Mnemonic -> what fills its record."""
