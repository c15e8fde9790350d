"""What a compiler notes about a function and its instructions in the attribute ANNOTATIONS (measured: ptxas 13.0.88 ``-annotate``)."""

from orias.cubin.elf import ElfFile, Section
from orias.cubin.nvinfo import ANNOTATIONS, notes_of
from orias.cubin.nvinfo import decode as decode_info


def annotations_of(file: ElfFile, section: Section) -> tuple[list[int], list[str]]:
    """The byte addresses of spills and reloads of a code section, and the texts on its function; notes of other kinds end the reading."""
    spills: list[int] = []
    texts: list[str] = []
    info = file.section(".nv.info." + section.name.removeprefix(".text."))
    for record in decode_info(info.data, info.name) if info is not None else ():
        if record.code == ANNOTATIONS:
            own, said = notes_of(record.words())
            spills += own
            texts += said
    return spills, texts
