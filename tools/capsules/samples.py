"""Reads cubins of ptxas: what a capsule says about each instruction, and equations of the lengths that it does not say.

The length in units of a *same* instruction follows from places that are known in both forms: EXIT offsets, and the rows of the table of PTX
lines beside those of its Mercury twin.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import unpack_from

from orias.cubin import elf, nvinfo
from orias.cubin.capsule.capsule_parser import capsules
from orias.cubin.capsule.capsule_rules import operands_of
from orias.cubin.capsule.capsule_writer import separates
from orias.cubin.capsule.items import FILLER, PSEUDO, SAME, UNIT, WHOLE, Capsule, Item
from orias.cubin.capsule.signature import signature
from orias.cubin.elf import ElfFile
from orias.isa.decode import Decoded, IllegalWord
from orias.isa.isa_table import IsaTable, load
from orias.isa.operand import INV, K_P, K_R, K_UP, K_UR, PT, Opnd, kind_of, payload
from orias.target.decoder_class import table_of_sm
from tools.capsules.sources import held_apart

_WORD = 16
_SYSTEM_CONSTANT = b"\x49\0"
"""Space of constant loads that are not in the SASS word (system words of the driver): no rule can say them."""

Shape = tuple[str, tuple[str, ...]]
"""What the length depends on: name of the operation, and for each operand its kind and whether it is hardwired."""
Equation = tuple[tuple[tuple[Shape, int], ...], int]
"""How often each shape occurs in a stretch of code, and how many units they have together."""
Cubins = list[tuple[str, Path]]
"""Names of sources and their cubins."""


def kind_letter(o: Opnd) -> str:
    """The letter of an operand's kind; ``z`` for RZ and URZ, ``t`` for PT and UPT, ``f`` for their negations."""
    k, p = kind_of(o), payload(o)
    out = "-RUPQBICLYWS"[k]
    if k in (K_R, K_UR) and p == 255:
        out += "z"
    if k in (K_P, K_UP) and p == 7:
        out += "f" if o & INV else "t"
    return out


def shape(members: list[Decoded]) -> Shape:
    """The shape of an instruction."""
    return members[0].op.name, tuple(kind_letter(o) for o in operands_of(members))


class Sample:
    """An instruction or group, and what the capsule says; ``count``: occurrences, ``sources``: where."""

    def __init__(self, members: list[Decoded], kind: int, code: bytes) -> None:
        self.signature = signature(members)
        self.operands = operands_of(members)
        self.shape = shape(members)
        self.kind = kind
        self.code = code
        self.members = len(members)
        self.guard = members[0].guard if len(members) == 1 else PT
        self.count = 0
        self.sources: set[str] = set()


def cubins(folder: Path, apart: bool) -> Cubins:
    """The cubins of a folder: those held apart, or the others."""
    out: Cubins = []
    for path in sorted(folder.glob("*.cubin")):
        name = path.name.split(".")[1]
        if held_apart(name) == apart:
            out.append((name, path))
    return out


def _decode(table: IsaTable, code: bytes, item: Item) -> list[Decoded] | None:
    words = [
        int.from_bytes(code[_WORD * k : _WORD * k + _WORD], "little")
        for k in range(item.first, item.first + item.words)
    ]
    try:
        return [table.decode(w) for w in words]
    except IllegalWord:
        return None


def samples_of(found: Cubins) -> dict[str, list[Sample]]:
    """All samples by signature; equal ones once."""
    out: dict[str, dict[tuple[tuple[Opnd, ...], int, bytes, Opnd], Sample]] = {}
    for name, path in found:
        file = ElfFile(path.read_bytes())
        table = load(table_of_sm(file.sm))
        sections = {s.name: s for s in file.sections}
        for capsule in capsules(file):
            code = sections[capsule.text].data
            for item in capsule.items:
                if item.kind in (FILLER, PSEUDO) or (
                    item.kind == WHOLE and item.code[1] == 0x22 and item.code[12:14] == _SYSTEM_CONSTANT
                ):
                    continue
                members = _decode(table, code, item)
                if members is None:
                    continue
                while len(members) > 1 and separates(members[0]):
                    del members[0]
                s = Sample(members, item.kind, item.code)
                s = out.setdefault(s.signature, {}).setdefault((tuple(s.operands), s.kind, s.code, s.guard), s)
                s.count += 1
                s.sources.add(name)
    return {key: list(v.values()) for key, v in out.items()}


