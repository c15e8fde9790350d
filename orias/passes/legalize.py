"""EnforceArgumentRestrictions: bring every operand into a form that the target's table has.

The table decides (``IsaTable.accepts``); this pass only knows the moves that make an unacceptable instruction
acceptable: zero becomes RZ, commuting sources swap, and what still does not fit goes to a register.  Afterwards no
instruction needs anything that the encoder lacks, descriptors and constant-bank reads included.
"""

from itertools import combinations
from typing import final

from orias.diag import Unsupported
from orias.isa.fetch import value_counts
from orias.isa.gmma_forms import c_count, c_start
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_BRANCH, F_COMMUTES, F_DOUBLE, F_PSEUDO, F_TEXTURE, F_WGMMA, NO_IMMEDIATE, NO_UNIFORM, op
from orias.isa.operand import (
    ABS,
    INV,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    K_WORD,
    NEG,
    NOT_PT,
    PT,
    RZ,
    URZ,
    Opnd,
    bare,
    const,
    has_lane,
    has_modifiers,
    has_suffix,
    imm,
    imm_value,
    in_file,
    is_const,
    is_imm,
    kind_of,
    modifiers_of,
    r,
    ur,
    with_word_lane,
    without_modifiers,
)
from orias.isa.roles import ARRIVAL_STATE, BARRIER_NUMBERS, BARRIER_PAIR, LOAD_CONSTANT, barrier_of
from orias.isa.widths import src_width
from orias.ori.ir import ACQUIRES, OP_COPY, Block, Func, Inst
from orias.passes.offsets import offset_fits
from orias.target import features

_PAIR = 2
"""Registers that a constant of 64 bits fills."""
_FENCE = op("fence")
_BARRIER_THREADS = 0xFFF
"""Mask of a barrier's number of threads."""
_MOVABLE = (K_IMM, K_CONST, K_UR)
_NONE, _REGISTERS, _ALL = range(3)


def _text(inst: Inst) -> str:
    """For messages only: the text form is not needed to compile."""
    from orias.ori.text import inst_text

    return inst_text(inst)


def legalize(fn: Func, uniform: bool = True) -> None:
    """Make every instruction encodable on the function's target; raises Unsupported for what has no form.

    ``uniform``: constants may go to uniform registers.
    """
    _Legalizer(fn, uniform).run()


