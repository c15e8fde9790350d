"""Runs a subroutine of ``orias/lower/builtins`` on vectors: straight-line PTX with forward branches, one numpy lane a call.

An independent judge: it shares only the parsed PTX with the product, no arithmetic and no control flow of ``orias.sim``, so a fault
in the simulator's meaning of an instruction cannot hide the same fault in a subroutine.
"""

import numpy as np
from numpy.typing import NDArray

from orias.lower.builtins import builtin_function
from orias.ptx.ast import O_IMM, O_REG, O_VEC, TYPE_BITS, Instr, Label, Operand
from tests.lower_math import ieee

Lanes = NDArray[np.uint64]


def signed(x: Lanes, bits: int) -> NDArray[np.int64]:
    """Lanes as signed numbers of that many bits."""
    if bits == 32:
        return x.astype(np.uint32).view(np.int32).astype(np.int64)
    return x.view(np.int64)


def mul_hi64(a: Lanes, b: Lanes) -> Lanes:
    """High 64 bits of the product."""
    m = np.uint64(0xFFFFFFFF)
    s = np.uint64(32)
    al, ah, bl, bh = a & m, a >> s, b & m, b >> s
    mid = ah * bl + (al * bl >> s)
    mid2 = al * bh + (mid & m)
    return ah * bh + (mid >> s) + (mid2 >> s)


