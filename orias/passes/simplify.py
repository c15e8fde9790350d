"""GeneralOptimize: copy and constant propagation with the local rewrites, in one walk over SSA.

The walk substitutes known values into sources, then offers the instruction to the rule of its operation
(:data:`RULES`, filled by the ``rules_*`` modules).  A rule rewrites the instruction in place, or turns it into a
``copy`` whose value then replaces the result everywhere.  Rules only look at definitions, so dominance is free.
"""

from collections.abc import Callable
from typing import Final, final

from orias.isa.op import F_TERM, Op, op
from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    FLAG_MASK,
    INV,
    K_B,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    LANE_MASK,
    LANE_SHIFT,
    NEG,
    NOT_PT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    S_H0_H0,
    S_H1_H1,
    S_NONE,
    SUFFIX_MASK,
    Opnd,
    lane_range,
    suffix,
)
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Func, Inst
from orias.passes.values import Values

_MASK32: Final = 0xFFFFFFFF


@final
class Cx:
    """What a rule can see and do."""

    __slots__ = ("changed", "fn", "out", "repl", "values")

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.values: Values = Values(fn)
        self.repl: dict[int, Opnd] = {}
        self.out: list[Inst] = []
        self.changed: bool = False

    def definition(self, o: Opnd) -> Inst | None:
        """The unguarded instruction that defines the whole register `o` names, if it may be looked into.

        Physical sources (arguments, call results) make an instruction opaque: their value belongs to one place.
        """
        d = self.values.definition(o)
        if d is None or d.guard != PT:
            return None
        return d

    def absorbable(self, o: Opnd) -> Inst | None:
        """As :meth:`definition`, if `o` is the only use, so that taking the definition into the user saves it."""
        if o & LANE_MASK:
            return None
        d = self.definition(o)
        if d is None or self.values.uses[o >> PAYLOAD_SHIFT] != 1:
            return None
        return d if portable(d) else None

    def rewrite(self, inst: Inst, op_: Op, src: list[Opnd]) -> None:
        """Replace operation and sources of an instruction."""
        self.values.count(inst, -1)
        inst.op = op_
        inst.src = src
        self.values.count(inst, 1)
        self.changed = True

    def to_copy(self, inst: Inst, value: Opnd) -> None:
        """The instruction's first result is `value`; other results must be unused."""
        self.values.count(inst, -1)
        inst.op = OP_COPY
        inst.src = [value]
        del inst.dst[1:]
        self.values.count(inst, 1)
        self.changed = True

    def insert(self, name: str, dst: list[Opnd], src: list[Opnd], loc: int) -> Inst:
        """Place a new instruction before the current one."""
        inst = self.fn.new_inst(op(name), dst, src, loc=loc)
        self.out.append(inst)
        self.values.define(inst)
        self.changed = True
        return inst


Rule = Callable[[Cx, Inst], None]
RULES: Final[dict[str, Rule]] = {}
"""Operation base -> rule."""
FOLDERS: Final[dict[str, Callable[[Cx, Inst], bool]]] = {}
"""Operation base -> what folds constants, tried first; True if it did."""


def portable(inst: Inst) -> bool:
    """True if the sources mean the same anywhere below: no physical register but the constant ones."""
    for s in inst.src:
        kd = s & KIND_MASK
        if 0 < kd <= K_B and (s >> PAYLOAD_SHIFT) < FIRST_VIRTUAL:
            ident = s >> PAYLOAD_SHIFT
            if not (ident == 255 and kd <= 2) and not (ident == 7 and kd in (K_P, K_UP)):
                return False
    return True


def imm_value(o: Opnd) -> int | None:
    """The 32-bit pattern of an immediate or RZ source, flags applied as integers; None for anything else."""
    kd = o & KIND_MASK
    if kd == K_IMM:
        v = (o >> PAYLOAD_SHIFT) & _MASK32
    elif kd == K_R and o >> PAYLOAD_SHIFT == 255:
        v = 0
    else:
        return None
    if o & (ABS | SUFFIX_MASK):
        return None
    if o & INV:
        v = ~v & _MASK32
    if o & NEG:
        v = -v & _MASK32
    return v


