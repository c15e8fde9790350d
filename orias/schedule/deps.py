"""Dependences between the instructions of a piece of straight-line code.

Edges carry the minimum distance in cycles: exact for fixed latencies, an estimate for the scheduler's priorities for
variable ones (scoreboards make those correct).  Memory accesses depend on each other by address space; two accesses
through the same base register at offsets that do not overlap are independent.  Works on virtual and on physical
registers.
"""

from collections.abc import Callable
from typing import Final, final

from orias.analysis.access import SLOT_GUARD, UNITS, accesses
from orias.isa.op import (
    ANYWHERE,
    F_ALIGNED,
    F_CALL,
    F_CONVERGENT,
    F_FENCE,
    F_MATRIX,
    F_PINNED,
    F_PSEUDO,
    F_READ,
    F_SIDE,
    F_SIZED,
    F_SPECIAL,
    F_TERM,
    F_WGMMA,
    F_WGMMA_SYNC,
    F_WHOLE_WARP,
    F_WRITE,
    F_YIELDS,
    SHARED,
    Op,
)
from orias.isa.operand import (
    FIRST_VREG,
    K_B,
    K_NONE,
    K_R,
    K_WORD,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    SP,
    Opnd,
    bare,
    imm_value,
    in_file,
    is_imm,
    is_physical,
    is_zero_reg,
    kind_of,
    reg_id,
    word_text,
)
from orias.isa.operations import access_bytes
from orias.isa.roles import NEXT_ADDRESS
from orias.ori.ir import OP_IN_TURN, Block, Func, Inst
from orias.ori.reads_writes import Access
from orias.timing.latency import Latency
from orias.timing.units import NEEDS_READ, NEEDS_WRITE

_LONGEST_FIXED: Final = 48
"""No fixed latency is longer; a definition that is so far before a later one needs no edges of its own."""
_ORDERED: Final = F_SIDE | F_FENCE | F_READ | F_WRITE | F_ALIGNED | F_WHOLE_WARP | F_MATRIX | F_WGMMA
"""What keeps a convergent operation in its place among others even where the warp runs as a whole."""
_CLOCKS: Final = ("SR_CLOCK", "SR_GLOBALTIMER", "SR_LANEMASK_ACTIVE")


@final
class Graph:
    """Dependence graph of ``insts``: successors with distances in cycles, and predecessor counts."""

    __slots__ = ("insts", "other_latency", "preds", "succs", "tails", "touched")

    def __init__(self, insts: list[Inst], other_latency: int) -> None:
        self.other_latency: Final[int] = other_latency
        """Assumed cycles of a late result of which nothing is known (the knob SchedReadSBBaseLatency)."""
        self.insts: list[Inst] = insts
        self.succs: list[dict[int, int]] = [{} for _ in insts]
        self.preds: list[int] = [0] * len(insts)
        self.tails: list[int] = [0] * len(insts)
        """Least number of cycles from each instruction to the end of the piece, for what is read soon after it."""
        self.touched: list[Access] = []
        """What each instruction reads and writes, after register allocation."""

    def edge(self, a: int, b: int, cycles: int) -> None:
        """`b` issues at least `cycles` after `a`."""
        if a == b:
            return
        s = self.succs[a]
        old = s.get(b)
        if old is None:
            s[b] = cycles
            self.preds[b] += 1
        elif cycles > old:
            s[b] = cycles

    def reordered(self, order: list[int]) -> "Graph":
        """The dependences before allocation of the same instructions in another order, which has to keep them; `order`: indices."""
        out = Graph([self.insts[k] for k in order], self.other_latency)
        place = [0] * len(order)
        for at, k in enumerate(order):
            place[k] = at
        for at, k in enumerate(order):
            out.succs[at] = {place[s]: cycles for s, cycles in self.succs[k].items()}
            out.preds[at] = self.preds[k]
            out.tails[at] = self.tails[k]
        return out

    def heights(self) -> list[int]:
        """Longest path in cycles from each instruction to the end of the piece, or to where the first reader would wait."""
        out = [0] * len(self.insts)
        for a in range(len(self.insts) - 1, -1, -1):
            best = self.tails[a]
            for b, cycles in self.succs[a].items():
                h = cycles + out[b]
                if h > best:
                    best = h
            out[a] = best
        return out


