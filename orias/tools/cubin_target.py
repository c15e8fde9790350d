"""The SM and the target name of a cubin."""

from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import decode as decode_info

_FLAGS = (
    (0x100, "EF_CUDA_TEXMODE_UNIFIED"),
    (0x200, "EF_CUDA_TEXMODE_INDEPENDENT"),
    (0x400, "EF_CUDA_64BIT_ADDRESS"),
    (0x800, "EF_CUDA_ACCELERATORS"),
)
_COMPAT_ACCELERATED = 9
_OF_PTX = 26
"""Offset in the note .note.nv.cuinfo of the SM that the PTX was written for."""
_SUFFIXES = {1: "a", 2: "f"}


def header_flags(file: ElfFile) -> str:
    """The line of a listing by ``cuobjdump`` that names the SM and that of the PTX."""
    note = file.section(".note.nv.cuinfo")
    of_ptx = int.from_bytes(note.data[_OF_PTX : _OF_PTX + 2], "little") if note is not None else file.flags >> 16 & 0xFF
    names = ["EF_CUDA_ACCELERATORS"] if target_name(file).endswith("a") else []
    names += [f"EF_CUDA_SM{file.sm}", f"EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{of_ptx})"]
    return f'\t.headerflags\t@"{" ".join(names)}"'


def header_lines(file: ElfFile) -> str:
    """The first lines of a listing: the target or, for files of CUDA 12 and earlier, the header flags by name."""
    if not file.is_old:
        return f"\t.target\t{target_name(file)}\n"
    names = [name for bit, name in _FLAGS if file.flags & bit]
    names.append(f"EF_CUDA_SM{file.flags & 0xFF}")
    names.append(f"EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{file.flags >> 16 & 0xFF})")
    return f'\t.headerflags\t@"{" ".join(names)}"'


def target_name(file: ElfFile) -> str:
    """The target such as ``sm_90a``; the suffix comes from ``.nv.compat``."""
    compat = file.section(".nv.compat")
    suffix = "a" if file.is_old and file.flags & 0x800 else ""
    if compat is not None:
        for r in decode_info(compat.data, compat.name):
            if r.code == _COMPAT_ACCELERATED:
                suffix = _SUFFIXES.get(r.value, "")
    return f"sm_{file.sm}{suffix}"
