"""Stall counts: distances between results of fixed latency and their uses, along all paths (:mod:`orias.schedule.scoreboard`)."""

from typing import Final, final

from orias.analysis.access import B_BASE, P_BASE, UR_BASE
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import F_AWAITS_ITSELF, F_CONSTMEM, F_DISTANT, F_MATRIX, F_SPECIAL, F_WGMMA, Op, op
from orias.ori.ir import Block, Func
from orias.ori.reads_writes import Access
from orias.schedule.board_choice import SCOREBOARDS
from orias.schedule.control_rows import Row
from orias.target import features
from orias.timing.ctl import MAX_STALL
from orias.timing.latency import Latency
from orias.timing.units import NEEDS_WRITE

_NOP: Final = op("NOP")
_ARRIVAL: Final = -1
"""No unit: the arrival of a warpgroup, for which its operation waits whether it uses registers or not."""
_SETTER_DISTANCE: Final = 2
"""Cycles from an instruction that sets a scoreboard to one that waits for it (measured minimum on all targets)."""
_HORIZON: Final = 48
"""Upper bound of all fixed latencies, in cycles."""


@final
class _Fixed:
    """A fixed-latency write, or a late read, that may be pending."""

    __slots__ = ("op", "time", "word")

    def __init__(self, op_: Op, word: int, time: int) -> None:
        self.op: Op = op_
        self.word: int = word
        self.time: int = time


