"""FixupGmmaSequence, behind register allocation: accumulators become single operands, and what the hardware needs is there.

* Before an operation stands a WARPGROUP.ARRIVE behind everything else that wrote its registers; where the program has none,
  one is put in (as ptxas does, C7519).
* Where the warp may run in parts no ARRIVE is put in: operations run one at a time then (C7520), each behind a WARPSYNC.ALL.
* Nothing reads an accumulator under way, or writes a register of an operation under way, calls and exits included: a
  WARPGROUP.DEPBAR is put in front (C7517), for the groups that matter.
* ARRIVE and DEPBAR get the registers that they stand for (``Func.implied``), so that scheduling and scoreboards see them.
"""

from typing import Final, final

from orias.analysis.access import UR_BASE, accesses
from orias.analysis.cfg import reverse_postorder
from orias.analysis.inflight import EMPTY, Groups, InFlight, has_warpgroups, issue, join, union, wait, waits_for
from orias.diag import Unsupported
from orias.isa.op import F_CALL, Op, op
from orias.isa.operand import K_R, KIND_MASK, NOT_UPT, PAYLOAD_SHIFT, RZ, URZ, Opnd, imm, is_zero_reg, word
from orias.isa.warpgroup import GMMA, accumulator_words, c_count, c_start, commits, is_list, source_widths
from orias.ori.ir import Block, Func, Inst

_ARRIVE: Final = op("WARPGROUP.ARRIVE")
_DEPBAR: Final = op("WARPGROUP.DEPBAR.LE")
_WARPSYNC: Final = op("WARPSYNC.ALL")
_NOTHING: Final = op("HGMMA.64x8x16.F16")
_GROUP: Final = word("gsb0")
_R_UNITS: Final = (1 << UR_BASE) - 1
_LEAVING: Final[frozenset[str]] = frozenset(("EXIT", "RET"))
_MOVES: Final[frozenset[str]] = frozenset(("MOV",))
NO_REGISTERS: Final = 7511
READS: Final = 7514
INJECTED_WAIT: Final = 7517
INJECTED_ARRIVE: Final = 7519
DIVERGENT: Final = 7520


def settle_warpgroups(fn: Func) -> None:
    """Bring the warpgroup operations of an allocated function into their final form."""
    if has_warpgroups(fn):
        for inst in fn.insts():
            if inst.op.base in GMMA and is_list(inst.dst):
                _fold(inst)
        _Settler(fn).run()
        _imply(fn)


def _fold(inst: Inst) -> None:
    """Lists of neighbouring registers become their first."""
    first = inst.dst[0] >> PAYLOAD_SHIFT
    at = c_start(inst.src)
    count = c_count(inst.dst, inst.src)
    neighbours = [K_R | (first + k) << PAYLOAD_SHIFT for k in range(accumulator_words(inst.op))]
    if inst.dst != neighbours or (count > 1 and inst.src[at : at + count] != neighbours):
        raise Unsupported(f"the registers of {inst.op.name} are not neighbours", inst.loc)
    inst.src[at : at + count] = [inst.src[at]]
    del inst.dst[1:]


def accumulator(inst: Inst) -> int:
    """Mask of the registers of D."""
    d = inst.dst[0]
    return 0 if is_zero_reg(d) else ((1 << accumulator_words(inst.op)) - 1) << (d >> PAYLOAD_SHIFT)


def a_registers(inst: Inst) -> int:
    """Mask of the registers of A and of its metadata."""
    mask = 0
    for o, width in zip(inst.src, source_widths(inst.op, inst.src), strict=True):
        if o & KIND_MASK == K_R and not is_zero_reg(o) and o != inst.dst[0]:
            mask |= ((1 << width) - 1) << (o >> PAYLOAD_SHIFT)
    return mask


def touched(inst: Inst, fn: Func) -> tuple[int, int]:
    """Masks of the R registers that an instruction reads and writes."""
    a = accesses(inst, fn)
    reads = writes = 0
    for x in a.reads:
        reads |= 1 << (x >> 8)
    for x in a.writes:
        writes |= 1 << (x >> 8)
    return reads & _R_UNITS, writes & _R_UNITS


