"""Writes the sections of capsules: the Mercury form of each function, and of everything that refers to its code.

A cubin has all of them or none: if anything in it has no known Mercury form, it is written without, and says so.
Source: ``docs/facts/capsules.md``.
"""

from typing import Final, final

from orias.cubin import elf, nvinfo
from orias.cubin.attributes import kernel_records
from orias.cubin.capsule.capsule_parser import SHT_CUDA_CAPSULE, capsules, parse_items
from orias.cubin.capsule.capsule_writer import HandleSlots, Mercury, NoCapsule, capsule_bytes, mercury_of
from orias.cubin.capsule.finalizer import finalizer_options
from orias.cubin.cubin_error import CubinError
from orias.cubin.debugframe import FrameWriter
from orias.cubin.model import RESERVED_CAP, FrameInfo, FrameRow
from orias.cubin.nvinfo import Record
from orias.cubin.put_capsule_debug import M_32, M_64, M_CODE, M_FRAME_CODE, M_G64, twin
from orias.cubin.put_data import shared_banks
from orias.cubin.put_debug import frame_of
from orias.cubin.relocs import (
    CALL_RELOCS,
    R_8_0,
    R_64,
    R_ABS16_32,
    R_ABS32_32,
    R_ABS32_HI_32,
    R_ABS32_LO_32,
    R_ABS56_16_34,
    R_CONST_FIELD21_38,
    R_CONST_FIELD22_37,
    R_FUNC_DESC32_HI_32,
    R_FUNC_DESC32_LO_32,
    R_FUNC_DESC_8_0,
    R_FUNC_DESC_64,
    R_G8_0,
    R_G64,
    R_SAMP_HEADER_INDEX_0,
    R_SURF_HEADER_INDEX,
    R_TEX_HEADER_INDEX,
    R_UNIFIED,
    R_UNIFIED8_0,
    R_UNIFIED32_HI_32,
    R_UNIFIED32_LO_32,
)
from orias.cubin.section_builder import OutReloc, OutSection
from orias.cubin.work import REFERENCE_TYPES, Code, Work
from orias.isa.isa_table import load

_WORD: Final = 16
_UNIT: Final = 16
_FLAG: Final = 0x10000000
"""Flag of all sections of capsules."""
_SHT_INFO: Final = 0x70000083
_SHT_SYMTAB: Final = 0x70000085
_SHT_RELA: Final = 0x70000082
_SHT_CONSTANT_IMAGES: Final = 0x70000079
_SHT_CONSTANT_USER: Final = 0x7000007C
_SHT_CONSTANT_PIC: Final = 0x7000007D
_SHT_CONSTANT_OPTIMIZER: Final = 0x70000084

