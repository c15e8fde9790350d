"""Random valid SSA functions: irregular graphs, phis, wide registers, packs, lanes, guards with old values, calls."""

import random

from orias.analysis.cfg import dominators, remove_unreachable
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    LANE_SHIFT,
    NEG,
    NOT_PT,
    PT,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    r,
    word,
)
from orias.ori.builder import Builder
from orias.ori.ir import OP_PHI, Block, CallInfo, Func
from orias.target.profile import target

Kind = tuple[int, int]
R1: Kind = (K_R, 1)
R2: Kind = (K_R, 2)
R4: Kind = (K_R, 4)
P1: Kind = (K_P, 1)
U1: Kind = (K_UR, 1)
Values = dict[Kind, list[Opnd]]


class Maker:
    def __init__(
        self,
        seed: int,
        blocks: int,
        size: int,
        calls: bool = True,
        uniform: bool = True,
        kind: str = "entry",
        undefined: bool = False,
    ):
        self.rng = random.Random(seed)
        self.fn = Func(f"f{seed}", target(self.rng.choice(("sm_75", "sm_80", "sm_90"))), kind)
        self.calls = calls
        self.undefined = undefined
        self.uniform = uniform
        self.size = size
        self.back: Opnd = RZ
        self.values: dict[int, Values] = {}
        self.phis: list[tuple[Block, Kind]] = []
        self._graph(blocks)

    def _graph(self, count: int) -> None:
        fn, rng = self.fn, self.rng
        fn.blocks = [fn.new_block() for _ in range(count)]
        for i, b in enumerate(fn.blocks[:-1]):
            near = fn.blocks[min(count - 1, i + rng.randint(1, 2))]
            fn.link(b, fn.blocks[i + 1] if rng.random() < 0.7 else near)
            if rng.random() < 0.6 and count > 2:
                fn.link(b, rng.choice(fn.blocks[1:]))
                if rng.random() < 0.1:
                    fn.link(b, rng.choice(fn.blocks[1:]))
        remove_unreachable(fn)

    def make(self) -> Func:
        fn = self.fn
        tree = dominators(fn)
        by_id = {b.id: b for b in fn.blocks}
        for i in tree.order:
            b = by_id[i]
            above = self.values.get(tree.idom[i], {})
            vals: Values = {k: list(v) for k, v in above.items()}
            self.values[i] = vals
            self._fill(Builder(fn, b), b, vals)
        self._fill_phis()
        return fn

    def _pick(self, vals: Values, kind: Kind) -> Opnd:
        pool = vals[kind]
        return pool[-1 - int(len(pool) * self.rng.random() ** 2)]

    def _word(self, vals: Values) -> Opnd:
        """A one-word R source: register, lane, sometimes RZ."""
        x = self.rng.random()
        if x < 0.7:
            return self._pick(vals, R1)
        if x < 0.85:
            return self._pick(vals, R2) | (1 + self.rng.randrange(2)) << LANE_SHIFT
        if x < 0.97:
            return self._pick(vals, R4) | (1 + self.rng.randrange(4)) << LANE_SHIFT
        return RZ

    def _pair(self, vals: Values) -> Opnd:
        if self.rng.random() < 0.8:
            return self._pick(vals, R2)
        return self._pick(vals, R4) | (9 + self.rng.randrange(2)) << LANE_SHIFT

    def _pred(self, vals: Values) -> Opnd:
        p = self._pick(vals, P1)
        return p | INV if self.rng.random() < 0.4 else p

    def _fill(self, at: Builder, b: Block, vals: Values) -> None:
        rng, fn = self.rng, self.fn
        if b is fn.blocks[0]:
            for k in (R1, R2, R4, P1, U1):
                vals[k] = []
            if fn.kind == "func":
                self.back = at.pack(r(20), r(21))
                vals[R1].append(at.copy(r(4)))
                vals[R1].append(at.copy(r(5)))
            for _ in range(3):
                vals[R1].append(at.r("S2R", word("SR_TID.X")))
                vals[R2].append(at.copy(const(0, 0x210 + 8 * rng.randrange(4)), 2))
                vals[P1].append(at.setp("ISETP.GE.AND", vals[R1][0], vals[R1][-1], PT))
            vals[R4].append(at.r("LDG.E.128", K_NONE, vals[R2][0], URZ, imm(0), width=4))
            if self.undefined:
                for k in (R1, R2, R4, P1):
                    d = fn.new_vreg(*k)
                    at.emit("undef", [d], [])
                    vals[k].insert(0, d)
            u = fn.new_vreg(K_UR)
            at.emit("S2UR", [u], [word("SR_CTAID.X")])
            vals[U1].append(u)
        elif len(b.preds) > 1:
            for _ in range(rng.randint(0, 4)):
                kind = rng.choice((R1, R1, R1, R2, R4, P1))
                d = fn.new_vreg(*kind)
                at.emit_op(OP_PHI, [d], [])
                self.phis.append((b, kind))
                vals[kind].append(d)
        for _ in range(rng.randint(1, self.size)):
            self._inst(at, vals)
        if not b.succs:
            at.emit("STG.E", [], [K_NONE, self._pick(vals, R2), URZ, imm(4), self._word(vals)])
            if fn.kind == "entry":
                at.emit("EXIT", [], [])
            else:
                at.emit("copy", [r(4)], [self._word(vals)])
                at.emit("copy", [r(20)], [self.back | 1 << LANE_SHIFT])
                at.emit("copy", [r(21)], [self.back | 2 << LANE_SHIFT])
                at.emit("RET.REL.NODEC", [], [r(20), r(21), r(4)])
        elif len(b.succs) == 2:
            at.emit("BRA", [], [], guard=self._pred(vals))
        elif len(b.succs) == 3:
            at.emit("BRX", [], [self._pick(vals, R2)])

    def _inst(self, at: Builder, vals: Values) -> None:
        rng, fn = self.rng, self.fn
        x = rng.randrange(24)
        guard, old = PT, K_NONE
        guarded = rng.random() < 0.25

        def make(kind: Kind, name: str, *src: Opnd, extra: tuple[Opnd, ...] = ()) -> None:
            nonlocal guard, old
            if guarded and not extra:
                guard = self._pred(vals)
                if not self.undefined or rng.random() < 0.5:
                    old = self._pick(vals, kind)
            d = fn.new_vreg(*kind)
            at.emit(name, [d, *extra], list(src), guard, old)
            vals[kind].append(d)

        w = lambda: self._word(vals)  # noqa: E731
        if x < 5:
            make(R1, "IADD3", w() | (NEG if rng.random() < 0.2 else 0), w(), rng.choice((RZ, imm(7), w())))
        elif x < 7:
            make(R2, "IMAD.WIDE", w(), w(), self._pair(vals))
        elif x == 7:
            make(R2, "DADD", self._pair(vals), self._pair(vals))
        elif x == 8:
            make(R4, "LDG.E.128", K_NONE, self._pair(vals), URZ, imm(16))
        elif x == 9:
            make(R4, "HMMA.16816.F32", self._pick(vals, R4), self._pair(vals), self._pick(vals, R4))
        elif x == 10:
            make(R2, "pack", w(), rng.choice((w(), imm(3), RZ)))
        elif x == 11:
            make(R4, "pack", self._pair(vals), w(), w())
        elif x == 12:
            make(R4, "pack", w(), w(), self._pair(vals))
        elif x == 13:
            make(P1, "ISETP.GE.AND", w(), w(), self._pred(vals), extra=(PT,))
        elif x == 14:
            d2 = fn.new_vreg(K_P)
            make(P1, "ISETP.LT.AND", w(), w(), PT, extra=(d2,))
            vals[P1].append(d2)
        elif x == 15:
            make(R1, "SEL", w(), w(), self._pred(vals))
        elif x == 16:
            make(
                R1,
                "copy",
                rng.choice((self._pick(vals, R1), imm(rng.randrange(5)), const(0, 0x220), self._pick(vals, U1))),
            )
        elif x == 17:
            make(R2, "copy", rng.choice((self._pair(vals), const(0, 0x218))))
        elif x == 18:
            make(P1, "copy", rng.choice((self._pred(vals), PT, NOT_PT)))
        elif x == 19:
            at.emit("STG.E.64", [], [K_NONE, self._pick(vals, R2), URZ, imm(8), self._pair(vals)])
        elif x == 20 and self.uniform:
            guarded = False
            make(U1, "UIADD3", self._pick(vals, U1), self._pick(vals, U1), URZ)
        elif x == 21 and self.uniform:
            guarded = False
            make(U1, "copy", rng.choice((self._pick(vals, R1), imm(9), const(0, 0x230))))
        elif x == 22 and self.calls and rng.random() < 0.5:
            self._call(at, vals)
        else:
            d2 = fn.new_vreg(K_P)
            make(R1, "IADD3", w(), w(), RZ, extra=(d2,))
            vals[P1].append(d2)

    def _call(self, at: Builder, vals: Values) -> None:
        rng = self.rng
        at.emit("copy", [r(4)], [self._word(vals)])
        at.emit("copy", [r(5)], [self._word(vals)])
        pair = self._pick(vals, R2)
        at.emit("copy", [r(6)], [pair])
        inst = at.emit("call", [r(4), r(5)], [r(4), r(5), r(6), r(7)])
        clobber = 0xFC | rng.getrandbits(14) & ~2
        self.fn.calls[inst.uid] = CallInfo("helper", "helper", clobber, rng.getrandbits(7), rng.getrandbits(8) & ~15)
        if rng.random() < 0.5:
            vals[R1].append(at.copy(r(4)))
            vals[R1].append(at.copy(r(5)))
        else:
            vals[R2].append(at.pack(r(4), r(5)))

    def _fill_phis(self) -> None:
        nth: dict[int, int] = {}
        for b, kind in self.phis:
            k = nth.get(b.id, 0)
            nth[b.id] = k + 1
            src: list[Opnd] = []
            for p in b.preds:
                src.append(self._pick(self.values[p.id], kind))
            b.insts[k].src = src


def random_function(seed: int, blocks: int, size: int, **options: object) -> Func:
    return Maker(seed, blocks, size, **options).make()  # type: ignore[arg-type]
