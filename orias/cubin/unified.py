"""Unified functions and variables of objects, which a linker finds by two numbers (``.attribute(.unified(a, b))``).

A unified function has a stub, which jumps to it, in a section of its own, and a record of its numbers; unified variables lie in
a section of their own and have such records too.  Source: ``docs/facts/cubin.md``, "Unified functions and variables".
"""

from struct import pack
from typing import Final, final

from orias.cubin import elf
from orias.cubin.model import LOCAL, KernelCode, Reloc, UnifiedId
from orias.cubin.section_builder import OutSection, OutSymbol

FUNCTION_ENTRIES: Final = ".nv.uft.entry"
VARIABLES: Final = ".nv.udt"
VARIABLE_ENTRIES: Final = ".nv.udt.entry"
STUB_SECTION: Final = ".nv.uft.rel."
_STUB_PREFIX: Final = "__cuda_uf_stub_"
_STUB_BYTES: Final = 128
_ENTRY_BYTES: Final = 32
_STUB_REGISTERS: Final = 24
_CALL, _STOP, _RETURN, _NOP = (
    "43790000000000000000c003", "4779fc00fcffffffffff8303", "50790014000000000000e003", "187900000000000000000000"
)  # fmt: skip
"""Instructions without their control bits: CALL.ABS.NOINC, BRA to itself, RET.ABS.NODEC R20, NOP."""
_END: Final = f"{_STOP}00c00f00{_NOP}00c00f00"
_STUB: Final = bytes.fromhex(f"{_CALL}00ea0f00{_STOP}00ea0f00" + 4 * f"{_NOP}00e20f00" + _END)
_SERIAL_STUB: Final = bytes.fromhex(f"{_CALL}00de3f00{_RETURN}00de3f00" + 4 * f"{_NOP}00de3f00" + _END)
"""At level 0."""


def stub(function: KernelCode, call_relocation: int, optimized: bool) -> KernelCode:
    """The stub of a unified function."""
    out = KernelCode(_STUB_PREFIX + function.name, _STUB if optimized else _SERIAL_STUB, False)
    out.padded, out.binding, out.stub_of = True, LOCAL, function.name
    out.num_regs = _STUB_REGISTERS
    out.relocs = [Reloc(0, call_relocation, function.name)]
    return out


def stub_section(function: str) -> OutSection:
    """The section of a function's stub."""
    flags = elf.SHF_ALLOC | elf.SHF_EXECINSTR
    return OutSection(STUB_SECTION + function, elf.SHT_CUDA_UFT, flags, _STUB_BYTES, _STUB_BYTES)


@final
class Entries:
    """The section with the records of all unified functions, or of all unified variables."""

    __slots__ = ("_found", "section")

    def __init__(self, section: OutSection) -> None:
        section.entsize = _ENTRY_BYTES
        self.section: OutSection = section
        self._found: list[tuple[OutSymbol, UnifiedId]] = []

    def add(self, symbol: OutSymbol, known_as: UnifiedId) -> None:
        """Enter a function or variable."""
        self._found.append((symbol, known_as))

    def fill(self) -> None:
        """Write the records, when symbols have their numbers: symbol, 1, place in its section, both numbers of the program."""
        self.section.data = b"".join(pack("<IIQQQ", s.index, 1, s.value, *known_as) for s, known_as in self._found)