_M_16: Final = 0x10004
_M_LO: Final = 0x10005
_M_HI: Final = 0x10006
_M_OFFSET: Final = 0x10007
"""The offset of a function in the section of its kernel."""
_M_CODE_LO: Final = 0x10028
_M_CODE_HI: Final = 0x10029
_M_FUNCTION: Final = 0x10032
_M_FUNCTION_LO: Final = 0x1003E
_M_FUNCTION_HI: Final = 0x1003F
_M_FRAME_SIZE: Final = 0x1000E
_M_DESCRIPTOR: Final = 0x1000F
_DATA_TYPES: Final[dict[int, int]] = {
    R_ABS32_32: M_32, R_ABS32_LO_32: _M_LO, R_ABS32_HI_32: _M_HI, R_ABS16_32: _M_16, R_CONST_FIELD22_37: M_32,
    R_CONST_FIELD21_38: _M_16,
}  # fmt: skip
"""Relocations against data: type in code, type in Mercury."""
_CODE_TYPES: Final[dict[int, int]] = {R_ABS32_32: M_CODE, R_ABS32_LO_32: _M_CODE_LO, R_ABS32_HI_32: _M_CODE_HI}
"""Relocations against the own function (return addresses)."""
_FUNCTION_TYPES: Final[dict[int, int]] = {
    R_UNIFIED32_LO_32: _M_FUNCTION_LO, R_UNIFIED32_HI_32: _M_FUNCTION_HI,
    R_FUNC_DESC32_LO_32: _M_FUNCTION_LO, R_FUNC_DESC32_HI_32: _M_FUNCTION_HI,
}  # fmt: skip
"""Relocations against addresses of functions and descriptors of kernels."""
_EXECUTABLE_TYPES: Final[dict[int, int]] = {R_FUNC_DESC32_LO_32: _M_LO, R_FUNC_DESC32_HI_32: _M_HI}
"""Those against descriptors in executables, where ptxas 13.0.88 tells them from addresses no more."""
_M_BYTE: Final = 0x10010
_M_G_BYTE: Final = 0x10018
_M_OFFSET_BYTE: Final = 0x1002A
_M_FUNCTION_BYTE: Final = 0x10034
_M_DESCRIPTOR_BYTE: Final = 0x10020
"""Byte 0 of an address, a generic address, an offset as above, a function's address, and a kernel's descriptor; the following
types are the other bytes."""
_VALUE_TYPES: Final[dict[int, int]] = {
    R_64: M_64, R_G64: M_G64, R_UNIFIED: _M_FUNCTION, R_FUNC_DESC_64: _M_DESCRIPTOR,
    **{first + k: in_mercury + k
       for first, in_mercury in ((R_8_0, _M_BYTE), (R_G8_0, _M_G_BYTE), (R_UNIFIED8_0, _M_FUNCTION_BYTE),
                                 (R_FUNC_DESC_8_0, _M_DESCRIPTOR_BYTE))
       for k in range(8)},
}  # fmt: skip
"""Relocations in initial values: type in the plain section, type in the Mercury one."""
_OFFSETS: Final[dict[int, int]] = {
    nvinfo.EXIT_INSTR_OFFSETS: 1, nvinfo.COOP_GROUP_INSTR_OFFSETS: 1, nvinfo.INT_WARP_WIDE_INSTR_OFFSETS: 1, nvinfo.SYSCALL_OFFSETS: 1, nvinfo.STACK_CANARY_TRAP_OFFSETS: 1,
    nvinfo.ATOM16_EMUL_INSTR_REG_MAP: 2, nvinfo.UNUSED_LOAD_BYTE_OFFSET: 2, nvinfo.MBARRIER_INSTR_OFFSETS: 4, nvinfo.INSTR_REG_MAP: 3,
}  # fmt: skip
"""Attributes with offsets in code: how many words belong together, the first of which is one."""
_POINTER: Final = 8
"""Bytes of an entry of a table of function pointers."""
_HANDLE_TYPES: Final[dict[int, int]] = {
    R_TEX_HEADER_INDEX: 0x1000B, R_SAMP_HEADER_INDEX_0: 0x1000C, R_SURF_HEADER_INDEX: 0x1000D,
}  # fmt: skip
"""Relocations of the handles of textures, samplers and surfaces."""
_BANK_END: Final = 1 << 16
_IMMEDIATE: Final = 12
"""Place of an immediate of 32 bits in the last unit."""
_WIDE_IMMEDIATE: Final = 8
"""Place of an immediate of 64 bits in the last unit."""
_OTHER: Final[dict[str, int]] = {"global": 0x20, "const": 0x80, "shared": 0x40}
_RESERVED: Final = 0xA0
"""``st_other`` of a symbol by its space."""
_MERC: Final = ".nv.merc"


@final
class CapsuleSections:
    """The sections of capsules under construction.

    ``image``: the Mercury section of a plain one, by the name of the plain one.
    """

    __slots__ = ("capsules", "frame", "image", "info", "infos", "lines", "mercury", "relocs", "symtab")

    def __init__(self, mercury: list[Mercury]) -> None:
        self.mercury: list[Mercury] = mercury
        self.symtab: OutSection = OutSection(f"{_MERC}.symtab", _SHT_SYMTAB, _FLAG, 8, elf.SYM_SIZE)
        self.capsules: list[OutSection] = []
        self.infos: list[OutSection] = []
        self.info: OutSection = OutSection(f"{_MERC}.nv.info", _SHT_INFO, _FLAG, 4)
        self.frame: OutSection = OutSection(f"{_MERC}.debug_frame", elf.SHT_PROGBITS, _FLAG, 1)
        self.lines: list[OutSection] = []
        self.image: dict[str, OutSection] = {}
        self.relocs: list[tuple[OutSection, list[OutReloc]]] = []


