"""The Mercury twins of line tables and debug sections: what in them is an offset in code becomes a Mercury offset.

Source: ``docs/facts/capsules.md``, "Other sections".
"""

from collections.abc import Callable
from typing import Final

from orias.cubin import elf
from orias.cubin.capsule.capsule_writer import NoCapsule
from orias.cubin.lineread import DEBUG_LINE, PTX_LINE
from orias.cubin.put_debug import line_program
from orias.cubin.relocs import R_32, R_64, R_G64
from orias.cubin.section_builder import OutReloc, OutSection
from orias.cubin.work import Code, Work

REGISTERS: Final = ".nv_debug_info_reg_sass"
M_G64: Final = 0x10001
M_64: Final = 0x10002
M_32: Final = 0x10003
M_CODE: Final = 0x10008
M_FRAME_CODE: Final = 0x1003D

Place = Callable[[Code, int], int]
"""The Mercury offset of an offset in the code of a function, in bytes."""


def twin(w: Work, plain: OutSection, place: Place) -> tuple[bytes, list[OutReloc]]:
    """The bytes of the Mercury twin of a line table or debug section, and its relocations."""
    if plain.name in (DEBUG_LINE, PTX_LINE):
        program, owners = line_program(w, plain.name == PTX_LINE, place)
        return program.data(), [OutReloc(x, M_64, owner) for x, owner in zip(program.addresses, owners, strict=True)]
    if plain.name == REGISTERS:
        return _registers(w, plain.data, place), []
    return plain.data, _given_relocs(w, plain.name, place)


def _given_relocs(w: Work, name: str, place: Place) -> list[OutReloc]:
    """Those of a debug section of the module: addresses of functions and variables, offsets in other sections."""
    codes = {c.symbol.name: c for c in w.codes}
    out: list[OutReloc] = []
    for d in w.m.sections:
        for r in d.relocs if d.name == name else ():
            symbol = w.symbol(r.symbol, name)
            if r.type == R_64 and r.symbol in codes:
                out.append(OutReloc(r.offset, M_FRAME_CODE, symbol, place(codes[r.symbol], r.addend)))
            elif r.type in (R_64, R_G64):
                out.append(OutReloc(r.offset, M_64 if r.type == R_64 else M_G64, symbol, r.addend))
            elif r.type == R_32 and symbol.type == elf.STT_SECTION:
                out.append(OutReloc(r.offset, M_CODE if r.symbol == DEBUG_LINE else M_32, symbol, r.addend))
            else:
                raise NoCapsule(f"the Mercury form of a relocation of type {r.type} in {name} is not known")
    return sorted(out, key=lambda r: r.offset)


def _registers(w: Work, data: bytes, place: Place) -> bytes:
    """The table of registers: per function its name and number of rows, per row word, name, register, first and last offset."""
    codes = {c.symbol.name: c for c in w.codes}
    out = bytearray()
    at = 0
    while at < len(data):
        end = data.index(0, at)
        code = codes[data[at:end].decode()]
        rows = int.from_bytes(data[end + 1 : end + 5], "little")
        out += data[at : end + 5]
        at = end + 5
        for _ in range(rows):
            end = data.index(0, at + 4) + 5
            out += data[at:end]
            for k in (end, end + 4):
                out += place(code, int.from_bytes(data[k : k + 4], "little")).to_bytes(4, "little")
            at = end + 8
    return bytes(out)
