"""Live ranges, word by word.

Instructions are numbered in reverse postorder: one *point* each, and one more at the head of every block.  A word of a
virtual register occupies half-open intervals of points ``[definition, last use)``.  An instruction reads before it
writes; a value that dies at an instruction may therefore share a register with one that the instruction defines.  Two
words can share a register exactly if their intervals are disjoint.  This holds for matrix operations too: ptxas 13.0.88
put the result of HMMA on its first or second source in 231 of 1008 cases (sm_80).

Uniform registers, uniform predicates and convergence barriers belong to the warp, not to the thread: the arms of a
divergent branch run one after the other, in any order, with the same registers.  For them the graph gets extra edges
from the end of each arm back to the heads of the other arms.  After a YIELD, part of the warp may run ahead arbitrarily
far before the rest continues there.  Extra edges therefore lead from every block after it to every other such block and
to the code after the YIELD.
"""

from typing import Final, final

from orias.analysis.cfg import NO_BLOCK, onward, post_dominators, reverse_postorder
from orias.analysis.divergence import yielding
from orias.analysis.liveness import members
from orias.diag import Unsupported
from orias.isa.op import F_CALL, F_JUMP, F_YIELDS
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FIRST_VREG,
    K_B,
    K_P,
    K_R,
    K_UP,
    KIND_MASK,
    LANE_MASK,
    PAYLOAD_SHIFT,
    SP,
    Opnd,
    bare,
    in_file,
    is_physical,
    is_vreg,
    kind_of,
    lane_of,
    lane_range,
    lane_words,
    reg_id,
    reg_plus,
    vreg,
)
from orias.ori.ir import Block, Func, Inst
from orias.regalloc.reserved import Reserved


@final
class Ranges:
    """Live ranges of a function in state ``virtual``."""

    __slots__ = (
        "block_end",
        "block_start",
        "clobbers",
        "depth",
        "fn",
        "insts",
        "order",
        "phys",
        "points",
        "segs",
        "wbase",
    )

    def __init__(self, fn: Func) -> None:
        self.fn: Final[Func] = fn
        self.order: Final[list[Block]] = reverse_postorder(fn)
        self.insts: list[Inst | None] = []
        """Instruction at each point; None at the heads of blocks."""
        self.depth: list[int] = []
        """Loop depth of each point."""
        self.block_start: list[int] = [0] * fn.next_block
        self.block_end: list[int] = [0] * fn.next_block
        """First point of the block, and first point after it, by block id."""
        for b in self.order:
            self.block_start[b.id] = len(self.insts)
            self.insts.append(None)
            self.insts.extend(b.insts)
            self.block_end[b.id] = len(self.insts)
            self.depth.extend([b.depth] * (len(b.insts) + 1))
        self.points: int = len(self.insts)
        self.wbase: list[int] = [0] * (len(fn.vkind) + 1)
        """Number of the first word of each virtual register; the words of a register are consecutive."""
        total = 0
        for v in range(FIRST_VIRTUAL, len(fn.vkind)):
            self.wbase[v] = total
            total += fn.vwidth[v]
        self.wbase[len(fn.vkind)] = total
        self.segs: list[list[int]] = [[] for _ in range(total)]
        """Intervals of each word as a flat ascending list start, end, start, end, ..."""
        self.phys: dict[Opnd, list[int]] = {}
        """Intervals of physical registers (plain operands)."""
        self.clobbers: list[tuple[int, Inst]] = []
        """Calls and their points."""
        _build(self)

    def words(self, o: Opnd) -> range:
        """The word numbers a virtual register operand covers."""
        v = o >> PAYLOAD_SHIFT
        base = self.wbase[v]
        if not o & LANE_MASK:
            return range(base, base + self.fn.vwidth[v])
        first, count = lane_words(o, 0)
        return range(base + first, base + first + count)


def is_phys(o: Opnd) -> bool:
    """True for a physical register that can hold a value (not RZ, PT ..., not the stack pointer)."""
    # Before allocation, physical convergence barriers are numbered by nesting depth and may live across blocks.
    return is_physical(o) and not in_file(o, K_B) and bare(o) != SP


def _build(rg: Ranges) -> None:
    fn = rg.fn
    wbase = rg.wbase
    vwidth = fn.vwidth
    size = fn.next_block
    exposed: list[set[int]] = [set() for _ in range(size)]
    killed: list[set[int]] = [set() for _ in range(size)]
    # Operand tests are inlined here: calls would cost plain Python more than the work between them.
    for b in rg.order:
        gen = exposed[b.id]
        kill = killed[b.id]
        for inst in b.insts:
            for o in inst.src:
                if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                    v = o >> PAYLOAD_SHIFT
                    if vwidth[v] == 1:
                        if wbase[v] not in kill:
                            gen.add(wbase[v])
                        continue
                    for w in rg.words(o):
                        if w not in kill:
                            gen.add(w)
            o = inst.guard
            if o >= FIRST_VREG:
                w = wbase[o >> PAYLOAD_SHIFT]
                if w not in kill:
                    gen.add(w)
            o = inst.old
            if is_vreg(o):
                for w in rg.words(o):
                    if w not in kill:
                        gen.add(w)
            for o in inst.dst:
                if o >= FIRST_VREG:
                    v = o >> PAYLOAD_SHIFT
                    first = wbase[v]
                    if vwidth[v] == 1:
                        kill.add(first)
                    else:
                        kill.update(range(first, first + vwidth[v]))
    live_out = _solve(rg, exposed, killed)
    _scan(rg, live_out, Reserved(fn, rg.wbase, rg.order, live_out))


