"""OptimizeUniformAtomic: threads that add to one word add their sum, by one of them.

The hardware runs the atomics of a warp to one address one after another; an H200 takes 1.6 and 1.9 times as long for two kernels that
count in a word of global memory (docs/gpu-runs.md).  Here the threads that are together (VOTE.ANY) combine their values, and the lowest of
them by FLO runs the operation for all::

    m = VOTE.ANY ; first = FLO m ; @(lane = first) RED [a], POPC(m) * c         a value c that all threads have
    s = REDUX v  ; first = FLO m ; @(lane = first) RED [a], s                   any value of 32 bits (from sm_80 on)

An addition whose old value is needed gives the others theirs: the old value of the first and the part of the lanes below.  Only outside
of loops: in a loop with YIELD the threads may part after the atomic.  Nothing is combined where only one thread can be, after
``tid == 0``.  Sums of 64 bits are combined if all threads add the same.  Atomics of one block share the vote, for the threads that run
one run the next; not those with a call, a YIELD or a guarded
EXIT between them.

One that is added to a word of shared memory is ``ATOMS.POPC.INC.32`` (from sm_80 on), which counts the threads of each word and needs no
register with the one.  ptxas 13.0.88 does the same.
"""

from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.analysis.collectives import WARPSYNC
from orias.analysis.divergence import Divergence, divergence
from orias.isa.op import F_ATOMIC, F_CALL, F_TERM, op
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_modifiers,
    imm,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    is_zero_reg,
    with_word_lane,
    word,
)
from orias.ori.builder import Builder
from orias.ori.ir import ACQUIRES, OP_BRA, OP_COPY, Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.waiting_loops import sees_others
from orias.target import features

_REDUX: Final[dict[str, str]] = {"ADD": ".SUM", "MIN": ".MIN", "MAX": ".MAX", "AND": "", "OR": ".OR", "XOR": ".XOR"}
_IDEMPOTENT: Final[tuple[str, ...]] = ("MIN", "MAX", "AND", "OR")
_OTHER: Final[tuple[str, ...]] = ("S64", "128", "F16", "BF16", "F32", "F64")
"""Begins of the modifiers of types that are not combined."""
_WIDE: Final = "64"
_COUNT: Final = op("ATOMS.POPC.INC.32")
_ADD_SHARED: Final = op("ATOMS.ADD")
_LAST_LANE: Final = 0x1F
_THREADS: Final[tuple[Opnd, ...]] = tuple(word(f"SR_{name}") for name in ("TID.X", "TID.Y", "TID.Z", "LANEID"))


def combine_uniform_atomics(fn: Func) -> bool:
    """Let one thread of a warp run the atomics that all of its threads run on one word; True if anything changed."""
    if not any(_is_atomic(i) for i in fn.insts()):
        return False
    counted = fn.target.has(features.COUNTS_IN_SHARED) and _count_in_shared(fn)
    work = _Combiner(fn)
    return work.run() or counted


def _count_in_shared(fn: Func) -> bool:
    """``ATOMS.POPC.INC.32`` for one that is added without asking for the old value; True if anything changed."""
    changed = False
    for inst in fn.insts():
        if inst.op is _ADD_SHARED and inst.src[-1] == imm(1) and not any(is_vreg(d) for d in inst.dst):
            inst.op = _COUNT
            inst.src.pop()
            changed = True
    return changed


def _is_atomic(inst: Inst) -> bool:
    """True for an atomic with or without an old value."""
    return inst.op.flags & F_ATOMIC != 0 or inst.op.base in ("RED", "REDG")


@final
class _Together:
    """The threads that run a block: their mask, the lowest of them, and the condition that a thread is that one."""

    __slots__ = ("first", "leader", "mask")

    def __init__(self, at: Builder) -> None:
        self.mask: Final[Opnd] = at.fn.new_vreg(K_R)
        at.emit("VOTE.ANY", [self.mask, PT], [PT])
        self.first: Final[Opnd] = at.r("FLO.U32", self.mask)
        self.leader: Final[Opnd] = at.setp("ISETP.EQ.U32.AND", at.r("S2R", word("SR_LANEID")), self.first, PT)


