"""Divergence analysis: which values are equal in all threads of a warp, and where the warp may have diverged.

A value is *varying* if threads that run together may hold different values of it.  A branch is *divergent* if its
condition varies.  Sources of variation: ``docs/facts/control-flow.md``, "Uniform values".  The analysis follows both
forms of control dependence: phis where paths of a divergent branch meet, and values carried out of a loop that threads
leave in different iterations.  Convergence barriers do not wait for threads that yield, so after a YIELD threads may
run ahead of others to the end; ptxas 13.0.88 does not use uniform registers there either.
"""

from collections.abc import Iterable
from typing import Final, final

from orias.analysis.cfg import (
    NO_BLOCK,
    DomTree,
    LoopForest,
    dominators,
    find_loops,
    onward,
    post_dominators,
    reverse_postorder,
)
from orias.analysis.collectives import SEPARATE, WARPSYNC, collectives
from orias.isa.op import F_AGREES, F_CALL, F_READ, F_SAME, F_SPECIAL, F_VARYING, F_WRITE, op
from orias.isa.operand import (
    FIRST_VREG,
    K_B,
    K_NONE,
    K_P,
    K_R,
    K_UR,
    K_WORD,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    SP,
    Opnd,
    bare,
    imm_value,
    in_file,
    is_hardwired,
    is_imm,
    is_reg,
    is_true_pred,
    is_vreg,
    kind_of,
    vreg,
    word_text,
)
from orias.ori.ir import Block, Func, Inst
from orias.target import features

_VARYING_SPECIAL: Final[frozenset[str]] = frozenset(
    ["SR_TID", "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK"]
)  # fmt: skip
_VIRTUAL_ID: Final = "SR_VIRTID"
"""Special register with the warp number; varying up to sm_89, as in ptxas."""
_YIELD: Final = op("YIELD")
_VARIABLE: Final = (K_R, K_P, K_UR)
"""Files whose values may vary: in UR what sets of threads compute one after the other."""
_PIECEWISE_LIMIT: Final = 4_000_000
"""Limit of block visits for exact joins; beyond it every join of a region counts as divergent."""


@final
class Divergence:
    """The results for one function; block sets are indexed by ``Block.id``."""

    __slots__ = ("branches", "regions", "varying")

    def __init__(self, registers: int, blocks: int) -> None:
        self.varying: bytearray = bytearray(registers)
        """1 for each virtual register whose value may differ between threads."""
        self.branches: bytearray = bytearray(blocks)
        """1 for each block that ends with a divergent branch."""
        self.regions: bytearray = bytearray(blocks)
        """1 for each block between a divergent branch and its post-dominator, or after a YIELD: part of the warp may be elsewhere."""

    def is_varying(self, o: Opnd) -> bool:
        """True if an operand may differ between threads."""
        # Operand tests are inlined here: in plain Python the calls would cost more than the rest.
        if o & KIND_MASK not in _VARIABLE:
            return False
        if o < FIRST_VREG:
            return not in_file(o, K_UR) and not is_hardwired(o) and bare(o) != SP
        return self.varying[o >> PAYLOAD_SHIFT] != 0


def branch_condition(b: Block) -> list[Opnd]:
    """The operands that select the successor at the end of a block with several successors."""
    if len(b.succs) < 2 or not b.insts:
        return []
    term = b.insts[-1]
    return [o for o in [term.guard, *term.src] if is_reg(o) and not in_file(o, K_B) and not is_true_pred(o)]


def yielding(blocks: Iterable[Block]) -> list[Block]:
    """Blocks with a YIELD."""
    return [b for b in blocks if any(i.op is _YIELD for i in b.insts)]


def exit_edges(fn: Func) -> frozenset[tuple[int, int]]:
    """Edges (block id, successor id) of branches after which threads only run to EXIT and meet no other threads.

    Such threads are gone: the remaining ones are as converged as before.  If every edge of a branch is of this kind,
    the edge that leads to the most blocks is left out.
    """
    blocks = reverse_postorder(fn)
    bit = {b.id: 1 << i for i, b in enumerate(blocks)}
    reach: dict[int, int] = {b.id: bit[b.id] for b in blocks}
    stays = 0
    changed = True
    while changed:
        changed = False
        for b in reversed(blocks):
            mask = bit[b.id]
            for s in b.succs:
                mask |= reach[s.id]
            if mask != reach[b.id]:
                reach[b.id] = mask
                changed = True
    for b in blocks:
        if not b.succs and not (b.insts and b.insts[-1].op.base == "EXIT"):
            stays |= bit[b.id]
    out: set[tuple[int, int]] = set()
    for b in blocks:
        if len(b.succs) < 2:
            continue
        cuts: list[tuple[int, int]] = []
        others = _beside(b, reach)
        for s in b.succs:
            mine = reach[s.id]
            if not mine & (others[s.id] | stays | bit[b.id]):
                cuts.append((mine.bit_count(), s.id))
        if len(cuts) == len(b.succs):
            cuts.sort()
            cuts.pop()
        out.update((b.id, s) for _, s in cuts)
    return frozenset(out)