def add_capsules(w: Work) -> tuple[CapsuleSections, list[OutSection]]:
    """Create the sections; NoCapsule with the reason if something in the module has no known Mercury form."""
    _refuse(w)
    table = load(w.target.table)
    s = CapsuleSections([mercury_of(c.text.data, table, c.text.name, slots=_slots(w, c)) for c in w.codes])
    for code, m in zip(w.codes, s.mercury, strict=True):
        _refuse_offsets(w, code)
        _read_back(code, m)
        section = OutSection(f".nv.capmerc{code.text.name}", SHT_CUDA_CAPSULE, _FLAG, 16)
        section.link, section.info_symbol = s.symtab, code.symbol
        s.capsules.append(section)
        s.image[code.text.name] = section
        info = OutSection(f"{_MERC}{code.info.name}", _SHT_INFO, _FLAG | elf.SHF_INFO_LINK, 4)
        info.link, info.info_section = s.symtab, section
        s.infos.append(info)
    s.info.link = s.symtab
    s.image[".debug_frame"] = s.frame
    copies = _copies(w, s)
    for section, code, m in zip(s.capsules, w.codes, s.mercury, strict=True):
        _rela(s, section, f"{_MERC}.rela{code.text.name}", _text_relocs(w, code, m))
    if w.m.lineinfo:
        _lines(w, s)
    for code in w.codes:
        if code.bank0_early and code.bank0 is not None:
            name = f"{_MERC}.rela.nv.constant.entry_image_header_indices.{code.kernel.name}"
            _rela(s, s.image[code.bank0.name], name, _handle_relocs(w, code))
    for code, m in zip(w.codes, s.mercury, strict=True):
        if code.bank2 is not None:
            name = f"{_MERC}.rela.nv.constant.optimizer.{code.kernel.name}"
            _rela(s, s.image[code.bank2.name], name, _table_relocs(w, code, m))
    if w.bank4 is not None:
        slots = [
            OutReloc(x.offset, _M_DESCRIPTOR if x.descriptor else M_64, w.symbol(x.symbol, ".nv.constant4"), x.addend)
            for x in w.m.bank4
        ]
        _rela(s, s.image[w.bank4.name], f"{_MERC}.rela.nv.constant.pic", slots)
    for plain, space, name in ((w.bank3, "const", "nv.constant.user"), (w.global_init, "global", "nv.global.init")):
        if plain is not None:
            _rela(s, s.image[plain.name], f"{_MERC}.rela.{name}", _value_relocs(w, space))
    _rela(s, s.frame, f"{_MERC}.rela.debug_frame", _frames(w, s))
    host: list[OutSection] = []
    if w.host is not None:
        host.append(OutSection(f"{_MERC}{w.host.name}", w.host.type, _FLAG, w.host.align))
        host[0].data = w.host.data
    out = [*s.capsules, s.frame, *s.lines, s.info, *s.infos, *host, *(r for r, _ in s.relocs), *copies, s.symtab]
    for section in out:
        w.b.section_names.add(section.name)
    return s, out


def fill_capsules(w: Work, s: CapsuleSections, strtab: OutSection, records: list[Record]) -> None:
    """Fill in the contents, when sections and symbols have numbers; `records`: those of ``.nv.info``."""
    s.symtab.link = strtab
    s.info.data = nvinfo.encode(records)
    for section, code, m in zip(s.capsules, w.codes, s.mercury, strict=True):
        section.data = capsule_bytes(m.items, code.text.index)
    for info, code, m in zip(s.infos, w.codes, s.mercury, strict=True):
        info.data = nvinfo.encode(_records(w, code, m))
    for out, relocs in s.relocs:
        out.data = b"".join(_entry(r) for r in reversed(relocs))
    s.symtab.data = _symbols(w, s)
    s.symtab.info = len(w.b.local_symbols)


def prove(data: bytes) -> None:
    """Raise CubinError unless our reader understands every capsule of a finished cubin, and each function has one."""
    file = elf.ElfFile(data)
    texts = sorted(x.name for x in file.sections if x.name.startswith(".text."))
    found = sorted(c.text for c in capsules(file))
    if texts != found:
        raise CubinError(f"functions {texts}, but capsules of {found}")


