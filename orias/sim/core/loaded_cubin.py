"""A cubin in the memory of a device: code with its addresses filled in, data, and the plans of its instructions."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile
from orias.cubin.elf_values import CONSTANT_SIZE, DRIVER_SIZES
from orias.cubin.model import KernelCode
from orias.cubin.reader import Reader
from orias.cubin.relocs import (
    CALL_RELOCS,
    R_8_0,
    R_64,
    R_ABS16_32,
    R_ABS24_40,
    R_ABS32_32,
    R_ABS32_HI_32,
    R_ABS32_LO_32,
    R_CONST_FIELD19_40,
    R_CONST_FIELD21_38,
    R_CONST_FIELD22_37,
    R_FUNC_DESC32_HI_32,
    R_FUNC_DESC32_LO_32,
    R_FUNC_DESC_8_0,
    R_FUNC_DESC_64,
    R_G8_0,
    R_G64,
    R_SAMP_HEADER_INDEX,
    R_UNIFIED,
    R_UNIFIED8_0,
    R_UNIFIED32_HI_32,
    R_UNIFIED32_LO_32,
    apply,
    reloc_name,
)
from orias.cubin.unified import VARIABLES
from orias.isa.decode import Decoded, IllegalWord
from orias.isa.isa_table import EncodeError, IsaTable
from orias.isa.isa_table import load as load_table
from orias.isa.op import Op
from orias.isa.operand import imm, imm64, imm_value, is_imm, payload
from orias.sim.core.banked_memory import Arena
from orias.sim.core.build import build, illegal, placed
from orias.sim.core.engine import Plan
from orias.sim.core.global_variables import Globals, allocate_variables, constant_bytes
from orias.sim.core.known_modifiers import unknown
from orias.sim.core.object_places import shared_places
from orias.sim.core.sim_errors import LoadError
from orias.sim.core.state import Machine
from orias.sim.core.syscalls import Syscalls
from orias.sim.native.translate import record
from orias.sim.native.vector import Records
from orias.sim.sass.exec_flow import CODE_BASE, SYSCALL_BASE
from orias.sim.texture.descriptor import ROW
from orias.target import features
from orias.target.profile import TARGETS, Target

Arr = npt.NDArray[Any]

_CODE_ALIGN: Final = 128
_UPPER: Final = (R_ABS32_HI_32, R_UNIFIED32_HI_32, R_FUNC_DESC32_HI_32)
_WORDS: Final = (R_ABS32_32, R_ABS32_LO_32, R_UNIFIED32_LO_32, R_FUNC_DESC32_LO_32, *_UPPER)
"""Relocation types of a 32-bit immediate."""
_BANK_FIELDS: Final[dict[int, int]] = {R_CONST_FIELD19_40: 16, R_CONST_FIELD21_38: 16, R_CONST_FIELD22_37: 17}
"""Types for a constant bank with an offset -> bits of the offset, which the bank's number follows."""
_FIELDS: Final = (R_ABS16_32, R_ABS24_40, *_BANK_FIELDS)
"""Types in the code of objects besides those of whole words and calls."""
_CONSTANT: Final = ".nv.constant"
_RESERVED: Final = ".nv.reservedSmem"
_UNIFIED: Final = "__UFT_OFFSET"
"""The distance of functions' addresses from those in a table of unified functions: no object has a table here."""
_VARIABLES: Final = (".nv.global", ".nv.global.init", ".nv.constant3", VARIABLES)
"""Sections that lie in device memory."""
_BYTES: Final[dict[int, int]] = {
    first + k: k for first in (R_8_0, R_G8_0, R_UNIFIED8_0, R_FUNC_DESC_8_0) for k in range(8)
}
"""Types for one byte of an address -> its number."""
_CONTROL: Final = 0x1FFFFF << 105
_LIMIT: Final = 1 << 15
_OPCODE: Final = 0xFFF
_SETTINGS: Final = (0x3C8, 0x9C8)
"""Opcodes of USETMAXREG (``isa/data/bulk.isa``), which words are decoded for."""
_ALL_REGISTERS: Final = 255
_known: dict[tuple[str, int], Plan] = {}
"""Plans by (instruction table, word without control bits); plans that depend on their address are not in it."""
_known_records: dict[tuple[str, int, int], tuple[object, ...] | None] = {}
"""Likewise records of the C library; the third of a key is the number of registers that every thread has."""


