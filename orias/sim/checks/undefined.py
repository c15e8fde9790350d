"""Registers and local memory that nobody wrote: a part of ``initcheck``.

Registers run several times side by side: the real ones, and *shadows* in which what nobody wrote has other values.  An
instruction that only computes runs on each shadow too, so bits that do not matter (masked, multiplied by zero, not selected)
leave no trace.  Where an address, a value for global memory, a branch, a barrier or any other effect differs between the real
registers and a shadow, it depends on something that nobody wrote.  Local memory has shadows like registers, because callees and
spills save registers that may be unwritten; so has shared memory, because reductions store the values of all lanes and use
those that count.

A register of a shadow is the real row itself until something unwritten gets into it, so code whose registers are written costs
a look at two bit sets.

Not seen: matrix operations of warpgroups (their first sums are unwritten registers on purpose), and arguments of system functions
but printf.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.check.touch import touch
from orias.isa.decode import Decoded
from orias.isa.op import F_WGMMA
from orias.sim.checks.accesses import Access, Touched
from orias.sim.checks.shared_shadow import SharedShadow
from orias.sim.core.banked_memory import Banked
from orias.sim.core.engine import Plan
from orias.sim.core.sim_errors import Fault
from orias.sim.core.state import Active, Machine, widen
from orias.sim.core.syscalls import RETURNED, Syscalls
from orias.sim.matrix import exec_mma
from orias.sim.sass import exec_f2fp, exec_float, exec_int, exec_packed, exec_special, exec_warp
from orias.sim.sass.memory_places import GENERIC, GLOBAL, LOCAL, SHARED
from orias.sim.texture import exec_quad

Arr = npt.NDArray[Any]
Report = Callable[[str, int, int, int], None]
"""What differs, the instruction (number), a thread, and the instruction that read what nobody wrote (-1: not known)."""

_COMPUTES: Final = frozenset((
    *exec_int.BUILDERS, *exec_special.BUILDERS, *exec_float.BUILDERS, *exec_f2fp.BUILDERS, *exec_packed.BUILDERS, *exec_warp.BUILDERS,
    *exec_mma.BUILDERS, *exec_quad.BUILDERS, "TEX", "TLD", "TLD4", "TXD", "TXQ", "SULD",
))  # fmt: skip
"""Operations that do nothing but write registers."""
_FILLS: Final = ((0x800F2152, True, 0x32), (0, False, 0), (0x41234567, True, 0x41))
"""Values of the shadows' registers, predicates and bytes of local memory: the first differs from the real ones (0x7ff0dead, false,
0xcd) in every bit and sign, the second is what comparisons of sizes and with zero look for, the third is a common float (10.2)."""
_LOADS: Final = ("LD", "LDG", "LDS", "LDL")
SHARED_LOADS: Final = ("LD", "LDS", "LDSM")
"""Loads from shared memory that shadows run."""
_STORES: Final = ("ST", "STG", "STS", "STL")
_ADDRESS: Final = "an address"
_PRINTED: Final = "what printf prints"
_BRANCH: Final = "a branch or predicate"
_BRANCHES: Final = ("BRA", "EXIT", "BRX", "BREAK", "BSYNC")


class Use:
    """What an instruction does with registers, as far as this check looks at it."""

    __slots__ = (
        "access",
        "computes",
        "data",
        "guard",
        "late",
        "loads",
        "local",
        "plan",
        "reads",
        "results",
        "rows",
        "touched",
        "waits",
        "what",
        "writes",
    )

    def __init__(self, plan: Plan, d: Decoded | None, accesses: list[Access]) -> None:
        self.plan: Final = plan
        self.computes = False
        self.reads: list[int] = []
        """Units of the sources whose difference is an error."""
        self.data: list[tuple[int, int]] = []
        """Units of the data of a store, with the bits of each that are stored."""
        self.writes: list[int] = []
        self.guard = -1
        self.touched = 0
        self.results = 0
        """The units that are accessed, and those that are written, as bit sets."""
        self.local = False
        """A load or store that may be of local memory."""
        self.access: Access | None = None
        self.loads: Access | None = None
        """A load that may be from shared memory."""
        self.rows: Access | None = None
        """A store of a matrix, whose rows are at the addresses of other threads than those that have the data."""
        self.what = ""
        self.late = False
        """Results arrive at a wait."""
        self.waits = False
        """A wait for them."""
        if d is None:
            return
        t = touch(d)
        self.computes = (d.op.means or d.op.base) in _COMPUTES
        self.writes = [u for u, _ in t.writes if u < B_BASE]
        plain = accesses[0] if len(accesses) == 1 and d.op.base in (*_LOADS, *_STORES) else None
        self.local = d.op.base in ("LDL", "STL") or (plain is not None and plain.space == GENERIC)
        if len(accesses) == 1 and d.op.base in SHARED_LOADS and accesses[0].space in (SHARED, GENERIC):
            self.loads = accesses[0]
        self.access = plain
        if len(accesses) == 1 and d.op.base == "STSM":
            self.rows = accesses[0]
        stores = d.op.base in _STORES or self.rows is not None
        bits = (1 << 8 * plain.size) - 1 if plain is not None and plain.size < 4 else 0xFFFFFFFF
        for u, slot in t.reads:
            if slot == SLOT_GUARD:
                self.guard = u
            elif u < B_BASE and not d.op.flags & F_WGMMA:
                if stores and slot >= 4:
                    self.data.append((u, bits))
                else:
                    self.reads.append(u)
        self.what = (
            _ADDRESS
            if plain is not None or self.local
            else _BRANCH
            if d.op.base in _BRANCHES
            else f"an operand of {d.op.base}"
        )
        self.late = d.op.flags & F_WGMMA != 0
        self.waits = d.op.base == "WARPGROUP"
        for u in (*self.reads, *(u for u, _ in self.data), *self.writes, self.guard):
            if u >= 0:
                self.touched |= 1 << u
        for u in self.writes:
            self.results |= 1 << u


class _Shadow:
    """One set of values of the registers and local memory that nobody wrote."""

    def __init__(self, m: Machine, written: Arr, register: int, predicate: bool, byte: int) -> None:
        self.m: Final = m
        there = m.present
        warps: Arr = np.any(there.reshape(-1, 32), axis=1)
        n = m.register_count
        self.R: list[Arr] = [np.where(there, np.uint32(register), row) for row in m.R[:n]] + m.R[n:]
        self.UR: list[Arr] = [np.where(warps, np.uint32(register), row) for row in m.UR[:80]] + m.UR[80:]
        self.P: list[Arr] = list(m.P)
        self.UP: list[Arr] = list(m.UP)
        self.own = (1 << n) - 1 | ((1 << 80) - 1) << UR_BASE
        """The units whose rows are not the real ones."""
        if predicate:
            self.P[:7] = [there.copy() for _ in range(7)]
            self.UP[:7] = [warps.copy() for _ in range(7)]
            self.own |= 127 << P_BASE | 127 << UP_BASE
        local = m.local
        self.local = Banked(m.threads, local.size, local.base, "local", byte, lazy=True)
        self.shared: Final = SharedShadow(m.shared.data, written, byte)
        self.origin: dict[int, int] = {}
        """Unit -> the instruction that first read what nobody wrote and led to its value."""

    def row(self, unit: int) -> Arr:
        if unit < UR_BASE:
            return self.R[unit]
        if unit < P_BASE:
            return self.UR[unit - UR_BASE]
        return self.P[unit - P_BASE] if unit < UP_BASE else self.UP[unit - UP_BASE]

    def _put(self, unit: int, row: Arr) -> None:
        if unit < UR_BASE:
            self.R[unit] = row
        elif unit < P_BASE:
            self.UR[unit - UR_BASE] = row
        elif unit < UP_BASE:
            self.P[unit - P_BASE] = row
        else:
            self.UP[unit - UP_BASE] = row

    def part(self, unit: int) -> None:
        """Gives a unit a row of its own."""
        if not self.own >> unit & 1:
            self.own |= 1 << unit
            self._put(unit, self.row(unit).copy())

    def join(self, unit: int) -> None:
        """Makes the row of a unit the real one if it does not differ."""
        real = real_row(self.m, unit)
        if self.own >> unit & 1 and np.array_equal(real, self.row(unit)):
            self.own &= ~(1 << unit)
            self._put(unit, real)
            self.origin.pop(unit, None)

    def run(self, act: Active, run: Callable[[], Any]) -> Any:
        """Calls a function with the shadow's registers and local memory in place of the real ones; None if it failed."""
        m = self.m
        real = m.R, m.UR, m.P, m.UP, m.local
        m.R, m.UR, m.P, m.UP, m.local = self.R, self.UR, self.P, self.UP, self.local
        try:
            return run()
        except Fault:
            return (
                None  # What nobody wrote led to something that cannot be done; the real registers do it, or report it.
            )
        finally:
            m.R, m.UR, m.P, m.UP, m.local = real

    def differs(self, unit: int, a: Active, bits: int) -> Arr | None:
        """Which threads (for a uniform unit, warps) have another value than the real one; None if none has."""
        if not self.own >> unit & 1:
            return None
        where = members(unit, a)
        old, new = real_row(self.m, unit)[where], self.row(unit)[where]
        bad: Arr = old != new if bits == 0xFFFFFFFF else (old ^ new) & np.uint32(bits) != 0
        return bad if bad.any() else None

    def heal(self, unit: int, a: Active) -> None:
        """Gives some threads the real value."""
        if self.own >> unit & 1:
            where = members(unit, a)
            self.row(unit)[where] = real_row(self.m, unit)[where]
            self.join(unit)


