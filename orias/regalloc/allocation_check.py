"""The independent checker of register allocation.

:func:`check` follows every path through the allocated function.  For every physical register and stack slot it tracks
which values of the function before allocation it certainly holds.  Wherever an instruction reads a register, that must
include the value that the unallocated instruction reads.  The checker shares no code with the allocator.  It trusts
only the trace (which old instruction became which new ones), and only where opcodes agree.

A value is ``2 * word number + inverted``.  Word numbers count the words of virtual registers, then one word per
physical register of the unallocated code, then constants, then the registers that the caller preserves.
"""

from typing import Final, final

from orias.isa.op import (
    F_CALL,
    F_CONSTMEM,
    F_CONVERGENT,
    F_FENCE,
    F_PSEUDO,
    F_READ,
    F_RETURNS,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_WARP_WIDE,
    F_WRITE,
    Op,
)
from orias.isa.operand import (
    FIRST_VIRTUAL,
    INV,
    K_B,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    PT,
    RZ,
    SP,
    ZERO,
    Opnd,
    imm,
    imm_signed,
    imm_value,
    is_imm,
    is_true_pred,
    is_vreg,
    is_zero_reg,
    kind_of,
    lane_words,
    modifiers_of,
    r,
    reg,
    reg_id,
    vreg,
    with_word_lane,
    word_text,
)
from orias.isa.roles import (
    ADD,
    COMBINE_BITS,
    COMBINE_PREDICATES,
    COMBINE_UNIFORM_PREDICATES,
    CONSTANT_WORDS,
    LOAD_SHARED,
    LOCAL_LOADS,
    LOCAL_STORES,
    MOVE,
    MOVE_TO_UNIFORM,
    MOVE_UNIFORM,
    NOT_EQUAL,
    NOT_EQUAL_UNIFORM,
    NOT_EQUAL_UNSIGNED,
    RESTORE_BARRIER,
    SAVE_BARRIER,
    SELECT,
    STORE_SHARED,
)
from orias.ori.ir import OP_COPY, OP_PACK, OP_UNDEF, Block, Func, Inst
from orias.ori.text import inst_text
from orias.regalloc.frame import OP_FRAME, OP_FRAME_IN
from orias.regalloc.ssa_out import OP_PCOPY

State = dict[int, frozenset[int]]
"""The values that each place holds.  Places: ``kind << 8 | number`` for registers, ``_SLOT + address`` for stack words."""

_SLOT: Final = 1 << 20
_ROW: Final = 1 << 25
"""Places of words in shared memory are from here on."""
_SP: Final = 1 << 30
"""The place of the distance in bytes by which R1 has moved, as a set of one number."""
_UNDEF: Final = 1 << 31
"""The place of the values that are undefined here: any register may hold them."""
_SAME: Final = 1 << 32
"""From here on, plus the uid of a removed instruction: those of its sources that have the values with which it would have run."""
_NOTHING: Final[frozenset[int]] = frozenset()
_REG_KINDS: Final = (K_R, K_UR, K_P, K_UP, K_B)
_PARTS: Final = (OP_COPY, OP_PCOPY, OP_PACK)
_COPIES: Final = (*_PARTS, OP_UNDEF)
_MOVES: Final = (MOVE, MOVE_UNIFORM)
_EFFECTS: Final = (
    F_SIDE
    | F_TERM
    | F_CONVERGENT
    | F_CALL
    | F_READ
    | F_WRITE
    | F_FENCE
    | F_PSEUDO
    | F_SPECIAL
    | F_CONSTMEM
    | F_WARP_WIDE
)
_TOP: Final = {K_R: 255, K_UR: 255, K_P: 7, K_UP: 7, K_B: 255}
_CALLEE_R: Final = tuple(n for n in range(2, 253) if (n == 2 or 16 <= n <= 19 or 22 <= n <= 31 or (n >= 32 and n & 4)))
_CALLEE_B: Final = tuple(range(6, 12))
_FIXED: Final = ("SR_TID", "SR_CTAID", "SR_LANEID", "SR_NTID", "SR_NCTAID", "SR_CgaCtaId")
"""Special registers that never change while a thread runs."""
_MEMORY: Final = {"": 1, "64": 2, "128": 4}