class LoadedCubin:
    """A loaded cubin, without launches."""

    def __init__(self, data: bytes | Reader, arena: Arena | None = None, beside: "LoadedCubin | None" = None) -> None:
        """`data`: a cubin, or its :class:`Reader` (which several images may share, because none changes it).

        `arena`: device memory that several modules share; without it the image has memory of its own.  `beside`: an image with
        other kernels of the same module: the variables are those of that image.
        """
        try:
            self.reader = data if isinstance(data, Reader) else Reader(data)
        except CubinError as e:
            raise LoadError(str(e)) from None
        target = TARGETS.get(self.reader.target)
        if target is None:
            raise LoadError(f"target {self.reader.target} is not simulated")
        self.target: Target = target
        self.table: IsaTable = load_table(target.table)
        self.kernels: dict[str, KernelCode] = self.reader.kernels
        self.arena = arena if arena is not None else Arena(1 << 20)
        self.arena.paired = not target.has(features.SEPARATE_SAMPLERS)
        self.variables: dict[str, tuple[int, int]] = {}
        """Address and size of each module variable."""
        self.globals = Globals(self)
        self._shared: dict[int, int] = {}
        self._shared_bytes = 0
        self.syscalls = Syscalls(SYSCALL_BASE)
        self.watch: Callable[[Machine, int], None] | None = None
        """Value of :attr:`Machine.watch` in launches."""
        self.progress: Callable[[int, int], None] | None = None
        """Called regularly in a launch with the number of ended threads and the number of all threads."""
        self.checked_tables: int = 0
        """Address of the tables that code of ``-sanitize memcheck`` reads; 0: there are none, and it checks nothing."""
        self.descriptor_mode: bool | None = None
        """Whether the code queries descriptors in independent texture mode; None without such queries."""
        self._section_address: dict[int, int] = {}
        self._code: list[tuple[int, bytes, str]] = []
        self._text_relocs: dict[int, tuple[int, int]] = {}
        """(relocation type, value) by code offset."""
        self._plans: list[Plan | None] | None = None
        self._records: dict[int, Records] = {}
        self._apart: dict[str, str] = {}
        """Why blocks must run in one process, of the kernels of which it was asked."""
        try:
            if self.reader.relocatable:
                self._shared, size = shared_places(self.reader.elf)
                self._shared_bytes = size + target.number("system_shared")
            self._place_code()
            self._place_data(beside)
            self._relocate_text()
        except (CubinError, IndexError, KeyError, ValueError) as e:
            raise LoadError(f"malformed cubin: {e}") from e

    # -- loading

    def _place_code(self) -> None:
        at = 0
        for s in self.reader.elf.sections:
            if s.name.startswith(".text."):
                at = -(-at // _CODE_ALIGN) * _CODE_ALIGN
                self._section_address[s.index] = CODE_BASE + at
                name = s.name[len(".text.") :]
                self._code.append((at, s.data, name))
                if name in self.kernels and self.kernels[name].is_entry:
                    # A descriptor is the address of the code here.
                    self.syscalls.launches.kernels[CODE_BASE + at] = self.kernels[name]
                at += len(s.data)
        self._code_size = at

    def _place_data(self, beside: "LoadedCubin | None") -> None:
        elf = self.reader.elf
        self.banks: dict[str, bytes] = {}
        for s in elf.sections:
            if s.name in _VARIABLES:
                if beside is not None:
                    self._section_address[s.index] = beside.section(s.name)
                    continue
                size = constant_bytes(s.size) if s.name == ".nv.constant3" else max(s.size, 1)
                address = allocate_variables(self.arena, size, s.name)
                self._section_address[s.index] = address
                if s.data:
                    self.arena.write(address, s.data)
        for s in elf.sections:
            if s.index in self._section_address and s.name.startswith(".nv."):
                data = self._relocated(s.index, bytes(s.data))
                if data and beside is None:
                    self.arena.write(self._section_address[s.index], data)
            elif s.name.startswith((".nv.constant2", ".nv.constant4")):
                self.banks[s.name] = self._relocated(s.index, bytes(s.data))
        for sym in elf.symbols:
            base = self._section_address.get(sym.section)
            if base is not None and sym.name and sym.type in (1, 13) and base < CODE_BASE:
                self.variables[sym.name] = (base + sym.value, sym.size)
        if beside is not None and self.variables != beside.variables:
            raise LoadError("the variables are not those of the image beside it")

    def shared_variables(self, kernel: str) -> dict[str, int]:
        """Addresses of the shared variables of a kernel, by name, where the cubin has symbols for them (with -g)."""
        names = (f".nv.shared.{kernel}", ".nv_debug.shared")
        places = {s.index for s in self.reader.elf.sections if s.name in names}
        return {s.name: s.value for s in self.reader.elf.symbols if s.section in places and s.type == elf.STT_OBJECT}

    def _relocate_text(self) -> None:
        """Reads the relocations of code, which exist in objects and where functions have sections of their own (-g)."""
        elf = self.reader.elf
        for k, (at, code, name) in enumerate(self._code):
            text = f".text.{name}"
            section = elf.section(text)
            changed = bytearray(code)
            for r in elf.relocations(section) if section is not None else []:
                if elf.symbol(r.symbol, text).name == _UNIFIED:
                    continue
                if r.type in (*_WORDS, *CALL_RELOCS):
                    self._text_relocs[at + r.offset] = (r.type, self._symbol(r.symbol, text) + r.addend)
                elif self.reader.relocatable and r.type in _FIELDS:
                    # A constant bank with an offset, or a place in shared memory.
                    apply(changed, r.offset, r.type, self._field(r.symbol, r.type, r.addend, text))
                else:
                    raise LoadError(f"{text}: relocation {reloc_name(r.type)} is not simulated")
            self._code[k] = at, bytes(changed), name

    def _field(self, index: int, type_: int, addend: int, section: str) -> int:
        """What a relocation in an object puts into a field of an instruction for a symbol."""
        sym = self.reader.elf.symbol(index, section)
        if index in self._shared:
            return self._shared[index] + addend
        if sym.section == 0:
            raise LoadError(f"{section}: {sym.name} is not in this object: link it first")
        name = self.reader.elf.section_name(sym)
        if type_ == R_ABS24_40 or not name.startswith(_CONSTANT):
            raise LoadError(f"{section}: relocation {reloc_name(type_)} to {sym.name} is not simulated")
        bits = _BANK_FIELDS.get(type_)
        if bits is None:
            return sym.value + addend
        return int(name[len(_CONSTANT)]) << bits | sym.value + addend & (1 << bits) - 1

    def _symbol(self, index: int, section: str) -> int:
        """The address of a symbol."""
        sym = self.reader.elf.symbol(index, section)
        if sym.section == 0 and sym.name in DRIVER_SIZES.values():
            self.descriptor_mode = self.descriptor_mode or sym.name.startswith(".nv.independent.")
            return ROW
        if index in self._shared:
            return self._shared[index]
        if sym.section == 0 and sym.name.startswith(_RESERVED):
            return sym.value
        if sym.section == 0 and sym.name == CONSTANT_SIZE:
            return sum(s.size for s in self.reader.elf.sections if s.name == ".nv.constant3")
        if sym.section == 0:
            address = self.syscalls.address(sym.name)
            if address is None and self.reader.relocatable:
                raise LoadError(f"{section}: {sym.name} is not in this object: link it first")
            # A call of a missing function goes to an address without function, and fails there.
            return SYSCALL_BASE + 0x100000 if address is None else address
        base = self._section_address.get(sym.section)
        if base is None and sym.section == elf.SHN_COMMON:
            raise LoadError(f"{section}: {sym.name} is a common variable, which a linker places: link the object first")
        if base is None:
            raise LoadError(f"{section}: symbol {sym.name} has no address")
        return base + sym.value

    def reserved_place(self, name: str) -> int | None:
        """The place in shared memory of a variable of the system, None if the file has none of this name."""
        return next((self._shared.get(s.index, s.value) for s in self.reader.elf.symbols if s.name == name), None)

    def shared_size(self, kernel: str) -> int:
        """Static shared bytes of a kernel, with the part that the system reserves."""
        if self.reader.relocatable:
            return self._shared_bytes
        size = self.reader.shared_size(kernel)
        # In an extensible program the part of the system is not in the sections yet.
        return size + self.target.number("system_shared") if self.reader.module.extensible else size

    def _relocated(self, index: int, data: bytes) -> bytes:
        elf = self.reader.elf
        section = elf.sections[index]
        relocs = elf.relocations(section)
        if not relocs:
            return data
        out = bytearray(data)
        for r in relocs:
            value = self._symbol(r.symbol, section.name)
            byte = _BYTES.get(r.type)
            if byte is not None:
                out[r.offset] = (value + (r.addend if r.rela else 0)) >> 8 * byte & 0xFF
                continue
            if r.type not in (R_64, R_G64, R_UNIFIED, R_FUNC_DESC_64):
                raise LoadError(f"{section.name}: relocation type {r.type} is not simulated")
            addend = r.addend if r.rela else int.from_bytes(out[r.offset : r.offset + 8], "little")
            out[r.offset : r.offset + 8] = ((value + addend) & (1 << 64) - 1).to_bytes(8, "little")
        return bytes(out)

    def section(self, name: str) -> int:
        """The address of a section in memory; KeyError if it has none."""
        for s, address in self._section_address.items():
            if self.reader.elf.sections[s].name == name:
                return address
        raise KeyError(name)

    def code_places(self) -> list[tuple[int, str]]:
        """The offset of each function's code among that of the module, and its name."""
        return [(at, name) for at, _, name in self._code]

    def code_size(self) -> int:
        """Bytes of all code."""
        return self._code_size

    def function_offsets(self, kernel: str) -> dict[int, str]:
        """Names of functions by the number that stands for their address in code and data.

        The number is the offset in the kernel's section, or the address of a function with a section of its own.
        """
        found: dict[int, str] = {}
        for sym in self.reader.elf.symbols:
            if sym.type == 2 and 0 < sym.section < len(self.reader.elf.sections):
                if self.reader.elf.sections[sym.section].name == f".text.{kernel}":
                    found[sym.value] = sym.name
                elif sym.name not in self.kernels:
                    found[self._section_address[sym.section] + sym.value] = sym.name
        return found

    def plans(self) -> list[Plan | None]:
        """One entry per instruction of the module (index = code offset / 16), filled by :meth:`compile`."""
        if self._plans is None:
            self._plans = [None] * ((self._code_size >> 4) + 1)
        return self._plans

    def records(self, registers: int) -> Records:
        """The same for the C library, by the number of registers that every thread has."""
        known = self._records.get(registers)
        if known is None:
            known = Records(len(self.plans()), lambda index: self._record(index, registers))
            self._records[registers] = known
        return known

    def _record(self, index: int, registers: int) -> tuple[object, ...] | None:
        """The record of an instruction; None where it has none or needs more than its word says."""
        for at, code, _ in self._code:
            offset = (index << 4) - at
            if 0 <= offset < len(code) and self._text_relocs.get(at + offset) is None:
                word = int.from_bytes(code[offset : offset + 16], "little") & ~_CONTROL
                key = self.target.table, word, registers
                if key in _known_records:
                    return _known_records[key]
                d = self._decoded(code, offset)
                if d is None or unknown(d.op, d.op.means or d.op.base):
                    return None
                made = record(d, CODE_BASE + at + offset, registers)
                if not placed(d):
                    if len(_known_records) >= _LIMIT:
                        _known_records.clear()
                    _known_records[key] = made
                return made
        return None

    def compile(self, index: int) -> Plan:
        """The plan of the instruction at an index."""
        plans = self.plans()
        if not 0 <= index < len(plans):
            return illegal(index << 4, "execution left the code")
        plan = plans[index]
        if plan is not None:
            return plan
        plan = illegal(index << 4, "execution ran out of the code")
        for at, code, _ in self._code:
            offset = (index << 4) - at
            if 0 <= offset < len(code):
                plan = self._plan(code, offset, at)
                break
        plans[index] = plan
        return plan

    def operations(self, kernel: str) -> set[Op]:
        """The operations of a kernel and of the functions with sections of their own."""
        found: set[Op] = set()
        for _, code, name in self._code:
            if name == kernel or name not in self.kernels:
                found.update(d.op for k in range(0, len(code), 16) if (d := self._decoded(code, k)) is not None)
        return found

    @cached_property
    def most_asked_registers(self) -> int:
        """The most registers that a warp asks for with USETMAXREG in any function; 0 without it."""
        most = 0
        for _, code, _ in self._code:
            low = np.frombuffer(code, "<u2", len(code) // 16 * 8)[::8] & _OPCODE
            for k in np.flatnonzero(np.isin(low, _SETTINGS)).tolist():
                d = self._decoded(code, 16 * k)
                if d is not None and d.op.base == "USETMAXREG":
                    most = max(most, imm_value(d.src[0]) if is_imm(d.src[0]) else _ALL_REGISTERS)
        return most

    def decoded(self, index: int) -> Decoded | None:
        """The instruction at an index; None where there is none."""
        for at, code, _ in self._code:
            offset = (index << 4) - at
            if 0 <= offset < len(code):
                return self._decoded(code, offset)
        return None

    def _decoded(self, code: bytes, offset: int) -> Decoded | None:
        try:
            return self.table.decode(int.from_bytes(code[offset : offset + 16], "little"))
        except (IllegalWord, EncodeError):
            return None

    def _plan(self, code: bytes, offset: int, at: int) -> Plan:
        word = int.from_bytes(code[offset : offset + 16], "little")
        reloc = self._text_relocs.get(at + offset)
        table = self.table  # Not self: the plan outlives this image and its memory.
        key = self.target.table, word & ~_CONTROL
        like = _known.get(key) if reloc is None else None
        if like is not None:
            return like.again(offset, lambda: table.text(word, offset))
        try:
            d = table.decode(word)
        except (IllegalWord, EncodeError) as e:
            return illegal(offset, f"no instruction has the word 0x{word:032x}: {e}")
        if reloc is not None:
            kind_, value = reloc
            i = max((i for i, o in enumerate(d.src) if is_imm(o)), default=-1)
            if i < 0:
                return illegal(offset, f"relocation type {kind_} on {d.op.name} is not simulated")
            if kind_ in _WORDS:
                d.src[i] = imm(value >> 32 if kind_ in _UPPER else value)
            else:
                d.src[i] = imm64(value)
        elif d.op.base == "I2F" and (d.op.has("S64") or d.op.has("U64")) and is_imm(d.src[0]):
            # The immediate is the upper word, as of a double: ptxas converts 0x700000000 as 0x7, and 7 from the
            # constant bank.
            d.src[0] = imm64(payload(d.src[0]) << 32)
        plan = build(d, offset, CODE_BASE + at + offset, lambda: table.text(word, offset))
        if reloc is None and not placed(d):
            if len(_known) >= _LIMIT:
                _known.clear()
            _known[key] = plan
        return plan

    def reference_slots(self, kernel: str) -> list[tuple[int, str, bool]]:
        """(offset in constant bank 0, name, whether above the texture's number) of each reference that a kernel uses."""
        return _references(self.reader.elf, kernel, not self.target.has(features.SEPARATE_SAMPLERS))

    def __getstate__(self) -> dict[str, Any]:
        """For the processes of a launch: without what each makes anew."""
        state = dict(self.__dict__)
        for name in ("table", "target", "globals", "_plans", "_records", "watch", "progress"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.target = TARGETS[self.reader.target]
        self.table = load_table(self.target.table)
        self.globals = Globals(self)
        self._plans = None
        self._records = {}
        self.watch = None
        self.progress = None


def _references(file: ElfFile, kernel: str, packed: bool) -> list[tuple[int, str, bool]]:
    """(offset in constant bank 0, name, packed) of each word that a loader fills with a handle, packed entries last.

    `packed`: samplers are in the upper part of a texture's word.
    """
    bank = file.section(f".nv.constant0.{kernel}")
    kinds = (elf.STT_TEXTURE, elf.STT_SURFACE, elf.STT_SAMPLER)
    found: list[tuple[int, str, bool]] = []
    for r in file.relocations(bank) if bank is not None else []:
        symbol = file.symbols[r.symbol]
        if symbol.type in kinds:
            # nvlink writes this type for targets with separate samplers too; ptxas has a type without a shift for them.
            found.append((r.offset, symbol.name, packed and r.type == R_SAMP_HEADER_INDEX))
    return sorted(found, key=lambda x: x[2])
