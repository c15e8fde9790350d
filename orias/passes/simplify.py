"""GeneralOptimize: copy and constant propagation with the local rewrites, in one walk over SSA.

The walk substitutes known values into sources, then offers the instruction to the rule of its operation
(:data:`RULES`, filled by the ``rules_*`` modules).  A rule rewrites the instruction in place, or turns it into a
``copy`` whose value then replaces the result everywhere.  Rules only look at definitions, so dominance is free.
"""

from collections.abc import Callable
from typing import Final, TypeAlias, final

from orias.isa.op import F_TENSOR, F_TERM, SIGNS_FLOAT, SIGNS_HALF, SIGNS_INTEGER, Op, op
from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    FIRST_VREG,
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
    NEG,
    NOT_PT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    S_H0_H0,
    S_H1_H1,
    S_NONE,
    Opnd,
    has_flags,
    has_lane,
    has_modifiers,
    has_suffix,
    imm,
    imm64,
    imm_value,
    in_file,
    is_imm,
    is_physical,
    is_reg,
    is_vreg,
    kind_of,
    lane_of,
    lane_range,
    lane_words,
    modifiers_of,
    pair_lane,
    quad_lane,
    reg_id,
    suffix_of,
    vreg,
    with_lane,
    without_flags,
    without_lane,
    word_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, OP_UNDEF, Func, Inst
from orias.passes.def_use import Values

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
        if o < FIRST_VREG or o & KIND_MASK > K_B:
            return None
        d = self.values.defs[o >> PAYLOAD_SHIFT]
        return d if d is not None and d.guard == PT else None

    def absorbable(self, o: Opnd) -> Inst | None:
        """As :meth:`definition`, if `o` is the only use, so that taking the definition into the user saves it."""
        if o < FIRST_VREG or o & LANE_MASK or o & KIND_MASK > K_B or self.values.uses[o >> PAYLOAD_SHIFT] != 1:
            return None
        d = self.values.defs[o >> PAYLOAD_SHIFT]
        return d if d is not None and d.guard == PT and portable(d) else None

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


Rule: TypeAlias = "Callable[[Cx, Inst], None]"
RULES: Final[dict[str, Rule]] = {}
"""Operation base -> rule."""
FOLDERS: Final[dict[str, Callable[[Cx, Inst], bool]]] = {}
"""Operation base -> what folds constants, tried first; True if it did."""


def portable(inst: Inst) -> bool:
    """True if the sources mean the same anywhere below: no physical register but the constant ones."""
    for s in inst.src:
        if s < FIRST_VREG:
            if is_physical(s):
                return False
    return True


def simplify(fn: Func, rounds: int = 4) -> bool:
    """Run the rewrites until nothing changes, at most `rounds` times; True if anything changed."""
    any_change = False
    for _ in range(rounds):
        if not _round(Cx(fn)):
            break
        any_change = True
    return any_change


def simplified(fn: Func, rounds: int = 4) -> Values | None:
    """As :func:`simplify`; returns the values of the function as it is then, if they are known."""
    for _ in range(rounds):
        cx = Cx(fn)
        if not _round(cx):
            return cx.values
    return None


def _round(cx: Cx) -> bool:
    """One walk; True if anything changed."""
    fn = cx.fn
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
                cx.repl[vreg(inst.dst[0])] = inst.src[0]
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
    kd = kind_of(value)
    if kd == K_IMM and in_file(d, K_R):
        cx.repl[vreg(d)] = value
    elif kd == kind_of(d) and (is_vreg(value) or value in (RZ, PT, NOT_PT)):
        if reg_id(value) != vreg(d):
            cx.repl[vreg(d)] = value


def _forwardable(cx: Cx, inst: Inst) -> bool:
    """True if the copy's result can be replaced by its source everywhere."""
    d, s = inst.dst[0], inst.src[0]
    if not is_vreg(d):
        return False
    kd = kind_of(s)
    if kd == K_IMM:
        return in_file(d, K_R) and not has_flags(s)
    if kd != kind_of(d):
        return False
    if kd == K_R:
        if has_modifiers(s):
            return False
        return is_vreg(s) or s == RZ
    if kd in (K_P, K_UP):
        return is_vreg(s) or s in (PT, NOT_PT)
    return False


