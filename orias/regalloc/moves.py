"""Real moves: copies, parallel copies and packs on physical registers become instructions.

``UR -> R`` is MOV, ``R -> UR`` R2UR, constants into UR are ULDC, predicates move through PLOP3 (forms as ptxas 13.0.88
emits them).  A cycle of R registers is broken through a free register or, if there is none, by exchanging with
three exclusive ors; a cycle of predicates likewise.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op, op
from orias.isa.operand import (
    FLAG_MASK,
    K_B,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    KIND_MASK,
    NOT_PT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    imm,
)
from orias.ori.ir import Func, Inst
from orias.regalloc.ranges import is_phys

OP_MOV: Final[Op] = op("MOV")
OP_UMOV: Final[Op] = op("UMOV")
OP_R2UR: Final[Op] = op("R2UR")
OP_LDC: Final[Op] = op("LDC")
OP_ULDC: Final[Op] = op("ULDC")
OP_PLOP3: Final[Op] = op("PLOP3.LUT")
OP_UPLOP3: Final[Op] = op("UPLOP3.LUT")
OP_LOP3: Final[Op] = op("LOP3.LUT")
OP_BMOV_SAVE: Final[Op] = op("BMOV.32.CLEAR")
OP_BMOV: Final[Op] = op("BMOV.32")
_XOR: Final = 0x3C


@final
class MoveSet:
    """Word moves that happen at once: ``dst[i]`` (physical, plain) gets ``src[i]`` (register, immediate, constant ...)."""

    __slots__ = ("dst", "fn", "free_p", "free_r", "free_ur", "guard", "loc", "out", "src", "to")

    def __init__(self, fn: Func, guard: Opnd, loc: int, free_r: int, free_p: int, free_ur: int) -> None:
        self.fn: Final[Func] = fn
        self.guard: Final[Opnd] = guard
        self.loc: Final[int] = loc
        self.dst: list[Opnd] = []
        self.src: list[Opnd] = []
        self.to: dict[Opnd, Opnd] = {}
        """What each destination gets, those that keep what they have included."""
        self.out: list[Inst] = []
        self.free_r: int = free_r
        self.free_p: int = free_p
        self.free_ur: int = free_ur
        """Registers that hold nothing here, as masks."""

    def add(self, d: Opnd, s: Opnd) -> None:
        """One more move; a move to itself, to a constant register, or one that is here already is dropped.

        The same move comes twice where two values of a parallel copy share their registers, being equal.
        """
        if not (is_phys(d) or d & KIND_MASK == K_B):
            return
        if d in self.to:
            if self.to[d] != s:
                raise Unsupported("two values moved into one register", self.loc)
            return
        self.to[d] = s
        if d != s:
            self.dst.append(d)
            self.src.append(s)

    def emit(self) -> list[Inst]:
        """The instructions, in an order that gives every destination the old value of its source."""
        dst = self.dst
        src = self.src
        readers: dict[Opnd, int] = {}
        for s in src:
            if is_phys(s):
                k = s & ~FLAG_MASK
                readers[k] = readers.get(k, 0) + 1
        index = {d: i for i, d in enumerate(dst)}
        done = bytearray(len(dst))
        ready = [i for i in range(len(dst) - 1, -1, -1) if dst[i] not in readers]
        left = len(dst)
        first = 0
        while left:
            while ready:
                i = ready.pop()
                self._one(dst[i], src[i])
                done[i] = 1
                left -= 1
                s = src[i]
                if is_phys(s):
                    k = s & ~FLAG_MASK
                    readers[k] -= 1
                    if readers[k] == 0:
                        j = index.get(k, -1)
                        if j >= 0 and not done[j]:
                            ready.append(j)
            if not left:
                break
            while done[first]:
                first += 1
            self._break_cycle(first, index, readers, ready, done)
            left = len(dst) - sum(done)
        return self.out

    def _break_cycle(
        self, i: int, index: dict[Opnd, int], readers: dict[Opnd, int], ready: list[int], done: bytearray
    ) -> None:
        """Make progress when only cycles are left, in which every register is read once.

        Either the old value of one register moves to a spare one, or two registers are exchanged.
        """
        d = self.dst[i]
        s = self.src[i]
        key = s & ~FLAG_MASK
        if key == d:
            # A predicate that is only inverted.
            self._one(d, s)
            done[i] = 1
            return
        reader = next(j for j in range(len(self.src)) if not done[j] and self.src[j] & ~FLAG_MASK == d)
        flags = self.src[reader] & FLAG_MASK
        done[i] = 1
        spare = self._spare(d & KIND_MASK)
        if spare:
            self._one(spare, d)
            self.src[reader] = spare | flags
            readers[spare] = readers.pop(d)
            self._one(d, s)
            readers[key] -= 1
            if readers[key] == 0 and not done[index[key]]:
                ready.append(index[key])
            return
        self._exchange(d, key)
        if s & FLAG_MASK:
            self._one(d, s & FLAG_MASK | d)
        # What `d` held is in `key` now: a cycle shorter by one.
        self.src[reader] = key | flags
        readers.pop(d)
        if self.dst[reader] == key:
            readers.pop(key)
            if flags:
                self._one(key, key | flags)
            done[reader] = 1

    def _spare(self, file: int) -> Opnd:
        if file == K_R:
            mask = self.free_r
        elif file == K_P:
            mask = self.free_p
        elif file == K_UR:
            mask = self.free_ur
        else:
            mask = 0
        if not mask:
            return 0
        bit = mask & -mask
        if file == K_R:
            self.free_r &= ~bit
        elif file == K_P:
            self.free_p &= ~bit
        else:
            self.free_ur &= ~bit
        return file | (bit.bit_length() - 1) << PAYLOAD_SHIFT

    def _exchange(self, a: Opnd, b: Opnd) -> None:
        for d, x, y in ((a, a, b), (b, a, b), (a, a, b)):
            if a & KIND_MASK == K_R:
                self._inst(OP_LOP3, [d], [x, y, RZ, imm(_XOR), NOT_PT])
            elif a & KIND_MASK == K_P:
                self._inst(OP_PLOP3, [d, PT], [x, y, PT, imm(_XOR), imm(0)])
            else:
                raise Unsupported("cycle of register moves without a free register", self.loc)

    def _inst(self, o: Op, dst: list[Opnd], src: list[Opnd]) -> None:
        self.out.append(self.fn.new_inst(o, dst, src, self.guard, loc=self.loc))

    def _one(self, d: Opnd, s: Opnd) -> None:
        """One move."""
        to = d & KIND_MASK
        frm = s & KIND_MASK
        if to == K_R:
            if frm == K_CONST and not self.fn.target.const_operands:
                self._inst(OP_LDC, [d], [s, RZ])
            elif frm in (K_R, K_UR, K_IMM, K_CONST, K_SYM):
                self._inst(OP_MOV, [d], [_move_source(s)])
            elif frm == K_B:
                self._inst(OP_BMOV_SAVE, [d], [s])
            else:
                raise Unsupported("move into a register from an operand that has no move", self.loc)
        elif to == K_UR:
            if frm == K_CONST:
                self._inst(OP_ULDC, [d], [s, URZ])
            elif frm == K_R:
                self._inst(OP_R2UR, [d], [s])
            elif frm in (K_UR, K_IMM, K_SYM):
                self._inst(OP_UMOV, [d], [s])
            else:
                raise Unsupported("move into a uniform register from an operand that has no move", self.loc)
        elif to == K_P:
            if frm == K_P:
                self._inst(OP_PLOP3, [d, PT], [s, PT, PT, imm(0x80), imm(0)])
            elif frm == K_UP:
                self._inst(OP_PLOP3, [d, PT], [PT, PT, s, imm(0x80), imm(0)])
            else:
                raise Unsupported("move into a predicate from an operand that has no move", self.loc)
        elif to == K_UP:
            if frm != K_UP:
                raise Unsupported("move into a uniform predicate from an operand that has no move", self.loc)
            self._inst(OP_UPLOP3, [d, UPT], [s, UPT, UPT, imm(0x80), imm(0)])
        elif to == K_B and frm == K_R:
            self._inst(OP_BMOV, [d], [s])
        else:
            raise Unsupported("move of a convergence barrier", self.loc)


def _move_source(s: Opnd) -> Opnd:
    return RZ if s == K_IMM else s
