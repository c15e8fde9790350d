"""Decodes a 128-bit instruction word into an operation and operands of the IR."""

from typing import Final, final

from orias.isa.notation import H_FIELD, H_WORD, Piece
from orias.isa.op import Op, op
from orias.isa.operand import (
    INV,
    K_B,
    K_CONST,
    K_IMM,
    K_P,
    K_R,
    K_SB,
    K_UP,
    K_UR,
    K_WORD,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_SHIFT,
    Opnd,
    word,
)
from orias.isa.plan import SlotCache, flags_of_text, suffix_of_text
from orias.isa.rawtable import Form, RawTable
from orias.isa.slots import W_ABSENT, W_F64, W_INDEX, W_LABEL, Slot, name_pieces


class IllegalWord(Exception):
    """The word is no legal instruction; the message names the bits that match no form."""


@final
class Decoded:
    """One instruction: the same fields as :class:`orias.ori.ir.Inst`.

    ``ctl`` is the control word (bits 105..125).  ``extra`` is the difference (XOR) between the word and what the
    encoder writes for this operation and these operands; it is 0 for compiler output, with rare exceptions.  ``addr``
    is the byte address of the word in its section, 0 if unknown.
    """

    __slots__ = ("addr", "ctl", "dst", "extra", "guard", "op", "src")

    def __init__(self, op_: Op, guard: Opnd, dst: list[Opnd], src: list[Opnd], ctl: int) -> None:
        self.op: Op = op_
        self.guard: Opnd = guard
        self.dst: list[Opnd] = dst
        self.src: list[Opnd] = src
        self.ctl: int = ctl
        self.extra: int = 0
        self.addr: int = 0

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.dst} {self.src}>"


@final
class _Shape:
    """What the modifier bits of a word decide: the operation, and flags and suffix of each slot."""

    __slots__ = ("op", "templates")

    def __init__(self, op_: Op, templates: list[int]) -> None:
        self.op: Final[Op] = op_
        self.templates: Final[list[int]] = templates


@final
class _FormInfo:
    """A form with what decoding precomputes for it."""

    __slots__ = ("dst", "form", "mod_mask", "names", "shapes", "src")

    def __init__(self, form: Form, dst: list[Slot], src: list[Slot]) -> None:
        self.form: Final[Form] = form
        self.dst: Final[list[Slot]] = dst
        self.src: Final[list[Slot]] = src
        self.names: Final[list[Piece]] = name_pieces(form, dst + src)
        mask = 0
        for p in form.mods:
            mask |= p.mask
        for s in dst + src:
            for p in s.pre + s.suf:
                mask |= p.mask
            if s.elem is not None and s.elem.how == H_WORD:
                for p in s.elem.pieces:
                    mask |= p.mask
        self.mod_mask: Final[int] = mask
        self.shapes: Final[dict[int, _Shape | None]] = {}


def mod_text(pieces: list[Piece], w: int) -> str | None:
    """The modifiers of a word as text, such as ``.A.B``; None if a value is illegal."""
    out = ""
    for p in pieces:
        t = p.show(w)
        if t is None:
            return None
        if t:
            out += "." + t
    return out


def joined(pieces: list[Piece], w: int) -> str | None:
    """The concatenated texts of the pieces for a word; None if a value is illegal."""
    out = ""
    for p in pieces:
        t = p.show(w)
        if t is None:
            return None
        out += t
    return out


def _template(s: Slot, w: int) -> int:
    """An operand with kind, flags and suffix, and the name if it is a word operand; -1 if a value is illegal."""
    e = s.elem
    if e is None:
        return 0
    out = s.kind
    if e.how == H_WORD:
        name = joined(e.pieces, w)
        if name is None:
            return -1
        out = word(name)
    before = joined(s.pre, w)
    after = joined(s.suf, w)
    if before is None or after is None:
        return -1
    return out | flags_of_text(before) | suffix_of_text(after) << SUFFIX_SHIFT


_FIXED_WIDTH: Final = {K_R: 8, K_P: 3, K_UP: 3, K_B: 4, K_SB: 3}


