"""The driver's descriptors of textures, samplers and surfaces, which txq and suq read.

Constant bank 0 has the addresses of three tables.  A handle is a row number; the driver writes the size of a row into
the code.  Source: the code that ptxas 13.0.88 generates for txq and suq (sm_75, sm_80, sm_90).
"""

from typing import Final

TABLES: Final[dict[str, int]] = {"texture": 0, "sampler": 8, "surface": 16}
"""Table -> offset of its address from the word ``texture_headers`` of constant bank 0."""
HANDLE_KINDS: Final[dict[str, int]] = {"texref": 1 << 29, "samplerref": 1 << 30, "surfref": 1 << 31}
"""Kind -> the bit that marks it in the upper word of a handle (ptxas 13.0.88)."""
_UNIFIED: Final[dict[str, tuple[str, int]]] = {
    "force_unnormalized_coords": ("texture", 0x00), "memory_layout": ("texture", 0x00), "addr_mode_0": ("texture", 0x0C),
    "addr_mode_1": ("texture", 0x10), "addr_mode_2": ("texture", 0x14), "filter_mode": ("texture", 0x18),
    "normalized_coords": ("texture", 0x1C), "channel_data_type": ("texture", 0x20), "channel_order": ("texture", 0x24),
    "array_size": ("texture", 0x28), "num_mipmap_levels": ("texture", 0x2C), "num_samples": ("texture", 0x30),
}  # fmt: skip
_INDEPENDENT: Final[dict[str, tuple[str, int]]] = {
    "addr_mode_0": ("sampler", 0x00), "memory_layout": ("sampler", 0x00), "addr_mode_1": ("sampler", 0x04),
    "addr_mode_2": ("sampler", 0x08), "filter_mode": ("sampler", 0x0C), "force_unnormalized_coords": ("sampler", 0x10),
    "normalized_coords": ("texture", 0x0C), "channel_data_type": ("texture", 0x10), "channel_order": ("texture", 0x14),
    "array_size": ("texture", 0x18), "num_mipmap_levels": ("texture", 0x1C), "num_samples": ("texture", 0x20),
}  # fmt: skip
_SURFACE: Final[dict[str, tuple[str, int]]] = {
    "channel_data_type": ("surface", 0x0C), "channel_order": ("surface", 0x10), "memory_layout": ("surface", 0x14),
    "array_size": ("surface", 0x1C),
}  # fmt: skip


def rows(surface: bool, independent: bool) -> dict[str, tuple[str, int]]:
    """Query -> (table, offset in the descriptor)."""
    return _SURFACE if surface else _INDEPENDENT if independent else _UNIFIED
