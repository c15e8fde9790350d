"""Register reads spread over the banks, in the final order of the instructions.

The even registers are one bank, the odd ones the other, and an instruction that cannot read its sources in time holds up what
follows it (:mod:`orias.timing.register_ports`).  The allocator spreads the sources of single instructions; which of them
follow one another closely, and which registers are kept for the next instruction, is known here.  Each block is played
alone; where reads collide, sources that commute change places, so that one of them is kept, or values of the block change
registers.  A change stays if fewer cycles are lost.
"""

from typing import Final, final

from orias.analysis.access import UR_BASE, accesses
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_COMMUTES
from orias.isa.operand import K_R, Opnd, in_file
from orias.ori.ir import Block, Func, Inst
from orias.schedule.local_values import LocalValues, Registers, Value
from orias.schedule.reuse import PIPES, REACH, holds
from orias.target.register_steps import SYSTEM_REGISTERS, step_of
from orias.timing.ctl import stall, wait_mask
from orias.timing.register_ports import BANKS, SLOTS, RegisterPorts
from orias.timing.units import NEEDS_WRITE, Units, units

_NEAR: Final = 4
"""Instructions before a collision that may have caused it, and after a change that may feel it."""
_LEAD: Final = 16
"""Instructions that are played before those: reads that fill a port add up over a dozen instructions in a row of products."""
_READY: Final = 2
"""Cycles from issue to the stage that reads."""

_CHEAPER: Final = 4
"""Looking at an instruction for free registers takes the time of playing one, divided by two to this power."""
_FEW: Final = 16
"""Registers in use that are tried for a value."""
_BANK: Final[tuple[int, ...]] = tuple(sum(1 << r for r in range(bank, UR_BASE, BANKS)) for bank in range(BANKS))


def spread_reads(fn: Func, joined: set[int]) -> bool:
    """Change operands so that fewer reads collide; the function has its control words.  True if these must be set anew.

    `joined`: the instructions that a capsule states together (:mod:`orias.schedule.joined_words`), by ``uid``; their registers stay.
    """
    if fn.names or fn.entry_regs or fn.quad_registers:
        # With -g a value stays in the register that is told to the debugger; with setmaxnreg registers come and go.  Threads that
        # only help their quad keep all registers but those that are set apart, and a move for some lanes of a quad is no new value.
        return False
    table = load(fn.target.table)
    u = units(fn.target.latency_class)
    jammed: list[tuple[Block, PlayedReads]] = []
    for b in fn.blocks:
        p = PlayedReads(b.insts, [max(stall(i.ctl), 1) for i in b.insts], _passes(b.insts), table, u)
        if p.lost(0, len(b.insts)) or p.leans(fn.knobs.sched_bank_leaning):
            jammed.append((b, p))
    if not jammed:
        return False
    registers = Registers(fn)
    more = _unused(fn)
    changed = False
    taken = 0
    for b, p in jammed:
        spread = _Spread(fn, p, LocalValues(fn, b, registers, joined), more)
        changed |= spread.run()
        taken |= spread.taken
    fn.reg_count = max(fn.reg_count, taken.bit_length() + SYSTEM_REGISTERS)
    return changed


def _unused(fn: Func) -> int:
    """The registers beyond those of a kernel that cost no occupancy."""
    if fn.kind != "entry" or fn.calls or not fn.reg_count:
        return 0
    most = min(step_of(fn.target, fn.reg_count), fn.max_regs)
    return (1 << max(0, most - SYSTEM_REGISTERS)) - 1 & -(1 << max(0, fn.reg_count - SYSTEM_REGISTERS))


def _passes(insts: list[Inst]) -> list[bool]:
    """Whether a kept register passes from the instruction before each one to it."""
    return [k > 0 and holds(insts[k - 1]) and not wait_mask(inst.ctl) for k, inst in enumerate(insts)]