def _substitute(cx: Cx, inst: Inst) -> None:
    src = inst.src
    repl = cx.repl
    wide: list[int] | None = None
    for k, o in enumerate(src):
        if o >= FIRST_VREG and o & KIND_MASK <= K_B:
            if not o & LANE_MASK and o >> PAYLOAD_SHIFT not in repl:
                # Most operands: nothing better is known (the helpers' calls are written out for them).
                continue
            n = resolve(cx, o, inst)
            if n != o:
                _recount(cx, o, n)
                src[k] = n
                if inst.op is OP_PACK and is_imm(n) and part_width(cx.fn, o, inst) == 2:
                    wide = [k] if wide is None else [*wide, k]
    if wide is not None:
        for k in reversed(wide):
            # Later one could not tell how many words this constant stands for.
            v = imm_value(src[k])
            src[k : k + 1] = [imm(v), imm64(v >> 32)]
    g = inst.guard
    if g >= FIRST_VREG:
        n = resolve(cx, g, inst)
        if n != g:
            _recount(cx, g, n)
            inst.guard = n
        if n == NOT_PT and not inst.op.flags & F_TERM:
            _never(cx, inst)
        elif n == PT and inst.old != K_NONE:
            if is_vreg(inst.old):
                cx.values.uses[vreg(inst.old)] -= 1
            inst.old = K_NONE
            cx.changed = True
    if inst.old != K_NONE:
        o = inst.old
        if is_vreg(o):
            n = resolve(cx, o, inst)
            # The register of a load starts with a constant by itself; a shared one would have to be kept and copied.
            constant = is_imm(n) and inst.op.loads() and cx.fn.width(o) == 1
            if n != o and (kind_of(n) == kind_of(o) or constant):
                _recount(cx, o, n)
                inst.old = n
            elif _is_undefined(cx, o):
                # It would hold a register from the start of the function on.
                _recount(cx, o, K_NONE)
                inst.old = K_NONE
                cx.changed = True


def _never(cx: Cx, inst: Inst) -> None:
    """An instruction whose guard is false leaves its result's old value."""
    if inst.op.flags & F_TERM or inst.op.base == "call":
        return
    real = [d for d in inst.dst if is_vreg(d)]
    if len(real) > 1 or (real and real[0] != inst.dst[0]):
        return
    cx.values.count(inst, -1)
    value = inst.old
    inst.guard = PT
    inst.old = K_NONE
    if not real:
        inst.op = OP_UNDEF
        inst.dst = []
        inst.src = []
    elif value == K_NONE:
        inst.op = OP_UNDEF
        inst.src = []
        inst.dst = real
    else:
        inst.op = OP_COPY
        inst.src = [value]
        inst.dst = real
    cx.values.count(inst, 1)
    cx.changed = True


def _is_undefined(cx: Cx, o: Opnd) -> bool:
    """True for a value that nothing has defined; for tools that find errors it is a value as any other."""
    d = cx.values.definition(o)
    if d is None or cx.fn.keep_warp_barriers:
        return False
    if d.op is OP_PACK:
        parts = [cx.values.definition(s) for s in d.src]
        return all(p is not None and p.op is OP_UNDEF for p in parts)
    return d.op is OP_UNDEF


def _recount(cx: Cx, old: Opnd, new: Opnd) -> None:
    uses = cx.values.uses
    uses[vreg(old)] -= 1
    if is_vreg(new):
        uses[vreg(new)] += 1
    cx.changed = True


def resolve(cx: Cx, o: Opnd, inst: Inst) -> Opnd:
    """The best known operand for `o`: through copies, and through packs for lanes."""
    for _ in range(64):
        if o < FIRST_VREG or o & KIND_MASK > K_B:
            return o
        ident = o >> PAYLOAD_SHIFT
        value = cx.repl.get(ident)
        if value is None:
            # Lanes in an operation on tensor memory are of registers that must be neighbours.
            if not has_lane(o) or inst.op.flags & F_TENSOR:
                return o
            d = cx.values.defs[ident]
            if d is None or d.op is not OP_PACK or d.guard != PT:
                return o
            part = _pack_part(cx, d, lane_of(o))
            if part is None or _is_physical(part):
                return o
            n = _with_use(without_lane(o), part, 0, inst)
            if n is None:
                return o
            o = n
            continue
        n = _with_use(o, value, lane_of(o), inst)
        if n is None:
            return o
        o = n
    return o


def _is_physical(o: Opnd) -> bool:
    """True for a register whose value belongs to one place: a physical one other than the constants."""
    return is_reg(o) and not is_vreg(o) and without_flags(o) not in (RZ, PT)


def _pack_part(cx: Cx, pack: Inst, code: int) -> Opnd | None:
    """The operand that supplies lane `code` of a pack, if one part covers it exactly or contains it."""
    first, count = lane_range(code, 0)
    at = 0
    for s in pack.src:
        width = part_width(cx.fn, s, pack)
        if at <= first and first + count <= at + width:
            if width == count:
                return s
            if in_file(s, K_R) and is_vreg(s):
                return _narrow(s, first - at, count)
            if is_imm(s):
                mask = (1 << 32 * count) - 1
                return imm64(imm_value(s) >> 32 * (first - at) & mask)
            return s if s == RZ else None
        at += width
    return None


def part_width(fn: Func, s: Opnd, pack: Inst) -> int:
    """Words that a pack part contributes: its lane's or register's; constants share what registers leave."""
    code = lane_of(s)
    if code:
        return lane_range(code, 0)[1]
    if kind_of(s) in (K_R, K_UR) and is_vreg(s):
        return fn.vwidth[vreg(s)]
    total = fn.vwidth[vreg(pack.dst[0])] if is_vreg(pack.dst[0]) else len(pack.src)
    return total // len(pack.src) or 1


