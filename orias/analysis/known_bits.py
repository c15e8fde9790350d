"""Known-bits analysis: which bits of a 32-bit value may be 1, and how many of the lowest are 0."""

from typing import Final

from orias.isa.op import F_EXTENDS
from orias.isa.operand import (
    K_R,
    NEG,
    PT,
    RZ,
    Opnd,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    reg_id,
    word_text,
)
from orias.ori.ir import OP_COPY, OP_PHI, Func, Inst
from orias.target.fixed_registers import SPECIAL_BITS

_ALL: Final = 0xFFFFFFFF
_DEPTH: Final = 6
_AND: Final = 0xC0


def possible_bits(defs: list[Inst | None], o: Opnd, depth: int = _DEPTH) -> int:
    """Mask of the bits that may be 1 in a word operand; `defs` holds the definition of each virtual register (SSA)."""
    if o == RZ:
        return 0
    if not is_bare(o):
        return _ALL
    if is_imm(o):
        return imm_value(o) & _ALL
    ident = reg_id(o)
    d = defs[ident] if in_file(o, K_R) and ident < len(defs) else None
    if d is None or depth == 0 or len(d.dst) != 1 or d.guard != PT:
        return _ALL
    src, base = d.src, d.op.base
    if d.op.flags & F_EXTENDS:
        return 0xFF if "U8" in d.op.mods else 0xFFFF if "U16" in d.op.mods else _ALL
    if d.op is OP_COPY:
        return possible_bits(defs, src[0], depth - 1)
    if base == "LOP3" and is_imm(src[3]) and src[2] == RZ:
        x, y = possible_bits(defs, src[0], depth - 1), possible_bits(defs, src[1], depth - 1)
        lut = imm_value(src[3])
        if lut & 1:
            return _ALL
        return x & y if lut == _AND else x | y
    if base == "SHF" and is_imm(src[1]):
        return _shifted(defs, d, imm_value(src[1]), depth)
    if d.op.name == "PRMT" and is_imm(src[1]):
        return _picked(defs, d, imm_value(src[1]), depth)
    if base == "S2R":
        return SPECIAL_BITS.get(word_text(src[0]), _ALL)
    if d.op.name == "IADD3" or d.op.name == "LEA" or (base == "IMAD" and d.op.mods in ((), ("U32",))):
        return _sum(defs, d, depth)
    return _ALL


def _picked(defs: list[Inst | None], d: Inst, selector: int, depth: int) -> int:
    """Possible bits of the bytes that PRMT picks out of two words."""
    words = [possible_bits(defs, s, depth - 1) for s in (d.src[0], d.src[2])]
    bits = 0
    for k in range(4):
        n = selector >> 4 * k & 15
        byte = words[n >> 2 & 1] >> 8 * (n & 3) & 0xFF
        bits |= (byte if n < 8 else 0xFF if byte & 0x80 else 0) << 8 * k
    return bits


def _shifted(defs: list[Inst | None], d: Inst, by: int, depth: int) -> int:
    """Possible bits of a logical shift by a constant."""
    if by >= 32:
        return _ALL
    if d.op.name == "SHF.L.U32" and d.src[2] == RZ:
        return possible_bits(defs, d.src[0], depth - 1) << by & _ALL
    if d.op.name == "SHF.R.U32.HI" and d.src[0] == RZ:
        return possible_bits(defs, d.src[2], depth - 1) >> by
    return _ALL


def _sum(defs: list[Inst | None], d: Inst, depth: int) -> int:
    """Possible bits of a sum, or of a product plus addend: from the lowest bit of any part to the top bit of the maximum."""
    parts = [possible_bits(defs, s, depth - 1) for s in d.src[:3]]
    if d.op.base == "LEA":
        if len(d.src) != 3 or not is_imm(d.src[2]):
            return _ALL
        parts = [parts[0] << (imm_value(d.src[2]) & 31), parts[1], 0]
    lowest = [x & -x for x in parts]
    if d.op.base == "IMAD":
        parts = [parts[0] * parts[1], parts[2]]
        lowest = [lowest[0] * lowest[1], lowest[2]]
    step = min([x for x in lowest if x], default=0)
    most = sum(parts)
    top = (1 << most.bit_length()) - 1 if most <= _ALL else _ALL
    return top & -step & _ALL


