"""Convergence: BSSY, BSYNC, WARPSYNC and YIELD (phases 72 and 99; ``docs/facts/control-flow.md``).

Runs on SSA, after the last pass that changes branches.  A divergent branch whose immediate post-dominator P is a real
block gets a barrier; branches with the same P share it.  Threads pick the barrier up (BSSY) wherever control enters
the region between the branches and P, and wait (BSYNC) in a block of their own before P::

    s:  BSSY B0, P ; @p BRA          x: (uniform) ----.
    ...region...  -> j                                 |
    j:  phis ; BSYNC B0  -> P  <-----------------------'

So every BSYNC is reached only by threads that passed its BSSY, whatever the shape of the graph.  EXIT needs nothing, and
branches to code that only exits do not count for post-dominance.

Where the post-dominator lies after a loop because some path leaves the loop, the branch gets a second, local barrier at the
nearest block inside the loop where those that stay meet; threads that leave give it up (BREAK).  Where it lies in another iteration, the
local barrier is the only one (:mod:`orias.passes.loop_iterations`).

No barrier: a uniform condition; no post-dominator; a side with BAR, or with a collective of the full mask that the other has not, on
every way, which a legal program runs with the whole warp, so that the condition does not in fact diverge (what ptxas assumes too).  Where
each side has the same collective, the two may be one: first :mod:`orias.passes.meeting_places` leads both through one block.

Barrier registers are physical, by nesting: a region's barrier differs from those of all regions that overlap it.  Calls
of ABI functions preserve B6..B11, helper subroutines use B2..B5 and nothing else.

Collectives: lowering puts ``WARPSYNC mask`` before every warp operation with a member mask.  It stays where the warp
may run in parts, becomes WARPSYNC.EXCLUSIVE where sets of members must run the operation one after the other
(:mod:`orias.passes.member_sets`), and is dropped elsewhere; that of ``bar.warp.sync`` leaves the NOP before it, which orders
memory accesses as it did and which tools find by its record, as with ptxas.  On sm_75 to sm_89 ptxas branches to out-of-line helpers
(BRA.DIV, BRA.CONV) so that converged warps skip the WARPSYNC; here it is executed always, which means the same.  Matrix
operations (``.sync.aligned``) and barriers of the block get theirs here, the first of a block where the warp may run in parts, as with
ptxas -O3: the hardware counts a warp at a barrier as soon as some of its threads are there.
"""

from typing import Final, final

from orias.analysis.cfg import NO_BLOCK, DomTree, Loop, LoopForest, dominators, find_loops, onward, post_dominators
from orias.analysis.collectives import SEPARATE, WARPSYNC, whole_warp_operations
from orias.analysis.divergence import Divergence, divergence, exit_edges
from orias.isa.gmma_forms import ARRIVE, WARPSYNC_ALL
from orias.isa.op import F_ALIGNED, F_BARRIER, F_CALL, Op, op
from orias.isa.operand import (
    INV,
    K_B,
    PT,
    RZ,
    Opnd,
    imm,
    imm_value,
    is_imm,
    kind_of,
    label,
    reg,
)
from orias.ori.ir import OP_AROUND, OP_COPY, OP_NOP, OP_PHI, Block, Func, Inst
from orias.passes.joined_collectives import find_meetings
from orias.passes.loop_iterations import goes_round, met_loops
from orias.passes.meeting_places import share_collectives
from orias.passes.member_sets import Separate, separate_members
from orias.passes.waiting_loops import waiting_accesses
from orias.target import features

_CLEAR: Final = op("BMOV.32.CLEAR")
_YIELD: Final = op("YIELD")
_TIMED_SLEEP: Final = op("NANOSLEEP.SYNCS")
_FULL_MASK: Final = 0xFFFFFFFF

_SCRATCH: Final[tuple[int, ...]] = (0, 1, 2, 3, 4, 5)
_HELPER: Final[tuple[int, ...]] = (2, 3, 4, 5)
_ACROSS_HELPERS: Final[tuple[int, ...]] = (0, 1)
_SAVED: Final[tuple[int, ...]] = (6, 7, 8, 9, 10, 11)


def insert_sync(fn: Func) -> None:
    """Insert convergence barriers, warp synchronisation and yields into a function in SSA form."""
    _Inserter(fn).run()