@final
class Decoder:
    """Decodes the words of one instruction table."""

    __slots__ = ("_infos", "_raw", "_slots")

    def __init__(self, raw: RawTable, slots: SlotCache) -> None:
        self._raw: Final[RawTable] = raw
        self._slots: Final[SlotCache] = slots
        self._infos: Final[dict[int, list[_FormInfo]]] = {}

    def _of_opcode(self, opcode: int) -> list[_FormInfo]:
        infos = self._infos.get(opcode)
        if infos is None:
            infos = []
            for f in self._raw.of_opcode(opcode):
                if not f.alias:
                    d, s = self._slots.of(f)
                    infos.append(_FormInfo(f, d, s))
            self._infos[opcode] = infos
        return infos

    def decode(self, w: int) -> Decoded:
        """The instruction of a word (``extra`` is left 0)."""
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        infos = self._of_opcode(opcode)
        for info in infos:
            if not info.form.matches(w):
                continue
            key = w & info.mod_mask
            shape = info.shapes.get(key)
            if shape is None:
                if key in info.shapes:
                    continue
                shape = info.shapes[key] = self._shape(info, w)
                if shape is None:
                    continue
            if info.form.illegal and not info.form.executes(-1, w):
                raise IllegalWord(f"{self._raw.name}: {w:#034x}: {info.form.mnemonic} has no such operation on a GPU")
            return self._build(info, shape, w)
        raise IllegalWord(self._why(w, opcode, infos))

    def _why(self, w: int, opcode: int, infos: list[_FormInfo]) -> str:
        if not infos:
            return f"{self._raw.name}: {w:#034x}: no operation has bits 0..11 = {w & 0xFFF:#x} with bit 91 = {opcode >> 12}"
        best = min((w & i.form.mask ^ i.form.val for i in infos), key=lambda d: d.bit_count())
        if best:
            bits = ", ".join(str(b) for b in range(128) if best >> b & 1)
            return f"{self._raw.name}: {w:#034x}: no form of {infos[0].form.mnemonic} has these values in bits {bits}"
        return f"{self._raw.name}: {w:#034x}: modifiers of {infos[0].form.mnemonic} that do not go together"

    @staticmethod
    def _shape(info: _FormInfo, w: int) -> _Shape | None:
        mods = mod_text(info.form.mods, w)
        if mods is None:
            return None
        after = joined(info.names, w)
        if after is None:
            return None
        mods += after
        templates: list[int] = []
        for s in info.dst + info.src:
            t = _template(s, w)
            if t < 0:
                return None
            templates.append(t)
        return _Shape(op(info.form.mnemonic + mods), templates)

    def _build(self, info: _FormInfo, shape: _Shape, w: int) -> Decoded:
        dst: list[Opnd] = []
        src: list[Opnd] = []
        i = 0
        t = shape.templates
        for s in info.dst:
            dst.append(_operand(s, t[i], w))
            i += 1
        for s in info.src:
            src.append(_operand(s, t[i], w))
            i += 1
        g = w >> 12 & 7
        if g == 7 and not w >> 15 & 1:
            guard = PT
        else:
            guard = (K_UP if info.form.guard_up else K_P) | g << PAYLOAD_SHIFT | (INV if w >> 15 & 1 else 0)
        return Decoded(shape.op, guard, dst, src, w >> 105 & 0x1FFFFF)


def _operand(s: Slot, template: int, w: int) -> Opnd:
    what = s.what
    e = s.elem
    if e is None:
        k = s.absent_kind
        return k | (255 if k in (K_R, K_UR) else 7 if k in (K_P, K_UP) else 0) << PAYLOAD_SHIFT
    if what == K_WORD:
        return template
    if what in (W_ABSENT, W_INDEX):
        return 0
    v = e.value(w)
    if v is None:
        return template
    if what == K_UR:
        if e.how == H_FIELD and v == (1 << e.width) - 1:
            v = 255
    elif what == K_CONST:
        off = s.offset
        byte = 0
        if off is not None:
            byte = (w >> off.lo & (1 << off.width) - 1) * off.scale
        v = byte << 5 | v
    elif what == W_LABEL:
        v &= 0xFFFFFFFFFFFFFFFF
    elif what == W_F64:
        v <<= 32
    elif what == K_IMM:
        v &= 0xFFFFFFFF
    return template | v << PAYLOAD_SHIFT
