"""FixupGmmaSequence, after allocation: makes accumulators single operands, and inserts missing arrivals and waits.

* Each operation needs a WARPGROUP.ARRIVE after all other writes to its registers.  Where the program has none, one is
  inserted (as ptxas does, C7519).
* No instruction, calls and exits included, may read a pending accumulator or write a register of a pending operation.
  A WARPGROUP.DEPBAR for the groups concerned is inserted before it (C7517).
* Where that is impossible, the operations of the function run one at a time (:mod:`orias.schedule.wgmma_serial`).  No
  ARRIVE (C7520) and no DEPBAR (C7518) may be inserted where part of a warp may run.  No wait may be inserted for an
  operation if the program has waited for some group since it was issued (C7513 to C7515).  No accumulator may move
  (C7511).
* ARRIVE and DEPBAR get implied registers (``Func.implied``), which make their order visible to scheduling and scoreboards.
"""

from typing import Final, final

from orias.analysis.access import UR_BASE, accesses
from orias.analysis.cfg import reverse_postorder
from orias.analysis.inflight import EMPTY, Groups, InFlight, has_warpgroups, issue, join, union, wait, waits_for
from orias.diag import Unsupported
from orias.isa.gmma_forms import (
    ARRIVE,
    DEPBAR,
    GROUP,
    WARPSYNC_ALL,
    accumulator_words,
    c_count,
    c_start,
    commits,
    is_list,
    source_widths,
)
from orias.isa.op import F_CALL, F_LEAVES, F_WGMMA, F_WGMMA_SYNC, Op, op
from orias.isa.operand import K_R, NOT_UPT, RZ, URZ, Opnd, imm, in_file, is_zero_reg, r, reg_id
from orias.ori.ir import Block, Func, Inst
from orias.ori.remarks import (
    DIVERGENT_ARRIVE,
    DIVERGENT_WAIT,
    INJECTED_ARRIVE,
    INJECTED_WAIT,
    PIPELINE_REGISTERS,
    READS,
    WRITES,
    WRITES_A,
)
from orias.schedule.wgmma_serial import one_at_a_time, unoptimized_remarks

_UNDER_WAY: Final = 1 << 256
"""Bit that represents an operation without registers in the masks of groups."""
_NOTHING: Final = op("HGMMA.64x8x16.F16")
_R_UNITS: Final = (1 << UR_BASE) - 1
_MOVES: Final[frozenset[str]] = frozenset(("MOV",))


def finish_warpgroups(fn: Func, opt_level: int = 3) -> None:
    """Bring the warpgroup operations of an allocated function into their final form.

    At -O0 they run one at a time, as in ptxas's code.
    """
    if not has_warpgroups(fn):
        return
    for inst in fn.insts():
        if inst.op.flags & F_WGMMA and is_list(inst.dst):
            _fold(inst)
    if opt_level == 0:
        fn.remarks.extend(unoptimized_remarks(fn))
        one_at_a_time(fn)
    elif fn.wgmma_serial:
        fn.remarks.append((fn.wgmma_serial, 0))
        one_at_a_time(fn)
    else:
        _Settler(fn).run()
    _imply(fn)


def _fold(inst: Inst) -> None:
    """Replace lists of adjacent registers by their first register."""
    first = reg_id(inst.dst[0])
    at = c_start(inst.src)
    count = c_count(inst.dst, inst.src)
    neighbours = [r(first + k) for k in range(accumulator_words(inst.op))]
    if inst.dst != neighbours or (count > 1 and inst.src[at : at + count] != neighbours):
        raise Unsupported(f"the registers of {inst.op.name} are not neighbours", inst.loc)
    inst.src[at : at + count] = [inst.src[at]]
    del inst.dst[1:]


def accumulator(inst: Inst) -> int:
    """Mask of the registers of D."""
    d = inst.dst[0]
    return _UNDER_WAY if is_zero_reg(d) else ((1 << accumulator_words(inst.op)) - 1) << reg_id(d)


