"""OriReassociateAndCommon: addresses that differ by constants share one sum.

The base of a memory access is written as a sum of values and a constant, looking through additions (and through OR and
XOR of values that have no bit in common).  Where several bases have the same values, the sum is computed once, its constant goes to
the offset fields, and the part that does not change in a loop is computed before it: one register instead of many.

The same holds for the index of an array, ``base = index * factor + start`` in 64 bits (``IMAD.WIDE``), where the known bits of what the index
adds up show that no sum of 32 bits wraps: the constant of the index times the factor goes to the offset fields.
"""

from typing import Final, final

from orias.analysis.cfg import DomTree, Loop, LoopForest, dominators, find_loops, reverse_postorder
from orias.analysis.known_bits import possible_bits
from orias.isa.op import F_FOLDS, op
from orias.isa.operand import (
    FIRST_VIRTUAL,
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    imm_signed,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    is_zero_reg,
    r,
    vreg,
)
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.licm import preheader
from orias.passes.offsets import offset_fits
from orias.passes.simplify import portable
from orias.semantics.integers import signed

_IADD3: Final = op("IADD3")
_LEA: Final = op("LEA")
_IMAD: Final = op("IMAD")
_SHL: Final = op("SHF.L.U32")
_MASK32: Final = 0xFFFFFFFF
_IADD64: Final = op("iadd64")
_OR: Final = 0xFC
_XOR: Final = 0x3C
_WIDE: Final = {1: op("IMAD.WIDE"), 0: op("IMAD.WIDE.U32")}

Term = tuple[int, int]
"""Virtual register, factor."""
Terms = tuple[Term, ...]
"""What a sum adds up, in order of definition."""
Product = tuple[int, int, int]
"""What makes an address of an index: whether the index is signed, its factor, and the operand to which the product is added."""
_NO_PRODUCT: Final[Product] = (0, 0, 0)


@final
class _Sum:
    __slots__ = ("constant", "terms")

    def __init__(self, terms: Terms, constant: int) -> None:
        self.terms: Final[Terms] = terms
        self.constant: Final[int] = constant


@final
class _Use:
    """One address: the instruction, where its address group starts, its block, and the constant of its base."""

    __slots__ = ("base", "block", "constant", "group", "inst")

    def __init__(self, inst: Inst, group: int, block: Block, base: int, constant: int) -> None:
        self.inst: Final[Inst] = inst
        self.group: Final[int] = group
        self.block: Final[Block] = block
        self.base: Final[int] = base
        self.constant: Final[int] = constant


def reassociate_addresses(fn: Func) -> bool:
    """Share the sums of addresses; True if any was rewritten."""
    if not any(inst.op.addr for inst in fn.insts()):
        return False
    return _Reassociate(fn).run()