@final
class PlayedReads:
    """The reads of instructions that follow one another, and the cycles that they lose.

    `cycles`: from the issue of each to that of the next, without collisions.  `passes`: whether registers that are kept
    pass from the instruction before each one to it.

    ``fixed``: 1 for arithmetic of fixed latency.  ``reads``: ``register << 2 | field`` of each word that such an instruction reads;
    ``writes``: its results.  ``since``: the first instruction whose reads may be kept for this one.
    """

    __slots__ = ("_flipped", "_table", "bank", "collided", "cycles", "fixed", "insts", "reads", "since", "writes")

    def __init__(self, insts: list[Inst], cycles: list[int], passes: list[bool], table: IsaTable, u: Units) -> None:
        self.insts: Final[list[Inst]] = insts
        self.reads: Final[list[list[int]]] = []
        self.writes: Final[list[list[int]]] = []
        self.fixed: Final[bytearray] = bytearray(len(insts))
        self.cycles: Final[list[int]] = cycles
        self.since: Final[list[int]] = []
        self.collided: list[int] = []
        """The instructions that lost cycles when they were last played, and the bank for which the last one of them waited."""
        self.bank: int = 0
        self._table: Final[IsaTable] = table
        self._flipped: Final[dict[int, list[int]]] = {}
        first = 0
        for k, inst in enumerate(insts):
            first = max(first, k - REACH) if passes[k] else k
            self.since.append(first)
            written: list[int] = []
            reads: list[int] = []
            if u.pipe(inst.op) in PIPES and not u.barriers(inst.op) & NEEDS_WRITE:
                self.fixed[k] = 1
                a = accesses(inst)
                reads = _reads(table, inst, inst.src, a.reads, False)
                written = [x >> 8 for x in a.writes if x >> 8 < UR_BASE]
            self.reads.append(reads)
            self.writes.append(written)

    def flipped(self, k: int) -> list[int]:
        """What an instruction reads if its first two sources change places; empty if they cannot, or have no effect."""
        found = self._flipped.get(k)
        if found is None:
            inst = self.insts[k]
            swapped = _flip(self._table, inst) if self.fixed[k] else []
            found = _reads(self._table, inst, swapped, accesses(inst).reads, True) if swapped else []
            self._flipped[k] = found
        return found

    def lost(self, first: int, last: int) -> int:
        """The cycles that collisions cost from one instruction to another, played from a few before."""
        ports = RegisterPorts()
        kept = [-1] * (BANKS * SLOTS)
        by = [0] * (BANKS * SLOTS)
        now = stage = out = 0
        self.collided = []
        for k in range(max(0, first - _LEAD), last):
            enter = now + _READY
            if self.fixed[k]:
                enter = start = max(enter, stage)
                reads = self.reads[k]
                if reads:
                    need = [0] * BANKS
                    since = self.since[k]
                    for x in reads:
                        register = x >> 2
                        entry = (register & 1) * SLOTS + (x & 3)
                        if kept[entry] != register or by[entry] < since:
                            need[register & 1] += 1
                        kept[entry], by[entry] = register, k
                    start = ports.book(enter, need)
                    if start > enter:
                        out += start - enter
                        self.collided.append(k)
                        self.bank = int(ports.free[1] > ports.free[0])
                stage = start + 1
                for register in self.writes[k]:
                    entry = (register & 1) * SLOTS
                    for e in range(entry, entry + SLOTS):
                        if kept[e] == register:
                            kept[e] = -1
            now = max(now + self.cycles[k], enter - 1)
        return out

    def leans(self, share: int) -> bool:
        """Whether reads lean to one bank in one instruction of `share`, so that those of different warps will often collide."""
        return share * sum(lean(reads) for reads in self.reads if len(reads) > 1) > len(self.reads)

    def leaning(self) -> list[int]:
        """The instructions whose reads could be spread more evenly, the worst first."""
        found = [(lean(reads), k) for k, reads in enumerate(self.reads) if len(reads) > 1]
        return [k for cost, k in sorted(found, reverse=True) if cost]

    def near(self, k: int) -> bool:
        """Whether an instruction near by reads a register that instruction `k` would read in the same field with its sources flipped."""
        wanted = self.flipped(k)
        for j in range(self.since[k], min(k + REACH + 1, len(self.reads))):
            if j != k and (j < k or self.since[j] <= k) and any(x in wanted for x in self.reads[j]):
                return True
        return False

    def flip(self, k: int) -> None:
        """The first two sources of an instruction change places."""
        inst = self.insts[k]
        reads = self.flipped(k)
        inst.src = [inst.src[1], inst.src[0], *inst.src[2:]]
        self._flipped[k], self.reads[k] = self.reads[k], reads

    def renamed(self, k: int, reads: list[int]) -> None:
        """The registers of an instruction have changed."""
        self.reads[k] = reads
        self._flipped.pop(k, None)