def trailing_zeros(defs: list[Inst | None], o: Opnd, depth: int = _DEPTH) -> int:
    """How many of the lowest bits of a word operand are 0 for certain, at most 32; negation does not change them."""
    o &= ~NEG
    if o == RZ:
        return 32
    if is_imm(o):
        v = imm_value(o) & _ALL
        return (v & -v).bit_length() - 1 if v else 32
    if not is_bare(o) or not is_vreg(o) or not in_file(o, K_R) or depth == 0 or reg_id(o) >= len(defs):
        return 0
    d = defs[reg_id(o)]
    if d is None or len(d.dst) != 1 or d.guard != PT:
        return 0
    count = _zeros_from(d)
    return _zeros_of(d, [trailing_zeros(defs, s, depth - 1) for s in d.src[:count]]) if count else 0


def _zeros_from(d: Inst) -> int:
    """Of how many first sources the lowest bits decide how many of the result are 0; none if nothing is known of it."""
    name = d.op.name
    if d.op is OP_COPY:
        return 1
    if name == "IADD3" or name in ("IMAD", "IMAD.U32"):
        return 3
    if name == "SEL":
        return 2
    if name == "LEA":
        return 2 if is_imm(d.src[2]) else 0
    if name == "SHF.L.U32":
        return 1 if d.src[2] == RZ and is_imm(d.src[1]) else 0
    if name == "LOP3.LUT":
        return 2 if d.src[2] == RZ and is_imm(d.src[3]) and not imm_value(d.src[3]) & 1 else 0
    return 0


def _zeros_of(d: Inst, parts: list[int]) -> int:
    """Lowest bits that are 0 in the result of an operation; `parts`: those of the sources by :func:`_zeros_from`."""
    base = d.op.base
    if base == "IMAD":
        return min(32, parts[0] + parts[1], parts[2])
    if base == "LEA":
        return min(32, parts[0] + imm_value(d.src[2]), parts[1])
    if base == "SHF":
        return min(32, parts[0] + imm_value(d.src[1]))
    if base == "LOP3" and imm_value(d.src[3]) == _AND:
        return max(parts)
    return min(parts)


def zeros_of_words(fn: Func) -> bytearray:
    """:func:`trailing_zeros` of each virtual register by id, at most 32, with what loops keep (a function in SSA).

    Starts from all zeros and goes down to the greatest solution: a phi has what all its sources have.
    """
    found = bytearray(len(fn.vkind))
    work = [
        inst
        for b in fn.blocks
        for inst in b.insts
        if len(inst.dst) == 1 and inst.guard == PT and is_vreg(inst.dst[0]) and in_file(inst.dst[0], K_R)
        if fn.width(inst.dst[0]) == 1
    ]
    for inst in work:
        found[reg_id(inst.dst[0])] = 32
    for inst in work:
        _lower(found, inst)
    # What is 0 by now stays: only the others can change with a value that a loop brings round, each at most 32 times.
    work = [inst for inst in work if found[reg_id(inst.dst[0])]]
    users: dict[int, list[Inst]] = {reg_id(inst.dst[0]): [] for inst in work}
    for inst in work:
        for o in inst.src:
            if is_vreg(o) and in_file(o, K_R) and reg_id(o) in users:
                users[reg_id(o)].append(inst)
    while work:
        inst = work.pop()
        if _lower(found, inst):
            work += users[reg_id(inst.dst[0])]
    return found


def _lower(found: bytearray, inst: Inst) -> bool:
    """Lower the number of a result to what its sources have now; says whether that changed it."""
    count = len(inst.src) if inst.op is OP_PHI else _zeros_from(inst)
    parts = [_known(found, o & ~NEG) for o in inst.src[:count]]
    now = 0 if not count else min(parts) if inst.op is OP_PHI else _zeros_of(inst, parts)
    d = reg_id(inst.dst[0])
    lower = now < found[d]
    if lower:
        found[d] = now
    return lower


def _known(found: bytearray, o: Opnd) -> int:
    """Lowest bits of an operand without sign that are 0, by what is known of registers now."""
    if is_vreg(o):
        return found[reg_id(o)] if is_bare(o) and in_file(o, K_R) else 0
    return trailing_zeros([], o)


def below(defs: list[Inst | None], o: Opnd, depth: int = _DEPTH) -> int:
    """The largest value that a word operand may have, as far as loads, selections and masks tell."""
    if not is_bare(o) or not is_vreg(o) or not in_file(o, K_R) or depth == 0 or reg_id(o) >= len(defs):
        return possible_bits(defs, o)
    d = defs[reg_id(o)]
    if d is None or len(d.dst) != 1:
        return _ALL
    if d.op is OP_PHI:
        return max(below(defs, s, min(2, depth) - 1) for s in d.src)
    if d.op.name == "SEL" and d.guard == PT:
        return max(below(defs, s, depth - 1) for s in d.src[:2])
    return possible_bits(defs, o)
