"""PTX versions and .target names, and which target compiles for which architecture (front-end inventory 2.1).

Asked of ptxas 13.0.88 for every pair of .target and -arch.
"""

from typing import Final

VERSIONS: Final[frozenset[tuple[int, int]]] = frozenset(
    (major, minor)
    for major, last in ((1, 5), (2, 3), (3, 2), (4, 3), (5, 1), (6, 5), (7, 8), (8, 8), (9, 0))
    for minor in range(last + 1)
)
NEWEST: Final = "9.0"

_FIRST: Final[dict[str, str]] = {
    "10 11": "1.0", "12 13": "1.2", "20 21": "2.0", "30": "3.0", "35": "3.1", "32 50": "4.0", "37 52": "4.1",
    "53": "4.2", "60 61 62": "5.0", "70": "5.1", "72": "6.1", "82": "6.2", "75": "6.3", "80": "7.0", "86": "7.1",
    "88": "7.3", "87": "7.4", "89 90": "7.8", "90a": "8.0", "100 100a 101 101a": "8.6", "120 120a": "8.7",
    "100f 101f 120f 103 103a 103f 121 121a 121f": "8.8", "110 110a 110f": "9.0",
}  # fmt: skip

FIRST_VERSION: Final[dict[str, tuple[int, int]]] = {
    name: (int(version[0]), int(version[2])) for names, version in _FIRST.items() for name in names.split()
}
"""Number (with suffix) of a target -> first PTX version that knows it."""

_FAMILY: Final[dict[int, int]] = {100: 1, 103: 1, 101: 2, 110: 2, 120: 3, 121: 3}


def suffix_of(target: str) -> str:
    """``sm_90a`` or ``compute_90a`` -> ``90a``; "" if it is no such name."""
    for prefix in ("sm_", "compute_"):
        if target.startswith(prefix):
            return target[len(prefix) :]
    return ""


def number_of(suffix: str) -> int:
    """``90a`` -> 90."""
    digits = suffix.rstrip("af")
    return int(digits) if digits.isdigit() else 0


def refusal(target: str, arch: str) -> str:
    """Why a module with .target ``target`` cannot be compiled for ``arch`` (both like ``sm_90a``); "" if it can."""
    wanted = suffix_of(target)
    have = suffix_of(arch)
    low = number_of(wanted)
    high = number_of(have)
    if high < low:
        return "SM version specified by .target is higher than default SM version assumed"
    if wanted.endswith("a"):
        if wanted == have or (wanted, have) in (("101a", "110a"), ("110a", "101a")):
            return ""
        if high == low:
            return f"PTX with .target '{target}' cannot be compiled for architecture '{arch}'"
        return f"Program with .target '{target}' cannot be compiled to future architecture"
    if wanted.endswith("f") and _FAMILY.get(low, 0) != _FAMILY.get(high, -1):
        return f"Program with .target '{target}' cannot be compiled to different SM-family architecture"
    return ""