@final
class _Region:
    """The blocks that one barrier guards, and where it is picked up."""

    __slots__ = ("barrier", "blocks", "end", "extent", "leaving", "sites")

    def __init__(self, end: Block) -> None:
        self.end: Block = end
        self.sites: list[Block] = []
        """Blocks outside the region whose branch enters it."""
        self.blocks: set[int] = set()
        self.extent: set[int] = set()
        """``blocks`` and what threads run that leave the region to exit."""
        self.barrier: int = -1
        self.leaving: list[tuple[Block, Block]] = []
        """Edges on which threads give the barrier up (out of the loop around a local region)."""

    def comes_from(self, blocks: list[Block]) -> bool:
        """True if one of the blocks is of the region or enters it: threads with the barrier may come from there."""
        sites = [s.id for s in self.sites]
        return any(b.id in self.blocks or b.id in sites for b in blocks)


@final
class _Groups:
    """Regions by the block where they end, as branches are added to them."""

    __slots__ = ("by_end", "by_id", "members")

    def __init__(self, by_id: dict[int, Block]) -> None:
        self.by_id: dict[int, Block] = by_id
        self.by_end: dict[int, _Region] = {}
        self.members: dict[int, list[Block]] = {}

    def add(self, b: Block, end: int, blocks: set[int], extent: set[int]) -> _Region:
        """Add a branch with its blocks to the region that ends at `end`."""
        region = self.by_end.get(end)
        if region is None:
            region = _Region(self.by_id[end])
            self.by_end[end] = region
            self.members[end] = []
        region.blocks |= blocks
        region.extent |= extent
        self.members[end].append(b)
        return region

    def finish(self) -> list[_Region]:
        """The regions, with their sites."""
        for end, region in self.by_end.items():
            region.sites = [b for b in self.members[end] if b.id not in region.blocks]
        return list(self.by_end.values())


