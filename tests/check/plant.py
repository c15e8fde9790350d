"""Plants faults in finished code, harmful ones only.

What is harmful is decided here, in straight-line code and without the checker: a read of a fixed-latency result nearer than the
scheduling tables say although the original kept exactly that distance, a read of a late result (or a write to a register
still being read) with no wait at all for anything issued since, an operand kept by a reuse flag across a write to it.
Uses the compiler's own tables (``analysis.access``, ``schedule.latency``), not those of the checker.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from orias.analysis.access import B_BASE, SLOT_GUARD, UR_BASE, accesses
from orias.cubin import elf
from orias.cubin.elf import ElfFile
from orias.diag import Unsupported
from orias.isa.decode import Decoded
from orias.isa.isa_table import IsaTable
from orias.isa.operand import K_IMM, K_R, KIND_MASK, PAYLOAD_SHIFT, PT, UPT, is_zero_reg
from orias.ori.ir import Inst as IrInst
from orias.timing.ctl import (
    NO_BARRIER,
    read_barrier,
    reuse,
    stall,
    wait_mask,
    with_reuse,
    with_stall,
    write_barrier,
)
from orias.timing.latency import Latency, latency
from orias.timing.units import ALU, FMA, NEEDS_READ, NEEDS_WRITE, XU, units
from tests.control_words import with_control, with_read, with_wait, with_write

KINDS = ("drop wait", "shorten stall", "swap", "wrong barrier", "drop barrier", "plant reuse")
_REACH = 24
_STOPS = (
    "BRA", "BRX", "BRXU", "JMP", "JMX", "EXIT", "RET", "CALL", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "BAR", "DEPBAR", "YIELD", "BPT", "KILL",
    "ENDCOLLECTIVE", "WARPGROUP", "ERRBAR", "USETMAXREG",
)  # fmt: skip


@dataclass
class Inst:
    d: Decoded
    ctl: int
    reads: set[tuple[int, int]]
    writes: dict[int, int]
    needs: int

    def units(self) -> set[int]:
        return {u for u, _ in self.reads}

    def guarded(self) -> bool:
        return self.d.guard not in (PT, UPT)


@dataclass
class Fault:
    """One planted fault: the words that change, by byte offset in the section's code."""

    kind: str
    section: int
    words: dict[int, int]
    note: str


def sections(data: bytes) -> list[tuple[int, int, bytes]]:
    """(index, file offset, code) of each code section."""
    file = ElfFile(data)
    return [
        (s.index, s.offset, s.data)
        for s in file.sections
        if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR and s.data
    ]


