"""The facts of a function as lines of a dump, one fact per line: :func:`fact_lines` writes them, :func:`read_fact` reads one."""

from typing import Final

from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR
from orias.knobs.knob_settings import KnobError, KnobSettings, changed, parse_setting
from orias.knobs.knob_values import DEFAULTS
from orias.ori.ir import ON_STACK, Clobbers, ConstantPool, Func, Location, SharedSpills, SymRef

FILE_NAMES: Final[dict[int, str]] = {K_R: "R", K_UR: "UR", K_P: "P", K_UP: "UP", K_B: "B"}
_PLACE_NAMES: Final[dict[int, str]] = {**FILE_NAMES, ON_STACK: "frame"}
_PLACE_KINDS: Final[dict[str, int]] = {name: kind for kind, name in _PLACE_NAMES.items()}
FILE_KINDS: Final[dict[str, int]] = {name: kind for kind, name in FILE_NAMES.items()}
FLAGS: Final[tuple[str, ...]] = (
    "private", "moves_stack", "no_unroll", "stack_check", "guards_frame", "keep_warp_barriers", "spares_uniform", "beside_async_copies", "samples_quads", "wgmma_crossing", "expanded",
)  # fmt: skip
"""Names of the boolean fields of :class:`Func`."""


def fact_lines(fn: Func, number: dict[int, int]) -> list[str]:
    """The lines between ``.func`` and the first block, without facts that have the value of a new function.

    `number`: uid of an instruction -> its number in the dump.
    """
    lines: list[str] = []
    if fn.frame_fixed or fn.frame_size:
        lines.append(f".frame {fn.frame_fixed} {fn.frame_size}")
        if fn.frame_align != 8:
            lines.append(f".frame_align {fn.frame_align}")
    if fn.frame_variables:
        lines.append(".frame_variables" + "".join(f" {at}:{size}" for at, size in fn.frame_variables))
    if fn.max_regs != 255 or fn.reg_count:
        lines.append(f".regs {fn.max_regs} {fn.reg_count}")
    if fn.packed:
        lines.append(f".packed {fn.packed}")
    if fn.most_warps:
        lines.append(f".warps {fn.most_warps}")
    if fn.block_warps != 1:
        lines.append(f".block_warps {fn.block_warps}")
    if fn.knobs is not DEFAULTS:
        lines.append(".knobs " + " ".join(s.line() for s in changed(fn.knobs)))
    if fn.spill_stores or fn.spill_loads:
        lines.append(f".spills {fn.spill_stores} {fn.spill_loads}")
    if fn.shared_spills is not None:
        lines.append(_shared_spills(fn, fn.shared_spills))
    flags = [name for name in FLAGS if getattr(fn, name)]
    if flags:
        lines.append(".flags " + " ".join(flags))
    if fn.quad_registers:
        lines.append(f".quads {fn.quad_registers:x}")
    if fn.entry_regs:
        lines.append(f".entry_regs {fn.entry_regs}")
    if fn.wgmma_crossing_remark or fn.wgmma_serial:
        lines.append(f".wgmma {fn.wgmma_crossing_remark} {fn.wgmma_serial}")
    if fn.clobbers is not None:
        c = fn.clobbers
        lines.append(f".clobbers {c.r:x} {c.ur:x} {c.p:x} {c.up:x} {c.b:x}")
    lines += [f".remark {number} {line}" for number, line in fn.remarks]
    lines += [f".sym {s.kind} {s.name or '-'} {s.addend}" for s in fn.syms]
    if fn.pool is not None:
        values = "".join(f" {v:x}" for v in fn.pool.values)
        lines.append(f".pool {fn.pool.start} {fn.pool.owner or '-'}{values}")
    if fn.slots_at:
        lines.append(f".slots {fn.slots_at}")
    for v, names in fn.names.items():
        words = "".join(f" {name} {kind or '-'}" for name, kind in names)
        lines.append(f".name v{v}:{FILE_NAMES[fn.vkind[v]]}{fn.vwidth[v]}{words}")
    lines += [f".assigned {line} {' '.join(names)}" for line, names in fn.assigned.items()]
    if fn.variables:
        lines.append(
            ".variables" + "".join(f" {name} {','.join(map(str, ends))}" for name, ends in sorted(fn.variables.items()))
        )
    if fn.callee_writes is None:
        lines.append(".callee_writes unknown")
    elif fn.callee_writes:
        lines.append(".callee_writes" + "".join(f" {name} {mask:x}" for name, mask in sorted(fn.callee_writes.items())))
    for x in fn.locations:
        # Omit a location whose first or last instruction is gone.
        if x.first in number and x.last in number:
            place = f"{x.word} {_PLACE_NAMES[x.file]}{x.number} #{number[x.first]} #{number[x.last]}"
            lines.append(f".location {x.name} {x.type or '-'} {place}")
    return lines