def _solve(rg: Ranges, exposed: list[set[int]], killed: list[set[int]]) -> list[list[int]]:
    """Words live out of each block, by block id."""
    fn = rg.fn
    size = fn.next_block
    thread: list[int] = []
    warp: list[int] = []
    everywhere: set[int] = set()
    for gen in exposed:
        everywhere |= gen
    # What a block writes before a YIELD and reads after it is exposed to the threads that run ahead.
    for b in yielding(rg.order):
        everywhere |= _used_behind_yield(rg, b)
    kind_of = bytearray(rg.wbase[-1])
    of_warps: set[int] = set()
    for v in range(FIRST_VIRTUAL, len(fn.vkind)):
        words = range(rg.wbase[v], rg.wbase[v + 1])
        for w in words:
            kind_of[w] = fn.vkind[v]
        if fn.vkind[v] not in (K_R, K_P):
            of_warps.update(words)
    for w in sorted(everywhere):
        if kind_of[w] in (K_R, K_P):
            thread.append(w)
        else:
            warp.append(w)
    succs: list[list[int]] = [[] for _ in range(size)]
    for b in rg.order:
        succs[b.id] = [s.id for s in b.succs]
    order = [b.id for b in reversed(rg.order)]
    out: list[list[int]] = [[] for _ in range(size)]
    if thread:
        _dataflow(order, succs, thread, exposed, killed, out)
    if warp:
        # An arm that exits and only holds words of its own still overwrites registers of the other arm.
        order, succs = _warp_graph(rg, order, succs, exposed, killed, of_warps)
        exposed = exposed + [set() for _ in range(len(succs) - size)]
        _add_yields(rg, order, succs, exposed)
        killed = killed + [set() for _ in range(len(succs) - size)]
        wide_out: list[list[int]] = [[] for _ in range(len(succs))]
        _dataflow(order, succs, warp, exposed, killed, wide_out)
        for i in range(size):
            out[i] = out[i] + wide_out[i]
    return out


def _dataflow(
    order: list[int],
    succs: list[list[int]],
    words: list[int],
    exposed: list[set[int]],
    killed: list[set[int]],
    out: list[list[int]],
) -> None:
    """Backward liveness over the given words; appends the words live out of each block to `out`."""
    index: dict[int, int] = {w: i for i, w in enumerate(words)}
    n = len(succs)
    gen = [0] * n
    keep = [-1] * n
    preds: list[list[int]] = [[] for _ in range(n)]
    for b in order:
        for s in succs[b]:
            preds[s].append(b)
        m = 0
        for w in exposed[b]:
            i = index.get(w)
            if i is not None:
                m |= 1 << i
        gen[b] = m
        m = 0
        for w in killed[b]:
            i = index.get(w)
            if i is not None:
                m |= 1 << i
        keep[b] = ~m
    live_in = [0] * n
    live_out = [0] * n
    queued = bytearray(b"\1" * n)
    work = order
    while work:
        again: list[int] = []
        for b in work:
            queued[b] = 0
            m = 0
            for s in succs[b]:
                m |= live_in[s]
            live_out[b] = m
            m = gen[b] | (m & keep[b])
            if m != live_in[b]:
                live_in[b] = m
                for p in preds[b]:
                    if not queued[p]:
                        queued[p] = 1
                        again.append(p)
        work = again
    for b in order:
        m = live_out[b]
        if m:
            out[b].extend(words[k] for k in members(m))


def _warp_graph(
    rg: Ranges,
    order: list[int],
    succs: list[list[int]],
    exposed: list[set[int]],
    killed: list[set[int]],
    warp: set[int],
) -> tuple[list[int], list[list[int]]]:
    """The control flow of a warp, which may run the other arm of a divergent branch after one arm."""
    fn = rg.fn
    tree = post_dominators(fn)
    out = [list(s) for s in succs]
    node_of: dict[int, int] = {}
    ends = [b.id for b in rg.order if not b.succs]
    extra: list[int] = []
    for b in rg.order:
        if len(b.succs) < 2:
            continue
        term = b.terminator()
        if term is not None and term.op.flags & F_JUMP and any(in_file(o, K_UP) for o in (term.guard, *term.src)):
            continue
        join = tree.idom[b.id]
        arms = [s for s in b.succs if s.id != join]
        if len(arms) < 2 and len(b.succs) == 2:
            continue
        if len(b.succs) == 2 and any(
            not s.succs and not (exposed[s.id] & warp) and not (killed[s.id] & warp) for s in arms
        ):
            continue
        node = node_of.get(join)
        if node is None:
            node = len(out)
            node_of[join] = node
            out.append([])
            extra.append(node)
            if join == NO_BLOCK:
                for e in ends:
                    out[e].append(node)
        out[node].extend(s.id for s in arms)
    for b in rg.order:
        node = node_of.get(b.id)
        if node is not None:
            for p in b.preds:
                out[p.id].append(node)
    return extra + order, out


