"""The two notes and ``.nv.compat``: the tool, its version and options, and the required features.

Source: ``docs/facts/cubin.md``, "Notes and compatibility".
"""

from struct import pack
from typing import Final

from orias.cubin.elf_values import CUDA_API_VERSION, CubinFacts
from orias.cubin.model import CubinModule

_OWNER: Final = b"NVIDIA Corp\0"
"""Name field of both notes, by which readers find them."""


def _note(type_: int, payload: bytes) -> bytes:
    return pack("<III", len(_OWNER), len(payload), type_) + _OWNER + payload + bytes(-len(payload) % 4)


def cuinfo(module: CubinModule) -> bytes:
    """CUDA note: virtual architecture of the PTX, and the toolkit's version."""
    return _note(1000, pack("<HHI", 2, module.ptx_sm, CUDA_API_VERSION))


def tkinfo(module: CubinModule) -> bytes:
    """Tool note: object name, tool, version, build and options."""
    strings = bytearray()
    offsets: list[int] = []
    for text in (module.object_name, module.tool, module.tool_version, module.tool_build, module.options):
        offsets.append(len(strings))
        strings += text.encode("utf-8") + b"\0"
    body = pack("<6I", 2, *offsets) + strings
    return _note(2000, body + bytes(-len(body) % 4))


def _compat_class(module: CubinModule, facts: CubinFacts) -> int:
    """What record 11 says about the code: 0 if there is none."""
    if not module.kernels:
        return 0
    return facts.compat_class & ~(facts.compat_paced if module.paced else 0)


def compat(module: CubinModule, facts: CubinFacts) -> bytes:
    """``.nv.compat`` of sm_90 and later, in the record form of ``.nv.info``."""
    return b"".join(
        (
            pack("<BBH", 2, 9, 1 if facts.accelerator else 0),
            pack("<BBH", 2, 2, module.isa_class),
            pack("<BBH", 2, 5, 5),
            pack("<BBH", 3, 7, 0x0101),
            pack("<BBH", 2, 3, module.tensor_map),
            pack("<BBH", 2, 6, 1),
            pack("<BBH", 4, 11, 8),
            _compat_class(module, facts).to_bytes(8, "little"),
        )
    )