def equations_of(found: Cubins) -> set[Equation]:
    """Equations of lengths."""
    out: set[Equation] = set()
    for _, path in found:
        file = ElfFile(path.read_bytes())
        table = load(table_of_sm(file.sm))
        texts = [s.name for s in file.sections if s.name.startswith(".text.")]
        plain = _sequences(file, ".nv_debug_line_sass")
        mercury = _sequences(file, ".nv.merc.nv_debug_line_sass")
        rows = (
            dict(zip(texts, zip(plain, mercury, strict=True), strict=True))
            if len(plain) == len(mercury) == len(texts)
            else {}
        )
        for capsule in capsules(file):
            places = _exits(file, capsule) + _functions(file, capsule)
            both = rows.get(capsule.text)
            if both is not None and [line for _, line in both[0]] == [line for _, line in both[1]]:
                places += [(a, b) for (a, _), (b, _) in zip(*both, strict=True)]
            out.update(_stretches(file, capsule, table, places))
    return out


def _exits(file: ElfFile, capsule: Capsule) -> list[tuple[int, int]]:
    """Offsets of the EXITs in the code and in the Mercury form."""
    function = capsule.text.removeprefix(".text.")
    found: list[list[int]] = []
    for name in (f".nv.info.{function}", f".nv.merc.nv.info.{function}"):
        section = file.section(name)
        offsets: list[int] = []
        for r in nvinfo.decode(section.data) if section is not None else []:
            if r.code == nvinfo.EXIT_INSTR_OFFSETS:
                offsets = [int.from_bytes(r.payload[i : i + 4], "little") for i in range(0, len(r.payload), 4)]
        found.append(offsets)
    return list(zip(*found, strict=True)) if len(found[0]) == len(found[1]) else []


def _functions(file: ElfFile, capsule: Capsule) -> list[tuple[int, int]]:
    """Starts and ends of the functions in a section, in the code and in the Mercury form."""
    mercury, names = file.section(".nv.merc.symtab"), file.section(".strtab")
    section = file.section(capsule.text)
    assert section is not None and names is not None
    plain = {x.name: x for x in file.symbols if x.section == section.index and x.type == elf.STT_FUNC}
    out: list[tuple[int, int]] = []
    for at in range(0, len(mercury.data) if mercury is not None else 0, elf.SYM_SIZE):
        assert mercury is not None
        start, _, _, _, value, size = unpack_from("<IBBHQQ", mercury.data, at)
        name = names.data[start : names.data.index(0, start)].decode("utf-8", "replace")
        if name in plain:
            x = plain[name]
            out += [(x.value, value), (x.value + x.size, value + size)]
    return out


def _stretches(file: ElfFile, capsule: Capsule, table: IsaTable, places: list[tuple[int, int]]) -> Iterator[Equation]:
    """The equations between neighbouring places, which must be first words of items."""
    section = file.section(capsule.text)
    assert section is not None
    items = {i.first: i for i in capsule.items if i.kind != PSEUDO}
    pseudo = {i.first for i in capsule.items if i.kind == PSEUDO}
    marks = sorted({(0, 0), *places})
    for (a, b), (c, d) in pairwise(marks):
        unknown: Counter[Shape] = Counter()
        units, word, ok = (d - b) // UNIT, a // _WORD, a % _WORD == b % UNIT == c % _WORD == d % UNIT == 0 and d >= b
        while ok and word < c // _WORD:
            item = items.get(word)
            members = _decode(table, section.data, item) if item is not None else None
            if item is None or members is None or word in pseudo:
                ok = False
                break
            if item.kind == SAME and item.words == 1:
                unknown[shape(members)] += 1
            elif item.kind != FILLER:
                units -= item.units()
            word += item.words
        if ok and word == c // _WORD and unknown:
            yield tuple(sorted(unknown.items())), units


def _sequences(file: ElfFile, name: str) -> list[list[tuple[int, int]]]:
    """The rows (offset, line) of each sequence of a line table, repeated ones left out."""
    section = file.section(name)
    if section is None:
        return []
    data = section.data
    at = 10 + unpack_from("<I", data, 6)[0]
    base, span, first = unpack_from("<bBB", data, 12)
    out: list[list[tuple[int, int]]] = []
    rows: list[tuple[int, int]] = []
    offset, line = 0, 1

    def leb(signed: bool) -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            b: int = data[at]
            at += 1
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value - (1 << shift) if signed and b & 64 else value

    while at < len(data):
        op = data[at]
        at += 1
        if op >= first:
            offset, line = offset + (op - first) // span, line + base + (op - first) % span
            rows.append((offset, line))
        elif op == 0:
            size = leb(False)
            if data[at] == 1:
                out.append([r for k, r in enumerate(rows) if not k or rows[k - 1] != r])
                rows, offset, line = [], 0, 1
            at += size
        elif op == 1:
            rows.append((offset, line))
        elif op == 2:
            offset += leb(False)
        elif op == 3:
            line += leb(True)
        elif op in (4, 5):
            leb(False)
        elif op == 8:
            offset += (255 - first) // span
        elif op == 9:
            offset += unpack_from("<H", data, at)[0]
            at += 2
    return out
