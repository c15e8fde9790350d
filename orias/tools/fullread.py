"""Turns full listings into cubins: the inverse of :mod:`orias.tools.fullwrite`.

It computes everything that follows from the code: addresses, sizes of sections and functions, offsets in the file, the
list of ``EXIT`` instructions, and register and barrier counts that the code exceeds.
"""

import json
import re
from struct import error as StructError
from struct import pack
from typing import Final, final

from orias.cubin import elf
from orias.cubin import nvinfo as nv
from orias.cubin.relocs import TYPES
from orias.isa.isa_table import IsaTable, load
from orias.target.decoder_class import table_of_name
from orias.tools.assemble import assemble_line
from orias.tools.fullwrite import exits
from orias.tools.instruction import INST_BYTES, AsmError
from orias.tools.usage import CodeUse

_CODES: Final = {name: code for code, name in nv.NAMES.items() if name != "UNKNOWN"}
_RELOCS: Final = {t.name: number for number, t in TYPES.items()}
_FORMATS: Final = {"none": nv.NVAL, "byte": nv.BVAL, "half": nv.HVAL, "words": nv.SVAL}
_LABEL: Final = re.compile(r'\s*([.$\w@]+|"(?:[^"\\]|\\.)*"):\s*$')
_LARGEST: Final = 1 << 28
"""Bytes of a cubin: numbers of a listing that ask for more are refused before there is memory for them."""
_LARGEST_ALIGN: Final = 1 << 16
_PARTS: Final = re.compile(r'\s*((?:"(?:[^"\\]|\\.)*"|[^,"])+)(?:,|$)')


@final
class _Line:
    """A directive: number of its line, name, operands."""

    __slots__ = ("column", "name", "number", "text")

    def __init__(self, number: int, column: int, name: str, text: str) -> None:
        self.number: Final[int] = number
        self.column: Final[int] = column
        self.name: Final[str] = name
        self.text: Final[str] = text

    def parts(self) -> list[str]:
        """The operands, split at commas outside quotes."""
        return [m.group(1).strip() for m in _PARTS.finditer(self.text)]

    def values(self, parts: list[str]) -> dict[str, str]:
        """``key=value`` operands; a bare word has an empty value."""
        out: dict[str, str] = {}
        for p in parts:
            key, _, value = p.partition("=")
            out[key] = value
        return out

    def error(self, message: str) -> AsmError:
        return AsmError(message, self.number, self.column)

    def number_of(self, text: str) -> int:
        """An integer operand."""
        try:
            return int(text, 0)
        except ValueError:
            raise self.error(f"{text!r} is not a number") from None


@final
class _Section:
    """A section of the listing: header words, directives, and its bytes, when known."""

    __slots__ = ("code", "data", "head", "index", "lines", "name", "offset", "place", "use")

    def __init__(self, place: _Line, name: str, index: int, head: dict[str, str]) -> None:
        self.place: Final[_Line] = place
        self.name: Final[str] = name
        self.index: Final[int] = index
        self.head: Final[dict[str, str]] = head
        self.lines: Final[list[_Line]] = []
        self.code: bool = False
        self.data: bytes = b""
        self.offset: int = 0
        self.use: CodeUse | None = None

    def word(self, key: str, default: int = 0) -> int:
        """A number of the header."""
        text = self.head.get(key)
        return default if text is None else self.place.number_of(text)

    def align(self) -> int:
        """The boundary, in bytes, at which the section begins; 1 if the header has none."""
        align = self.word("align", 1)
        if align > _LARGEST_ALIGN:
            raise self.place.error(f"align={align} of {self.name} is more than {_LARGEST_ALIGN}")
        return max(1, align)


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        out: str = json.loads(text)
        return out
    return text


def build(text: str) -> bytes:
    """The cubin of a full listing.  Raises AsmError with line and column for malformed or inconsistent text.

    ValueError, without a place: a directive lacks a word or has a number that its field cannot hold.
    """
    try:
        return _Builder(text).build()
    except (LookupError, AttributeError, OverflowError, StructError) as e:
        what = f"the word {e} is missing" if isinstance(e, KeyError) else str(e)
        raise ValueError(f"a directive has a wrong or missing value ({what})") from None


