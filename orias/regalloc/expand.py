"""After allocation: virtual operands become physical ones, copies real moves."""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.operand import (
    FLAG_MASK,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    KIND_MASK,
    LANE_SHIFT,
    PAYLOAD_SHIFT,
    SUFFIX_MASK,
    Opnd,
    is_zero_reg,
    lane_range,
    with_word_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.regalloc.allocate import fixed_occupancy
from orias.regalloc.coalesce import Classes, part_words
from orias.regalloc.files import kept, usable
from orias.regalloc.moves import MoveSet
from orias.regalloc.occupancy import Occupancy
from orias.regalloc.ranges import FIRST_OPND, IS_REG, Ranges
from orias.regalloc.ssa_out import OP_PCOPY, OP_UNDEF


@final
class Trace:
    """For the checker: what became of each instruction.

    ``items[block id]`` lists (uid before, uids of the instructions it became), in order; ``before`` is a copy of the
    function as the checker wants it.
    """

    __slots__ = ("before", "items")

    def __init__(self) -> None:
        self.before: Func | None = None
        self.items: dict[int, list[tuple[int, tuple[int, ...]]]] = {}


@final
class _Expander:
    __slots__ = ("busy", "classes", "fn", "ids", "rg", "used")

    def __init__(self, classes: Classes, used: dict[int, int]) -> None:
        self.classes: Final[Classes] = classes
        self.rg: Final[Ranges] = classes.rg
        self.fn: Final[Func] = classes.rg.fn
        self.used: Final[dict[int, int]] = used
        self.busy: dict[int, Occupancy] = {}
        n = len(self.fn.vkind)
        self.ids: Final[list[int]] = [-1] * n
        for v in range(n):
            c = classes.of[v]
            if c is not None and c.slot >= 0:
                self.ids[v] = c.slot + classes.place[v]

    def physical(self, o: Opnd) -> Opnd:
        """The operand with its virtual register replaced."""
        if o < FIRST_OPND or not IS_REG[o & KIND_MASK]:
            return o
        first = lane_range((o >> LANE_SHIFT) & 15, 1)[0]
        return (o & (KIND_MASK | FLAG_MASK | SUFFIX_MASK)) | (self.ids[o >> PAYLOAD_SHIFT] + first) << PAYLOAD_SHIFT

    def free(self, file: int, point: int) -> int:
        """Registers of a file, among those the function uses anyway, that hold nothing around a point."""
        occ = self.busy.get(file)
        if occ is None:
            occ = fixed_occupancy(self.rg, file)
            for c in self.classes.all():
                if c.file == file:
                    for place, segs in c.words.items():
                        for s, e, _ in segs:
                            occ.add(s, e, 1 << (c.slot + place))
            self.busy[file] = occ
        return self.used[file] & ~kept(self.fn, file) & usable(self.fn, file) & ~occ.taken(point - 1, point + 1)

    def moves(self, inst: Inst, point: int) -> list[Inst]:
        """The instructions for a copy, parallel copy or pack."""
        fn = self.fn
        pairs: list[tuple[Opnd, Opnd]] = []
        if inst.op is OP_PACK:
            self._pack(inst, pairs)
        else:
            for d, s in zip(inst.dst, inst.src, strict=True):
                self._copy(d, s, pairs)
        if all(d == s for d, s in pairs):
            return []
        wide = self._wide_constant(inst, pairs)
        if wide is not None:
            return [wide]
        several = sum(d != s for d, s in pairs) > 1
        ms = MoveSet(
            fn,
            self.physical(inst.guard),
            inst.loc,
            self.free(K_R, point) if several else 0,
            self.free(K_P, point) if several else 0,
            self.free(K_UR, point) if several else 0,
        )
        for d, s in pairs:
            ms.add(d, s)
        return ms.emit()

    def _pack(self, inst: Inst, pairs: list[tuple[Opnd, Opnd]]) -> None:
        fn = self.fn
        d = inst.dst[0]
        to = self.physical(d)
        at = 0
        for s in inst.src:
            count = part_words(fn.vwidth, s)
            s = self.physical(s)
            for k in range(count):
                pairs.append((_word(to, at + k), _word(s, k) if count > 1 else s))
            at += count
        if d >= FIRST_OPND and at != fn.vwidth[d >> PAYLOAD_SHIFT]:
            raise Unsupported("pack whose parts do not fill its result", inst.loc)

    def _copy(self, d: Opnd, s: Opnd, pairs: list[tuple[Opnd, Opnd]]) -> None:
        count = max(self._width(d), self._width(s))
        to = self.physical(d)
        frm = self.physical(s)
        if count == 1:
            pairs.append((to, frm))
        else:
            for k in range(count):
                pairs.append((_word(to, k), _word(frm, k)))

    def _width(self, o: Opnd) -> int:
        if o >= FIRST_OPND and IS_REG[o & KIND_MASK]:
            return lane_range((o >> LANE_SHIFT) & 15, self.fn.vwidth[o >> PAYLOAD_SHIFT])[1]
        return 1

    def _wide_constant(self, inst: Inst, pairs: list[tuple[Opnd, Opnd]]) -> Inst | None:
        """A pair or quad read from a constant bank in one instruction, where the move would be a load anyway."""
        from orias.isa.op import op
        from orias.isa.operand import RZ, URZ, const_bank, const_offset

        n = len(pairs)
        file = pairs[0][0] & KIND_MASK
        if n not in (2, 4) or pairs[0][1] & KIND_MASK != K_CONST:
            return None
        if file == K_R and (self.fn.target.const_operands):
            return None
        if file not in (K_R, K_UR) or (file == K_UR and n == 4):
            return None
        bank = const_bank(pairs[0][1])
        start = const_offset(pairs[0][1])
        reg = pairs[0][0] >> PAYLOAD_SHIFT
        if start % (4 * n) or reg % n:
            return None
        for k, (d, s) in enumerate(pairs):
            if s & KIND_MASK != K_CONST or const_bank(s) != bank or const_offset(s) != start + 4 * k:
                return None
            if d >> PAYLOAD_SHIFT != reg + k:
                return None
        name = ("LDC" if file == K_R else "ULDC") + (".64" if n == 2 else ".128")
        return self.fn.new_inst(
            op(name), [pairs[0][0]], [pairs[0][1], RZ if file == K_R else URZ], self.physical(inst.guard), loc=inst.loc
        )


def _word(o: Opnd, k: int) -> Opnd:
    """Word `k` of a physical register, immediate or constant operand."""
    kind = o & KIND_MASK
    if kind in (K_IMM, K_CONST) or is_zero_reg(o):
        return with_word_lane(o, k)
    if IS_REG[kind]:
        return o + (k << PAYLOAD_SHIFT)
    if k == 0:
        return o
    raise Unsupported("wide copy of an operand that has one word")


def expand(classes: Classes, used: dict[int, int], trace: Trace | None) -> None:
    """Rewrite the function with physical registers; its state becomes ``allocated``."""
    x = _Expander(classes, used)
    rg = classes.rg
    for b in rg.order:
        _expand_block(x, b, rg.block_start[b.id] + 1, trace)
    rg.fn.state = "allocated"


def _expand_block(x: _Expander, b: Block, point: int, trace: Trace | None) -> None:
    out: list[Inst] = []
    items: list[tuple[int, tuple[int, ...]]] = []
    for inst in b.insts:
        start = len(out)
        o = inst.op
        if o is OP_COPY or o is OP_PACK or o is OP_PCOPY:
            out.extend(x.moves(inst, point))
        elif o is not OP_UNDEF:
            physical = x.physical
            inst.dst = [physical(d) for d in inst.dst]
            inst.src = [physical(s) for s in inst.src]
            inst.guard = physical(inst.guard)
            inst.old = K_NONE
            out.append(inst)
        if trace is not None:
            items.append((inst.uid, tuple(i.uid for i in out[start:])))
        point += 1
    b.insts = out
    if trace is not None:
        trace.items[b.id] = items
