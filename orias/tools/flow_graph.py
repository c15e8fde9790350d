"""The control-flow graph of a cubin in the language of graphviz, as ``nvdisasm -cfg`` and ``-bbcfg`` print it.

A node begins where the listing has a label; with basic blocks, after every branch too.  Code that no path from the
function's first instruction reaches is left out.
"""

from typing import Final, final

from orias.check.code import CALLS, CALLS_AWAY, GOES_ON, Node, connect
from orias.check.cubin import SectionCode
from orias.cubin import elf
from orias.cubin.elf import ElfFile, Section
from orias.isa.isa_table import load as load_table
from orias.target.profile import profile_of_sm
from orias.timing.needs import Facts
from orias.tools.disassemble import Listing, Style
from orias.tools.labels import INST_BYTES, code_sections

_STYLE: Final = 'node [fontname="Courier",fontsize=10,shape=Mrecord];'
_SPECIAL: Final = {ord(c): "\\" + c for c in ' "<>[]{}|\\'}


def flow_graph(data: bytes, basic_blocks: bool = False, offsets: bool = False) -> str:
    """The graph of all code sections; `offsets` puts the address before each instruction.

    Raises CubinError if the file is no cubin or has words that are no instructions, KeyError if there is no table for
    its target.
    """
    file = ElfFile(data)
    listing = Listing(file, Style())
    graphs = {s.index: _Graph(file, s, listing, basic_blocks, offsets) for s in code_sections(file)}
    numbered = 0
    for x in file.symbols:
        if x.type == elf.STT_FUNC and not x.value and x.section in graphs:
            numbered = graphs[x.section].number(numbered)
    out = ["digraph f {"]
    for g in graphs.values():
        out += g.lines()
    out.append("}")
    return "\n".join(out) + "\n"


