"""The stored instruction table: the files of ``data`` and the forms made from them on demand.

``docs/isa-table.md`` describes the notation.  Each file is read once for all targets and split at its headings, which
name a mnemonic and its opcodes.  The lines of a form become objects on the first query for its opcode or its mnemonic.
A line with optional operands makes one :class:`Form` for each layout.  Sources: nvdisasm 13.2 and 13.5 on chosen words,
and the output of ptxas 13.0.88 (``tools/isa``).
"""

import os.path
from typing import Final, final

from orias.isa.choices import Choices, Layout, layouts
from orias.isa.notation import Operand, Piece, TableError, Template, Vocabulary, ones, parse_condition, split_template

_DATA: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
CLASSES: Final = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120")
"""Decoder classes in the order of ranges such as ``@75-90``."""
_WIDE_UNIFORM: Final = ("sm_100", "sm_103", "sm_110", "sm_120")
"""Classes with 8-bit uniform register numbers; the others have 6 bits."""

ANY_REUSE: Final = 8
"""``Form.reuse`` of a form that takes reuse flags although no operand prints them."""
_NO_BARRIERS: Final = 7 << 5 | 7 << 8


def members(text: str) -> list[str]:
    """The decoder classes of a text such as ``75-90,120`` or ``all``."""
    if text == "all":
        return list(CLASSES)
    out: list[str] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        i = CLASSES.index("sm_" + first)
        out.extend(CLASSES[i : CLASSES.index("sm_" + (last or first)) + 1])
    return out


