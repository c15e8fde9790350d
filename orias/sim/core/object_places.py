"""Where the variables of a relocatable object lie in a run without a linker.

A linker gives each kernel the shared variables that it reaches; here every kernel has all of the object's.
"""

from typing import Final

from orias.cubin import elf
from orias.cubin.elf import ElfFile, Symbol
from orias.cubin.reader import Reader

_SPACE: Final = 0xE0
_SHARED: Final = 0x40
_DYNAMIC_ALIGN: Final = 16
_MOST: Final = 1 << 20
"""More bytes of shared memory than any target has."""
_RESERVED_START: Final = ".nv.reservedSmem.offset0"
_RESERVED_SECTION: Final = ".nv.shared.reserved"
"""Beginning of the names of sections of the system's variables."""


def shared_places(file: ElfFile) -> tuple[dict[int, int], int]:
    """(place of each shared variable, by index of its symbol; bytes of all), after the part that the system reserves.

    Code adds the size of that part to a place, except for the system's own variables, which lie in it.  A shared
    variable's symbol has its alignment as value.  Arrays of dynamic size begin where all others end.  IndexError or
    ValueError if the file is not well-formed.
    """
    objects = [s for s in file.symbols if s.type == elf.STT_CUDA_OBJECT]
    reserved = [s for s in objects if s.section and file.section_name(s).startswith(_RESERVED_SECTION)]
    variables = [s for s in objects if s.other & _SPACE == _SHARED]
    start = next((s.value for s in file.symbols if s.name == _RESERVED_START), 0)
    places, _ = _placed(reserved, start)
    others, at = _placed([s for s in variables if s.section], 0)
    at = -(-at // _DYNAMIC_ALIGN) * _DYNAMIC_ALIGN
    return {**places, **others, **{s.index: at for s in variables if not s.section}}, at


def _placed(variables: list[Symbol], at: int) -> tuple[dict[int, int], int]:
    """The places of variables from `at` on, by index of their symbols, and their end."""
    places: dict[int, int] = {}
    for s in variables:
        align = max(s.value, 1)
        places[s.index] = at = -(-at // align) * align
        at += s.size
        if at > _MOST:
            raise ValueError(f"variables in shared memory end at byte {at}")
    return places, at


def frame_bytes(reader: Reader) -> int:
    """Stack bytes of all functions, at most one call of each deep; kernels may have functions within their code."""
    codes = [*reader.kernels.values(), *reader.functions.values()]
    return sum(f.frame_size for f in reader.functions.values()) + sum(s.frame_size for k in codes for s in k.subs)