def _beside(b: Block, reach: dict[int, int]) -> dict[int, int]:
    """For each successor of a block, by id, what the others reach."""
    distinct = list(dict.fromkeys([s.id for s in b.succs]))
    out: dict[int, int] = {}
    before = 0
    for ident in distinct:
        out[ident] = before
        before |= reach[ident]
    after = 0
    for ident in reversed(distinct):
        out[ident] |= after
        after |= reach[ident]
    return out


def divergence(fn: Func) -> Divergence:
    """Analyse a function in SSA form (or any form: a register with several definitions varies if one of them varies)."""
    return _Solver(fn).run()


@final
class _Solver:
    __slots__ = (
        "blocks", "by_id", "budget", "cut", "fn", "forest", "index", "inside", "left", "masks", "nexts", "pdom", "result", "users", "where",
        "work",
    )  # fmt: skip

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.result: Divergence = Divergence(len(fn.vkind), fn.next_block)
        self.blocks: list[Block] = reverse_postorder(fn)
        self.by_id: dict[int, Block] = {b.id: b for b in self.blocks}
        self.index: list[int] = [-1] * fn.next_block
        for i, b in enumerate(self.blocks):
            self.index[b.id] = i
        self.nexts: list[list[int]] = [[] for _ in range(fn.next_block)]
        """The successors of each block, by id."""
        for b in self.blocks:
            self.nexts[b.id] = [s.id for s in b.succs]
        dom: DomTree = dominators(fn)
        self.forest: LoopForest = find_loops(fn, dom)
        self.cut: frozenset[tuple[int, int]] = exit_edges(fn)
        self.pdom: DomTree = post_dominators(fn, self.cut)
        self.inside: dict[int, frozenset[int]] = {}
        """The blocks of each loop by its header, as far as they were asked for."""
        self.left: set[int] = set()
        """Headers of the loops that threads leave in different iterations."""
        self.users: list[list[Inst]] = [[] for _ in range(len(fn.vkind))]
        self.where: dict[int, Block] = {}
        self.masks: dict[int, Opnd] = {}
        """Operation of several threads (uid) -> the mask of these, a virtual register."""
        self.work: list[int] = []
        self.budget: int = _PIECEWISE_LIMIT

    def run(self) -> Divergence:
        for b in self.blocks:
            gathers = False
            for inst in b.insts:
                self.where[inst.uid] = b
                if inst.op is WARPSYNC or inst.op is SEPARATE:
                    gathers = True
                for o in inst.uses():
                    if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                        self.users[o >> PAYLOAD_SHIFT].append(inst)
            if gathers:
                self._note_masks(b)
        for b in self.blocks:
            for inst in b.insts:
                if self._varies_by_itself(inst):
                    self._mark_results(inst)
            if any(self.result.is_varying(o) for o in branch_condition(b)):
                self._diverge(b)
        while self.work:
            ident = self.work.pop()
            for inst in self.users[ident]:
                b = self.where[inst.uid]
                if b.insts[-1] is inst and len(b.succs) > 1:
                    self._diverge(b)
                elif not self._is_marked(inst) and self._varies_with_sources(inst):
                    self._mark_results(inst)
        for x in onward(yielding(self.blocks)):
            self.result.regions[x] = 1
        return self.result

    def _note_masks(self, b: Block) -> None:
        for sync, inst in collectives(b):
            if inst is not None and is_vreg(sync.src[0]):
                self.masks[inst.uid] = sync.src[0]
                self.users[vreg(sync.src[0])].append(inst)

    def _mark(self, ident: int) -> None:
        if not self.result.varying[ident]:
            self.result.varying[ident] = 1
            self.work.append(ident)

    def _mark_results(self, inst: Inst) -> None:
        for d in inst.dst:
            if d >= FIRST_VREG and (kind_of(d) in (K_R, K_P) or (in_file(d, K_UR) and self._members_vary(inst))):
                self._mark(vreg(d))

    def _is_marked(self, inst: Inst) -> bool:
        """True if :meth:`_mark_results` has nothing left to mark."""
        varying = self.result.varying
        for d in inst.dst:
            if d >= FIRST_VREG and not varying[d >> PAYLOAD_SHIFT] and d & KIND_MASK in (K_R, K_P):
                return False
        return inst.uid not in self.masks

    def _members_vary(self, inst: Inst) -> bool:
        """True for an operation of several threads that may run once for each of several sets of them."""
        return self.result.is_varying(self.masks.get(inst.uid, K_NONE))

    def _varies_by_itself(self, inst: Inst) -> bool:
        """True if the results vary whatever the virtual sources are."""
        o = inst.op
        if o.flags & (F_VARYING | F_CALL):
            return True
        if o.flags & F_READ and o.flags & F_WRITE and not o.flags & F_AGREES:
            return True
        if o.flags & F_SPECIAL:
            for s in inst.src:
                if kind_of(s) == K_WORD:
                    name = word_text(s)
                    if name in _VARYING_SPECIAL or (
                        name == _VIRTUAL_ID and not self.fn.target.has(features.UNIFORM_WARP_NUMBER)
                    ):
                        return True
            return False
        if o.base == "SHFL":
            return not self._uniform_shuffle(inst)
        return self._varies_with_sources(inst)

    def _uniform_shuffle(self, inst: Inst) -> bool:
        """True for a shuffle that gives every thread the value of one lane: index mode, constant lane and bounds of the whole warp."""
        if "IDX" not in inst.op.mods or len(inst.src) < 3:
            return False
        lane, bounds = inst.src[1], inst.src[2]
        return is_imm(lane) and is_imm(bounds) and imm_value(bounds) == 0x1F

    def _varies_with_sources(self, inst: Inst) -> bool:
        if inst.op.base == "SHFL":
            return False
        if inst.op.flags & F_SAME:
            return (inst.guard != PT and self.result.is_varying(inst.guard)) or self._members_vary(inst)
        varying = self.result.varying
        for o in inst.uses():
            # Most sources are virtual registers, for which the test is written out.
            if o >= FIRST_VREG:
                if varying[o >> PAYLOAD_SHIFT] if o & KIND_MASK in _VARIABLE else False:
                    return True
            elif o != K_NONE and self.result.is_varying(o):
                return True
        return False

    def _diverge(self, b: Block) -> None:
        """Mark a branch as divergent, and the values that vary because of it."""
        res = self.result
        if res.branches[b.id]:
            return
        res.branches[b.id] = 1
        if sum((b.id, s.id) not in self.cut for s in b.succs) < 2:
            return
        end = self.pdom.idom[b.id]
        region = self._region(b, end)
        for x in region:
            res.regions[x] = 1
        joins = self._joins(b, end, region)
        for x in joins:
            for inst in self.by_id[x].insts:
                if inst.op.base != "phi":
                    break
                if any(s != inst.src[0] for s in inst.src):
                    self._mark_results(inst)
        self._leave_loops(b, end, region)

    def _region(self, b: Block, end: int) -> list[int]:
        """Blocks reachable from the branch before its post-dominator."""
        nexts = self.nexts
        seen = bytearray(len(nexts))
        if end != NO_BLOCK:
            seen[end] = 1
        work = list(nexts[b.id])
        out: list[int] = []
        while work:
            x = work.pop()
            if not seen[x]:
                seen[x] = 1
                out.append(x)
                work += nexts[x]
        return out

    def _joins(self, b: Block, end: int, region: list[int]) -> list[int]:
        """Blocks that two disjoint paths from the branch reach first together.

        Every block gets the label of the last join (or successor of the branch) on its paths; a block where labels
        differ is a join.
        """
        if len(region) > self.budget:
            return [*region, end] if end != NO_BLOCK else region
        nexts = self.nexts
        label = [NO_BLOCK] * len(nexts)
        joined: set[int] = set()
        work: list[int] = []
        inside = bytearray(len(nexts))
        for x in region:
            inside[x] = 1
        for x in nexts[b.id]:
            if label[x] != NO_BLOCK and x == end:
                joined.add(x)
            label[x] = x
            work.append(x)
        work.sort(key=lambda x: -self.index[x])
        while work:
            x = work.pop()
            self.budget -= 1
            if not inside[x]:
                continue
            mine = label[x]
            for s in nexts[x]:
                old = label[s]
                if old == mine:
                    continue
                if old == NO_BLOCK:
                    label[s] = mine
                    work.append(s)
                    continue
                if old != s:
                    label[s] = s
                    work.append(s)
                joined.add(s)
        return list(joined)

    def _leave_loops(self, b: Block, end: int, region: list[int]) -> None:
        """Mark values used outside a loop as varying if threads of the branch leave the loop in different iterations."""
        loop = self.forest.innermost[b.id]
        reached = [*region, end] if end != NO_BLOCK else region
        while loop is not None:
            if loop.header.id not in self.left:
                inside = self.inside.get(loop.header.id)
                if inside is None:
                    inside = self.inside[loop.header.id] = frozenset(loop.blocks)
                if any(x not in inside for x in reached):
                    self.left.add(loop.header.id)
                    self._mark_outside(loop.blocks, inside)
            loop = loop.parent

    def _mark_outside(self, blocks: list[int], inside: frozenset[int]) -> None:
        """Mark the values of some blocks that are used in others."""
        for x in blocks:
            for inst in self.by_id[x].insts:
                for d in inst.dst:
                    if d >= FIRST_VREG and not in_file(d, K_B):
                        if any(self.where[u.uid].id not in inside for u in self.users[vreg(d)]):
                            self._mark(vreg(d))