class Planter:
    """Finds faults to plant in the code of one section."""

    def __init__(self, section: int, code: bytes, table: IsaTable, sm: int) -> None:
        self.section = section
        self.table = table
        # From sm_100 on the distances of sm_90 hold, or larger ones (docs/facts/timing.md).
        self.lat: Latency = latency(min(sm, 90))
        self.units = units(sm)
        self.words = [int.from_bytes(code[i : i + 16], "little") for i in range(0, len(code), 16)]
        self.insts = [self._inst(w) for w in self.words]
        self.breaks = {0, len(self.words)}
        for i, x in enumerate(self.insts):
            if x is None or x.d.op.base in _STOPS:
                self.breaks.add(i + 1)
                self.breaks.add(i)
            if x is not None and x.d.op.base in ("BRA", "BSSY", "CALL", "WARPSYNC"):
                for o in x.d.src:
                    if o & KIND_MASK == K_IMM:
                        v = o >> PAYLOAD_SHIFT
                        self.breaks.add(i + 1 + (v - (1 << 64) if v >> 63 else v) // 16)
        if any(x is not None and x.d.op.base in ("BRX", "BRXU", "JMX") for x in self.insts):
            self.breaks.update(range(len(self.words)))

    def _inst(self, w: int) -> Inst | None:
        d = self.table.decode(w)
        try:
            inst = IrInst(d.op, d.dst, d.src, d.guard)
            a = accesses(inst)
            needs = self.units.needs(inst.op, inst.dst, inst.src)
        except Unsupported:
            return None
        return Inst(d, d.ctl, {(r >> 8, r & 255) for r in a.reads}, {w >> 8: w >> 4 & 15 for w in a.writes}, needs)

    def run_of(self, at: int) -> tuple[int, int]:
        """The straight piece of code around an instruction."""
        start = at
        while start not in self.breaks:
            start -= 1
        end = at + 1
        while end not in self.breaks:
            end += 1
        return start, end

    # -- what is broken, in straight-line code

    def broken(self, run: list[Inst]) -> str:
        """The first certain hazard of a straight piece of code."""
        for i, p in enumerate(run):
            why = self._late(run, i, p) if p.needs else ""
            if not why and not p.needs & NEEDS_WRITE:
                why = self._early(run, i, p)
            if why:
                return why
        return ""

    def _early(self, run: list[Inst], i: int, p: Inst) -> str:
        """A reader nearer than the latency."""
        alive = {u for u in p.writes if u < B_BASE}
        cycles = stall(p.ctl)
        for c in run[i + 1 : i + 1 + _REACH]:
            if not alive or cycles > 40:
                break
            if wait_mask(c.ctl):
                # It may take any time: nothing after it is certain.
                break
            near = self._may_be_near(c)
            for u, slot in c.reads:
                if u in alive and not self._exclusive(p, c):
                    if near and slot != SLOT_GUARD:
                        continue
                    if self.lat.is_guess(p.d.op, c.d.op, u, slot) or p.d.op.base.endswith("MMA"):
                        continue
                    need = self.lat.raw(p.d.op, p.writes[u], c.d.op, u, slot)
                    if cycles < need:
                        return f"{p.d.op.name} to {c.d.op.name}: {cycles} of {need}"
            alive -= set(c.writes)
            cycles += stall(c.ctl)
        return ""

    def _late(self, run: list[Inst], i: int, p: Inst) -> str:
        """A reader of a late result, or a writer of a register that is read late, with no wait for anything since."""
        results = {u for u in p.writes if u < B_BASE} if p.needs & NEEDS_WRITE else set()
        sources = {u for u, s in p.reads if u < UR_BASE and s != SLOT_GUARD} if p.needs & NEEDS_READ else set()
        boards: set[int] = set()
        for b in (write_barrier(p.ctl), read_barrier(p.ctl)):
            if b != NO_BARRIER:
                boards.add(b)
        mine = set(boards)
        for c in run[i + 1 : i + 1 + _REACH]:
            if any(wait_mask(c.ctl) >> b & 1 for b in boards):
                if any(wait_mask(c.ctl) >> b & 1 for b in boards - mine):
                    break
                if wait_mask(c.ctl) >> write_barrier(p.ctl) & 1 and write_barrier(p.ctl) != NO_BARRIER:
                    break
                sources = set()
                if not results:
                    break
            if not self._exclusive(p, c):
                if results & c.units():
                    return f"{c.d.op.name} reads a result of {p.d.op.name}"
                if sources & set(c.writes) and not c.needs & NEEDS_WRITE:
                    return f"{c.d.op.name} writes a source of {p.d.op.name}"
                if results & set(c.writes):
                    break
                sources -= set(c.writes)
            # A wait for it may be one for the earlier one too, under whatever guard: ptxas relies on that.
            for b in (write_barrier(c.ctl), read_barrier(c.ctl)):
                if b != NO_BARRIER:
                    boards.add(b)
        return ""

    def _may_be_near(self, reader: Inst) -> bool:
        """True for readers to which ptxas itself leaves less than the scheduling tables say, hundreds of times in the corpus.

        Wide products and their upper words (4 cycles instead of 5, 2 and 3 from sm_100 on) and the XU (4 instead of 6, 2 on sm_90): a
        shorter way of an operand to these is no certain fault.
        """
        return self.units.pipe(reader.d.op) == XU or self.lat.op_class(reader.d.op) == "WIDE"

    @staticmethod
    def _exclusive(a: Inst, b: Inst) -> bool:
        return a.guarded() and b.guarded() and a.d.guard != b.d.guard

    # -- faults

    def some(self, rng: random.Random, each: int) -> Iterator[Fault]:
        """Harmful faults in random order, up to `each` of every kind."""
        here: Counter[str] = Counter()
        for fault in self.faults(rng):
            if here[fault.kind] == each:
                if len(here) == len(KINDS) and min(here.values()) == each:
                    return
                continue
            here[fault.kind] += 1
            yield fault

    def faults(self, rng: random.Random) -> Iterator[Fault]:
        """Harmful faults, in random order, one for each place and kind at most."""
        places = [(i, k) for i in range(len(self.words)) for k in KINDS]
        rng.shuffle(places)
        clean: dict[int, bool] = {}
        for i, kind in places:
            if self.insts[i] is None:
                continue
            start, end = self.run_of(i)
            run = self.insts[start:end]
            if end - start < 2:
                continue
            if start not in clean:
                clean[start] = all(x is not None for x in run) and not self.broken([x for x in run if x])
            if not clean[start]:
                continue
            made = self._make(kind, i, start, end, rng)
            if made is None:
                continue
            changed, certain = made
            low = max(start, i - _REACH)
            after = [x for x in self.insts[low : min(end, i + _REACH + 2)] if x is not None]
            for at, (_, x) in changed.items():
                after[at - low] = x
            why = certain or self.broken(after)
            if why:
                yield Fault(kind, self.section, {at * 16: w for at, (w, _) in changed.items()}, why)

    def _with(self, i: int, ctl: int) -> dict[int, tuple[int, Inst]]:
        x = self.insts[i]
        assert x is not None
        word = with_control(self.words[i], ctl)
        return {i: (word, Inst(x.d, ctl, x.reads, x.writes, x.needs))}

    def _make(
        self, kind: str, i: int, start: int, end: int, rng: random.Random
    ) -> tuple[dict[int, tuple[int, Inst]], str] | None:
        x = self.insts[i]
        assert x is not None
        ctl = x.ctl
        if kind == "drop wait":
            bits = [b for b in range(6) if wait_mask(ctl) >> b & 1]
            return (self._with(i, with_wait(ctl, wait_mask(ctl) & ~(1 << rng.choice(bits)))), "") if bits else None
        if kind == "shorten stall":
            s = stall(ctl)
            return (self._with(i, with_stall(ctl, rng.randint(1, s - 1))), "") if s > 1 else None
        if kind == "swap":
            if i + 1 >= end or self.insts[i + 1] is None:
                return None
            y = self.insts[i + 1]
            assert y is not None
            if not set(x.writes) & y.units():
                return None
            return {i: (self.words[i + 1], y), i + 1: (self.words[i], x)}, ""
        if kind == "wrong barrier":
            w = write_barrier(ctl)
            if w == NO_BARRIER:
                return None
            return self._with(i, with_write(ctl, rng.choice([b for b in range(6) if b != w]))), ""
        if kind == "drop barrier":
            if write_barrier(ctl) != NO_BARRIER:
                return self._with(i, with_write(ctl, NO_BARRIER)), ""
            if read_barrier(ctl) != NO_BARRIER:
                return self._with(i, with_read(ctl, NO_BARRIER)), ""
            return None
        return self._reuse(i, end)

    def _reuse(self, i: int, end: int) -> tuple[dict[int, tuple[int, Inst]], str] | None:
        mine = self._fields(i)
        for field, unit in mine.items():
            x = self.insts[i]
            assert x is not None
            if reuse(x.ctl) >> field & 1:
                continue
            written = unit in x.writes
            for j in range(i + 1, min(end, i + 4)):
                y = self.insts[j]
                if y is None or reuse(y.ctl):
                    break
                if self._fields(j).get(field) == unit:
                    if written:
                        return self._with(i, with_reuse(x.ctl, reuse(x.ctl) | 1 << field)), f"kept R{unit} is old"
                    break
                if any(u == unit for u, _ in y.reads):
                    break
                written = written or unit in y.writes
        return None

    def _fields(self, i: int) -> dict[int, int]:
        """Register of each source field that has a reuse flag, for single registers of the arithmetic pipes."""
        x = self.insts[i]
        if x is None or self.units.pipe(x.d.op) not in (ALU, FMA):
            return {}
        out: dict[int, int] = {}
        fields = self.table.reuse_fields(x.d.op, x.d.dst, x.d.src)
        for o, field in zip(x.d.src, fields, strict=False):
            if field >= 0 and o & KIND_MASK == K_R and not is_zero_reg(o):
                out[field] = o >> PAYLOAD_SHIFT
        return out


def patched(data: bytes, offset: int, fault: Fault) -> bytes:
    """The file with a fault planted; `offset`: where the section's code starts."""
    out = bytearray(data)
    for at, w in fault.words.items():
        out[offset + at : offset + at + 16] = w.to_bytes(16, "little")
    return bytes(out)
