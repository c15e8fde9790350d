"""Bytes that ptxas writes into cubins for no known reason; the writer copies them so that whole files compare equal.

Source: files of ptxas 13.0.88.
"""

from typing import Final

from orias.cubin.model import KernelCode

REL_ACTION: Final = bytes.fromhex("73000000000000000000001125000536")
"""The contents of section ``.nv.rel.action`` in every measured file."""
_PHENTSIZE: Final = 0x36
"""Offset of e_phentsize in the ELF header."""
_NAME_GAP: Final = 14
_NAME_GAP_KERNEL: Final = 18


def bytes_after_section_names(kernels: list[KernelCode]) -> int:
    """Number of unused bytes after ``.shstrtab`` on sm_90: a constant, plus a constant and the name length per kernel."""
    return _NAME_GAP + sum(_NAME_GAP_KERNEL + len(k.name) for k in kernels if k.is_entry)


def clear_program_header_size(data: bytearray) -> None:
    """Set e_phentsize to 0, as in relocatable objects of sm_90, which have no program headers."""
    data[_PHENTSIZE : _PHENTSIZE + 2] = bytes(2)
