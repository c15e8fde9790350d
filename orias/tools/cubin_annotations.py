"""What a compiler notes about a function and its instructions in the attribute ANNOTATIONS (measured: ptxas 13.0.88 ``-annotate``)."""

from struct import unpack_from
from typing import Final

from orias.cubin.elf import ElfFile, Section
from orias.cubin.nvinfo import ANNOTATIONS
from orias.cubin.nvinfo import decode as decode_info

_SPILL: Final = 1
"""Kind of a note: a spill or its reload; its word is the byte address."""
_FUNCTION: Final = 3
"""Kind of a note on the function: length in bytes, text with its zero byte, padded to a word."""
_WORD: Final = 4


def annotations_of(file: ElfFile, section: Section) -> tuple[list[int], list[str]]:
    """The byte addresses of spills and reloads of a code section, and the texts on its function; notes of other kinds end the reading."""
    spills: list[int] = []
    texts: list[str] = []
    info = file.section(".nv.info." + section.name.removeprefix(".text."))
    for record in decode_info(info.data, info.name) if info is not None else ():
        data = b"".join(w.to_bytes(_WORD, "little") for w in record.words()) if record.code == ANNOTATIONS else b""
        at = 0
        while at + 2 * _WORD <= len(data):
            kind, value = unpack_from("<II", data, at)
            at += 2 * _WORD
            if kind == _SPILL:
                spills.append(value)
            elif kind == _FUNCTION:
                texts.append(data[at : at + value].rstrip(b"\0").decode("utf-8", "replace"))
                at += -(-value // _WORD) * _WORD
            else:
                break
    return spills, texts
