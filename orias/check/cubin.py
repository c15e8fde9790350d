"""Checks every code section of a cubin."""

from bisect import bisect_right
from typing import Final, final

from orias.analysis.access import unit_name
from orias.check.code import Node, connect
from orias.check.hazard_flow import Finding, Flow, Observer
from orias.check.matrix_sources import matrix_sources
from orias.check.unwritten import AT_ENTRY, EVERYTHING, unwritten
from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile, Section
from orias.cubin.nvinfo import INDIRECT_BRANCH_TARGETS
from orias.cubin.nvinfo import decode as decode_info
from orias.cubin.reader import Reader
from orias.cubin.relocs import R_ABS32_HI_32, R_ABS32_LO_32
from orias.isa.decode import IllegalWord
from orias.isa.isa_table import IsaTable, load
from orias.target.profile import profile_of_sm
from orias.timing.needs import Facts

_INST: Final = 16
_BEFORE: Final = 32
_AFTER: Final = 64
"""Number of instructions around a changed one that are checked first."""


@final
class Hazard:
    """One hazard, with names and addresses of the cubin.

    ``function``: name of the section's function.  ``address``: byte offset of the instruction in its section;
    ``other_address``: offset of the conflicting one (-1: none).  ``instruction``, ``other``: their texts.
    ``register``: name (empty: none).  ``rule``: raw, waw, war, reuse, wait, control, acquire,
    unwritten, source, unknown.  ``have``/``need``:
    cycles (-1 where a scoreboard is missing).
    """

    __slots__ = (
        "address", "function", "have", "instruction", "message", "need", "other", "other_address", "register", "rule",
    )  # fmt: skip

    def __init__(self, function: str, f: Finding, texts: "_Texts") -> None:
        self.function: Final[str] = function
        self.address: Final[int] = f.index * _INST
        self.other_address: Final[int] = f.other * _INST if f.other >= 0 else -1
        self.instruction: Final[str] = texts.text(f.index)
        self.other: Final[str] = texts.text(f.other) if f.other >= 0 else ""
        self.register: Final[str] = unit_name(f.unit) if f.unit >= 0 else ""
        self.rule: Final[str] = f.rule
        self.have: Final[int] = f.have
        self.need: Final[int] = f.need
        self.message: Final[str] = f.text

    def line(self) -> str:
        """One line of text."""
        out = f"{self.function} 0x{self.address:04x}: {self.instruction}: {self.message}"
        if self.other_address >= 0:
            out += f": 0x{self.other_address:04x} {self.other}"
        if self.have >= 0:
            out += f": {self.have} of {self.need} cycles"
        return out

    def record(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {k: getattr(self, k) for k in sorted(self.__slots__)}


@final
class _Texts:
    """Instruction texts of a section, computed on demand."""

    __slots__ = ("code", "table")

    def __init__(self, code: bytes, table: IsaTable) -> None:
        self.code: Final[bytes] = code
        self.table: Final[IsaTable] = table

    def text(self, index: int) -> str:
        at = index * _INST
        return self.table.text(int.from_bytes(self.code[at : at + _INST], "little"), at)


def check_cubin(data: bytes, observer: Observer | None = None, operands: bool = False) -> list[Hazard]:
    """Every hazard in a cubin, on any path.

    `operands`: also apply the rules on wrong operands (``unwritten``, ``source``), which PTX that uses registers without a
    value can break.  `observer` gets the distances between results of fixed latency and their readers.  Raises CubinError if the file is
    no cubin or has words that are no instructions, KeyError for a target without tables, Unsupported for one without
    latencies.
    """
    reader = Reader(data)
    profile = profile_of_sm(reader.sm)
    table = load(profile.table)
    facts = Facts(profile.latency_class)
    out: list[Hazard] = []
    for s in reader.elf.sections:
        if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR and s.data:
            given = -1
            if operands:
                given = AT_ENTRY.get(reader.sm, 0) if s.name.removeprefix(".text.") in reader.kernels else EVERYTHING
            out.extend(_section(reader.elf, s, table, facts, observer, given))
    return out


@final
class SectionCode:
    """A code section as instructions, with its entry points."""

    __slots__ = ("_blocks", "away", "entries", "facts", "name", "nodes", "table", "tables")

    def __init__(self, file: ElfFile, s: Section, table: IsaTable, facts: Facts) -> None:
        self.name: Final[str] = s.name.removeprefix(".text.")
        self.table: Final[IsaTable] = table
        self.facts: Final[Facts] = facts
        if len(s.data) % _INST:
            raise CubinError(f"{s.name}: {len(s.data)} bytes are no whole number of instructions")
        self.nodes: Final[list[Node]] = [
            self.node(at // _INST, int.from_bytes(s.data[at : at + _INST], "little"))
            for at in range(0, len(s.data) - _INST + 1, _INST)
        ]
        self.away: Final[set[int]] = set()
        for r in file.relocations(s):
            symbol = file.symbol(r.symbol, s.name)
            if r.type not in (R_ABS32_LO_32, R_ABS32_HI_32) or symbol.section != s.index:
                self.away.add(r.offset & ~(_INST - 1))
        self.tables: Final[dict[int, list[int]]] = _branch_tables(file, self.name)
        self.entries: Final[set[int]] = {0}
        for x in file.symbols:
            if (
                x.section == s.index
                and x.type == elf.STT_FUNC
                and x.value // _INST < len(self.nodes)
                and "$__internal_" not in x.name
            ):
                self.entries.add(x.value // _INST)
        self._blocks: tuple[list[int], set[int]] | None = None
        """The first instructions of all blocks in order, and of the reachable blocks."""

    def node(self, index: int, word: int) -> Node:
        """The instruction of a word at position `index`; CubinError if the word is illegal."""
        try:
            return Node(index, self.table.decode(word), self.facts)
        except IllegalWord as e:
            raise CubinError(f".text.{self.name}+0x{index * _INST:x}: {e}") from None

    def findings(self, words: dict[int, int] | None = None, observer: Observer | None = None) -> list[Finding]:
        """The hazards; `words` replaces instructions at byte offsets by others, none of them control flow."""
        nodes = list(self.nodes)
        for at, word in (words or {}).items():
            nodes[at // _INST] = self.node(at // _INST, word)
        connect(nodes, self.away, self.tables)
        return Flow(nodes, self.facts, self.table, observer).run(sorted(self.entries))

    def wrong_operands(self, given: int) -> list[Finding]:
        """Reads of what nothing writes, and misuse of registers of matrix operations in flight; `given`: as in :func:`unwritten`."""
        connect(self.nodes, self.away, self.tables)
        found = unwritten(self.nodes, 0, given) if self.nodes else []
        return found + matrix_sources(self.nodes, self.entries)

    def catches(self, words: dict[int, int]) -> bool:
        """True if there is a hazard with the instructions at some byte offsets replaced, none of them control flow.

        The changed blocks are checked by themselves first; the whole section is analysed only if they show no hazard.
        """
        if self._blocks is None:
            connect(self.nodes, self.away, self.tables)
            flow = Flow(self.nodes, self.facts, self.table)
            flow.run(sorted(self.entries))
            self._blocks = sorted(flow.leaders | {len(self.nodes)}), flow.visited
        leaders, visited = self._blocks
        first, last = min(words) // _INST, max(words) // _INST
        place = bisect_right(leaders, first)
        if place < len(leaders) and last < leaders[place] and leaders[place - 1] in visited:
            start, end = max(leaders[place - 1], first - _BEFORE), min(leaders[place], last + _AFTER)
            nodes = list(self.nodes)
            for at, word in words.items():
                nodes[at // _INST] = self.node(at // _INST, word)
            if Flow(nodes, self.facts, self.table).stretch(start, end):
                return True
        return bool(self.findings(words))


def _section(
    file: ElfFile, s: Section, table: IsaTable, facts: Facts, observer: Observer | None, given: int
) -> list[Hazard]:
    """The hazards of a section; `given`: the uniform units with a value at its entry, -1 to leave the rules on operands out."""
    code = SectionCode(file, s, table, facts)
    findings = code.findings(None, observer)
    if given >= 0:
        findings.extend(code.wrong_operands(given))
    findings.extend(
        Finding("unknown", n.index, -1, -1, "not checked: nothing is known of it") for n in code.nodes if not n.known
    )
    findings.sort(key=lambda f: (f.index, f.other, f.unit))
    texts = _Texts(s.data, table)
    return [Hazard(code.name, f, texts) for f in findings]


def _branch_tables(file: ElfFile, name: str) -> dict[int, list[int]]:
    """Targets of indirect branches by the address of the branch."""
    info = file.section(f".nv.info.{name}")
    out: dict[int, list[int]] = {}
    if info is None:
        return out
    for record in decode_info(info.data, info.name):
        if record.code != INDIRECT_BRANCH_TARGETS:
            continue
        words = record.words()
        at = 0
        while at + 3 <= len(words):
            count = words[at + 2]
            out.setdefault(words[at], []).extend(words[at + 3 : at + 3 + count])
            at += 3 + count
    return out