class Evaluator:
    """State of one run: registers by variable, active lanes, lanes waiting at labels."""

    def __init__(self, name: str, seed: int, nearest: bool = False) -> None:
        """`nearest`: the table functions give the nearest value, not one of the three nearest."""
        self.nearest = nearest
        self.carry: NDArray[np.uint64] = np.zeros(1, np.uint64)
        self.f = builtin_function(name)
        self.rng = np.random.default_rng(seed)
        self.regs: dict[int, NDArray[np.uint64]] = {}

    def run(self, *args: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The subroutine's result for lanes of arguments."""
        n = len(args[0])
        active = np.ones(n, bool)
        waiting: dict[int, NDArray[np.bool_]] = {}
        for p, a in zip(self.f.params, args, strict=True):
            self.regs[id(p)] = a.astype(np.uint64)
        self.n = n
        for s in self.f.body or []:
            if isinstance(s, Label):
                active = active | waiting.pop(s.index, np.zeros(n, bool))
                continue
            assert isinstance(s, Instr)
            mask = active
            if s.pred is not None:
                p = self.value(s.pred, "pred").astype(bool)
                mask = active & (~p if s.pred.neg else p)
            if s.sig.name == "ret":
                active = active & ~mask
            elif s.sig.name == "bra":
                label = s.ops[0].label
                assert label is not None
                waiting[label.index] = waiting.get(label.index, np.zeros(n, bool)) | mask
                active = active & ~mask
            else:
                with np.errstate(all="ignore"):
                    self.step(s, mask)
        assert not waiting
        return self.regs[id(self.f.rets[0])]

    def value(self, o: Operand, t: str) -> NDArray[np.uint64]:
        """A source operand."""
        if o.kind == O_REG:
            return self.regs.get(id(o.var), np.zeros(self.n, np.uint64))
        if o.kind == O_VEC:
            lo, hi = (self.value(e, "b32") for e in o.elems)
            return lo | hi << np.uint64(32)
        assert o.kind == O_IMM
        return np.full(self.n, o.value & ((1 << TYPE_BITS[t]) - 1), np.uint64)

    def put(self, o: Operand, x: NDArray[np.uint64], mask: NDArray[np.bool_]) -> None:
        """Write a destination where the mask holds."""
        if o.kind == O_VEC:
            self.put(o.elems[0], x & np.uint64(0xFFFFFFFF), mask)
            self.put(o.elems[1], x >> np.uint64(32), mask)
            return
        assert o.var is not None
        old = self.regs.get(id(o.var), np.zeros(self.n, np.uint64))
        self.regs[id(o.var)] = np.where(mask, x, old)

    def step(self, i: Instr, mask: NDArray[np.bool_]) -> None:
        """Execute one instruction."""
        t = i.sig.types[0]
        name = i.sig.name
        if name == "cvt":
            self.put(i.ops[0], self.convert(i), mask)
            return
        if name in ("selp",):
            a, b = self.value(i.ops[1], t), self.value(i.ops[2], t)
            self.put(i.ops[0], np.where(self.value(i.ops[3], "pred").astype(bool), a, b), mask)
            return
        src = [self.value(o, "u32" if name in ("shl", "shr") and k else t) for k, o in enumerate(i.ops[1:])]
        if name == "setp":
            self.put(i.ops[0], self.compare(i, t, src).astype(np.uint64), mask)
        elif t in ("f32", "f64"):
            self.put(i.ops[0], self.float_op(i, t, src), mask)
        else:
            bits = 32 if t == "pred" else TYPE_BITS[t]
            x = self.int_op(name, i, t, bits, src)
            self.put(i.ops[0], x & np.uint64((1 << bits) - 1), mask)

    def compare(self, i: Instr, t: str, src: list[Lanes]) -> NDArray[np.bool_]:
        a, b = src[:2]
        if t[0] == "s":
            x, y = signed(a, TYPE_BITS[t]), signed(b, TYPE_BITS[t])
            r = {"lt": x < y, "ge": x >= y, "gt": x > y}[i.sig.mods["cmp"]]
        else:
            if t == "f64":
                a, b = ieee.f64(a), ieee.f64(b)
            r = {"lt": a < b, "ge": a >= b, "gt": a > b, "eq": a == b, "ne": a != b}[i.sig.mods["cmp"]]
        if len(src) > 2:
            c = src[2].astype(bool)
            r = r | c if i.sig.mods["bool"] == "or" else r & c
        return r

    def int_op(self, name: str, i: Instr, t: str, bits: int, src: list[Lanes]) -> Lanes:
        a = src[0]
        if name == "mov":
            return a
        if name == "neg":
            return np.uint64(0) - a
        if name == "abs":
            return np.where(signed(a, bits) < 0, np.uint64(0) - a, a)
        b = src[1]
        if name in ("add", "addc") and bits == 32 and ("cc" in i.sig.mods or name == "addc"):
            total = a + b + (self.carry if name == "addc" else np.uint64(0))
            self.carry = total >> np.uint64(32)
            return total
        if name == "shf":
            n = np.minimum(src[2], np.uint64(32))
            if i.sig.mods["dir"] == "l":
                return (b << np.uint64(32) | a) << n >> np.uint64(32)
            return (b << np.uint64(32) | a) >> n
        if name == "mul":
            return mul_hi64(a, b) if i.sig.mods["mulsize"] == "hi" else a * b
        if name in ("shl", "shr"):
            n = np.minimum(b, np.uint64(63))
            r = a << n if name == "shl" else a >> n
            return np.where(b >= np.uint64(bits), np.uint64(0), r)
        if name in ("min", "max"):
            pick = signed(a, bits) < signed(b, bits) if t[0] == "s" else a < b
            return np.where(pick == (name == "min"), a, b)
        return {"add": a + b, "sub": a - b, "and": a & b, "or": a | b, "xor": a ^ b}[name]

    def float_op(self, i: Instr, t: str, src: list[Lanes]) -> Lanes:
        name = i.sig.name
        if t == "f32":
            x = [ieee.f32(s.astype(np.uint32)) for s in src]
            if "ftz" in i.sig.mods:
                x = [np.where(np.abs(v) < np.float32(2.0**-126), np.copysign(np.float32(0), v), v) for v in x]
            if name == "fma":
                r = ieee.fma32(x[0], x[1], x[2], i.sig.mods["rnd"])
            elif name == "mul":
                r = ieee.round32(x[0].astype(np.float64) * x[1].astype(np.float64), i.sig.mods["rnd"])
            elif name == "neg":
                r = -x[0]
            elif name == "sqrt":
                r = np.sqrt(x[0])
            elif self.nearest:
                wide = x[0].astype(np.float64)
                r = (1.0 / (wide if name == "rcp" else np.sqrt(wide))).astype(np.float32)
            else:
                r = {"rcp": ieee.rcp_table, "rsqrt": ieee.rsqrt_table}[name](x[0], self.rng)
            return ieee.u32(r).astype(np.uint64)
        y = [ieee.f64(s) for s in src]
        if name == "fma":
            d = ieee.fma64(y[0], y[1], y[2], i.sig.mods["rnd"] == "rz")
        elif name == "mul":
            d = y[0] * y[1]
            if i.sig.mods["rnd"] == "rz":
                d = ieee.towards_zero(d, ieee.two_prod(y[0], y[1])[1])
        elif name == "neg":
            d = -y[0]
        else:
            d = ieee.seed64(1.0 / (y[0] if name == "rcp" else np.sqrt(y[0])), self.rng, self.nearest)
        return ieee.u64(d)

    def convert(self, i: Instr) -> Lanes:
        a = self.value(i.ops[1], i.sig.types[1])
        if i.sig.types == ("f32", "u64"):
            hi, lo = (a >> np.uint64(11)).astype(np.float64), (a & np.uint64(0x7FF)).astype(np.float64)
            s, err = ieee.two_sum(hi * 2048.0, lo)
            return ieee.u32(ieee.round32(ieee.to_odd(s, err), i.sig.mods["rnd"])).astype(np.uint64)
        assert i.sig.types == ("u64", "f32") and i.sig.mods["rnd"] == "rzi"
        x = ieee.f32(a.astype(np.uint32)).astype(np.float64)
        return np.where(x < 0, 0, np.clip(x, 0, 1.8446742974197924e19)).astype(np.uint64)
