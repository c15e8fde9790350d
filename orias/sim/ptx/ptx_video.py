"""Builders: scalar and SIMD video instructions, by the rules of the PTX manual."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_IMM, Operand
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64, U32
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_site import PtxSite, is_signed

Arr = npt.NDArray[Any]

_PART: Final[dict[str, tuple[int, int]]] = {
    "b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16), "": (0, 32),
}  # fmt: skip
_DEFAULT: Final[dict[int, tuple[str, str]]] = {2: ("10", "32"), 4: ("3210", "7654")}
_WRAPPED: Final = ("vadd", "vsub", "vshl")
"""Operations whose results are 32 bits before they are compared with a signed c, as in code of ptxas 13.0.88."""
_COMPARE: Final[dict[str, Callable[[Arr, Arr], Arr]]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def _word(s: PtxSite, o: Operand) -> Getter:
    """The whole 32-bit operand, without its part selector."""
    if o.kind == O_IMM:
        return s.src(o, "b32")
    return s.src(_plain(o), "b32")


def _plain(o: Operand) -> Operand:
    """The register operand without its part selector."""
    plain = Operand(o.kind)
    plain.var = o.var
    return plain


def _bits(v: Arr, shift: int, bits: int, signed: bool) -> Arr:
    """A field of words as int64 values."""
    x = (v.astype(I64) >> np.int64(shift)) & np.int64((1 << bits) - 1)
    return np.where(x >> np.int64(bits - 1) & np.int64(1), x - (1 << bits), x) if signed else x


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _scalar(s: PtxSite) -> Exec:
    """vadd vsub vabsdiff vmin vmax vshl vshr vset, and the second operation."""
    types = s.types if len(s.types) == 3 else ("u32", *s.types)
    dtype, atype, btype = types
    name, sat, second = s.name, s.has("sat"), s.mods.get("op", "")
    part_shift, part_bits = _PART[s.ops[0].comp]
    a_shift, a_bits = _PART[s.ops[1].comp]
    b_shift, b_bits = _PART[s.ops[2].comp]
    ga, gb, put = _word(s, s.ops[1]), _word(s, s.ops[2]), s.dst(_plain(s.ops[0]), "b32")
    gc = s.src(s.ops[3], "b32") if second or s.ops[0].comp else None
    wrap = s.mods.get("wrap") == "wrap"
    low, high = _limits(part_bits, is_signed(dtype))

    def run(m: Machine, a: Active) -> None:
        x = _bits(ga(m, a), a_shift, a_bits, is_signed(atype))
        y = _bits(gb(m, a), b_shift, b_bits, is_signed(btype))
        if name == "vadd":
            t = x + y
        elif name == "vsub":
            t = x - y
        elif name == "vabsdiff":
            t = np.abs(x - y)
        elif name in ("vmin", "vmax"):
            t = np.minimum(x, y) if name == "vmin" else np.maximum(x, y)
        elif name == "vset":
            t = _COMPARE[s.mods["cmp"]](x, y).astype(I64)
        else:
            n = y & np.int64(31) if wrap else np.minimum(y & np.int64(0xFFFFFFFF), np.int64(32))
            # Left by 32 a word may need more than 64 bits: any number beyond all limits, and with 32 zeros, will do.
            far = np.sign(x) << np.int64(62)
            t = x >> n if name == "vshr" else np.where(n == 32, far, x << np.minimum(n, np.int64(31)))
        if sat:
            t = np.clip(t, low, high)
        if gc is not None and part_bits < 32:
            field = np.int64((1 << part_bits) - 1) << np.int64(part_shift)
            t = (gc(m, a).astype(I64) & ~field) | (t << np.int64(part_shift) & field)
        elif gc is not None:
            c = _bits(gc(m, a), 0, 32, is_signed(dtype))
            if name in _WRAPPED or not is_signed(dtype):
                t = _bits((t & np.int64(0xFFFFFFFF)).astype(U32), 0, 32, is_signed(dtype))
            t = t + c if second == "add" else np.minimum(t, c) if second == "min" else np.maximum(t, c)
        put(m, a, (t & np.int64(0xFFFFFFFF)).astype(U32))

    return run


def _vmad(s: PtxSite) -> Exec:
    """The exact product plus c, in Python's numbers: it may need 66 bits."""
    atype, btype = s.types[1:3]
    shift, one, sat = int(s.mods["scale"][3:]) if s.has("scale") else 0, int(s.has("po")), s.has("sat")
    a_shift, a_bits = _PART[s.ops[1].comp]
    b_shift, b_bits = _PART[s.ops[2].comp]
    ga, gb, gc, put = _word(s, s.ops[1]), _word(s, s.ops[2]), _word(s, s.ops[3]), s.dst(s.ops[0], "b32")
    sign, sign_c = -1 if s.ops[1].neg != s.ops[2].neg else 1, -1 if s.ops[3].neg else 1
    signed = is_signed(atype) or is_signed(btype) or sign < 0 or sign_c < 0
    low, high = _limits(32, signed)

    def run(m: Machine, a: Active) -> None:
        x = _bits(ga(m, a), a_shift, a_bits, is_signed(atype)).astype(object) * sign
        y = _bits(gb(m, a), b_shift, b_bits, is_signed(btype)).astype(object)
        t: Arr = x * y + _bits(gc(m, a), 0, 32, signed).astype(object) * sign_c + one
        t = t >> shift
        if sat:
            t = np.clip(t, low, high)
        put(m, a, (t & 0xFFFFFFFF).astype(U32))

    return run


