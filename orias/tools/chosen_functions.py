"""A cubin reduced to the code of some functions, for ``nvdisasm -fun``."""

from struct import pack_into, unpack_from

from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import SHF_EXECINSTR, ElfFile


def only_functions(data: bytes, symbols: list[int]) -> bytes:
    """The cubin with the code sections of these symbols (indices of the symbol table) only: the others are no code any more.

    Raises CubinError for an index without a symbol.
    """
    file = ElfFile(data)
    for index in symbols:
        if not 0 <= index < len(file.symbols):
            raise CubinError(f"No symbol with index {index}")
    kept = {file.symbols[index].section for index in symbols}
    out = bytearray(data)
    (table,) = unpack_from("<Q", data, 40)
    (size,) = unpack_from("<H", data, 58)
    for s in file.sections:
        if s.flags & SHF_EXECINSTR and s.index not in kept:
            pack_into("<Q", out, table + s.index * size + 8, s.flags & ~SHF_EXECINSTR)
    return bytes(out)
