"""SinkRemat and OriDoRemat: cheap values do not live through the blocks of highest register pressure.

A value that is live through a block, but neither defined nor used there, holds a register in it.  If the value is a constant, a
constant-bank read or a special register, it is rematerialised after the block.  If it is computed from such values,
or from values that are live there anyway, its computation moves after the block.
"""

from collections.abc import Iterator
from typing import Final, final

from orias.analysis.cfg import NO_BLOCK, DomTree, Loop, LoopForest, dominators, find_loops, reverse_postorder
from orias.analysis.liveness import Liveness, WordCounts, def_mask, liveness, reg_bit, use_mask
from orias.isa.op import (
    F_CALL,
    F_CONSTMEM,
    F_CONVERGENT,
    F_FENCE,
    F_PINNED,
    F_PSEUDO,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_WRITE,
)
from orias.isa.operand import (
    FIRST_VREG,
    K_CONST,
    K_IMM,
    K_R,
    K_WORD,
    PT,
    RZ,
    URZ,
    Opnd,
    has_lane,
    in_file,
    is_vreg,
    kind_of,
    payload,
    vreg,
    with_reg,
    word_text,
)
from orias.isa.roles import CONSTANT_WORDS
from orias.ori.decisions import MOVED, REMATERIALISED, Decision
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.simplify import portable
from orias.target.fixed_registers import FIXED_SPECIALS
from orias.target.register_steps import free_words, live_words

_STAY: Final = F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_WRITE | F_FENCE | F_PINNED


def relieve_peaks(fn: Func, known: Liveness | None = None, limit: int = 0) -> bool:
    """Rematerialise values, or move their computation, after the blocks of highest pressure; True if anything changed.

    `known`: the function's liveness; `limit`: the registers within which it has to stay (0: those that it may have).
    """
    if len(fn.blocks) < 2 or len(fn.blocks) > fn.knobs.remat_max_blocks:
        return False
    changed = False
    done: set[int] = set()
    if find_loops(fn, dominators(fn)).irreducible:
        return False
    lv = liveness(fn) if known is None else known
    needs = words_needed(fn, lv)
    most = limit or fn.max_regs
    free = live_words(limit) if limit else free_words(fn.target, fn.max_regs)
    for _ in range(fn.knobs.remat_peaks):
        top = max(needs.values())
        left = [b for b in fn.blocks if b.id not in done and needs[b.id] > max(free, top - fn.knobs.remat_peak_slack)]
        if not left:
            break
        peak = max(left, key=lambda b: needs[b.id])
        done.add(peak.id)
        lacking = needs[peak.id] - live_words(most)
        relief = _Peak(fn, peak, lv, lacking)
        if relief.run():
            changed = True
            if lacking > 0:
                # What moved for this block may let more move for the others, which would spill.
                done = {peak.id}
            before, lv = lv, liveness(fn)
            same = {k for k, out in enumerate(before.live_out) if out == lv.live_out[k]} - relief.touched
            needs = dict(_words_by_block(fn, lv, {k: n for k, n in needs.items() if k in same and not fn.calls}))
    return changed


def needs_many_registers(fn: Func, lv: Liveness) -> bool:
    """True for a function that holds more registers somewhere than the lowest step of occupancy or its limit allows."""
    free = free_words(fn.target, fn.max_regs)
    return any(n > free for _, n in _words_by_block(fn, lv, {}))


def words_needed(fn: Func, lv: Liveness) -> dict[int, int]:
    """Most words of R registers live at once in each block, by id.

    What lives through a call is kept out of the callee's registers, but for constants: the allocator reads them again
    after it (``regalloc.spill.across_calls``).
    """
    return dict(_words_by_block(fn, lv, {}))