def _shared_spills(fn: Func, x: SharedSpills) -> str:
    numbers = (fn.spill_base, fn.shared_end, x.start, x.room, x.threads, *x.shape)
    return ".shared_spills " + " ".join([str(n) for n in numbers])


def read_fact(fn: Func, key: str, rest: list[str], widths: dict[int, tuple[int, int]]) -> bool:
    """Enter the fact of one line, split into words; False if `key` is no fact.

    The files and widths of virtual registers go into `widths`.  Locations get instruction numbers of the text instead
    of uids.
    """
    if key == ".frame":
        fn.frame_fixed, fn.frame_size = _numbers(rest, 2)
    elif key == ".frame_align":
        (fn.frame_align,) = _numbers(rest, 1)
    elif key == ".frame_variables":
        for text in rest:
            at, _, size = text.partition(":")
            fn.frame_variables.append((int(at), int(size)))
    elif key == ".regs":
        fn.max_regs, fn.reg_count = _numbers(rest, 2)
    elif key == ".packed":
        (fn.packed,) = _numbers(rest, 1)
    elif key == ".warps":
        (fn.most_warps,) = _numbers(rest, 1)
    elif key == ".block_warps":
        (fn.block_warps,) = _numbers(rest, 1)
    elif key == ".knobs":
        try:
            fn.knobs = KnobSettings([parse_setting(text) for text in rest]).values("", [])
        except KnobError as e:
            raise ValueError(str(e)) from None
    elif key == ".spills":
        fn.spill_stores, fn.spill_loads = _numbers(rest, 2)
    elif key == ".shared_spills":
        fn.spill_base, fn.shared_end, start, room, threads = _numbers(rest[:5], 5)
        fn.shared_spills = SharedSpills(start, room, threads, tuple([int(n) for n in rest[5:]]))
    elif key == ".flags":
        for name in rest:
            if name not in FLAGS:
                raise ValueError(f"unknown flag {name!r}")
            setattr(fn, name, True)
    elif key == ".quads":
        (fn.quad_registers,) = _numbers(rest, 1, 16)
    elif key == ".entry_regs":
        (fn.entry_regs,) = _numbers(rest, 1)
    elif key == ".wgmma":
        fn.wgmma_crossing_remark, fn.wgmma_serial = _numbers(rest, 2)
    elif key == ".clobbers":
        r, ur, p, up, b = _numbers(rest, 5, 16)
        fn.clobbers = Clobbers(r, ur, p, up, b)
    elif key == ".remark":
        number, line = _numbers(rest, 2)
        fn.remarks.append((number, line))
    elif key == ".sym":
        kind, name, addend = rest
        fn.syms.append(SymRef(_text(name), kind, int(addend)))
    elif key == ".pool":
        fn.pool = ConstantPool(int(rest[0]), _text(rest[1]))
        for value in rest[2:]:
            fn.pool.place(int(value, 16))
    elif key == ".slots":
        (fn.slots_at,) = _numbers(rest, 1)
    elif key == ".name":
        ident, file, width = _register(rest[0])
        widths[ident] = (file, width)
        fn.names[ident] = [(n, _text(t)) for n, t in zip(rest[1::2], rest[2::2], strict=True)]
    elif key == ".assigned":
        fn.assigned[int(rest[0])] = rest[1:]
    elif key == ".variables":
        fn.variables = {n: [int(x) for x in ends.split(",")] for n, ends in zip(rest[::2], rest[1::2], strict=True)}
    elif key == ".callee_writes":
        known = rest != ["unknown"]
        fn.callee_writes = {n: int(x, 16) for n, x in zip(rest[::2], rest[1::2], strict=True)} if known else None
    elif key == ".location":
        _read_location(fn, rest)
    else:
        return False
    return True


def _numbers(words: list[str], count: int, base: int = 10) -> list[int]:
    if len(words) != count:
        raise ValueError(f"expected {count} numbers")
    return [int(w, base) for w in words]


def _text(word: str) -> str:
    return "" if word == "-" else word


def _register(text: str) -> tuple[int, int, int]:
    """Id, file and width of ``v256:R2``."""
    name, _, rest = text.partition(":")
    file = rest.rstrip("0123456789")
    return int(name.removeprefix("v")), FILE_KINDS[file], int(rest[len(file) :])


def _read_location(fn: Func, rest: list[str]) -> None:
    name, type_, word, register, first, last = rest
    file = register.rstrip("0123456789")
    number = int(register[len(file) :])
    uids = int(first.removeprefix("#")), int(last.removeprefix("#"))
    fn.locations.append(Location(name, _text(type_), int(word), _PLACE_KINDS[file], number, uids[0], uids[1]))
