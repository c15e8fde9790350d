"""PTX versions and .target names, and the architectures that each target compiles for.

Facts: docs/facts/front-end.md (versions and targets).
"""

from typing import Final

from orias.target import target_names


def newest_of(release: str) -> tuple[int, int]:
    """The newest PTX version of a release of the CUDA compiler tools; "" is the newest release."""
    return target_names.RELEASES[release or target_names.NEWEST_RELEASE][1]


VERSIONS: Final[frozenset[tuple[int, int]]] = frozenset(
    (major, minor) for major, last in target_names.PTX_VERSIONS for minor in range(last + 1)
)
NEWEST: Final = target_names.PTX_VERSIONS[-1]

FIRST_VERSION: Final[dict[str, tuple[int, int]]] = {
    name: (int(version[0]), int(version[2]))
    for several, version in target_names.FIRST_VERSION.items()
    for name in several.split()
}
"""Number (with suffix) of a target -> first PTX version that has it."""

_FAMILY: Final[dict[int, int]] = {sm: k for k, family in enumerate(target_names.FAMILIES) for sm in family}


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


def canonical(target: str) -> str:
    """A target as ptxas 13.0.88 reads it: its number without zeros before it, and a last ``a`` or ``f``; ``sm_080x`` is ``sm_80``."""
    prefix, _, rest = target.partition("_")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    number = digits.lstrip("0")
    mark = rest[-1:] if rest[-1:] in ("a", "f") else ""
    return f"{prefix}_{number}{mark}"


def reaches(number: int, first: int) -> bool:
    """Whether a ``.target`` is sm_<first> or higher, in the order of PTX."""
    return number >= first


GROUPS: Final[dict[str, str]] = {
    "NEW": "100af/103af/110af/120af/121af",
    "TENSOR": "100af/103af/110af",
    "BYTES": "100af/103af/110af/120a/121a",
}
"""Lists of targets that many gates use: every one with a suffix from sm_100 on; with tensor memory; with narrow multimem sums."""

_lists: Final[dict[str, frozenset[str]]] = {}


def listed(target: str, text: str) -> bool:
    """Whether a target is in a list such as ``100af/110a``; ``90`` alone means sm_90 and higher."""
    found = suffix_of(target)
    number = number_of(found)
    if text.isdigit():
        return reaches(number, int(text))
    members = _lists.get(text)
    if members is None:
        items = [item for part in text.split("/") for item in GROUPS.get(part, part).split("/")]
        members = frozenset([f"{number_of(item)}{mark}" for item in items for mark in item.lstrip("0123456789")])
        _lists[text] = members
    return f"{target_names.RENAMED.get(number, number)}{found[-1:]}" in members


def refusal(target: str, arch: str) -> str:
    """The reason why a module with .target ``target`` cannot be compiled for ``arch`` (like ``sm_90a``); "" if it can."""
    wanted = suffix_of(target)
    have = arch.partition("_")[2]
    low = number_of(wanted)
    high = number_of(have)
    if high < low:
        return "SM version specified by .target is higher than default SM version assumed"
    if wanted.endswith("a"):
        if have.endswith("a") and target_names.RENAMED.get(low, low) == target_names.RENAMED.get(high, high):
            return ""
        if target_names.RENAMED.get(low, low) == high:
            return f"PTX with .target '{target}' cannot be compiled for architecture '{arch}'"
        return f"Program with .target '{target}' cannot be compiled to future architecture"
    if wanted.endswith("f") and _FAMILY.get(low, -1) != _FAMILY.get(high, -2):
        return f"Program with .target '{target}' cannot be compiled to different SM-family architecture"
    return ""