def lean(reads: list[int]) -> int:
    """By how much one bank has to serve more of an instruction's reads than the other: 0 for as few as there can be."""
    odd = sum(x >> 2 & 1 for x in reads)
    more = max(odd, len(reads) - odd)
    return 3 if more == len(reads) > 2 else more - (len(reads) + 1) // 2


def _flip(table: IsaTable, inst: Inst) -> list[Opnd]:
    """The sources with the first two in each other's place; empty if there is no such form."""
    src = inst.src
    if not inst.op.flags & F_COMMUTES or len(src) < 2 or src[0] == src[1]:
        return []
    if not in_file(src[0], K_R) or not in_file(src[1], K_R):
        return []
    out = [src[1], src[0], *src[2:]]
    return out if table.accepts(inst.op, inst.guard, inst.dst, out) else []


def _reads(table: IsaTable, inst: Inst, src: list[Opnd], reads: list[int], flipped: bool) -> list[int]:
    """``register << 2 | field`` of the words that an instruction with these sources reads; `reads`: those of its own."""
    fields = table.reuse_fields(inst.op, inst.dst, src)
    out: list[int] = []
    for x in reads:
        slot = x & 255
        if flipped and slot < 2:
            slot ^= 1
        if x >> 8 < UR_BASE and slot < len(fields) and 0 <= fields[slot] < SLOTS:
            out.append(x >> 8 << 2 | fields[slot])
    return out