@final
class _Combiner:
    __slots__ = ("_div", "_fn", "_in_loop", "_joined", "_reductions", "_together", "_values")

    def __init__(self, fn: Func) -> None:
        self._fn: Final[Func] = fn
        self._div: Final[Divergence] = divergence(fn)
        self._in_loop: Final[set[int]] = {x for loop in find_loops(fn, dominators(fn)).loops for x in loop.blocks}
        self._values: Final[Values] = Values(fn)
        self._reductions: Final[bool] = fn.target.has(features.WARP_REDUCTIONS)
        self._joined: Final[bool] = fn.target.has(features.MERCURY_LAYOUT)
        """An atomic that acquires and what waits for it are one in capsules, so neither may get a guard alone."""
        self._together: _Together | None = None
        """Of the part of the block before the atomic, if threads have not parted since."""

    def run(self) -> bool:
        changed = False
        for b in self._fn.blocks:
            if any(i.op is WARPSYNC for i in b.insts) or self._alone(b):
                # A vote after WARPSYNC would be that of all members (orias.analysis.collectives).
                continue
            self._together = None
            insts = list(b.insts)
            for k, inst in enumerate(insts):
                kind = self._kind(b, inst)
                if kind and not (self._joined and k + 1 < len(insts) and insts[k + 1].op in ACQUIRES):
                    self._combine(b, inst, kind)
                    changed = True
                if inst.op.flags & (F_CALL | F_TERM) or (b.id in self._in_loop and sees_others(inst)):
                    self._together = None
        return changed

    def _alone(self, b: Block) -> bool:
        """True if a branch lets only threads with one thread number or lane get here, so about one thread of a warp, as after ``tid == 0``."""
        for _ in range(len(self._fn.blocks)):
            if len(b.preds) != 1:
                return False
            a = b.preds[0]
            if (
                a.insts
                and a.insts[-1].op is OP_BRA
                and len(a.succs) == 2
                and self._compares_thread(a.insts[-1].guard, a.succs[1] is b)
            ):
                return True
            b = a
        return False

    def _compares_thread(self, guard: Opnd, holds: bool) -> bool:
        """True if a condition that holds, or does not, says that the number of the thread equals a constant."""
        if not is_vreg(guard & ~INV):
            return False
        made = self._values.definition(guard & ~INV)
        if made is None or made.op.base != "ISETP" or not is_imm(made.src[1]):
            return False
        kind = made.op.mods[0]
        equal = holds if guard & INV == 0 else not holds
        return ((kind == "EQ" and equal) or (kind == "NE" and not equal)) and self._numbers_threads(made.src[0])

    def _numbers_threads(self, o: Opnd) -> bool:
        made = self._values.definition(o)
        if (
            made is not None
            and made.op.base == "LOP3"
            and is_imm(made.src[1])
            and imm_value(made.src[1]) & _LAST_LANE == _LAST_LANE
        ):
            made = self._values.definition(made.src[0])
        return made is not None and made.op.base == "S2R" and made.src[0] in _THREADS

    def _kind(self, b: Block, inst: Inst) -> str:
        """The operation if the threads can combine it, else nothing."""
        if not _is_atomic(inst) or inst.guard != PT:
            return ""
        result = any(is_vreg(d) for d in inst.dst)
        mods = inst.op.mods
        kind = next((m for m in mods if m in _REDUX), "")
        if not kind or any(m.startswith(_OTHER) for m in mods):
            return ""
        value = inst.src[-1]
        if any(self._div.is_varying(o) for o in inst.src[:-1]) or not (
            is_imm(value) or (in_file(value, K_R) and not has_modifiers(value))
        ):
            return ""
        varying = not is_imm(value) and not is_zero_reg(value) and self._div.is_varying(value)
        if _WIDE in mods and (kind != "ADD" or varying):
            return ""
        if result and (
            kind != "ADD" or varying or b.id in self._in_loop or any(in_file(d, K_P) and d != PT for d in inst.dst)
        ):
            return ""
        return kind if self._reductions or not varying else ""

    def _combine(self, b: Block, inst: Inst, kind: str) -> None:
        """Put the instructions that combine before an atomic, and those that share the old value after it."""
        fn = self._fn
        value = inst.src[-1]
        k = b.insts.index(inst)
        tail = b.insts[k:]
        del b.insts[k:]
        at = Builder(fn, b)
        at.loc = inst.loc
        together = self._together
        if together is None:
            together = _Together(at)
            self._together = together
        inst.src = [*inst.src[:-1], self._value(at, inst, kind, value, together.mask)]
        inst.guard = together.leader
        b.insts += tail[:1]
        if any(is_vreg(d) for d in inst.dst):
            self._share(at, inst, value, together)
        b.insts += tail[1:]

    def _value(self, at: Builder, inst: Inst, kind: str, value: Opnd, together: Opnd) -> Opnd:
        if not is_imm(value) and not is_zero_reg(value) and self._div.is_varying(value):
            sign = ".S32" if "S32" in inst.op.mods and kind in ("MIN", "MAX") else ""
            base = at.fn.target.spelling("warp_min_max") if kind in ("MIN", "MAX") else "REDUX"
            u = at.fn.new_vreg(K_UR)
            at.emit(base + _REDUX[kind] + sign, [u], [value])
            return at.copy(u)
        if kind in _IDEMPOTENT:
            return value
        count = at.r("POPC", together)
        if kind == "XOR":
            count = at.r("LOP3.LUT", count, imm(1), RZ, imm(0xC0), NOT_PT)
        return _long_times(at, count, value, K_NONE) if _WIDE in inst.op.mods else _times(at, count, value, RZ)

    def _share(self, at: Builder, inst: Inst, value: Opnd, together: _Together) -> None:
        """Give each thread the old value that its own addition would have seen, in the order of the lanes."""
        result = inst.dst[0]
        words = at.fn.width(result)
        old = at.fn.new_vreg(K_R, words)
        inst.dst = [old, *inst.dst[1:]]
        parts: list[Opnd] = []
        for k in range(words):
            part = at.fn.new_vreg(K_R)
            at.emit(
                "SHFL.IDX", [part, PT], [with_word_lane(old, k) if words > 1 else old, together.first, imm(_LAST_LANE)]
            )
            parts.append(part)
        below = at.r("POPC", at.r("LOP3.LUT", together.mask, at.r("S2R", word("SR_LTMASK")), RZ, imm(0xC0), NOT_PT))
        made = _long_times(at, below, value, at.pack(*parts)) if words > 1 else _times(at, below, value, parts[0])
        at.emit_op(OP_COPY, [result], [made])


def _times(at: Builder, count: Opnd, value: Opnd, more: Opnd) -> Opnd:
    """count * value + more."""
    if is_imm(value) and imm_value(value) == 1:
        return count if is_zero_reg(more) else at.r("IADD3", count, more, RZ)
    return at.r("IMAD", count, at.copy(value) if is_imm(value) else value, more)


def _long_times(at: Builder, count: Opnd, value: Opnd, more: Opnd) -> Opnd:
    """count * value + more of 64 bits, `more` a register pair or nothing."""
    low, high = with_word_lane(value, 0), with_word_lane(value, 1)
    if low == imm(1) and high == imm(0) and more == K_NONE:
        return at.pack(count, RZ)
    if is_imm(low):
        low = at.copy(low)
    made = at.r("IMAD.WIDE.U32", count, low, RZ if more == K_NONE else more, width=2)
    if high in (imm(0), RZ):
        return made
    return at.pack(
        with_word_lane(made, 0), at.r("IMAD", count, at.copy(high) if is_imm(high) else high, with_word_lane(made, 1))
    )