def _add_yields(rg: Ranges, order: list[int], succs: list[list[int]], exposed: list[set[int]]) -> None:
    """Add nodes for threads that continue after a YIELD while other threads are anywhere after it."""
    waiting = yielding(rg.order)
    if not waiting:
        return
    behind = onward(waiting)
    anywhere = len(succs)
    succs.append([b.id for b in rg.order if b.id in behind])
    exposed.append(set())
    order.insert(0, anywhere)
    for x in list(succs[anywhere]):
        succs[x].append(anywhere)
    for b in waiting:
        succs[anywhere].append(len(succs))
        order.insert(0, len(succs))
        succs.append([s.id for s in b.succs])
        exposed.append(_used_behind_yield(rg, b))


def _used_behind_yield(rg: Ranges, b: Block) -> set[int]:
    """Words that are live after a YIELD of a block because of what the block reads there."""
    out: set[int] = set()
    held: set[int] = set()
    for inst in reversed(b.insts):
        if inst.op.flags & F_YIELDS:
            held |= out
        for o in inst.dst:
            if o >= FIRST_VREG:
                out.difference_update(rg.words(o))
        for o in inst.uses():
            if is_vreg(o):
                out.update(rg.words(o))
    return held


def _scan(rg: Ranges, live_out: list[list[int]], reserved: Reserved) -> None:
    """Walk every block backwards and build the intervals."""
    fn = rg.fn
    segs = rg.segs
    wbase = rg.wbase
    vwidth = fn.vwidth
    calls = fn.calls
    end_of = [0] * (wbase[-1] + 1)
    backwards: list[list[int]] = segs
    for b in reversed(rg.order):
        start = rg.block_start[b.id]
        stop = rg.block_end[b.id]
        live: set[int] = set(live_out[b.id])
        live.update(reserved.out.get(b.id, ()))
        for w in live:
            end_of[w] = stop
        phys_end: dict[Opnd, int] = {}
        point = stop
        for inst in reversed(b.insts):
            point -= 1
            for o in inst.dst:
                if o >= FIRST_VREG:
                    v = o >> PAYLOAD_SHIFT
                    for w in range(wbase[v], wbase[v] + vwidth[v]):
                        if w in live:
                            live.discard(w)
                            end = end_of[w]
                        else:
                            end = point + 1
                        s = backwards[w]
                        if s and s[-1] == end:
                            s[-1] = point
                        else:
                            s.append(end)
                            s.append(point)
                elif is_phys(o):
                    for r in _phys_words(fn, inst, o):
                        end = phys_end.pop(r, point + 1)
                        rg.phys.setdefault(r, []).extend((end, point))
            for w in reserved.freed.get(inst.uid, ()):
                if w not in live:
                    live.add(w)
                    end_of[w] = point
            if inst.op.flags & F_CALL and inst.uid in calls:
                rg.clobbers.append((point, inst))
            for o in inst.src:
                if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                    v = o >> PAYLOAD_SHIFT
                    if vwidth[v] == 1:
                        w = wbase[v]
                        if w not in live:
                            live.add(w)
                            end_of[w] = point
                        continue
                    for w in rg.words(o):
                        if w not in live:
                            live.add(w)
                            end_of[w] = point
                elif is_phys(o):
                    for r in _phys_words(fn, inst, o):
                        phys_end.setdefault(r, point)
            o = inst.guard
            if o >= FIRST_VREG:
                w = wbase[o >> PAYLOAD_SHIFT]
                if w not in live:
                    live.add(w)
                    end_of[w] = point
            o = inst.old
            if is_vreg(o):
                for w in rg.words(o):
                    if w not in live:
                        live.add(w)
                        end_of[w] = point
        for w in live:
            end = end_of[w]
            s = backwards[w]
            if s and s[-1] == end:
                s[-1] = start
            else:
                s.append(end)
                s.append(start)
        for r, end in phys_end.items():
            if b is not rg.order[0]:
                raise Unsupported(
                    f"physical register {kind_of(r)}:{reg_id(r)} is live into block b{b.id} of {fn.name}",
                    b.insts[0].loc if b.insts else 0,
                )
            rg.phys.setdefault(r, []).extend((end, start))
    for s in segs:
        s.reverse()
    for s in rg.phys.values():
        s.reverse()


def _phys_words(fn: Func, inst: Inst, o: Opnd) -> list[Opnd]:
    """The physical registers of an operand: as many as the virtual side of a copy has words, else one."""
    first = bare(o)
    if inst.op.name not in ("copy", "pcopy"):
        return [first]
    i = inst.dst.index(o) if o in inst.dst else inst.src.index(o)
    other = inst.src[i] if o in inst.dst else inst.dst[i]
    count = 1
    if is_vreg(other):
        code = lane_of(other)
        count = lane_range(code, fn.vwidth[vreg(other)])[1]
    return [reg_plus(first, k) for k in range(count)]
