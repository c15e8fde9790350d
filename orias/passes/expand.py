"""LateExpansion: 64-bit pseudo operations become operations on words (phases 63, 90, 93, 109).

The sequences are those that ptxas 13.0.88 emits (seen on sm_80 and sm_90): add and subtract through a carry
predicate, ``IMAD.WIDE.U32`` for products and what is added to them, ``SHF`` pairs for shifts, ``ISETP`` with ``.EX`` for compares.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.op import F_WIDE, op
from orias.isa.operand import (
    INV,
    K_CONST,
    K_NONE,
    K_P,
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    imm,
    imm64,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    is_zero_reg,
    vreg,
    with_word_lane,
)
from orias.ori.builder import Builder
from orias.ori.ir import Block, Func, Inst

_PRODUCT: Final = op("imul64")
_SUM: Final = op("iadd64")
_LOW_PRODUCTS: Final = frozenset((op("IMAD.WIDE.U32"), op("IMAD.HI.U32")))


def expand_wide(fn: Func) -> None:
    """Expand every 64-bit pseudo operation of the function."""
    fn.expanded = True
    products = _added_products(fn)
    taken = {product.uid for product, _ in products.values()}
    for block in fn.blocks:
        old = block.insts
        block.insts = []
        b = Builder(fn, block)
        for inst in old:
            if not inst.op.flags & F_WIDE:
                block.insts.append(inst)
            elif inst.uid not in taken:
                b.loc = inst.loc
                _expand(b, inst, products.get(inst.uid))


def _added_products(fn: Func) -> dict[int, tuple[Inst, Opnd]]:
    """By sum (uid): a product of the same block that nothing else reads, and the other addend, which the wide multiplication takes.

    Not where the function has the wide product of the low words already, for their upper half: that serves for both; and not with -g,
    where a debugger may ask for the product.
    """
    made: dict[int, tuple[Inst, Block]] = {}
    for block in fn.blocks:
        for inst in block.insts:
            if inst.op is _PRODUCT and inst.guard == PT and not fn.names.get(vreg(inst.dst[0])):
                made[vreg(inst.dst[0])] = inst, block
    out: dict[int, tuple[Inst, Opnd]] = {}
    if not made:
        return out
    uses = dict.fromkeys(made, 0)
    known: set[tuple[Opnd, Opnd]] = set()
    for inst in fn.insts():
        if inst.op in _LOW_PRODUCTS:
            known.update([(inst.src[0], inst.src[1]), (inst.src[1], inst.src[0])])
        for o in inst.uses():
            if is_vreg(o) and vreg(o) in uses:
                uses[vreg(o)] += 1
    for block in fn.blocks:
        for inst in block.insts:
            if inst.op is not _SUM or len(inst.src) > 2 or len(inst.dst) > 1:
                continue
            for o, addend in (inst.src, inst.src[::-1]):
                if is_vreg(o) and is_bare(o) and uses.get(vreg(o), 0) == 1 and _may_be_added(fn, addend):
                    product, home = made[vreg(o)]
                    if home is block and (word(product.src[0], 0), word(product.src[1], 0)) not in known:
                        out[inst.uid] = product, addend
                        break
    return out


def _may_be_added(fn: Func, o: Opnd) -> bool:
    """True for an addend of 64 bits that a wide multiplication takes as it is."""
    return in_file(o, K_CONST) or (is_vreg(o) and is_bare(o) and in_file(o, K_R) and fn.width(o) == 2)


def _expand(b: Builder, inst: Inst, added: tuple[Inst, Opnd] | None) -> None:
    """Expand an operation; `added`: of a sum, the product that it computes too, and what is added to that."""
    base = inst.op.base
    if base == "isetp64":
        _compare(b, inst)
        return
    s = inst.src
    if added is not None:
        product, addend = added
        parts = _multiply(b, product.src[0], product.src[1], addend)
    elif base == "iadd64":
        parts = _add(b, inst)
    elif base == "imul64":
        parts = _multiply(b, s[0], s[1], RZ)
    elif base == "shl64":
        parts = _shift_left(b, s[0], s[1])
    elif base == "shr64":
        parts = _shift_right(b, s[0], s[1], inst.op.has("S64"))
    elif base == "sext64":
        parts = (s[0], b.r("SHF.R.S32.HI", RZ, imm(31), s[0]))
    else:
        raise Unsupported(f"pseudo operation '{inst.op.name}' has no expansion", inst.loc)
    b.emit("pack", [inst.dst[0]], list(parts), inst.guard, inst.old)


def word(o: Opnd, k: int) -> Opnd:
    """Word `k` of a 64-bit source; a one-word register source is its own low word."""
    return with_word_lane(o, k)


def _sub_word(o: Opnd, k: int) -> Opnd:
    """Word `k` of an addend: a negated one is -x in the low word and ~x in the carry-taking high word."""
    if not o & NEG:
        return word(o, k)
    w = word(o & ~NEG, k)
    if is_imm(w):
        value = imm_value(w)
        return imm(-value if k == 0 else ~value)
    return w | NEG if k == 0 else w | INV


def _normal(o: Opnd, carries: bool) -> Opnd:
    """Fold the negation of an immediate into its pattern; -0 is not 0 where a carry goes in or out."""
    if o & NEG and is_imm(o):
        return imm64(-imm_value(o))
    if o & NEG and is_zero_reg(o) and not carries:
        return o & ~NEG
    return o


def _add(b: Builder, inst: Inst) -> tuple[Opnd, Opnd]:
    carries = len(inst.src) > 2 or len(inst.dst) > 1
    x, y = _normal(inst.src[0], carries), _normal(inst.src[1], carries)
    if x & NEG and y & NEG:
        raise Unsupported("64-bit addition of two negated operands", inst.loc)
    carry_in = inst.src[2] if len(inst.src) > 2 else K_NONE
    carry = b.fn.new_vreg(K_P)
    low = b.fn.new_vreg(K_R)
    high = b.fn.new_vreg(K_R)
    if carry_in == K_NONE:
        b.emit("IADD3", [low, carry], [_sub_word(x, 0), _sub_word(y, 0), RZ])
    else:
        # A chained subtraction takes its borrow through the carry: both words are inverted.
        lows = [word(o & ~NEG, 0) | INV if o & NEG else word(o, 0) for o in (x, y)]
        b.emit("IADD3.X", [low, carry], [*lows, RZ, carry_in, NOT_PT])
    dst = [high] if len(inst.dst) < 2 else [high, inst.dst[1]]
    b.emit("IADD3.X", dst, [_sub_word(x, 1), _sub_word(y, 1), RZ, carry, NOT_PT])
    return low, high


def _multiply(b: Builder, x: Opnd, y: Opnd, addend: Opnd) -> tuple[Opnd, Opnd]:
    wide = b.r("IMAD.WIDE.U32", word(x, 0), word(y, 0), addend, width=2)
    cross = b.r("IMAD", word(x, 1), word(y, 0), RZ)
    cross = b.r("IMAD", word(x, 0), word(y, 1), cross)
    return word(wide, 0), b.r("IADD3", word(wide, 1), cross, RZ)


def _shift_left(b: Builder, x: Opnd, n: Opnd) -> tuple[Opnd, Opnd]:
    if is_imm(n):
        k = min(imm_value(n), 64)
        if k == 0:
            return word(x, 0), word(x, 1)
        if k >= 64:
            return RZ, RZ
        if k >= 32:
            return RZ, word(x, 0) if k == 32 else b.r("SHF.L.U32", word(x, 0), imm(k - 32), RZ)
    return b.r("SHF.L.U32", word(x, 0), n, RZ), b.r("SHF.L.U64.HI", word(x, 0), n, word(x, 1))


def _shift_right(b: Builder, x: Opnd, n: Opnd, signed: bool) -> tuple[Opnd, Opnd]:
    high = "SHF.R.S32.HI" if signed else "SHF.R.U32.HI"
    if is_imm(n):
        k = min(imm_value(n), 64)
        if k == 0:
            return word(x, 0), word(x, 1)
        if k >= 32:
            top = b.r(high, RZ, imm(31), word(x, 1)) if signed else RZ
            if k == 32:
                return word(x, 1), top
            if k == 64:
                return top, top
            return b.r(high, RZ, imm(k - 32), word(x, 1)), top
    low = b.r("SHF.R.S64" if signed else "SHF.R.U64", word(x, 0), n, word(x, 1))
    return low, b.r(high, RZ, n, word(x, 1))


def _compare(b: Builder, inst: Inst) -> None:
    compare, sign = inst.op.mods[0], inst.op.mods[1]
    x, y = inst.src[0], inst.src[1]
    also = inst.src[2] if len(inst.src) > 2 else PT
    low = b.setp(f"ISETP.{compare}.U32.AND", word(x, 0), word(y, 0), PT)
    high = f"ISETP.{compare}.U32.AND.EX" if sign == "U64" and compare not in ("EQ", "NE") else f"ISETP.{compare}.AND.EX"
    dst = inst.dst if len(inst.dst) > 1 else [inst.dst[0], PT]
    b.emit(high, dst, [word(x, 1), word(y, 1), also, low], inst.guard, inst.old)