@final
class _Graph:
    """The graph of one section."""

    __slots__ = (
        "_basic",
        "_comments",
        "_heads",
        "_listing",
        "_names",
        "_nodes",
        "_offsets",
        "_reached",
        "_section",
        "_starts",
        "_unnamed",
    )

    def __init__(self, file: ElfFile, s: Section, listing: Listing, basic_blocks: bool, offsets: bool) -> None:
        profile = profile_of_sm(file.sm)
        code = SectionCode(file, s, load_table(profile.table), Facts(profile.latency_class))
        connect(code.nodes, code.away, code.tables)
        self._nodes: Final[list[Node]] = code.nodes
        self._section: Final[Section] = s
        self._listing: Final[Listing] = listing
        self._names: Final[dict[int, str]] = listing.labels.in_section(s.index)
        self._comments: Final[dict[int, str]] = listing.branch_comments(s)
        self._offsets: Final[bool] = offsets
        self._basic: Final[bool] = basic_blocks
        self._heads: Final[dict[int, list[str]]] = self._symbol_heads()
        entries = {x.value // INST_BYTES for x in listing.labels.symbols.get(s.index, ()) if x.type == elf.STT_FUNC}
        self._reached: Final[list[bool]] = self._reachable(entries)
        self._starts: Final[list[int]] = self._node_starts()
        self._unnamed: Final[dict[int, str]] = {}

    def _symbol_heads(self) -> dict[int, list[str]]:
        """The lines that declare the symbols at an instruction, by its index."""
        out: dict[int, list[str]] = {}
        for symbol in reversed(self._listing.labels.symbols.get(self._section.index, ())):
            lines = self._listing.symbol_lines(symbol, self._section, self._names)
            out.setdefault(symbol.value // INST_BYTES, []).extend(lines)
        return out

    def _reachable(self, entries: set[int]) -> list[bool]:
        seen = [False] * len(self._nodes)
        work = [e for e in entries if e < len(seen)]
        while work:
            i = work.pop()
            if seen[i]:
                continue
            seen[i] = True
            n = self._nodes[i]
            work += [t for t in n.targets if not seen[t]]
            if n.falls:
                work.append(i + 1)
        return seen

    def _node_starts(self) -> list[int]:
        """The first instructions of the nodes, in order."""
        starts: set[int] = set()
        for i in range(len(self._nodes)):
            if not self._reached[i]:
                continue
            named = i in self._heads or self._names.get(i * INST_BYTES, "").startswith(".L_x_")
            after = i == 0 or not self._reached[i - 1] or not self._nodes[i - 1].falls
            if named or after or (self._basic and _branches(self._nodes[i - 1])):
                starts.add(i)
        return sorted(starts)

    def number(self, numbered: int) -> int:
        """Numbers the nodes without a label; returns the next number."""
        for start in self._starts:
            if not self._label(start):
                self._unnamed[start] = f"BB{numbered}"
                numbered += 1
        return numbered

    def _name(self, start: int) -> str:
        return self._label(start) or self._unnamed.get(start, f"{start * INST_BYTES:#x}")

    def _label(self, start: int) -> str:
        """The first label at an instruction."""
        for line in self._heads.get(start, ()):
            if line.endswith(":"):
                return line[:-1]
        return self._names.get(start * INST_BYTES, "")

    def lines(self) -> list[str]:
        out = [f'subgraph "cluster_{self._function(0)}" {{']
        for start, following in zip(self._starts, [*self._starts[1:], len(self._nodes)], strict=True):
            end = start
            while end < following and self._reached[end]:
                end += 1
            if start and self._function(start):
                out += ["}", f'subgraph "cluster_{self._function(start)}" {{']
            self._node(start, end, out)
        return [*out, "}"]

    def _function(self, start: int) -> str:
        """The name of the function that begins at an instruction, or nothing."""
        symbols = self._listing.labels.symbols.get(self._section.index, ())
        return next((x.name for x in symbols if x.type == elf.STT_FUNC and x.value == start * INST_BYTES), "")

    def _node(self, start: int, end: int, out: list[str]) -> None:
        name = self._name(start)
        fields: list[tuple[str, list[str]]] = [("entry", self._head(start))]
        edges: list[str] = []
        exits = 0
        for i in range(start, end):
            n = self._nodes[i]
            text = self._instruction(i)
            if not _branches(n):
                if fields[-1][0].startswith("exit") and not fields[-1][0].startswith("exitpost"):
                    fields.append((f"exitpost{exits - 1}", []))
                fields[-1][1].append(text)
                continue
            fields.append((f"exit{exits}", [text]))
            jumps = [t for t in dict.fromkeys(n.targets) if n.flow != CALLS or not self._function(t)]
            edges += [self._edge(name, f"exit{exits}:e", t) for t in jumps]
            exits += 1
        if self._nodes[end - 1].falls and end < len(self._nodes):
            edges.append(self._edge(name, f"{fields[-1][0]}:s", end))
        label = "|".join(f"<{field}>{''.join(texts)}" for field, texts in fields)
        out += [_STYLE, f'"{name}"', f'[label="{{{label}}}"]', *edges]

    def _edge(self, name: str, port: str, target: int) -> str:
        return f'"{name}":{port} -> "{self._name(target)}":entry:n [style=solid];'

    def _head(self, start: int) -> list[str]:
        """The declarations and the label at the start of a node."""
        out: list[str] = []
        for line in self._heads.get(start, ()):
            if line.endswith(":"):
                out.append(line + "\\l")
                continue
            word, _, rest = line.strip().partition(" ")
            symbol, comma, value = rest.strip().partition(",")
            if word == ".other":
                value = "<no object>"
            out.append(f"\t{word}\t\t{symbol}{comma}{_escaped(value)}\\l")
        label = self._names.get(start * INST_BYTES, "")
        if label.startswith(".L_x_"):
            out.append(label + ":\\l")
        return out

    def _instruction(self, index: int) -> str:
        at = index * INST_BYTES
        text = self._listing.instruction_text(self._section, at, self._names)
        address = f"{at:04x}:\\ " if self._offsets else ""
        comment = self._comments.get(at, "")
        line = f"  {text}  {comment};" if comment else f"  {text} ;"
        return f"{address}{_escaped(line)}\\l"


def _branches(n: Node) -> bool:
    """True for an instruction that ends a path, may jump, or calls a function of the section."""
    return n.flow not in (GOES_ON, CALLS_AWAY)


def _escaped(text: str) -> str:
    """A text inside a record label."""
    return text.translate(_SPECIAL)