@final
class Stalls:
    """Sets the stall counts.  Times are in cycles from the start of the block; results from predecessors have negative times."""

    __slots__ = ("blocks", "fn", "index", "lat", "rows")

    def __init__(self, fn: Func, lat: Latency, rows: list[list[Row]], index: dict[int, int]) -> None:
        self.fn: Func = fn
        self.lat: Latency = lat
        self.rows: list[list[Row]] = rows
        self.index: dict[int, int] = index
        self.blocks: list[Block] = fn.blocks

    def run(self) -> None:
        """Process blocks until nothing changes: stall counts never shrink, and once they stay, so does what is pending (`_same`)."""
        n = len(self.blocks)
        for rows in self.rows:
            for row in rows:
                row.stall = self.lat.min_stall(row.inst.op)
                row.look_up(self.lat)
        self._take_turns()
        exits: list[dict[int, list[_Fixed]]] = [{} for _ in range(n)]
        boards: list[list[int]] = [[-_HORIZON] * SCOREBOARDS for _ in range(n)]
        queued = bytearray(b"\x01" * n)
        busy = True
        while busy:
            busy = False
            for i in range(n):
                if not queued[i]:
                    continue
                queued[i] = 0
                busy = True
                entry, set_at = self._entry(i, exits, boards)
                short, out, set_out = self._block(i, entry, set_at)
                changed = not _same(out, exits[i]) or set_out != boards[i]
                exits[i], boards[i] = out, set_out
                if short > 0:
                    for p in self.blocks[i].preds:
                        j = self.index[p.id]
                        missing = self._shortage(i, exits[j], boards[j])
                        if missing > 0:
                            self._stretch(j, missing)
                            queued[j] = 1
                if changed:
                    for s in self.blocks[i].succs:
                        queued[self.index[s.id]] = 1

    def _take_turns(self) -> None:
        """Space the reads of constants and special registers with which a kernel starts.

        All warps of an SM start at once.  Without a stall one warp issues all of these reads before another one has its turn.  Where operations
        read constants themselves there are too few of them to matter.
        """
        if self.fn.kind == "entry" and not self.fn.target.has(features.CONSTANT_OPERANDS):
            for row in self.rows[0]:
                if row.inst.op.flags & F_DISTANT:
                    break
                if row.inst.op.flags & (F_CONSTMEM | F_SPECIAL):
                    row.stall = max(row.stall, self.fn.knobs.sched_start_stall)

    def _entry(
        self, i: int, exits: list[dict[int, list[_Fixed]]], boards: list[list[int]]
    ) -> tuple[dict[int, list[_Fixed]], list[int]]:
        merged: dict[int, list[_Fixed]] = {}
        set_at = [-_HORIZON] * SCOREBOARDS
        for p in self.blocks[i].preds:
            j = self.index[p.id]
            for unit, items in exits[j].items():
                have = merged.setdefault(unit, [])
                for x in items:
                    for y in have:
                        if y.op is x.op and y.word == x.word:
                            y.time = max(y.time, x.time)
                            break
                    else:
                        have.append(_Fixed(x.op, x.word, x.time))
            for k in range(SCOREBOARDS):
                set_at[k] = max(set_at[k], boards[j][k])
        return merged, set_at

    def _need(self, row: Row, pending: dict[int, list[_Fixed]], set_at: list[int], seen_pipe: dict[str, int]) -> int:
        """Earliest issue time of an instruction."""
        lat = self.lat
        inst = row.inst
        earliest = -_HORIZON
        for r in row.access.reads:
            unit = r >> 8
            items = pending.get(unit)
            if items:
                slot = r & 255
                for x in items:
                    if x.word < 0:
                        # A late read constrains only writers of the register.
                        continue
                    chain = slot == 2 and x.op is inst.op and inst.op.flags & (F_MATRIX | F_WGMMA) != 0
                    t = x.time + lat.raw(x.op, x.word, inst.op, unit, slot, chain)
                    if t > earliest:
                        earliest = t
        for w in row.access.writes:
            unit = w >> 8
            items = pending.get(unit)
            if items:
                for x in items:
                    if x.word >= 0:
                        t = x.time + lat.waw(x.op, inst.op, unit)
                    else:
                        t = x.time + lat.war(x.op, inst.op)
                    if t > earliest:
                        earliest = t
        if inst.op.flags & F_WGMMA:
            for x in pending.get(_ARRIVAL, ()):
                earliest = max(earliest, x.time + lat.after_arrival(inst.op))
        boards = row.wait | row.counts
        if boards:
            for k in range(SCOREBOARDS):
                if boards >> k & 1:
                    earliest = max(earliest, set_at[k] + _SETTER_DISTANCE)
        if row.wait_all:
            stall = max(row.stall, lat.min_stall(inst.op))
            for unit, items in pending.items():
                for x in items:
                    if x.word >= 0:
                        earliest = max(earliest, x.time + self._settled(x, unit) - stall)
        return max(earliest, seen_pipe.get(row.pipe, earliest))

    def _settled(self, x: _Fixed, unit: int) -> int:
        """Cycles until a result is ready for any consumer."""
        n = self.lat.settle(x.op, unit)
        if unit < UR_BASE:
            return n + 4
        return n + (8 if unit < P_BASE else 10)

    def _block(
        self, i: int, entry: dict[int, list[_Fixed]], set_at: list[int]
    ) -> tuple[int, dict[int, list[_Fixed]], list[int]]:
        """Raise the stall counts inside a block.

        Returns the number of cycles by which its first instruction is too early, and the pending results and set times
        of scoreboards at its end, relative to the end.
        """
        rows = self.rows[i]
        pending = {u: list(v) for u, v in entry.items()}
        boards = list(set_at)
        seen: dict[str, int] = {}
        now = 0
        short = 0
        for k, row in enumerate(rows):
            earliest = self._need(row, pending, boards, seen)
            if earliest > now:
                at = k - 1
                while at >= 0 and _awaits_itself(rows[at]):
                    at -= 1
                if at < 0:
                    short = max(short, earliest - now)
                else:
                    rows[at].stall += earliest - now
                if k:
                    now = earliest
            self._issue(row, pending, boards, seen, now)
            now += row.stall or (_HORIZON if _awaits_itself(row) and not row.guarded else 0)
        out: dict[int, list[_Fixed]] = {}
        for unit, items in pending.items():
            keep = [_Fixed(x.op, x.word, x.time - now) for x in items if now - x.time < _HORIZON]
            if keep:
                out[unit] = keep
        return short, out, [max(b - now, -_HORIZON) for b in boards]

    def _issue(
        self, row: Row, pending: dict[int, list[_Fixed]], boards: list[int], seen: dict[str, int], now: int
    ) -> None:
        inst = row.inst
        if not _awaits_itself(row):
            seen[row.pipe] = now + row.interval
        if row.wait_all:
            pending.clear()
            return
        late = row.late
        if late > 1:
            for r in row.access.reads:
                pending.setdefault(r >> 8, []).append(_Fixed(inst.op, -late, now))
        if inst.op is ARRIVE:
            pending[_ARRIVAL] = [_Fixed(inst.op, 0, now)]
        fixed = not row.needs & NEEDS_WRITE
        for w in row.access.writes:
            unit = w >> 8
            if not row.guarded:
                pending.pop(unit, None)
            else:
                # The register may still hold an earlier result.
                items = pending.get(unit)
                if items and now - items[0].time >= _HORIZON:
                    pending[unit] = [x for x in items if now - x.time < _HORIZON]
            if fixed and unit < B_BASE:
                pending.setdefault(unit, []).append(_Fixed(inst.op, w >> 4 & 15, now))
        if row.sets:
            for k in range(SCOREBOARDS):
                if row.sets >> k & 1:
                    boards[k] = now

    def _shortage(self, i: int, entry: dict[int, list[_Fixed]], boards: list[int]) -> int:
        """Cycles by which the first instruction of a block is too early after one predecessor."""
        rows = self.rows[i]
        if not rows:
            return 0
        return max(0, self._need(rows[0], entry, boards, {}))

    def _stretch(self, j: int, cycles: int) -> None:
        """Lengthen a block by `cycles` at its end; cycles that a branch cannot stall go before it."""
        rows = self.rows[j]
        last = rows[-1]
        if _awaits_itself(last):
            rows.append(self._nop(last))
            last = rows[-1]
        if not last.inst.is_terminator():
            last.stall += cycles
            return
        part = min(cycles, MAX_STALL - last.stall)
        last.stall += part
        if cycles > part:
            if len(rows) == 1:
                rows.insert(0, self._nop(last))
            rows[-2].stall += cycles - part

    def _nop(self, beside: Row) -> Row:
        nop = Row(self.fn.new_inst(_NOP, [], [], loc=beside.inst.loc), Access(), 0)
        nop.look_up(self.lat)
        return nop


def _awaits_itself(row: Row) -> bool:
    """True for an instruction whose stall count of 0 says that it waits for itself.  One that its guard leaves out waits for nothing."""
    return row.stall == 0 and row.inst.op.flags & F_AWAITS_ITSELF != 0


def _same(a: dict[int, list[_Fixed]], b: dict[int, list[_Fixed]]) -> bool:
    """Whether the same is pending: for each unit and kind of result the latest time, in any order.

    The instruction and the order do not count: around loops with several ways they may change for ever.
    """
    if a.keys() != b.keys():
        return False
    for unit, x in a.items():
        y = b[unit]
        if len(x) == len(y):
            for p, q in zip(x, y, strict=True):
                if p.op is not q.op or p.word != q.word or p.time != q.time:
                    break
            else:
                continue
        if _latest(x) != _latest(y):
            return False
    return True


def _latest(items: list[_Fixed]) -> dict[tuple[int, int], int]:
    """(The operation's number, word) -> the latest time."""
    out: dict[tuple[int, int], int] = {}
    for x in items:
        key = x.op.ident, x.word
        out[key] = max(out.get(key, -_HORIZON), x.time)
    return out