@final
class _Inserter:
    __slots__ = (
        "apart", "by_id", "calls", "constants", "div", "fn", "forest", "loose", "met", "places", "regions", "separate", "tree",
    )  # fmt: skip

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.div: Divergence = divergence(fn)
        meetings = find_meetings(fn, self.div)
        self.apart: frozenset[int] = meetings.apart
        """Branches and guarded collectives (uids) after which threads run apart until they meet in another iteration."""
        self.places: frozenset[int] = share_collectives(fn, meetings.groups)
        """Ids of blocks where threads of several sides run one collective."""
        if self.places:
            self.div = divergence(fn)
        self.separate: list[Separate] = separate_members(fn, self.div, self.places)
        if self.separate:
            self.div = divergence(fn)
        self.by_id: dict[int, Block] = {b.id: b for b in fn.blocks}
        self.tree: DomTree = dominators(fn)
        self.forest: LoopForest = find_loops(fn, self.tree)
        self.met: frozenset[int] = self._meet_each_iteration()
        """Ids of the headers of loops whose threads meet at the end of each iteration."""
        self.regions: list[_Region] = []
        self.loose: list[int] = []
        """Ids of blocks after divergent branches for which there is no barrier."""
        self.constants: dict[int, int] = _constants(fn)
        self.calls: dict[int, str] = self._calls()
        """Block -> the kind of call in it: ``abi`` or ``helper``."""

    def run(self) -> None:
        waits = waiting_accesses(self.fn, self.tree, self.forest, self.div)
        partial = self._find_regions() | self._after_yields(waits) | self.places | self._apart()
        self.fn.parted = self._parted()
        self._collectives(partial)
        self._yields(waits)
        self._assign()
        for region in self.regions:
            self._give_up(region)
        for region in self.regions:
            self._build(region)
        self._save_preserved()

    # --- regions -----------------------------------------------------------------------------------------------

    def _meet_each_iteration(self) -> frozenset[int]:
        """Give loops that go on as one loop a single back edge; returns the ids of their headers."""
        found = met_loops(self.fn, self.tree, self.forest, self.div)
        several = [loop for loop in found if len(loop.latches) > 1]
        for loop in several:
            self._split(loop.header, loop.latches)
        if several:
            self.div = divergence(self.fn)
            self.tree = dominators(self.fn)
            self.forest = find_loops(self.fn, self.tree)
        return frozenset(loop.header.id for loop in found)

    def _find_regions(self) -> set[int]:
        """Fill ``regions``, outer ones first; returns the blocks in which part of the warp may be missing."""
        fn = self.fn
        cut = exit_edges(fn)
        pdom = post_dominators(fn, cut)
        whole, gathering = self._whole_warp_blocks()
        # A function may be called by part of the warp: all of it counts as partial.
        partial: set[int] = set() if fn.kind == "entry" else {b.id for b in fn.blocks}
        groups = _Groups(self.by_id)
        ends: set[int] = set()
        if not self.forest.irreducible:
            ends = {pdom.idom[b.id] for b in fn.blocks if self.div.branches[b.id]}
            ends -= {loop.header.id for loop in self.forest.loops}
        local: dict[int, tuple[frozenset[tuple[int, int]], DomTree]] = {}
        for b in fn.blocks:
            if not self.div.branches[b.id]:
                continue
            if sum((b.id, s.id) not in cut for s in b.succs) < 2:
                self.loose.extend(s.id for s in b.succs)
                continue
            end = pdom.idom[b.id]
            if _must_run(b, end, cut, whole) or (
                _must_run(b, end, cut, gathering) and not _each_side(b, end, cut, gathering)
            ):
                self.loose.append(end)
                continue
            reach = _reachable(b, end, cut)
            extent = _reachable(b, end, frozenset())
            partial |= extent
            loop = self.forest.innermost[b.id]
            around = (
                loop is not None and loop.header.id in self.met and end in loop.blocks and goes_round(b, end, loop, cut)
            )
            near = NO_BLOCK
            without = cut
            if loop is not None and (around or end not in loop.blocks) and all(s.id in loop.blocks for s in b.succs):
                # Threads may leave the loop before they meet again after it: let those that stay meet inside.
                if loop.header.id not in local:
                    local[loop.header.id] = self._ways_inside(loop, cut)
                without, tree = local[loop.header.id]
                near = tree.idom[b.id]
                if near != NO_BLOCK and near not in loop.blocks:
                    near = NO_BLOCK
            if end != NO_BLOCK and not (around and near != NO_BLOCK):
                last, passed = self._last_of(end, ends)
                partial |= passed
                groups.add(b, last, reach | passed, extent | passed)
            if loop is None or near == NO_BLOCK:
                continue
            core = _reachable(b, near, without)
            region = groups.add(b, near, core, core)
            for x in [b.id, *sorted(core)]:
                for s in self.by_id[x].succs:
                    edge = (self.by_id[x], s)
                    if s.id not in loop.blocks and (x, s.id) not in cut and edge not in region.leaving:
                        region.leaving.append(edge)
        self.regions = groups.finish()
        for one in self.separate:
            region = _Region(one.after)
            region.sites = [one.before]
            region.blocks = {one.middle.id}
            region.extent = {one.middle.id}
            partial.add(one.middle.id)
            self.regions.append(region)
        self.regions.sort(key=lambda r: -len(r.blocks))
        return partial

    def _ways_inside(self, loop: Loop, cut: frozenset[tuple[int, int]]) -> tuple[frozenset[tuple[int, int]], DomTree]:
        """The edges that leave a loop, or an iteration of a loop whose threads meet in each, and post-dominators without them."""
        inside = set(loop.blocks)
        if loop.header.id in self.met:
            inside.remove(loop.header.id)
        out = [(x, s.id) for x in loop.blocks for s in self.by_id[x].succs if s.id not in inside]
        without = cut | frozenset(out)
        return without, post_dominators(self.fn, without)

    def _last_of(self, end: int, ends: set[int]) -> tuple[int, set[int]]:
        """Where threads that meet at a block may meet as well, and the blocks before it: past blocks that do nothing, to one of the `ends`.

        Those are ends of regions, and none begins a loop; so this comes to an end.
        """
        passed: set[int] = set()
        while True:
            b = self.by_id[end]
            if len(b.succs) != 1 or any(i.op is not OP_PHI for i in b.insts):
                return end, passed
            onto = b.succs[0].id
            if onto not in ends:
                return end, passed
            passed.add(end)
            end = onto

    def _parted(self) -> frozenset[int]:
        """See ``Func.parted``.  As ptxas has it, a warp is whole again only where a barrier is picked up."""
        out = {b.id for b in self.fn.blocks if self.div.regions[b.id]} | {one.middle.id for one in self.separate}
        ends = {region.end.id for region in self.regions}
        waiting = [self.by_id[x] for x in self.loose if x != NO_BLOCK]
        for b in self.fn.blocks:
            if any(self.fn.calls_outside(i) for i in b.insts):
                waiting.extend(b.succs)
        return frozenset(out | onward(waiting, ends))

    def _whole_warp_blocks(self) -> tuple[set[int], set[int]]:
        """Blocks that only the whole warp may run together, and blocks with a collective of the full mask."""
        whole: set[int] = set()
        gathering: set[int] = set()
        for b in self.fn.blocks:
            if whole_warp_operations(b):
                whole.add(b.id)
            if any(i.op.base == "WARPSYNC" and _constant_mask(i, self.constants) == _FULL_MASK for i in b.insts):
                gathering.add(b.id)
        return whole, gathering

    # --- barrier registers -------------------------------------------------------------------------------------

    def _assign(self) -> None:
        """Give every region a barrier register; regions for which none is left go without."""
        placed: list[_Region] = []
        for region in self.regions:
            taken = {r.barrier for r in placed if r.extent & region.extent or self._touches(r, region)}
            kinds = {self.calls[x] for x in region.extent if x in self.calls}
            for n in self._allowed(kinds):
                if n not in taken:
                    region.barrier = n
                    placed.append(region)
                    break
        self.regions = placed

    def _touches(self, a: _Region, b: _Region) -> bool:
        """True if one region starts or ends inside the other."""
        return (
            any(s.id in b.extent for s in a.sites)
            or any(s.id in a.extent for s in b.sites)
            or a.end.id in b.extent
            or b.end.id in a.extent
        )

    def _allowed(self, calls: set[str]) -> tuple[int, ...]:
        if self.fn.kind == "helper":
            return () if calls else _HELPER
        if "abi" in calls:
            return _SAVED
        if "helper" in calls:
            return _ACROSS_HELPERS + _SAVED
        return _SCRATCH + _SAVED

    def _calls(self) -> dict[int, str]:
        out: dict[int, str] = {}
        for b in self.fn.blocks:
            for inst in b.insts:
                kind = self._kind(inst)
                if kind and out.get(b.id) != "abi":
                    out[b.id] = kind
        return out

    def _kind(self, inst: Inst) -> str:
        """Of a call ``helper`` or ``abi``, else nothing."""
        if not inst.op.flags & F_CALL:
            return ""
        info = self.fn.calls.get(inst.uid)
        return "helper" if info is not None and info.kind == "helper" else "abi"

    # --- code --------------------------------------------------------------------------------------------------

    def _build(self, region: _Region) -> None:
        fn = self.fn
        end = region.end
        inside = set(region.blocks)
        sources = inside | {s.id for s in region.sites}
        # The graph may have changed since the region was found: blocks put before others belong where those do.
        join = self._split(end, [p for p in end.preds if p.id in sources])
        join_at = _after_phis(join)
        barrier = reg(K_B, region.barrier)
        # With -g each line has code, and threads that jump here are not at the line before.
        line = next((i.loc for i in end.insts if i.loc), 0) if fn.names else _line(end)
        join.insts.insert(join_at, fn.new_inst(self._named("BSYNC", region), [], [barrier], loc=line))
        for other in self.regions:
            if end.id in other.blocks:
                other.blocks.add(join.id)
        sites = {s.id for s in region.sites}
        for x in list(region.blocks):
            y = self.by_id[x]
            outside = [p for p in y.preds if p.id not in inside and p.id not in sites]
            if not outside and (y.preds or y is not fn.blocks[0]):
                continue
            if len(outside) == 1 and len(outside[0].succs) == 1:
                self._pick_up(outside[0], barrier, region)
                continue
            entry = self._split(y, outside)
            for other in self.regions:
                if x in other.blocks and all(p.id in other.blocks for p in outside):
                    other.blocks.add(entry.id)
                elif other.end is y and other.comes_from(outside) and not other.comes_from(y.preds):
                    # That region ends where this one begins: first its threads meet.
                    other.end = entry
            self._pick_up(entry, barrier, region)
        for s in region.sites:
            self._pick_up(s, barrier, region)

    def _named(self, base: str, region: _Region) -> Op:
        """BSSY, BSYNC or BREAK of a region, as the target writes it."""
        return op(base + self.fn.target.spelling("left_region" if region.leaving else "region"))

    def _give_up(self, region: _Region) -> None:
        """BREAK on the edges that leave a local region's loop."""
        fn = self.fn
        give_up = self._named("BREAK", region)
        barrier = reg(K_B, region.barrier)
        for x, left in region.leaving:
            # The edge may have got a block since it was noted.
            y = left if left in x.succs else next(s for s in x.succs if s.succs == [left])
            term = x.terminator()
            if term is None or len(x.succs) == 1:
                at = len(x.insts) - (0 if term is None else 1)
                x.insts.insert(at, fn.new_inst(give_up, [], [barrier], loc=_line(y)))
            elif term.op.base == "BRA" and not term.src and len(x.succs) == 2:
                guard = term.guard if x.succs[1] is y else term.guard ^ INV
                x.insts.insert(len(x.insts) - 1, fn.new_inst(give_up, [], [barrier], guard, loc=term.loc))
            else:
                hop = self._split(y, [x])
                for other in self.regions:
                    if x.id in other.blocks:
                        other.blocks.add(hop.id)
                hop.insts.insert(_after_phis(hop), fn.new_inst(give_up, [], [barrier], loc=term.loc))

    def _pick_up(self, b: Block, barrier: Opnd, region: _Region) -> None:
        """BSSY at the end of a block, before its branch and before the BSSY of inner regions."""
        fn = self.fn
        at = len(b.insts) - (1 if b.terminator() is not None else 0)
        if at < len(b.insts):
            line = b.insts[at].loc
        else:
            # With -g, where each line has code, a debugger would jump to the end and back.
            line = b.insts[-1].loc if fn.names and b.insts else _line(region.end)
        code = [fn.new_inst(self._named("BSSY", region), [barrier], [label(region.end.id)], loc=line)]
        if fn.target.has(features.CLEARS_BARRIERS):
            code.insert(0, fn.new_inst(_CLEAR, [RZ], [barrier], loc=line))
        b.insts[at:at] = code

    def _split(self, y: Block, preds: list[Block]) -> Block:
        """A new block on the edges from `preds` to `y`, with phis for the values that meet there."""
        fn = self.fn
        chosen = {p.id for p in preds}
        new = fn.new_block()
        self.by_id[new.id] = new
        new.cold = y.cold
        keep = [k for k, p in enumerate(y.preds) if p.id not in chosen]
        move = [k for k, p in enumerate(y.preds) if p.id in chosen]
        new.preds = [y.preds[k] for k in move]
        for p in {q.id: q for q in new.preds}.values():
            p.succs = [new if s is y else s for s in p.succs]
        for inst in y.insts:
            if inst.op is not OP_PHI:
                break
            moved = [inst.src[k] for k in move]
            value = moved[0]
            if any(v != value for v in moved):
                d = fn.new_vreg(kind_of(inst.dst[0]), fn.width(inst.dst[0]))
                new.insts.append(fn.new_inst(OP_PHI, [d], moved, loc=inst.loc))
                value = d
            inst.src = [inst.src[k] for k in keep] + [value]
        y.preds = [y.preds[k] for k in keep] + [new]
        new.succs = [y]
        at = fn.blocks.index(y)
        last = max(fn.blocks.index(p) for p in new.preds)
        # A block on back edges goes after the loop's last block, any other before its target.
        fn.blocks.insert(last + 1 if last >= at else at, new)
        return new

    def _save_preserved(self) -> None:
        """ABI functions keep the preserved barrier registers they use: into registers at entry, back before RET."""
        fn = self.fn
        if fn.kind != "func":
            return
        used = sorted({r.barrier for r in self.regions if r.barrier in _SAVED})
        if not used:
            return
        entry = fn.blocks[0]
        kept = [fn.new_vreg() for _ in used]
        at = _after_phis(entry)
        entry.insts[at:at] = [fn.new_inst(_CLEAR, [v], [reg(K_B, n)]) for n, v in zip(used, kept, strict=True)]
        for b in fn.blocks:
            for k in range(len(b.insts) - 1, -1, -1):
                if b.insts[k].op.base == "RET":
                    back = [
                        fn.new_inst(op("BMOV.32"), [reg(K_B, n)], [v], loc=b.insts[k].loc)
                        for n, v in zip(used, kept, strict=True)
                    ]
                    b.insts[k:k] = back

    # --- collectives and forward progress ------------------------------------------------------------------------

    def _collectives(self, partial: set[int]) -> None:
        """Keep, sharpen or drop the WARPSYNC before collectives; put one before matrix operations that part of a warp may reach."""
        for b in self.fn.blocks:
            out: list[Inst] = []
            parted = b.id in self.fn.parted
            whole = together = b.id not in partial
            for k, inst in enumerate(b.insts):
                if self.fn.calls_outside(inst):
                    parted = True
                if self._kind(inst) == "abi":
                    whole = together = False
                if inst.op.flags & (F_ALIGNED | F_BARRIER) and not together:
                    out.append(self._warpsync(inst))
                    together = inst.guard == PT
                if inst.op.base == "WARPSYNC":
                    mask = -1 if inst.op is SEPARATE else _constant_mask(inst, self.constants)
                    # ptxas keeps it before ARRIVE in all code after a divergent branch.
                    arrives = parted and k + 1 < len(b.insts) and b.insts[k + 1].op is ARRIVE
                    if whole and inst.op is not SEPARATE and not arrives and not self.fn.keep_warp_barriers:
                        continue
                    if out and out[-1].op is OP_NOP and out[-1].loc == inst.loc:
                        # The NOP before that of bar.warp.sync stands for it only where it is dropped.
                        out[-1] = self.fn.new_inst(OP_AROUND, [], [], loc=inst.loc)
                    if mask == _FULL_MASK:
                        self._sharpen(inst)
                        together = together or inst.guard == PT
                out.append(inst)
            b.insts = out

    def _warpsync(self, inst: Inst) -> Inst:
        """WARPSYNC of the whole warp, as guarded as the operation after it."""
        made = self.fn.new_inst(WARPSYNC, [], [imm(_FULL_MASK)], inst.guard, loc=inst.loc)
        self._sharpen(made)
        return made

    def _sharpen(self, inst: Inst) -> None:
        """WARPSYNC of the whole warp as WARPSYNC.ALL, where the target has that."""
        if inst.op is WARPSYNC and self.fn.target.has(features.WARPSYNC_ALL):
            inst.op = WARPSYNC_ALL
            inst.src = []

    def _after_yields(self, waits: list[tuple[Block, Inst]]) -> set[int]:
        """Blocks that part of a warp may reach alone because a barrier does not wait for threads that yield, here or in a called function."""
        after = [s for x, kind in self.calls.items() if kind == "abi" for s in self.by_id[x].succs]
        return onward([*(b for b, _ in waits), *after])

    def _apart(self) -> set[int]:
        """Blocks that threads run while others wait for them at a collective of an earlier iteration."""
        found = [b for b in self.fn.blocks if any(i.uid in self.apart for i in b.insts)] if self.apart else []
        return onward(found)

    def _yields(self, waits: list[tuple[Block, Inst]]) -> None:
        """YIELD in divergent loops that wait for other threads."""
        for b, inst in waits:
            at = b.insts.index(inst) + 1
            if at < len(b.insts) and b.insts[at].op is _TIMED_SLEEP:
                # The sleep and the second test of a wait with a time are stated with the first test.
                at += 2
            b.insts.insert(at, self.fn.new_inst(_YIELD, [], [], loc=inst.loc))