def _narrow(s: Opnd, first: int, count: int) -> Opnd | None:
    """Words first..first+count of the register or lane `s`."""
    code = lane_of(s)
    start = first + (lane_range(code, 0)[0] if code else 0)
    if count == 1:
        new = word_lane(start)
    elif count == 2 and start % 2 == 0:
        new = pair_lane(start // 2)
    elif count == 4 and start % 4 == 0:
        new = quad_lane(start // 4)
    else:
        return None
    return with_lane(s, new)


def _with_use(use: Opnd, value: Opnd, code: int, inst: Inst) -> Opnd | None:
    """`value` with the flags, suffix and lane that `use` puts on the register it replaces; None if not expressible."""
    flags = modifiers_of(use)
    kd = kind_of(value)
    if kd in (K_P, K_UP):
        return value ^ (use & INV)
    if kd == K_IMM:
        v = imm_value(value)
        if code:
            first, count = lane_range(code, 0)
            v = v >> 32 * first & (1 << 32 * count) - 1
        if inst.op.signs == SIGNS_HALF:
            return _halves_with_flags(v, suffix_of(use), flags)
        if has_suffix(use) or (inst.op.base == "phi" and flags):
            return None
        if flags:
            return _imm_with_flags(v, flags, inst)
        return imm64(v)
    if value == RZ:
        if has_suffix(use):
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
    if has_modifiers(value):
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
    return imm64(v)


def _imm_with_flags(v: int, flags: int, inst: Inst) -> Opnd | None:
    base = inst.op.base
    if inst.op.signs == SIGNS_FLOAT:
        if inst.op.has("XORSIGN"):
            # The operation looks at the sign that the absolute value hides.
            return None
        if flags & ABS:
            v &= 0x7FFFFFFF
        if flags & NEG:
            v ^= 0x80000000
        return imm64(v) if not flags & INV else None
    if base[0] == "D":
        if flags & ABS:
            v &= 0x7FFFFFFFFFFFFFFF
        if flags & NEG:
            v ^= 0x8000000000000000
        return imm64(v) if not flags & INV else None
    if base == "iadd64" and flags == NEG:
        if len(inst.src) == 3:
            return imm64(~v)
        if v == 0 and len(inst.dst) > 1:
            # x - 0 carries, x + 0 does not.
            return RZ | NEG
        return imm64(-v)
    if inst.op.signs == SIGNS_INTEGER and not flags & ABS and not inst.op.has("X"):
        if flags & NEG and v & _MASK32 == 0 and len(inst.dst) > 1:
            # x - 0 carries, x + 0 does not.
            return RZ | NEG
        if flags & INV:
            v = ~v
        if flags & NEG:
            v = -v
        return imm(v)
    if inst.op.has("X") and flags == INV:
        return imm(~v)
    return None


def _split_constants(cx: Cx, inst: Inst) -> list[Opnd]:
    """Constants that stand for a pair of words become two words; returns the sources."""
    src = inst.src
    loose = [s for s in src if is_imm(s) or s == RZ]
    if not loose:
        return src
    fixed = sum(part_width(cx.fn, s, inst) for s in src if s not in loose)
    if cx.fn.width(inst.dst[0]) - fixed != 2 * len(loose):
        return src
    words: list[Opnd] = []
    for s in src:
        if s == RZ:
            words += [RZ, RZ]
        elif is_imm(s):
            v = imm_value(s)
            words += [imm(v), imm64(v >> 32)]
        else:
            words.append(s)
    cx.rewrite(inst, inst.op, words)
    return words


def pack(cx: Cx, inst: Inst) -> None:
    """A pack of all lanes of one register, in order, is that register; a pack of constants is a constant."""
    src = _split_constants(cx, inst)
    if inst.guard != PT:
        return
    if all(is_imm(s) or s == RZ for s in src) and len(src) == 2:
        low, high = (0 if s == RZ else imm_value(s) for s in src)
        if cx.fn.width(inst.dst[0]) == 2:
            cx.to_copy(inst, imm64(high << 32 | low))
        return
    first = src[0]
    ident = vreg(first)
    if not in_file(first, K_R) or ident < FIRST_VIRTUAL or not has_lane(first):
        return
    at = 0
    for s in src:
        if vreg(s) != ident or has_modifiers(s) or not has_lane(s):
            return
        start, count = lane_words(s, 0)
        if start != at:
            return
        at += count
    if at == cx.fn.vwidth[ident] == cx.fn.width(inst.dst[0]):
        cx.to_copy(inst, without_lane(first))


def _substitute_phis(cx: Cx) -> None:
    """Back-edge operands of phis, and any use that stands before its definition in block order."""
    uses = cx.values.uses
    left = {v for v in cx.repl if uses[v] > 0}
    for block in cx.fn.blocks:
        for inst in block.insts:
            for o in inst.src:
                if o & LANE_MASK or o >> PAYLOAD_SHIFT in left:
                    _substitute(cx, inst)
                    break
            else:
                if inst.guard >> PAYLOAD_SHIFT in left or inst.old >> PAYLOAD_SHIFT in left:
                    _substitute(cx, inst)