def _size_within(line: _Line, before: int, size: int) -> int:
    """``size``, if so many bytes have a place after ``before`` others; AsmError if not."""
    if before < 0 or size < 0 or before + size > _LARGEST:
        raise line.error(f"{size} bytes after {before} others: a cubin has at most {_LARGEST} bytes")
    return size


@final
class _Builder:
    """Builds one cubin."""

    __slots__ = (
        "by_index", "by_name", "cubin", "ends", "headers", "labels", "order", "segments", "string_places", "symbol_numbers", "symbols", "table", "tail",
        "targets",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.cubin: dict[str, str] = {}
        self.order: Final[list[_Section]] = []
        """Sections in file order."""
        self.by_index: Final[dict[int, _Section]] = {}
        self.by_name: Final[dict[str, _Section]] = {}
        """The first section of each name."""
        self.labels: Final[dict[str, tuple[int, int]]] = {}
        """(section, address) by label."""
        self.symbols: Final[list[tuple[_Line, str, dict[str, str]]]] = []
        self.symbol_numbers: Final[dict[str, int]] = {}
        """The first symbol of each name."""
        self.string_places: Final[dict[int, dict[bytes, int]]] = {}
        """Where each string of a table begins (the first one), by the index of the table's section."""
        self.segments: Final[list[_Line]] = []
        self.headers: dict[str, str] = {}
        self.tail: bytes = b""
        self.table: IsaTable | None = None
        self.targets: Final[dict[int, dict[str, int]]] = {}
        self.ends: Final[dict[int, int]] = {}
        self._parse(text)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _parse(self, text: str) -> None:
        section: _Section | None = None
        address = 0
        for number, row in enumerate(text.split("\n"), 1):
            body = row.lstrip()
            if not body or body.startswith("//"):
                continue
            column = len(row) - len(body) + 1
            if body[0] == "." and not body.startswith(".L_") and not _LABEL.match(row):
                name, _, rest = body.partition(" ")
                line = _Line(number, column, name, rest.rstrip())
                if name == ".section":
                    section = self._new_section(line)
                    address = 0
                elif section is None or name in (".headers", ".segment", ".tail"):
                    self._global(line)
                else:
                    section.lines.append(line)
                    if name == ".quad":
                        address += INST_BYTES
                    if name == ".symbol":
                        parts = line.parts()
                        symbol = _unquoted(parts[0])
                        self.symbol_numbers.setdefault(symbol, len(self.symbols))
                        self.symbols.append((line, symbol, line.values(parts[1:])))
                continue
            if section is None:
                raise AsmError("a listing begins with .cubin, .target and .section", number, column)
            label = _LABEL.match(row)
            if label is not None:
                self._label(_unquoted(label.group(1)), section.index, address, number, column)
                continue
            section.lines.append(_Line(number, column, "", row))
            address += INST_BYTES

    def _label(self, name: str, section: int, address: int, number: int, column: int) -> None:
        if name in self.labels:
            raise AsmError(f"the label {name} is there twice", number, column)
        self.labels[name] = (section, address)
        self.targets.setdefault(section, {})[name] = address

    def _new_section(self, line: _Line) -> _Section:
        parts = line.parts()
        if len(parts) < 3:
            raise line.error("a section needs a name, an index and a type")
        head = line.values(parts[1:])
        s = _Section(line, _unquoted(parts[0]), line.number_of(head.get("index", "")), head)
        s.code = "registers" in head
        if self.by_index.setdefault(s.index, s) is not s:
            raise line.error(f"the section {self.by_index[s.index].name} has the index {s.index} too")
        self.by_name.setdefault(s.name, s)
        self.order.append(s)
        return s

    def _global(self, line: _Line) -> None:
        if line.name == ".cubin":
            self.cubin = line.values(line.parts())
        elif line.name == ".target":
            try:
                self.table = load(table_of_name(line.text.strip()))
            except KeyError:
                raise line.error(f"there is no instruction table for {line.text.strip()}") from None
        elif line.name == ".headers":
            self.headers = line.values(line.parts())
        elif line.name == ".segment":
            self.segments.append(line)
        elif line.name == ".tail":
            self.tail = bytes.fromhex(line.text)
        else:
            raise line.error(f"unknown directive {line.name}")

    # -- building ---------------------------------------------------------------------------------------------------

    def build(self) -> bytes:
        for s in self.order:
            if s.code:
                self._code(s)
        for s in self.order:
            if not s.code:
                s.data = self._data(s)
        return self._file()

    def _code(self, s: _Section) -> None:
        table = self.table
        if table is None:
            raise s.place.error("the listing does not say its target")
        labels = self.targets.get(s.index, {})
        use = s.use = CodeUse(table)
        out = bytearray()
        for line in s.lines:
            if line.name == ".quad":
                low, high = (line.number_of(p) for p in line.parts())
                word = low | high << 64
            elif line.name:
                raise line.error(f"{line.name} cannot stand in code")
            else:
                word = assemble_line(line.text, table, len(out), labels, line.number)
                use.add(word, line.text)
            out += word.to_bytes(INST_BYTES, "little")
        s.data = bytes(out)
        self.ends[s.index] = len(out)

    def _data(self, s: _Section) -> bytes:
        kind = s.word("type")
        if kind == elf.SHT_SYMTAB:
            return self._symbols(s)
        if kind == elf.SHT_CUDA_INFO and any(x.name == ".attr" for x in s.lines):
            return self._attributes(s)
        if kind == elf.SHT_STRTAB and (not s.lines or s.lines[0].name == ".string"):
            out = b"\0"
            for line in s.lines:
                out += json.loads(line.text).encode("latin-1") + b"\0"
            return out if s.lines or s.word("size", 1) else b""
        data = bytearray()
        for line in s.lines:
            if line.name == ".byte":
                data += bytes.fromhex(line.text)
            elif line.name == ".zero":
                data += bytes(_size_within(line, len(data), line.number_of(line.text)))
            elif line.name == ".reloc":
                data += self._relocation(s, line, kind == elf.SHT_RELA)
            elif line.name == ".range":
                data += pack("<Q", self._size(line, self.symbols[self._symbol(line, line.text.strip())][2]))
            else:
                raise line.error(f"{line.name or 'an instruction'} cannot stand in {s.name}")
        return bytes(data)

    def _address(self, line: _Line, text: str) -> tuple[int, int]:
        """(section, address) of a label."""
        name = _unquoted(text)
        found = self.labels.get(name)
        if found is None:
            raise line.error(f"there is no label {name}")
        return found

    def _symbol(self, line: _Line, text: str) -> int:
        """Number of a symbol given by name or ``#number``."""
        if text.startswith("#"):
            return line.number_of(text[1:])
        name = _unquoted(text)
        number = self.symbol_numbers.get(name)
        if number is None:
            raise line.error(f"there is no symbol {name}")
        return number

    def _section(self, line: _Line, text: str) -> int:
        """Number of a section given by name or ``#number``."""
        if text.startswith("#"):
            return line.number_of(text[1:])
        name = _unquoted(text)
        section = self.by_name.get(name)
        if section is None:
            raise line.error(f"there is no section {name}")
        return section.index

    def _value(self, line: _Line, text: str) -> int:
        """A number, or the address of a label."""
        if text[:1].isdigit() or text[:1] == "-":
            return line.number_of(text)
        return self._address(line, text)[1]

    def _size(self, line: _Line, words: dict[str, str]) -> int:
        """The size of a symbol: a number, or the distance to an end label."""
        text = words.get("size", "0")
        if text.startswith("end("):
            return self._address(line, text[4:-1])[1] - self._value(line, words.get("value", "0"))
        return line.number_of(text)

    def _symbols(self, s: _Section) -> bytes:
        names = self._strings(self._section(s.place, s.head.get("link", "#0")))
        out = bytearray()
        for line, name, words in self.symbols:
            at = line.number_of(words["name"]) if "name" in words else names.get(name.encode(), -1)
            if at < 0:
                raise line.error(f"the string table lacks {name}: add a .string")
            info = line.number_of(words.get("bind", "0")) << 4 | line.number_of(words.get("type", "0"))
            section = self._section(line, words["section"]) if "section" in words else 0
            value = self._value(line, words.get("value", "0"))
            out += pack(
                "<IBBHQQ", at, info, line.number_of(words.get("other", "0")), section, value, self._size(line, words)
            )
        return bytes(out)

    def _strings(self, index: int) -> dict[bytes, int]:
        """Where each string of the table in the section with this index begins."""
        found = self.string_places.get(index)
        if found is None:
            found = self.string_places[index] = {b"": 0}
            table = self.by_index.get(index)
            place = 0
            for string in (b"" if table is None else table.data or self._data(table)).split(b"\0"):
                found.setdefault(string, place)
                place += len(string) + 1
        return found

    def _relocation(self, s: _Section, line: _Line, rela: bool) -> bytes:
        parts = line.parts()
        if len(parts) < 3:
            raise line.error("a relocation needs a place, a type and a symbol")
        where = parts[0]
        label, plus, more = where.rpartition("+")
        if (plus and not where.startswith('"')) or (plus and where.endswith(more) and more.isdigit()):
            offset = self._value(line, label) + line.number_of(more)
        else:
            offset = self._value(line, where)
        kind = _RELOCS.get(parts[1])
        if kind is None:
            kind = line.number_of(parts[1])
        symbol = self._symbol(line, parts[2])
        out = pack("<QQ", offset, symbol << 32 | kind)
        if not rela:
            return out
        addend = 0
        if len(parts) > 3 and parts[3].startswith("from("):
            target = self._address(line, parts[3][5:-1])[1]
            addend = target - self._value(line, self.symbols[symbol][2].get("value", "0"))
        elif len(parts) > 3:
            addend = line.number_of(parts[3])
        return out + pack("<q", addend)

    def _attributes(self, s: _Section) -> bytes:
        records: list[nv.Record] = []
        code = self.by_name.get(f".text.{s.name.removeprefix('.nv.info.')}")
        if code is not None and not code.code:
            code = None
        for line in s.lines:
            if line.name != ".attr":
                raise line.error(f"{line.name or 'an instruction'} cannot stand among attributes")
            parts = line.parts()
            if len(parts) < 2 or parts[1] not in _FORMATS:
                raise line.error("an attribute needs a name and one of the formats " + ", ".join(_FORMATS))
            number = _CODES.get(parts[0])
            if number is None:
                number = line.number_of(parts[0])
            form = _FORMATS[parts[1]]
            if form == nv.SVAL:
                records.append(nv.Record(number, form, 0, self._payload(line, number, parts[2:], code)))
            else:
                value = line.number_of(parts[2]) if len(parts) > 2 else 0
                if number == nv.NUM_BARRIERS and code is not None and code.use is not None:
                    value = code.use.barriers(value)
                records.append(nv.Record(number, form, value))
        return nv.encode(records)

    def _payload(self, line: _Line, number: int, parts: list[str], code: _Section | None) -> bytes:
        if parts[:1] == ["hex"]:
            return bytes.fromhex(parts[1]) if len(parts) > 1 else b""
        if parts == ["auto"] and code is not None and self.table is not None:
            words = exits(code.data, self.table)
        elif number in _SYMBOL_FIRST and len(parts) == 2 and not parts[0][0].isdigit():
            symbol = self._symbol(line, parts[0])
            value = line.number_of(parts[1])
            words = [symbol, self._registers(symbol, value) if number == nv.REGCOUNT else value]
        else:
            words = [self._value(line, p) & 0xFFFFFFFF for p in parts]
        return pack(f"<{len(words)}I", *words)

    def _registers(self, symbol: int, stated: int) -> int:
        """The register count of a function: the stated one, or what its code needs if that is more."""
        line, _, words = self.symbols[symbol]
        index = self._section(line, words["section"]) if "section" in words else 0
        s = self.by_index.get(index)
        return stated if s is None or s.use is None else s.use.registers(stated, line)

    # -- the file ---------------------------------------------------------------------------------------------------

    def _file(self) -> bytes:
        out = bytearray(64)
        for s in self.order:
            align = s.align()
            bits = s.word("type") in elf.NO_BYTES
            if "same" in s.head:
                other = self.by_index[s.place.number_of(s.head["same"][1:])]
                s.offset, s.data = other.offset, other.data
                continue
            if "offset" in s.head:
                s.offset = s.word("offset")
                if not bits:
                    _size_within(s.place, s.offset, len(s.data))
                    out += bytes(max(0, s.offset + len(s.data) - len(out)))
                    out[s.offset : s.offset + len(s.data)] = s.data
                continue
            gap = s.head.get("gap")
            filler = bytes(-len(out) % align) if gap is None else b"" if gap == "none" else bytes.fromhex(gap)
            if bits:
                s.offset = len(out) + len(filler)
                continue
            out += filler
            s.offset = len(out)
            _size_within(s.place, s.offset, len(s.data))
            out += s.data
        gap = self.headers.get("gap")
        out += bytes(-len(out) % 8) if gap is None else b"" if gap == "none" else bytes.fromhex(gap)
        line = self.order[0].place
        count = line.number_of(self.cubin.get("sections", "0"))
        if not 0 <= count < elf.SHN_LORESERVE:
            raise line.error(f"sections={count}: a cubin has at most {elf.SHN_LORESERVE - 1}")
        names_index = line.number_of(self.cubin.get("names", "0"))
        names = self._strings(names_index)
        shoff = len(out)
        for i in range(count):
            found = self.by_index.get(i)
            out += bytes(64) if found is None else self._header(found, names)
        phoff = len(out) if self.segments else 0
        for seg in self.segments:
            out += self._segment(seg, phoff)
        out[:64] = bytes.fromhex(self.cubin["ident"]) + pack(
            "<HHIQQQIHHHHHH",
            *(line.number_of(self.cubin[k]) for k in ("type", "machine", "version", "entry")),
            phoff,
            shoff,
            line.number_of(self.cubin["flags"]),
            64,
            line.number_of(self.cubin.get("phentsize", "56")),
            len(self.segments),
            64,
            count,
            names_index,
        )
        return bytes(out) + self.tail

    def _header(self, s: _Section, names: dict[bytes, int]) -> bytes:
        at = s.word("name") if "name" in s.head else names.get(s.name.encode(), -1)
        if at < 0:
            raise s.place.error(f"the table of section names lacks {s.name}: add a .string")
        flags = s.word("flags")
        if s.code:
            registers, symbol = s.word("registers"), int(s.head.get("symbol", "#0")[1:], 0)
            if s.use is not None:
                registers = s.use.registers(registers, s.place) if registers else 0
                if flags >> 20 & 0x7F:
                    flags = flags & ~(0x7F << 20) | s.use.barriers(flags >> 20 & 0x7F) << 20
            info = registers << 24 | symbol
        else:
            text = s.head.get("info", "0")
            info = s.place.number_of(text) if text[:1].isdigit() else self._section(s.place, text)
        link = self._section(s.place, s.head["link"]) if "link" in s.head else 0
        size = s.word("size") if "size" in s.head else len(s.data)
        return pack(
            "<IIQQQQIIQQ",
            *(at, s.word("type"), flags, s.word("addr"), s.offset, size, link, info),
            *(s.word("align"), s.word("entsize")),
        )

    def _segment(self, line: _Line, phoff: int) -> bytes:
        words = line.values(line.parts())
        if "headers" in words:
            offset, size = phoff, 56 * len(self.segments)
        elif "first" in words:
            first = self.by_index[self._section(line, words["first"])]
            last = self.by_index[self._section(line, words["last"])]
            offset = first.offset
            size = last.offset + len(last.data) - offset
        else:
            offset, size = line.number_of(words["offset"]), line.number_of(words["filesz"])
        more = line.number_of(words.get("more", "0"))
        return pack(
            "<IIQQQQQQ",
            *(line.number_of(words["type"]), line.number_of(words["flags"]), offset),
            *(line.number_of(words.get("vaddr", "0")), line.number_of(words.get("paddr", "0"))),
            *(size, size + more, line.number_of(words["align"])),
        )


_SYMBOL_FIRST: Final = (nv.REGCOUNT, nv.FRAME_SIZE, nv.MIN_STACK_SIZE, nv.MAX_STACK_SIZE)
