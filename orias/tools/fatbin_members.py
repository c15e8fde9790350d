"""The cubins and PTX texts in a file, with the names and headings of ``cuobjdump``.

A member of a fat binary is named after its source file, or after the host file with its number among those of its kind.
"""

from collections.abc import Sequence
from typing import Final, final

from orias.cubin.elf import ElfFile
from orias.cubin.fatbin import KIND_CUBIN, KIND_PTX, FatEntry, cubins, entries
from orias.tools.cubin_target import target_name

_KINDS: Final = {KIND_CUBIN: ("elf", "cubin"), KIND_PTX: ("ptx", "ptx")}
"""Kind of an entry -> its name in headings, the ending of its file name."""
_NAMELESS: Final = "x"
"""What the names of code sections of a cubin without a source file begin with."""
_LINUX: Final = 1 << 4
_64_BIT: Final = 1 << 0


@final
class Member:
    """One cubin or PTX text: the bytes, the target, the file name for it, and what is printed before a dump of it."""

    __slots__ = ("data", "heading", "name", "options", "ptx", "source", "target")

    def __init__(
        self,
        data: bytes,
        target: str,
        name: str,
        source: str,
        ptx: bool = False,
        heading: str = "",
        options: str = "",
    ) -> None:
        self.data: Final[bytes] = data
        self.target: Final[str] = target
        self.name: Final[str] = name
        self.source: Final[str] = source
        """The start of the names of its code sections."""
        self.ptx: Final[bool] = ptx
        self.heading: Final[str] = heading
        self.options: Final[str] = options
        """The options for ptxas, of PTX."""


def members(file_name: str, data: bytes) -> Sequence[Member]:
    """The members of a file, in file order; of a cubin, itself.  CubinError if there is none, or one is damaged.

    `file_name`: without folders.
    """
    stem = file_name.rpartition(".")[0] or file_name
    found = (
        [e for e in entries(data) if e.kind in _KINDS] if data[:4] != b"\x7fELF" or data[18:20] != b"\xbe\x00" else []
    )
    if not found:
        ((_, image),) = cubins(data)
        target = target_name(ElfFile(image))
        return [Member(image, target, f"{stem}.{target}.cubin", stem)]
    counts = dict.fromkeys(_KINDS, 0)
    out: list[Member] = []
    for e in found:
        counts[e.kind] += 1
        source = e.name.rpartition("/")[2]
        own = source.rpartition(".")[0] or source or f"{stem}.{counts[e.kind]}"
        payload = e.data()
        if e.kind == KIND_PTX:
            payload = payload.rstrip(b"\0")
        name = f"{own}.{e.target}.{_KINDS[e.kind][1]}"
        text_source = source.rpartition(".")[0] or source or _NAMELESS
        out.append(Member(payload, e.target, name, text_source, e.kind == KIND_PTX, _heading(e), e.options))
    return out


def _heading(e: FatEntry) -> str:
    """The lines about an entry of a fat binary."""
    lines = ["", f"Fatbin {_KINDS[e.kind][0]} code:", "================", f"arch = {e.target}"]
    lines.append(f"code version = [{e.version[0]},{e.version[1]}]")
    if e.flags & _LINUX:
        lines.append("host = linux")
    lines.append(f"compile_size = {64 if e.flags & _64_BIT else 32}bit")
    if e.compressed:
        lines.append("compressed")
    if e.name:
        lines.append(f"identifier = {e.name}")
    if e.kind == KIND_PTX:
        lines.append(f"ptxasOptions = {e.options}")
    return "\n".join(lines) + "\n"
