"""Selects the form of an instruction and compiles it to a list of field moves, once per signature.

The *signature* of an instruction is its operation, the name of each word operand, and for every other operand the kind,
flags, suffix and whether it is the hardwired register (RZ, PT) or zero.  Other register numbers and immediate values
are not part of it: one plan serves virtual and physical registers alike.
"""

from typing import Final, TypeAlias, final

from orias.isa.notation import H_CONST, H_FIELD, H_FLOAT, H_SET, H_SUM, H_WORD, Piece
from orias.isa.op import Op
from orias.isa.operand import (
    ABS,
    FLAG_MASK,
    INV,
    K_CONST,
    K_IMM,
    K_LABEL,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    K_WORD,
    KIND_MASK,
    LANE_SHIFT,
    NEG,
    PAYLOAD_SHIFT,
    S_NONE,
    SUFFIX_SHIFT,
    SUFFIX_TEXT,
    Opnd,
    word_text,
)
from orias.isa.rawtable import Form, RawTable
from orias.isa.slots import W_ABSENT, W_F64, W_INDEX, W_LABEL, Slot, name_pieces, slot_counts, slots_of

# Move.kind
M_REG: Final = 0
"""Register number: payload & mask at lo."""
M_REG_INV: Final = 1
"""Predicate stored inverted: (7 - payload) at lo."""
M_UNSIGNED: Final = 2
M_SIGNED: Final = 3
M_CONST: Final = 4
M_F64: Final = 5
M_SUM: Final = 6
M_BANK_ONLY: Final = 7
M_EQUAL: Final = 8
"""The immediate must have one value."""

M_SPLIT: Final = 9
"""Unsigned immediate in several fields."""

M_REG_SUM: Final = 10
"""Register number in several fields, or with a constant added."""

_REUSE_BIT: Final = 122

ZERO_BIT: Final = 1 << 11
_SIG_BITS: Final = ZERO_BIT - 1


@final
class Move:
    """Stores part of one operand in the word."""

    __slots__ = ("const", "index", "kind", "limit", "lo", "mask", "offset", "parts", "scale_bits", "width")

    def __init__(self, kind: int, index: int, lo: int, width: int) -> None:
        self.kind: Final[int] = kind
        self.index: Final[int] = index
        """Position in dst + src."""
        self.lo: Final[int] = lo
        self.width: Final[int] = width
        self.mask: Final[int] = (1 << width) - 1
        self.scale_bits: int = 0
        self.parts: list[tuple[int, int, int]] = []
        """For a distance: (low bit, width, weight) of each part; ``const`` is added, the absolute value is below ``limit``."""
        self.const: int = 0
        """M_EQUAL: the one value."""
        self.limit: int = 0
        self.offset: tuple[int, int, int] | None = None
        """Of an operand in a constant bank: low bit, width and scale of the offset's field."""


PlanParts: TypeAlias = """tuple[
    int, list[tuple[int, int, int]], list[tuple[int, int, int]], bool, int, int, list[int],
    list[tuple[int, int, int, int, int, list[tuple[int, int, int]], int, int, tuple[int, int, int] | None]],
]"""
"""A plan in plain types, for :mod:`orias.kept`: its attributes, the moves last."""


@final
class Plan:
    """How to build the word of one signature."""

    __slots__ = ("bars", "base", "follows", "guard_up", "others", "regs", "reuse", "reuse_fields")

    def __init__(self, base: int) -> None:
        self.base: int = base
        self.regs: list[tuple[int, int, int]] = []
        """(index, mask, low bit) of plain register moves."""
        self.others: list[Move] = []
        self.follows: list[tuple[int, int, int]] = []
        """(index, other index, difference) of registers that share one field, as in ``tmem[UR8], idesc[UR9]``."""
        self.guard_up: bool = False
        self.bars: int = 0
        self.reuse: int = 0
        """``guard_up``, ``bars`` and ``reuse`` are those of the form."""
        self.reuse_fields: list[int] = []
        """For each source the number (0 to 2) of the reuse flag of its register field, or -1."""

    def parts(self) -> PlanParts:
        """The plan in plain types."""
        moves = [
            (m.kind, m.index, m.lo, m.width, m.scale_bits, m.parts, m.const, m.limit, m.offset) for m in self.others
        ]
        return self.base, self.regs, self.follows, self.guard_up, self.bars, self.reuse, self.reuse_fields, moves


