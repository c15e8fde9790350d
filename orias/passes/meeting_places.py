"""Collectives on several sides of a divergent branch run in one place (before the insertion of convergence barriers).

A ``shfl.sync`` or another warp operation waits for all threads that its mask names, wherever in the program they run the same operation.
The hardware brings threads together at one instruction.  So where the sides of a divergent branch have the same operation, all of them
lead there, each with its operands and the number of its side; afterwards every thread returns to its side::

    x:  ...; act = VOTE.ANY PT; @act != mask  -> w          f:  SHFL d0 = a, ...     -> c
    w:  (its operands and its number k)        -> s          c:  d = phi d0, d1; ...
    s:  phis; WARPSYNC mask; SHFL d1 = ...; back to the side number k               -> c

Threads that are all there already (``f``) need no other place: if the threads that run together are those of the mask, nobody else can
be waiting.  ptxas 13.0.88 does the same: BRA.DIV and BRA.CONV test for it, the place is a helper function up to sm_89, and
WARPSYNC.COLLECTIVE with the same registers on every side from sm_90 on.

Which operations are one: :mod:`orias.passes.joined_collectives`.  A guarded operation gets a block of its own first, around which the
other threads go.  Uniform registers do not keep values meanwhile (:mod:`orias.passes.thread_copies`).
"""

from typing import Final, final

from orias.analysis.collectives import WARPSYNC
from orias.isa.op import Op
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    PT,
    RZ,
    Opnd,
    bare,
    has_lane,
    imm,
    in_file,
    is_vreg,
    kind_of,
    vreg,
)
from orias.ori.builder import Builder
from orias.ori.ir import OP_BRA, OP_COPY, OP_PHI, OP_UNDEF, Block, Func, Inst
from orias.passes.joined_collectives import Site, words
from orias.passes.ssa_repair import repair_ssa
from orias.passes.thread_copies import keep_in_threads


def share_collectives(fn: Func, groups: list[list[Site]]) -> frozenset[int]:
    """Lead threads through one place for each operation that they may run at several; returns the ids of these places."""
    if not groups:
        return frozenset()
    keep_in_threads(fn, [site.last for group in groups for site in group])
    shared = _Shared(fn, groups)
    for group in groups:
        for site in group:
            if site.guard != PT:
                shared.take_guard(site)
    places = frozenset([shared.build(group) for group in groups])
    shared.replace_uniform_results()
    repair_ssa(fn)
    return places


# --- one place ---------------------------------------------------------------------------------------------------


@final
class _Side:
    """A site while its place is made."""

    __slots__ = ("back", "quick", "site", "way")

    def __init__(self, site: Site, way: Builder, back: Block, quick: list[Opnd]) -> None:
        self.site: Final[Site] = site
        self.way: Final[Builder] = way
        """The block from which threads go to the place."""
        self.back: Final[Block] = back
        """The block where they go on."""
        self.quick: Final[list[Opnd]] = quick
        """What the operation gives where all threads are there already."""


