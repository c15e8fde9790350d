"""Maps the printed operands of a form to the operand order of the IR.

A *slot* is one position in ``dst`` or ``src`` (:mod:`orias.isa.op` defines the order).  A printed operand makes one
slot, except:

* an address in brackets makes four slots (desc, base, ubase, offset);
* the constant operand of ``LDC`` and ``ULDC`` makes two (constant, index);
* two adjacent half-precision immediates make one 32-bit slot (the half printed first is the upper one);
* any other operand with several elements (``cx[UR4][0x10]``, ``R4 `(label)``) makes one slot per element.
"""

from typing import Final, final

from orias.isa.notation import H_FIELD, H_FLOAT, H_SUM, Elem, Operand, Piece
from orias.isa.operand import K_B, K_CONST, K_IMM, K_NONE, K_P, K_R, K_SB, K_UP, K_UR, K_WORD, SUFFIX_TEXT
from orias.isa.rawtable import Form

_INDEXED: Final = frozenset(("LDC", "LDCU", "ULDC"))
"""Loads from constant memory, which always have an index."""


# Slot.what is an operand kind or one of these.
W_ABSENT: Final = 16
"""Part of an address that the form lacks: NONE, RZ, URZ or 0."""
W_F64: Final = 17
"""Immediate double whose upper half is stored."""
W_LABEL: Final = 18
"""Signed byte distance."""
W_INDEX: Final = 19
"""Absent index of a constant operand: RZ or URZ."""

_KINDS: Final[dict[str, int]] = {
    "R": K_R, "U": K_UR, "P": K_P, "Q": K_UP, "B": K_B, "D": K_SB, "I": K_IMM, "F": K_IMM, "L": K_IMM, "W": K_WORD, "S": K_IMM,
}  # fmt: skip


@final
class Slot:
    """One position in ``dst`` or ``src``: which operand it takes and which field stores it."""

    __slots__ = ("absent_kind", "base", "elem", "kind", "offset", "pre", "suf", "what", "width")

    def __init__(self, what: int, elem: Elem | None, pre: list[Piece], suf: list[Piece]) -> None:
        self.what: int = what
        self.kind: int = what if what < 16 else K_IMM
        self.elem: Elem | None = elem
        self.offset: Elem | None = None
        """Second element of a constant operand."""
        self.pre: list[Piece] = pre
        self.suf: list[Piece] = suf
        self.width: int = 0
        """Width in bits of an immediate field."""
        self.base: bool = False
        """True for the base register of an address, whose ``.64`` is no suffix code."""
        self.absent_kind: int = K_NONE


def _absent(kind: int) -> Slot:
    s = Slot(W_ABSENT, None, [], [])
    s.absent_kind = kind
    return s


def _plain(e: Elem, pre: list[Piece], post: list[Piece]) -> Slot:
    what = _KINDS[e.kind]
    s = Slot(what, e, pre, e.suf + post)
    if e.kind == "L" or (e.kind == "I" and (any(p[2] < 0 for p in e.parts) or (e.how == H_FIELD and e.width > 32))):
        s.what = W_LABEL
        s.width = 64
    elif e.kind == "I" and e.how == H_SUM:
        s.width = sum(p[1] for p in e.parts)
    elif e.kind == "F":
        s.width = e.width
        if e.fkind == "f64h":
            s.what = W_F64
    elif what == K_IMM:
        s.width = e.width
    return s


def _address(o: Operand) -> list[Slot]:
    body = o.skeleton[9:] if o.skeleton.startswith("desc[{U}]") else o.skeleton
    elems = list(o.elems)
    desc: Elem | None = None
    if o.skeleton.startswith("desc["):
        desc = elems.pop(0)
    elif elems[-1].hidden:
        desc = elems.pop()
    slots = [_absent(K_NONE), _absent(K_R), _absent(K_UR), _absent(K_IMM)]
    if desc is not None:
        slots[0] = Slot(K_UR, desc, [], [])
    kinds = [body[i + 1] for i in range(len(body)) if body[i] == "{"]
    for k, e in zip(kinds, elems, strict=False):
        if k == "R":
            slots[1] = Slot(K_R, e, o.pre, e.suf + o.post)
            slots[1].base = True
        elif k == "U":
            slots[2] = Slot(K_UR, e, [], e.suf)
        elif k == "W":
            continue  # ``???255`` is RZ in a form with a register base
        else:
            slots[3] = Slot(K_IMM, e, [], [])
            slots[3].width = e.width
    return slots


def is_address(skeleton: str) -> bool:
    """True for a memory operand in brackets."""
    return skeleton.startswith(("[", "desc[{U}]["))