@final
class _Legalizer:
    __slots__ = (
        "acquires", "constants", "desc", "described", "fn", "has_calls", "in_uniform", "mercury", "moved", "out", "table", "uniform", "wanted",
    )  # fmt: skip

    def __init__(self, fn: Func, uniform: bool) -> None:
        self.fn: Func = fn
        self.constants: bool = fn.target.has(features.CONSTANT_OPERANDS)
        """Operations read constant banks."""
        self.uniform: bool = uniform and not self.constants and not fn.spares_uniform
        self.described: bool = fn.target.has_word("descriptor") and not fn.spares_uniform
        """Accesses to global memory take the driver's descriptor."""
        self.table: IsaTable = load(fn.target.table)
        self.out: list[Inst] = []
        self.moved: dict[tuple[Opnd, bool], Opnd] = {}
        """What this block has in registers already."""
        self.in_uniform: dict[Opnd, Opnd] = {}
        """What it has in uniform registers since the last call."""
        self.wanted: dict[Opnd, Opnd] = {}
        self.desc: Opnd = K_NONE
        self.mercury: bool = fn.target.has(features.MERCURY_LAYOUT)
        self.acquires: bool = False
        """The target states an atomic and the invalidation that follows as one instruction, which a reduction cannot be."""
        self.has_calls: bool = any(fn.changes_uniform(i) for i in fn.insts())

    def run(self) -> None:
        fn = self.fn
        needs_desc = self.described and any(_wants_descriptor(i) for i in fn.insts())
        for b in fn.blocks:
            self.out = []
            self.moved = {}
            self.in_uniform = {}
            if self.has_calls:
                self.desc = K_NONE
            insts = b.insts
            if needs_desc and b is fn.blocks[0] and not self.has_calls:
                self._entry_descriptor(b)
            for k, inst in enumerate(insts):
                if inst.op.flags & F_PSEUDO:
                    self._pseudo(inst)
                else:
                    self.acquires = self.mercury and k + 1 < len(insts) and insts[k + 1].op in ACQUIRES
                    self._real(inst)
                if fn.changes_uniform(inst):
                    self.desc = K_NONE
                    self.in_uniform = {}
            b.insts = self.out

    def _entry_descriptor(self, b: Block) -> None:
        # Kernel entries have no phis at the head, so the first place in the block will do.
        self.desc = self._new_descriptor(b.insts[0].loc if b.insts else 0)

    def _new_descriptor(self, loc: int) -> Opnd:
        d = self.fn.new_vreg(K_UR, 2)
        self.out.append(self.fn.new_inst(OP_COPY, [d], [const(0, self.fn.target.word("descriptor"))], loc=loc))
        return d

    def _pseudo(self, inst: Inst) -> None:
        """Constant reads into R are LDC where ALU operations take no constant operand; fences for passes alone end here."""
        out = self.out
        if inst.op is _FENCE:
            return
        if inst.op.base == BARRIER_PAIR:
            self._barrier_pair(inst)
            return
        if inst.op.base == ARRIVAL_STATE:
            self._addresses(inst)
            if not (in_file(inst.src[-1], K_R) or in_file(inst.src[-1], K_UR) or is_imm(inst.src[-1])):
                inst.src[-1] = self._to_register(inst, inst.src[-1], len(inst.src) - 1, False)
        if inst.op is OP_COPY and is_const(inst.src[0]) and not self.fn.target.has(features.CONSTANT_OPERANDS):
            d = inst.dst[0]
            if in_file(d, K_R):
                inst.op = LOAD_CONSTANT[self.fn.width(d) if not has_lane(d) else 1]
                inst.src = [inst.src[0], RZ]
        out.append(inst)

    def _barrier_pair(self, inst: Inst) -> None:
        """A barrier with a constant number, or a constant number of threads, is one operation; else both are in R registers."""
        src = inst.src
        src[:2] = [imm(0) if o == RZ else o for o in src[:2]]
        if is_imm(src[0]) or is_imm(src[1]):
            # The bits that a barrier takes from a register.
            masks = (BARRIER_NUMBERS, _BARRIER_THREADS)
            src[:2] = [imm(imm_value(o) & mask) if is_imm(o) else o for o, mask in zip(src, masks, strict=False)]
            inst.op = barrier_of(inst.op)
            self._real(inst)
            return
        src[:2] = [o if in_file(o, K_R) else self._to_register(inst, o, k, False) for k, o in enumerate(src[:2])]
        self.out.append(inst)

    def _real(self, inst: Inst) -> None:
        if inst.op.base == "LDC" and kind_of(inst.src[0]) == K_SYM:
            # A word of constant bank 0 whose place the linker knows: emission makes a constant operand of it.
            self.out.append(inst)
            return
        if inst.op.flags & F_BRANCH:
            # Branches take their label at emission and carry implicit operands; any predicate guards them.
            self.out.append(inst)
            return
        if inst.op.flags & F_WGMMA:
            self._metadata(inst)
            self.out.append(inst)
            return
        if inst.op.base == "BAR" and is_imm(inst.src[0]) and imm_value(inst.src[0]) > BARRIER_NUMBERS:
            # A barrier and a number of threads in one word turned out to be constant.
            packed = imm_value(inst.src[0])
            inst.src[:2] = [imm(packed & BARRIER_NUMBERS), imm(packed >> 16 & _BARRIER_THREADS)]
        if inst.op.base == "ATOMG" and inst.dst == [RZ, PT] and not self.acquires:
            self._reduction(inst)
        self._addresses(inst)
        if inst.op.flags & F_TEXTURE:
            self._values(inst)
        if inst.op.base == "I2F" and is_imm(inst.src[0]) and src_width(inst.op, 0, inst.src[0]) == 2:
            # The form's immediate would be the upper word of the integer (orias/sim/core/image.py), not its value.
            inst.src[0] = self._to_register(inst, inst.src[0], 0, False)
        if self.mercury and inst.op.lacking:
            self._mercury(inst)
        table = self.table
        if not table.accepts(inst.op, inst.guard, inst.dst, inst.src):
            self._fix(inst)
        self.out.append(inst)

    def _mercury(self, inst: Inst) -> None:
        """Sources that the Mercury form does not have go to registers: ptxas writes none there either."""
        for k, o in enumerate(inst.src):
            if (inst.op.lacking & NO_IMMEDIATE and is_imm(o)) or (inst.op.lacking & NO_UNIFORM and in_file(o, K_UR)):
                inst.src[k] = self._to_register(inst, o, k, False)

    def _reduction(self, inst: Inst) -> None:
        """An atomic whose result nobody reads is a reduction, where the target has that form."""
        name = self.fn.target.spelling("reduction")
        reduction = op(".".join([name, *inst.op.mods]))
        if self.table.accepts(reduction, PT, [], _encodable_address(inst.src)):
            inst.op = reduction
            inst.dst = []

    def _metadata(self, inst: Inst) -> None:
        """Lowering writes warpgroup operations in legal forms; only sparse metadata may have become an immediate."""
        if not inst.op.has("SP"):
            return
        k = c_start(inst.src) + c_count(inst.dst, inst.src)
        if in_file(inst.src[k], K_UP):
            k += 1
        if not in_file(inst.src[k], K_R):
            inst.src[k] = RZ if inst.src[k] == K_IMM else self._to_register(inst, inst.src[k], k, False)

    def _values(self, inst: Inst) -> None:
        """Values of a fetch that became one constant: an immediate stands for one register only, and RZ for a value that is absent."""
        if any(kind_of(o) == K_WORD for o in inst.src):
            for k, count in enumerate(value_counts(inst.op, inst.src)):
                if count in (1, _PAIR) and (is_imm(inst.src[k]) or inst.src[k] == RZ):
                    d = self.fn.new_vreg(K_R, count)
                    self.out.append(
                        self.fn.new_inst(OP_COPY, [d], [K_IMM if inst.src[k] == RZ else inst.src[k]], loc=inst.loc)
                    )
                    inst.src[k] = d

    def _addresses(self, inst: Inst) -> None:
        for a in inst.op.addr:
            src = inst.src
            offset = src[a + 3]
            if is_imm(offset):
                v = imm_value(offset)
                v = v - (1 << 32) if v >> 31 else v
                if not offset_fits(inst, a, v):
                    self._fold_offset(inst, a, v)
            if src[a] == K_NONE and self.described and _group_wants_descriptor(inst, a):
                if self.desc == K_NONE:
                    self.desc = self._new_descriptor(inst.loc)
                src[a] = self.desc

    def _fold_offset(self, inst: Inst, a: int, value: int) -> None:
        """An offset that does not fit its field is added to the base."""
        base = inst.src[a + 1]
        fn = self.fn
        wide = fn.width(base) == 2 and not has_lane(base)
        if not wide:
            d = fn.new_vreg(K_R)
            self.out.append(fn.new_inst(op("IADD3"), [d], [base, imm(value), RZ], loc=inst.loc))
        else:
            d = fn.new_vreg(K_R, 2)
            low, high, carry = fn.new_vreg(K_R), fn.new_vreg(K_R), fn.new_vreg(K_P)
            self.out.append(
                fn.new_inst(op("IADD3"), [low, carry], [with_word_lane(base, 0), imm(value), RZ], loc=inst.loc)
            )
            top = imm(-1) if value < 0 else RZ
            self.out.append(
                fn.new_inst(op("IADD3.X"), [high], [with_word_lane(base, 1), top, RZ, carry, NOT_PT], loc=inst.loc)
            )
            self.out.append(fn.new_inst(op("pack"), [d], [low, high], loc=inst.loc))
        inst.src[a + 1] = d
        inst.src[a + 3] = imm(0)

    def _ok(self, inst: Inst, src: list[Opnd]) -> bool:
        return self.table.accepts(inst.op, inst.guard, inst.dst, src)

    def _fix(self, inst: Inst) -> None:
        src = inst.src
        # 1. zero is RZ, but for the offsets of addresses
        offsets = [a + 3 for a in inst.op.addr]
        zeroed = [RZ if bare(s) == K_IMM and k not in offsets else s for k, s in enumerate(src)]
        for cand in self._orders(inst, zeroed):
            if self._ok(inst, cand):
                inst.src = cand
                return
        for cand in self._orders(inst, src):
            if self._ok(inst, cand):
                inst.src = cand
                return
        # 2. doubles that no instruction can hold are read from the constant pool
        pooled = self._pooled(inst, zeroed)
        for cand in self._orders(inst, pooled) if pooled != zeroed else ():
            if self._ok(inst, cand):
                inst.src = self._keep_pooled(cand)
                return
        # 3. move as few operands as possible to registers; zeros first, then the operands as written
        for signs in (_NONE, _REGISTERS, _ALL):
            for start in (pooled, src):
                for order in self._orders(inst, start):
                    if self._move_some(inst, order, signs):
                        return
        raise Unsupported(f"no form of '{inst.op.name}' on {self.fn.target.name} for: {_text(inst)}", inst.loc)

    def _orders(self, inst: Inst, src: list[Opnd]) -> list[list[Opnd]]:
        if not inst.op.flags & F_COMMUTES or len(src) < 2:
            return [src]
        swapped = [src[1], src[0], *src[2:]]
        movable = kind_of(src[0]) in _MOVABLE and in_file(src[1], K_R)
        orders = [swapped, src] if movable else [src, swapped]
        if inst.op.base in ("IADD3", "UIADD3"):
            a, b, c = src[:3]
            orders.extend([*order, *src[3:]] for order in ((a, c, b), (c, a, b), (b, c, a)))
        return orders

    def _move_some(self, inst: Inst, src: list[Opnd], signs: int) -> bool:
        """Move as few operands as possible to registers.

        `signs`: whose signs an instruction of its own applies: _NONE, those of registers (_REGISTERS) or those of all that move (_ALL).
        """
        slots = [
            k for k, s in enumerate(src) if kind_of(s) in _MOVABLE or (signs and has_modifiers(s) and in_file(s, K_R))
        ]
        uniform = inst.op.base.startswith("U") and inst.op.base[:2] != "UN"
        for count in range(1, len(slots) + 1):
            for chosen in combinations(slots, count):
                # A placeholder register shows whether moving helps before anything is emitted.
                cand = list(src)
                for k in chosen:
                    cand[k] = _plain_register(src[k], uniform) | (_kept_modifiers(src[k]) if signs != _ALL else 0)
                if not self._ok(inst, cand):
                    continue
                taken = [src[k] & ~(_kept_modifiers(src[k]) if signs != _ALL else 0) for k in chosen]
                if not all(_signs_apply(inst, o, k, uniform) for o, k in zip(taken, chosen, strict=True)):
                    continue
                self._prefer_uniform(inst, cand, src, chosen)
                for o, k in zip(taken, chosen, strict=True):
                    if in_file(cand[k], K_UR) and not uniform:
                        continue
                    kept = src[k] & ~o
                    cand[k] = self._to_register(inst, self.wanted.get(o, o), k, uniform) | kept
                inst.src = self._keep_pooled(cand)
                return True
        return False

    def _prefer_uniform(self, inst: Inst, cand: list[Opnd], src: list[Opnd], chosen: tuple[int, ...]) -> None:
        """One constant of an operation on doubles goes to a uniform pair, where the target has no constant operands.

        ptxas 13.0.88 does so from sm_90 on at -O1 up, in loops too, for the first operand that takes it.
        """
        if not self.uniform or not inst.op.flags & F_DOUBLE:
            return
        for k in chosen:
            if not is_imm(src[k]):
                continue
            trial = list(cand)
            trial[k] = _plain_register(src[k], True)
            if self._ok(inst, trial):
                known = self.in_uniform.get(src[k])
                if known is None:
                    known = self.fn.new_vreg(K_UR, 2)
                    self.out.append(self.fn.new_inst(OP_COPY, [known], [src[k]], loc=inst.loc))
                    self.in_uniform[src[k]] = known
                cand[k] = known
                return

    def _pooled(self, inst: Inst, src: list[Opnd]) -> list[Opnd]:
        """The sources with constants of bank 2 in place of doubles with a low word; ``wanted`` tells which they stand for.

        ptxas 13.0.88 does so for arithmetic and comparisons of doubles, on sm_75 to sm_89, at every level.
        """
        self.wanted = {}
        if not self.constants or not inst.op.flags & F_DOUBLE or self.fn.pool is None or self.fn.pool.is_full():
            return src
        out = list(src)
        for k, s in enumerate(src):
            if is_imm(s) and imm_value(s) & 0xFFFFFFFF:
                # No place is given before the instruction is known to take it; other constants of bank 2 do not reach doubles.
                out[k] = const(2, 8 * len(self.wanted))
                self.wanted[out[k]] = s
        return out

    def _keep_pooled(self, src: list[Opnd]) -> list[Opnd]:
        """The sources with each stand-in of ``_pooled`` at its place in the pool."""
        pool = self.fn.pool
        if pool is None or not self.wanted:
            return src
        return [const(2, pool.place(imm_value(self.wanted[s]))) if s in self.wanted else s for s in src]

    def _to_register(self, inst: Inst, o: Opnd, k: int, uniform: bool) -> Opnd:
        """The operand's value in a fresh register (shared within the block for immediates and constants)."""
        fn = self.fn
        kd = kind_of(o)
        flags = modifiers_of(o)
        wide = src_width(inst.op, k, o)
        if kd == K_IMM and imm_value(o) >> 32:
            wide = max(wide, 2)
        known = self.moved.get((o, uniform))
        if known is not None and fn.width(known) == wide:
            return known
        if flags:
            if not _signs_apply(inst, o, k, uniform):
                raise Unsupported(f"operand flags of '{_text(inst)}' have no form", inst.loc)
            if kd != K_R:
                o = self._to_register(inst, o & ~flags, k, False) | flags
            return self._strip_flags(inst, o)
        d = fn.new_vreg(K_UR if uniform else K_R, wide)
        if kd == K_CONST and not fn.target.has(features.CONSTANT_OPERANDS) and not uniform:
            self.out.append(fn.new_inst(LOAD_CONSTANT[wide], [d], [o, RZ], loc=inst.loc))
        else:
            self.out.append(fn.new_inst(OP_COPY, [d], [o], loc=inst.loc))
        if kd != K_UR:
            self.moved[o, uniform] = d
        return d

    def _strip_flags(self, inst: Inst, o: Opnd) -> Opnd:
        """A register operand with its integer negation or inversion applied by an instruction of its own."""
        fn = self.fn
        plain = o & ~(NEG | INV)
        d = fn.new_vreg(K_R)
        if o & NEG:
            self.out.append(fn.new_inst(op("IADD3"), [d], [RZ, o, RZ], loc=inst.loc))
        else:
            self.out.append(fn.new_inst(op("LOP3.LUT"), [d], [RZ, plain, RZ, imm(0x33), NOT_PT], loc=inst.loc))
        return d