@final
class _Reassociate:
    __slots__ = (
        "at",
        "forest",
        "fn",
        "holders",
        "home",
        "inside",
        "made",
        "products",
        "rank",
        "sums",
        "tree",
        "turn",
        "values",
    )

    def __init__(self, fn: Func) -> None:
        self.fn: Final[Func] = fn
        self.values: Final[Values] = Values(fn, counted=False)
        self.tree: Final[DomTree] = dominators(fn)
        self.forest: Final[LoopForest] = find_loops(fn, self.tree)
        self.inside: Final[dict[int, frozenset[int]]] = {x.header.id: frozenset(x.blocks) for x in self.forest.loops}
        """Blocks of each loop, by its header."""
        self.home: Final[dict[int, Block]] = {}
        """Block of each definition."""
        self.rank: Final[dict[int, int]] = {}
        """Place of each definition in reverse postorder."""
        self.turn: Final[dict[int, int]] = {}
        """Definitions before each memory access, by ``Inst.uid``."""
        self.holders: Final[dict[Terms, list[int]]] = {}
        """Registers that hold a sum without a constant, by its terms in ascending order."""
        self.sums: Final[dict[int, _Sum]] = {}
        self.made: Final[dict[tuple[Terms, int, bool, Product], int]] = {}
        """Sums computed by the pass, by terms, block, whether they stand at its end, and what they are made for."""
        self.products: Final[dict[tuple[int, int, Product], int]] = {}
        """Products computed by the pass, by index, block and operation."""
        self.at: Final[dict[int, list[tuple[Inst, Inst]]]] = {}
        """New instructions of each block, each with the one that it is to precede."""
        for b in reverse_postorder(fn):
            for inst in b.insts:
                if inst.op.addr:
                    self.turn[inst.uid] = len(self.rank)
                for d in inst.dst:
                    if is_vreg(d):
                        self.home[vreg(d)] = b
                        self.rank[vreg(d)] = len(self.rank)

    def run(self) -> bool:
        groups: dict[tuple[Terms, int, Product], list[_Use]] = {}
        for b in reverse_postorder(self.fn):
            loop = self.forest.innermost[b.id]
            for inst in b.insts:
                for a in inst.op.addr if inst.op.flags & F_FOLDS else ():
                    base = inst.src[a + 1]
                    if not in_file(base, K_R) or not is_vreg(base) or has_flags(base) or has_lane(base):
                        continue
                    if not is_imm(inst.src[a + 3]) or not _no_register(inst.src[a + 2]):
                        continue
                    ident = vreg(base)
                    product = self._product_of(ident)
                    if product == _NO_PRODUCT:
                        total = self._sum(ident)
                        constant = signed(total.constant, 32 * self.fn.vwidth[ident])
                    else:
                        total = self._index(ident)
                        constant = signed(total.constant, 32) * product[1]
                    use = _Use(inst, a, b, ident, constant)
                    key = total.terms, b.id if loop is None else loop.header.id, product
                    groups.setdefault(key, []).append(use)
        changed = False
        for (terms, _, product), uses in groups.items():
            if self._worth(terms, uses, product):
                changed = self._rewrite(terms, uses, product) or changed
        for b in self.fn.blocks:
            new = self.at.get(b.id)
            if new:
                _insert(b, new)
        return changed

    # --- sums ------------------------------------------------------------------------------------------------------

    def _sum(self, ident: int) -> _Sum:
        """A register as a sum, remembered; operands first, without recursion."""
        sums = self.sums
        stack = [ident]
        while stack:
            v = stack[-1]
            if v not in sums:
                missing = [vreg(s) for s in self._operands(v) if vreg(s) not in sums]
                if missing:
                    stack.extend(missing)
                    continue
                total = sums[v] = self._look(v)
                if total.constant == 0 and total.terms != ((v, 1),):
                    self.holders.setdefault(tuple(sorted(total.terms)), []).append(v)
            stack.pop()
        return sums[ident]

    def _operands(self, ident: int) -> list[Opnd]:
        """The register addends of a register's definition."""
        d = self.values.defs[ident]
        if d is None or d.op is OP_PHI or d.guard != PT or len(d.dst) != 1:
            return []
        return [s for s, _ in self._parts(d) if in_file(s, K_R) and is_vreg(s)]

    def _look(self, ident: int) -> _Sum:
        alone = _Sum(((ident, 1),), 0)
        d = self.values.defs[ident]
        if d is None or d.guard != PT or len(d.dst) != 1 or not portable(d):
            return alone
        parts = self._parts(d)
        width = self.fn.vwidth[ident]
        factors: dict[int, int] = {}
        constant = 0
        for s, factor in parts:
            if s == RZ:
                continue
            if not is_bare(s):
                return alone
            v = vreg(s)
            if is_imm(s):
                constant += v * factor
            elif in_file(s, K_R) and v >= FIRST_VIRTUAL and self.fn.vwidth[v] == width:
                inner = self._sum(v)
                for t, n in inner.terms:
                    factors[t] = factors.get(t, 0) + n * factor & _MASK32
                constant += inner.constant * factor
            else:
                return alone
        terms = sorted(((t, n) for t, n in factors.items() if n), key=self._rank_of)
        if (
            not parts
            or not terms
            or len(terms) > self.fn.knobs.reassociate_terms
            or (width > 1 and any(n != 1 for _, n in terms))
        ):
            return alone
        return _Sum(tuple(terms), constant & ((1 << 32 * width) - 1))

    def _parts(self, d: Inst) -> list[tuple[Opnd, int]]:
        """The addends of an instruction with their factors; empty if it is no sum."""
        src = d.src
        if d.op is OP_COPY or d.op is _IADD3 or d.op is _IADD64:
            return [(s, 1) for s in src]
        if d.op is _LEA and len(src) == 3 and is_imm(src[2]):
            return [(src[0], 1 << (imm_value(src[2]) & 31)), (src[1], 1)]
        if d.op.base == "IMAD" and d.op.mods in ((), ("U32",)) and is_imm(src[1]):
            return [(src[0], imm_value(src[1]) & _MASK32), (src[2], 1)]
        if d.op is _SHL and src[2] == RZ and is_imm(src[1]) and imm_value(src[1]) < 32:
            return [(src[0], 1 << imm_value(src[1]))]
        if self._disjoint(d):
            return [(src[0], 1), (src[1], 1)]
        return []

    def _rank_of(self, t: Term) -> int:
        return self.rank[t[0]]

    def _disjoint(self, d: Inst) -> bool:
        """True for the OR or XOR of two values without a common bit."""
        if d.op.name != "LOP3.LUT" or d.src[2] != RZ or not is_imm(d.src[3]):
            return False
        if imm_value(d.src[3]) not in (_OR, _XOR):
            return False
        return not possible_bits(self.values.defs, d.src[0]) & possible_bits(self.values.defs, d.src[1])

    # --- indices ---------------------------------------------------------------------------------------------------

    def _product_of(self, ident: int) -> Product:
        """What an address does with its index, if the index is a sum that does not wrap."""
        d = self.values.defs[ident]
        if d is None or d.op not in _WIDE.values() or d.guard != PT or len(d.dst) != 1 or not portable(d):
            return _NO_PRODUCT
        x, factor, _ = d.src
        if not is_imm(factor) or not is_bare(x) or not in_file(x, K_R) or not is_vreg(x):
            return _NO_PRODUCT
        is_signed = int(d.op is _WIDE[1])
        by = imm_signed(factor) if is_signed else imm_value(factor) & _MASK32
        return (is_signed, by, d.src[2]) if self._is_exact(self._index(ident), is_signed) else _NO_PRODUCT

    def _index(self, ident: int) -> _Sum:
        """The index of an address of which :meth:`_product_of` tells, as a sum."""
        d = self.values.defs[ident]
        assert d is not None
        return self._sum(vreg(d.src[0]))

    def _is_exact(self, total: _Sum, is_signed: int) -> bool:
        """True if neither the terms of a sum nor they and its constant leave the range of a word."""
        lowest = highest = 0
        for t, n in total.terms:
            most = signed(n, 32) * possible_bits(self.values.defs, r(t))
            lowest += min(most, 0)
            highest += max(most, 0)
        constant = signed(total.constant, 32)
        start = -(1 << 31) if is_signed else 0
        return start <= lowest + min(constant, 0) and highest + max(constant, 0) < start + (1 << 32)

    def _product(self, index: int, u: _Use, product: Product) -> int:
        """The register that holds the product with an index and its sum at a use."""
        key = index, u.block.id, product
        out = self.products.get(key, -1)
        if out < 0:
            is_signed, factor, start = product
            d = self.fn.new_vreg(K_R, 2)
            new = self.fn.new_inst(_WIDE[is_signed], [d], [r(index), imm(factor), start], loc=u.inst.loc)
            self.at.setdefault(u.block.id, []).append((u.inst, new))
            out = self.products[key] = vreg(d)
        return out

    # --- rewriting -------------------------------------------------------------------------------------------------

    def _worth(self, terms: Terms, uses: list[_Use], product: Product) -> bool:
        """True if a group has several bases, or saves the sum of an index, and all constants fit into the offset fields."""
        several = len({u.base for u in uses}) > 1
        if not several and (product == _NO_PRODUCT or len(terms) > 1 or not uses[0].constant):
            return False
        return all(offset_fits(u.inst, u.group, u.constant + imm_signed(u.inst.src[u.group + 3])) for u in uses)

    def _rewrite(self, terms: Terms, uses: list[_Use], product: Product) -> bool:
        changed = False
        for u in uses:
            base = self._base(terms, u, product)
            if base is None:
                return changed
            if product != _NO_PRODUCT:
                base = self._product(base, u, product)
            u.inst.src[u.group + 1] = r(base)
            u.inst.src[u.group + 3] = imm(u.constant + imm_signed(u.inst.src[u.group + 3]))
            changed = True
        return changed

    def _base(self, terms: Terms, u: _Use, product: Product) -> int | None:
        """The register that holds the sum at a use: loop by loop, what does not change in the loop first."""
        chain: list[Loop] = []
        loop = self.forest.innermost[u.block.id]
        while loop is not None:
            chain.append(loop)
            loop = loop.parent
        chain.reverse()
        inside = [self.inside[x.header.id] for x in chain]
        levels = sorted((sum(1 for x in inside if self.home[t].id in x), self.rank[t], (t, n)) for t, n in terms)
        terms = tuple(t for _, _, t in levels)
        depth = [x[0] for x in levels]
        total = -1
        done = 0
        for level in range(len(chain) + 1):
            upto = done
            while upto < len(terms) and depth[upto] == level:
                upto += 1
            if upto == done:
                continue
            if upto == 1 and terms[0][1] == 1:
                total = terms[0][0]
            elif level < len(chain):
                pre = preheader(self.fn, chain[level])
                if pre is None:
                    return None
                total = self._add(total, terms[:upto], done, pre, None, chain[level].header, product)
            else:
                total = self._add(total, terms[:upto], done, u.block, u.inst, u.block, product)
            done = upto
        return total

    def _add(
        self, total: int, terms: Terms, done: int, b: Block, before: Inst | None, place: Block, product: Product
    ) -> int:
        """The sum `total` of the first `done` terms with the others.

        Computed in block `b`: before an instruction of it, or at its end, before the loop whose header is `place`.
        """
        key = (terms, b.id, before is None, product)
        out = self.made.get(key, -1)
        if out < 0 and done < 2:
            # With two terms or more before the loop, the rest is one addition and those terms are free.
            out = self._known(terms, before, place)
        if out < 0:
            out = self._compute(total, terms[done:], b, before, place)
        self.made[key] = out
        return out

    def _known(self, terms: Terms, before: Inst | None, place: Block) -> int:
        """A register of the function that holds the sum of some terms and is there at a place; -1 if there is none."""
        held = self.holders.get(tuple(sorted(terms)), [])
        for v in held[max(0, len(held) - self.fn.knobs.reassociate_holders) :]:
            home = self.home[v]
            if home is not place:
                if self.tree.dominates(home.id, place.id):
                    return v
            elif before is not None and self.rank[v] < self.turn[before.uid]:
                return v
        return -1

    def _compute(self, total: int, terms: Terms, b: Block, before: Inst | None, place: Block) -> int:
        """Add terms to a sum (or to nothing, if that is negative): what needs no factor three at a time, then products one by one."""
        left = [r(total)] if total >= 0 else []
        whole = self._known(terms, before, place) if len(terms) > 1 else -1
        if whole >= 0:
            terms = ((whole, 1),)
        products: list[Term] = []
        for t, n in terms:
            v = t if n == 1 else self._known(((t, n),), before, place)
            if v >= 0:
                left.append(r(v))
            else:
                products.append((t, n))
        loc = before.loc if before is not None else 0
        new: list[Inst] = []
        width = self.fn.vwidth[terms[0][0]]
        while len(left) > 1:
            d = self.fn.new_vreg(K_R, width)
            taken = 3 if width == 1 else 2
            new.append(self.fn.new_inst(_IADD3 if width == 1 else _IADD64, [d], [*left[:taken], RZ][:taken], loc=loc))
            left = [d, *left[taken:]]
        for t, n in products:
            d = self.fn.new_vreg(K_R, 1)
            x = r(t)
            if n & (n - 1) == 0:
                shift = imm(n.bit_length() - 1)
                new.append(
                    self.fn.new_inst(_LEA, [d], [x, left[0], shift], loc=loc)
                    if left
                    else self.fn.new_inst(_SHL, [d], [x, shift, RZ], loc=loc)
                )
            else:
                new.append(self.fn.new_inst(_IMAD, [d], [x, imm(n), left[0] if left else RZ], loc=loc))
            left = [d]
        if before is None:
            b.insts.extend(new)
        else:
            self.at.setdefault(b.id, []).extend((before, x) for x in new)
        return vreg(left[0])


def _insert(b: Block, new: list[tuple[Inst, Inst]]) -> None:
    """Put instructions before others of a block."""
    fronts: dict[int, list[Inst]] = {}
    for before, inst in new:
        fronts.setdefault(before.uid, []).append(inst)
    out: list[Inst] = []
    for inst in b.insts:
        out.extend(fronts.get(inst.uid, ()))
        out.append(inst)
    b.insts = out


def _no_register(o: Opnd) -> bool:
    return o == K_NONE or is_zero_reg(o)