def check(before: Func, after: Func, trace: dict[int, list[tuple[int, tuple[int, ...]]]]) -> list[str]:
    """The faults of an allocation, each with the surrounding instructions; empty if the allocation is right.

    `before`: a copy of the function in state ``virtual`` (calls expanded).  `trace`: for each block, in order, the uid
    of every old instruction and the uids of the instructions that it became (none if it was removed).
    """
    return _Checker(before, after, trace).run()


@final
class _Checker:
    __slots__ = (
        "after", "base", "before", "const_of", "consts", "faults", "first_const", "old", "removed", "reporting", "seen", "trace", "where",
    )  # fmt: skip

    def __init__(self, before: Func, after: Func, trace: dict[int, list[tuple[int, tuple[int, ...]]]]) -> None:
        self.before: Final[Func] = before
        self.after: Final[Func] = after
        self.trace: Final[dict[int, list[tuple[int, tuple[int, ...]]]]] = trace
        self.faults: list[str] = []
        self.reporting: bool = False
        self.seen: set[str] = set()
        self.where: tuple[Block, int] = (after.blocks[0], 0)
        self.old: dict[int, Inst] = {i.uid: i for i in before.insts()}
        self.base: list[int] = [0] * len(before.vkind)
        total = 0
        for v in range(FIRST_VIRTUAL, len(before.vkind)):
            self.base[v] = total
            total += before.vwidth[v]
        self.first_const: int = total + 6 * 256
        self.consts: dict[tuple[str, int], int] = {}
        self.const_of: dict[int, int] = {}
        self._find_constants()
        self.removed: Final[dict[tuple[Op, tuple[Opnd, ...]], list[Inst]]] = {}
        """Instructions without effects that are not in the new code, by operation and sources without their registers: others may repeat them."""
        self._find_removed()

    # --- values ------------------------------------------------------------------------------------------------

    def _words(self, o: Opnd, width: int = 1) -> list[int]:
        """Values (not inverted) of the words of a register operand in the old code, low word first."""
        n = vreg(o)
        if n < FIRST_VIRTUAL:
            start = self.first_const - 6 * 256 + kind_of(o) * 256 + n
            return [2 * (start + k) for k in range(width)]
        first, count = lane_words(o, self.before.vwidth[n])
        return [2 * (self.base[n] + first + k) for k in range(count)]

    def _constant(self, text: str, o: Opnd) -> int:
        key = (text, o)
        number = self.consts.get(key)
        if number is None:
            number = self.first_const + len(self.consts)
            self.consts[key] = number
        return 2 * number

    def _initial(self, place: int) -> int:
        return self._constant("initial", place)

    def _find_constants(self) -> None:
        """Find words with a single definition by a constant; any place with that constant may stand for them."""
        defs: dict[int, int] = {}
        for inst in self.before.insts():
            for d in inst.dst:
                if is_vreg(d):
                    defs[vreg(d)] = defs.get(vreg(d), 0) + 1
        copies: list[tuple[int, int]] = []
        for inst in self.before.insts():
            if inst.guard != PT or any(not is_vreg(d) or defs[vreg(d)] > 1 for d in inst.dst):
                continue
            if inst.op in _PARTS:
                for d, s, flip in self._pairs(inst):
                    if s >= 2 * self.first_const and not flip:
                        self.const_of[d] = s
                    elif not flip:
                        copies.append((d, s))
            elif len(inst.dst) == 1:
                known = self._known(inst)
                for d, c in zip(self._words(inst.dst[0]), known, strict=False):
                    self.const_of[d] = c
        # A word copied from a constant word is that constant; copies of copies may be in any order.
        while found := [(d, self.const_of[s]) for d, s in copies if s in self.const_of and d not in self.const_of]:
            self.const_of.update(found)

    def _find_removed(self) -> None:
        gone = {uid for items in self.trace.values() for uid, new in items if not new}
        for inst in self.before.insts():
            if inst.uid in gone and inst.op not in _COPIES and not inst.op.flags & _EFFECTS and inst.guard == PT:
                self.removed.setdefault((inst.op, self._form(inst)), []).append(inst)

    def _form(self, inst: Inst) -> tuple[Opnd, ...]:
        """What an instruction must share with another one that computes the same from the same values."""
        src = tuple(modifiers_of(o) | kind_of(o) if _is_changing(o) else o for o in inst.src)
        return (*inst.dst[1:], *src)

    def _inputs(self, inst: Inst) -> list[list[int]]:
        """The values of each source of an old instruction that is a register."""
        return [self._words(o) for o in inst.src if _is_changing(o)]

    def _repeated(self, inst: Inst, st: State) -> list[tuple[int, frozenset[int]]] | None:
        """The places and values that an instruction writes as a removed one would have; None if it repeats none.

        An undefined source is in no place: its range holds a register from where it begins, without an instruction that writes it.
        """
        if inst.guard != PT:
            return None
        places = [_place(o) for o in inst.src if _is_changing(o)]
        undefined = st.get(_UNDEF, _NOTHING)
        for old in self.removed.get((inst.op, self._form(inst)), ()):
            inputs = self._inputs(old)
            needed = frozenset(v for words in inputs for v in words)
            if st.get(_SAME + old.uid, _NOTHING) >= needed and all(
                v in undefined or not {v, self.const_of.get(v, -1)}.isdisjoint(st.get(place + k, _NOTHING))
                for place, words in zip(places, inputs, strict=True)
                for k, v in enumerate(words)
            ):
                first = _place(inst.dst[0])
                return [(first + k, frozenset((v,))) for k, v in enumerate(self._words(old.dst[0]))]
        return None

    def _known(self, inst: Inst) -> list[int]:
        """Constants that the result words of an instruction always equal; empty if there are none."""
        src = inst.src
        if inst.op in CONSTANT_WORDS and _is_zero(src[1]):
            width = CONSTANT_WORDS[inst.op]
            return [self._constant("", with_word_lane(src[0], k)) for k in range(width)]
        if inst.op in _MOVES and kind_of(src[0]) in (K_IMM, K_CONST, K_SYM):
            return [self._constant("", src[0])]
        if inst.op in _MOVES and _is_zero(src[0]):
            return [self._constant("", K_IMM)]
        if inst.op.flags & (F_SPECIAL | F_SIDE) == F_SPECIAL and word_text(src[0]).startswith(_FIXED):
            return [self._constant("special", src[0])]
        return []

    def _pairs(self, inst: Inst) -> list[tuple[int, int, int]]:
        """The word moves of an old copy, parallel copy or pack: (destination, source value, inverted)."""
        out: list[tuple[int, int, int]] = []
        if inst.op is OP_PACK:
            source: list[int] = []
            for s in inst.src:
                source.extend(self._source_words(s, 1))
            for d, v in zip(self._words(inst.dst[0]), source, strict=False):
                out.append((d, v, 0))
            return out
        for d, s in zip(inst.dst, inst.src, strict=True):
            width = max(self._width(d), self._width(s))
            flip = 1 if s & INV else 0
            for a, v in zip(self._words(d, width), self._source_words(s, width), strict=True):
                out.append((a, v, flip))
        return out

    def _source_words(self, s: Opnd, width: int) -> list[int]:
        kind = kind_of(s)
        if kind in _REG_KINDS:
            if reg_id(s) == _TOP[kind]:
                if kind in (K_P, K_UP):
                    return [self._constant("true", 0)]
                return [self._constant("", K_IMM)] * width
            return self._words(s, width)
        if width == 1 and kind not in (K_IMM, K_CONST):
            return [self._constant("", s)]
        return [self._constant("", with_word_lane(s, k)) for k in range(width)]

    def _width(self, o: Opnd) -> int:
        if is_vreg(o):
            return lane_words(o, self.before.vwidth[vreg(o)])[1]
        return 1

    # --- the walk over the blocks ------------------------------------------------------------------------------

    def run(self) -> list[str]:
        after = self.after
        if after.state not in ("allocated", "final"):
            return [f"{after.name}: state is {after.state}"]
        entry: State = {_SP: frozenset((0,))}
        for kind in _REG_KINDS:
            for n in range(_TOP[kind]):
                entry[kind << 8 | n] = frozenset(self._words(reg(kind, n)))
        if after.kind == "func":
            for n in self._kept_r():
                entry[K_R << 8 | n] |= {self._initial(K_R << 8 | n)}
            for n in _CALLEE_B:
                entry[K_B << 8 | n] |= {self._initial(K_B << 8 | n)}
        incoming: dict[int, State] = {after.blocks[0].id: entry}
        work = [after.blocks[0]]
        while work:
            b = work.pop()
            out = self._block(b, dict(incoming[b.id]))
            for s in b.succs:
                known = incoming.get(s.id)
                if known is None:
                    incoming[s.id] = dict(out)
                    work.append(s)
                elif _meet(known, out) and s not in work:
                    work.append(s)
        self.reporting = True
        for b in after.blocks:
            if b.id in incoming:
                self._block(b, dict(incoming[b.id]))
            elif b.insts:
                self.faults.append(f"{after.name} b{b.id}: not reached from the entry")
        return self.faults

    def _fault(self, message: str) -> None:
        if not self.reporting:
            return
        b, k = self.where
        text = f"{self.after.name} b{b.id}[{k}]: {message}"
        if text in self.seen:
            return
        self.seen.add(text)
        lines = [text]
        for j in range(max(0, k - 3), min(len(b.insts), k + 3)):
            lines.append(("  > " if j == k else "    ") + inst_text(b.insts[j], self.after))
        self.faults.append("\n".join(lines))

    def _block(self, b: Block, st: State) -> State:
        insts = b.insts
        at = {inst.uid: k for k, inst in enumerate(insts)}
        k = 0
        for uid, new in self.trace.get(b.id, ()):
            old = self.old.get(uid)
            start = at.get(new[0], -1) if new else -1
            if new and start < 0:
                self.where = (b, k)
                self._fault(f"instruction {uid} is gone")
                continue
            while new and k < start:
                k = self._extra(b, k, st)
            if old is None:
                # An instruction of the allocator (spill code), or a copy that it made of an instruction.
                k = self._extras(b, k, k + len(new), st)
                continue
            self.where = (b, min(k, max(0, len(insts) - 1)))
            if old.op in _COPIES:
                k = self._copy(b, k, len(new), old, st)
            elif not new:
                words = [w for d in old.dst if is_vreg(d) for w in self._words(d)]
                repeated = old in self.removed.get((old.op, self._form(old)), ())
                if not words or (not repeated and any(w not in self.const_of for w in words)):
                    self._fault(f"no trace of: {inst_text(old, self.before)}")
                _forget(st, words)
                if repeated:
                    st[_SAME + old.uid] = frozenset(v for words in self._inputs(old) for v in words)
            else:
                while insts[k].uid != uid and k < start + len(new) - 1:
                    k = self._extra(b, k, st)
                self.where = (b, k)
                self._real(old, insts[k], st)
                k += 1
        while k < len(insts):
            k = self._extra(b, k, st)
        return st

    # --- instructions of the program ---------------------------------------------------------------------------

    def _real(self, old: Inst, new: Inst, st: State) -> None:
        if old.op is OP_FRAME or old.op is OP_FRAME_IN:
            if len(new.dst) == 1:
                self._define(old.dst[0], new.dst[0], st)
            return
        if old.op is not new.op or len(old.dst) != len(new.dst) or len(old.src) != len(new.src):
            self._fault(f"not the instruction it was: {inst_text(old, self.before)}")
            return
        if old.op is SAVE_BARRIER and old.dst == [RZ]:
            # Clears a convergence barrier, whatever it holds.
            if old.src != new.src:
                self._fault("operand differs from what it was")
        else:
            for o, n in zip(old.src, new.src, strict=True):
                self._read(o, n, st)
        self._read(old.guard, new.guard, st)
        if old.old != K_NONE:
            for o, n in zip(old.dst, new.dst, strict=True):
                if is_vreg(o):
                    self._read(old.old, n, st)
        if old.op.flags & F_RETURNS and self.after.kind == "func":
            self._restored(st)
        info = self.before.calls.get(old.uid) if old.op.flags & F_CALL else None
        if info is not None:
            masks = ((K_R, info.clobber_r), (K_P, info.clobber_p), (K_UR, info.clobber_ur), (K_UP, info.clobber_up), (K_B, info.clobber_b))  # fmt: skip
            for kind, mask in masks:
                for n in range(_TOP[kind]):
                    if mask >> n & 1:
                        st.pop(kind << 8 | n, None)
        # A convergence barrier that BMOV saved and then restores keeps its contents: the old and the new value are
        # both there.
        kept = self._moved(new, st) if old.op is SAVE_BARRIER or old.op is RESTORE_BARRIER else None
        for o, n in zip(old.dst, new.dst, strict=True):
            self._define(o, n, st)
        for place, held in kept or []:
            st[place] = st.get(place, _NOTHING) | held

    def _kept_r(self) -> tuple[int, ...]:
        """Registers that the function must preserve: none if it is private, because its callers know what it changes."""
        return () if self.after.private else _CALLEE_R

    def _restored(self, st: State) -> None:
        if st.get(_SP) != frozenset((0,)):
            self._fault("stack pointer is not back where it was")
        for kind, numbers in ((K_R, self._kept_r()), (K_B, _CALLEE_B)):
            for n in numbers:
                if self._initial(kind << 8 | n) not in st.get(kind << 8 | n, _NOTHING):
                    self._fault(f"register {n} of file {kind} belongs to the caller and is changed")

    def _read(self, o: Opnd, n: Opnd, st: State) -> None:
        kind = kind_of(o)
        if kind not in _REG_KINDS:
            if o != n:
                self._fault("operand differs from what it was")
            return
        if kind_of(n) != kind or modifiers_of(n) != modifiers_of(o):
            self._fault("operand has another file, flag or suffix than it had")
            return
        number = reg_id(n)
        if number >= FIRST_VIRTUAL:
            self._fault("virtual register left")
            return
        if not is_vreg(o):
            if reg_id(o) != number:
                self._fault("physical register differs from what it was")
                return
            if number == _TOP[kind] or (kind == K_R and number == 1):
                return
        for k, v in enumerate(self._words(o)):
            held = st.get(kind << 8 | (number + k), _NOTHING)
            if v not in held and self.const_of.get(v, -1) not in held and v not in st.get(_UNDEF, _NOTHING):
                self._fault(f"{_reg(kind, number + k)} does not hold v{vreg(o)}.{k}")

    def _define(self, o: Opnd, n: Opnd, st: State) -> None:
        kind = kind_of(n)
        number = reg_id(n)
        if not is_vreg(o):
            if o != n:
                self._fault("physical result differs from what it was")
            if number == _TOP[kind]:
                return
        elif kind != kind_of(o) or number >= FIRST_VIRTUAL:
            self._fault("result in another file than it was")
            return
        words = self._words(o)
        _forget(st, words)
        for k, v in enumerate(words):
            if number + k >= _TOP[kind] and not (kind == K_B and number < 12):
                self._fault("result reaches beyond the last register")
            st[kind << 8 | (number + k)] = frozenset((v,))

    def _copy(self, b: Block, k: int, count: int, old: Inst, st: State) -> int:
        """A copy of the old code: interpret its moves, then give the moved values the names of their destinations."""
        if old.op is OP_UNDEF:
            k = self._extras(b, k, k + count, st)
            words = self._words(old.dst[0])
            _forget(st, words)
            st[_UNDEF] = st.get(_UNDEF, _NOTHING) | frozenset(words)
            return k
        pairs = self._pairs(old)
        if old.guard != PT:
            return self._guarded_copy(b, k, count, old, pairs, st)
        # The old values of the destinations end here, but a parallel copy may read them: rename only after the moves.
        k = self._extras(b, k, k + count, st)
        targets = {d for d, _, _ in pairs}
        renamed: dict[int, list[int]] = {}
        for d, s, flip in pairs:
            renamed.setdefault(s ^ flip, []).append(d)
            renamed.setdefault(s ^ flip ^ 1, []).append(d ^ 1)
            c = self.const_of.get(s)
            if c is not None:
                renamed.setdefault(c, []).append(d)
        touched = frozenset([*renamed, *targets, *[d | 1 for d in targets]])
        # Most places hold nothing of it, so they are passed over first.
        for place, held in [x for x in st.items() if not touched.isdisjoint(x[1])]:
            if place == _SP:
                continue
            fresh = [d for v in held for d in renamed.get(v, ())] if place < _SAME else []
            if place == _UNDEF:  # the inverse of an undefined value is undefined; the set has values without inversion
                fresh = [d & ~1 for d in fresh]
            if fresh or any(v & ~1 in targets for v in held):
                st[place] = frozenset([v for v in held if v & ~1 not in targets] + fresh)
        return k

    def _guarded_copy(
        self, b: Block, k: int, count: int, old: Inst, pairs: list[tuple[int, int, int]], st: State
    ) -> int:
        before = dict(st)
        written: dict[int, frozenset[int]] = {}
        for j in range(k, k + count):
            new = b.insts[j]
            self.where = (b, j)
            self._read(old.guard, new.guard, before)
            moved = self._moved(new, st)
            if moved is None:
                self._fault("guarded copy became something that is not a move")
                return k + count
            for place, held in moved:
                written[place] = held
                st[place] = held
        targets = {d for d, _, _ in pairs}
        undefined = before.get(_UNDEF, _NOTHING)
        result: dict[int, set[int]] = {}
        olds = self._words(old.old) if old.old != K_NONE else []
        for k_word, (d, s, flip) in enumerate(pairs):
            v = s ^ flip
            was = olds[k_word] if olds else -1
            for place, held in before.items():
                if place == _SP or place >= _SAME:
                    continue
                into = written.get(place)
                kept = was < 0 or was in held or was in undefined or self.const_of.get(was, -1) in held
                has = held if into is None else into
                if kept and (v in has or v in undefined or self.const_of.get(v, -1) in has):
                    result.setdefault(place, set()).add(d)
            for place, into in written.items():
                certain = v in into or v in undefined or self.const_of.get(v, -1) in into
                if place not in before and (was < 0 or was in undefined) and certain:
                    result.setdefault(place, set()).add(d)
        for place in list(before):
            if place != _SP:
                st[place] = frozenset(v for v in before[place] if v & ~1 not in targets)
        for place, into in written.items():
            # If the guard is false, the place keeps its old values: only values in both sets are certain.
            st[place] = st.get(place, _NOTHING) & into
        for place, fresh in result.items():
            st[place] = st.get(place, _NOTHING) | fresh
        return k + count

    # --- instructions of the allocator -------------------------------------------------------------------------

    def _extras(self, b: Block, k: int, end: int, st: State) -> int:
        while k < end:
            k = self._extra(b, k, st)
        return k

    def _extra(self, b: Block, k: int, st: State) -> int:
        """Interpret instruction `k`, which the old code does not have; returns the index after it."""
        insts = b.insts
        inst = insts[k]
        self.where = (b, k)
        if inst.op in (COMBINE_BITS, COMBINE_PREDICATES) and self._exchange(insts, k, st):
            return k + 3
        moved = self._moved(inst, st)
        if moved is None:
            moved = self._repeated(inst, st)
        if moved is None:
            self._fault(f"unknown instruction of the allocator: {inst_text(inst, self.after)}")
            for d in inst.dst:
                st.pop(kind_of(d) << 8 | reg_id(d), None)
            return k + 1
        if inst.guard != PT and kind_of(inst.guard) != K_NONE and self.after.kind == "entry":
            moved = [(place, held & st.get(place, _NOTHING)) for place, held in moved]
        for place, held in moved:
            st[place] = held
        return k + 1

    def _exchange(self, insts: list[Inst], k: int, st: State) -> bool:
        """Interpret three exclusive ors that exchange two registers; False if there are none at `k`."""
        if k + 2 >= len(insts):
            return False
        x = insts[k : k + 3]
        a, b = x[0].src[0], x[0].src[1]
        rest = x[0].src[2:]
        if [i.op for i in x] != [x[0].op] * 3 or [i.dst[0] for i in x] != [a, b, a]:
            return False
        if any(i.src != [a, b, *rest] for i in x) or imm_value(rest[1]) != 0x3C:
            return False
        pa = kind_of(a) << 8 | reg_id(a)
        pb = kind_of(b) << 8 | reg_id(b)
        va, vb = st.get(pa, _NOTHING), st.get(pb, _NOTHING)
        st[pa], st[pb] = vb, va
        return True

    def _moved(self, inst: Inst, st: State) -> list[tuple[int, frozenset[int]]] | None:
        """(place, values) pairs written by a move, spill, reload or constant load; None for another instruction."""
        src = inst.src
        if inst.op in LOCAL_LOADS or inst.op in LOCAL_STORES:
            return self._memory(inst, st)
        if inst.op in (LOAD_SHARED, STORE_SHARED):
            return self._shared(inst, st)
        known = self._known(inst)
        if known:
            first = _place(inst.dst[0])
            if first == K_R << 8 | 1:
                return []
            return [(first + k, frozenset((v,))) for k, v in enumerate(known)]
        if inst.op is MOVE and src[0] == SP and st.get(_SP) == frozenset((0,)):
            # Code that moves the stack copies it too, where the function has no frame.
            own = st.get(_place(SP), _NOTHING)
            return [(_place(inst.dst[0]), own | frozenset((self._initial(_place(SP)),)))]
        if inst.op in _MOVES or inst.op is MOVE_TO_UNIFORM or inst.op is RESTORE_BARRIER:
            return [(_place(inst.dst[0]), st.get(_place(src[0]), _NOTHING))]
        if inst.op is SAVE_BARRIER:
            return [(_place(inst.dst[0]), st.get(_place(src[0]), _NOTHING)), (_place(src[0]), _NOTHING)]
        # The second table is that of the result that nobody reads.
        combines = inst.op in (COMBINE_PREDICATES, COMBINE_UNIFORM_PREDICATES)
        if combines and imm_value(src[3]) == 0x80 and imm_value(src[4]) in (0, 8):
            s = src[0] if src[0] != PT else src[2]
            if is_true_pred(s):
                held = frozenset((self._constant("true", 0),))
            else:
                held = st.get(_place(s), _NOTHING)
            return [(_place(inst.dst[0]), frozenset(v ^ 1 for v in held) if s & INV else held)]
        if inst.op is SELECT and _is_zero(src[0]) and imm_value(src[1]) == 1:
            # The register is 1 where the predicate is false: it holds the inverted predicate.
            if is_true_pred(src[2]):
                held = frozenset((self._constant("true", 0),))
            else:
                held = st.get(_place(src[2]), _NOTHING)
            return [(_place(inst.dst[0]), held if src[2] & INV else frozenset(v ^ 1 for v in held))]
        if inst.op in (NOT_EQUAL, NOT_EQUAL_UNSIGNED, NOT_EQUAL_UNIFORM) and _is_zero(src[1]) and is_true_pred(src[2]):
            return [(_place(inst.dst[0]), st.get(_place(src[0]), _NOTHING))]
        if inst.op is ADD and inst.dst == [SP] and inst.dst[0] == src[0]:
            held = st.get(_SP, _NOTHING)
            return [(_SP, frozenset(n + imm_signed(src[1]) for n in held))]
        if inst.op is COMBINE_BITS and inst.dst == [SP] and src[:2] == [SP, imm(-self.after.frame_align)]:
            # The bytes that aligning the frame skips count nowhere; only the value at entry leads back.
            return []
        return None

    def _memory(self, inst: Inst, st: State) -> list[tuple[int, frozenset[int]]] | None:
        width = next((_MEMORY[m] for m in inst.op.mods if m in _MEMORY), 1)
        if not is_imm(inst.src[3]):
            return None
        if self.after.moves_stack and inst.src[1] == r(self.after.spill_base):
            sp = frozenset((-self.after.frame_size,))
        elif inst.src[1] == SP:
            sp = st.get(_SP, _NOTHING)
        else:
            return None
        if len(sp) != 1:
            self._fault("stack access while the place of the stack pointer is uncertain")
            return []
        offset = imm_signed(inst.src[3])
        if offset < self.after.frame_fixed or offset + 4 * width > self.after.frame_size or offset % (4 * width):
            self._fault("spill slot outside the spill area, or not aligned")
        slot = _SLOT + offset + next(iter(sp))
        reg = _place(inst.dst[0] if inst.op in LOCAL_LOADS else inst.src[4])
        if inst.op in LOCAL_LOADS and inst.dst[0] == SP:
            back = self._initial(_place(SP)) in st.get(slot, _NOTHING)
            return [(_SP, frozenset((0,)) if back else _NOTHING)]
        if inst.op in LOCAL_LOADS:
            return [(reg + k, st.get(slot + 4 * k, _NOTHING)) for k in range(width)]
        return [(slot + 4 * k, st.get(reg + k, _NOTHING)) for k in range(width)]

    def _shared(self, inst: Inst, st: State) -> list[tuple[int, frozenset[int]]] | None:
        """As for local memory, of a spilled word in shared memory; None for an access of the program."""
        spills = self.after.shared_spills
        if spills is None or inst.src[1] != r(self.after.spill_base):
            return None
        offset = imm_signed(inst.src[3]) - self.after.target.number("system_shared") - spills.start
        if not 0 <= offset < min(self.after.shared_end - spills.start, spills.room) or offset % (4 * spills.threads):
            self._fault("spilled word outside of its rows in shared memory")
        slot = _ROW + offset
        if inst.op is LOAD_SHARED:
            return [(_place(inst.dst[0]), st.get(slot, _NOTHING))]
        return [(slot, st.get(_place(inst.src[4]), _NOTHING))]