@final
class _Spread:
    """The search in one block."""

    __slots__ = ("_budget", "_free", "_insts", "_more", "_played", "_rest", "_values", "taken")

    def __init__(self, fn: Func, played: PlayedReads, values: LocalValues, more: int) -> None:
        self._free: int = values.free
        """The registers that values may take; `more`: for those that collide these too."""
        self._more: Final[int] = more
        self.taken: int = 0
        """Those of `more` that values have taken."""
        self._played: Final[PlayedReads] = played
        self._insts: Final[list[Inst]] = played.insts
        self._values: Final[LocalValues] = values
        self._budget: int = fn.knobs.sched_bank_budget * len(played.insts)
        """Instructions that may still be played."""
        self._rest: Final[int] = fn.knobs.reg_alloc_rest_distance

    def run(self) -> bool:
        """True if something changed."""
        changed = self._balance()
        self._free |= self._more
        return self._part() or changed

    def _balance(self) -> bool:
        """Values go to the other bank where that spreads the reads of more instructions; True if something changed.

        Nothing need collide here: where warps follow one another closely, an instruction of one collides with those of others.
        """
        p = self._played
        changed = False
        kept = self._budget // 2
        for at in p.leaning():
            if self._budget <= kept:
                break
            odd = sum(x >> 2 & 1 for x in p.reads[at])
            bank = int(2 * odd > len(p.reads[at]))
            gain = 0
            best: list[Value] = []
            target = -1
            for v in self._values.at[at]:
                if v.bound or v.register & 1 != bank:
                    continue
                for register in self._others(v):
                    values = self._values.exchanged(v, register)
                    if values and self._rest_apart(values, register):
                        places, reads = self._after(values, register)
                        self._budget -= len(places)
                        won = sum(lean(p.reads[k]) - lean(new) for k, new in zip(places, reads, strict=True))
                        if won > gain and self._won(places, reads) >= 0:
                            gain, best, target = won, values, register
            if gain:
                self._exchange(best, target)
                changed = True
        return changed

    def _part(self) -> bool:
        """Parts reads that collide; True if something changed."""
        p = self._played
        changed = False
        improved = True
        while improved:
            improved = False
            p.lost(0, len(self._insts))
            for at in p.collided:
                while self._budget > 0 and self._improve(at):
                    changed = improved = True
        return changed

    def _improve(self, at: int) -> bool:
        """Makes a change for a collision, the best one that does not end it or the first one that does; False if none helps."""
        p = self._played
        enough = p.lost(at, at + 1)
        if not enough:
            return False
        gain, flip = 0, -1
        best: list[Value] = []
        target = -1
        bank = p.bank
        for k in range(at, max(-1, at - _NEAR), -1):
            if gain >= enough:
                break
            if p.near(k):
                won = self._won([k], [p.flipped(k)])
                if won > gain:
                    gain, flip = won, k
            for v in self._values.at[k]:
                if v.bound or v.register & 1 != bank:
                    continue
                for register in self._others(v):
                    values = self._values.exchanged(v, register)
                    if values and self._rest_apart(values, register):
                        places, reads = self._after(values, register)
                        more = sum(lean(new) - lean(p.reads[k]) for k, new in zip(places, reads, strict=True))
                        won = self._won(places, reads, at) if more <= 0 else 0
                        if won > gain:
                            gain, flip, best, target = won, -1, values, register
        if gain <= 0:
            return False
        if flip >= 0:
            p.flip(flip)
        else:
            self._exchange(best, target)
        return True

    def _others(self, v: Value) -> list[int]:
        """Registers of the other bank to which a value might go: if possible one that has rested, else one that is free, else some that are not."""
        values = self._values
        others = self._free & _BANK[v.register & 1 ^ 1]
        self._budget -= v.last - v.first >> _CHEAPER
        free = others & ~values.taken(v.first, v.last)
        if free:
            free = free & ~values.taken(max(-1, v.first - self._rest), v.first) or free
            return [(free & -free).bit_length() - 1]
        others &= ~values.bound(v.first, v.last)
        out: list[int] = []
        while others and len(out) < _FEW:
            out.append((others & -others).bit_length() - 1)
            others &= others - 1
        return out

    def _rest_apart(self, values: list[Value], register: int) -> bool:
        """Whether values still rest before others, and others before them, once they have changed places with a register, where
        the first of the two is read late: the second would have to wait for that.
        """
        one = values[0].register
        for v in values:
            late = self._read_late(v)
            for x in self._values.of.get(register if v.register == one else one, ()):
                if x not in values and (
                    (v.first - self._rest < x.last <= v.first and self._read_late(x))
                    or (late and v.last <= x.first < v.last + self._rest)
                ):
                    return False
        return True

    def _read_late(self, v: Value) -> bool:
        """Whether the last reader of a value may read it some time after it has issued."""
        return not v.reads or not self._played.fixed[v.reads[-1]]

    def _after(self, values: list[Value], register: int) -> tuple[list[int], list[list[int]]]:
        """The instructions that read values, and their reads once these are in the registers of each other."""
        one = values[0].register
        moved: dict[int, set[int]] = {}
        for v in values:
            for k in v.reads:
                moved.setdefault(k, set()).add(v.register)
        places = sorted(moved)
        return places, [_renamed(self._played.reads[k], moved[k], one, register) for k in places]

    def _won(self, places: list[int], reads: list[list[int]], at: int = -1) -> int:
        """The cycles that other reads of some instructions win; 0 if they win none near instruction `at`, where one is given."""
        p = self._played
        n = len(self._insts)
        spans: list[tuple[int, int]] = []
        for k in places:
            if spans and k - _NEAR <= spans[-1][1]:
                spans[-1] = (spans[-1][0], min(n, k + _NEAR + 1))
            else:
                spans.append((k, min(n, k + _NEAR + 1)))
        if at >= 0:
            spans.sort(key=lambda x: not x[0] <= at < x[1])
        old = [p.reads[k] for k in places]
        won = 0
        for first, last in spans:
            self._budget -= 2 * (last - first + _LEAD)
            before = p.lost(first, last)
            for k, x in zip(places, reads, strict=True):
                p.reads[k] = x
            won += before - p.lost(first, last)
            for k, x in zip(places, old, strict=True):
                p.reads[k] = x
            if at >= 0 and won <= 0:
                return 0
        return won

    def _exchange(self, values: list[Value], register: int) -> None:
        p = self._played
        one = values[0].register
        places, reads = self._after(values, register)
        for v in values:
            for k in v.writes:
                if v.register in p.writes[k]:
                    p.writes[k].remove(v.register)
                    p.writes[k].append(register if v.register == one else one)
        self._values.exchange(values, register)
        self.taken |= self._more & 1 << register
        for k, x in zip(places, reads, strict=True):
            p.renamed(k, x)


def _renamed(reads: list[int], moved: set[int], one: int, register: int) -> list[int]:
    """Reads after some registers, each one of two, have changed into the other one."""
    return [((register if x >> 2 == one else one) << 2 | x & 3) if x >> 2 in moved else x for x in reads]