@final
class Form:
    """One form of an opcode."""

    __slots__ = (
        "alias", "bars", "counts", "default", "default_by_mods", "guard_up", "illegal", "mask", "mnemonic", "nots", "opcode", "pow2", "prefer", "printed", "results",
        "seen", "skips", "val", "_mods", "_mod_texts", "_operand_texts", "_operands", "_reuse", "_skeletons", "vocabulary",
    )  # fmt: skip

    def __init__(
        self, opcode: int, template: str, notes: str, vocabulary: Vocabulary, layout: Layout | None = None
    ) -> None:
        """`layout`: the layout of the line, if it has optional operands; `template` has them replaced already."""
        self.opcode: Final[int] = opcode
        self.mnemonic, self._mod_texts, self._operand_texts = split_template(template)
        self.results: int = 0
        """Number of leading printed operands that are results."""
        for o in self._operand_texts:
            if o[0] != "^":
                break
            self.results += 1
        self.vocabulary: Final[Vocabulary] = vocabulary
        self._mods: list[Piece] | None = None
        self._operands: list[Operand] | None = None
        self._skeletons: list[str] | None = None
        self.mask: int = 0xFFF | 1 << 91
        self.val: int = opcode & 0xFFF | (opcode >> 12) << 91
        self.nots: list[tuple[int, int]] = []
        self.illegal: list[tuple[int, int]] = []
        """Conditions under which a GPU refuses the word, although disassemblers print it."""
        self.pow2: bool = False
        self.alias: bool = False
        self.printed: Final[bool] = layout is None or layout.printed
        """False if no decoder may choose the form, because it leaves out an operand which is always printed."""
        self.skips: Final[str] = layout.skips if layout is not None else ""
        """The result that the layout skips (``^Pu``), empty if it skips none."""
        self.guard_up: bool = False
        self.default: int = 0
        """The bits that ptxas sets although the text does not show them."""
        self.default_by_mods: dict[str, int] = {}
        """The same for one modifier string, by the string."""
        self.prefer: int = 0
        """Preferred modifier bits where several values print alike."""
        self.bars: int = 0
        """Barriers that the control word may name, as a bit set: 1 write, 2 read."""
        self.seen: int = 0
        """Number of different words of compiler output that have this form."""
        loose_reuse = False
        for note in notes.split("; ") if notes else ():
            word, _, rest = note.partition(" ")
            if word == "when":
                mask, val = parse_condition(rest)
                self.mask |= mask
                self.val |= val
            elif word == "unless":
                self.nots = [parse_condition(x) for x in rest.split(" or ")]
            elif word == "illegal":
                self.illegal = [parse_condition(x) for x in rest.split(" or ")]
            elif word == "bars":
                self.bars = ("w" in rest) | ("r" in rest) << 1
            elif word == "seen":
                counts = rest.split(",")
                self.seen = int(counts[layout.index if layout is not None and len(counts) > 1 else 0])
            elif word == "unused":
                self.default = ones(rest)
            elif word.startswith("unused("):
                self.default_by_mods[word[7:-1]] = ones(rest) if rest else 0
            elif word == "prefer":
                self.prefer = ones(rest)
            elif word == "uniform-guard":
                self.guard_up = True
            elif word == "loose-reuse":
                loose_reuse = True
            elif word == "alias":
                self.alias = True
            elif word == "power-of-two":
                self.pow2 = True
            else:
                raise ValueError(f"{template}: no note {note!r}")
        if layout is not None:
            self._choose(layout)
        self.counts: tuple[int, int] | None = None
        """Number of slots (dst, src), once :func:`orias.isa.slots.slot_counts` has counted them."""
        self._reuse: int = ANY_REUSE if loose_reuse else -1

    def _choose(self, layout: Layout) -> None:
        """Adds the conditions of a layout; keeps only those exclusions that the fixed bits do not decide."""
        self.mask |= layout.mask
        self.val |= layout.val
        nots: list[tuple[int, int]] = []
        for m, v in self.nots + layout.nots:
            if (v ^ self.val) & m & self.mask == 0:
                rest = m & ~self.mask
                nots.append((rest, v & rest))
        self.nots = nots

    @property
    def reuse(self) -> int:
        """Reuse flags (bits 122 to 124 as 1, 2, 4) that the operands can print, or ANY_REUSE."""
        if self._reuse >= 0:
            return self._reuse
        shown = 0
        for o in self.operands:
            for e in o.elems:
                if e.reuse >= 122:
                    shown |= 1 << e.reuse - 122
        self._reuse = shown
        return shown

    @property
    def operands(self) -> list[Operand]:
        """The printed operands."""
        found = self._operands
        if found is None:
            found = self._operands = [self.vocabulary.operand(o) for o in self._operand_texts]
        return found

    @property
    def mods(self) -> list[Piece]:
        """The pieces after the mnemonic."""
        found = self._mods
        if found is None:
            found = self._mods = [self.vocabulary.piece(p) for p in self._mod_texts]
        return found

    def pieces(self) -> list[Piece]:
        """All modifier pieces: those after the mnemonic, then for each operand those around it, then those of its elements."""
        out = list(self.mods)
        for o in self.operands:
            out += o.pre
            out += o.post
            for e in o.elems:
                out += e.suf
                out += e.pieces
        return out

    @property
    def hidden(self) -> int:
        """The bits outside the fixed bits, the fields and the control word; they do not change the text."""
        known = self.mask | 15 << 12 | 0xFFFFF << 105
        for p in self.mods:
            known |= p.mask
        for o in self.operands:
            for p in o.pre + o.post:
                known |= p.mask
            for e in o.elems:
                known |= e.mask()
                if e.reuse >= 0:
                    known |= 1 << e.reuse
                for p in e.suf:
                    known |= p.mask
        return (1 << 128) - 1 & ~known

    def skeletons(self) -> list[str]:
        """The skeletons of the operands, without making the operands."""
        found = self._skeletons
        if found is None:
            found = self._skeletons = [_skeleton(o) for o in self._operand_texts]
        return found

    def executes(self, mask: int, word: int) -> bool:
        """False if a GPU refuses every word that has these values in the bits of the mask."""
        return not any(m & ~mask == 0 and word & m == v for m, v in self.illegal)

    def control_fault(self, ctl: int) -> str:
        """What makes a 21-bit control word illegal for this form; empty if it is legal."""
        return control_fault(self.bars, self.reuse, ctl)

    def matches(self, word: int) -> bool:
        """True if the fixed bits of the word are those of the form."""
        if word & self.mask != self.val:
            return False
        for m, v in self.nots:
            if word & m == v:
                return False
        if self.pow2:
            k = word >> 32 & 0xFFFFFFFF
            return k != 0 and k & (k - 1) == 0 and k not in (1, 1 << 16, 1 << 31)
        return True