def _refuse(w: Work) -> None:
    if not w.codes:
        raise NoCapsule("the module has no code")
    if any(_has_constants(c) for c in w.codes):
        raise NoCapsule("the Mercury form of constants of the compiler is not known")
    if w.uft_entries is not None or w.udt is not None:
        raise NoCapsule("the Mercury form of unified functions and variables is not known")


def _pointer_bytes(code: Code) -> int:
    """Bytes of the table of function pointers, with its first entry."""
    return _POINTER * (1 + len(code.kernel.pointers)) if code.kernel.pointers else 0


def _has_constants(code: Code) -> bool:
    """True if constant bank 2 holds more than function pointers and tables of branch targets."""
    tables = 4 * sum(len(b.targets) for b in code.kernel.branch_targets)
    return len(code.kernel.const2) != _pointer_bytes(code) + tables


def _handles_at(code: Code) -> int:
    """Offset in constant bank 0 of the first handle that the loader places; the end of the bank if there is none."""
    return min((r.offset for r in code.kernel.texture_relocs), default=_BANK_END)


def _slots(w: Work, code: Code) -> HandleSlots | None:
    """The handles of textures, samplers and surfaces that a function reads; None for none."""
    names = {v.name for v in w.m.variables if v.space in REFERENCE_TYPES}
    names |= {p.symbol for c in w.codes for p in c.kernel.params if p.symbol}
    loads = {r.offset for r in code.kernel.relocs if r.type == R_CONST_FIELD21_38 and r.symbol in names}
    start = _handles_at(code)
    return HandleSlots(start, loads) if loads or start < _BANK_END else None


def _read_back(code: Code, m: Mercury) -> None:
    """NoCapsule if our reader does not read the same items out of the bytes of a capsule."""
    data = capsule_bytes(m.items, 0)
    try:
        items, end = parse_items(data, len(m.items), code.text.name)
    except CubinError as e:
        raise NoCapsule(str(e)) from e
    same = all(
        (a.kind, a.first, a.words, a.code) == (b.kind, b.first, b.words, b.code)
        for a, b in zip(items, m.items, strict=True)
    )
    if end != len(data) or not same or sum(i.words for i in items) * _WORD != len(code.text.data):
        raise NoCapsule(f"the capsule of {code.text.name} does not read back")


def _refuse_offsets(w: Work, code: Code) -> None:
    """NoCapsule if the function has code offsets (in records, too) whose Mercury form is not known."""
    k = code.kernel
    for what, found in (
        ("distances in code", k.relative_addresses),
        ("an empty relocation section", w.m.relocatable and not code.relocs and (k.relocs or k.relocs_applied)),
        ("relative return addresses in objects", w.m.relocatable and bool(k.addresses)),
    ):
        if found:
            raise NoCapsule(f"the Mercury form of {what} is not known")


def _copies(w: Work, s: CapsuleSections) -> list[OutSection]:
    """Copies of sections with data, and of reserved shared memory."""
    out: list[OutSection] = []
    for code in w.codes:
        if code.bank2 is not None:
            first = code.kernel.const2[:_POINTER] if code.kernel.pointers else b""
            data = first + bytes(len(code.kernel.const2) - len(first))
            out.append(_bank_copy(s, code, code.bank2, "optimizer", _SHT_CONSTANT_OPTIMIZER, data))
        if code.bank0_early and code.bank0 is not None:
            data = bytes(len(code.bank0.data) - _handles_at(code))
            out.append(_bank_copy(s, code, code.bank0, "entry_image_header_indices", _SHT_CONSTANT_IMAGES, data))
    pic = ("nv.constant.pic", _SHT_CONSTANT_PIC)
    user = ("nv.constant.user", _SHT_CONSTANT_USER)
    kinds = [(bank, pic if bank is w.bank4 else user) for bank in shared_banks(w)]
    for plain, name, type_, flags in (
        *((bank, name, type_, elf.SHF_ALLOC) for bank, (name, type_) in kinds),
        (w.global_init, "nv.global.init", elf.SHT_CUDA_GLOBAL_INIT, elf.SHF_ALLOC | elf.SHF_WRITE),
        (w.reserved, "nv.shared.reserved.0", elf.SHT_CUDA_SHARED_RESERVED, elf.SHF_ALLOC | elf.SHF_WRITE),
    ):
        if plain is None:
            continue
        copy = OutSection(f"{_MERC}.{name}", type_, _FLAG | flags, plain.align)
        copy.data, copy.size = _without_offsets(w, plain), plain.size
        if plain is w.reserved and not w.m.linked:
            copy.size -= w.facts.reserved_offset
        s.image[plain.name] = copy
        out.append(copy)
    return out