@final
class _Shared:
    """The places of a function while they are made."""

    __slots__ = ("_fn", "_home", "_in_threads")

    def __init__(self, fn: Func, groups: list[list[Site]]) -> None:
        self._fn: Final[Func] = fn
        self._home: Final[dict[int, Block]] = {site.last.uid: site.block for group in groups for site in group}
        """Block of each site, by the uid of its last instruction."""
        self._in_threads: Final[dict[int, Opnd]] = {}
        """Uniform result of a site -> the register of the thread with its value."""

    def build(self, group: list[Site]) -> int:
        """Lead the sites through one block; returns its id."""
        fn = self._fn
        place = fn.new_block()
        place.cold = True
        sides = [self._split(site) for site in group]
        ways = [side.way for side in sides]
        at = Builder(fn, place)
        at.loc = group[0].last.loc
        mask = _operand(at, ways, [site.sync.src[0] for site in group])
        number = _operand(at, ways, [imm(k) for k in range(len(group))])
        insts = [site.inst for site in group if site.inst is not None]
        columns = list(zip(*[i.src for i in insts], strict=True))
        made = {column: _operand(at, ways, list(column)) for column in columns}
        srcs = [made[column] for column in columns]
        slow: list[Opnd] = []
        if insts:
            tests = [in_file(o, K_P) for o in insts[0].src]
            srcs = [_as_predicate(at, o) if test else o for o, test in zip(srcs, tests, strict=True)]
        at.emit_op(WARPSYNC, [], [mask])
        if insts:
            used = [
                next((d for d in column if is_vreg(d)), column[0])
                for column in zip(*[i.dst for i in insts], strict=True)
            ]
            slow = _run(at, insts[0].op, used, srcs)
        fn.blocks += [way.block for way in ways]
        fn.blocks.append(place)
        for way in ways:
            fn.link(way.block, place)
        _return(at, number, [side.back for side in sides])
        for side in sides:
            self._merge(side, slow)
        return place.id

    def take_guard(self, site: Site) -> None:
        """Put a guarded operation into a block of its own, without the guard."""
        fn = self._fn
        x = self._home[site.last.uid]
        guard = site.guard
        at = x.insts.index(site.last)
        back = self._rest(x, at + 1)
        x.insts.remove(site.sync)
        if site.inst is not None:
            x.insts.remove(site.inst)
        inside = Builder(fn, fn.new_block())
        inside.loc = site.last.loc
        inside.block.cold = x.cold
        inside.block.insts = [site.sync] if site.inst is None else [site.sync, site.inst]
        self._home[site.last.uid] = inside.block
        site.sync.guard = PT
        if site.inst is not None:
            back.insts[:0] = self._results_under_guard(site.inst, x, inside)
        end = Builder(fn, x)
        end.loc = site.last.loc
        end.emit_op(OP_BRA, [], [], guard ^ INV)
        fn.link(x, inside.block)
        fn.link(x, back)
        fn.link(inside.block, back)
        where = fn.blocks.index(x) + 1
        fn.blocks[where:where] = [inside.block, back]

    def _results_under_guard(self, inst: Inst, x: Block, inside: Builder) -> list[Inst]:
        """Phis of what an operation gives in its own block and what the others have; the operation gets results of its own."""
        fn = self._fn
        inst.guard = PT
        before = Builder(fn, x)
        before.loc = inst.loc
        phis: list[Inst] = []
        for k, d in enumerate(inst.dst):
            if not is_vreg(d):
                continue
            new = inst.dst[k] = fn.new_vreg(kind_of(d), fn.width(d))
            old, result = inst.old, d
            if kind_of(d) == K_UR:
                new = inside.copy(new)
                old, result = K_NONE, fn.new_vreg(K_R)
                self._in_threads[vreg(d)] = result
            if old == K_NONE:
                old = fn.new_vreg(kind_of(result), fn.width(result))
                before.emit_op(OP_UNDEF, [old], [])
            elif not is_vreg(old) or old != bare(old):
                copied = fn.new_vreg(kind_of(result), fn.width(result))
                before.emit_op(OP_COPY, [copied], [old])
                old = copied
            phis.append(fn.new_inst(OP_PHI, [result], [old, new], loc=inst.loc))
        inst.old = K_NONE
        return phis

    def _rest(self, x: Block, at: int) -> Block:
        """A new block with the instructions of a block from a place on, which takes over its successors."""
        fn = self._fn
        back = fn.new_block()
        back.cold = x.cold
        back.insts = x.insts[at:]
        del x.insts[at:]
        for inst in back.insts:
            if inst.uid in self._home:
                self._home[inst.uid] = back
        fn.hand_on(x, back)
        return back

    def replace_uniform_results(self) -> None:
        """Let the copies of uniform results read the registers of the thread instead."""
        for inst in self._fn.insts():
            if inst.op is OP_COPY and is_vreg(inst.src[0]) and vreg(inst.src[0]) in self._in_threads:
                inst.src = [self._in_threads[vreg(inst.src[0])]]

    def _split(self, site: Site) -> _Side:
        """Let the threads of a site run the operation where they are if they are all there, and else leave for the place."""
        fn = self._fn
        x = self._home[site.last.uid]
        at = x.insts.index(site.last)
        back = self._rest(x, at + 1)
        del x.insts[at:]
        if site.inst is not None:
            x.insts.remove(site.sync)
        end = Builder(fn, x)
        end.loc = site.last.loc
        here = fn.new_vreg(K_R)
        end.emit("VOTE.ANY", [here, PT], [PT])
        apart = end.setp("ISETP.NE.U32.AND", here, site.sync.src[0], PT)
        end.emit_op(OP_BRA, [], [], apart)
        way = Builder(fn, fn.new_block())
        way.loc = site.last.loc
        way.block.cold = True
        quick: list[Opnd] = []
        new = [back]
        if site.inst is None:
            fn.link(x, back)
        else:
            together = Builder(fn, fn.new_block())
            together.loc = site.last.loc
            together.block.cold = x.cold
            quick = _run(together, site.inst.op, site.inst.dst, site.inst.src)
            fn.link(x, together.block)
            fn.link(together.block, back)
            new.insert(0, together.block)
        fn.link(x, way.block)
        where = fn.blocks.index(x) + 1
        fn.blocks[where:where] = new
        return _Side(site, way, back, quick)

    def _merge(self, side: _Side, slow: list[Opnd]) -> None:
        """The results of a site: those of the operation where it ran."""
        if side.site.inst is None:
            return
        fn = self._fn
        phis: list[Inst] = []
        for d, a, z in zip(side.site.inst.dst, side.quick, slow, strict=True):
            if not is_vreg(d):
                continue
            result = d
            if kind_of(d) == K_UR:
                result = self._in_threads[vreg(d)] = fn.new_vreg(K_R)
            phis.append(fn.new_inst(OP_PHI, [result], [a, z], loc=side.site.inst.loc))
        side.back.insts[:0] = phis