def control_fault(bars: int, reuse: int, ctl: int) -> str:
    """What makes a 21-bit control word (bits 105..125) illegal for a form; empty if it is legal.

    nvdisasm 13.5 judges the 256 pairs of scheduling code and reuse flags as follows.  Codes 16 and 28 to 31 do not
    exist; code 0 needs empty flags.  With codes 17 to 27 the flags are reuse flags, of slots that the form has.
    With codes 1 to 15 they are a number from 0 to 5, whatever the slots (3 is illegal for forms without slots).  A
    form takes only the barriers in ``bars``.
    """
    sched = ctl & 31
    flags = ctl >> 17 & 7
    if sched >= 28 or sched == 16 or (sched == 0 and flags):
        return f"stall count {sched & 15} does not go with the yield bit or the reuse flags of {ctl:#x}"
    if flags:
        if sched < 16 or reuse == ANY_REUSE:
            if flags > 5 or (flags == 3 and not reuse):
                return f"this form does not take {flags} in bits 122 to 124"
        elif flags & ~reuse:
            return f"this form has no register for the reuse flags {flags}"
    if bars != 3 and ctl & _NO_BARRIERS != _NO_BARRIERS:
        if not bars & 1 and ctl >> 5 & 7 != 7:
            return "this form takes no write barrier"
        if not bars & 2 and ctl >> 8 & 7 != 7:
            return "this form takes no read barrier"
    return ""


_skeleton_of: dict[str, str] = {}


def _skeleton(operand: str) -> str:
    found = _skeleton_of.get(operand)
    if found is None:
        found = _skeleton_of[operand] = Template(operand).skeleton
    return found


@final
class Entry:
    """A form as its file has it: opcode, mnemonic, classes, template, and notes joined with ``"; "``."""

    __slots__ = ("classes", "mnemonic", "notes", "opcode", "template")

    def __init__(self, opcode: int, classes: str, template: str) -> None:
        self.opcode: Final[int] = opcode
        self.classes: Final[str] = classes
        self.template: Final[str] = template
        self.mnemonic: Final[str] = template.split(" ", 1)[0].split(".", 1)[0]
        self.notes: str = ""


def read_entries(text: str) -> list[Entry]:
    """The forms of a table file: each is a line of opcode, classes and template, and indented lines of notes."""
    out: list[Entry] = []
    for line in text.splitlines():
        if not line or line[0] == "#":
            continue
        if line[0] == " ":
            e = out[-1]
            e.notes = f"{e.notes}; {line.strip()}" if e.notes else line.strip()
        else:
            opcode, classes, template = line.split(" ", 2)
            out.append(Entry(int(opcode, 16), classes[1:], template))
    return out


def read_tables(text: str) -> dict[str, str]:
    """The unparsed value tables of ``tables.isa`` by name: lines ``name: values``, continued on indented lines."""
    out: dict[str, str] = {}
    for line in text.replace("\n    ", " ").splitlines():
        if line and line[0] != "#":
            name, _, rest = line.partition(":")
            out[name] = rest
    return out


@final
class _Store:
    """The table files as text: blocks of lines below a heading, value tables and choices, parsed on first use."""

    __slots__ = ("_choices", "_named", "_of_mnemonic", "_of_opcode", "_parsed", "blocks", "headings")

    def __init__(self) -> None:
        self.headings: Final[list[str]] = []
        self.blocks: Final[list[str]] = []
        self._of_opcode: Final[dict[int, list[int]]] = {}
        self._of_mnemonic: Final[dict[str, list[int]]] = {}
        self._parsed: Final[dict[int, list[Entry]]] = {}
        self._named: dict[str, str] = {}
        self._choices: Choices | None = None

    def read(self) -> None:
        """Reads the files that hold forms, once."""
        if self.blocks:
            return
        for name in sorted(os.listdir(_DATA)):
            if name.endswith(".isa") and name not in NOT_FORMS:
                for block in read_file(name).removeprefix("# ").split("\n# "):
                    head, _, lines = block.partition("\n")
                    i = len(self.blocks)
                    self.headings.append(head)
                    self.blocks.append(lines)
                    words = head.split(" ")
                    self._of_mnemonic.setdefault(words[0], []).append(i)
                    for opcode in words[1:]:
                        self._of_opcode.setdefault(int(opcode, 16), []).append(i)

    def with_opcode(self, opcode: int) -> list[int]:
        """The blocks of an opcode."""
        self.read()
        return self._of_opcode.get(opcode, [])

    def with_mnemonic(self, mnemonic: str) -> list[int]:
        """The blocks of a mnemonic."""
        self.read()
        return self._of_mnemonic.get(mnemonic, [])

    def entries(self, i: int) -> list[Entry]:
        """The forms of block `i`."""
        found = self._parsed.get(i)
        if found is None:
            found = self._parsed[i] = read_entries(self.blocks[i])
            words = self.headings[i].split(" ")
            for e in found:
                if e.mnemonic != words[0] or f"{e.opcode:04x}" not in words:
                    raise TableError(f"heading {self.headings[i]!r} does not name {e.opcode:04x} {e.mnemonic}")
        return found

    def named(self) -> dict[str, str]:
        """The value tables."""
        if not self._named:
            self._named = read_tables(read_file("tables.isa"))
        return self._named

    def choices(self) -> Choices:
        """The optional operands."""
        found = self._choices
        if found is None:
            found = self._choices = Choices(read_file("choices.isa"))
        return found