def real_row(m: Machine, unit: int) -> Arr:
    """The row of a unit."""
    if unit < UR_BASE:
        return m.R[unit]
    if unit < P_BASE:
        return m.UR[unit - UR_BASE]
    return m.P[unit - P_BASE] if unit < UP_BASE else m.UP[unit - UP_BASE]


def _uniform(unit: int) -> bool:
    return UR_BASE <= unit < P_BASE or unit >= UP_BASE


def members(unit: int, a: Active) -> Any:
    """What indexes the row of a unit for some threads."""
    return a.warps if _uniform(unit) else a.sel


class Undefined:
    """The shadows of a batch of blocks."""

    def __init__(self, m: Machine, use: Callable[[int], Use], written: Arr, report: Report) -> None:
        """`written`: which bytes of shared memory need no write."""
        self.m: Final = m
        self.use: Final = use
        self.report: Final = report
        self.shadows: Final = [_Shadow(m, written, *fill) for fill in _FILLS]
        self._written = 0
        """Units that some instruction has written."""
        self._after: list[tuple[_Shadow, int, bool]] = []
        """After the instruction: shadows, units, and whether the shadow has computed the unit."""
        self._pc = 0
        self._stored: list[tuple[_Shadow, Arr, Arr, Arr]] = []
        """Stores of the instruction to shared memory that differ: shadows, offsets, their bytes and the real ones."""
        self._late: set[int] = set()
        """Results of matrix operations of warpgroups, which arrive at a wait."""
        calls = m.syscalls

        def syscalls(m: Machine, address: int, who: Active) -> Arr | None:
            written = range(m.register_count)
            again = None
            if isinstance(calls, Syscalls) and address == calls.printing:
                self._print(calls, address, who)
                written = range(RETURNED, RETURNED + 1)
            else:
                again = calls(m, address, who)
            for s in self.shadows:
                for unit in written:
                    s.heal(unit, who)
            return again

        m.syscalls = syscalls

    def _print(self, calls: Syscalls, address: int, who: Active) -> None:
        """A call of printf: each shadow, in whose local memory the arguments are, too, prints the same."""
        start = len(calls.output)
        texts: list[list[str] | None] = []

        def printed() -> list[str]:
            calls(self.m, address, who)
            return calls.output[start:]

        for s in self.shadows:
            s.part(RETURNED)
            texts.append(s.run(who, printed))
            del calls.output[start:]
        real = printed()
        for text in texts:
            if text != real:
                i = next(i for i, piece in enumerate(real) if text is None or piece != text[i])
                self.report(_PRINTED, self._pc, int(who.index[i]), -1)

    def issue(self, pc: int, cur: Active) -> None:
        """Before an instruction: runs it on the shadows or compares what it reads."""
        self._pc = pc
        self._after = []
        u = self.use(pc)
        for s in self.shadows:
            if u.touched & s.own or u.local or u.loads is not None:
                self._one(u, s, cur)
        self._written |= u.results
        if u.late:
            self._late.update(u.writes)
        elif u.waits:
            self._after += [(s, unit, False) for s in self.shadows for unit in self._late]

    def done(self, cur: Active, act: Active | None) -> None:
        """After an instruction: its results are written, as far as the shadows have not computed their own."""
        for s, offsets, values, real in self._stored:
            s.shared.put(offsets, values, real)
        self._stored = []
        for s, unit, computed in self._after:
            if computed:
                s.join(unit)
            elif act is not None:
                s.heal(unit, act)

    def written(self, offsets: Arr) -> None:
        """Bytes of shared memory that an instruction or a copy writes."""
        for s in self.shadows:
            s.shared.clear(offsets)

    def copied(self, goal: Arr, source: Arr | None) -> None:
        """Bytes of shared memory are copied to others; without `source` from device memory that nobody wrote."""
        for s in self.shadows:
            s.shared.copy(goal, source)

    def unwritten(self, offsets: Arr) -> Arr:
        """Which bytes of shared memory nobody wrote, or hold a value that nobody wrote."""
        found: Arr = np.logical_or.reduce([s.shared.differs(offsets) for s in self.shadows])
        return found

    def _one(self, u: Use, s: _Shadow, cur: Active) -> None:
        m, plan = self.m, u.plan
        act: Active | None = cur
        guard = plan.guard
        if guard is not None:
            keep = widen(guard(m, cur), cur.n)
            act = _chosen(cur, keep)
            if u.guard >= 0 and s.own >> u.guard & 1:
                other = widen(s.run(cur, lambda: guard(m, cur)), cur.n)
                if u.computes:
                    self._compute(u, s, _chosen(cur, other), True)
                    return
                if not np.array_equal(keep, other):
                    self._tell(_BRANCH, s, u.guard, int(cur.index[int(np.argmax(keep != other))]))
                    for each in self.shadows:
                        each.heal(u.guard, cur)
        if act is None:
            return
        if u.computes:
            self._compute(u, s, act, any(s.own >> unit & 1 for unit in u.reads))
            return
        for unit in u.reads:
            self._compare(u.what, s, unit, act, 0xFFFFFFFF)
        if u.rows is not None:
            if any(s.own >> unit & 1 for unit, _ in u.data):
                self._matrix_store(u, u.rows, s, act)
        elif u.local and u.access is None:
            self._local(u, s, act)
        elif u.data:
            self._store(u, s, act)
        elif u.loads is not None and self._holds(u.loads, s, act):
            s.shared.run(lambda: self._local(u, s, act))
        elif u.local:
            self._generic_load(u, s, act)
        self._after += [
            (s, unit, False) for unit in u.writes if s.own >> unit & 1 and (s, unit, True) not in self._after
        ]

    def _compute(self, u: Use, s: _Shadow, act: Active | None, differs: bool) -> None:
        """An instruction that only computes; `differs`: the shadow may have other sources."""
        if not differs:
            self._after += [(s, unit, False) for unit in u.writes if s.own >> unit & 1]
            return
        if act is not None:
            self._run(u, s, act)
        self._after += [(s, unit, True) for unit in u.writes]

    def _run(self, u: Use, s: _Shadow, act: Active) -> None:
        m, run = self.m, u.plan.run
        if run is None:
            return
        origin = next(
            (self._origin(s, unit) for unit in (*u.reads, u.guard) if unit >= 0 and s.own >> unit & 1), self._pc
        )
        for unit in u.writes:
            s.part(unit)
            s.origin[unit] = origin
        s.run(act, lambda: run(m, act))

    def _origin(self, s: _Shadow, unit: int) -> int:
        return s.origin.get(unit, self._pc if not self._written >> unit & 1 else -1)

    def _local(self, u: Use, s: _Shadow, act: Active) -> None:
        """STL and LDL run on the shadow too."""
        self._run(u, s, act)
        self._after += [(s, unit, True) for unit in u.writes]

    def _store(self, u: Use, s: _Shadow, act: Active) -> None:
        """A store; what goes to local or shared memory is stored in the shadow's."""
        access = u.access
        seen: Active | None = act
        if access is not None and access.values is not None and access.space != GLOBAL:
            values = access.values
            try:
                parts = [p for p in access.touched(self.m, act) if p.space != GLOBAL]
            except Fault:
                return  # The instruction itself fails.
            mine = np.ones(act.n, np.bool_)
            for part in parts:
                if part.space == LOCAL:
                    words = s.run(act, lambda: [widen(g(self.m, act), act.n) for g in values])
                    s.local.make()
                    where = slice(None) if part.where is None else part.where
                    s.local.store(part.offset, access.size, [w[where] for w in words])
                else:
                    self._stored += self._shared_store(access, s, act, part)
                mine[slice(None) if part.where is None else part.where] = False
            seen = _chosen(act, mine)
        if seen is not None:
            for unit, bits in u.data:
                self._compare("a stored value", s, unit, seen, bits)

    def _matrix_store(self, u: Use, rows: Access, s: _Shadow, act: Active) -> None:
        """STSM: both run, and then the memory is as before."""
        m, run = self.m, u.plan.run
        assert run is not None
        try:
            parts = rows.touched(m, act)
        except Fault:
            return  # The instruction itself fails.
        for part in parts:
            places = part.offset[:, None] + np.arange(rows.size)
            before = m.shared.data[places]
            s.run(act, lambda: run(m, act))
            values = m.shared.data[places]
            run(m, act)
            real = m.shared.data[places]
            m.shared.data[places] = before
            self._stored.append((s, places, values, real))

    def _shared_store(
        self, access: Access, s: _Shadow, act: Active, part: Touched
    ) -> list[tuple[_Shadow, Arr, Arr, Arr]]:
        """Bytes in shared memory for which a shadow has another value; none if all are the same."""
        real = access.bytes_of(self.m, act, part)
        values = s.run(act, lambda: access.bytes_of(self.m, act, part))
        if real is None or values is None or np.array_equal(real, values):
            return []
        return [(s, part.offset[:, None] + np.arange(access.size), values, real)]

    def _holds(self, access: Access, s: _Shadow, act: Active) -> bool:
        """Whether a load reads bytes of shared memory in which the shadow differs."""
        try:
            parts = [p for p in access.touched(self.m, act) if p.space == SHARED]
        except Fault:
            return False  # The instruction itself fails.
        return any(s.shared.differs(p.offset[:, None] + np.arange(access.size)).any() for p in parts)

    def _generic_load(self, u: Use, s: _Shadow, act: Active) -> None:
        try:
            assert u.access is not None
            local = any(p.space == LOCAL for p in u.access.touched(self.m, act))
        except Fault:
            return  # The instruction itself fails.
        if local:
            self._local(u, s, act)

    def _compare(self, what: str, s: _Shadow, unit: int, act: Active, bits: int) -> None:
        bad = s.differs(unit, act, bits)
        if bad is not None:
            i = int(np.argmax(bad))
            self._tell(what, s, unit, 32 * int(act.warps[i]) if _uniform(unit) else int(act.index[i]))
            for other in self.shadows:
                other.heal(unit, act)

    def _tell(self, what: str, s: _Shadow, unit: int, thread: int) -> None:
        self.report(what, self._pc, thread, self._origin(s, unit))


def _chosen(a: Active, keep: Arr) -> Active | None:
    """The threads where `keep` holds."""
    if keep.all():
        return a
    return a.subset(keep) if keep.any() else None
