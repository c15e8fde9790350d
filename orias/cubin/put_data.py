"""Writes variables: their sections, symbols and bytes, and constant banks 3 and 4."""

from typing import Final

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.model import LOCAL, BankSlot, Variable
from orias.cubin.section_builder import OutSection, OutSymbol
from orias.cubin.unified import VARIABLE_ENTRIES, VARIABLES
from orias.cubin.variable_layout import creation_order, place_by_alignment, place_in_order
from orias.cubin.work import NAMES90, REFERENCE_TYPES, Work
from orias.target.driver import TENSOR_PARTITION, TENSOR_RECORD

_VARIABLE_ALIGN: Final = 16
"""Alignment of the variable in the reserved part of shared memory."""


def add_variables(w: Work) -> None:
    """Enter all module variables, visible ones first, and their sections."""
    _place(w)
    if not (w.m.linked or w.m.own_sections):
        _complete_bank4(w)
    slots = {s.symbol for s in w.m.bank4}
    ordered = creation_order(w.m.variables)
    # In an executable the dynamic shared memory of all kernels is entered after the variables.
    dynamic = [v for v in ordered if v.space == "shared" and not v.size and not w.m.linked]
    placed = [v for v in ordered if v.space != "shared" or v.size or w.m.linked]
    for v in placed:
        if v.binding != LOCAL:
            _add_variable(w, v, v.name in slots)
    _add_reserved_variables(w)
    for v in placed:
        if v.binding == LOCAL:
            _add_variable(w, v, v.name in slots)
    for v in dynamic:
        _add_variable(w, v, v.name in slots)


def _add_variable(w: Work, v: Variable, in_table: bool) -> None:
    """Enter a variable and its bytes; ``in_table``: it has a slot in the address table."""
    if v.space in REFERENCE_TYPES:
        w.define_as(v.name, OutSymbol(v.written, v.binding, REFERENCE_TYPES[v.space]))
        return
    linked = w.m.linked
    if v.space not in ("global", "const", "shared"):
        raise CubinError(f"variable {v.name} has the unknown space {v.space!r}")
    common = v.common and linked
    section = None if v.extern or common else _section_of(w, v)
    type_ = elf.STT_CUDA_OBJECT if linked else elf.STT_OBJECT
    other = 0x04 if v.managed else 0
    if linked:
        other |= {"global": 0x20, "const": 0x80, "shared": 0x40}[v.space]
    if v.unified is not None:
        other |= elf.STO_UNIFIED
    if v.space == "shared" and section is not None and not w.m.relocatable:
        value = w.facts.system_shared + v.offset
        section.align = max(section.align, v.align)
        if v.size:
            # Dynamic shared memory takes no bytes, wherever it begins.
            section.size = max(section.size, value + v.size)
    elif v.space == "shared" and section is not None:
        value = v.align
        section.align = max(section.align, v.align)
        section.size = overlay_size([o for o in w.m.variables if o.space == "shared" and not o.extern])
    else:
        value = max(v.offset, 0)
        if section is not None:
            _store(section, v)
    symbol = w.define_as(v.name, OutSymbol(v.written, v.binding, type_, other, section, value, v.size))
    if common:
        symbol.common, symbol.value = True, v.align
    if v.unified is not None and section is not None:
        if w.udt_entries is None:
            w.udt_entries = w.entries(VARIABLE_ENTRIES, elf.SHT_CUDA_UDT_ENTRY)
        w.udt_entries.add(symbol, v.unified)
    if in_table:
        need_bank4(w)


def reserved_variables(w: Work) -> list[tuple[str, int, int]]:
    """Name, alignment and size of the variables in the reserved part of shared memory, in order."""
    facts = w.facts
    out: list[tuple[str, int, int]] = []
    if facts.reserved_variable:
        out.append((facts.reserved_variable, _VARIABLE_ALIGN, facts.reserved_size - facts.reserved_offset))
    if any(k.tensor_allocation for k in w.m.kernels):
        out.append((TENSOR_PARTITION, 1, TENSOR_RECORD[TENSOR_PARTITION][0]))
    return out


def _add_reserved_variables(w: Work) -> None:
    """Enter the variables in the reserved part of shared memory, before all local variables."""
    variables = reserved_variables(w)
    if w.m.relocatable and variables:
        reserved_section(w, variables)
    place = w.facts.reserved_offset
    for name, align, size in variables:
        if w.m.linked:
            w.define(OutSymbol(name, elf.STB_WEAK, elf.STT_CUDA_OBJECT, 0xA0, w.reserved, align, size))
        elif w.reserved is not None:
            w.define(OutSymbol(name, elf.STB_WEAK, elf.STT_OBJECT, 0, w.reserved, place, size))
        place += size


