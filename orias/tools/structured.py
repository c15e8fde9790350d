"""The code of a cubin as plain dictionaries and lists, for JSON."""

from orias.cubin import elf
from orias.cubin.elf import ElfFile, Section
from orias.cubin.lineread import line_tables
from orias.cubin.relocs import TYPES
from orias.isa.isa_table import CTL_SHIFT, IllegalWord, IsaTable, load
from orias.target.decoder_class import table_of_name, table_of_sm
from orias.tools.cubin_target import target_name
from orias.tools.labels import INST_BYTES, Labels, code_sections

Json = dict[str, object]

_BINDS = {elf.STB_LOCAL: "local", elf.STB_GLOBAL: "global", elf.STB_WEAK: "weak"}


def control_fields(ctl: int) -> Json:
    """The fields of a 21-bit control word; unused barriers are null."""
    write, read = ctl >> 5 & 7, ctl >> 8 & 7
    return {
        "stall": ctl & 15,
        "yield": not ctl >> 4 & 1,
        "write_barrier": None if write == 7 else write,
        "read_barrier": None if read == 7 else read,
        "wait": [i for i in range(6) if ctl >> 11 + i & 1],
        "reuse": ctl >> 17,
    }


def split_text(text: str) -> Json:
    """Guard, operation and operands of an instruction text."""
    guard = ""
    if text.startswith("@"):
        guard, _, text = text.partition(" ")
    operation, _, rest = text.partition(" ")
    operands: list[str] = []
    depth = 0
    start = 0
    for i, c in enumerate(rest):
        if c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        elif c == "," and not depth:
            operands.append(rest[start:i].strip())
            start = i + 1
    if rest:
        operands.append(rest[start:].strip())
    return {"guard": guard, "operation": operation, "operands": operands}


def instruction(table: IsaTable, word: int, addr: int, names: dict[int, str] | None) -> Json:
    """One instruction; an illegal word has ``error`` instead of a text."""
    out: Json = {"address": addr, "word": f"{word:#034x}"}
    try:
        text = table.text(word, addr, names)
    except IllegalWord as e:
        out["error"] = str(e)
        return out
    out["text"] = text
    out.update(split_text(text))
    out["control"] = control_fields(word >> CTL_SHIFT & 0x1FFFFF)
    return out


def code_of(data: bytes) -> Json:
    """The code sections of a cubin: symbols, labels, relocations, instructions, source lines if there are any.

    Raises CubinError if the file is no cubin, KeyError if there is no table for its target.
    """
    file = ElfFile(data)
    table = load(table_of_sm(file.sm))
    labels = Labels(file, table)
    lines = line_tables(file)
    sections = []
    for s in code_sections(file):
        names = labels.in_section(s.index)
        sources = {r.offset: {"file": r.file, "line": r.line} for r in lines.get(s.index, ())}
        instructions = []
        for addr in range(0, len(s.data) - 15, INST_BYTES):
            item = instruction(table, int.from_bytes(s.data[addr : addr + INST_BYTES], "little"), addr, names)
            if addr in sources:
                item["source"] = sources[addr]
            instructions.append(item)
        sections.append(_section(file, labels, s, names, instructions))
    kind = "relocatable" if file.type == elf.ET_REL else "executable"
    return {"target": target_name(file), "type": kind, "sections": sections}


def _section(file: ElfFile, labels: Labels, s: Section, names: dict[int, str], instructions: list[Json]) -> Json:
    symbols = [
        {
            "name": x.name,
            "address": x.value,
            "size": x.size,
            "bind": _BINDS.get(x.bind, str(x.bind)),
            "entry": x.other & elf.STO_ENTRY != 0,
        }
        for x in labels.symbols.get(s.index, ())
        if x.type == elf.STT_FUNC
    ]
    relocations = []
    for r in file.relocations(s):
        known = TYPES.get(r.type)
        relocations.append(
            {
                "offset": r.offset,
                "type": known.name if known else r.type,
                "symbol": file.symbol_name(r.symbol, s.name),
                "addend": r.addend,
            }
        )
    return {
        "name": s.name,
        "registers": s.info >> 24,
        "symbols": symbols,
        "labels": {str(a): n for a, n in sorted(names.items())},
        "relocations": relocations,
        "instructions": instructions,
    }


def raw_code(code: bytes, name: str, base: int = 0) -> Json:
    """The instructions of bare code for a decoder such as ``SM90``.  KeyError if there is no such decoder."""
    table = load(table_of_name(name))
    words = [int.from_bytes(code[i : i + INST_BYTES], "little") for i in range(0, len(code) - 15, INST_BYTES)]
    return {
        "target": name,
        "instructions": [instruction(table, w, base + i * INST_BYTES, None) for i, w in enumerate(words)],
    }