def _is_half(o: Operand) -> bool:
    return o.skeleton == "{F}" and o.elems[0].how == H_FLOAT and o.elems[0].width == 16


_SPACES: Final = {"tmem[{U}]": "t", "gdesc[{U}]": "g", "idesc[{U}]": "i", "desc[{U}]": "d"}


def name_pieces(form: Form, slots: list[Slot]) -> list[Piece]:
    """Pieces that are modifiers of the operation in the IR, because no operand of the IR can hold them.

    These are pieces after operands that have no suffix code (``.tnspA``, ``.COL``).  For operations on tensor memory
    and tensor maps (from sm_100 on) they are also the spaces of the operands in order: ``.tgti`` for
    ``tmem[UR5], gdesc[UR6], tmem[UR4], idesc[UR9]``.
    """
    out: list[Piece] = []
    if form.mnemonic.startswith("UT"):
        spaces = "".join([_SPACES.get(s, "") for s in form.skeletons()])
        if form.vocabulary.ur_bits < 8:
            spaces = ""
        if spaces:
            out.append(Piece("." + spaces, (), {}))
    for s in slots:
        for p in s.suf:
            values = {v: t.removeprefix("|") for v, t in p.values.items()}
            texts = {t for t in values.values() if "?" not in t and "INVALID" not in t}
            if len(texts) > 1 and any(t not in _CODED for t in texts):
                out.append(p if values == p.values else Piece("", p.bits, values))
    return out


_CODED: Final = frozenset((*SUFFIX_TEXT, ".64", "|"))


_counts: dict[tuple[object, ...], tuple[int, int]] = {}


def slot_counts(form: Form) -> tuple[int, int]:
    """Number of slots (dst, src) of a form from its skeletons alone; (-1, -1) if the skeletons do not determine it."""
    if form.counts is not None:
        return form.counts
    skeletons = form.skeletons()
    key = (form.results, form.mnemonic in _INDEXED, form.skips, *skeletons)
    found = _counts.get(key)
    if found is not None:
        form.counts = found
        return found
    results = form.results
    dst = 1 if form.skips else 0
    src = 0
    for i, sk in enumerate(skeletons):
        if sk == "{F}" and i and skeletons[i - 1] == "{F}":
            dst = src = -1
            break
        if is_address(sk):
            n = 4
        elif sk.startswith("c[{I}]"):
            indexed = form.mnemonic in _INDEXED or "{R" in sk or "{U" in sk
            n = 2 if indexed else 1
        else:
            n = sk.count("{") if not sk.startswith("{S") else 1
        if i < results:
            dst += n
        else:
            src += n
    form.counts = _counts[key] = dst, src
    return dst, src


def slots_of(form: Form) -> tuple[list[Slot], list[Slot]]:
    """The slots of a form: results (registers first, then predicates), and sources."""
    results = form.results
    dst: list[Slot] = []
    src: list[Slot] = []
    ops = form.operands
    i = 0
    while i < len(ops):
        o = ops[i]
        out = dst if i < results else src
        i += 1
        if is_address(o.skeleton):
            out.extend(_address(o))
        elif o.skeleton.startswith("c[{I}]"):
            s = Slot(K_CONST, o.elems[0], o.pre, o.post)
            s.offset = o.elems[-1]
            s.suf = o.elems[-1].suf + o.post
            out.append(s)
            if len(o.elems) == 3 or (len(o.elems) == 2 and o.elems[1].kind in "RU"):
                index = o.elems[1]
                s.offset = o.elems[2] if len(o.elems) == 3 else None
                out.append(Slot(_KINDS[index.kind], index, [], index.suf))
            elif form.mnemonic in _INDEXED:
                index_slot = Slot(W_INDEX, None, [], [])
                index_slot.absent_kind = K_R if form.mnemonic == "LDC" else K_UR
                out.append(index_slot)
        elif _is_half(o) and i < len(ops) and _is_half(ops[i]) and o.elems[0].lo == ops[i].elems[0].lo + 16:
            pair = Elem("F")
            pair.how = H_FLOAT
            pair.fkind = "pair"
            pair.lo, pair.width = ops[i].elems[0].lo, 32
            s = Slot(K_IMM, pair, [], [])
            s.width = 32
            out.append(s)
            i += 1
        else:
            first = True
            for e in o.elems:
                out.append(_plain(e, o.pre if first else [], o.post if len(o.elems) == 1 else []))
                first = False
    dst.sort(key=lambda s: 1 if s.kind in (K_P, K_UP) else 0)
    if form.skips:
        at = next(i for i, s in enumerate(dst) if s.kind in (K_P, K_UP))
        dst.insert(at, _absent(dst[at].kind))
    return dst, src