def reserved_section(w: Work, variables: list[tuple[str, int, int]]) -> OutSection:
    """The section of reserved shared memory; with variables it has a symbol, where a linker follows it holds nothing else."""
    type_ = w.data_type(elf.SHT_NOBITS, elf.SHT_CUDA_SHARED_RESERVED)
    flags = elf.SHF_WRITE | elf.SHF_ALLOC
    align = max((align for _, align, _ in variables), default=1)
    w.reserved = w.named(".nv.shared.reserved.0", type_, flags, align, symbol=bool(variables))
    w.reserved.size = sum(size for _, _, size in variables) + (0 if w.m.linked else w.facts.reserved_offset)
    w.nobits.append(w.reserved)
    return w.reserved


def _section_of(w: Work, v: Variable) -> OutSection:
    rw = elf.SHF_WRITE | elf.SHF_ALLOC
    if v.space == "const":
        if w.bank3 is None:
            w.bank3 = _shared_bank(w, 3, 1)
        return w.bank3
    if v.space == "shared":
        if w.debug_shared is None:
            # Dynamic shared memory alone has no bytes, and its section no symbol.
            sized = any(o.space == "shared" and o.size for o in w.m.variables)
            type_ = w.data_type(elf.SHT_NOBITS, elf.SHT_CUDA_SHARED)
            w.debug_shared = w.named(".nv_debug.shared", type_, rw, 1, symbol=sized)
            w.nobits.append(w.debug_shared)
        return w.debug_shared
    if v.unified is not None:
        if w.udt is None:
            w.udt = w.named(VARIABLES, elf.SHT_CUDA_UDT, rw, 1)
            w.data.append(w.udt)
        return w.udt
    if v.data is not None:
        if w.global_init is None:
            type_ = w.data_type(elf.SHT_PROGBITS, elf.SHT_CUDA_GLOBAL_INIT)
            w.global_init = w.named(".nv.global.init", type_, rw, 1)
            w.data.append(w.global_init)
        return w.global_init
    if w.global_ is None:
        type_ = w.data_type(elf.SHT_NOBITS, elf.SHT_CUDA_GLOBAL)
        w.global_ = w.named(".nv.global", type_, rw, 1)
        w.nobits.append(w.global_)
    return w.global_


def _place(w: Work) -> None:
    own = [v for v in w.m.variables if not (v.extern or (v.common and w.m.linked))]
    place_in_order([v for v in own if v.unified is not None])
    plain = [v for v in own if v.space == "global" and v.unified is None]
    place_by_alignment([v for v in plain if v.data is not None])
    place_by_alignment([v for v in plain if v.data is None])
    consts = [v for v in own if v.space == "const"]
    if w.m.relocatable:
        place_by_alignment(consts, w.m.first_constant)
    else:
        place_in_order(consts, w.m.first_constant)


def _complete_bank4(w: Work) -> None:
    """Give every global variable a slot in the address table, used or not."""
    known = {s.symbol for s in w.m.bank4}
    end = max((s.offset + 8 for s in w.m.bank4), default=0)
    for v in creation_order(w.m.variables):
        if v.space == "global" and v.name not in known:
            w.m.bank4.append(BankSlot(end, v.name))
            end += 8


def need_bank4(w: Work) -> None:
    """Create the address table if there is none yet."""
    if w.bank4 is None:
        w.bank4 = _shared_bank(w, 4, 8)


def _shared_bank(w: Work, number: int, align: int) -> OutSection:
    """Constant bank 3 or 4, which all kernels share."""
    name = f".nv.constant{number}"
    section = w.constant_bank(number, name, align, False)
    w.renamed(section, f".nv.constant.{NAMES90[number]}" if w.facts.split_segments else name)
    return section


def shared_banks(w: Work) -> list[OutSection]:
    """Banks 3 and 4 in file order, that of what is first in them: functions that code calls, then variables."""
    spaces = [v.space for v in creation_order(w.m.variables) if v.space in ("const", "global")]
    calls = {e.name for e in w.m.externs} & {s.symbol for s in w.m.bank4}
    banks = (w.bank3, w.bank4) if spaces[:1] == ["const"] and not calls else (w.bank4, w.bank3)
    return [s for s in banks if s is not None]


def overlay_size(variables: list[Variable]) -> int:
    """Size of a shared section of a relocatable object, whose symbols have only an alignment (rule measured with ptxas)."""
    total = sum(v.size for v in variables)
    align = max((v.align for v in variables), default=1)
    return total + align if total <= align else total


def _store(section: OutSection, v: Variable) -> None:
    """Put a variable's bytes into its section."""
    section.align = max(section.align, v.align)
    end = v.offset + v.size
    if section.type in elf.NO_BYTES:
        section.size = max(section.size, end)
        return
    data = bytearray(section.data)
    if len(data) < end:
        data += bytes(end - len(data))
    raw = v.data or b""
    if len(raw) > v.size:
        raise CubinError(f"variable {v.name} of {v.size} bytes has {len(raw)} bytes of initial value")
    data[v.offset : v.offset + len(raw)] = raw
    section.data = bytes(data)
