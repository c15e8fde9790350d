"""Lists the capsules of a cubin: every item with the SASS words it stands for, and every record in words.

``docs/facts/capsules.md`` says what the columns mean.
"""

from typing import Final

from orias.cubin import nvinfo
from orias.cubin.capsule.capsule_parser import MERCURY_PREFIXES, capsules
from orias.cubin.capsule.items import KIND_NAMES, PSEUDO, Capsule, Item
from orias.cubin.elf import ElfFile
from orias.isa.isa_table import IllegalWord, IsaTable, load
from orias.target.decoder_class import table_of_sm
from orias.tools.cubin_target import target_name
from orias.tools.labels import INST_BYTES

_TEXT_WIDTH: Final = 60
_INFO: Final = ".nv.merc.nv.info"


def capsule_listing(data: bytes) -> str:
    """The listing of all capsules of a cubin, and of the other Mercury sections.

    Raises CubinError if the file is no cubin or a capsule is damaged, KeyError if there is no table for its target.
    """
    file = ElfFile(data)
    table = load(table_of_sm(file.sm))
    out = [f"// {target_name(file)}, low byte of e_flags {file.flags & 0xFF}"]
    found = capsules(file)
    if not found:
        out.append("// no capsules")
    for c in found:
        text = file.section(c.text)
        out += _one(c, text.data if text is not None else b"", table)
    out += _sections(file)
    return "\n".join(out) + "\n"


def _one(c: Capsule, code: bytes, table: IsaTable) -> list[str]:
    count = [0] * len(KIND_NAMES)
    for item in c.items:
        count[item.kind] += 1
    kinds = ", ".join(f"{n} {name}" for n, name in zip(count, KIND_NAMES, strict=True) if n)
    out = ["", f"// {c.section}: of {c.text}, {len(c.items)} items for {c.words()} words: {kinds}"]
    for number, item in enumerate(c.items):
        out += _item(number, item, code, table)
    return out


def _item(number: int, item: Item, code: bytes, table: IsaTable) -> list[str]:
    kind = KIND_NAMES[item.kind]
    if item.kind == PSEUDO:
        return [f"{number:6} {'':4} {kind:<6} {'':{_TEXT_WIDTH}} {item.text()}".rstrip()]
    out: list[str] = []
    for k in range(item.first, item.first + item.words):
        at = k * INST_BYTES
        text = _instruction(int.from_bytes(code[at : at + INST_BYTES], "little"), at, table)
        head = f"{number:6} {at:04x} {kind:<6}" if k == item.first else f"{'':6} {at:04x} {'':6}"
        out.append(f"{head} {text:<{_TEXT_WIDTH}} {item.text() if k == item.first else ''}".rstrip())
    return out


def _instruction(word: int, at: int, table: IsaTable) -> str:
    try:
        return table.text(word, at, None)
    except IllegalWord as e:
        return f".quad {word & (1 << 64) - 1:#x}, {word >> 64:#x} // {e}"


def _sections(file: ElfFile) -> list[str]:
    """One line for each Mercury section, and the records of those that are attributes."""
    out: list[str] = []
    for s in file.sections:
        if not s.name.startswith(MERCURY_PREFIXES):
            continue
        if not out:
            out += ["", "// Mercury sections: type, flags, size in bytes, name"]
        out.append(f"{s.type:#010x} {s.flags:#010x} {s.size:8} {s.name}")
        if s.name == _INFO or s.name.startswith(_INFO + "."):
            out += [f"{'':31}{r!r}" for r in nvinfo.decode(s.data, s.name)]
    return out
