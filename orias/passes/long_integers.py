"""LateArchOptimizeFirst: pairs of operations on the words of 64-bit values become one 64-bit operation.

sm_120 adds, compares and selects 64-bit integers in one operation (``IADD.64``, ``ISETP.S64``, ``SEL.64``, and ``IMNMX.S64``
where the smaller or the larger is selected), also on the uniform datapath; ptxas 13.0.88 uses them there and on no other
target.  After expansion such an operation is a pair::

    l, c = IADD3 x.0, y.0, RZ             d = IADD.64 x, y
    h    = IADD3.X x.1, y.1, RZ, c, !PT   (l is d.0, h is d.1)

The pass works on SSA form, where every word has one definition.  A word that a phi reads stays as it is: the inputs of
phis are whole registers.
"""

from typing import Final, final

from orias.analysis.cfg import dominators
from orias.isa.op import Op, op
from orias.isa.operand import (
    INV,
    K_NONE,
    K_R,
    K_UR,
    NEG,
    NOT_PT,
    NOT_UPT,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    imm64,
    imm_signed,
    imm_value,
    in_place_of,
    is_bare,
    is_imm,
    is_vreg,
    kind_of,
    lane_of,
    lane_range,
    pair_lane,
    vreg,
    with_lane,
    with_word_lane,
    word_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.def_use import Values
from orias.target import features

_ADD: Final = op("IADD.64")
_SELECT: Final = op("SEL.64")
_EXTREME: Final = {"S64": op("IMNMX.S64"), "U64": op("IMNMX.U64")}
_EXTREME_UNIFORM: Final = {"S64": op("UIMNMX.S64"), "U64": op("UIMNMX.U64")}
_SELECT_UNIFORM: Final = op("USEL.64")
_ADD_UNIFORM: Final = op("UIADD3.64")
_MIRRORED: Final[dict[str, str]] = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def fuse_words(fn: Func) -> None:
    """Fuse pairs of operations on words, on targets that have 64-bit integer operations."""
    if fn.target.has(features.LONG_INTEGERS):
        _Fuser(fn).run()


@final
class _Fuser:
    __slots__ = (
        "fn",
        "fused",
        "joined",
        "kept",
        "low_word",
        "made",
        "pending",
        "selects",
        "signs",
        "values",
        "word_of",
    )

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.values: Values = Values(fn)
        self.word_of: dict[int, tuple[Opnd, int]] = {}
        """Register of a fused word -> (register of the value, number of the word)."""
        self.low_word: dict[int, Opnd] = {}
        """Register of a fused high word -> that of the low word."""
        self.made: dict[int, Inst] = {}
        """Register of a fused value -> the operation."""
        self.kept: set[int] = set()
        """Registers that phis read, or that guarded instructions keep."""
        self.selects: dict[tuple[Opnd, Opnd, Opnd], Inst] = {}
        """The selects of low words in this block, by condition and operands."""
        self.fused: set[int] = set()
        """The uids of instructions that are no longer needed."""
        self.joined: dict[int, bool] = {}
        """Pairs made of two words: True if the high one is a zero."""
        self.signs: dict[int, Opnd] = {}
        """Register of a selection of 0 or -1 that is both words of a value -> the pair that it becomes where that is read."""
        self.pending: dict[int, Inst] = {}
        """Register of such a pair that is not made yet -> the selection."""

    def run(self) -> None:
        for inst in self.fn.insts():
            if inst.op is OP_PHI:
                self.kept.update(vreg(s) for s in inst.src if is_vreg(s))
            if is_vreg(inst.old):
                self.kept.add(vreg(inst.old))
        self._join_words()
        for b in self.fn.blocks:
            self._block(b)
        if self.fused:
            for inst in self.fn.insts():
                self._rename(inst)
            for b in self.fn.blocks:
                b.insts = [i for i in b.insts if i.uid not in self.fused]

    def _join_words(self) -> None:
        """Give two words that are compared often as one value, or to select from, or in deeper loops than they are made, a pair.

        They are extended words, the high one a zero or a sign, or come from anywhere else.
        """
        home: dict[int, Block] = {}
        bound: set[int] = set(self.kept)
        asked: dict[tuple[Opnd, Opnd], int] = {}
        chosen: set[tuple[int, Opnd]] = set()
        for b in self.fn.blocks:
            for inst in b.insts:
                for d in inst.dst:
                    if is_vreg(d):
                        home[vreg(d)] = b
                if inst.op.name == "SEL":
                    chosen.update((vreg(inst.src[2]), o) for o in inst.src[:2])
        for b in self.fn.blocks:
            for inst in b.insts:
                if inst.op.base != "ISETP" or inst.op.mods[-1] != "EX" or not is_vreg(inst.src[3]):
                    continue
                low = self.values.definition(inst.src[3])
                if low is None or low.op.base != "ISETP" or low.guard != PT or inst.guard != PT:
                    continue
                for x, y in zip(low.src[:2], inst.src[:2], strict=True):
                    if self._word(x) and (y in (RZ, imm(0)) or self._word(y)):
                        made = max(home[vreg(o)].depth for o in (x, y) if is_vreg(o))
                        key = (x, RZ if is_imm(y) else y)
                        again = b.depth > made or (vreg(inst.dst[0]), x) in chosen
                        asked[key] = asked.get(key, 0) + (2 if again else 1)
        for (x, y), times in sorted(asked.items(), key=lambda a: -a[1]):
            if times > 1 and vreg(x) not in bound and (y == RZ or (vreg(y) not in bound and vreg(y) != vreg(x))):
                bound.add(vreg(x))
                bound.add(vreg(y) if y != RZ else vreg(x))
                self._join(x, y, home)
        if self.joined:
            self.values = Values(self.fn)

    def _word(self, o: Opnd) -> bool:
        return is_vreg(o) and kind_of(o) == K_R and not has_flags(o) and not has_lane(o) and self.fn.width(o) == 1

    def _join(self, x: Opnd, y: Opnd, home: dict[int, Block]) -> None:
        """A pair of two words, made where both are there; what reads them from there on reads its words."""
        tree = dominators(self.fn)
        b, after = home[vreg(x)], x
        if y != RZ:
            c = home[vreg(y)]
            places = {vreg(d): k for k, i in enumerate(b.insts) for d in i.dst if is_vreg(d)}
            if c is b:
                after = y if places[vreg(y)] > places[vreg(x)] else x
            elif tree.dominates(b.id, c.id):
                b, after = c, y
        at = next(k for k, i in enumerate(b.insts) if any(vreg(d) == vreg(after) for d in i.dst if is_vreg(d))) + 1
        while at < len(b.insts) and b.insts[at].op is OP_PHI:
            at += 1
        pair = self.fn.new_vreg(K_R, 2)
        words = {vreg(o): with_word_lane(pair, k) for k, o in enumerate((x, y)) if o != RZ}
        for c in self.fn.blocks:
            if c is b or tree.dominates(b.id, c.id):
                for inst in c.insts[at:] if c is b else c.insts:
                    if inst.op is not OP_PHI:
                        inst.src = [in_place_of(o, words[vreg(o)]) if self._named(o, words) else o for o in inst.src]
        b.insts.insert(at, self.fn.new_inst(OP_PACK, [pair], [x, y]))
        self.joined[vreg(pair)] = y == RZ

    def _named(self, o: Opnd, words: dict[int, Opnd]) -> bool:
        return is_vreg(o) and kind_of(o) == K_R and vreg(o) in words and not has_lane(o)

    def _block(self, b: Block) -> None:
        self.selects.clear()
        here = {i.uid for i in b.insts}
        for inst in b.insts:
            name = inst.op.name
            if name in ("IADD3.X", "UIADD3.X"):
                self._add(inst, here)
            elif inst.op.base in ("ISETP", "UISETP") and inst.op.mods[-1] == "EX":
                self._compare(inst)
            elif name in ("SEL", "USEL"):
                self._select(inst)

    # --- operands ----------------------------------------------------------------------------------------------

    def _value(self, low: Opnd, high: Opnd) -> Opnd:
        """The 64-bit operand whose words these are, without flags; NONE if there is none."""
        if low == high and low in (RZ, URZ):
            return low
        number, upper = _number(low), _number(high)
        if number >= 0 and upper >= 0:
            return imm(number) if upper == (0xFFFFFFFF if number >> 31 else 0) else K_NONE
        if low == high:
            return self._sign(low)
        if high in (RZ, imm(0)) and is_vreg(low) and self.joined.get(vreg(low), False) and lane_of(low) == word_lane(0):
            return with_lane(low, 0)
        if not is_vreg(low) or not is_vreg(high):
            return K_NONE
        a, b = self._part(low), self._part(high)
        return a[0] if a[0] != K_NONE and a[0] == b[0] and a[1] == 0 and b[1] == 1 else K_NONE

    def _sign(self, o: Opnd) -> Opnd:
        """The pair that a selection of 0 or -1 becomes where both words of a value are its result; NONE for other registers."""
        if not is_vreg(o) or not is_bare(o) or vreg(o) in self.kept:
            return K_NONE
        word = vreg(o)
        pair = self.signs.get(word, K_NONE)
        if word in self.word_of:
            return pair if self.word_of[word][0] == pair else K_NONE
        if pair == K_NONE:
            d = self.values.definition(o)
            if d is None or d.guard != PT or d.op.name not in ("SEL", "USEL"):
                return K_NONE
            if d.src[0] not in (RZ, URZ) or _number(d.src[1]) != 0xFFFFFFFF:
                return K_NONE
            pair = self.signs[word] = self.fn.new_vreg(kind_of(o), 2)
            self.pending[vreg(pair)] = d
        return pair

    def _make_signs(self, src: list[Opnd]) -> None:
        """Make pairs of the selections of which sources are to be."""
        for o in src:
            d = self.pending.pop(vreg(o), None) if is_vreg(o) else None
            if d is not None:
                word = vreg(d.dst[0])
                pair = self.signs[word]
                self.word_of[word] = pair, 0
                d.op, d.dst, d.src[1] = (_SELECT if d.op.base == "SEL" else _SELECT_UNIFORM), [pair], imm64(-1)

    def _part(self, o: Opnd) -> tuple[Opnd, int]:
        """(64-bit register, number of the word) that an operand is a word of; NONE if it is none."""
        known = self.word_of.get(vreg(o))
        if known is not None:
            return known if not has_lane(o) else (K_NONE, 0)
        width = self.fn.width(o)
        if not has_lane(o) or kind_of(o) not in (K_R, K_UR):
            return K_NONE, 0
        first, count = lane_range(lane_of(o), width)
        if count != 1:
            return K_NONE, 0
        whole = with_lane(o, 0 if width == 2 else pair_lane(first // 2))
        return whole, first % 2

    def _addend(self, low: Opnd, high: Opnd) -> Opnd:
        """The same for an addend, which may be negated: -low and, with the carry, ~high."""
        if has_flags(low) or has_flags(high):
            if low & NEG and high & INV and not low & INV and not high & NEG:
                value = self._value(low ^ NEG, high ^ INV)
                return value | NEG if value != K_NONE and is_vreg(value) else K_NONE
            return K_NONE
        return self._value(low, high)

    # --- operations --------------------------------------------------------------------------------------------

    def _add(self, high: Inst, here: set[int]) -> None:
        s = high.src
        low = self.values.definition(s[3]) if s[4] in (NOT_PT, NOT_UPT) and is_vreg(s[3]) else None
        if low is None or low.op.name != high.op.base or low.uid not in here or len(low.dst) != 2 or low.dst[1] != s[3]:
            return
        if len(high.dst) != 1 or high.guard != PT or low.guard != PT or self.values.uses[vreg(s[3])] != 1:
            return
        zeros = [k for k in range(3) if low.src[k] == s[k] and s[k] in (RZ, URZ)]
        if not zeros or not self._free(low.dst[0]) or not self._free(high.dst[0]):
            return
        addends = [self._addend(low.src[k], s[k]) for k in range(3) if k != zeros[-1]]
        if K_NONE in addends:
            return
        if high.op.base == "UIADD3":
            if kind_of(addends[0]) != K_UR:
                addends.reverse()
            if kind_of(addends[0]) == K_UR and (kind_of(addends[1]) == K_UR or is_imm(addends[1])):
                self._replace(low, high, _ADD_UNIFORM, [*addends, URZ])
            return
        if kind_of(addends[0]) != K_R:
            addends.reverse()
        if kind_of(addends[0]) == K_R:
            self._replace(low, high, _ADD, addends)

    def _compare(self, high: Inst) -> None:
        s = high.src
        low = self.values.definition(s[3]) if is_vreg(s[3]) and not has_flags(s[3]) else None
        mods, base = high.op.mods, high.op.base
        file = K_R if base == "ISETP" else K_UR
        if low is None or low.op.name != f"{base}.{mods[0]}.U32.AND" or low.src[2] not in (PT, UPT) or low.guard != PT:
            return
        if low.dst[0] != s[3] or low.dst[1] not in (PT, UPT) or self.values.uses[vreg(s[3])] != 1:
            return
        x, y = self._value(low.src[0], s[0]), self._value(low.src[1], s[1])
        compare, unsigned = mods[0], "U32" in mods
        if kind_of(x) != file:
            x, y, compare = y, x, _MIRRORED.get(compare, "")
        if kind_of(x) != file or y == K_NONE or not compare:
            return
        if is_imm(y) and imm_value(y) >> 31 and (unsigned or compare in ("EQ", "NE")):
            # Nobody has measured how an unsigned comparison extends a negative immediate.
            return
        high.op = op(f"{base}.{compare}.{'U64' if unsigned else 'S64'}.{mods[-2]}")
        high.src = [x, y, s[2]]
        self._make_signs(high.src)
        self.fused.add(low.uid)

    def _select(self, inst: Inst) -> None:
        x, y, p = inst.src
        if inst.guard != PT or not self._free(inst.dst[0]):
            return
        file = K_R if inst.op.base == "SEL" else K_UR
        low = self._select_of_low(inst) if kind_of(x) == file else None
        if low is None:
            self.selects[x, y, p] = inst
            return
        value = [self._value(low.src[k], inst.src[k]) for k in range(2)]
        if K_NONE in value or kind_of(value[0]) != file:
            return
        extreme = self._extreme(value[0], value[1], p)
        if extreme is not None:
            self._replace(low, inst, extreme[0], [*value, extreme[1], NOT_PT if file == K_R else NOT_UPT])
        elif not is_imm(value[1]) or value[0] not in (RZ, URZ):
            # Immediates of these have 64 bits.
            y = imm64(imm_signed(value[1])) if is_imm(value[1]) else value[1]
            self._replace(low, inst, _SELECT if file == K_R else _SELECT_UNIFORM, [value[0], y, p])

    def _select_of_low(self, high: Inst) -> Inst | None:
        """The select of the low words that goes with one of high words."""
        x, y, p = high.src
        if self._low(x) == K_NONE:
            return None
        if is_imm(y):
            found = [i for (a, c, q), i in self.selects.items() if (a, q) == (self._low(x), p) and is_imm(c)]
            return found[0] if len(found) == 1 else None
        return self.selects.get((self._low(x), self._low(y), p)) if self._low(y) != K_NONE else None

    def _extreme(self, x: Opnd, y: Opnd, p: Opnd) -> tuple[Op, Opnd] | None:
        """(Operation, PT for the minimum) of a selection that takes the smaller or the larger of what its condition compares."""
        compare = self.values.definition(p) if is_vreg(p) else None
        if compare is None or compare.guard != PT or compare.dst[0] != p & ~INV:
            return None
        if compare.op.base not in ("ISETP", "UISETP"):
            return None
        mods = compare.op.mods
        if mods[0] not in ("LT", "LE", "GT", "GE") or mods[1:] not in (("S64", "AND"), ("U64", "AND")):
            return None
        first, second, rest = compare.src
        if rest not in (PT, UPT) or (first, second) not in ((x, y), (y, x)) or x == y:
            return None
        larger = (mods[0][0] == "G") ^ (first != x) ^ (p & INV != 0)
        if compare.op.base == "ISETP":
            return _EXTREME[mods[1]], NOT_PT if larger else PT
        return _EXTREME_UNIFORM[mods[1]], NOT_UPT if larger else UPT

    def _low(self, o: Opnd) -> Opnd:
        """The operand that reads the low word where this one reads the high word of a value."""
        if o in (RZ, URZ):
            return o
        if not is_vreg(o) or has_flags(o):
            return K_NONE
        if vreg(o) in self.word_of:
            return self.low_word.get(vreg(o), K_NONE)
        return (
            with_lane(o, word_lane(lane_range(lane_of(o), self.fn.width(o))[0] - 1))
            if has_lane(o) and self._part(o)[1] == 1
            else K_NONE
        )

    def _free(self, o: Opnd) -> bool:
        return is_vreg(o) and not has_lane(o) and vreg(o) not in self.kept

    def _replace(self, low: Inst, high: Inst, operation: Op, src: list[Opnd]) -> None:
        """Put a 64-bit operation in the place of the first, where all operands are there already."""
        d = self.fn.new_vreg(kind_of(low.dst[0]), 2)
        self.made[vreg(d)] = low
        self.low_word[vreg(high.dst[0])] = low.dst[0]
        self.word_of[vreg(low.dst[0])] = d, 0
        self.word_of[vreg(high.dst[0])] = d, 1
        none = {"IMNMX": [PT, PT], "UIMNMX": [UPT, UPT]}.get(operation.base, [])
        low.op, low.dst, low.src = operation, [d, *none], src
        self._make_signs(src)
        self.fused.add(high.uid)

    def _rename(self, inst: Inst) -> None:
        if inst.op is OP_PACK and len(inst.src) == 2:
            self._unpack(inst)
        for k, s in enumerate(inst.src):
            known = self.word_of.get(vreg(s)) if is_vreg(s) else None
            if known is not None:
                inst.src[k] = in_place_of(s, with_word_lane(known[0], known[1]))

    def _unpack(self, pack: Inst) -> None:
        """A pack of both words of a fused value is a copy of it; a guarded one, that alone reads them, computes it."""
        words = [vreg(s) if is_vreg(s) and not has_flags(s) else -1 for s in pack.src]
        low, high = (self.word_of.get(w) for w in words)
        if low is None or high is None or low[0] != high[0] or (low[1], high[1]) != (0, 1):
            return
        made = self.made[vreg(low[0])]
        if pack.guard != PT and all(self.values.uses[w] == 1 for w in words):
            self._rename(made)
            pack.op, pack.src = made.op, made.src
            self.fused.add(made.uid)
        else:
            pack.op, pack.src = OP_COPY, [low[0]]


def _number(o: Opnd) -> int:
    """The word that an immediate or a zero register stands for; -1 for others."""
    if o in (RZ, URZ):
        return 0
    return imm_value(o) & 0xFFFFFFFF if is_imm(o) and is_bare(o) else -1
