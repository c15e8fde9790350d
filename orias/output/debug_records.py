"""Debug information (-g): the sections of the PTX text with resolved symbols, and the places of registers' values.

ptxas copies DWARF from the PTX text.  Code labels become addresses in the function's section, variables their
addresses, local variables offsets in the frame.  Location expressions name PTX registers; two tables of NVIDIA
translate them: ``.nv_debug_info_reg_sass`` (per function: word, name, register, code range) and
``.nv_debug_info_reg_type`` (the PTX type of each of these rows).  The layouts were measured on files of ptxas 13.0.88
(sm_80, sm_90).
"""

from bisect import bisect_left
from struct import pack
from typing import Final, final

from orias.cubin.debugframe import sleb
from orias.cubin.elf_values import CubinFacts, pad_code
from orias.cubin.model import CubinModule, DebugSection, Reloc, Variable
from orias.cubin.relocs import R_32, R_64, R_G64
from orias.diag import Diagnostic, Unsupported
from orias.isa.operand import K_P, K_R
from orias.lower.frame.program import Kernel
from orias.ori.ir import ON_STACK, Location
from orias.output.emit import INST_BYTES, EmittedText
from orias.output.kept_values import with_kept_values, written_units
from orias.ptx.ast import DebugSection as Source
from orias.ptx.ast import Instr, Module
from orias.regalloc.frame import stack_bytes
from orias.target.profile import Target

_OP_ADDR: Final = 0x03
_OP_FBREG: Final = 0x91
_OP_NOP: Final = 0x96
_FILES: Final[dict[int, int]] = {K_R: 5 << 24, K_P: 2 << 24, ON_STACK: 7 << 24 | 1 << 16}
"""The class of a place, with what its number is counted from: words of the frame from R1."""
_VECTORS: Final[dict[str, int]] = {"v2": 0x40, "v4": 0x80}
"""Marks of the types of vector registers."""
_FARTHEST: Final = 0xFFFF
"""Largest distance from R1 that a row can name."""
_TYPES: Final[dict[str, int]] = {
    "b8": 0, "b16": 1, "b32": 2, "b64": 3, "u8": 4, "u16": 5, "u32": 6, "u64": 7, "s8": 8, "s16": 9, "s32": 10, "s64": 11,
    "f16": 12, "f16x2": 13, "f32": 14, "f64": 15, "pred": 16,
}  # fmt: skip


def missing_sections(module: Module) -> list[Diagnostic]:
    """Warnings about debug sections that -g needs and the PTX text lacks."""
    there = {s.name for s in module.sections}
    return [
        Diagnostic("warning", f" {name} section not found")
        for name in (".debug_abbrev", ".debug_info")
        if name not in there and not module.dwarf
    ]


def debug_sections(
    module: Module, kernels: list[Kernel], texts: list[EmittedText], out: CubinModule, target: Target
) -> list[DebugSection]:
    """The register tables and the debug sections of the PTX text, without empty ones.

    Raises Unsupported for a name that is neither label, variable, parameter nor section.
    """
    registers = bytearray()
    types = bytearray()
    # In objects the linker may put another definition of a weak function into its place.
    written = {} if out.relocatable else written_units([kernel.entry for kernel in kernels])
    for kernel, text in zip(kernels, texts, strict=True):
        rows = _rows(with_kept_values(kernel.entry, written), text.places)
        head = kernel.entry.name.encode() + b"\0" + pack("<I", len(rows))
        registers += head
        types += head
        for start, end, place in rows:
            name, word, type_ = _described(place)
            registers += pack("<I", word) + name.encode() + b"\0"
            registers += pack("<III", _FILES[place.file] | place.number, start, end)
            types.append(type_)
    sections = [
        DebugSection(".nv_debug_info_reg_sass", bytes(registers)),
        DebugSection(".nv_debug_info_reg_type", bytes(types)),
    ]
    names = _Names(module, kernels, texts, out, target)
    given = sorted((s for s in module.sections if s.items), key=lambda s: s.name != ".debug_abbrev")
    sections += [names.assemble(s) for s in given]
    return sections


def _scalar(type_: str) -> str:
    """The type of a register, or of the elements of a vector register."""
    return type_.partition(".")[2] or type_


def _described(x: Location) -> tuple[str, int, int]:
    """Name, word and type in the table; words of a vector register count from its first element."""
    vector, _, type_ = x.type.partition(".")
    if not type_:
        return x.name, x.word, _TYPES[x.type]
    name, _, element = x.name.rpartition(".")
    words = 2 if type_.endswith("64") else 1
    return name, int(element) * words + x.word, _VECTORS[vector] | _TYPES[type_]