def _without_offsets(w: Work, plain: OutSection) -> bytes:
    """The bytes of a section with initial values, with zeros for the offsets of functions."""
    spaces = {"global": w.global_init, "const": w.bank3}
    found = [(v, f) for v in w.m.variables for f in v.functions if spaces.get(v.space) is plain]
    if not found:
        return plain.data
    data = bytearray(plain.data)
    for v, f in found:
        size = _POINTER if f.type == _POINTER else 1
        data[v.offset + f.offset : v.offset + f.offset + size] = bytes(size)
    return bytes(data)


def _bank_copy(s: CapsuleSections, code: Code, bank: OutSection, kind: str, type_: int, data: bytes) -> OutSection:
    """The copy of a constant bank of a kernel."""
    name = f"{_MERC}.nv.constant.{kind}.{code.kernel.name}"
    copy = OutSection(name, type_, _FLAG | elf.SHF_ALLOC | elf.SHF_INFO_LINK, bank.align)
    copy.info_section = s.image[code.text.name]
    copy.data = data
    s.image[bank.name] = copy
    return copy


def _rela(s: CapsuleSections, of: OutSection, name: str, relocs: list[OutReloc]) -> None:
    if relocs:
        out = OutSection(name, _SHT_RELA, _FLAG | elf.SHF_INFO_LINK, 8, elf.RELA_SIZE)
        out.link, out.info_section = s.symtab, of
        s.relocs.append((out, relocs))


def _entry(r: OutReloc) -> bytes:
    return (
        r.offset.to_bytes(8, "little")
        + (r.symbol.index << 32 | r.type).to_bytes(8, "little")
        + r.addend.to_bytes(8, "little", signed=True)
    )