def is_fixed_point(inst: Inst, virtual: bool) -> bool:
    """True if no instruction may move across: calls, exits inside a block, clock reads, physical registers."""
    op = inst.op
    if op.flags & (F_CALL | F_TERM | F_PINNED) and (op is not NEXT_ADDRESS or not inst.src):
        # LEPC of a label is as good as a constant; one of its own place is the base of the sums that follow it.
        return True
    if op.flags & F_SPECIAL:
        for s in inst.src:
            if kind_of(s) == K_WORD and word_text(s).startswith(_CLOCKS):
                return True
    if virtual and op.flags & F_WGMMA_SYNC:
        # Nothing may access registers of pending operations before the wait; ARRIVE follows the writes that prepare
        # them.
        return True
    if virtual and op.base != "BSSY":
        for o in inst.dst:
            if o < FIRST_VREG and is_physical(o):
                return True
        for o in inst.uses():
            if o < FIRST_VREG and is_physical(o) and bare(o) != SP:
                return True
    return False


def _is_product(flags: int) -> bool:
    """True for a product of matrices that stand in registers, as does the result."""
    return flags & (F_MATRIX | F_READ | F_WRITE | F_SIDE | F_FENCE | F_WGMMA) == F_MATRIX


def may_acquire(o: Op) -> bool:
    """True for a memory access that may be an acquire operation: weak loads of global and local memory are none."""
    return "STRONG" in o.mods or not (o.base in ("LD", "LDL") or o.base.startswith("LDG"))


def _may_cross_meetings(o: Op) -> bool:
    """True for loads that no WARPSYNC orders: the shuffles and votes that it comes before say nothing of memory."""
    return o.flags & (F_READ | F_WRITE | F_SIDE) == F_READ and not may_acquire(o)


def virtual_reads(inst: Inst) -> list[int]:
    """Ids of the virtual registers that an instruction reads, including old value and guard."""
    # Operand tests are inlined here: calls would cost plain Python more than the work between them.
    out = [o >> PAYLOAD_SHIFT for o in inst.src if o >= FIRST_VREG and o & KIND_MASK <= K_B]
    if inst.guard >= FIRST_VREG:
        out.append(inst.guard >> PAYLOAD_SHIFT)
    if inst.old >= FIRST_VREG and inst.old & KIND_MASK <= K_B:
        out.append(inst.old >> PAYLOAD_SHIFT)
    return out


def virtual_writes(inst: Inst) -> list[int]:
    """Ids of the virtual registers that an instruction writes."""
    return [d >> PAYLOAD_SHIFT for d in inst.dst if d >= FIRST_VREG]


def virtual_registers(inst: Inst) -> tuple[list[int], list[int]]:
    """Ids of the virtual registers that an instruction reads and writes."""
    return virtual_reads(inst), virtual_writes(inst)


def estimate(op: Op, other: int) -> int:
    """Estimate of a variable latency in cycles; `other`: for an operation of which nothing is known."""
    return op.estimate or other


@final
class _Access:
    """One memory access, on which later accesses may depend."""

    __slots__ = ("base", "crosses", "end", "node", "space", "start", "ubase")

    def __init__(self, node: int, space: int, crosses: bool = False) -> None:
        self.node: int = node
        self.crosses: bool = crosses
        """A WARPSYNC does not order it."""
        self.space: int = space
        self.base: int = -1
        self.ubase: int = -1
        self.start: int = 0
        self.end: int = 0


@final
class _Definition:
    """A definition of a register, on which later reads and writes may depend."""

    __slots__ = ("distance", "late", "node", "word")

    def __init__(self, node: int, word: int, late: int) -> None:
        self.node: int = node
        self.word: int = word
        self.late: int = late
        """Least number of cycles until it can be read, whatever reads it; -1 if that depends on the reader."""
        self.distance: int = 0
        """Least number of cycles until the latest definition of the register."""


