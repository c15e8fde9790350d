"""Runs Ori at any stage for one thread, with most operations as hash functions: only the flow of values matters."""

import random
import zlib

from orias.isa.op import F_CALL, F_READ, F_SIDE, F_TERM, F_WRITE
from orias.isa.operand import (
    FIRST_VIRTUAL,
    INV,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    LANE_SHIFT,
    NEG,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
    const_bank,
    const_offset,
    is_reg,
    lane_range,
)
from orias.ori.ir import Func, Inst
from orias.ori.text import operand_text

M = 0xFFFFFFFF


_EFFECTS = F_SIDE | F_TERM | F_CALL | F_READ | F_WRITE
"""Instructions that stay what they are: those that fuel counts."""


def _hash(*x: object) -> int:
    return zlib.crc32(repr(x).encode())


class Machine:
    """Executes until EXIT or RET or the fuel is gone; ``log`` records stores, branches and calls."""

    def __init__(self, fn: Func, widths: dict[int, tuple[list[int], list[int]]], fuel: int = 400) -> None:
        self.fn = fn
        self.widths = widths
        self.fuel = fuel
        self.regs: dict[tuple[int, int, int], int] = {}
        self.stack: dict[int, int] = {}
        self.log: list[object] = []
        self.noise = random.Random(1)

    def _place(self, o: Opnd, k: int) -> tuple[int, int, int]:
        n = o >> PAYLOAD_SHIFT
        if n < FIRST_VIRTUAL:
            return o & KIND_MASK, n + k, 0
        first = lane_range((o >> LANE_SHIFT) & 255, 1)[0]
        return o & KIND_MASK, n, first + k

    def width(self, o: Opnd) -> int:
        n = o >> PAYLOAD_SHIFT
        if is_reg(o) and n >= FIRST_VIRTUAL:
            return lane_range((o >> LANE_SHIFT) & 255, self.fn.vwidth[n])[1]
        return 1

    def read(self, o: Opnd, k: int = 0) -> int:
        kind = o & KIND_MASK
        n = o >> PAYLOAD_SHIFT
        if kind == K_IMM:
            return n >> 32 * k & M
        if kind == K_CONST:
            return _hash("c", const_bank(o), const_offset(o) + 4 * k)
        if kind in (K_P, K_UP):
            v = 1 if n == 7 else self.regs.get(self._place(o, 0), 0)
            return v ^ 1 if o & INV else v
        if kind in (K_R, K_UR):
            v = 0 if n == 255 else self.regs.get(self._place(o, k), 0xBAD)
            if o & NEG:
                v = -v & M
            return ~v & M if o & INV else v
        return _hash(operand_text(o))

    def write(self, o: Opnd, k: int, v: int) -> None:
        if o & KIND_MASK in (K_P, K_UP):
            v &= 1
        self.regs[self._place(o, k)] = v & M

    def run(self) -> list[object]:
        b = self.fn.blocks[0]
        came = -1
        while True:
            phis = [i for i in b.insts if i.op.name == "phi"]
            if phis:
                got = [[self.read(i.src[came], k) for k in range(self.width(i.dst[0]))] for i in phis]
                for i, words in zip(phis, got, strict=True):
                    for k, v in enumerate(words):
                        self.write(i.dst[0], k, v)
            to = 0
            for inst in b.insts[len(phis) :]:
                # What has no effects may be computed again, elsewhere.
                self.fuel -= 1 if inst.uid in self.widths and inst.op.flags & _EFFECTS else 0
                if self.fuel < 0:
                    return self.log
                if inst.op.base in ("EXIT", "RET"):
                    self.log.append(inst.op.base)
                    return self.log
                if inst.op.base == "BRA":
                    to = self.read(inst.guard)
                elif inst.op.base == "BRX":
                    to = (self.read(inst.src[0], 0) ^ self.read(inst.src[0], 1)) % len(b.succs)
                    self.log.append(to)
                elif self.read(inst.guard):
                    self._step(inst)
                elif inst.old != K_NONE:
                    d = inst.dst[0]
                    for k, v in enumerate([self.read(inst.old, k) for k in range(self.width(d))]):
                        self.write(d, k, v)
            s = b.succs[to]
            nth = sum(1 for q in b.succs[:to] if q is s)
            came = [k for k, p in enumerate(s.preds) if p is b][nth]
            b = s

    def _step(self, inst: Inst) -> None:
        name = inst.op.name
        src = inst.src
        if name in ("copy", "pcopy"):
            got = []
            for d, s in zip(inst.dst, src, strict=True):
                got.append([self.read(s, k) for k in range(max(self.width(d), self.width(s)))])
            for d, words in zip(inst.dst, got, strict=True):
                for k, v in enumerate(words):
                    self.write(d, k, v)
        elif name == "undef":
            pass
        elif name == "pack":
            words = [self.read(s, k) for s in src for k in range(self.width(s))]
            for k, v in enumerate(words):
                self.write(inst.dst[0], k, v)
        elif name in ("MOV", "UMOV", "R2UR", "BMOV.32", "BMOV.32.CLEAR"):
            self.write(inst.dst[0], 0, self.read(src[0]))
        elif name in ("LDC", "LDC.64", "LDC.128", "ULDC", "ULDC.64"):
            for k in range(4 if "128" in name else 2 if "64" in name else 1):
                self.write(inst.dst[0], k, self.read(src[0], k))
        elif inst.op.base in ("LDL", "STL"):
            at = self.read(src[1]) + (src[3] >> PAYLOAD_SHIFT)
            for k in range(4 if "128" in name else 2 if "64" in name else 1):
                if inst.op.base == "LDL":
                    self.write(inst.dst[0], k, self.stack.get(at + 4 * k, 0xBAD))
                else:
                    self.stack[at + 4 * k] = self.read(src[4], k)
        elif name == "S2R":
            self.write(inst.dst[0], 0, _hash(operand_text(src[0])))
        elif name == "LOP3.LUT":
            assert src[3] >> PAYLOAD_SHIFT == 0x3C
            self.write(inst.dst[0], 0, self.read(src[0]) ^ self.read(src[1]))
        elif name == "PLOP3.LUT":
            a, b, c = (self.read(s) for s in src[:3])
            self.write(inst.dst[0], 0, (src[3] >> PAYLOAD_SHIFT) >> (a << 2 | b << 1 | c))
        elif name == "SEL":
            self.write(inst.dst[0], 0, self.read(src[0]) if self.read(src[2]) else self.read(src[1]))
        elif name == "ISETP.NE.AND":
            self.write(inst.dst[0], 0, self.read(src[0]) != self.read(src[1]))
        elif name == "IADD3" and inst.dst[0] == K_R | 1 << PAYLOAD_SHIFT:
            self.write(inst.dst[0], 0, self.read(src[0]) + self.read(src[1]))
        else:
            self._hashed(inst)

    def _hashed(self, inst: Inst) -> None:
        dst_words, src_words = self.widths.get(inst.uid) or self.widths[_repeated(inst)]
        name = "call" if inst.op.base == "CALL" else inst.op.name
        args = inst.src
        if inst.op.base == "CALL":
            args = args[1 : 1 + len(src_words)]
        values = [self.read(s, k) for s, n in zip(args, src_words, strict=True) for k in range(n)]
        if not dst_words or name == "call":
            self.log.append((name, *values))
        info = self.fn.calls.get(inst.uid)
        if info is not None:
            for mask, kind in ((info.clobber_r, K_R), (info.clobber_p, K_P), (info.clobber_ur, K_UR)):
                for n in range(mask.bit_length()):
                    if mask >> n & 1:
                        self.regs[kind, n, 0] = self.noise.getrandbits(1 if kind == K_P else 32)
        for i, (d, n) in enumerate(zip(inst.dst, dst_words, strict=True)):
            if d != PT:
                for k in range(n):
                    self.write(d, k, _hash(name, i, k, values))


def _repeated(inst: Inst) -> int:
    """The key in widths of all instructions of an operation with so many results, of which one may be repeated."""
    return 1 << 32 | inst.op.ident << 8 | len(inst.dst)


def widths_of(fn: Func) -> dict[int, tuple[list[int], list[int]]]:
    """Words of each result and source by uid, and of operations that may be repeated by number: allocated code no longer shows them."""
    m = Machine(fn, {})
    out: dict[int, tuple[list[int], list[int]]] = {}
    for i in fn.insts():
        if i.op.name not in ("phi", "copy", "pack", "undef"):
            out[i.uid] = [m.width(d) for d in i.dst], [m.width(s) for s in i.src]
            out[_repeated(i)] = out[i.uid]
    return out
