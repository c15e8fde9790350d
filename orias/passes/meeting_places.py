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

Not joined: guarded operations, those whose operands are not registers or constants, and branches around operations of the whole warp,
whose condition does not in fact diverge.
"""

from typing import Final, final

from orias.analysis.cfg import onward, post_dominators
from orias.analysis.divergence import Divergence, exit_edges
from orias.isa.op import Op
from orias.isa.operand import (
    K_P,
    K_R,
    K_UP,
    K_UR,
    PT,
    RZ,
    Opnd,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    is_imm,
    is_vreg,
    kind_of,
    lane_words,
    vreg,
)
from orias.ori.builder import Builder
from orias.ori.ir import OP_BRA, OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.collectives import BAR, WARPSYNC, collectives, needs_whole_warp
from orias.passes.ssa_repair import is_recomputable, repair_ssa


def share_collectives(fn: Func, div: Divergence) -> frozenset[int]:
    """Lead the sides of divergent branches through one place for each operation that several of them have; returns the ids of these places."""
    sites = _sites(fn)
    groups = [g for g in _groups(fn, div, sites) if all(_plain(site) for site in g)]
    if not groups or not _uniform_values_allow(fn, groups):
        return frozenset()
    shared = _Shared(fn, groups)
    places = frozenset([shared.build(group) for group in groups])
    shared.replace_uniform_results()
    repair_ssa(fn)
    return places


@final
class _Site:
    """An operation with its WARPSYNC, or a WARPSYNC of its own (`inst` None)."""

    __slots__ = ("block", "inst", "key", "sync")

    def __init__(self, fn: Func, block: Block, sync: Inst, inst: Inst | None) -> None:
        self.block: Final[Block] = block
        self.sync: Final[Inst] = sync
        self.inst: Final[Inst | None] = inst
        self.key: Final[tuple[str, ...]] = _key(fn, inst)
        """The same for operations that can be one."""

    @property
    def last(self) -> Inst:
        """The last instruction of the site: what follows runs on the own side again."""
        return self.sync if self.inst is None else self.inst


def _key(fn: Func, inst: Inst | None) -> tuple[str, ...]:
    if inst is None:
        return (WARPSYNC.name,)
    # vote.ballot and vote.any are one operation of the hardware with other results.
    results = "".join("p" if in_file(d, K_P) else "r" for d in inst.dst)
    # Barriers of other numbers are others; the word with number and count stands twice.
    fixed = [str(o) for o in inst.src if is_imm(o)] if inst.op.base == BAR else []
    return (inst.op.name, results, *(f"{'p' if in_file(o, K_P) else 'r'}{_words(fn, o)}" for o in inst.src), *fixed)


def _words(fn: Func, o: Opnd) -> int:
    """Words of an operand."""
    return lane_words(o, fn.width(o))[1] if has_lane(o) else fn.width(o)


def _sites(fn: Func) -> list[_Site]:
    """The operations with a member mask, in program order."""
    return [_Site(fn, b, sync, inst) for b in fn.blocks for sync, inst in collectives(b)]


# --- which sites are one place ----------------------------------------------------------------------------------


def _groups(fn: Func, div: Divergence, sites: list[_Site]) -> list[list[_Site]]:
    """Sites that must be one place, each group in program order."""
    if len({site.key for site in sites}) == len(sites) or not any(div.branches):
        return []
    at: dict[int, list[int]] = {}
    for n, site in enumerate(sites):
        at.setdefault(site.block.id, []).append(n)
    whole = {b.id for b in fn.blocks if needs_whole_warp(b)}
    cut = exit_edges(fn)
    tree = post_dominators(fn, cut)
    joined = list(range(len(sites)))
    for b in fn.blocks:
        if not div.branches[b.id]:
            continue
        stops = (tree.idom[b.id], b.id)
        sides = [onward([s], stops, cut) for s in b.succs if (b.id, s.id) not in cut]
        if any(side & whole for side in sides):
            continue
        found = [{n for x in side if x in at for n in at[x]} for side in sides]
        for n, m in _pairs(sites, found):
            joined[_first(joined, m)] = _first(joined, n)
    groups: dict[int, list[_Site]] = {}
    for n, site in enumerate(sites):
        groups.setdefault(_first(joined, n), []).append(site)
    return [g for g in groups.values() if len(g) > 1]


def _first(joined: list[int], n: int) -> int:
    """The number that stands for all that `n` is joined with."""
    while joined[n] != n:
        joined[n] = joined[joined[n]]
        n = joined[n]
    return n


def _pairs(sites: list[_Site], sides: list[set[int]]) -> list[tuple[int, int]]:
    """Pairs that join all sites of a key, if two of the sides each have one that the other side lacks."""
    by_key: dict[tuple[str, ...], list[int]] = {}
    for n in sorted(set().union(*sides)):
        by_key.setdefault(sites[n].key, []).append(n)
    out: list[tuple[int, int]] = []
    for numbers in by_key.values():
        own = [side.intersection(numbers) for side in sides]
        if any(a - z and z - a for k, a in enumerate(own) for z in own[:k]):
            out += [(numbers[0], n) for n in numbers[1:]]
    return out


def _plain(site: _Site) -> bool:
    """True if the operands of a site can go through phis."""
    operands = [site.sync.src[0], *(site.inst.src if site.inst is not None else ())]
    return all(is_imm(o) or in_file(o, K_P) or (in_file(o, K_R) and not has_modifiers(o)) for o in operands)


def _uniform_values_allow(fn: Func, groups: list[list[_Site]]) -> bool:
    """True if no uniform register has to keep its value while other sides run.

    Values from constants alone are computed again; a result of a site is copied to a register of the thread at once.
    """
    ends = {site.last.uid for group in groups for site in group}
    results = {
        vreg(d) for group in groups for site in group if site.inst is not None for d in site.inst.dst if is_vreg(d)
    }
    constant = {vreg(d) for i in fn.insts() for d in i.dst if is_vreg(d) and is_recomputable(i)}
    for b in fn.blocks:
        here: set[int] = set()
        """Uniform registers made in this block since the last site."""
        for inst in b.insts:
            for o in inst.uses():
                if not is_vreg(o) or kind_of(o) not in (K_UR, K_UP):
                    continue
                if vreg(o) in results:
                    if inst.op is not OP_COPY or inst.guard != PT:
                        return False
                elif vreg(o) not in here and (inst.op is OP_PHI or vreg(o) not in constant):
                    return False
            if inst.uid in ends:
                here.clear()
            here.update([vreg(d) for d in inst.dst if is_vreg(d) and kind_of(d) in (K_UR, K_UP)])
    return True


# --- one place ---------------------------------------------------------------------------------------------------


@final
class _Side:
    """A site while its place is made."""

    __slots__ = ("back", "quick", "site", "way")

    def __init__(self, site: _Site, way: Builder, back: Block, quick: list[Opnd]) -> None:
        self.site: Final[_Site] = site
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

    def __init__(self, fn: Func, groups: list[list[_Site]]) -> None:
        self._fn: Final[Func] = fn
        self._home: Final[dict[int, Block]] = {site.last.uid: site.block for group in groups for site in group}
        """Block of each site, by the uid of its last instruction."""
        self._in_threads: Final[dict[int, Opnd]] = {}
        """Uniform result of a site -> the register of the thread with its value."""

    def build(self, group: list[_Site]) -> int:
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

    def replace_uniform_results(self) -> None:
        """Let the copies of uniform results read the registers of the thread instead."""
        for inst in self._fn.insts():
            if inst.op is OP_COPY and is_vreg(inst.src[0]) and vreg(inst.src[0]) in self._in_threads:
                inst.src = [self._in_threads[vreg(inst.src[0])]]

    def _split(self, site: _Site) -> _Side:
        """Let the threads of a site run the operation where they are if they are all there, and else leave for the place."""
        fn = self._fn
        x = self._home[site.last.uid]
        back = fn.new_block()
        back.cold = x.cold
        at = x.insts.index(site.last)
        back.insts = x.insts[at + 1 :]
        del x.insts[at:]
        if site.inst is not None:
            x.insts.remove(site.sync)
        for inst in back.insts:
            if inst.uid in self._home:
                self._home[inst.uid] = back
        fn.hand_on(x, back)
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
    if all(o == column[0] for o in column):
        return column[0]
    values: list[Opnd] = []
    for way, o in zip(ways, column, strict=True):
        if in_file(o, K_P):
            values.append(way.r("SEL", way.copy(imm(1)), RZ, o))
        elif is_imm(o) or has_lane(o):
            values.append(way.copy(o, _words(at.fn, o)))
        else:
            values.append(o)
    d = at.fn.new_vreg(K_R, 1 if in_file(column[0], K_P) else _words(at.fn, column[0]))
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
