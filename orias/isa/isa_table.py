"""The SASS instruction table of one decoder class: encode, accepts, decode, text.

:func:`load` is the entry point: ``load("sm_90")`` (``Target.table`` is the table name of a target).  Operands are those
of :mod:`orias.isa.operand`, in the order that :mod:`orias.isa.op` defines; :mod:`orias.isa.slots` maps printed forms to
that order.  Immediates:

* an integer is its 32-bit pattern; a signed field takes sign-extended patterns that fit (a memory offset has 24 bits);
* a single-precision immediate is its 32-bit pattern, a double its 64-bit pattern (the low word must be zero);
* two half-precision immediates are one 32-bit pattern: the half that is printed first is the upper half;
* a branch target is the distance in bytes from the next instruction, modulo 2**64;
* a set of scoreboards (``DEPBAR {5,4}``) is a bit mask.
"""

from typing import Final, final

from orias.isa.decode import Decoded, Decoder, IllegalWord
from orias.isa.op import Op
from orias.isa.operand import (
    INV,
    K_CONST,
    K_IMM,
    K_LABEL,
    K_P,
    K_SYM,
    K_UP,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_TEXT,
    UPT,
    Opnd,
    const_bank,
    const_offset,
    word_text,
)
from orias.isa.operations import TABLES
from orias.isa.plan import (
    M_BANK_ONLY,
    M_CONST,
    M_EQUAL,
    M_F64,
    M_REG_INV,
    M_SIGNED,
    M_SPLIT,
    M_SUM,
    M_UNSIGNED,
    Move,
    Plan,
    PlanParts,
    SlotCache,
    find_plan,
    plan_key,
    plan_of,
    signature,
)
from orias.isa.printer import Printer
from orias.isa.rawtable import Form, RawTable, control_fault
from orias.kept import Kept, kept

__all__ = ["Decoded", "EncodeError", "IllegalWord", "IsaTable", "load"]

CTL_SHIFT: Final = 105


class EncodeError(Exception):
    """An instruction that the table cannot encode; the message names the operation and its operands."""


def describe(o: Opnd) -> str:
    """An operand as text for messages."""
    k = o & KIND_MASK
    p = o >> PAYLOAD_SHIFT
    flags = ("-" if o & 1 << 4 else "") + ("~" if o & INV and k not in (K_P, K_UP) else "!" if o & INV else "")
    suffix = SUFFIX_TEXT[o >> 7 & 15]
    bar = "|" if o & 1 << 5 else ""
    if k == 0:
        body = "-"
    elif k <= 5:
        virtual = p >= 256
        name = ("", "R", "UR", "P", "UP", "B")[k]
        body = (
            f"v{p}:{name}" if virtual else name + ("Z" if p == 255 else "T" if p == 7 and k in (K_P, K_UP) else str(p))
        )
    elif k == K_IMM:
        body = hex(p)
    elif k == K_CONST:
        body = f"c[{const_bank(o):#x}][{const_offset(o):#x}]"
    elif k == 10:
        body = word_text(o)
    else:
        body = ("label", "sym", "", "SB")[k - K_LABEL] + str(p)
    return flags + bar + body + bar + suffix


def _signed32(p: int) -> int:
    return p - (1 << 32) if p >> 31 else p


def _move_fits(mv: Move, o: Opnd) -> bool:
    """True if the operand's value fits the field."""
    k = o & KIND_MASK
    p = o >> PAYLOAD_SHIFT
    kind = mv.kind
    if k in (K_LABEL, K_SYM):
        return True
    if kind == M_UNSIGNED:
        return p >> mv.scale_bits << mv.scale_bits == p and p >> mv.scale_bits <= mv.mask
    if kind == M_SIGNED:
        if p >> 32:
            return False
        v = _signed32(p)
        half = 1 << (mv.width - 1)
        q = v >> mv.scale_bits
        return q << mv.scale_bits == v and -half <= q < half
    if kind == M_F64:
        return p & 0xFFFFFFFF == 0 and p >> 64 == 0
    if kind in (M_CONST, M_BANK_ONLY):
        off = const_offset(o)
        if const_bank(o) > mv.mask:
            return False
        e = mv.offset
        if e is None:
            return off == 0
        _, width, scale = e
        return off % scale == 0 and 0 <= off < scale << width
    if kind == M_SUM:
        v = p - mv.const
        v = v - (1 << 64) if v >> 63 else v
        return v & (1 << mv.scale_bits) - 1 == 0 and -mv.limit <= v < mv.limit
    if kind == M_SPLIT:
        return p <= mv.mask
    if kind == M_EQUAL:
        return p == mv.const
    return True


