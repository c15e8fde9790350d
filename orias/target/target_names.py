"""Names of targets, and PTX versions.

The module holds plain data only and imports nothing, to keep the start of the command line fast.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

COMPILED: "Final[tuple[str, ...]]" = (
    "75", "80", "86", "87", "88", "89", "90", "90a",
    "100", "100a", "100f", "103", "103a", "103f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
)  # fmt: skip
"""Targets that programs can be compiled for."""
TENSOR_MEMORY: "Final[tuple[str, ...]]" = ("100a", "100f", "103a", "103f", "110a", "110f")
"""Targets with tensor memory."""
RENAMED: "Final[dict[int, int]]" = {101: 110}
"""SM number in older tools -> current SM number."""

FIRST_VERSION: "Final[dict[str, str]]" = {
    "10 11": "1.0", "12 13": "1.2", "20 21": "2.0", "30": "3.0", "35": "3.1", "32 50": "4.0", "37 52": "4.1",
    "53": "4.2", "60 61 62": "5.0", "70": "5.1", "72": "6.1", "82": "6.2", "75": "6.3", "80": "7.0", "86": "7.1",
    "88": "7.3", "87": "7.4", "89 90": "7.8", "90a": "8.0", "100 100a 101 101a": "8.6", "120 120a": "8.7",
    "100f 101f 120f 103 103a 103f 121 121a 121f": "8.8", "110 110a 110f": "9.0",
}  # fmt: skip
"""Names of PTX's ``.target`` (without ``sm_``) -> first PTX version that has them."""
FAMILIES: "Final[tuple[tuple[int, ...], ...]]" = ((100, 103), (101, 110), (120, 121))
"""Groups of SMs that run each other's family-specific code (suffix f)."""
PTX_VERSIONS: "Final[tuple[tuple[int, int], ...]]" = (
    (1, 5), (2, 3), (3, 2), (4, 3), (5, 1), (6, 5), (7, 8), (8, 8), (9, 5),
)  # fmt: skip
"""Major PTX versions, each with its last minor version."""
RELEASES: "Final[dict[str, tuple[str, tuple[int, int]]]]" = {
    "13.0": ("V13.0.88", (9, 0)), "13.1": ("V13.1.115", (9, 1)), "13.2": ("V13.2.86", (9, 2)),
    "13.3": ("V13.3.73", (9, 3)), "13.4": ("V13.4.92", (9, 4)), "13.5": ("V13.5.37", (9, 5)),
}  # fmt: skip
"""Releases of the CUDA compiler tools that Orias can stand for: full version, newest PTX version."""
NEWEST_RELEASE: "Final" = "13.5"