def plan_of(parts: PlanParts) -> Plan:
    """The plan with these parts."""
    plan = Plan(parts[0])
    plan.regs = parts[1]
    plan.follows = parts[2]
    plan.guard_up = parts[3]
    plan.bars = parts[4]
    plan.reuse = parts[5]
    plan.reuse_fields = parts[6]
    for kind, index, lo, width, scale_bits, fields, const, limit, offset in parts[7]:
        m = Move(kind, index, lo, width)
        m.scale_bits = scale_bits
        m.parts = fields
        m.const = const
        m.limit = limit
        m.offset = offset
        plan.others.append(m)
    return plan


def plan_key(op: Op, dst: list[Opnd], src: list[Opnd]) -> str:
    """The signature of an instruction as a text, the same in all processes."""
    out = f"{op.name} {len(dst)}"
    for o in dst + src:
        out += f" {word_text(o)}" if o & KIND_MASK == K_WORD else f" {signature(o)}"
    return out


def signature(o: Opnd) -> int:
    """The part of an operand that determines the form."""
    k = o & KIND_MASK
    s = o & _SIG_BITS
    p = o >> PAYLOAD_SHIFT
    if k == K_IMM:
        return s | ZERO_BIT if p == 0 else s
    if k == K_WORD:
        return s | p << 12
    if k == K_CONST:
        return s | ZERO_BIT if p < 32 and not o >> LANE_SHIFT & 255 else s
    if k <= 2:
        return s | ZERO_BIT if p == 255 else s
    if k <= K_UP:
        return s | ZERO_BIT if p == 7 else s
    return s


def flags_of_text(text: str) -> int:
    """Operand flags written before an operand: ``-|`` is NEG and ABS."""
    f = 0
    for c in text:
        if c == "-":
            f |= NEG
        elif c == "|":
            f |= ABS
        elif c in "~!":
            f |= INV
    return f


_SUFFIX_CODES: Final[dict[str, int]] = {t: i for i, t in enumerate(SUFFIX_TEXT)}


def suffix_of_text(text: str) -> int:
    """Suffix code of the text after an operand; S_NONE for texts without a code (``.64``, ``.reuse``, ``.COL``)."""
    return _SUFFIX_CODES.get(text.replace("|", ""), S_NONE)