@final
class IsaTable:
    """The instructions of one decoder class."""

    __slots__ = ("_decoder", "_kept", "_plans", "_printer", "_sigs", "_slots", "name", "raw")

    def __init__(self, name: str, raw: RawTable | None = None) -> None:
        self.name: Final[str] = name
        self.raw: Final[RawTable] = RawTable(name) if raw is None else raw
        self._kept: Final[Kept | None] = kept(f"plans.{name}", TABLES) if raw is None else None
        self._slots: Final[SlotCache] = SlotCache()
        self._plans: Final[dict[tuple[int, ...], Plan | None]] = {}
        self._sigs: Final[dict[int, int]] = {}
        self._decoder: Final[Decoder] = Decoder(self.raw, self._slots)
        self._printer: Final[Printer] = Printer(self.raw)

    def _plan(self, op: Op, dst: list[Opnd], src: list[Opnd]) -> Plan | None:
        sigs = self._sigs
        key = [op.ident << 4 | len(dst)]
        try:
            for o in dst:
                key.append(sigs[o])
            for o in src:
                key.append(sigs[o])
        except KeyError:
            if len(sigs) > 200_000:
                sigs.clear()
            for o in dst + src:
                sigs[o] = signature(o)
            return self._plan(op, dst, src)
        k = tuple(key)
        try:
            return self._plans[k]
        except KeyError:
            plan = self._plans[k] = self._found(op, dst, src)
            return plan

    def _found(self, op: Op, dst: list[Opnd], src: list[Opnd]) -> Plan | None:
        """The plan of an instruction, if possible from earlier runs."""
        if self._kept is None:
            return find_plan(self.raw, self._slots, op, dst, src)
        key = plan_key(op, dst, src)
        parts: PlanParts | tuple[()] | None = self._kept.get(key)
        if parts is None:
            plan = find_plan(self.raw, self._slots, op, dst, src)
            self._kept.put(key, () if plan is None else plan.parts())
            return plan
        return plan_of(parts) if parts else None

    def accepts(self, op: Op, guard: Opnd, dst: list[Opnd], src: list[Opnd]) -> bool:
        """True if the table has a form for these operand kinds, flags, suffixes and immediate values.

        Virtual registers are accepted everywhere, because only the register numbers of RZ and PT matter.  A symbol
        counts as a 32-bit immediate, a label as a branch target in range.
        """
        plan = self._plan(op, dst, src)
        if plan is None:
            return False
        if guard != PT and (guard & KIND_MASK) != (K_UP if plan.guard_up else K_P) and guard >> PAYLOAD_SHIFT != 7:
            return False
        if plan.others:
            n = len(dst)
            for mv in plan.others:
                i = mv.index
                if not _move_fits(mv, dst[i] if i < n else src[i - n]):
                    return False
        return True

    def reuse_fields(self, op: Op, dst: list[Opnd], src: list[Opnd]) -> list[int]:
        """For each source the number (0 to 2) of the reuse flag of its register field, or -1."""
        plan = self._plan(op, dst, src)
        if plan is None:
            return [-1] * len(src)
        return plan.reuse_fields[: len(src)]

    def encode(self, op: Op, guard: Opnd, dst: list[Opnd], src: list[Opnd], ctl: int, extra: int = 0) -> int:
        """The 128-bit word.  `ctl` is the 21-bit control word; `extra` (``Decoded.extra``) is a mask of bits to flip.

        Raises EncodeError if there is no form, a value does not fit, or a register is virtual.
        """
        plan = self._plan(op, dst, src)
        if plan is None:
            raise self._no_form(op, dst, src)
        ops = dst + src
        w = plan.base
        seen = 0
        for index, mask, lo in plan.regs:
            p = ops[index] >> PAYLOAD_SHIFT
            seen |= p
            w |= (p & mask) << lo
        for index, other, more in plan.follows:
            if ops[index] >> PAYLOAD_SHIFT != (ops[other] >> PAYLOAD_SHIFT) + more:
                raise self._bad_value(op, dst, src, ops[index])
        for mv in plan.others:
            o = ops[mv.index]
            if not _move_fits(mv, o) or (o & KIND_MASK) in (K_LABEL, K_SYM):
                raise self._bad_value(op, dst, src, o)
            w |= self._move(mv, o)
        if guard in (PT, UPT):
            w |= 7 << 12
        else:
            g = guard >> PAYLOAD_SHIFT
            if g != 7 and (guard & KIND_MASK) != (K_UP if plan.guard_up else K_P):
                raise EncodeError(f"{op.name}: guard {describe(guard)} is of the wrong file")
            seen |= g
            w |= (g & 7) << 12 | (8 << 12 if guard & INV else 0)
        if seen >> 8:
            raise EncodeError(f"{op.name}: a register is not allocated: {self._operands(dst, src)}")
        if ctl >> 21:
            raise EncodeError(f"{op.name}: control word {ctl} does not have 21 bits")
        fault = control_fault(plan.bars, plan.reuse, ctl)
        if fault:
            raise EncodeError(f"{op.name}: {fault}")
        return (w | ctl << CTL_SHIFT) ^ extra

    @staticmethod
    def _move(mv: Move, o: Opnd) -> int:
        """The word bits of an operand that is not a plain register."""
        p = o >> PAYLOAD_SHIFT
        kind = mv.kind
        if kind in (M_UNSIGNED, M_SIGNED):
            return (p >> mv.scale_bits & mv.mask) << mv.lo
        if kind == M_F64:
            return p >> 32 << mv.lo
        if kind == M_CONST:
            w = const_bank(o) << mv.lo
            e = mv.offset
            if e is not None:
                w |= const_offset(o) // e[2] << e[0]
            return w
        if kind == M_BANK_ONLY:
            return const_bank(o) << mv.lo
        if kind == M_REG_INV:
            return (7 - (p & 7)) << mv.lo
        w = 0
        v = p - mv.const & 0xFFFFFFFFFFFFFFFF
        for lo, width, weight in mv.parts:
            w |= ((v // abs(weight)) & (1 << width) - 1) << lo
        return w

    @staticmethod
    def _operands(dst: list[Opnd], src: list[Opnd]) -> str:
        return ", ".join(map(describe, dst)) + " <- " + ", ".join(map(describe, src))

    def _bad_value(self, op: Op, dst: list[Opnd], src: list[Opnd], o: Opnd) -> EncodeError:
        return EncodeError(f"{self.name}: {op.name} {self._operands(dst, src)}: {describe(o)} does not fit its field")

    def _no_form(self, op: Op, dst: list[Opnd], src: list[Opnd]) -> EncodeError:
        forms = self.raw.of_mnemonic(op.base)
        near = sorted({", ".join(o.skeleton for o in f.operands) for f in forms if not f.alias}, key=len)[:8]
        hint = "forms: " + " | ".join(near) if forms else "no such mnemonic"
        return EncodeError(f"{self.name}: no form for {op.name} {self._operands(dst, src)}; {hint}")

    def decode(self, word: int) -> Decoded:
        """Decode a 128-bit word; :meth:`encode_decoded` is the inverse.

        Raises IllegalWord if ``nvdisasm`` would refuse the word.
        """
        d = self._decoder.decode(word)
        try:
            d.extra = self.encode(d.op, d.guard, d.dst, d.src, d.ctl) ^ word
        except EncodeError as e:
            raise IllegalWord(f"{self.name}: {word:#034x}: {e}") from e
        return d

    def encode_decoded(self, d: Decoded) -> int:
        """The word of a decoded instruction, ``extra`` included."""
        return self.encode(d.op, d.guard, d.dst, d.src, d.ctl, d.extra)

    def legal(self, word: int) -> bool:
        """True if the word is an instruction, its control word included."""
        return self._printer.form(word) is not None

    def form(self, word: int) -> Form | None:
        """The form that a word is printed as, None if the word is illegal."""
        return self._printer.form(word)

    def targets(self, word: int, pc: int) -> list[int]:
        """Code addresses that a word at byte address `pc` refers to (branches, ``BSSY``, ``CALL.REL``); empty if illegal."""
        return self._printer.targets(word, pc)

    def text(self, item: "Decoded | int", pc: int = 0, labels: dict[int, str] | None = None) -> str:
        """The text ``nvdisasm`` prints for a word at address `pc`; `labels` names branch targets by address.

        Raises IllegalWord, whose message names the bits that match no form.
        """
        word = item if isinstance(item, int) else self.encode_decoded(item)
        try:
            return self._printer.text(word, pc, labels)
        except IllegalWord:
            self.decode(word)  # its message names the bits
            raise


_tables: dict[str, IsaTable] = {}


def load(table_name: str) -> IsaTable:
    """The instruction table of a decoder class such as ``sm_90``, loaded once; KeyError if there is none."""
    t = _tables.get(table_name)
    if t is None:
        t = _tables[table_name] = IsaTable(table_name)
    return t
