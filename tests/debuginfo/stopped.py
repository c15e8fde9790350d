"""Stops threads of a kernel at every instruction and holds the register tables of -g against the PTX interpreter.

Both simulators run the kernel.  What the interpreter has in a PTX register before a PTX instruction is what the table must
find at the instructions of that PTX line; where the line assigns the register, the value after it will do as well.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np

import orias.sim as sim
from orias.cubin.elf import ElfFile
from orias.cubin.lineread import PTX_LINE, line_tables
from orias.ptx.ast import Instr, Operand
from orias.ptx.parser import parse
from orias.sim.core.engine import Engine
from orias.sim.core.launch import STACK_TOP
from orias.sim.core.state import Active, Machine
from orias.sim.ptx.machine import PtxMachine
from orias.sim.ptx.ptx_image import PtxImage
from orias.sim.ptx.ptx_program import Program, Unit
from tests.debuginfo.test_debuginfo import tables

Key = tuple[str, int]
"""Function and PTX line."""
Run = Callable[[Any], object]
"""Launches a kernel on an image, with the same memory on every one."""


class _Registers:
    """Where the interpreter has the registers of a function."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        """Kept, because registers are known by it."""
        self.rows: list[int] = []
        self.predicates: list[int] = []
        self.narrow: set[tuple[str, int]] = set()
        self.at: dict[tuple[str, int], list[int]] = {}
        """PTX register and word -> its numbers in a snapshot; several where blocks declare one name."""
        for v in unit.function.regs:
            row, bits, words = unit.rows[id(v)]
            for k in range(words * v.vec):
                if bits == 1:
                    self.predicates.append(row)
                    self.at.setdefault((v.name, k), []).append(-len(self.predicates))
                else:
                    self.at.setdefault((v.name, k), []).append(len(self.rows))
                    self.rows.append(row + k)
                if bits in (8, 16):
                    self.narrow.add((v.name, k))


class Values:
    """The PTX registers of a thread before an instruction."""

    def __init__(self, registers: _Registers, m: PtxMachine, t: int) -> None:
        self.registers = registers
        self.words = array("I", (int(m.R[row][t]) for row in registers.rows))
        self.predicates = bytes(int(m.P[row][t]) for row in registers.predicates)

    def get(self, name: str, word: int) -> set[int]:
        """The values of a word of a register; several where blocks declare one name."""
        r = self.registers
        places = r.at.get((name, word), ())
        found = {self.words[k] if k >= 0 else self.predicates[-k - 1] for k in places}
        return {v & 0xFFFF for v in found} if (name, word) in r.narrow else found


@contextmanager
def _watched(issue: Callable[[Machine, int, Active], None]) -> Iterator[None]:
    """Call `issue` before each instruction of each engine."""

    class Timing:
        def __init__(self, engine: Engine) -> None:
            self.m = engine.m

        def issue(self, pc: int, cur: Active) -> None:
            issue(self.m, pc, cur)

        def read(self, act: Active) -> None:
            pass

        def done(self, cur: Active, act: Active | None) -> None:
            pass

    with patch.object(Engine, "timing", property(Timing)):
        yield


def _collapsed(events: list[tuple[Key, Values | None]]) -> list[tuple[Key, Values | None, Values | None]]:
    """The events with (before, after) of each, runs of one line as one."""
    out: list[tuple[Key, Values | None, Values | None]] = []
    last: dict[str, Key] = {}
    for k, (key, before) in enumerate(events):
        returned = last.get(key[0]) == key and out[-1][0] != key
        last[key[0]] = key
        if returned:
            # The second step of a call.
            continue
        # Where a function ends, nothing comes after.
        after = next((events[j][1] for j in range(k + 1, len(events)) if events[j][0][0] == key[0]), before)
        if out and out[-1][0] == key:
            out[-1] = key, out[-1][1], after
        else:
            out.append((key, before, after))
    return out


def _interpreted(
    image: PtxImage, threads: list[int], run: Run, visits: int
) -> dict[int, list[tuple[Key, Values | None]]]:
    """For each thread the PTX instructions that it reaches, with the registers before each of the first `visits` times (0: always)."""
    found: dict[int, list[tuple[Key, Values | None]]] = {t: [] for t in threads}
    seen: Counter[tuple[int, int]] = Counter()
    programs: list[Program] = []
    create = Program.__init__

    def created(self: Program, *arguments: Any) -> None:
        create(self, *arguments)
        programs.append(self)
        place.cache_clear()

    @cache
    def place(pc: int) -> tuple[Key, Unit]:
        program = programs[-1]
        unit = max((u for u in program.units if u.start <= pc), key=lambda u: u.start)
        return (unit.function.name, program.plan_at(pc).address), unit

    known: dict[int, _Registers] = {}

    def issue(m: Machine, pc: int, cur: Active) -> None:
        assert isinstance(m, PtxMachine)
        key, unit = place(pc)
        registers = known.get(id(unit))
        if registers is None:
            registers = known[id(unit)] = _Registers(unit)
        for t in threads:
            if t in cur.index:
                seen[t, pc] += 1
                found[t].append((key, None if 0 < visits < seen[t, pc] else Values(registers, m, t)))

    with patch.object(Program, "__init__", created), _watched(issue):
        run(image)
    return found


def wrong_places(
    cubin: bytes, text: str, arch: str, launch: tuple[Any, ...], threads: list[int]
) -> tuple[int, list[str]]:
    """(places looked at, what is wrong: another value, or a thread that is at another PTX line).

    `launch`: the arguments of ``launch``; arrays get the same addresses in both simulators and are not written back.
    """
    looks: list[Look] = []
    lost = look_up(
        cubin, text, arch, lambda image: image.launch(*_at_equal_addresses(image, launch)), threads, looks.append
    )
    wrong = [look.text() for look in looks if not look.right] + ([lost] if lost else [])
    return len(looks), wrong


class Look:
    """A register's word where a table says that it is, while a thread is stopped."""

    def __init__(self, key: Key, offset: int, thread: int, name: str, word: int, place: int, value: int) -> None:
        self.key = key
        self.offset = offset
        self.thread = thread
        self.name = name
        self.word = word
        self.place = place
        self.value = value
        self.allowed: set[int] = set()
        self.right = False

    def text(self) -> str:
        return (
            f"{self.key} {self.offset:#x} thread {self.thread}: {self.name} word {self.word} in {self.place:#x}"
            f" is {self.value:#x}, not {self.allowed}"
        )


