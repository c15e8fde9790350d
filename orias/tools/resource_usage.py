"""What the functions of a cubin use, in the form of ``cuobjdump -res-usage``.  Sizes are those of the sections, in bytes."""

from orias.cubin import nvinfo
from orias.cubin.elf import ElfFile
from orias.cubin.reader import Reader
from orias.tools.labels import code_sections

_SLOTS = " TEXTURE:0 SURFACE:0 SAMPLER:0"
"""Slots of bound textures, surfaces and samplers: SMs from sm_75 on have none."""


def resource_usage(data: bytes) -> str:
    """The text for one cubin; CubinError if the file is no cubin."""
    reader = Reader(data)
    file = reader.elf
    stack, registers = _by_symbol(file, nvinfo.MIN_STACK_SIZE), _by_symbol(file, nvinfo.REGCOUNT)
    common = f"GLOBAL:{_size(file, '.nv.global') + _size(file, '.nv.global.init')}"
    for s in file.sections:
        bank = s.name.removeprefix(".nv.constant")
        if bank != s.name and bank.isdecimal():
            common += f" CONSTANT[{bank}]:{s.size}"
    out = f"\nResource usage:\n Common:\n  {common}"
    for text in code_sections(file):
        name = text.name.removeprefix(".text.")
        shared = _size(file, f".nv.shared.{name}")
        out += f"\n Function {name}:\n  REG:{registers.get(name, text.info >> 24)} STACK:{stack.get(name, 0)}"
        out += f" SHARED:{shared} LOCAL:{_size(file, f'.nv.local.{name}')}"
        for s in file.sections:
            bank = s.name.removeprefix(".nv.constant").removesuffix(f".{name}")
            if bank.isdecimal() and s.name == f".nv.constant{bank}.{name}":
                out += f" CONSTANT[{bank}]:{s.size}"
        out += _SLOTS
    return out + "\n"


def _size(file: ElfFile, name: str) -> int:
    section = file.section(name)
    return section.size if section is not None else 0


def _by_symbol(file: ElfFile, code: int) -> dict[str, int]:
    """A word that ``.nv.info`` has for functions, by name."""
    section = file.section(".nv.info")
    found: dict[str, int] = {}
    if section is not None:
        for r in nvinfo.decode(bytes(section.data)):
            if r.code == code and len(r.words()) == 2:
                symbol, value = r.words()
                found[file.symbol_name(symbol, ".nv.info")] = value
    return found
