"""After allocation: replaces virtual operands by physical ones, and copies by moves."""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.operand import (
    FIRST_VREG,
    K_B,
    K_CONST,
    K_IMM,
    K_NONE,
    K_R,
    K_UR,
    KIND_MASK,
    LANE_MASK,
    PAYLOAD_SHIFT,
    Opnd,
    is_const,
    is_reg,
    is_vreg,
    is_zero_reg,
    kind_of,
    lane_words,
    reg_id,
    reg_plus,
    vreg,
    with_reg,
    with_word_lane,
    without_lane,
)
from orias.isa.roles import LOAD_CONSTANT, LOAD_UNIFORM_CONSTANT
from orias.ori.ir import OP_COPY, OP_PACK, OP_UNDEF, Block, Func, Inst
from orias.regalloc.allocate import fixed_occupancy
from orias.regalloc.coalesce import Classes, part_words
from orias.regalloc.files import kept, usable
from orias.regalloc.moves import MoveSet
from orias.regalloc.occupancy import Occupancy
from orias.regalloc.ranges import Ranges
from orias.regalloc.ssa_out import OP_PCOPY
from orias.target import features


@final
class Trace:
    """For the checker: which instructions each old instruction became.

    ``items[block id]`` lists (old uid, uids of the new instructions), in order; ``before`` is a copy of the function
    before allocation.
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
        # Operand tests are inlined here: calls would cost plain Python more than the work between them.
        if o < FIRST_VREG or o & KIND_MASK > K_B:
            return o
        number = self.ids[o >> PAYLOAD_SHIFT]
        if not o & LANE_MASK:
            return with_reg(o, number)
        return with_reg(without_lane(o), number + lane_words(o, 1)[0])

    def free(self, file: int, point: int) -> int:
        """Mask of registers of a file, among those that the function uses anyway, that are free around a point."""
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
        ms = MoveSet(fn, self.physical(inst.guard), inst.loc, lambda file: self.free(file, point))
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
        if is_vreg(d) and at != fn.vwidth[vreg(d)]:
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
        if is_vreg(o):
            return lane_words(o, self.fn.vwidth[vreg(o)])[1]
        return 1

    def _wide_constant(self, inst: Inst, pairs: list[tuple[Opnd, Opnd]]) -> Inst | None:
        """One load of a pair or quad from a constant bank, where the moves would be loads anyway; None otherwise."""
        from orias.isa.operand import RZ, URZ, const_bank, const_offset

        n = len(pairs)
        file = kind_of(pairs[0][0])
        if n not in (2, 4) or not is_const(pairs[0][1]):
            return None
        if file == K_R and self.fn.target.has(features.CONSTANT_OPERANDS):
            return None
        uniform = LOAD_UNIFORM_CONSTANT[self.fn.target.spelling("uniform_constant")]
        if file not in (K_R, K_UR) or (file == K_UR and n not in uniform):
            return None
        bank = const_bank(pairs[0][1])
        start = const_offset(pairs[0][1])
        reg = reg_id(pairs[0][0])
        if start % (4 * n) or reg % n:
            return None
        for k, (d, s) in enumerate(pairs):
            if not is_const(s) or const_bank(s) != bank or const_offset(s) != start + 4 * k:
                return None
            if reg_id(d) != reg + k:
                return None
        load = LOAD_CONSTANT[n] if file == K_R else uniform[n]
        return self.fn.new_inst(
            load, [pairs[0][0]], [pairs[0][1], RZ if file == K_R else URZ], self.physical(inst.guard), loc=inst.loc
        )


def _word(o: Opnd, k: int) -> Opnd:
    """Word `k` of a physical register, immediate or constant operand."""
    kind = kind_of(o)
    if kind in (K_IMM, K_CONST) or is_zero_reg(o):
        return with_word_lane(o, k)
    if is_reg(o):
        return reg_plus(o, k)
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