@final
class _State:
    """What is known at a point: groups under way (accumulators, and A), registers written since the last ARRIVE."""

    __slots__ = ("a", "arrived", "d", "dirty", "fresh", "waited")

    def __init__(self, d: Groups, a: Groups, dirty: int) -> None:
        self.d: Groups = d
        self.a: Groups = a
        self.dirty: int = dirty
        self.arrived: bool = False
        """The block has had an ARRIVE."""
        self.fresh: bool = False
        """No operation has come since."""
        self.waited: bool = False
        """The block has had a wait of the program that left groups under way."""

    def same(self, other: "_State") -> bool:
        return self.d == other.d and self.a == other.a and self.dirty == other.dirty

    def commit(self) -> None:
        self.d = issue(self.d, 0, True)
        self.a = issue(self.a, 0, True)

    def wait(self, left: int) -> None:
        self.d = wait(self.d, left)
        self.a = wait(self.a, left)


@final
class _Settler:
    __slots__ = ("block", "fn", "masks", "out", "trouble")

    def __init__(self, fn: Func) -> None:
        self.fn: Final[Func] = fn
        self.block: int = 0
        self.masks: dict[int, tuple[int, int]] = {}
        self.out: list[Inst] | None = None
        """Where the instructions of the block go in the last round."""
        self.trouble: int = 0
        """Message that says why operations must run one at a time, 0 if they need not."""

    def run(self) -> None:
        order = reverse_postorder(self.fn)
        before: dict[int, _State] = {order[0].id: _State(EMPTY, EMPTY, 0)}
        changed = True
        while changed:
            changed = False
            for b in order:
                state = before.get(b.id)
                if state is None:
                    continue
                end = self._through(b, state)
                for s in b.succs:
                    known = before.get(s.id)
                    new = _State(end.d, end.a, end.dirty)
                    if known is not None:
                        new = _State(join(known.d, end.d), join(known.a, end.a), known.dirty | end.dirty)
                    if known is None or not new.same(known):
                        before[s.id] = new
                        changed = True
        if self.trouble:
            self.fn.remarks.append((self.trouble, 0))
            _one_at_a_time(self.fn)
            return
        for b in order:
            self.out = []
            self._through(b, before[b.id])
            b.insts = self.out

    def _through(self, b: Block, at: _State) -> _State:
        state = _State(at.d, at.a, at.dirty)
        self.block = b.id
        for inst in b.insts:
            if inst.op.base in GMMA:
                self._operation(inst, state)
            elif inst.op.base == "WARPGROUP":
                self._order(inst, state)
            else:
                self._other(inst, state)
            if self.out is not None:
                self.out.append(inst)
        return state

    def _order(self, inst: Inst, state: _State) -> None:
        """ARRIVE and DEPBAR of the program."""
        left = waits_for(inst)
        if left < 0:
            state.dirty = 0
            state.arrived = state.fresh = True
            return
        if state.d[0] | state.a[0]:
            # A wait ends the open group too (as ptxas has it).
            self._end_group(inst, state)
        state.wait(left)
        state.waited = state.waited or left > 0

    def _operation(self, inst: Inst, state: _State) -> None:
        d, a = accumulator(inst), a_registers(inst)
        if a & union(state.d):
            self._wait(inst, state, a, 0)
        if not state.arrived or (d | a) & state.dirty:
            # What only prepared A may as well have come before.
            quiet = state.arrived and state.fresh and not d & state.dirty
            if quiet and self.out is not None:
                last = max(k for k, i in enumerate(self.out) if i.op is _ARRIVE)
                del self.out[last]
            if not quiet and self.block in self.fn.parted:
                self.trouble = self.trouble or DIVERGENT
            self._put(_ARRIVE, [], inst, 0 if quiet else INJECTED_ARRIVE)
            state.dirty = 0
            state.arrived = True
        state.fresh = False
        commit = commits(inst.src)
        state.d = issue(state.d, d, commit)
        state.a = issue(state.a, a, commit)

    def _other(self, inst: Inst, state: _State) -> None:
        reads, writes = self._touched(inst)
        if union(state.d) | union(state.a):
            if inst.op.flags & F_CALL or (inst.op.base in _LEAVING):
                self._wait(inst, state, -1, -1)
            elif (reads | writes) & union(state.d) or writes & union(state.a):
                exchange = inst.op.base == "LOP3" and writes & union(state.d)
                if (inst.op.base in _MOVES or exchange) and reads & union(state.d):
                    # Values of the program are never copied, nor written to registers under way: the allocator found no one
                    # place for this accumulator.
                    self.trouble = self.trouble or NO_REGISTERS
                elif state.waited and reads & union(state.d):
                    self.trouble = self.trouble or READS
                self._wait(inst, state, reads | writes, writes)
        state.dirty |= writes

    def _touched(self, inst: Inst) -> tuple[int, int]:
        known = self.masks.get(inst.uid)
        if known is None:
            known = self.masks[inst.uid] = touched(inst, self.fn)
        return known

    def _wait(self, inst: Inst, state: _State, d: int, a: int) -> None:
        """Wait for the oldest groups, up to the newest that has a register of these masks."""
        newest = min([k for k, g in enumerate(state.d) if g & d] + [k for k, g in enumerate(state.a) if g & a])
        if newest == 0:
            self._end_group(inst, state)
            newest = 1
        state.wait(newest - 1)
        self._put(_DEPBAR, [_GROUP, imm(newest - 1)], inst, INJECTED_WAIT)

    def _end_group(self, inst: Inst, state: _State) -> None:
        """Commit the open group: on its last operation if that is in the block, else by one that does nothing."""
        state.commit()
        if self.out is None:
            return
        for i in reversed(self.out):
            if i.op.base in GMMA:
                if not commits(i.src):
                    i.src.append(_GROUP)
                    return
                break
        self._put(_NOTHING, [RZ, URZ, RZ, NOT_UPT, _GROUP], inst, 0)

    def _put(self, o: Op, operands: list[Opnd], before: Inst, code: int) -> None:
        if self.out is None:
            return
        results = 1 if o is _NOTHING else 0
        self.out.append(self.fn.new_inst(o, operands[:results], operands[results:], loc=before.loc))
        if code:
            self.fn.remarks.append((code, before.loc))