def a_registers(inst: Inst) -> int:
    """Mask of the registers of A and of its metadata."""
    mask = 0
    for o, width in zip(inst.src, source_widths(inst.op, inst.src), strict=True):
        if in_file(o, K_R) and not is_zero_reg(o) and o != inst.dst[0]:
            mask |= ((1 << width) - 1) << reg_id(o)
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
    """State at a point: pending groups (registers of accumulators, and of A), and masks of registers by their history."""

    __slots__ = ("a", "arrived", "d", "dirty", "fresh", "parted", "waited")

    def __init__(self, d: Groups, a: Groups, dirty: int, waited: int, parted: bool = False) -> None:
        self.d: Groups = d
        self.a: Groups = a
        self.dirty: int = dirty
        """Registers written since the last ARRIVE."""
        self.waited: int = waited
        """Registers of operations that were pending when the program last waited for any groups, on some path to here."""
        self.parted: bool = parted
        """Only part of the warp may run here."""
        self.arrived: bool = False
        """The block has had an ARRIVE."""
        self.fresh: bool = False
        """No operation has followed the last ARRIVE."""

    def same(self, other: "_State") -> bool:
        return self.d == other.d and self.a == other.a and self.dirty == other.dirty and self.waited == other.waited

    def joined(self, end: "_State") -> "_State":
        return _State(join(self.d, end.d), join(self.a, end.a), self.dirty | end.dirty, self.waited | end.waited)

    def commit(self) -> None:
        self.d = issue(self.d, 0, True)
        self.a = issue(self.a, 0, True)

    def wait(self, left: int) -> None:
        self.d = wait(self.d, left)
        self.a = wait(self.a, left)