@final
class _Search:
    """Depth-first search for values of modifier pieces; `mask` and `val` are the bits of the word fixed so far."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form: Final[Form] = form

    def choices(self, p: Piece, mask: int, val: int) -> list[tuple[str, int, int]]:
        """(text, mask, val) for each value of the piece that agrees with the fixed bits, preferred values first."""
        if not p.bits:
            return [(p.text, mask, val)]
        out: list[tuple[str, int, int]] = []
        new_mask = mask | p.mask
        wanted = self.form.prefer & p.mask
        known = mask & p.mask
        for text, w in p.placed():
            if (w ^ val) & known:
                continue
            item = (text, new_mask, val | w)
            if w == wanted:
                out.insert(0, item)
            else:
                out.append(item)
        return out

    def flags(self, pieces: list[Piece], i: int, want: int, got: int, mask: int, val: int) -> list[tuple[int, int]]:
        """Solutions for the pieces before an operand."""
        if i == len(pieces):
            return [(mask, val)] if got == want else []
        out: list[tuple[int, int]] = []
        for text, m, v in self.choices(pieces[i], mask, val):
            f = flags_of_text(text)
            if f & ~want or "?" in text or "INVALID" in text:
                continue
            out.extend(self.flags(pieces, i + 1, want, got | f, m, v))
        return out

    def suffixes(self, pieces: list[Piece], i: int, want: int, text: str, mask: int, val: int) -> list[tuple[int, int]]:
        """Solutions for the pieces after an operand."""
        if i == len(pieces):
            return [(mask, val)] if suffix_of_text(text) == want else []
        out: list[tuple[int, int]] = []
        for t, m, v in self.choices(pieces[i], mask, val):
            if "?" in t or "INVALID" in t:
                continue
            out.extend(self.suffixes(pieces, i + 1, want, text + t, m, v))
        return out

    def words(self, pieces: list[Piece], i: int, rest: str, mask: int, val: int) -> list[tuple[int, int]]:
        """Solutions for a word operand with exactly this text."""
        if i == len(pieces):
            return [(mask, val)] if not rest else []
        out: list[tuple[int, int]] = []
        for t, m, v in self.choices(pieces[i], mask, val):
            if rest.startswith(t):
                out.extend(self.words(pieces, i + 1, rest[len(t) :], m, v))
        return out

    def mods(self, pieces: list[Piece], i: int, rest: str, mask: int, val: int) -> list[tuple[int, int]]:
        """Solutions for the modifiers; `rest` is the part of the text ``.A.B`` that is not matched yet."""
        if i == len(pieces):
            return [(mask, val)] if not rest else []
        out: list[tuple[int, int]] = []
        for t, m, v in self.choices(pieces[i], mask, val):
            t = t.removeprefix(".")
            if t == "":
                out.extend(self.mods(pieces, i + 1, rest, m, v))
            elif rest.startswith(t, 1) and (len(rest) == len(t) + 1 or rest[len(t) + 1] == "."):
                out.extend(self.mods(pieces, i + 1, rest[len(t) + 1 :], m, v))
        return out


def _kind_fits(s: Slot, sig: int) -> bool:
    kind = sig & KIND_MASK
    zero = bool(sig & ZERO_BIT)
    if s.what == W_ABSENT:
        if s.absent_kind == 0:
            return kind == 0
        return sig == s.absent_kind | ZERO_BIT
    if s.what == W_INDEX:
        return sig & ~ZERO_BIT in (1, 2) and zero
    if s.what == W_LABEL:
        return kind in (K_IMM, K_LABEL, K_SYM) and not sig & FLAG_MASK
    if s.elem is not None and s.elem.how == H_CONST and s.kind in (K_R, K_UR) and zero != (s.elem.const == 255):
        return False
    if s.kind == K_IMM:
        if sig & FLAG_MASK:
            return False
        return kind == K_IMM or (kind == K_SYM and s.width in (14, 32) and s.what != W_F64)
    if kind == s.kind:
        return kind != K_CONST or s.offset is not None or zero
    return zero and kind in (K_P, K_UP) and s.kind in (K_P, K_UP)


def _solve(form: Form, slots: list[Slot], sigs: list[int], mods: str) -> int | None:
    """The constant part of the word for a signature, or None if the form does not fit."""
    search = _Search(form)
    states = search.mods(form.mods + name_pieces(form, slots), 0, mods, form.mask, form.val)
    if not states:
        return None
    for s, sig in zip(slots, sigs, strict=True):
        e = s.elem
        if e is None or s.what in (W_ABSENT, W_INDEX):
            continue
        if e.how == H_WORD:
            text = word_text(sig >> 12 << PAYLOAD_SHIFT)
            states = [x for m, v in states for x in search.words(e.pieces, 0, text, m, v)]
        flags = sig & FLAG_MASK
        if s.pre:
            states = [x for m, v in states for x in search.flags(s.pre, 0, flags, 0, m, v)]
        elif flags:
            return None
        code = (sig >> SUFFIX_SHIFT) & 15
        if s.suf:
            states = [x for m, v in states for x in search.suffixes(s.suf, 0, code, "", m, v)]
        elif code:
            return None
        if not states:
            return None
    if form.illegal:
        states = [st for st in states if form.executes(st[0], st[1])]
        if not states:
            return None
    best = states[0]
    for st in states:
        for m, v in form.nots:
            if m & ~st[0] == 0 and st[1] & m == v:
                break
        else:
            best = st
            break
    hidden = form.default_by_mods.get(mods[1:], form.default)
    return best[1] | hidden & form.hidden & ~best[0]


def _add_moves(plan: Plan, index: int, s: Slot) -> None:
    e = s.elem
    if e is None or e.how == H_WORD:
        return
    if s.what == W_LABEL:
        mv = Move(M_SUM, index, 0, 64)
        mv.parts = e.parts if e.how == H_SUM else [(e.lo, e.width, e.scale)]
        mv.const = e.const
        bits = sum(width for _, width, _ in mv.parts)
        mv.scale_bits = min(abs(weight) for _, _, weight in mv.parts).bit_length() - 1
        mv.limit = 1 << (bits + mv.scale_bits - 1)
        plan.others.append(mv)
        return
    if s.kind == K_CONST:
        mv = Move(M_CONST if s.offset is not None else M_BANK_ONLY, index, e.lo, e.width)
        if s.offset is not None:
            mv.offset = s.offset.lo, s.offset.width, s.offset.scale
        plan.others.append(mv)
        return
    if s.kind == K_IMM:
        if e.how == H_CONST:
            mv = Move(M_EQUAL, index, 0, 32)
            mv.const = e.const
            plan.others.append(mv)
        elif s.what == W_F64:
            plan.others.append(Move(M_F64, index, e.lo, 32))
        elif e.how == H_SUM:
            mv = Move(M_SPLIT, index, 0, s.width)
            mv.parts = e.parts
            mv.const = e.const
            plan.others.append(mv)
        elif e.how in (H_FLOAT, H_SET):
            plan.others.append(Move(M_UNSIGNED, index, e.lo, e.width))
        else:
            signed = e.signed and e.width < 32
            mv = Move(M_SIGNED if signed else M_UNSIGNED, index, e.lo, e.width)
            mv.scale_bits = e.scale.bit_length() - 1
            plan.others.append(mv)
        return
    if e.how == H_CONST:
        mv = Move(M_EQUAL, index, 0, 8)
        mv.const = e.const
        plan.others.append(mv)
    elif e.how == H_FIELD:
        plan.regs.append((index, (1 << e.width) - 1, e.lo))
    elif e.how == H_SUM and e.parts[0][2] < 0:
        lo, width, _ = e.parts[0]
        plan.others.append(Move(M_REG_INV, index, lo, width))
    elif e.how == H_SUM:
        for other, _, lo in plan.regs:
            if e.parts[0][0] == lo:
                plan.follows.append((index, other, e.const))
                return
        mv = Move(M_REG_SUM, index, 0, 8)
        mv.parts = e.parts
        mv.const = e.const
        plan.others.append(mv)


def _trial(plan: Plan, ops: list[Opnd]) -> int:
    """The word with registers and zero immediates only, to test whether another form matches it."""
    w = plan.base
    for index, mask, lo in plan.regs:
        p = ops[index] >> PAYLOAD_SHIFT
        w |= ((p if p < 256 else 0) & mask) << lo
    for mv in plan.others:
        if mv.kind in (M_UNSIGNED, M_SIGNED) and ops[mv.index] >> PAYLOAD_SHIFT:
            w |= 1 << mv.lo
        elif mv.kind == M_CONST and mv.offset is not None and not signature(ops[mv.index]) & ZERO_BIT:
            w |= 1 << mv.offset[0]
        elif mv.kind == M_REG_INV:
            w |= (7 - (ops[mv.index] >> PAYLOAD_SHIFT & 7)) << mv.lo
    return w


def find_plan(raw: RawTable, slots: "SlotCache", op: Op, dst: list[Opnd], src: list[Opnd]) -> Plan | None:
    """The best plan for an instruction, or None if the table has no form for it."""
    sigs = [signature(o) for o in dst] + [signature(o) for o in src]
    ops = dst + src
    mods = op.name[len(op.base) :]
    best: Plan | None = None
    best_form: Form | None = None
    best_rank = (-1, -1, -1, -1, -1)
    for form in raw.of_mnemonic(op.base):
        if form.alias:
            continue
        counts = slot_counts(form)
        if counts != (len(dst), len(src)) and counts[0] >= 0:
            continue
        d, s = slots.of(form)
        if len(d) != len(dst) or len(s) != len(src):
            continue
        both = d + s
        fits = True
        absent = 0
        for slot, sig in zip(both, sigs, strict=True):
            if not _kind_fits(slot, sig):
                fits = False
                break
            absent += slot.what in (W_ABSENT, W_INDEX)
        if not fits:
            continue
        base = _solve(form, both, sigs, mods)
        if base is None:
            continue
        plan = Plan(base)
        for i, slot in enumerate(both):
            _add_moves(plan, i, slot)
        exact = form.matches(_trial(plan, ops))
        rank = (int(exact), absent, int(form.seen > 0), form.seen, _hidden(both))
        if rank > best_rank:
            best, best_form, best_rank = plan, form, rank
    if best is not None and best_form is not None:
        best.guard_up = best_form.guard_up
        best.bars = best_form.bars
        best.reuse = best_form.reuse
        for slot in slots.of(best_form)[1]:
            e = slot.elem
            shown = e is not None and e.kind == "R" and e.reuse >= _REUSE_BIT
            best.reuse_fields.append(e.reuse - _REUSE_BIT if shown and e is not None else -1)
    return best


def _hidden(slots: list[Slot]) -> int:
    """How many registers the text leaves out: as ptxas does on sm_80 to sm_89, a descriptor is not shown if it need not be."""
    n = 0
    for slot in slots:
        if slot.elem is not None and slot.elem.hidden:
            n += 1
    return n


@final
class SlotCache:
    """Caches the slots of each form."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: Final[dict[int, tuple[list[Slot], list[Slot]]]] = {}

    def of(self, form: Form) -> tuple[list[Slot], list[Slot]]:
        """The (dst, src) slots of a form."""
        key = id(form)
        s = self._known.get(key)
        if s is None:
            s = self._known[key] = slots_of(form)
        return s