def look_up(
    cubin: bytes,
    text: str,
    arch: str,
    run: Run,
    threads: list[int],
    note: Callable[[Look], None],
    skips: int = 0,
    visits: int = 0,
) -> str:
    """Runs a kernel on the cubin and on its PTX and notes every look into a table; where a thread went another way, or nothing.

    `skips`: PTX instructions that the cubin may have no code for where the thread goes on, or come back to; code of lines that the
    thread does not reach is passed over then.  `visits`: how often a thread is looked at in one PTX instruction (0: always).
    """
    image = sim.load(cubin)
    module = parse(text, "k.ptx")
    interpreter = PtxImage(module, arch, like=image)
    reached = _interpreted(interpreter, threads, run, visits)
    wanted = {t: _collapsed(e) for t, e in reached.items()}
    narrow = {v.name for f in module.functions for v in f.regs if v.type in _NARROW}
    named = {(f.name, s.line): _names(s.ops) for f in module.functions for s in f.body or [] if isinstance(s, Instr)}
    elf = ElfFile(cubin)
    rows = tables(cubin)
    lines = {
        elf.sections[k].name.removeprefix(".text."): sorted(r, key=lambda x: x.offset)
        for k, r in line_tables(elf, PTX_LINE).items()
    }
    ends = {
        elf.sections[s.section].name.removeprefix(".text."): s.value
        for s in reversed(elf.symbols)
        if s.name.startswith("$__internal")
    }
    places = image.code_places()
    at = dict.fromkeys(threads, 0)
    last: dict[tuple[int, str], int] = {}
    known: dict[int, set[tuple[str, str]]] = {t: set() for t in threads}
    lost = ""

    @cache
    def stop(pc: int) -> tuple[Key, int, list[tuple[str, int, int]]] | None:
        """The line of an instruction, its offset in its function, and the table's rows there; None for code of no PTX line."""
        start, function = max(p for p in places if p[0] <= 16 * pc)
        offset = 16 * pc - start
        here = [r for r in lines.get(function, ()) if r.offset <= offset]
        if not here or (function, here[-1].line) not in named or offset >= ends.get(function, offset + 1):
            return None
        found = [(n, word, place) for n, word, place, first, end, _ in rows.get(function, ()) if first <= offset < end]
        return (function, here[-1].line), offset, found

    def reach(t: int, key: Key) -> int:
        """The event that a thread at this line is at; -1 if it cannot be there."""
        now = last.get((t, key[0]), -1)
        ahead = range(at[t], min(at[t] + 1 + skips, len(wanted[t])))
        event = next((k for k in ahead if wanted[t][k][0] == key), -1)
        if event != at[t] and now >= 0 and wanted[t][now][0] == key:
            return now
        if event < 0:
            behind = range(at[t] - 1, max(at[t] - 1 - skips, -1), -1)
            return next((k for k in behind if wanted[t][k][0] == key), -1)
        for k in range(max(at[t] - 1, 0), event):
            done = wanted[t][k][0]
            known[t] |= {(done[0], n) for n in named[done]}
        last[t, key[0]] = event
        at[t] = event + 1
        return event

    def issue(m: Machine, pc: int, cur: Active) -> None:
        nonlocal lost
        stopped = stop(pc)
        if stopped is None:
            return
        key, offset, found = stopped
        for t in threads:
            if t not in cur.index:
                continue
            event = reach(t, key)
            if event < 0 and skips:
                continue
            if event < 0:
                lost = f"thread {t} is at {key} {offset:#x}, not {wanted[t][at[t] : at[t] + 1]}"
                raise _LostError
            _, before_it, after_it = wanted[t][event]
            if before_it is None or after_it is None:
                continue
            for name, word, register in found:
                if (key[0], name) not in known[t]:
                    continue
                value = _held(m, t, register)
                if name in narrow:
                    value &= 0xFFFF
                allowed = before_it.get(name, word) | after_it.get(name, word)
                if interpreter.choice.poison & (0xFFFF if name in narrow else 0xFFFFFFFF) in allowed:
                    # Not written yet.
                    continue
                look = Look(key, offset, t, name, word, register, value)
                look.allowed = allowed
                look.right = value in allowed or (_is_local(value) and any(_is_local(x) for x in allowed))
                note(look)

    with _watched(issue), suppress(_LostError):
        run(image)
    return lost