@final
class _Settler:
    __slots__ = ("accumulators", "blamed", "fn", "inputs", "line", "masks", "out", "remarks", "troubles")

    def __init__(self, fn: Func) -> None:
        self.fn: Final[Func] = fn
        self.accumulators: int = 0
        """Mask of the registers that operations write."""
        self.blamed: int = 0
        """Registers of operations that already have a message."""
        self.masks: dict[int, tuple[int, int]] = {}
        self.out: list[Inst] | None = None
        """Output of the final pass over a block; None in the passes before."""
        self.line: int = 0
        """Line of the last instruction that has one."""
        self.remarks: list[tuple[int, int]] = []
        self.troubles: dict[int, None] = {}
        """Codes of the reasons why operations must run one at a time, in order of discovery."""
        self.inputs: int = 0
        """Mask of the registers of A in all operations."""
        for inst in fn.insts():
            if inst.op.flags & F_WGMMA:
                self.accumulators |= accumulator(inst)
                self.inputs |= a_registers(inst)

    def run(self) -> None:
        order = reverse_postorder(self.fn)
        before: dict[int, _State] = {order[0].id: _State(EMPTY, EMPTY, 0, 0)}
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
                    new = end if known is None else known.joined(end)
                    if known is None or not new.same(known):
                        before[s.id] = new
                        changed = True
        kept: dict[int, list[Inst]] = {}
        for b in order:
            self.out = []
            self._through(b, before[b.id])
            kept[b.id] = self.out
        self.fn.remarks.extend(self.remarks)
        self.fn.remarks.extend((number, 0) for number in self.troubles)
        if self.troubles or self.fn.wgmma_crossing:
            one_at_a_time(self.fn)
            return
        for b in order:
            b.insts = kept[b.id]

    def _through(self, b: Block, at: _State) -> _State:
        state = _State(at.d, at.a, at.dirty, at.waited, b.id in self.fn.parted)
        for inst in b.insts:
            self.line = inst.loc or self.line
            if inst.op.flags & F_WGMMA:
                self._operation(inst, state)
            elif inst.op.flags & F_WGMMA_SYNC:
                self._order(inst, state)
            else:
                self._other(inst, state)
            if self.out is not None:
                self.out.append(inst)
        return state

    def _order(self, inst: Inst, state: _State) -> None:
        """An ARRIVE or DEPBAR of the program."""
        left = waits_for(inst)
        if left < 0:
            state.dirty = 0
            state.arrived = state.fresh = True
            return
        if state.d[0] | state.a[0]:
            # As in ptxas, a wait also ends the open group.
            self._end_group(inst, state)
        state.waited |= union(state.d) | union(state.a)
        state.wait(left)

    def _operation(self, inst: Inst, state: _State) -> None:
        d, a = accumulator(inst), a_registers(inst)
        if a & union(state.d):
            # A is the result of a pending operation.
            self.troubles[WRITES_A] = None
            state.wait(0)
        if not state.arrived or (d | a) & state.dirty:
            # Writes that only prepare A could have been before the ARRIVE: that ARRIVE moves down.
            quiet = state.arrived and state.fresh and not d & state.dirty
            if quiet and self.out is not None:
                last = max(k for k, i in enumerate(self.out) if i.op is ARRIVE)
                del self.out[last]
            if not quiet and state.parted:
                self.troubles[DIVERGENT_ARRIVE] = None
            if not quiet and self.fn.kind != "entry":
                # Part of a warp may call a function.
                self._put(WARPSYNC_ALL, [], inst, 0)
            self._put(ARRIVE, [], inst, 0 if quiet or state.parted else INJECTED_ARRIVE)
            state.dirty = 0
            state.arrived = True
        state.fresh = False
        commit = commits(inst.src)
        state.d = issue(state.d, d, commit)
        state.a = issue(state.a, a, commit)
        state.waited &= ~(d | a)

    def _other(self, inst: Inst, state: _State) -> None:
        reads, writes = self._touched(inst)
        if union(state.d) | union(state.a):
            if self._loses(inst):
                self._wait(inst, state, -1, -1)
            elif (reads | writes) & union(state.d) or writes & union(state.a):
                trouble = self._trouble(inst, state, reads, writes)
                if not trouble:
                    self._wait(inst, state, reads | writes, writes)
                elif (reads | writes) & union(state.d) & ~self.blamed or writes & union(state.a) & ~self.blamed:
                    self.troubles[trouble] = None
                    for g in (*state.d, *state.a):
                        self.blamed |= g if g & (reads | writes) else 0
                if trouble in (PIPELINE_REGISTERS, WRITES_A):
                    return
        state.dirty |= writes
        if inst.op.flags & F_CALL:
            # As in ptxas, an ARRIVE before a call does not count after it.
            state.arrived = False
            state.parted = state.parted or self.fn.calls_outside(inst)

    def _trouble(self, inst: Inst, state: _State, reads: int, writes: int) -> int:
        """Code of the message that says why no wait may be inserted before an instruction; 0 if one may."""
        under_way = union(state.d)
        exchange = inst.op.base == "LOP3" and writes & under_way
        moves = inst.op.base in _MOVES and writes & self.accumulators
        if (moves or exchange) and reads & under_way:
            # A move of a pending register to another one: the allocator found no single place for this accumulator.
            # (The program itself never copies pending values.)
            return PIPELINE_REGISTERS
        if inst.op.base in _MOVES and reads & under_way and writes & self.inputs:
            return WRITES_A
        if reads & under_way & state.waited:
            return READS
        if writes & under_way & state.waited:
            return WRITES
        # Moves to A come from values that are carried around a loop; other writes of the program can wait.
        return WRITES_A if inst.op.base in _MOVES and writes & union(state.a) else 0

    def _loses(self, inst: Inst) -> bool:
        """True if no operation may be pending at an instruction: at exits, and at calls of functions not known exactly."""
        if not inst.op.flags & F_CALL:
            return inst.op.flags & F_LEAVES != 0
        info = self.fn.calls.get(inst.uid)
        return not self.fn.wgmma_crossing and (info is None or not info.exact)

    def _touched(self, inst: Inst) -> tuple[int, int]:
        known = self.masks.get(inst.uid)
        if known is None:
            known = self.masks[inst.uid] = touched(inst, self.fn)
        return known

    def _wait(self, inst: Inst, state: _State, d: int, a: int) -> None:
        """Insert a wait for the oldest groups, up to the newest group with a register of the masks `d` and `a`."""
        newest = min([k for k, g in enumerate(state.d) if g & d] + [k for k, g in enumerate(state.a) if g & a])
        if newest == 0:
            self._end_group(inst, state)
            newest = 1
        state.wait(newest - 1)
        if state.parted:
            self.troubles[DIVERGENT_WAIT] = None
        self._put(DEPBAR, [GROUP, imm(newest - 1)], inst, 0 if state.parted else INJECTED_WAIT)

    def _end_group(self, inst: Inst, state: _State) -> None:
        """Commit the open group: by its last operation if that is in the block, else by an operation that computes nothing."""
        state.commit()
        if self.out is None:
            return
        for i in reversed(self.out):
            if i.op.flags & F_WGMMA:
                if not commits(i.src):
                    i.src.append(GROUP)
                    return
                break
        self._put(_NOTHING, [RZ, URZ, RZ, NOT_UPT, GROUP], inst, 0)

    def _put(self, o: Op, operands: list[Opnd], before: Inst, code: int) -> None:
        if self.out is None:
            return
        results = 1 if o is _NOTHING else 0
        self.out.append(self.fn.new_inst(o, operands[:results], operands[results:], loc=before.loc))
        if code:
            self.remarks.append((code, self.line))


def _imply(fn: Func) -> None:
    """Set the implied registers of each ARRIVE and DEPBAR."""
    order = reverse_postorder(fn)
    ahead: dict[int, int] = {b.id: 0 for b in order}
    """Registers of operations that follow the head of a block with no ARRIVE in between."""
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
                fn.implied[inst.uid] = fn.implied.get(inst.uid, 0) | union(state) & _R_UNITS
            state = flight.step(inst, state)


def _ahead(fn: Func, b: Block, ahead: dict[int, int]) -> int:
    mask = 0
    for s in b.succs:
        mask |= ahead.get(s.id, 0)
    for inst in reversed(b.insts):
        if inst.op.flags & F_WGMMA:
            mask |= (accumulator(inst) | a_registers(inst)) & _R_UNITS
        elif inst.op is ARRIVE:
            fn.implied[inst.uid] = mask
            mask = 0
    return mask