def simplify(fn: Func, rounds: int = 4) -> bool:
    """Run the rewrites until nothing changes, at most `rounds` times; True if anything changed."""
    any_change = False
    for _ in range(rounds):
        if not _round(fn):
            break
        any_change = True
    return any_change


def _round(fn: Func) -> bool:
    cx = Cx(fn)
    for block in fn.blocks:
        insts = block.insts
        cx.out = []
        for inst in insts:
            _substitute(cx, inst)
            base = inst.op.base
            rule = RULES.get(base)
            fold = FOLDERS.get(base)
            if fold is not None and fold(cx, inst):
                pass
            elif rule is not None:
                before = inst.op
                rule(cx, inst)
                if inst.op is not before:
                    again = RULES.get(inst.op.base)
                    if again is not None and again is not rule:
                        again(cx, inst)
            if inst.op is OP_PHI:
                _trivial_phi(cx, inst)
            elif inst.op is OP_COPY and inst.guard == PT and _forwardable(cx, inst):
                # The copy stays: a use that cannot take the value directly still reads it, else it is dead.
                cx.repl[inst.dst[0] >> PAYLOAD_SHIFT] = inst.src[0]
            cx.out.append(inst)
        block.insts = cx.out
    if cx.repl:
        _substitute_phis(cx)
    return cx.changed


def _trivial_phi(cx: Cx, inst: Inst) -> None:
    """A phi of one value (itself aside) is that value; the phi stays until it is dead."""
    d = inst.dst[0]
    value: Opnd = K_NONE
    for s in inst.src:
        if s in (d, value):
            continue
        if value != K_NONE:
            return
        value = s
    kd = value & KIND_MASK
    if kd == K_IMM and d & KIND_MASK == K_R:
        cx.repl[d >> PAYLOAD_SHIFT] = value
    elif kd == d & KIND_MASK and (value >> PAYLOAD_SHIFT >= FIRST_VIRTUAL or value in (RZ, PT, NOT_PT)):
        if value >> PAYLOAD_SHIFT != d >> PAYLOAD_SHIFT:
            cx.repl[d >> PAYLOAD_SHIFT] = value


def _forwardable(cx: Cx, inst: Inst) -> bool:
    """True if the copy's result can be replaced by its source everywhere."""
    d, s = inst.dst[0], inst.src[0]
    if (d >> PAYLOAD_SHIFT) < FIRST_VIRTUAL:
        return False
    kd = s & KIND_MASK
    if kd == K_IMM:
        return d & KIND_MASK == K_R and not s & FLAG_MASK
    if kd != d & KIND_MASK:
        return False
    if kd == K_R:
        if s & (FLAG_MASK | SUFFIX_MASK):
            return False
        return s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL or s == RZ
    if kd in (K_P, K_UP):
        return s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL or s in (PT, NOT_PT)
    return False


def _substitute(cx: Cx, inst: Inst) -> None:
    src = inst.src
    repl = cx.repl
    for k in range(len(src)):
        o = src[k]
        kd = o & KIND_MASK
        if 0 < kd <= K_B and o >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
            if not o & LANE_MASK and o >> PAYLOAD_SHIFT not in repl:
                # Most operands: nothing better is known.
                continue
            n = resolve(cx, o, inst)
            if n != o:
                _recount(cx, o, n)
                src[k] = n
    g = inst.guard
    if g >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
        n = resolve(cx, g, inst)
        if n != g:
            _recount(cx, g, n)
            inst.guard = n
        if n == NOT_PT and not inst.op.flags & F_TERM:
            _never(cx, inst)
        elif n == PT and inst.old != K_NONE:
            if inst.old >> PAYLOAD_SHIFT >= FIRST_VIRTUAL and 0 < (inst.old & KIND_MASK) <= K_B:
                cx.values.uses[inst.old >> PAYLOAD_SHIFT] -= 1
            inst.old = K_NONE
            cx.changed = True
    if inst.old != K_NONE:
        o = inst.old
        if 0 < (o & KIND_MASK) <= K_B and o >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
            n = resolve(cx, o, inst)
            if n != o and (n & KIND_MASK) == (o & KIND_MASK):
                _recount(cx, o, n)
                inst.old = n