def _held(m: Machine, t: int, place: int) -> int:
    """What a thread has in a place: a predicate, a register, or a word of its frame."""
    kind, number = place >> 24, place & 0xFFFFFF
    if kind == 7:
        address = np.array([int(m.R[number >> 16][t]) + (number & 0xFFFF)], np.uint32)
        return int(m.local.load(m.local.offsets(address, np.array([t]), 4, 4), 4)[0][0])
    return int(m.P[number][t] if kind == 2 else m.R[number][t])


class _LostError(Exception):
    """A thread is where the interpreter's thread is not."""


_NARROW = ("b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16")


def _names(operands: list[Operand]) -> set[str]:
    """The registers that operands name."""
    found = {o.var.name for o in operands if o.var is not None and o.var.space == "reg"}
    return found.union(*(_names(o.elems) for o in operands))


def _at_equal_addresses(image: Any, launch: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a launch with device memory at addresses that do not depend on what an image has allocated."""
    kernel, grid, block, arguments, *shared = launch
    arena = image.arena
    top = arena.allocate(16, "top")
    arena.allocate((1 << 20) - (top - arena.base), "rest")
    out: list[Any] = []
    for x in arguments:
        if isinstance(x, np.ndarray):
            address = arena.allocate(x.nbytes, "buffer")
            arena.write(address, x.tobytes())
            out.append(np.uint64(address))
        else:
            out.append(x)
    return kernel, grid, block, out, *shared


def _is_local(value: int) -> bool:
    """Whether a word may be an address of local memory; frames differ between the two."""
    return 0 < STACK_TOP - value < 1 << 16