def _place(m: Mercury, offset: int) -> int:
    """The Mercury offset of a code offset, in bytes."""
    return m.offsets[offset // _WORD] * _UNIT


def _text_relocs(w: Work, code: Code, m: Mercury) -> list[OutReloc]:
    """The relocations of a capsule: those of the code, and in executables the return addresses that are filled in there."""
    out: list[OutReloc] = []
    own = {code.symbol.name, code.text.name, *(s.name for s in code.kernel.subs)}
    names = {c.symbol.name for c in w.codes} | {c.text.name for c in w.codes}
    for r in code.kernel.relocs:
        word = r.offset // _WORD
        last = (m.offsets[word + 1] - 1) * _UNIT
        if r.symbol in own and r.type in _CODE_TYPES:
            out.append(OutReloc(last + _IMMEDIATE, _CODE_TYPES[r.type], code.symbol, _place(m, r.addend)))
        elif r.type == R_ABS56_16_34 or (
            r.type in CALL_RELOCS and (r.symbol in names or r.symbol in code.kernel.externs)
        ):
            out.append(OutReloc(last + _WIDE_IMMEDIATE, M_64, w.symbol(r.symbol, code.text.name), r.addend))
        elif r.type in _FUNCTION_TYPES:
            types = _FUNCTION_TYPES if w.m.relocatable else _FUNCTION_TYPES | _EXECUTABLE_TYPES
            out.append(OutReloc(last + _IMMEDIATE, types[r.type], w.symbol(r.symbol, code.text.name), r.addend))
        elif r.type in _DATA_TYPES and (r.symbol not in names or (w.m.own_sections and r.symbol not in own)):
            out.append(OutReloc(last + _IMMEDIATE, _DATA_TYPES[r.type], w.symbol(r.symbol, code.text.name), r.addend))
        else:
            raise NoCapsule(f"the Mercury form of a relocation of type {r.type} against {r.symbol} is not known")
    for offset in code.kernel.shared_windows if RESERVED_CAP in w.symbols and not w.m.relocatable else ():
        place = (m.offsets[offset // _WORD + 1] - 1) * _UNIT + _IMMEDIATE
        out.append(OutReloc(place, M_32, w.symbols[RESERVED_CAP]))
    for offset, target in code.kernel.addresses:
        last = (m.offsets[offset // _WORD + 1] - 1) * _UNIT
        out.append(OutReloc(last + _IMMEDIATE, M_CODE, code.symbol, _place(m, target)))
    return sorted(out, key=lambda r: r.offset)


def _table_relocs(w: Work, code: Code, m: Mercury) -> list[OutReloc]:
    """Those of the table of function pointers and of the tables of branch targets, in a section of zeros."""
    start = _pointer_bytes(code)
    functions = [
        OutReloc(_POINTER * (k + 1), _M_OFFSET, w.symbol(name, code.text.name))
        for k, name in enumerate(code.kernel.pointers)
    ]
    targets = [t for b in code.kernel.branch_targets for t in b.targets]
    tables = [OutReloc(start + 4 * k, M_CODE, code.symbol, _place(m, t)) for k, t in enumerate(targets)]
    return functions[::-1] + tables


def _handle_relocs(w: Work, code: Code) -> list[OutReloc]:
    """Those of the handles of textures, samplers and surfaces."""
    start, relocs = _handles_at(code), code.kernel.texture_relocs
    return [OutReloc(r.offset - start, _HANDLE_TYPES[r.type], w.symbol(r.symbol, code.text.name)) for r in relocs]


def _value_relocs(w: Work, space: str) -> list[OutReloc]:
    """Those of the initial values in a space."""
    out: list[OutReloc] = []
    for v in w.m.variables:
        for r in v.relocs if v.space == space else ():
            if r.type not in _VALUE_TYPES:
                raise NoCapsule(f"the Mercury form of a relocation of type {r.type} in {v.name} is not known")
            out.append(OutReloc(v.offset + r.offset, _VALUE_TYPES[r.type], w.symbol(r.symbol, v.name), r.addend))
        for f in v.functions if v.space == space else ():
            type_ = _M_OFFSET if f.type == _POINTER else _M_OFFSET_BYTE + f.type
            out.append(OutReloc(v.offset + f.offset, type_, w.symbol(f.symbol, v.name), f.addend))
    return sorted(out, key=lambda r: r.offset)


def _lines(w: Work, s: CapsuleSections) -> None:
    """The Mercury twins of the line tables and debug sections, and a copy of the PTX text."""
    at = {c.text.name: m for c, m in zip(w.codes, s.mercury, strict=True)}
    for plain in w.line_sections:
        copy = OutSection(f"{_MERC}{plain.name}", elf.SHT_PROGBITS, _FLAG, 1)
        s.lines.append(copy)
        s.image[plain.name] = copy
        copy.data, relocs = twin(w, plain, lambda code, offset: _place(at[code.text.name], offset))
        _rela(s, copy, f"{_MERC}.rela{plain.name}", relocs)


def _frames(w: Work, s: CapsuleSections) -> list[OutReloc]:
    """Fill ``.nv.merc.debug_frame``; returns its relocations."""
    writer = FrameWriter(1)
    out: list[OutReloc] = []
    for code, m in zip(w.codes, s.mercury, strict=True):
        k = code.kernel
        done = len(writer.relocs)
        first = min([x.offset for x in k.subs if not x.alias], default=len(code.text.data))
        writer.add(
            _moved(frame_of(k.frame, k.frame_size), m, 0),
            0,
            _place(m, first),
            k.is_entry,
            w.m.own_sections,
            w.m.relocatable,
            w.m.debug,
        )
        for sub in (x for x in k.subs if not x.alias):
            frame = _moved(frame_of(sub.frame, sub.frame_size), m, sub.offset)
            start = _place(m, sub.offset)
            size = _place(m, sub.offset + sub.size) - start
            writer.add(frame, start, size, False, w.m.own_sections, w.m.relocatable, False)
        parts = writer.relocs[done:]
        for r in [p for p in parts if p.in_cie] + [p for p in parts if not p.in_cie]:
            symbol = w.symbols[".debug_frame"] if r.kind == "cie" else code.symbol
            type_ = {"cie": M_64, "size": _M_FRAME_SIZE}.get(r.kind, M_FRAME_CODE)
            out.append(OutReloc(r.offset, type_, symbol, r.addend))
    s.frame.data = bytes(writer.data)
    return out


def _moved(frame: FrameInfo, m: Mercury, start: int) -> FrameInfo:
    """A frame whose rows hold from Mercury offsets on."""
    out = FrameInfo()
    out.return_reg, out.same = frame.return_reg, frame.same
    for row in frame.rows:
        moved = FrameRow(_place(m, start + row.offset) - _place(m, start), row.op, row.reg, row.value)
        moved.advance = row.advance
        out.rows.append(moved)
    return out


def _records(w: Work, code: Code, m: Mercury) -> list[Record]:
    """The records of ``.nv.merc.nv.info.<function>``."""
    index = {name: x.index for name, x in w.symbols.items()}
    left_out = {
        nvinfo.CBANK_PARAM_SIZE,
        nvinfo.PARAM_CBANK,
        nvinfo.SW_WAR,
        nvinfo.BINDLESS_TEXTURE_BANK,
        nvinfo.BINDLESS_SURFACE_BANK,
    }
    out: list[Record] = []
    for r in kernel_records(code.kernel, w.facts, index, 0, w.param_base(code.kernel)):
        if r.code in left_out:
            continue
        if r.code == nvinfo.INDIRECT_BRANCH_TARGETS:
            out.append(nvinfo.sval(r.code, _branches(code, m)))
        elif r.code == nvinfo.ANNOTATIONS:
            words = r.words()
            spills = 2 * len(nvinfo.notes_of(words)[0])
            out.append(nvinfo.sval(r.code, [_place(m, x) if i < spills and i % 2 else x for i, x in enumerate(words)]))
        elif r.code in _OFFSETS:
            words, group = r.words(), _OFFSETS[r.code]
            out.append(nvinfo.sval(r.code, [x if i % group else _place(m, x) for i, x in enumerate(words)]))
        else:
            out.append(r)
        if r.code == nvinfo.CUDA_API_VERSION:
            payload = finalizer_options(w.m.opt_level, w.m.linked or w.m.uses_texture_query, w.m.lineinfo, w.m.debug)
            out.append(Record(nvinfo.MERCURY_FINALIZER_OPTIONS, nvinfo.SVAL, 0, payload))
    return out


def _branches(code: Code, m: Mercury) -> list[int]:
    """The words of INDIRECT_BRANCH_TARGETS with Mercury offsets."""
    out: list[int] = []
    for b in code.kernel.branch_targets:
        out += [_place(m, b.offset), 0, len(b.targets), *(_place(m, t) for t in b.targets)]
    return out


def _symbols(w: Work, s: CapsuleSections) -> bytes:
    """The symbols without those of constant bank 0, about the Mercury sections."""
    out = bytearray()
    at = {c.text.name: m for c, m in zip(w.codes, s.mercury, strict=True)}
    variables = {v.name: v for k in w.codes for v in k.kernel.shared} | {v.name: v for v in w.m.variables}
    for x in [*w.b.local_symbols, *w.b.global_symbols]:
        section = x.section
        name, type_, other, value, size = x.name, x.type, x.other, x.value, x.size
        if section is not None:
            image = s.image.get(section.name)
            if x.type == elf.STT_FUNC and section.name in at:
                m = at[section.name]
                value, end = _place(m, x.value), _place(m, min(x.value + x.size, len(m.offsets) * _WORD - _WORD))
                size = end - value
            elif section is w.reserved and not w.m.relocatable:
                type_ = elf.STT_CUDA_OBJECT if x.type == elf.STT_OBJECT else x.type
                other = 0 if x.type == elf.STT_SECTION else _RESERVED
                value = x.value if w.m.extensible else 0
            elif x.type == elf.STT_OBJECT and x.name in variables:
                type_, other = elf.STT_CUDA_OBJECT, other | _OTHER[variables[x.name].space]
                if variables[x.name].space == "shared" and not w.m.relocatable:
                    value -= w.facts.system_shared
            elif x.type == elf.STT_SECTION and image is not None and image.name.startswith(f"{_MERC}.nv.constant"):
                name = image.name.removeprefix(_MERC)
            if image is not None:
                section = image
        elif name.startswith(".nv.reservedSmem"):
            value = 0
        index = section.index if section is not None else elf.SHN_COMMON if x.common else 0
        out += w.b.symbol_names.add(name).to_bytes(4, "little")
        out += bytes((x.bind << 4 | type_, other)) + index.to_bytes(2, "little")
        out += value.to_bytes(8, "little") + size.to_bytes(8, "little")
    return bytes(out)
