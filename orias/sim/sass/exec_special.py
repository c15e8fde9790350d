"""Builders for reads of constant banks by index, of special registers and of the program counter."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import const_bank, const_offset, is_zero_reg, kind_of, payload, reg_plus, word_text
from orias.sim.core.site import Exec, Getter, Setter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_int as oi
from orias.sim.math.ops_int import I64, U32, U64

Arr = npt.NDArray[Any]


def ldc(s: Site) -> Exec:
    """LDC, ULDC: a constant bank at an offset plus an index register."""
    bank, base = const_bank(s.src[0]), const_offset(s.src[0])
    index = s.i32(s.src[1])
    size = (
        16
        if s.has("128")
        else 8
        if s.has("64")
        else 1
        if s.has("U8") or s.has("S8")
        else 2
        if s.has("U16") or s.has("S16")
        else 4
    )
    signed = s.has("S8") or s.has("S16")
    if kind_of(s.regs[0]) == 0:
        raise s.unknown("result")
    first = payload(s.regs[0])
    setters: list[Setter] = [s.set32(reg_plus(s.regs[0], k)) for k in range(max(1, size // 4))] if first != 255 else []
    if is_zero_reg(s.src[1]) and size >= 4:
        i = base >> 2

        def run_fixed(m: Machine, a: Active) -> None:
            row = m.const32[bank]
            for k, put in enumerate(setters):
                put(m, a, row[i + k : i + k + 1])

        return run_fixed

    def run(m: Machine, a: Active) -> None:
        offset = (index(m, a) + np.uint32(base & 0xFFFFFFFF)).astype(I64) & np.int64(0xFFFF)
        data = m.const[bank]
        if size == 1:
            v = data[offset].astype(U32)
            values = [((v ^ np.uint32(0x80)) - np.uint32(0x80)) if signed else v]
        elif size == 2:
            v = data.view(np.uint16)[offset >> 1].astype(U32)
            values = [((v ^ np.uint32(0x8000)) - np.uint32(0x8000)) if signed else v]
        else:
            values = [m.const32[bank][(offset >> 2) + k] for k in range(size // 4)]
        for put, value in zip(setters, values, strict=False):
            put(m, a, value)

    return run


def special(s: Site, name: str) -> Getter:
    """The getter of a special register."""
    if name in ("SRZ", "SR_ZERO"):
        return lambda m, a: np.zeros(1, U32)
    if name in ("SR_CLOCKLO", "SR_GLOBALTIMERLO", "SR_CLOCK"):
        return lambda m, a: np.full(1, m.clock & 0xFFFFFFFF, U32)
    if name in ("SR_CLOCKHI", "SR_GLOBALTIMERHI"):
        return lambda m, a: np.full(1, m.clock >> 32 & 0xFFFFFFFF, U32)
    if name.startswith("SR_PM"):
        return lambda m, a: np.zeros(1, U32)
    uniform = s.uniform

    def get(m: Machine, a: Active) -> Arr:
        row = m.special.get(name)
        if row is None:
            raise s.unknown(name)
        if len(row) == 1:
            return row
        result: Arr = row[a.warps * 32] if uniform else row[a.sel]
        return result

    return get


def s2r(s: Site) -> Exec:
    """S2R, S2UR."""
    g, put = special(s, word_text(s.src[0])), s.result32()
    return lambda m, a: put(m, a, g(m, a))


def cs2r(s: Site) -> Exec:
    """CS2R: a 64-bit special register (32 bits with .32)."""
    name = word_text(s.src[0])
    low = special(s, name)
    if s.has("32"):
        put32 = s.result32()
        return lambda m, a: put32(m, a, low(m, a))
    high = special(s, name[:-2] + "HI" if name.endswith("LO") else "SRZ")
    put = s.result64()
    return lambda m, a: put(m, a, oi.pair(low(m, a), high(m, a)))


def lepc(s: Site) -> Exec:
    """LEPC: the address of the next instruction, or of a label, in a pair."""
    offset = payload(s.src[0]) if s.src else -16
    value = np.full(1, (s.address + 16 + offset) & 0xFFFFFFFFFFFFFFFF, U64)
    put = s.result64()
    return lambda m, a: put(m, a, value)


BUILDERS: Final[dict[str, Callable[[Site], Exec]]] = {"LDC": ldc, "S2R": s2r, "CS2R": cs2r, "LEPC": lepc}