def _signs_apply(inst: Inst, o: Opnd, k: int, uniform: bool) -> bool:
    """True if an operand may be a register with its signs applied before: if the instruction takes no more from it than one word.

    The carry of a sum is another with the negative of a zero than with a negated zero.
    """
    if not has_modifiers(o):
        return True
    if o & ABS or has_suffix(o) or uniform or inst.op.base[0] in "FDH" or src_width(inst.op, k, bare(o)) > 1:
        return False
    carries = any(in_file(d, K_R) for d in inst.dst) and any(in_file(d, K_P) and d != PT for d in inst.dst)
    return not (o & NEG and carries)


def _encodable_address(src: list[Opnd]) -> list[Opnd]:
    """The sources with a stand-in descriptor and plain registers, to ask whether an operation exists at all."""
    return [URZ if k == 0 else r(4) if k > 3 else s for k, s in enumerate(src)]


def _plain_register(o: Opnd, uniform: bool) -> Opnd:
    if in_file(o, K_R):
        return without_modifiers(o)
    return ur(4) if uniform else r(4)


def _kept_modifiers(o: Opnd) -> int:
    """What a register in place of a constant or uniform operand keeps of its flags and suffix; registers have failed with theirs."""
    return 0 if in_file(o, K_R) else modifiers_of(o)


def _group_wants_descriptor(inst: Inst, a: int) -> bool:
    return a in inst.op.descriptors


def _wants_descriptor(inst: Inst) -> bool:
    return any(_group_wants_descriptor(inst, a) for a in inst.op.addr)