def _never(cx: Cx, inst: Inst) -> None:
    """An instruction whose guard is false leaves its result's old value."""
    if inst.op.flags & F_TERM or inst.op.base == "call":
        return
    real = [d for d in inst.dst if d >> PAYLOAD_SHIFT >= FIRST_VIRTUAL]
    if len(real) > 1 or (real and real[0] != inst.dst[0]):
        return
    cx.values.count(inst, -1)
    value = inst.old
    inst.guard = PT
    inst.old = K_NONE
    if not real:
        inst.op = op("undef")
        inst.dst = []
        inst.src = []
    elif value == K_NONE:
        inst.op = op("undef")
        inst.src = []
        inst.dst = real
    else:
        inst.op = OP_COPY
        inst.src = [value]
        inst.dst = real
    cx.values.count(inst, 1)
    cx.changed = True


def _recount(cx: Cx, old: Opnd, new: Opnd) -> None:
    uses = cx.values.uses
    uses[old >> PAYLOAD_SHIFT] -= 1
    if 0 < (new & KIND_MASK) <= K_B and new >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
        uses[new >> PAYLOAD_SHIFT] += 1
    cx.changed = True


_FLOAT_BASES: Final = frozenset(
    ("FADD", "FMUL", "FFMA", "FMNMX", "FSETP", "FSET", "FSEL", "MUFU", "F2I", "F2F", "FRND", "FCHK", "F2FP", "FSWZADD")
)
_HALF_BASES: Final = frozenset(("HADD2", "HMUL2", "HFMA2", "HSETP2", "HSET2"))
"""Operations on pairs of halves; HMNMX2 is not one, for it may need the sign under an absolute value."""
_INT_NEG_BASES: Final = frozenset(("IADD3", "IMAD", "ISETP", "LOP3", "IMNMX", "VIMNMX", "SHF", "LEA", "PRMT", "SEL"))


def resolve(cx: Cx, o: Opnd, inst: Inst) -> Opnd:
    """The best known operand for `o`: through copies, and through packs for lanes."""
    for _ in range(64):
        ident = o >> PAYLOAD_SHIFT
        if ident < FIRST_VIRTUAL or not 0 < (o & KIND_MASK) <= K_B:
            return o
        value = cx.repl.get(ident)
        if value is None:
            if not o & LANE_MASK:
                return o
            d = cx.values.defs[ident]
            if d is None or d.op is not OP_PACK or d.guard != PT:
                return o
            part = _pack_part(cx, d, (o >> LANE_SHIFT) & 15)
            if part is None or _is_physical(part):
                return o
            n = _with_use(o & ~LANE_MASK, part, 0, inst)
            if n is None:
                return o
            o = n
            continue
        n = _with_use(o, value, (o >> LANE_SHIFT) & 15, inst)
        if n is None:
            return o
        o = n
    return o


def _is_physical(o: Opnd) -> bool:
    """True for a register whose value belongs to one place: a physical one other than the constants."""
    return 0 < (o & KIND_MASK) <= K_B and o >> PAYLOAD_SHIFT < FIRST_VIRTUAL and o & ~FLAG_MASK not in (RZ, PT)