def _one_at_a_time(fn: Func) -> None:
    """Serialise: every operation arrives, is a group of its own and is waited for."""
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op.base == "WARPGROUP" or (inst.op.base in GMMA and is_zero_reg(inst.dst[0])):
                if inst.op is _ARRIVE and out and out[-1].op is _WARPSYNC:
                    out.pop()
                continue
            if inst.op.base in GMMA:
                if b.id in fn.parted:
                    out.append(fn.new_inst(_WARPSYNC, [], [], loc=inst.loc))
                out.append(fn.new_inst(_ARRIVE, [], [], loc=inst.loc))
                if not commits(inst.src):
                    inst.src.append(_GROUP)
                out.append(inst)
                out.append(fn.new_inst(_DEPBAR, [], [_GROUP, imm(0)], loc=inst.loc))
            else:
                out.append(inst)
        b.insts = out


def _imply(fn: Func) -> None:
    """The registers that each ARRIVE and DEPBAR stands for."""
    order = reverse_postorder(fn)
    ahead: dict[int, int] = {b.id: 0 for b in order}
    """Registers of operations that follow the head of a block without an ARRIVE between."""
    changed = True
    while changed:
        changed = False
        for b in reversed(order):
            mask = _ahead(fn, b, ahead)
            if mask != ahead[b.id]:
                ahead[b.id] = mask
                changed = True
    flight = InFlight(fn, lambda inst: accumulator(inst) | a_registers(inst))
    for b in order:
        state = flight.before[b.id]
        for inst in b.insts:
            if waits_for(inst) >= 0:
                fn.implied[inst.uid] = fn.implied.get(inst.uid, 0) | union(state)
            state = flight.step(inst, state)


def _ahead(fn: Func, b: Block, ahead: dict[int, int]) -> int:
    mask = 0
    for s in b.succs:
        mask |= ahead.get(s.id, 0)
    for inst in reversed(b.insts):
        if inst.op.base in GMMA:
            mask |= accumulator(inst) | a_registers(inst)
        elif inst.op is _ARRIVE:
            fn.implied[inst.uid] = mask
            mask = 0
    return mask
