"""Reads the text form of Ori: :func:`parse` is the inverse of :func:`orias.ori.text.dump`."""

import re
from typing import Final, final

from orias.isa.op import op
from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    INV,
    K_NONE,
    K_P,
    K_R,
    K_UP,
    K_UR,
    NEG,
    NONE,
    PT,
    SUFFIX_TEXT,
    Opnd,
    const,
    imm64,
    kind_of,
    label,
    pair_lane,
    payload,
    quad_lane,
    reg,
    sb,
    sym,
    with_file,
    with_lane,
    with_suffix,
    word,
    word_lane,
)
from orias.ori.fact_text import FILE_KINDS, read_fact
from orias.ori.ir import Block, CallInfo, Func, Inst, JumpTable
from orias.target.profile import TARGETS


class OriSyntaxError(ValueError):
    """Text that is not Ori; the message names the line."""


_KINDS: Final = ("entry", "func", "helper")
_STATES: Final = ("ssa", "virtual", "allocated", "final")
_IDS: Final = 1 << 20
"""Upper bound (exclusive) of the numbers of registers, blocks and symbols."""
_WORDS: Final = 256
_LANES: Final = 128
_IMMEDIATES: Final = 1 << 64
_BANKS: Final = 32
_OFFSETS: Final = 1 << 32
_SCOREBOARDS: Final = 6
_SHOWN: Final = 200
"""Largest number of characters of a wrong line in a message."""
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")
_WORD: Final = re.compile(r"[A-Za-z_][\w.]*|[123]D")
"""Names of special registers, texture shapes and other words."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_ZERO_ID: Final = {"RZ": (K_R, 255), "URZ": (K_UR, 255), "PT": (K_P, 7), "UPT": (K_UP, 7)}
_HEAD: Final = re.compile(r"b(\d+):(?: -> ((?:b\d+ ?)+))?")
_REG: Final = re.compile(r"(?:v(\d+)|(UR|UP|R|P|B)(\d+)|(RZ|URZ|PT|UPT))(?::(UR|UP|R|P|B)(\d*))?(?:\.([pq]?)(\d+)\b)?")
_SUFFIX_CODE: Final = {t: i for i, t in enumerate(SUFFIX_TEXT) if t}


@final
class _Operands:
    """Reads the operands of one function."""

    __slots__ = ("widths",)

    def __init__(self) -> None:
        self.widths: dict[int, tuple[int, int]] = {}
        """File and width of each virtual register, from its definition."""

    def read(self, text: str) -> Opnd:
        """Parse one operand; :meth:`fix` later adds the file of a virtual register that has none in the text."""
        t = text.strip()
        flags = 0
        if t == "-":
            return NONE
        if t.startswith("-"):
            flags |= NEG
            t = t[1:]
        if t.startswith(("~", "!")):
            flags |= INV
            t = t[1:]
        suffix = 0
        tail = t.rfind(".")
        if tail > 0 and t[tail:] in _SUFFIX_CODE:
            suffix = _SUFFIX_CODE[t[tail:]]
            t = t[:tail]
        if t.startswith("|") and t.endswith("|"):
            flags |= ABS
            t = t[1:-1]
        return with_suffix(self._atom(t), suffix) | flags

    def _atom(self, t: str) -> Opnd:
        m = _REG.fullmatch(t)
        if m:
            return self._register(m)
        if _NUMBER.fullmatch(t):
            return imm64(_bounded(int(t, 0), _IMMEDIATES))
        if t.startswith("c["):
            bank, offset = t[2:-1].split("][")
            return const(_bounded(int(bank, 0), _BANKS), _bounded(int(offset, 0), _OFFSETS))
        if t.startswith("sym") and t[3:].isdigit():
            return sym(_bounded(int(t[3:]), _IDS))
        if t.startswith("SB") and t[2:].isdigit():
            return sb(_bounded(int(t[2:]), _SCOREBOARDS))
        if t.startswith("b") and t[1:].isdigit():
            return label(_bounded(int(t[1:]), _IDS))
        if _WORD.fullmatch(t):
            return word(t)
        raise OriSyntaxError(f"operand {t!r}")

    def _register(self, m: re.Match[str]) -> Opnd:
        lane = 0
        if m.group(8) is not None:
            n = _bounded(int(m.group(8)), _LANES >> (0 if not m.group(7) else 1 if m.group(7) == "p" else 2))
            lane = pair_lane(n) if m.group(7) == "p" else quad_lane(n) if m.group(7) == "q" else word_lane(n)
        if m.group(4):
            kd, ident = _ZERO_ID[m.group(4)]
        elif m.group(2):
            kd, ident = FILE_KINDS[m.group(2)], _bounded(int(m.group(3)), FIRST_VIRTUAL)
        else:
            ident = _bounded(int(m.group(1)), _IDS)
            kd = 0
            if m.group(5):
                kd = FILE_KINDS[m.group(5)]
                self.widths[ident] = (kd, _bounded(int(m.group(6) or 1), _WORDS))
        return with_lane(reg(kd, ident), lane)

    def fix(self, ops: list[Opnd]) -> list[Opnd]:
        """The operands with the files of virtual registers whose uses precede their definition in the text."""
        return [
            with_file(o, self.file_of(payload(o))) if kind_of(o) == K_NONE and payload(o) >= FIRST_VIRTUAL else o
            for o in ops
        ]

    def file_of(self, ident: int) -> int:
        """The file of a virtual register."""
        if ident not in self.widths:
            raise OriSyntaxError(f"v{ident} has no definition that names its register file (v{ident}:R = ...)")
        return self.widths[ident][0]


def _bounded(value: int, end: int) -> int:
    if not 0 <= value < end:
        raise OriSyntaxError(f"{value} is not below {end}")
    return value


def _split(text: str) -> list[str]:
    return [t for t in (s.strip() for s in text.split(",")) if t]


@final
class _Reader:
    """Reads the lines of one function."""

    __slots__ = ("_blocks", "_current", "_edges", "_lines", "_operands", "_parted", "_uids", "fn")

    def __init__(self, head: str) -> None:
        words = head.split()
        if len(words) != 5:
            raise OriSyntaxError("expected .func NAME TARGET KIND STATE")
        _, name, sm, kind, state = words
        if sm not in TARGETS:
            raise OriSyntaxError(f"unknown target '{sm}'")
        if kind not in _KINDS or state not in _STATES:
            raise OriSyntaxError(f"expected one of {', '.join(_KINDS)}, then one of {', '.join(_STATES)}")
        self.fn: Func = Func(name, TARGETS[sm], kind)
        self.fn.state = state
        self._operands: _Operands = _Operands()
        self._uids: dict[int, int] = {}
        """Numbers of instructions in the text -> uids."""
        self._blocks: dict[int, Block] = {}
        self._edges: list[tuple[int, Block, list[int], list[int]]] = []
        """Line, block, successors, predecessors if the text has them."""
        self._parted: set[int] = set()
        self._current: Block | None = None
        self._lines: dict[int, int] = {}
        """Line of each instruction, by uid."""

    def line(self, number: int, line: str) -> None:
        """Enter one line that is not empty."""
        if line.startswith("."):
            key, *rest = line.split()
            if not read_fact(self.fn, key, rest, self._operands.widths):
                raise OriSyntaxError(f"unknown directive {key}")
        elif m := _HEAD.match(line):
            self._block(number, line, m)
        elif self._current is None:
            raise OriSyntaxError("instruction outside a block")
        else:
            inst = self._inst(line)
            self._lines[inst.uid] = number
            self._current.insts.append(inst)

    def _block(self, number: int, line: str, m: re.Match[str]) -> None:
        b = Block(_bounded(int(m.group(1)), _IDS))
        if b.id in self._blocks:
            raise OriSyntaxError(f"b{b.id} is there twice")
        self._current = self._blocks[b.id] = b
        self.fn.blocks.append(b)
        preds: list[int] = []
        for note in line.split(" ; ")[1:]:
            word, *rest = note.split()
            if word == "cold":
                b.cold = True
            elif word == "no_unroll":
                b.no_unroll = True
            elif word == "parted":
                self._parted.add(b.id)
            elif word == "preds":
                preds = [int(x[1:]) for x in rest]
            else:
                raise OriSyntaxError(f"unknown mark {word!r}")
        self._edges.append((number, b, [int(x[1:]) for x in (m.group(2) or "").split()], preds))

    def _inst(self, line: str) -> Inst:
        body, *marks = [s.strip() for s in line.split(" ; ")]
        read = self._operands.read
        guard, old = PT, NONE
        if body.startswith("@"):
            g, _, body = body[1:].partition(" ")
            guard = read(g)
        if " old " in body:
            body, o = body.rsplit(" old ", 1)
            old = read(o)
        dst: list[Opnd] = []
        if " = " in body:
            d, body = body.split(" = ", 1)
            dst = [read(t) for t in _split(d)]
        name, _, rest = body.partition(" ")
        if not _NAME.fullmatch(name):
            raise OriSyntaxError(f"operation {name!r}")
        inst = self.fn.new_inst(op(name), dst, [read(t) for t in _split(rest)], guard, old)
        for mark in marks:
            self._mark(inst, mark)
        return inst

    def _mark(self, inst: Inst, mark: str) -> None:
        """Enter a mark after an instruction."""
        fn = self.fn
        word, *rest = mark.split()
        if word.startswith("@"):
            inst.loc = int(word[1:])
        elif word.startswith("#"):
            self._uids[int(word[1:])] = inst.uid
        elif word.startswith("{"):
            inst.ctl = _control(mark[1:-1])
        elif word == "call":
            kind, name, *masks = rest
            v = [int(x, 16) for x in masks[:5]]
            info = CallInfo(None if name == "-" else name, kind, v[0], v[1], v[2], v[3], v[4])
            words = masks[5:]
            info.exact, info.outside, info.apart = "exact" in words, "outside" in words, "apart" in words
            fn.calls[inst.uid] = info
        elif word == "table":
            fn.tables[inst.uid] = JumpTable(int(rest[0]), [int(x) for x in rest[1:]])
        elif word == "contract":
            fn.contract.add(inst.uid)
        elif word == "retry":
            fn.retries.add(inst.uid)
        elif word == "guard":
            fn.guard_traps.add(inst.uid)
        elif word == "spill":
            fn.spill_code.add(inst.uid)
        elif word == "implied":
            fn.implied[inst.uid] = int(rest[0], 16)
        else:
            raise OriSyntaxError(f"unknown mark {word!r}")

    def finish(self) -> Func:
        """The whole function; raises OriSyntaxError, naming the line, for faults that only the whole text shows."""
        fn = self.fn
        top = max([*self._operands.widths, FIRST_VIRTUAL - 1])
        fn.vkind.extend(bytes(top + 1 - len(fn.vkind)))
        fn.vwidth.extend(bytes(top + 1 - len(fn.vwidth)))
        for ident, (kd, width) in self._operands.widths.items():
            fn.vkind[ident], fn.vwidth[ident] = kd, width
        for i in fn.insts():
            try:
                i.dst, i.src = self._operands.fix(i.dst), self._operands.fix(i.src)
                i.guard, i.old = self._operands.fix([i.guard, i.old])
            except OriSyntaxError as e:
                raise OriSyntaxError(f"line {self._lines[i.uid]}: {e}") from None
        self._link()
        fn.next_block = max([*self._blocks, -1]) + 1
        fn.parted = frozenset(self._parted)
        for x in fn.locations:
            if x.first not in self._uids or x.last not in self._uids:
                raise OriSyntaxError(f"the location of {x.name} names instructions that have no number")
            x.first, x.last = self._uids[x.first], self._uids[x.last]
        return fn

    def _link(self) -> None:
        for number, b, succs, _ in self._edges:
            for s in succs:
                if s not in self._blocks:
                    raise OriSyntaxError(f"line {number}: there is no b{s}")
                self.fn.link(b, self._blocks[s])
        for number, b, _, preds in self._edges:
            if preds:
                if sorted(preds) != sorted(p.id for p in b.preds):
                    raise OriSyntaxError(f"line {number}: the predecessors are not those of the edges")
                b.preds = [self._blocks[x] for x in preds]


def _control(text: str) -> int:
    """The control word of ``stall yield wbar rbar wait reuse``."""
    stall, yld, wbar, rbar, wait, reuse = text.split()
    bar = [7 if b == "-" else _bounded(int(b), 7) for b in (wbar, rbar)]
    word = _bounded(int(stall), 16) | (yld == "Y") << 4 | bar[0] << 5 | bar[1] << 8
    return word | _bounded(int(wait, 16), 64) << 11 | _bounded(int(reuse, 16), 16) << 17


def parse_all(text: str) -> list[Func]:
    """Parse the functions of a text, at least one; raises OriSyntaxError naming the line.

    Lines that are empty or start with ``#`` are skipped.  Virtual registers must be defined with their file somewhere.
    """
    out: list[Func] = []
    reader: _Reader | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if line.startswith(".func"):
                if reader is not None:
                    out.append(reader.finish())
                reader = _Reader(line)
            elif reader is None:
                raise OriSyntaxError("expected .func")
            else:
                reader.line(number, line)
        except (ValueError, KeyError, IndexError) as e:
            if isinstance(e, OriSyntaxError) and str(e).startswith("line "):
                raise
            raise OriSyntaxError(f"line {number}: {e}: {line[:_SHOWN]}") from e
    if reader is None:
        raise OriSyntaxError("no function")
    out.append(reader.finish())
    return out


def parse(text: str) -> Func:
    """Parse a text with exactly one function, from :func:`orias.ori.text.dump` or written by hand."""
    funcs = parse_all(text)
    if len(funcs) > 1:
        raise OriSyntaxError(f"{len(funcs)} functions, where one is expected")
    return funcs[0]