def _pack_part(cx: Cx, pack: Inst, code: int) -> Opnd | None:
    """The operand that supplies lane `code` of a pack, if one part covers it exactly or contains it."""
    first, count = lane_range(code, 0)
    at = 0
    for s in pack.src:
        width = part_width(cx.fn, s, pack)
        if at <= first and first + count <= at + width:
            if width == count:
                return s
            if s & KIND_MASK == K_R and s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                return _narrow(s, first - at, count)
            if s & KIND_MASK == K_IMM:
                mask = (1 << 32 * count) - 1
                return K_IMM | ((s >> PAYLOAD_SHIFT) >> 32 * (first - at) & mask) << PAYLOAD_SHIFT
            return s if s == RZ else None
        at += width
    return None


def part_width(fn: Func, s: Opnd, pack: Inst) -> int:
    """Words that a pack part contributes: its lane's or register's; constants share what registers leave."""
    code = (s >> LANE_SHIFT) & 15
    if code:
        return lane_range(code, 0)[1]
    if s & KIND_MASK in (K_R, K_UR) and s >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
        return fn.vwidth[s >> PAYLOAD_SHIFT]
    total = fn.vwidth[pack.dst[0] >> PAYLOAD_SHIFT] if pack.dst[0] >> PAYLOAD_SHIFT >= FIRST_VIRTUAL else len(pack.src)
    return total // len(pack.src) or 1


def _narrow(s: Opnd, first: int, count: int) -> Opnd | None:
    """Words first..first+count of the register or lane `s`."""
    code = (s >> LANE_SHIFT) & 15
    start = first + (lane_range(code, 0)[0] if code else 0)
    if count == 1:
        new = start + 1
    elif count == 2 and start % 2 == 0:
        new = 9 + start // 2
    elif count == 4 and start % 4 == 0:
        new = 13 + start // 4
    else:
        return None
    return (s & ~LANE_MASK) | new << LANE_SHIFT


def _with_use(use: Opnd, value: Opnd, code: int, inst: Inst) -> Opnd | None:
    """`value` with the flags, suffix and lane that `use` puts on the register it replaces; None if not expressible."""
    flags = use & (FLAG_MASK | SUFFIX_MASK)
    kd = value & KIND_MASK
    if kd in (K_P, K_UP):
        return value ^ (use & INV)
    if kd == K_IMM:
        v = value >> PAYLOAD_SHIFT
        if code:
            first, count = lane_range(code, 0)
            v = v >> 32 * first & (1 << 32 * count) - 1
        if inst.op.base in _HALF_BASES:
            return _halves_with_flags(v, suffix(use), flags)
        if flags & SUFFIX_MASK or (inst.op.base == "phi" and flags):
            return None
        if flags:
            return _imm_with_flags(v, flags, inst)
        return K_IMM | v << PAYLOAD_SHIFT
    if value == RZ:
        if flags & SUFFIX_MASK:
            return None
        return RZ | flags
    if kd == K_CONST:
        return None
    if code:
        first, count = lane_range(code, 0)
        n = _narrow(value, first, count)
        if n is None:
            return None
        value = n
    if value & (FLAG_MASK | SUFFIX_MASK):
        return None
    return value | flags


def _halves_with_flags(v: int, half: int, flags: int) -> Opnd | None:
    """An immediate pair of halves: the selected half twice, with its signs."""
    if half == S_H0_H0:
        v = (v & 0xFFFF) * 0x10001
    elif half == S_H1_H1:
        v = (v >> 16) * 0x10001
    elif half != S_NONE:
        return None
    if flags & INV:
        return None
    if flags & ABS:
        v &= 0x7FFF7FFF
    if flags & NEG:
        v ^= 0x80008000
    return K_IMM | v << PAYLOAD_SHIFT