NOT_FORMS: Final = ("choices.isa", "operations.isa", "tables.isa")
"""Files of the folder that hold no forms."""


def read_file(name: str) -> str:
    """The text of a file in ``data``; empty if there is no such file."""
    path = os.path.join(_DATA, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


_store: Final = _Store()


@final
class RawTable:
    """The forms of one decoder class, made on demand; KeyError if there is no such class.

    `entries` replaces the forms of the table files; `named` are then the value tables.
    """

    __slots__ = ("_by_mnemonic", "_by_opcode", "_entries", "_forms", "_inside", "name", "vocabulary")

    def __init__(self, name: str, entries: list[Entry] | None = None, named: dict[str, str] | None = None) -> None:
        if name not in CLASSES:
            raise KeyError(f"no instruction table {name}")
        self.name: Final[str] = name
        self.vocabulary: Final[Vocabulary] = Vocabulary(
            _store.named if entries is None else lambda: named or {}, 8 if name in _WIDE_UNIFORM else 6
        )
        self._entries: Final[list[Entry] | None] = entries
        self._by_opcode: Final[dict[int, list[Form]]] = {}
        self._by_mnemonic: Final[dict[str, list[Form]]] = {}
        self._forms: Final[dict[int, list[Form]]] = {}
        """Forms made from an entry, by ``id(entry)``."""
        self._inside: Final[dict[str, bool]] = {}

    def _has(self, e: Entry) -> bool:
        here = self._inside.get(e.classes)
        if here is None:
            here = self._inside[e.classes] = self.name in members(e.classes)
        return here

    def _made(self, e: Entry) -> list[Form]:
        found = self._forms.get(id(e))
        if found is None:
            if " ?" in e.template or " !" in e.template:
                found = [
                    Form(e.opcode, x.template, e.notes, self.vocabulary, x)
                    for x in layouts(e.template, _store.choices())
                ]
                found = [f for f in found if all(m for m, _ in f.nots)]
            else:
                found = [Form(e.opcode, e.template, e.notes, self.vocabulary)]
            self._forms[id(e)] = found
        return found

    def _candidates(self, blocks: list[int] | None) -> list[Entry]:
        """The entries of some blocks, or of all."""
        if self._entries is not None:
            return self._entries
        if blocks is None:
            _store.read()
            blocks = list(range(len(_store.blocks)))
        return [e for i in blocks for e in _store.entries(i)]

    def of_opcode(self, opcode: int) -> list[Form]:
        """The forms of a 13-bit opcode in the order in which decoding tries them."""
        found = self._by_opcode.get(opcode)
        if found is None:
            entries = self._candidates(_store.with_opcode(opcode) if self._entries is None else None)
            found = [f for e in entries if e.opcode == opcode and self._has(e) for f in self._made(e) if f.printed]
            self._by_opcode[opcode] = found
        return found

    def of_mnemonic(self, mnemonic: str) -> list[Form]:
        """The forms of a mnemonic in table order."""
        found = self._by_mnemonic.get(mnemonic)
        if found is None:
            entries = self._candidates(_store.with_mnemonic(mnemonic) if self._entries is None else None)
            found = [f for e in entries if e.mnemonic == mnemonic and self._has(e) for f in self._made(e)]
            self._by_mnemonic[mnemonic] = found
        return found

    def lines(self) -> list[Entry]:
        """The lines of the table files that apply to the class."""
        return [e for e in self._candidates(None) if self._has(e)]

    def mnemonics(self) -> list[str]:
        """All mnemonics of the table."""
        return list(dict.fromkeys([e.mnemonic for e in self.lines()]))

    def forms(self) -> list[Form]:
        """All forms in table order."""
        return [f for e in self.lines() for f in self._made(e)]
