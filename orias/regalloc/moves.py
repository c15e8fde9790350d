"""Expands copies, parallel copies and packs on physical registers into instructions.

``UR -> R`` is MOV, ``R -> UR`` R2UR, constants to UR are ULDC or LDCU, predicates move by PLOP3 (forms of ptxas 13.0.88).
A cycle of registers is broken with a free register or, if there is none, with three exclusive ors that exchange two
registers; cycles of uniform registers and of predicates are broken in the same way.
"""

from collections.abc import Callable
from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op
from orias.isa.operand import (
    K_B,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    NOT_PT,
    NOT_UPT,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    flags_of,
    has_flags,
    imm,
    in_file,
    kind_of,
    reg,
    without_flags,
)
from orias.isa.roles import (
    COMBINE_BITS,
    COMBINE_PREDICATES,
    COMBINE_UNIFORM_BITS,
    COMBINE_UNIFORM_PREDICATES,
    LOAD_CONSTANT,
    LOAD_UNIFORM_CONSTANT,
    MOVE,
    MOVE_TO_UNIFORM,
    MOVE_UNIFORM,
    RESTORE_BARRIER,
    SAVE_BARRIER,
)
from orias.ori.ir import Func, Inst
from orias.regalloc.ranges import is_phys
from orias.target import features

_XOR: Final = imm(0x3C)
_EXCLUSIVE_OR: Final[dict[int, tuple[Op, tuple[Opnd, ...], tuple[Opnd, ...]]]] = {
    K_R: (COMBINE_BITS, (), (RZ, _XOR, NOT_PT)),
    K_UR: (COMBINE_UNIFORM_BITS, (), (URZ, _XOR, NOT_UPT)),
    K_P: (COMBINE_PREDICATES, (PT,), (PT, _XOR, imm(0))),
    K_UP: (COMBINE_UNIFORM_PREDICATES, (UPT,), (UPT, _XOR, imm(0))),
}
"""By file, the operation that combines two registers, its other results, and its sources after the two."""


@final
class MoveSet:
    """Parallel word moves: ``dst[i]`` (a physical register, plain) gets ``src[i]`` (register, immediate, constant ...)."""

    __slots__ = ("_find", "_free", "dst", "fn", "guard", "loc", "out", "src", "to")

    def __init__(self, fn: Func, guard: Opnd, loc: int, find: Callable[[int], int]) -> None:
        """`find`: gives the mask of the registers of a file (K_R, K_P or K_UR) that are free here."""
        self.fn: Final[Func] = fn
        self.guard: Final[Opnd] = guard
        self.loc: Final[int] = loc
        self.dst: list[Opnd] = []
        self.src: list[Opnd] = []
        self.to: dict[Opnd, Opnd] = {}
        """The source of each destination, including moves of a register to itself."""
        self.out: list[Inst] = []
        self._find: Final[Callable[[int], int]] = find
        self._free: Final[dict[int, int]] = {}
        """Masks of the registers that are free here, of the files of which a cycle has asked for one."""

    def add(self, d: Opnd, s: Opnd) -> None:
        """Add a move; a move to itself, to a constant register, or one that is already in the set is dropped.

        A move occurs twice where two equal values of a parallel copy share their registers.
        """
        if not (is_phys(d) or in_file(d, K_B)):
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
                k = without_flags(s)
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
                    k = without_flags(s)
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
        """Break a cycle, when only cycles are left (in which every register is read once).

        Either the old value of one register moves to a free register, or two registers are exchanged.
        """
        d = self.dst[i]
        s = self.src[i]
        key = without_flags(s)
        if key == d:
            # A predicate that is only inverted in place.
            self._one(d, s)
            done[i] = 1
            return
        reader = next(j for j in range(len(self.src)) if not done[j] and without_flags(self.src[j]) == d)
        flags = flags_of(self.src[reader])
        done[i] = 1
        spare = self._spare(kind_of(d))
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
        if has_flags(s):
            self._one(d, flags_of(s) | d)
        # `key` now has the old value of `d`: the cycle is shorter by one.
        self.src[reader] = key | flags
        readers.pop(d)
        if self.dst[reader] == key:
            readers.pop(key)
            if flags:
                self._one(key, key | flags)
            done[reader] = 1

    def _spare(self, file: int) -> Opnd:
        if file not in (K_R, K_P, K_UR):
            return 0
        mask = self._free.get(file, -1)
        if mask < 0:
            mask = self._find(file)
        if not mask:
            return 0
        bit = mask & -mask
        self._free[file] = mask & ~bit
        return reg(file, bit.bit_length() - 1)

    def _exchange(self, a: Opnd, b: Opnd) -> None:
        way = _EXCLUSIVE_OR.get(kind_of(a))
        if way is None:
            raise Unsupported("cycle of register moves without a free register", self.loc)
        o, results, rest = way
        for d, x, y in ((a, a, b), (b, a, b), (a, a, b)):
            self._inst(o, [d, *results], [x, y, *rest])

    def _inst(self, o: Op, dst: list[Opnd], src: list[Opnd]) -> None:
        self.out.append(self.fn.new_inst(o, dst, src, self.guard, loc=self.loc))

    def _one(self, d: Opnd, s: Opnd) -> None:
        """Emit one move."""
        to = kind_of(d)
        frm = kind_of(s)
        if to == K_R:
            if frm == K_CONST and not self.fn.target.has(features.CONSTANT_OPERANDS):
                self._inst(LOAD_CONSTANT[1], [d], [s, RZ])
            elif frm in (K_R, K_UR, K_IMM, K_CONST, K_SYM):
                self._inst(MOVE, [d], [_move_source(s)])
            elif frm == K_B:
                self._inst(SAVE_BARRIER, [d], [s])
            else:
                raise Unsupported("move into a register from an operand that has no move", self.loc)
        elif to == K_UR:
            if frm == K_CONST:
                self._inst(LOAD_UNIFORM_CONSTANT[self.fn.target.spelling("uniform_constant")][1], [d], [s, URZ])
            elif frm == K_R:
                self._inst(MOVE_TO_UNIFORM, [d], [s])
            elif frm in (K_UR, K_IMM, K_SYM):
                self._inst(MOVE_UNIFORM, [d], [s])
            else:
                raise Unsupported("move into a uniform register from an operand that has no move", self.loc)
        elif to == K_P:
            if frm == K_P:
                self._inst(COMBINE_PREDICATES, [d, PT], [s, PT, PT, imm(0x80), imm(0)])
            elif frm == K_UP:
                # ptxas 13.0.88 writes the table of the unused result so where a capsule has to state the move.
                unused = imm(8 if self.fn.target.has(features.MERCURY_LAYOUT) else 0)
                self._inst(COMBINE_PREDICATES, [d, PT], [PT, PT, s, imm(0x80), unused])
            else:
                raise Unsupported("move into a predicate from an operand that has no move", self.loc)
        elif to == K_UP:
            if frm != K_UP:
                raise Unsupported("move into a uniform predicate from an operand that has no move", self.loc)
            self._inst(COMBINE_UNIFORM_PREDICATES, [d, UPT], [s, UPT, UPT, imm(0x80), imm(0)])
        elif to == K_B and frm == K_R:
            self._inst(RESTORE_BARRIER, [d], [s])
        else:
            raise Unsupported("move of a convergence barrier", self.loc)


def _move_source(s: Opnd) -> Opnd:
    return RZ if s == K_IMM else s