def _is_changing(o: Opnd) -> bool:
    """True for a register that can hold any value."""
    return kind_of(o) in _REG_KINDS and reg_id(o) != _TOP[kind_of(o)] and o != SP


def _is_zero(o: Opnd) -> bool:
    return o == ZERO or is_zero_reg(o)


def _place(o: Opnd) -> int:
    return kind_of(o) << 8 | reg_id(o)


def _reg(kind: int, number: int) -> str:
    return {K_R: "R", K_UR: "UR", K_P: "P", K_UP: "UP", K_B: "B"}[kind] + str(number)


def _forget(st: State, words: list[int]) -> None:
    """Remove values that are redefined from all places."""
    gone = frozenset([*words, *[w ^ 1 for w in words]])
    for place, held in [x for x in st.items() if not gone.isdisjoint(x[1])]:
        if place != _SP:
            st[place] = held - gone


def _meet(known: State, more: State) -> bool:
    """Reduce `known` to the values that `more` has too; True if that changed it.

    A value that is undefined on one side may have any value of the other side.
    """
    changed = False
    here = known.get(_UNDEF, _NOTHING)
    there = more.get(_UNDEF, _NOTHING)
    for place in [*known, *(p for p in more if p not in known)] if here else list(known):
        held = known.get(place, _NOTHING)
        others = more.get(place, _NOTHING)
        both = held & others
        if place < _SP:
            both |= (held & there) | (others & here)
        if both != held:
            changed = True
            if both or place == _SP:
                known[place] = both
            else:
                del known[place]
    return changed