def _words_by_block(fn: Func, lv: Liveness, known: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The block ids and numbers of :func:`words_needed`, each found when it is asked for.  `known`: the numbers of some blocks."""
    constants = constant_values(fn) if fn.calls else 0
    words = lv.words(fn, K_R)
    width = bytes([n if kind == K_R else 0 for n, kind in zip(fn.vwidth, fn.vkind, strict=True)])
    for b in fn.blocks:
        found = known.get(b.id, -1)
        yield b.id, _most_words(fn, b, lv, constants, words, width) if found < 0 else found


def constant_values(fn: Func) -> int:
    """The registers, as bits, that hold constants of the code or of constant banks."""
    constants = 0
    for inst in fn.insts():
        if (inst.op is OP_COPY and _is_free(inst)) or (inst.op in CONSTANT_WORDS and inst.src[1] in (RZ, URZ)):
            constants |= reg_bit(inst.dst[0])
    return constants


def _most_words(fn: Func, b: Block, lv: Liveness, constants: int, words: WordCounts, width: bytes) -> int:
    """`width`: the words of R registers of each virtual register."""
    out = lv.live_out[b.id]
    now = top = words.count(out)
    # A bit of a byte is cheaper to change than one of an int as long as all registers are many.
    live = bytearray(out.to_bytes((len(width) + 7) >> 3, "little"))
    for inst in reversed(b.insts):
        if inst.op is OP_PHI:
            break
        for o in inst.dst:
            if o >= FIRST_VREG:
                v = payload(o)
                bit = 1 << (v & 7)
                if live[v >> 3] & bit:
                    live[v >> 3] ^= bit
                    now -= width[v]
        if inst.op.flags & F_CALL and inst.uid in fn.calls:
            through = int.from_bytes(live, "little") & ~constants
            top = max(top, words.count(through) + fn.calls[inst.uid].clobber_r.bit_count())
        for o in inst.uses():
            if is_vreg(o):
                v = payload(o)
                bit = 1 << (v & 7)
                if not live[v >> 3] & bit:
                    live[v >> 3] |= bit
                    now += width[v]
        if now > top:
            top = now
    return top


@final
class _Peak:
    """The relief of one block."""

    __slots__ = (
        "clones",
        "defs",
        "fn",
        "forest",
        "front",
        "home",
        "index",
        "lacking",
        "lv",
        "moved",
        "order",
        "peak",
        "rank",
        "touched",
        "tree",
        "users",
    )

    def __init__(self, fn: Func, peak: Block, lv: Liveness, lacking: int) -> None:
        self.lacking: int = lacking
        """Words that the block needs beyond the limit of registers, which would be spilled."""
        self.fn: Final[Func] = fn
        self.peak: Final[Block] = peak
        self.lv: Final[Liveness] = lv
        self.tree: Final[DomTree] = dominators(fn)
        self.forest: Final[LoopForest] = find_loops(fn, self.tree)
        self.order: Final[list[Block]] = reverse_postorder(fn)
        self.index: Final[dict[int, int]] = {b.id: k for k, b in enumerate(self.order)}
        self.defs: Final[dict[int, Inst]] = {}
        self.home: Final[dict[int, Block]] = {}
        """Block of each definition."""
        self.rank: Final[dict[int, int]] = {}
        """Place of each instruction, by uid."""
        self.users: Final[dict[int, list[tuple[Inst, Block]]]] = {}
        """Readers of each register and the blocks that they read in (for a phi: the predecessor)."""
        self.clones: Final[dict[tuple[int, int], int]] = {}
        """Rematerialised register, by register and block."""
        self.front: Final[dict[int, list[Inst]]] = {}
        """New first instructions of blocks."""
        self.moved: Final[set[int]] = set()
        """Instructions (uids) that leave their blocks."""
        self.touched: Final[set[int]] = set()
        """The blocks (ids) with other instructions, or with instructions that read other registers."""
        for b in self.order:
            for inst in b.insts:
                self.rank[inst.uid] = len(self.rank)
                for d in inst.dst:
                    if is_vreg(d):
                        self.defs[vreg(d)] = inst
                        self.home[vreg(d)] = b
                if inst.op is OP_PHI:
                    for o, p in zip(inst.src, b.preds, strict=True):
                        self._reads(o, inst, p)
                else:
                    for o in inst.uses():
                        self._reads(o, inst, b)

    def _reads(self, o: Opnd, inst: Inst, b: Block) -> None:
        if reg_bit(o):
            self.users.setdefault(vreg(o), []).append((inst, b))

    def run(self) -> bool:
        through = self.lv.live_in[self.peak.id] & self.lv.live_out[self.peak.id]
        for inst in self.peak.insts:
            through &= ~(use_mask(inst) | def_mask(inst))
        idle = [v for v in self.defs if through >> v & 1 and self.fn.vkind[v] == K_R]
        for v in idle:
            if _is_free(self.defs[v]):
                self._make_again(v)
        # Users first: what moved with them has no use left before the block.
        for v in sorted(idle, key=lambda v: -self.rank[self.defs[v].uid]):
            if not _is_free(self.defs[v]):
                self._sink(v)
        idle_mask = sum(1 << v for v in idle)
        for v in idle:
            if not _is_free(self.defs[v]) and self.defs[v].uid not in self.moved:
                if not self._compute_again(v, idle_mask) and self.lacking > 0:
                    # It stays, so that others may be computed from it.
                    idle_mask &= ~(1 << v)
        for b in self.order:
            if self.moved and any(i.uid in self.moved for i in b.insts):
                self.touched.add(b.id)
                b.insts = [i for i in b.insts if i.uid not in self.moved]
        for b in self.order:
            new = self.front.get(b.id)
            if new:
                new.sort(key=self._turn)
                at = 0
                while at < len(b.insts) and b.insts[at].op is OP_PHI:
                    at += 1
                b.insts[at:at] = new
                self.touched.add(b.id)
        return bool(self.front)

    def _turn(self, inst: Inst) -> int:
        """New instructions stand in the order of those that they come from, those without sources first."""
        return self.rank.get(inst.uid, -1)

    # --- constants -------------------------------------------------------------------------------------------------

    def _make_again(self, v: int) -> None:
        """Give the uses that keep a constant alive through the block registers of their own."""
        for inst, b in list(self.users.get(v, ())):
            x = self._place(b)
            if x is not None and x is not self.home[v] and self._is_cheap(self.defs[v], x):
                self._rename(inst, b, v, self._clone(v, x))

    def _is_cheap(self, inst: Inst, x: Block) -> bool:
        """Whether a value without sources may be read at the head of a block: in the loop of the peak not what comes late there."""
        if inst.op is OP_COPY or self._common_loop(x) is None:
            return True
        return inst.op in CONSTANT_WORDS and x.depth < self.peak.depth

    def _place(self, b: Block) -> Block | None:
        """The block at whose head a value used in `b` is rematerialised, so that it is not live in the peak; None where it need not be."""
        if b is self.peak:
            return None
        if self.index[b.id] > self.index[self.peak.id]:
            return self._after(b)
        # Before the peak: only a common loop brings the value here.
        loop = self._common_loop(b)
        return None if loop is None else loop.header

    def _after(self, b: Block) -> Block | None:
        """The highest dominator of a block that does not dominate the peak, outside loops that the peak is not in."""
        x = b.id
        if self.tree.dominates(x, self.peak.id):
            return None
        while True:
            up = self.tree.idom[x]
            if up == NO_BLOCK or self.tree.dominates(up, self.peak.id):
                break
            x = up
        return self.order[self.index[x]]

    def _common_loop(self, b: Block) -> Loop | None:
        """The innermost loop that holds both the block and the peak."""
        loop = self.forest.innermost[self.peak.id]
        while loop is not None and b.id not in loop.blocks:
            loop = loop.parent
        return loop

    def _clone(self, v: int, b: Block) -> int:
        """A register with the same value, made at the head of a block."""
        found = self.clones.get((v, b.id))
        if found is None:
            d = self.defs[v]
            new = self.fn.new_vreg(K_R, self.fn.vwidth[v])
            found = vreg(new)
            copy = self.fn.new_inst(d.op, [new], list(d.src), loc=d.loc)
            self.front.setdefault(b.id, []).append(copy)
            self.clones[v, b.id] = found
            if self.fn.decisions is not None:
                text = f"{d.op.name} runs a second time, so that its result holds no register in the block where most are needed"
                numbers = {"words": self.fn.vwidth[v], "peak_line": line_at(self.peak)}
                self.fn.decisions.append(Decision(REMATERIALISED, d.loc, text, numbers))
            if not _is_free(d):
                self.rank[copy.uid] = self.rank[d.uid]
            self.defs[found] = copy
            self.home[found] = b
        return found

    def _rename(self, inst: Inst, b: Block, old: int, new: int) -> None:
        """Let an instruction read another register (a phi: on the edges from `b`)."""
        self.touched.add(b.id)
        if inst.op is OP_PHI:
            for k, p in enumerate(self.home[vreg(inst.dst[0])].preds):
                if p is b and vreg(inst.src[k]) == old and reg_bit(inst.src[k]):
                    inst.src[k] = with_reg(inst.src[k], new)
        else:
            for k, o in enumerate(inst.src):
                if reg_bit(o) and vreg(o) == old:
                    inst.src[k] = with_reg(o, new)
            if reg_bit(inst.old) and vreg(inst.old) == old:
                inst.old = with_reg(inst.old, new)
        users = self.users[old]
        users[:] = [x for x in users if x[0] is not inst or x[1] is not b]
        self.users.setdefault(new, []).append((inst, b))

    # --- computations ----------------------------------------------------------------------------------------------

    def _sink(self, v: int) -> None:
        """Move the computation of a value after the peak if that takes fewer registers."""
        target = None if self.defs[v].uid in self.moved else self._target(v)
        if target is None:
            return
        chain: list[int] = []
        if self._cost(v, target, chain) >= self.fn.vwidth[v]:
            return
        for x in chain:
            d = self.defs[x]
            self.moved.add(d.uid)
            if self.fn.decisions is not None:
                text = f"{d.op.name} moves after the block where most registers are needed"
                numbers = {"words": self.fn.vwidth[x], "peak_line": line_at(self.peak)}
                self.fn.decisions.append(Decision(MOVED, d.loc, text, numbers))
            self.front.setdefault(target.id, []).append(d)
            self.home[x] = target
            for o in d.src:
                if reg_bit(o):
                    s = vreg(o)
                    self.users[s] = [(i, target if i is d else b) for i, b in self.users[s]]
        for x in chain:
            d = self.defs[x]
            for o in list(d.src):
                if reg_bit(o) and vreg(o) in self.defs and _is_free(self.defs[vreg(o)]):
                    s = vreg(o)
                    if self.home[s] is not target:
                        self._rename(d, target, s, self._clone(s, target))

    def _compute_again(self, v: int, idle: int) -> bool:
        """Compute a value a second time, from values that live through the block anyway or have no sources, so that it need not live through it."""
        sites: list[tuple[Inst, Block, Block]] = []
        again = False
        for inst, b in self.users.get(v, ()):
            x = self._place(b)
            if x is not None:
                if self.tree.dominates(x.id, self.home[v].id):
                    # Computed in every iteration of the loop, before the peak.
                    continue
                if self._common_loop(x) is not None and x.depth >= self.peak.depth:
                    if self.lacking <= 0:
                        return False
                    # A spill would cost a load there.
                    again = True
                sites.append((inst, b, x))
            elif self.index[b.id] > self.index[self.peak.id]:
                return False
        places = {x.id: x for _, _, x in sites}
        if not places or len(places) > self.fn.knobs.remat_places:
            return False
        chains = [(x, self._chain(v, idle, x)) for x in places.values()]
        if not all(chain for _, chain in chains):
            return False
        for x, chain in chains:
            for s in chain:
                self._clone_into(s, x)
        for inst, b, x in sites:
            self._rename(inst, b, v, self._clone(v, x))
        if again:
            self.lacking -= self.fn.vwidth[v]
        return True

    def _chain(self, v: int, idle: int, x: Block) -> list[int]:
        """The values to compute at the head of a block for a given one, sources first; empty if there are too many, or another would live longer for it."""
        inside = self._common_loop(x) is not None
        knobs = self.fn.knobs
        # Where much more is spilled in any case, the words that this saves are not worth it.
        few = 0 < self.lacking <= knobs.remat_spilled_words
        often = knobs.remat_spilled_inst_per_word if few else knobs.remat_inst_per_word
        most = self.fn.vwidth[v] * (1 if inside else often)
        out: list[int] = []
        left = [v]
        while left:
            s = left.pop()
            d = self.defs.get(s)
            if s in out or (s, x.id) in self.clones:
                continue
            if d is None or not pure(d) or d.uid in self.moved or len(out) == most:
                return []
            out.append(s)
            for o in d.src:
                if not reg_bit(o):
                    continue
                t = vreg(o)
                if self.fn.vkind[t] != K_R:
                    return []
                if t in self.defs and self._made_there(t, inside):
                    continue
                if not self.lv.live_out[self.peak.id] >> t & 1 or (idle >> t & 1 and not _is_free(self.defs[t])):
                    left.append(t)
        out.sort(key=lambda s: self.rank[self.defs[s].uid])
        return out

    def _made_there(self, v: int, inside: bool) -> bool:
        """True for a value without register sources; special registers take too long to be read in a loop."""
        return _is_free(self.defs[v]) and (not inside or self.defs[v].op is OP_COPY)

    def _clone_into(self, v: int, x: Block) -> None:
        """Compute a value at the head of a block, its free sources and those computed there before from there."""
        inside = self._common_loop(x) is not None
        copy = self.defs[self._clone(v, x)]
        for k, o in enumerate(copy.src):
            if reg_bit(o):
                s = vreg(o)
                if (s, x.id) not in self.clones and s in self.defs and self._made_there(s, inside):
                    self._clone(s, x)
                made = self.clones.get((s, x.id))
                if made is not None:
                    copy.src[k] = with_reg(o, made)

    def _target(self, v: int) -> Block | None:
        """The block after the peak to whose head all uses of a value let it move."""
        x = -1
        for _, b in self.users.get(v, ()):
            if self.index[b.id] <= self.index[self.peak.id]:
                return None
            x = b.id if x < 0 else self._meet(x, b.id)
        if x < 0 or self.tree.dominates(x, self.peak.id):
            return None
        return self._after(self.order[self.index[x]])

    def _same_loop(self, v: int, target: Block) -> bool:
        """True if moving a computation to a block does not move it into a loop."""
        loop = self.forest.innermost[target.id]
        return loop is None or self.home[v].id in loop.blocks

    def _meet(self, x: int, y: int) -> int:
        """Nearest common dominator."""
        while x != y:
            if self.tree.depth[x] >= self.tree.depth[y]:
                x = self.tree.idom[x]
            else:
                y = self.tree.idom[y]
        return x

    def _cost(self, v: int, target: Block, chain: list[int]) -> int:
        """Words that must live through the peak instead of the value; the values to move are added to `chain`."""
        d = self.defs[v]
        if not pure(d) or len(chain) >= self.fn.knobs.sink_remat_max_inst or not self._same_loop(v, target):
            return self.fn.vwidth[v]
        mark = len(chain)
        chain.append(v)
        total = 0
        for o in d.src:
            s = vreg(o)
            if not reg_bit(o) or s in chain:
                continue
            if self.fn.vkind[s] != K_R:
                total = 1 << 20
                break
            if s in self.defs and self.defs[s].uid in self.moved:
                # It stands after the peak already: there or not at all.
                if self.tree.dominates(self.home[s].id, target.id):
                    continue
                total = 1 << 20
                break
            if s not in self.defs or (self.lv.live_out[self.peak.id] >> s & 1 and not self._only(s, chain)):
                continue
            if s in self.defs and _is_free(self.defs[s]):
                continue
            if self._only(s, chain):
                total += self._cost(s, target, chain)
            else:
                total += self.fn.vwidth[s]
        if total >= self.fn.vwidth[v]:
            del chain[mark:]
            return self.fn.vwidth[v]
        return total

    def _only(self, s: int, chain: list[int]) -> bool:
        """True if a register is read by nothing but the instructions of the chain."""
        uids = {self.defs[x].uid for x in chain}
        return all(i.uid in uids for i, _ in self.users.get(s, ()))


def line_at(b: Block) -> int:
    """The first PTX line of a block, 0 if it has none."""
    return next((i.loc for i in b.insts if i.loc), 0)


def _is_free(inst: Inst) -> bool:
    """True if a value has no register sources: a constant, a read of a constant bank, a special register that does not change."""
    if inst.guard != PT or len(inst.dst) != 1 or has_lane(inst.dst[0]):
        return False
    if inst.op is OP_COPY:
        return kind_of(inst.src[0]) in (K_IMM, K_CONST)
    if inst.op in CONSTANT_WORDS:
        return inst.src[1] in (RZ, URZ)
    if inst.op.base == "S2R":
        return kind_of(inst.src[0]) == K_WORD and word_text(inst.src[0]).startswith(FIXED_SPECIALS)
    return False


def pure(inst: Inst) -> bool:
    """True for a computation of one R result that gives the same anywhere."""
    if inst.guard != PT or len(inst.dst) != 1 or not in_file(inst.dst[0], K_R):
        return False
    op = inst.op
    if op.flags & (_STAY | F_SPECIAL | F_CONSTMEM) or op.loads() or (op.flags & F_PSEUDO and op is not OP_COPY):
        return False
    return portable(inst)
