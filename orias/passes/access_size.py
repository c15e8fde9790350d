"""Plain loads and stores: which they are, their sizes, and the words that a store writes."""

from typing import Final

from orias.isa.op import F_CONSTMEM, F_DISTANT, F_FENCE, F_READ, F_SIZED, F_WRITE, Op
from orias.isa.operand import K_R, RZ, Opnd, has_modifiers, in_file, is_imm, is_vreg, lane_words, with_word_lane
from orias.isa.operations import access_bytes
from orias.ori.ir import Func, Inst

_SIZES: Final = frozenset(("U8", "S8", "U16", "S16", "64", "128"))
_HINTS: Final = frozenset(("E", "U", "EF", "EL", "NA", "EU", "LU", "LTC64B", "LTC128B", "LTC256B", "CONSTANT"))
"""Modifiers that change neither size nor order of an access."""
_WORD: Final = 4


def _is_plain(o: Op) -> bool:
    """True if the operation has no modifiers but a size and cache hints; ``SYS`` alone is the weak access of sm_75."""
    if not o.flags & F_SIZED or o.flags & F_FENCE or o.addr != (0,):
        return False
    return all(m in _SIZES or m in _HINTS or m == "SYS" for m in o.mods)


def may_fault(inst: Inst) -> bool:
    """True for an access at an address, with a handle, or at a place of a constant bank, that may be legal only where the program has it.

    Texture fetches are among them, though they are no loads.
    """
    flags = inst.op.flags
    if flags & (F_WRITE | F_DISTANT) or inst.op.loads():
        return True
    return flags & F_CONSTMEM != 0 and any(is_vreg(s) for s in inst.src)


def is_load(inst: Inst) -> bool:
    """True for a weak load of up to four words."""
    return inst.op.loads() and _is_plain(inst.op) and len(inst.dst) == 1 and len(inst.src) == 4


def is_store(inst: Inst) -> bool:
    """True for a weak store of up to four words."""
    return inst.op.flags & (F_READ | F_WRITE) == F_WRITE and _is_plain(inst.op) and len(inst.src) == 5


def size_of(o: Op) -> int:
    """Bytes that a plain access touches."""
    return access_bytes(o.mods)


def is_signed(o: Op) -> bool:
    """True for a load that extends the sign of 8 or 16 bits."""
    return o.has("S8") or o.has("S16")


def data_words(fn: Func, inst: Inst) -> list[Opnd]:
    """The operands of one word each that a plain store writes (of which 8 or 16 bits count, if it writes so many); empty if unknown."""
    count = max(1, size_of(inst.op) // _WORD)
    data = inst.src[4]
    if has_modifiers(data):
        return []
    if is_vreg(data):
        width = fn.width(data)
        if not in_file(data, K_R) or lane_words(data, width)[1] != count:
            return []
        if width == 1:
            return [data]
    elif data != RZ and not is_imm(data):
        return []
    return [with_word_lane(data, k) for k in range(count)]