def _constant_mask(inst: Inst, constants: dict[int, int]) -> int:
    """Member mask of a WARPSYNC, -1 if it is in a register."""
    if inst.op is WARPSYNC_ALL:
        return _FULL_MASK
    if not inst.src:
        return -1
    o = inst.src[0]
    if is_imm(o):
        return imm_value(o) & _FULL_MASK
    return constants.get(o, -1)


def _constants(fn: Func) -> dict[int, int]:
    """Registers that copies of immediates define, with their values."""
    out: dict[int, int] = {}
    for inst in fn.insts():
        if inst.op is OP_COPY and inst.guard == PT:
            o = inst.src[0]
            if is_imm(o):
                out[inst.dst[0]] = imm_value(o) & _FULL_MASK
            elif o in out:
                out[inst.dst[0]] = out[o]
    return out


def _reachable(b: Block, end: int, cut: frozenset[tuple[int, int]]) -> set[int]:
    """Blocks on the paths from a branch to its post-dominator without some edges, both excluded (the branch only if in a loop)."""
    return onward([s for s in b.succs if (b.id, s.id) not in cut], (end,), cut)


def _each_side(b: Block, end: int, cut: frozenset[tuple[int, int]], blocks: set[int]) -> bool:
    """True if the paths over every successor of a branch, up to its post-dominator, can pass one of the blocks."""
    return all((b.id, s.id) in cut or onward([s], (end,), cut) & blocks for s in b.succs)


def _must_run(b: Block, end: int, cut: frozenset[tuple[int, int]], blocks: set[int]) -> bool:
    """True if threads that take one of the successors of a branch run one of the blocks, whatever way they take to its post-dominator."""
    inside = blocks - {end}
    if not inside:
        return False
    for s in b.succs:
        if (b.id, s.id) not in cut and onward([s], (end,), cut) & inside and end not in onward([s], inside, cut):
            return True
    return False


def _after_phis(b: Block) -> int:
    k = 0
    while k < len(b.insts) and b.insts[k].op is OP_PHI:
        k += 1
    return k


def _line(b: Block) -> int:
    return b.insts[0].loc if b.insts else 0