def build(
    insts: list[Inst], after: list[Inst], fn: Func, lat: Latency, virtual: bool, whole: bool = False,
    registers: Callable[[Inst], tuple[list[int], list[int]]] = virtual_registers, free_products: bool = False,
) -> Graph:  # fmt: skip
    """The dependence graph of a piece of straight-line code; `virtual`: before register allocation.

    `after`: the instructions that follow the piece, as far as they should not have to wait for it.  `whole`: the warp runs all of it as
    a whole (:func:`is_whole`), so that votes, elections and shuffles may cross barriers.  `registers`: what gives the virtual
    registers that an instruction reads and writes.  `free_products`: there products of matrices in registers may cross barriers too.
    """
    builder = _Builder(insts, fn, lat, virtual, whole, registers, free_products)
    graph = builder.run()
    builder.look_ahead(after)
    return graph


def is_whole(fn: Func, b: Block) -> bool:
    """True if all threads of a warp that have not left run a block together from its first to its last instruction.

    Not after a WARPSYNC that names threads: it chooses those that a vote sees.
    """
    if fn.kind != "entry" or b.id in fn.parted:
        return False
    return not any(i.op.flags & (F_YIELDS | F_CALL) or i.op.base == "WARPSYNC" for i in b.insts)


@final
class _Builder:
    __slots__ = (
        "free_products",
        "defs",
        "fn",
        "g",
        "last_fence",
        "last_meeting",
        "last_sync",
        "lat",
        "loads",
        "others",
        "registers",
        "stores",
        "uses",
        "version",
        "virtual",
        "whole",
    )

    def __init__(
        self, insts: list[Inst], fn: Func, lat: Latency, virtual: bool, whole: bool,
        registers: Callable[[Inst], tuple[list[int], list[int]]], free_products: bool,
    ) -> None:  # fmt: skip
        self.registers = registers
        self.free_products: bool = free_products
        self.g: Graph = Graph(insts, fn.knobs.sched_read_sb_base_latency)
        self.fn: Func = fn
        self.lat: Latency = lat
        self.virtual: bool = virtual
        self.whole: bool = whole
        self.defs: dict[int, list[_Definition]] = {}
        """Register -> its latest definitions; several if they are guarded."""
        self.uses: dict[int, list[tuple[int, int]]] = {}
        """Register -> reads (node, slot) since its latest definition."""
        self.version: dict[int, int] = {}
        self.loads: list[_Access] = []
        self.stores: list[_Access] = []
        self.others: list[int] = []
        """Convergent operations since the last synchronising operation."""
        self.last_fence: int = -1
        self.last_meeting: int = -1
        """The latest WARPSYNC since the latest fence."""
        self.last_sync: int = -1

    def run(self) -> Graph:
        for n, inst in enumerate(self.g.insts):
            if self.virtual:
                reads, writes = self._accesses(inst)
            else:
                a = accesses(inst, self.fn)
                self.g.touched.append(a)
                reads, writes = a.reads, a.writes
            self._registers(n, inst, reads, writes)
            self._order(n, inst)
        return self.g

    def look_ahead(self, after: list[Inst]) -> None:
        """Set the tails of the graph from the reads of the instructions that follow."""
        distance = 0
        for inst in after:
            reads, writes = self._accesses(inst)
            for r in reads:
                reg, slot = r >> 8, r & 255
                for d in self.defs.get(reg, ()):
                    cycles = self._raw(d, inst, reg, slot) - distance
                    if cycles > self.g.tails[d.node]:
                        self.g.tails[d.node] = cycles
            for w in writes:
                self.defs.pop(w >> 8, None)
            if not inst.op.flags & F_PSEUDO:
                distance += 1

    def _accesses(self, inst: Inst) -> tuple[list[int], list[int]]:
        """Registers that an instruction reads and writes, with positions."""
        if self.virtual:
            read, written = self.registers(inst)
            return [r << 8 | 250 for r in read], [w << 8 for w in written]
        a = accesses(inst, self.fn)
        return a.reads, a.writes

    # --- registers ---------------------------------------------------------------------------------------------

    def _registers(self, n: int, inst: Inst, reads: list[int], writes: list[int]) -> None:
        g = self.g
        for r in reads:
            reg, slot = r >> 8, r & 255
            for d in self.defs.get(reg, ()):
                g.edge(d.node, n, d.late if d.late >= 0 else self._raw(d, inst, reg, slot))
            uses = self.uses.get(reg)
            if uses is None:
                self.uses[reg] = [(n, slot)]
            else:
                uses.append((n, slot))
        for w in writes:
            reg = w >> 8
            for m, slot in self.uses.get(reg, ()):
                g.edge(m, n, self._war(g.insts[m], g.insts[n], slot))
            for d in self.defs.get(reg, ()):
                g.edge(d.node, n, self._waw(g.insts[d.node], inst, reg))
        late = self._late(inst.op) if writes else -1
        for w in writes:
            reg = w >> 8
            new = _Definition(n, w >> 4 & 15, late)
            older = self.defs.get(reg)
            if inst.guard == PT or self.virtual:
                self.defs[reg] = [new]
                self.uses[reg] = []
            elif not older:
                self.defs[reg] = [new]
                self._own_reads(reg, n)
            elif older[-1].node == n:
                older.append(new)
            else:
                self.defs[reg] = [*self._near(older, n), new]
                self._own_reads(reg, n)
            self.version[reg] = n

    def _own_reads(self, reg: int, n: int) -> None:
        """Forget the reads of a register before node `n`, which writes it: all later writes are ordered after `n`."""
        uses = self.uses.get(reg)
        if uses:
            self.uses[reg] = [u for u in uses if u[0] == n]

    def _near(self, older: list[_Definition], n: int) -> list[_Definition]:
        """The definitions before a guarded one in node `n` on which later instructions must depend themselves.

        The others are so far before `n` that an edge from `n` is enough: chains of thousands of guarded definitions
        keep a bounded number of edges each.
        """
        g = self.g
        step = g.succs[older[-1].node].get(n, 0)
        near: list[_Definition] = []
        for d in older:
            d.distance = max(d.distance + step, g.succs[d.node].get(n, 0))
            op = g.insts[d.node].op
            longest = _LONGEST_FIXED if d.late < 0 or op.flags & F_PSEUDO else d.late
            if d.distance < longest:
                near.append(d)
        return near

    def _late(self, op: Op) -> int:
        """:attr:`_Definition.late` of the results of an operation."""
        if op.flags & F_PSEUDO:
            return max(1, op.estimate)
        return estimate(op, self.g.other_latency) if self.lat.barriers(op) & NEEDS_WRITE else -1

    def _raw(self, d: _Definition, c: Inst, reg: int, slot: int) -> int:
        if d.late >= 0:
            return d.late
        if c.op.flags & F_PSEUDO:
            return self.fn.knobs.sched_pseudo_latency
        p = self.g.insts[d.node]
        if self.virtual:
            kind = self.fn.vkind[reg]
            unit = (0, 0, 256, 512, 520, 528)[kind]
            chain = len(c.src) > 2 and reg_id(c.src[2]) == reg and p.op is c.op
            guard = c.guard != PT and reg_id(c.guard) == reg
            return self.lat.raw(p.op, 1 if kind == K_R else 0, c.op, unit, SLOT_GUARD if guard else 0, chain)
        return self.lat.raw(p.op, d.word, c.op, reg, slot, slot == 2 and p.op is c.op)

    def _war(self, p: Inst, c: Inst, slot: int) -> int:
        if self.virtual or p.op.flags & F_PSEUDO:
            return 0
        if slot != SLOT_GUARD and self.lat.units.needs(p.op, p.dst, p.src) & NEEDS_READ:
            return self.fn.knobs.sched_war_latency
        return self.lat.held(p.op) if c.op.flags & F_PSEUDO else self.lat.war(p.op, c.op)

    def _waw(self, p: Inst, c: Inst, reg: int) -> int:
        if self.virtual or (p.op.flags | c.op.flags) & F_PSEUDO:
            return 1
        if self.lat.barriers(p.op) & NEEDS_WRITE:
            return estimate(p.op, self.g.other_latency)
        return self.lat.waw(p.op, c.op, reg)

    # --- memory and other order ------------------------------------------------------------------------------

    def _order(self, n: int, inst: Inst) -> None:
        g = self.g
        flags = inst.op.flags
        if flags & F_CONVERGENT and (
            not self.whole or (flags & _ORDERED and not (self.free_products and _is_product(flags)))
        ):
            if flags & (F_SIDE | F_FENCE):
                for m in self.others:
                    g.edge(m, n, 1)
                if self.last_sync >= 0:
                    g.edge(self.last_sync, n, 1)
                self.others = []
                self.last_sync = n
            else:
                if self.last_sync >= 0:
                    g.edge(self.last_sync, n, 1)
                self.others.append(n)
        if not flags & (F_READ | F_WRITE | F_SIDE | F_FENCE):
            return
        memory = flags & (F_READ | F_WRITE)
        if inst.op is OP_IN_TURN:
            # As a store to any place of shared memory.
            memory = F_WRITE
        elif inst.op.base == "WARPSYNC":
            self._after_all(n, [a for a in self.loads if not a.crosses])
            self.last_meeting = n
            return
        elif flags & F_FENCE or (flags & F_SIDE and not memory and inst.op.base != "BSSY"):
            self._after_all(n, self.loads)
            self.loads, self.stores = [], []
            self.last_fence, self.last_meeting = n, -1
            return
        if not memory:
            return
        if self.last_fence >= 0:
            g.edge(self.last_fence, n, 1)
        a = self._access(n, inst)
        if self.last_meeting >= 0 and not a.crosses:
            g.edge(self.last_meeting, n, 1)
        for s in self.stores:
            if _may_alias(s, a):
                g.edge(s.node, n, 1)
        if memory & F_WRITE:
            for x in self.loads:
                if _may_alias(x, a):
                    g.edge(x.node, n, 1)
            self.stores.append(a)
            if len(self.stores) + len(self.loads) > self.fn.knobs.sched_max_mem_dep:
                self._collapse(n)
        else:
            self.loads.append(a)

    def _after_all(self, n: int, loads: list[_Access]) -> None:
        """Order `n` after the latest fence and WARPSYNC, all stores and some loads."""
        for a in loads:
            self.g.edge(a.node, n, 1)
        for a in self.stores:
            self.g.edge(a.node, n, 1)
        for k in (self.last_fence, self.last_meeting):
            if k >= 0:
                self.g.edge(k, n, 1)

    def _collapse(self, n: int) -> None:
        """Order all pending accesses before `n`; `n` then represents them."""
        for x in [*self.loads, *self.stores]:
            if x.node != n:
                self.g.edge(x.node, n, 1)
        whole = _Access(n, ANYWHERE)
        self.loads, self.stores = [], [whole]

    def _access(self, n: int, inst: Inst) -> _Access:
        a = _Access(n, SHARED if inst.op is OP_IN_TURN else inst.op.space, _may_cross_meetings(inst.op))
        if len(inst.op.addr) != 1:
            return a
        at = inst.op.addr[0]
        base, ubase, offset = inst.src[at + 1], inst.src[at + 2], inst.src[at + 3]
        if not is_imm(offset):
            return a
        a.base = self._key(base)
        a.ubase = self._key(ubase)
        value = imm_value(offset)
        a.start = value - (1 << 32) if value >> 31 else value
        a.end = a.start + _bytes(inst.op)
        return a

    def _key(self, o: Opnd) -> int:
        """Identity of an address register together with its current definition."""
        if o == K_NONE or is_zero_reg(o):
            return 0
        ident = reg_id(o)
        if self.virtual:
            version = self.version.get(ident, -1)
        else:
            unit = ident if in_file(o, K_R) else 256 + ident
            # A definition of either word changes the address.
            version = max(self.version.get(unit, -1), self.version.get(unit + 1, -1)) if unit < UNITS else -1
        return (o << 20 | (version + 1)) + 1


def _bytes(op: Op) -> int:
    """Upper bound of the bytes that a memory operation accesses."""
    mods = op.mods
    if op.flags & F_SIZED or "256" in mods:
        return access_bytes(mods)
    return 16 if "128" in mods else 8 if "64" in mods else 64


def _may_alias(a: _Access, b: _Access) -> bool:
    if not a.space & b.space:
        return False
    if a.base >= 0 and a.base == b.base and a.ubase == b.ubase:
        return a.start < b.end and b.start < a.end
    return True
