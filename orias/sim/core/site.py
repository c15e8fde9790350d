"""An instruction as seen by its builder, which compiles it to a closure: operands as getters, results as setters.

A *getter* takes the machine and the active threads and returns an array with a value per thread (or of length one if
all values are equal); a *setter* stores such an array.  Uniform instructions use the same builders; their registers
have a value per warp.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.op import Op
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
    S_B0,
    S_B3,
    S_F32,
    S_H0_H0,
    S_H0_NH1,
    S_H1,
    S_H1_H0,
    S_H1_H1,
    Opnd,
    const_bank,
    const_offset,
    is_pred,
    kind_of,
    payload,
    suffix_of,
)
from orias.sim.core.derived import keep_pair, pair_of
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import U32, U64

Arr = npt.NDArray[Any]
Getter = Callable[[Machine, Active], Arr]
Setter = Callable[[Machine, Active, Arr], None]
Exec = Callable[[Machine, Active], None]

_SIGN32: Final = np.uint32(0x80000000)
_MAG32: Final = np.uint32(0x7FFFFFFF)
_SIGN64: Final = np.uint64(1 << 63)
_MAG64: Final = np.uint64((1 << 63) - 1)


def run_all(steps: Sequence[Exec | None]) -> Exec:
    """Runs the steps one after the other; None is skipped."""
    real = [x for x in steps if x is not None]
    if len(real) == 1:
        return real[0]

    def run(m: Machine, a: Active) -> None:
        for x in real:
            x(m, a)

    return run


def _ignore(m: Machine, a: Active, v: Arr) -> None:
    """The setter of RZ and PT."""


def blend(row: Arr, v: Arr, mask: Arr) -> None:
    """Stores values in a row where the mask has ones."""
    change = row ^ (v if v.dtype == row.dtype else v.astype(row.dtype))
    change &= mask
    row ^= change


class Site:
    """An instruction and its address."""

    def __init__(self, op: Op, dst: list[Opnd], src: list[Opnd], address: int, uniform: bool) -> None:
        self.op = op
        self.dst = dst
        self.src = src
        self.address = address
        """Absolute code address."""
        self.uniform = uniform
        """The instruction executes once per warp, and its registers have a value per warp."""
        self.regs = [o for o in dst if not is_pred(o)]
        self.preds = [o for o in dst if is_pred(o)]

    def has(self, mod: str) -> bool:
        """True if the modifier is present."""
        return mod in self.op.mods

    def unknown(self, what: str = "") -> Fault:
        """The fault for a form that the simulator does not know."""
        return Fault(IllegalInstruction, f"{self.op.name} is not simulated{': ' + what if what else ''}")

    # -- sources

    def raw(self, o: Opnd) -> Getter:
        """The 32-bit value without flags and suffix."""
        k, p = kind_of(o), payload(o)
        if k == K_R:
            if p == 255:
                return constant(0)
            return lambda m, a: m.R[p][a.sel]
        if k == K_UR:
            if p == 255:
                return constant(0)
            if self.uniform:
                return lambda m, a: m.UR[p][a.warps]
            return lambda m, a: m.UR[p] if m.warps == 1 else m.UR[p][a.warp_of]
        if k == K_IMM:
            return constant(p & 0xFFFFFFFF)
        if k == K_CONST:
            bank, i = const_bank(o), const_offset(o) >> 2
            return lambda m, a: m.const32[bank][i : i + 1]
        raise self.unknown("operand")

    def raw64(self, o: Opnd) -> Getter:
        """The 64-bit value of a register pair, constant or 64-bit immediate, without flags."""
        k, p = kind_of(o), payload(o)
        if k == K_R:
            if p == 255:
                return constant64(0)
            return lambda m, a: pair_of(m, a, p)
        if k == K_UR:
            if p == 255:
                return constant64(0)
            if self.uniform:
                return lambda m, a: m.UR[p + 1][a.warps].astype(U64) << np.uint64(32) | m.UR[p][a.warps]
            return lambda m, a: (m.UR[p + 1].astype(U64) << np.uint64(32) | m.UR[p])[a.warp_of]
        if k == K_IMM:
            return constant64(p)
        if k == K_CONST:
            bank, i = const_bank(o), const_offset(o)
            return lambda m, a: m.const[bank][i : i + 8].copy().view(U64)
        raise self.unknown("operand")

    def i32(self, o: Opnd) -> Getter:
        """An integer operand with its flags."""
        g = self.raw(o)
        if o & ABS:
            g = _after(g, lambda v: np.abs(v.view(np.int32)).view(U32))
        if o & INV:
            g = _after(g, lambda v: ~v)
        if o & NEG:
            g = _after(g, lambda v: ~v + np.uint32(1))
        return g

    def i64(self, o: Opnd) -> Getter:
        """A 64-bit integer operand with its flags."""
        g = self.raw64(o)
        if o & INV:
            g = _after(g, lambda v: ~v)
        if o & NEG:
            g = _after(g, lambda v: ~v + np.uint64(1))
        return g

    def f32(self, o: Opnd) -> Getter:
        """The pattern of an f32 operand with its flags."""
        g = self.raw(o)
        return _after(g, lambda v: signs32(v, o)) if o & (ABS | NEG) else g

    def f64(self, o: Opnd) -> Getter:
        """The pattern of an f64 operand with its flags."""
        g = self.raw64(o)
        if o & ABS:
            g = _after(g, lambda v: v & _MAG64)
        if o & NEG:
            g = _after(g, lambda v: v ^ _SIGN64)
        return g

    def halves(self, o: Opnd, bf16: bool, ftz: bool = False) -> Callable[[Machine, Active], tuple[Arr, Arr]]:
        """A packed half operand as a pair of value arrays, with its selection and flags applied."""
        g = self.raw(o)
        s = suffix_of(o)
        negative, absolute = bool(o & NEG), bool(o & ABS)

        def get(m: Machine, a: Active) -> tuple[Arr, Arr]:
            if s == S_F32:
                # ptxas turns cvt.rz.f16.f32 into HADD2 d, a.F32, -RZ: the operand is rounded towards zero to a half.
                low = g(m, a).view(np.float32).astype(np.float64)
                low = high = half.value(half.pattern(low, bf16, sf.RZ), bf16)
            else:
                low, high = half.unpack(g(m, a), bf16)
            if s == S_H0_H0:
                high = low
            elif s == S_H1_H1:
                low = high
            elif s == S_H1_H0:
                low, high = high, low
            if ftz:
                low, high = half.flush(low, bf16), half.flush(high, bf16)
            if absolute:
                low, high = np.abs(low), np.abs(high)
            if negative:
                low, high = -low, -high
            if s == S_H0_NH1:
                high = -high
            return low, high

        return get

    def part(self, o: Opnd, bits: int) -> Getter:
        """The byte or half that the suffix selects, zero-extended; the low one by default.  Flags are ignored."""
        g = self.raw(o)
        s = suffix_of(o)
        shift = 0
        if S_B0 <= s <= S_B3:
            shift = 8 * (s - S_B0)
        elif s in (S_H1, S_H1_H1):
            shift = 16
        mask = np.uint32((1 << bits) - 1)
        if shift:
            return lambda m, a: (g(m, a) >> np.uint32(shift)) & mask
        return lambda m, a: g(m, a) & mask

    def pred(self, o: Opnd) -> Getter:
        """A predicate source."""
        p = payload(o)
        k = kind_of(o)
        if k in (K_R, K_UR, K_CONST, K_IMM):
            # R0.SIGN as a predicate of PLOP3: the sign of a word
            g, flip = self.raw(o), bool(o & INV)
            return lambda m, a: (g(m, a) >> np.uint32(31) != 0) ^ flip
        if p == 7:
            return constant_bool(not o & INV)
        if k == K_P:
            if self.uniform:
                raise self.unknown("a predicate of the threads in a uniform operation")
            if o & INV:
                return lambda m, a: ~m.P[p][a.sel]
            return lambda m, a: m.P[p][a.sel]
        if k == K_UP:
            inverted = bool(o & INV)
            if self.uniform:
                return lambda m, a: m.UP[p][a.warps] ^ inverted
            return lambda m, a: m.UP[p][a.warp_of] ^ inverted
        raise self.unknown("predicate operand")

    # -- results

    def set32(self, o: Opnd) -> Setter:
        """Stores a word."""
        k, p = kind_of(o), payload(o)
        if p == 255:
            return _ignore
        if k == K_R:

            def put(m: Machine, a: Active, v: Arr) -> None:
                m.stamp[p] += 1
                if a.lanes is None:
                    m.R[p][a.sel] = v
                else:
                    blend(m.R[p][a.sel], v, a.words)

            return put
        if k == K_UR:

            def put_uniform(m: Machine, a: Active, v: Arr) -> None:
                m.UR[p][a.warps] = v

            return put_uniform
        raise self.unknown("result")

    def set64(self, o: Opnd) -> Setter:
        """Stores a uint64 in a register pair."""
        k, p = kind_of(o), payload(o)
        if p == 255:
            return _ignore
        if k == K_R:

            def put(m: Machine, a: Active, v: Arr) -> None:
                m.stamp[p] += 1
                m.stamp[p + 1] += 1
                if a.lanes is None:
                    m.R[p][a.sel] = v  # the low word
                    m.R[p + 1][a.sel] = v >> np.uint64(32)
                    if m.deriving and len(v) == a.n:
                        keep_pair(m, a, p, v)
                else:
                    blend(m.R[p][a.sel], v.astype(U32), a.words)
                    blend(m.R[p + 1][a.sel], (v >> np.uint64(32)).astype(U32), a.words)

            return put
        if k == K_UR:

            def put_uniform(m: Machine, a: Active, v: Arr) -> None:
                m.UR[p][a.warps] = v.astype(U32)
                m.UR[p + 1][a.warps] = v >> np.uint64(32)

            return put_uniform
        raise self.unknown("result")

    def setp(self, o: Opnd) -> Setter:
        """Stores a predicate."""
        k, p = kind_of(o), payload(o)
        if p == 7:
            return _ignore
        if k == K_P:

            def put(m: Machine, a: Active, v: Arr) -> None:
                if a.lanes is None:
                    m.P[p][a.sel] = v
                else:
                    blend(m.P[p][a.sel], v, a.lanes)

            return put

        def put_uniform(m: Machine, a: Active, v: Arr) -> None:
            m.UP[p][a.warps] = v

        return put_uniform

    def result32(self) -> Setter:
        """The setter of the only result, a register."""
        return self.set32(self.regs[0])

    def into32(self, f: Callable[..., Arr], *sources: Getter) -> Exec:
        """Stores a function of words in the only result; ``f`` takes an array for it as `out`, and needs none."""
        o = self.regs[0]
        put, p = self.set32(o), payload(o)
        if kind_of(o) != K_R or p == 255:
            return lambda m, a: put(m, a, f(*[g(m, a) for g in sources]))

        def run(m: Machine, a: Active) -> None:
            values = [g(m, a) for g in sources]
            sel = a.sel
            if a.lanes is None and isinstance(sel, slice):
                m.stamp[p] += 1
                f(*values, out=m.R[p][sel])
            else:
                put(m, a, f(*values))

        return run

    def result64(self) -> Setter:
        """The setter of the only result, a register pair."""
        return self.set64(self.regs[0])


def signs32(v: Arr, o: Opnd) -> Arr:
    """f32 patterns with the ABS and NEG flags of an operand applied."""
    if o & ABS:
        v = v & _MAG32
    return v ^ _SIGN32 if o & NEG else v


def _after(g: Getter, f: Callable[[Arr], Arr]) -> Getter:
    return lambda m, a: f(g(m, a))


def everywhere(g: Getter, m: Machine, a: Active) -> Arr:
    """The values of a getter as a contiguous array, one per thread; read-only."""
    return np.ascontiguousarray(np.broadcast_to(g(m, a), (a.n,)))


def constant(value: int) -> Getter:
    """A getter of one word."""
    v = np.full(1, value, U32)
    return lambda m, a: v


def constant64(value: int) -> Getter:
    """A getter of one 64-bit value."""
    v = np.full(1, value, U64)
    return lambda m, a: v


def constant_bool(value: bool) -> Getter:
    """A getter of one predicate."""
    v = np.full(1, value, np.bool_)
    return lambda m, a: v
