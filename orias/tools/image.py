"""What a cubin is for: its SM and target name."""

from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import decode as decode_info

_COMPAT_ACCELERATED = 9
_SUFFIXES = {1: "a", 2: "f"}


def sm_number(file: ElfFile) -> int:
    """The SM number in the header (its place changed with ABI version 8, CUDA 13)."""
    return file.flags >> 8 & 0xFFFF if file.abi_version >= 8 else file.flags & 0xFF


def target_name(file: ElfFile) -> str:
    """The target such as ``sm_90a``; the suffix comes from ``.nv.compat``."""
    compat = file.section(".nv.compat")
    suffix = ""
    if compat is not None:
        for r in decode_info(compat.data, compat.name):
            if r.code == _COMPAT_ACCELERATED:
                suffix = _SUFFIXES.get(r.value, "")
    return f"sm_{sm_number(file)}{suffix}"