def _simd(s: PtxSite) -> Exec:
    """Operations on two halves or four bytes: lanes come from the bytes of a and b, those outside the mask from c."""
    lanes = int(s.name[-1])
    bits = 32 // lanes
    types = s.types if len(s.types) == 3 else ("u32", *s.types)
    dtype, atype, btype = types
    what, sat, summed = s.name[1:-1], s.has("sat"), s.has("op")
    x_sel = s.ops[1].comp[1:] or _DEFAULT[lanes][0]
    y_sel = s.ops[2].comp[1:] or _DEFAULT[lanes][1]
    mask = [int(d) for d in s.ops[0].comp[1:]] or list(range(lanes))
    ga, gb, gc = _word(s, s.ops[1]), _word(s, s.ops[2]), s.src(s.ops[3], "b32")
    put = s.dst(_plain(s.ops[0]), "b32")
    low, high = _limits(bits, is_signed(dtype))

    def lane(a: Arr, b: Arr, digit: str, signed: bool) -> Arr:
        k = int(digit)
        return _bits(a if k < lanes else b, bits * (k % lanes), bits, signed)

    def compute(x: Arr, y: Arr) -> Arr:
        if what == "add":
            return x + y
        if what == "sub":
            return x - y
        if what == "absdiff":
            result: Arr = np.abs(x - y)
            return result
        if what == "min":
            return np.minimum(x, y)
        if what == "max":
            return np.maximum(x, y)
        if what == "avrg":
            return (x + y + (x + y >= 0)) >> np.int64(1)
        return _COMPARE[s.mods["cmp"]](x, y).astype(I64)

    def run(m: Machine, a: Active) -> None:
        va, vb = ga(m, a), gb(m, a)
        out = gc(m, a).astype(I64)
        for k in mask:
            t = compute(
                lane(va, vb, x_sel[lanes - 1 - k], is_signed(atype)),
                lane(va, vb, y_sel[lanes - 1 - k], is_signed(btype)),
            )
            if sat:
                t = np.clip(t, low, high)
            if summed:
                out = out + t
            else:
                field = np.int64((1 << bits) - 1)
                out = (out & ~(field << np.int64(bits * k))) | ((t & field) << np.int64(bits * k))
        put(m, a, (out & np.int64(0xFFFFFFFF)).astype(U32))

    return run


VIDEO: Final[dict[str, Builder]] = {
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), _scalar),
    **dict.fromkeys(tuple(f"v{n}{k}" for n in ("add", "sub", "avrg", "absdiff", "min", "max", "set") for k in "24"), _simd),
    "vmad": _vmad,
}  # fmt: skip