def _imm_with_flags(v: int, flags: int, inst: Inst) -> Opnd | None:
    base = inst.op.base
    if base in _FLOAT_BASES:
        if inst.op.has("XORSIGN"):
            # The operation looks at the sign that the absolute value hides.
            return None
        if flags & ABS:
            v &= 0x7FFFFFFF
        if flags & NEG:
            v ^= 0x80000000
        return K_IMM | v << PAYLOAD_SHIFT if not flags & INV else None
    if base[0] == "D":
        if flags & ABS:
            v &= 0x7FFFFFFFFFFFFFFF
        if flags & NEG:
            v ^= 0x8000000000000000
        return K_IMM | v << PAYLOAD_SHIFT if not flags & INV else None
    if base == "iadd64" and flags == NEG:
        if len(inst.src) == 3:
            return K_IMM | (~v & 0xFFFFFFFFFFFFFFFF) << PAYLOAD_SHIFT
        if v == 0 and len(inst.dst) > 1:
            # x - 0 carries, x + 0 does not.
            return RZ | NEG
        return K_IMM | (-v & 0xFFFFFFFFFFFFFFFF) << PAYLOAD_SHIFT
    if base in _INT_NEG_BASES and not flags & ABS and not inst.op.has("X"):
        if flags & NEG and v & _MASK32 == 0 and len(inst.dst) > 1:
            # x - 0 carries, x + 0 does not.
            return RZ | NEG
        if flags & INV:
            v = ~v
        if flags & NEG:
            v = -v
        return K_IMM | (v & _MASK32) << PAYLOAD_SHIFT
    if inst.op.has("X") and flags == INV:
        return K_IMM | (~v & _MASK32) << PAYLOAD_SHIFT
    return None


def _split_constants(cx: Cx, inst: Inst) -> list[Opnd]:
    """Constants that stand for a pair of words become two words; returns the sources."""
    src = inst.src
    loose = [s for s in src if s & KIND_MASK == K_IMM or s == RZ]
    if not loose:
        return src
    fixed = sum(part_width(cx.fn, s, inst) for s in src if s not in loose)
    if cx.fn.width(inst.dst[0]) - fixed != 2 * len(loose):
        return src
    words: list[Opnd] = []
    for s in src:
        if s == RZ:
            words += [RZ, RZ]
        elif s & KIND_MASK == K_IMM:
            v = s >> PAYLOAD_SHIFT
            words += [K_IMM | (v & _MASK32) << PAYLOAD_SHIFT, K_IMM | (v >> 32) << PAYLOAD_SHIFT]
        else:
            words.append(s)
    cx.rewrite(inst, inst.op, words)
    return words


def _pack(cx: Cx, inst: Inst) -> None:
    """A pack of all lanes of one register, in order, is that register; a pack of constants is a constant."""
    src = _split_constants(cx, inst)
    if inst.guard != PT:
        return
    if all(s & KIND_MASK == K_IMM or s == RZ for s in src) and len(src) == 2:
        low, high = (0 if s == RZ else s >> PAYLOAD_SHIFT for s in src)
        if cx.fn.width(inst.dst[0]) == 2:
            cx.to_copy(inst, K_IMM | (high << 32 | low) << PAYLOAD_SHIFT)
        return
    first = src[0]
    ident = first >> PAYLOAD_SHIFT
    if first & KIND_MASK != K_R or ident < FIRST_VIRTUAL or not first & LANE_MASK:
        return
    at = 0
    for s in src:
        if s >> PAYLOAD_SHIFT != ident or s & (FLAG_MASK | SUFFIX_MASK) or not s & LANE_MASK:
            return
        start, count = lane_range((s >> LANE_SHIFT) & 15, 0)
        if start != at:
            return
        at += count
    if at == cx.fn.vwidth[ident] == cx.fn.width(inst.dst[0]):
        cx.to_copy(inst, first & ~LANE_MASK)


RULES["pack"] = _pack


def _substitute_phis(cx: Cx) -> None:
    """Back-edge operands of phis, and any use that stands before its definition in block order."""
    for block in cx.fn.blocks:
        for inst in block.insts:
            _substitute(cx, inst)
