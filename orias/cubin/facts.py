"""What the cubin of each target has of its own: attribute values, code padding.

Source: ``target_facts.csv`` (ptxas 13.0.88); the instruction words are the padding of those files.
"""

from typing import Final, final

CUDA_API_VERSION: Final = 130
"""CUDA 13.0, in ``.nv.info`` and the CUDA note."""

DRIVER_SIZES: Final[dict[tuple[str, bool], str]] = {
    ("texture", False): ".nv.unified.texrefDescSize", ("texture", True): ".nv.independent.texrefDescSize",
    ("sampler", True): ".nv.independent.samplerrefDescSize",
    ("surface", False): ".nv.surfrefDescSize", ("surface", True): ".nv.surfrefDescSize",
}  # fmt: skip
"""(table of descriptors, independent mode) -> the undefined symbol that the driver gives a descriptor's size in bytes."""

_NOP: Final = bytes.fromhex("18790000000000000000000000c00f00")
_BRA_SELF_75: Final = bytes.fromhex("47790000f0ffffffffff830300c00f00")
_BRA_SELF_90: Final = bytes.fromhex("4779fc00fcffffffffff830300c00f00")


@final
class CubinFacts:
    """Facts of one target.

    ``sw_war``: value of the SW_WAR record (-1: none); ``war2861232``: entries carry that record; ``mercury_isa``: value of
    MERCURY_ISA_VERSION; ``gen90``: the file layout of sm_90 and later; ``pad_extra``: NOP bytes behind the padding to 128.
    """

    __slots__ = ("accelerator", "bra_self", "gen90", "mercury_isa", "nop", "pad_extra", "sm", "sw_war", "war2861232")

    def __init__(self, sm: int, accelerator: bool) -> None:
        self.sm: int = sm
        self.accelerator: bool = accelerator
        self.gen90: bool = sm >= 90
        self.sw_war: int = {75: 1, 87: 2, 90: 8}.get(sm, -1)
        self.war2861232: bool = sm in (80, 86, 87, 88)
        self.mercury_isa: int = 0x101 if self.gen90 else 0
        self.pad_extra: int = 0 if sm == 75 else 128
        self.nop: bytes = _NOP
        self.bra_self: bytes = _BRA_SELF_90 if self.gen90 else _BRA_SELF_75


def pad_code(code: bytes, facts: CubinFacts) -> bytes:
    """A whole ``.text`` section: the code, a branch to itself that stops instruction prefetch, and NOPs."""
    out = code + facts.bra_self
    return out + facts.nop * ((-len(out) % 128 + facts.pad_extra) // 16)