def _rows(locations: list[Location], places: dict[int, int]) -> list[tuple[int, int, Location]]:
    """(start, end, location) in bytes of code, ordered by start; of two overlapping places of a word the later one counts."""
    found = [
        (places[x.first], places[x.last] + INST_BYTES, x)
        for x in locations
        if x.first in places and x.last in places and x.file in _FILES and _scalar(x.type) in _TYPES
        if x.file != ON_STACK or x.number <= _FARTHEST
    ]
    rows: list[tuple[int, int, Location]] = []
    last: dict[tuple[str, int], int] = {}
    for start, end, x in sorted(found, key=lambda f: (f[0], f[1], f[2].name, f[2].word)):
        at = last.get((x.name, x.word))
        if at is not None and rows[at][1] >= start:
            before, stop, y = rows[at]
            if (y.file, y.number) == (x.file, x.number):
                rows[at] = before, max(stop, end), y
                continue
            rows[at] = before, start, y
        last[x.name, x.word] = len(rows)
        rows.append((start, end, x))
    return [r for r in rows if r[0] < r[1]]


@final
class _Names:
    """The values of the symbols in debug sections."""

    def __init__(
        self, module: Module, kernels: list[Kernel], texts: list[EmittedText], out: CubinModule, target: Target
    ) -> None:
        self.relocatable: Final[bool] = out.relocatable
        self.sections: Final[set[str]] = {s.name for s in module.sections if s.items} | {".debug_line"}
        self.labels: Final[dict[str, tuple[str, int]]] = {
            n: (s.name, at) for s in module.sections for n, at in s.labels.items()
        }
        self.code: Final[dict[str, tuple[str, int]]] = {}
        self.starts: Final[set[str]] = set()
        """Labels before the first instruction of their function."""
        self.frame: Final[dict[str, int]] = {}
        self.numbers: Final[dict[str, int]] = {}
        self.variables: Final[dict[str, Variable]] = {v.declared: v for v in out.variables}
        facts = CubinFacts(target)
        for code, kernel, text in zip(out.kernels, kernels, texts, strict=True):
            name = kernel.ptx.name
            size = len(pad_code(text.code, facts))
            self.code[name] = name, 0
            lines, offsets = _first_offsets(text.lines, size)
            body = kernel.ptx.body or []
            first = next((s.line for s in body if isinstance(s, Instr)), 0)
            for label in kernel.ptx.labels:
                offset = offsets[bisect_left(lines, label.line)] if label.line > first else 0
                if label.line <= first:
                    self.starts.add(label.name)
                self.code[label.name] = name, offset
            for v, place in kernel.frame_places.items():
                self.frame[v] = place - stack_bytes(kernel.entry)
            base = target.parameters_at(code.param_bytes)
            for var, p in zip(kernel.ptx.params, kernel.params, strict=False):
                self.numbers[var.name] = base + p.offset
            for s in [*kernel.shared, *kernel.shared_dynamic]:
                if out.relocatable:
                    self.variables[s.declared] = s
                else:
                    self.numbers[s.declared] = facts.system_shared + s.offset
        if not out.relocatable:
            for shared in (v for v in out.variables if v.space == "shared"):
                self.numbers[shared.declared] = facts.system_shared + shared.offset

    def assemble(self, source: Source) -> DebugSection:
        """A section as bytes and relocations."""
        data = bytearray()
        out = DebugSection(source.name, b"")
        for size, value in source.items:
            if isinstance(value, int):
                data += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            elif value[0] in self.frame and size == 8 and data[-1:] == bytes([_OP_ADDR]):
                # The address of a local variable is its offset from the frame base, padded with DW_OP_nop.
                data[-1] = _OP_FBREG
                data += sleb(self.frame[value[0]] + value[1]).ljust(size, bytes([_OP_NOP]))
            else:
                data += self._number(out, len(data), size, *value)
        out.data = bytes(data)
        return out

    def _number(self, out: DebugSection, at: int, size: int, name: str, addend: int) -> bytes:
        left, minus, right = name.partition("-")
        if minus and left in self.code and right in self.code:
            number = self.code[left][1] - self.code[right][1]
        elif minus and left in self.labels and right in self.labels:
            number = self.labels[left][1] - self.labels[right][1]
        elif name in self.code:
            symbol, offset = self.code[name]
            number = offset + addend
            if number or name in self.starts or out.name != ".debug_loc":
                out.relocs.append(Reloc(at, R_64, symbol, number))
        elif name in self.labels or name in self.sections:
            section, offset = self.labels.get(name, (name, 0))
            number = offset + addend
            if self.relocatable:
                out.relocs.append(Reloc(at, R_32 if size == 4 else R_64, section, number))
        elif name.startswith("."):
            # An empty section has no symbol.
            number = addend
        elif name in self.numbers:
            number = self.numbers[name] + addend
        elif name in self.variables:
            number = addend
            variable = self.variables[name]
            type_ = R_G64 if variable.space == "const" else R_64
            out.relocs.append(Reloc(at, type_, variable.name, addend))
        else:
            raise Unsupported(f"Section '{out.name}' refers to '{name}', which is not supported yet")
        return (number & (1 << 8 * size) - 1).to_bytes(size, "little")


def _first_offsets(rows: list[tuple[int, int]], size: int) -> tuple[list[int], list[int]]:
    """PTX lines in ascending order, and for each the first code offset from that line on; `size` after the last line."""
    order = sorted((line, offset) for offset, line in rows)
    offsets = [size]
    for _, offset in reversed(order):
        offsets.append(min(offset, offsets[-1]))
    return [line for line, _ in order], offsets[::-1]
