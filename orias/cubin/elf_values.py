"""The cubin facts of each target: its values of the table of targets in one object, and the padding of code.

Source: ``docs/facts/cubin.md``, "Attributes"; the padding words are those of the measured files.
"""

from typing import Final, final

from orias.target import features
from orias.target.profile import Target

CUDA_API_VERSION: Final = 130
"""CUDA 13.0, in ``.nv.info`` and the CUDA note."""

DRIVER_SIZES: Final[dict[tuple[str, bool], str]] = {
    ("texture", False): ".nv.unified.texrefDescSize", ("texture", True): ".nv.independent.texrefDescSize",
    ("sampler", True): ".nv.independent.samplerrefDescSize",
    ("surface", False): ".nv.surfrefDescSize", ("surface", True): ".nv.surfrefDescSize",
}  # fmt: skip
"""(table of descriptors, independent mode) -> the undefined symbol whose value, from the driver, is a descriptor's size in bytes."""
CONSTANT_SIZE: Final = ".nv.ptx.const0.size"
"""The undefined symbol of an object whose value, from the linker, is the number of bytes of the module's constant variables."""

_NOP: Final = bytes.fromhex("18790000000000000000000000c00f00")


@final
class CubinFacts:
    """The values of a target that the writer needs often; see :mod:`orias.target.vocabulary` and :mod:`orias.target.features`.

    ``accelerator``: the suffix is ``a``; ``sw_war``: -1 without that record; ``sm_flags``: the SM as encoded in
    e_flags; ``reserved_size``: bytes of ``.nv.shared.reserved.0``, of which ``reserved_variable`` has those from
    ``reserved_offset`` on.
    """

    __slots__ = (
        "accelerator",
        "addends_in_relocations",
        "compat_class",
        "compat_section",
        "compat_paced",
        "mercury_isa",
        "mercury_layout",
        "reserved_offset",
        "reserved_size",
        "reserved_variable",
        "sm_flags",
        "split_segments",
        "stop_branch",
        "sw2861232_war",
        "sw_war",
        "system_shared",
        "text_padding",
    )

    def __init__(self, target: Target) -> None:
        sm = target.sm
        self.sm_flags: int = sm << 8
        self.accelerator: bool = target.suffix == "a"
        self.addends_in_relocations: bool = target.has(features.ADDENDS_IN_RELOCATIONS)
        self.split_segments: bool = target.has(features.SPLIT_SEGMENTS)
        self.compat_section: bool = target.has(features.COMPAT_SECTION)
        self.compat_class: int = target.number("compat_class") if self.compat_section else 0
        self.compat_paced: int = target.number("compat_paced") if self.compat_section else 0
        self.mercury_layout: bool = target.has(features.MERCURY_LAYOUT)
        self.reserved_size: int = target.number("reserved_section") if self.split_segments else 0
        self.reserved_offset: int = target.number("reserved_offset") if self.split_segments else 0
        self.reserved_variable: str = target.spelling("reserved_variable")
        self.sw_war: int = target.number("sw_war") if target.has_number("sw_war") else -1
        self.sw2861232_war: bool = target.has(features.SW2861232_WAR)
        self.mercury_isa: int = target.number("mercury_isa")
        self.system_shared: int = target.number("system_shared")
        self.text_padding: int = target.number("text_padding")
        self.stop_branch: bytes = bytes.fromhex(target.spelling("stop_branch"))


def pad_code(code: bytes, facts: CubinFacts) -> bytes:
    """A whole ``.text`` section: the code, a branch to itself that stops instruction prefetch, and NOPs."""
    out = code + facts.stop_branch
    return out + _NOP * ((-len(out) % 128 + facts.text_padding) // 16)
