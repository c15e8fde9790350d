"""A cubin whose kernel runs from Ori: memory, constants and parameters come from the file, code from the functions.

All functions are placed one after the other, as instructions of 16 bytes, after the file's code.  Code addresses in the
file's data therefore differ from those that the running code computes.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from orias.cubin.reader import Reader
from orias.isa.decode import Decoded
from orias.isa.gmma_forms import c_count, c_start, is_list
from orias.isa.op import F_ALIGNED, F_BARRIER, F_PARTIAL, F_SIZED, F_WGMMA, F_WRITE
from orias.isa.operand import (
    K_CONST,
    K_IMM,
    K_LABEL,
    K_NONE,
    K_P,
    K_R,
    K_SYM,
    K_UP,
    K_UR,
    PT,
    RZ,
    Opnd,
    const,
    const_bank,
    const_offset,
    has_lane,
    imm,
    imm64,
    in_file,
    is_vreg,
    kind_of,
    label_id,
    lane_words,
    modifiers_of,
    payload,
    r,
)
from orias.ori.ir import OP_COPY, Block, Func, Inst
from orias.ori.text import inst_text
from orias.schedule.joined_words import Word, is_joined, joined_words
from orias.sim.core.build import build, guard_of, illegal
from orias.sim.core.engine import Engine, Flow, Plan
from orias.sim.core.image import Image
from orias.sim.core.launch import STACK_TOP, Launch
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Site, run_all
from orias.sim.core.state import POISON, Active, Machine
from orias.sim.math.ops_int import I64, U32
from orias.sim.matrix.exec_warpgroup import gmma, take_results
from orias.sim.ori import pseudo
from orias.sim.ori.rows import Rows
from orias.sim.ori.shared_operations import SharedOperations, executed
from orias.sim.sass.exec_flow import CODE_BASE, SYSCALL_BASE, jump_to

_PHYSICAL_STATES: Final = ("allocated", "final")
_STEP: Final = 16
_WHOLE: Final = F_ALIGNED | F_WGMMA | F_BARRIER
"""Flags of operations that a whole warp executes together."""


def _distance(bytes_: int) -> Opnd:
    return imm64(bytes_)


class _OriLaunch(Launch):
    """A launch whose machine has rows for virtual registers."""

    image: "OriImage"

    @property
    def register_count(self) -> int:
        return 255 + self.image.code.rows.count(K_R)

    def prepare(self, m: Machine) -> None:
        code = self.image.code
        m.R.extend(np.full((code.rows.count(K_R), m.threads), POISON, U32))
        m.P += [np.zeros(m.threads, np.bool_) for _ in range(code.rows.count(K_P))]
        m.UR.extend(np.full((code.rows.count(K_UR), m.warps), POISON, U32))
        m.UP += [np.zeros(m.warps, np.bool_) for _ in range(code.rows.count(K_UP))]
        # Code before allocation does not set the stack pointer; later code does.
        m.R[1][:] = code.stack_pointer
        m.set_bank(2, code.bank2(m.const[2].tobytes()))
        code.saved.clear()
        code.depth = np.zeros(m.threads, I64)

    def entry(self) -> int:
        return self.image.code.start[self.image.code.kernel]


class OriImage(Image):
    """`data`: the finished cubin; `funcs`: the kernel, the functions after it and its helpers, each at any stage.

    `meets`: for code before the phase that makes divergent warps reconverge (LateExpandSyncInstructions).  An operation
    of the whole warp then waits for all live threads of the warp, and threads run a collective together wherever they are.
    """

    launch_type = _OriLaunch

    def __init__(self, data: bytes | Reader, kernel: str, funcs: list[Func], meets: bool = False) -> None:
        super().__init__(data)
        self.code = OriCode(self, kernel, funcs, meets)

    def plans(self) -> list[Plan | None]:
        """The plans, by instruction index."""
        return self.code.plans

    def compile(self, index: int) -> Plan:
        """The plan of an index; all plans exist already."""
        plan = self.code.plans[index] if 0 <= index < len(self.code.plans) else None
        return plan if plan is not None else illegal(index << 4, "execution left the code")


class OriCode:
    """The plans of a kernel's functions."""

    def __init__(self, image: Image, kernel: str, funcs: list[Func], meets: bool) -> None:
        self.image = image
        self.meets = meets
        self.kernel = funcs[0].name
        self.funcs = funcs
        self.rows = Rows()
        self.start: dict[str, int] = {}
        self.saved: dict[tuple[int, int], list[Any]] = {}
        self.depth = np.zeros(1, I64)
        first = (image.code_size() >> 4) + 16
        self.plans: list[Plan | None] = [None] * first
        self._tables: list[tuple[int, int]] = []
        self._block_at: dict[tuple[str, int], int] = {}
        self._old_starts = image.function_offsets(kernel)
        self.recursive = _may_recur(funcs)
        addressed = [f for f in funcs if any(i.op.base == "RET" and i.op.has("ABS") for i in f.insts())]
        self.apart = bool(addressed)
        """True if functions return to addresses, False if to offsets in a section."""
        self.addressed = {f.name for f in addressed}
        """The functions that do."""
        self._frame_align: int = max([16, *[f.frame_align for f in funcs]])
        self.stack_pointer = ((STACK_TOP & -self._frame_align) - self._frame(funcs[0])) & 0xFFFFFFFF
        for fn in funcs:
            self.rows.add(fn)
        self._shared = SharedOperations(funcs if meets else [], self.rows)
        self._place()
        for fn in funcs:
            self._emit(fn)
        self._shared.place(self.plans)

    def _frame(self, fn: Func) -> int:
        """Bytes of a frame that no prologue makes yet; each is a multiple of the largest alignment."""
        align = self._frame_align
        return -(-fn.frame_fixed // align) * align if fn.state not in _PHYSICAL_STATES else 0

    # -- layout

    def _size(self, fn: Func, b: Block, i: Inst) -> int:
        """Number of plans of an instruction."""
        n = 1
        if _keeps(i) and i.old != i.dst[0]:
            n += 1
        if i.op.base in ("call", "CALL") or self._waits(fn, i) or self._shared.waits(fn, i):
            n += 1
        if i.op.base == "RET" and self._frame(fn):
            n += 1
        return n

    def _waits(self, fn: Func, i: Inst) -> bool:
        """True if the warp must reconverge before the instruction."""
        return self.meets and i.op.flags & _WHOLE != 0 and not self._shared.waits(fn, i)

    def _place(self) -> None:
        at = len(self.plans)
        for fn in self.funcs:
            self.start[fn.name] = at
            if fn.kind != "entry" and self._frame(fn):
                at += 1
            for b in fn.blocks:
                self._block_at[fn.name, b.id] = at
                at += sum(self._size(fn, b, i) for i in b.insts if i.op.base != "phi")
                at += len(b.succs)
        self.plans += [None] * (at - len(self.plans))

    def bank2(self, data: bytes) -> bytes:
        """Constant bank 2 with the jump tables of this code."""
        out = bytearray(data)
        for place, index in self._tables:
            out[place : place + 4] = (16 * index).to_bytes(4, "little")
        return bytes(out[:65552])

    # -- code

    def _emit(self, fn: Func) -> None:
        at = self.start[fn.name]
        frame = self._frame(fn)
        if fn.kind != "entry" and frame:
            self._run(at, fn, fn.blocks[0].insts[0] if fn.blocks[0].insts else None, _move_stack(-frame))
        for b in fn.blocks:
            at = self._block_at[fn.name, b.id]
            body = [i for i in b.insts if i.op.base != "phi"]
            ends = at + sum(self._size(fn, b, i) for i in body)
            for i in body:
                at = self._instruction(fn, b, i, at, ends)
            self._edges(fn, b, at)

    def _edges(self, fn: Func, b: Block, at: int) -> None:
        seen: dict[int, int] = {}
        for k, s in enumerate(b.succs):
            times = seen.get(s.id, 0)
            seen[s.id] = times + 1
            places = [j for j, p in enumerate(s.preds) if p is b]
            which = places[min(times, len(places) - 1)]
            moves = []
            for i in s.insts:
                if i.op.base == "phi":
                    width = fn.width(i.dst[0])
                    moves.append((self._map(fn, i.dst[0]), self._map(fn, i.src[which]), width))
            target = self._block_at[fn.name, s.id]
            plan = Plan((at + k) << 4, lambda: "edge")
            plan.flow = _go(pseudo.edge(moves, Site(s.insts[0].op, [], [], 0, False)) if moves else None, target)
            self.plans[at + k] = plan

    def _map(self, fn: Func, o: Opnd) -> Opnd:
        return self.rows.map(fn, o)

    def _run(self, at: int, fn: Func, i: Inst | None, run: Exec) -> None:
        plan = Plan(at << 4, lambda: inst_text(i, fn) if i is not None else "")
        plan.run = run
        self.plans[at] = plan

    def _guarded(self, plan: Plan, fn: Func, i: Inst) -> Plan:
        plan.guard = guard_of(self._map(fn, i.guard))
        return plan

    def _instruction(self, fn: Func, b: Block, i: Inst, at: int, ends: int) -> int:
        if _keeps(i) and i.old != i.dst[0]:
            site = Site(OP_COPY, [self._map(fn, i.dst[0])], [self._map(fn, i.old)], 0, False)
            self._run(at, fn, i, pseudo.copy(site, fn.width(i.dst[0])))
            at += 1
        base = i.op.base
        if base == "RET" and self._frame(fn):
            self._run(at, fn, i, _move_stack(self._frame(fn)))
            plan = self.plans[at]
            assert plan is not None
            self._guarded(plan, fn, i)
            at += 1
        if self._waits(fn, i):
            plan = self.plans[at] = Plan(at << 4, lambda: inst_text(i, fn))
            plan.flow = _whole_warp
            at += 1
        if self._shared.waits(fn, i):
            place = at
            wait, take = self._shared.steps(fn, i, lambda o: self._operand(fn, o, place), lambda: inst_text(i, fn))
            plan = self._guarded(Plan(at << 4, lambda: inst_text(i, fn)), fn, i)
            plan.flow = wait
            self.plans[at] = plan
            self._run(at + 1, fn, i, take)
            taking = self.plans[at + 1]
            assert taking is not None
            self._guarded(taking, fn, i)
            return at + 2
        try:
            plan = self._plan(fn, b, i, at, ends)
        except (Fault, KeyError, IndexError, ValueError, AssertionError, StopIteration) as e:
            plan = illegal(at << 4, f"{inst_text(i, fn)} cannot be executed: {type(e).__name__} {e}")
        self.plans[at] = plan
        at += 1
        if base in ("call", "CALL"):
            self._run(at, fn, i, self._restore(fn) if self._keeps(fn) else _nothing)
            at += 1
        return at

    def _operand(self, fn: Func, o: Opnd, at: int) -> Opnd:
        k = kind_of(o)
        if k == K_SYM:
            ref = fn.syms[payload(o)]
            if ref.kind in ("ret_lo", "ret_hi", "ret_rel"):
                # The plan of the call sets the return address: see _call.
                return imm(0)
            if ref.kind in ("pc_lo", "pc_hi"):
                return imm(0)
            if ref.kind in ("lo32", "hi32") and ref.name in self.start:
                address = CODE_BASE + _STEP * self.start[ref.name]
                return imm(address & 0xFFFFFFFF if ref.kind == "lo32" else address >> 32)
            if ref.kind in ("lo32", "hi32") and ref.name in self.image.variables:
                address = self.image.variables[ref.name][0] + ref.addend
                return imm(address & 0xFFFFFFFF if ref.kind == "lo32" else address >> 32)
            if ref.kind in ("text_lo", "text_hi", "func", "func_lo", "func_hi"):
                low = ref.kind not in ("text_hi", "func_hi")
                return imm(_STEP * self.start[ref.name] + ref.addend if low else 0)
            raise Fault(IllegalInstruction, f"a {ref.kind} reference to {ref.name}")
        if k == K_LABEL:
            return _distance(_STEP * (self._block_at[fn.name, label_id(o)] - at - 1))
        if k == K_CONST and has_lane(o):
            return const(const_bank(o), const_offset(o)) | modifiers_of(o)
        return self._map(fn, o)

    def _width(self, fn: Func, o: Opnd) -> int:
        """Width in words of a source of pack."""
        if kind_of(o) in (K_R, K_UR) and is_vreg(o):
            return lane_words(o, fn.width(o))[1]
        return 1

    def _plan(self, fn: Func, b: Block, i: Inst, at: int, ends: int) -> Plan:
        base = i.op.base

        def text() -> str:
            return inst_text(i, fn)

        if base in ("call", "CALL"):
            plan = Plan(at << 4, text)
            plan.flow = self._call(fn, i, at)
            return self._guarded(plan, fn, i)
        src = [self._operand(fn, o, at) for o in i.src]
        dst = [self._map(fn, o) for o in i.dst]
        address = CODE_BASE + (at << 4)
        if i.op.base in pseudo.NOTHING or self._shared.is_silent(fn, i):
            plan = Plan(at << 4, text)
            plan.run = _nothing
            return plan
        if base in ("copy", "pack", "frame") or base in pseudo.WIDE:
            plan = Plan(at << 4, text)
            site = Site(i.op, dst, src, address, False)
            width = fn.width(i.dst[0])
            if base == "copy":
                plan.run = pseudo.copy(site, width)
            elif base == "pack":
                plan.run = pseudo.pack(site, width, self._pack_widths(fn, i, width))
            elif base == "frame":
                plan.run = _frame_address(site, self._frame(fn) if i.op.has("IN") else 0)
            else:
                plan.run = pseudo.WIDE[base](site)
            return self._guarded(plan, fn, i)
        if base == "BRA":
            taken = ends + len(b.succs) - 1
            src.append(_distance(_STEP * (taken - at - 1)))
        elif base in ("BRX", "RET"):
            relative = base == "BRX" or i.op.has("REL")
            src = [src[0], _distance(-_STEP * (at + 1) if relative else 0)]
            if base == "BRX":
                table = fn.tables[i.uid]
                self._tables += [(table.offset + 4 * n, ends + pick) for n, pick in enumerate(table.picks)]
        if i.op.flags & F_WGMMA and is_list(dst):
            plan = Plan(at << 4, text)
            plan.run = self._products(i, dst, src)
            return self._guarded(plan, fn, i)
        src, before = self._wide_data(i, src)
        if is_joined(i.op) and dst:
            plan = Plan(at << 4, text)
            plan.run = _in_turn(joined_words(i.op, dst, src), address, text)
            return self._guarded(plan, fn, i)
        d = Decoded(executed(i.op), self._map(fn, i.guard), dst, src, 0)
        plan = build(d, at << 4, address, text)
        if before is not None and plan.run is not None:
            inner, first = plan.run, before

            def both(m: Machine, a: Active) -> None:
                first(m, a)
                inner(m, a)

            plan.run = both
            plan.tracked = False
        return plan

    def _products(self, i: Inst, dst: list[Opnd], src: list[Opnd]) -> Exec:
        """A warpgroup operation whose D and C are lists of words; done at once, which a correct program cannot observe."""
        words = len(dst)
        row = self.rows.fresh(K_R, words)
        whole = r(row)
        first, count = c_start(src), c_count(dst, src)
        c = [] if count == 1 else [payload(o) for o in src[first : first + count]]
        product = gmma(Site(i.op, [whole], [*src[:first], whole if c else RZ, *src[first + count :]], 0, False))
        results = [payload(o) for o in dst]

        def run(m: Machine, a: Active) -> None:
            for k, register in enumerate(c):
                m.R[row + k][a.sel] = m.R[register][a.sel]
            product(m, a)
            take_results(m, a, row, results)

        return run

    def _wide_data(self, i: Inst, src: list[Opnd]) -> tuple[list[Opnd], Exec | None]:
        """Copies the data of a wide store to rows if they are no register, which is legal before legalisation."""
        if i.op.flags & (F_WRITE | F_SIZED) != F_WRITE | F_SIZED or not (i.op.has("64") or i.op.has("128")):
            return src, None
        o = src[4]
        if in_file(o, K_R):
            return src, None
        width = 4 if i.op.has("128") else 2
        row = self.rows.fresh(K_R, width)
        d = r(row)
        return [*src[:4], d, *src[5:]], pseudo.copy(Site(i.op, [d], [o], 0, False), width)

    def _pack_widths(self, fn: Func, i: Inst, width: int) -> list[int]:
        """Width in words of each part of a pack; constants share the words that the registers leave."""
        known = [self._width(fn, o) for o in i.src]
        fill = [k for k, o in enumerate(i.src) if kind_of(o) in (K_IMM, K_CONST)]
        missing = width - sum(known)
        for k in fill:
            if missing > 0 and (len(fill) * 1 <= missing or payload(i.src[k]) >> 32):
                known[k] += 1
                missing -= 1
        return known

    # -- calls

    def _keeps(self, fn: Func) -> bool:
        return self.recursive and fn.state not in _PHYSICAL_STATES

    def _save(self, fn: Func, m: Machine, a: Active) -> None:
        rows = self.rows.of(fn)
        number = self.start[fn.name]
        for level in sorted({int(d) for d in self.depth[a.sel]}, reverse=True):
            here = self.depth[a.sel] == level
            who = a if here.all() else a.subset(here)
            kept = self.saved.setdefault((number, level), [np.zeros(m.threads, U32) for _ in rows])
            for k, row in zip(kept, rows, strict=True):
                k[who.sel] = m.R[row][who.sel]
            self.depth[who.sel] = level + 1

    def _restore(self, fn: Func) -> Exec:
        rows = self.rows.of(fn)
        number = self.start[fn.name]

        def run(m: Machine, a: Active) -> None:
            for level in sorted({int(d) for d in self.depth[a.sel]}):
                here = self.depth[a.sel] == level
                who = a if here.all() else a.subset(here)
                for k, row in zip(self.saved[number, level - 1], rows, strict=True):
                    m.R[row][who.sel] = k[who.sel]
                self.depth[who.sel] = level - 1

        return run

    def _call(self, fn: Func, i: Inst, at: int) -> Flow:
        """A call: sets the return address (an offset as for CALL.REL, an address for functions of the system), then jumps."""
        info = fn.calls[i.uid]
        near = info.kind == "helper" and not info.apart
        ra = 2 if near else 20
        back = _STEP * (at + 1)
        ret = back + (CODE_BASE if info.target in self.addressed or (self.apart and not near) else 0)
        keeps = self._keeps(fn)
        target = self.start.get(info.target or "", -1)
        address = None
        named = self.image.syscalls.address(info.target) if target < 0 and info.target is not None else None
        if named is not None:
            address = _always(named)
        elif target < 0:
            pairs = [o for o in i.src if in_file(o, K_R)]
            o = i.src[-1] if i.op.base == "call" else pairs[0]
            address = Site(i.op, [], [], 0, False).raw64(self._map(fn, o))

        def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
            m = e.m
            m.R[ra][a.sel] = ret & 0xFFFFFFFF
            m.R[ra + 1][a.sel] = ret >> 32
            if keeps:
                self._save(fn, m, a)
            if address is None:
                e.add(target, a)
                if rest is not None:
                    e.add(pc + 1, rest)
                return -1
            where = np.array(np.broadcast_to(address(m, a), (a.n,)))
            system = where >= np.uint64(SYSCALL_BASE)
            if system.any():
                long = CODE_BASE + back
                m.R[ra][a.sel] = long & 0xFFFFFFFF
                m.R[ra + 1][a.sel] = long >> 32
            else:
                where = self._translate(where)
                where[where < np.uint64(CODE_BASE)] += np.uint64(CODE_BASE)
            return jump_to(e, a, where, rest, pc)

        return run

    def _translate(self, where: Any) -> Any:
        out = where.copy()
        for old, name in self._old_starts.items():
            if name in self.start:
                out[where == np.uint64(old)] = CODE_BASE + _STEP * self.start[name]
        return out


def _may_recur(funcs: list[Func]) -> bool:
    """True if some function may be entered again before it returns: by a cycle of calls, or by a call through a pointer."""
    direct = {f.name: {c.target for c in f.calls.values() if c.kind != "syscall"} for f in funcs}
    if any(None in x for x in direct.values()):
        return True
    for name in direct:
        seen: set[str] = set()
        todo = [t for t in direct[name] if t is not None]
        while todo:
            t = todo.pop()
            if t not in seen:
                seen.add(t)
                todo.extend(x for x in direct.get(t, ()) if x is not None)
        if name in seen:
            return True
    return False


def _keeps(i: Inst) -> bool:
    """True for an instruction after which its result may be the old value."""
    return i.old != K_NONE and (i.guard != PT or i.op.flags & F_PARTIAL != 0) and bool(i.dst)


def _always(address: int) -> Callable[[Machine, Active], Any]:
    value = np.full(1, address, np.uint64)
    return lambda m, a: value


def _nothing(m: Machine, a: Active) -> None:
    """The effect of operations without effect."""


def _move_stack(by: int) -> Exec:
    step = np.uint32(by & 0xFFFFFFFF)

    def run(m: Machine, a: Active) -> None:
        m.R[1][a.sel] += step

    return run


def _frame_address(site: Site, base: int) -> Exec:
    put = site.set32(site.dst[0])
    offset = np.uint32((payload(site.src[0]) + base) & 0xFFFFFFFF)
    return lambda m, a: put(m, a, m.R[1][a.sel] + offset)


def _whole_warp(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
    return e.wait_warpsync(a, np.full(a.n, 0xFFFFFFFF, U32), rest, pc)


def _in_turn(words: list[Word], address: int, text: Callable[[], str]) -> Exec:
    """Instructions on rows, one after the other."""
    steps = [build(Decoded(o, PT, d, s, 0), 0, address, text).run for o, d, s in words]
    return run_all([step for step in steps if step is not None])


def _go(run: Exec | None, target: int) -> Flow:
    def flow(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        if run is not None:
            run(e.m, a)
        return target

    return flow