def _operand(at: Builder, ways: list[Builder], column: list[Opnd]) -> Opnd:
    """One operand of the place: what all sites have, or a phi of their values, predicates as words."""
    first = column[0]
    if all(o == first for o in column) and not in_file(first, K_UR):
        return first
    values: list[Opnd] = []
    for way, o in zip(ways, column, strict=True):
        if in_file(o, K_P):
            values.append(way.r("SEL", way.copy(imm(1)), RZ, o))
        elif in_file(o, K_R) and not has_lane(o):
            values.append(o)
        else:
            values.append(way.copy(o, words(at.fn, o)))
    d = at.fn.new_vreg(K_R, 1 if in_file(first, K_P) else words(at.fn, first))
    at.emit_op(OP_PHI, [d], values)
    return d


def _as_predicate(at: Builder, o: Opnd) -> Opnd:
    return o if in_file(o, K_P) else at.setp("ISETP.NE.U32.AND", o, RZ, PT)


def _run(at: Builder, op_: Op, results: list[Opnd], srcs: list[Opnd]) -> list[Opnd]:
    """The operation once more, with results like those given; returns them, uniform ones in registers of the thread."""
    new = [at.fn.new_vreg(kind_of(d), at.fn.width(d)) if is_vreg(d) else d for d in results]
    made = at.emit_op(op_, new, list(srcs))
    return [at.copy(d) if in_file(d, K_UR) else d for d in made.dst]


def _return(at: Builder, number: Opnd, backs: list[Block]) -> None:
    """Branches from the end of the place to where each side goes on."""
    fn = at.fn
    for k, back in enumerate(backs[:-1]):
        mine = at.setp("ISETP.EQ.U32.AND", number, imm(k), PT)
        at.emit_op(OP_BRA, [], [], mine)
        here = at.block
        if k == len(backs) - 2:
            fn.link(here, backs[-1])
        else:
            at.block = fn.new_block()
            at.block.cold = True
            fn.blocks.append(at.block)
            fn.link(here, at.block)
        fn.link(here, back)
