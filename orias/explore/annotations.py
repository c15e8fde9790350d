"""The remarks that ``-annotate --remarks`` has written into a cubin."""

from typing import Final

from orias.cubin import nvinfo
from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import ANNOTATIONS
from orias.ori.decisions import Decision, read_annotation

_OF_FUNCTION: Final = 3
"""Kind of an annotation that is a text about the function."""


def annotated(file: ElfFile, kernel: str) -> list[Decision]:
    """What the annotations of a kernel say; empty without any."""
    info = file.section(f".nv.info.{kernel}")
    out: list[Decision] = []
    for record in nvinfo.decode(info.data, info.name) if info is not None else ():
        data = record.payload
        if record.code == ANNOTATIONS and int.from_bytes(data[:4], "little") == _OF_FUNCTION:
            size = int.from_bytes(data[4:8], "little")
            out += read_annotation(data[8 : 8 + size].rstrip(b"\0").decode("utf-8", "replace"))
    return out
