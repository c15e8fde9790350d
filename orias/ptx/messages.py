"""What ptxas says about a modifier word that an instruction does not take, and about one that is missing.

Asked of ptxas 13.0.88: every modifier word behind sixty instructions.
"""

from typing import Final

from orias.ptx.ast import TYPE_WORDS, Sig
from orias.ptx.gates import Place, messages
from orias.ptx.names import FLAGS, SLOT_OF

SPACES: Final = frozenset(
    ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func")
)
NAME_PARTS: Final = frozenset(
    [
        "arrive",
        "base",
        "c",
        "cvt",
        "d",
        "expect_tx",
        "fractional",
        "full",
        "grad",
        "l",
        "level",
        "mask",
        "noalias",
        "p",
        "parity",
        "proxy",
        "range",
        "red",
        "scaled::n2::ue8m0",
        "to",
        "wide",
        "ws",
    ]
)
"""Words that only exist as parts of instruction names; elsewhere they are unknown."""

_TWICE: Final = frozenset(
    [
        "L1",
        "L2",
        "async",
        "ca",
        "cg",
        "cluster",
        "cs",
        "cta",
        "cv",
        "gl",
        "gpu",
        "lu",
        "sp::ordered_metadata",
        "sys",
        "tensormap",
        "wb",
        "wt",
    ]
)
_PERMUTE: Final = frozenset(["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
_CLAMP: Final = frozenset(["clamp", "wrap", "trap", "zero"])
_QUERY: Final = frozenset(
    [
        "width",
        "height",
        "depth",
        "channel_data_type",
        "channel_order",
        "normalized_coords",
        "filter_mode",
        "addr_mode_0",
        "addr_mode_1",
        "addr_mode_2",
        "array_size",
        "num_mipmap_levels",
        "num_samples",
        "memory_layout",
        "force_unnormalized_coords",
    ]
)
_BLACKWELL: Final = (
    "cp_mask", "get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "is_canceled",
)  # fmt: skip
_ARCH: Final = frozenset(["pack::16b", "unpack::16b", "warpx2::01_23", "warpx2::02_13", "warpx4"])
_FAMILY_WORDS: Final = frozenset(
    [
        "128x128b",
        "128x256b",
        "16x128b",
        "16x256b",
        "16x32bx2",
        "16x64b",
        "32x128b",
        "32x32b",
        "4x256b",
        "64x128b",
        "ashift",
        "block16",
        "block32",
        "block_scale",
        "kind::f16",
        "kind::f8f6f4",
        "kind::i8",
        "kind::mxf4",
        "kind::mxf4nvf4",
        "kind::mxf8f6f4",
        "kind::tf32",
        "scale_vec::1X",
        "scale_vec::2X",
        "scale_vec::4X",
        "rs",
    ]
)
_FLOAT_CMP: Final = frozenset(["equ", "geu", "gtu", "hi", "hs", "leu", "lo", "ls", "ltu", "nan", "neu", "num"])


def illegal(
    word: str, slot: str, name: str, allowed: frozenset[str], types: tuple[str, ...], place: Place
) -> list[str]:
    """Messages for a word that is not among ``allowed``; ``place`` says what the module declares."""
    plain = f"Illegal modifier '.{word}' for instruction '{name}'"
    if word in SPACES:
        if allowed & SPACES:
            return [f"State space incorrect for instruction '{name}'"]
        return [f"No state space qualifier expected for instruction '{name}'"]
    if slot == "cmp" or word in ("lo", "hi"):
        mismatch = "Mismatch between instruction type and comparison qualifier"
        if any(SLOT_OF.get(w) == "cmp" for w in allowed):
            return [mismatch]
        first = f"Comparison qualifier is not allowed for instruction '{name}'"
        return [first, mismatch] if word in _FLOAT_CMP else [first]
    if slot == "rnd" and word not in ("approx", "rs"):
        return [f"Illegal rounding modifier for instruction '{name}'"]
    if slot == "vec":
        first = f"Vector qualifier is not allowed for instruction '{name}'"
        if types:
            return [first, "Result vector expected", f"Argument vector size mismatch for instruction '{name}'"]
        return [first]
    if word in ("inc", "dec", "exch"):
        return [f"Illegal reduction operation for instruction '{'.'.join((name, *types[:2]))}'"]
    if word in _PERMUTE:
        return [f"Illegal modifier 'Permute' for instruction '{name}'"]
    if slot == "dim":
        if word in ("1d", "2d", "3d", "4d", "5d"):
            return [f"Illegal modifier 'dimension' for instruction '{name}'"]
        second = f"Illegal modifier 'Multi-sample geometry' for instruction '{name}'" if "ms" in word else plain
        return [f"Illegal modifier 'Geometry' for instruction '{name}'", second]
    if word in _CLAMP:
        return [f"Illegal modifier 'Clamp' for instruction '{name}'"] * 2
    if word in ("shr7", "shr15"):
        return [f"Illegal modifier 'Shift-right' for instruction '{name}'"]
    if word in ("r", "g", "b", "a"):
        return [f"Illegal modifier 'Component' for instruction '{name}'"]
    if word in ("row", "col"):
        return [f"Illegal modifier '.alayout or .blayout' for instruction '{name}'"]
    if word in _QUERY:
        return [f"Illegal query modifier for instruction '{name}'"] * (1 if word == "memory_layout" else 2)
    if slot in ("evict", "evict2"):
        return [
            f"Illegal modifier '.level::eviction_priority' for instruction '{name}'",
            f"Illegal modifier '.{word.partition('::')[2]}' for instruction '{name}'",
        ]
    if word == "mmio":
        return ["Modifier '.mmio' cannot be applied to '' space", plain]
    if word in ("abs", "xorsign"):
        other = "xorsign" if word == "abs" else "abs"
        return [plain, f"Modifier '.{word}' requires modifier '.{other}'"]
    if word in _TWICE:
        return [plain, plain]
    target = place.target
    special = place.special and place.sm >= 100
    if word == "rs":
        found = [plain] if special else [plain, f"Feature '.rs' not supported on .target '{target}'"]
        if any(SLOT_OF.get(w) == "rnd" for w in allowed):
            return found
        return [f"Illegal rounding modifier for instruction '{name}'", *found]
    if word in _BLACKWELL:
        return [*messages(f"F100 Fv8.6 : .{word}", place, name, types), plain]
    if word in _ARCH:
        return [f"{plain}, for arch '{target}'", plain]
    if word in _FAMILY_WORDS or word.startswith("collector::"):
        if special:
            return [plain]
        return [f"Feature '.{word}' not supported on .target '{target}'", plain]
    return [plain]


def missing(name: str, group: tuple[str, ...]) -> str:
    """The message for a required group of which no word is there."""
    first = group[0]
    slot = SLOT_OF.get(first, "shape")
    if slot == "rnd":
        if group == ("approx",):
            return f"'.approx' modifier required for instruction '{name}'"
        if "approx" in group:
            return f"Rounding modifier or '.approx' modifier required for instruction '{name}'"
        return f"Rounding modifier required for instruction '{name}'"
    if slot == "cmp":
        return f"Comparison modifier required for instruction '{name}'"
    if slot in FLAGS:
        return f".{first} modifier required for instruction '{name}'"
    if slot == "op":
        return f"Reduction operation is required for instruction '{name}'"
    if name == "membar":
        return "Membar level required for instruction 'membar'"
    if name == "griddepcontrol":
        return "'.launch_dependents' or '.wait' modifier required for instruction 'griddepcontrol'"
    if name in ("fence.proxy", "membar.proxy"):
        return f".proxykind modifier required for instruction '{name}'"
    return f".{first} modifier required for instruction '{name}'"


def without_sync(name: str, place: Place) -> list[str]:
    """The warnings for shfl and vote without .sync, where they are still accepted."""
    found = [f"Instruction '{name}' without '.sync' may produce unpredictable results on sm_70 and later architectures"]
    if place.version >= 60:
        found.append(
            f"Instruction '{name}' without '.sync' is deprecated since PTX ISA version 6.0 and will be discontinued"
            " in a future PTX ISA version"
        )
    return found


def advisories(name: str, sig: Sig, words: list[str], place: Place) -> list[tuple[str, str]]:
    """Severity and text of what ptxas remarks about an accepted opcode."""
    found: list[tuple[str, str]] = []
    slow = "expected to have substantially reduced performance on some future architectures"
    if sig.mods.get("sp") == "sp" and name == "mma":
        found.append(
            (
                "info",
                "Advisory: Modifier '.sp::ordered_metadata' should be used on instruction 'mma' instead of modifier"
                f" '.sp' as it is {slow}",
            )
        )
    if "multicast" in sig.mods and name in ("cp.async.bulk", "cp.async.bulk.tensor") and not place.special:
        found.append(
            (
                "warning",
                "Advisory: '.multicast::cluster' modifier on instruction 'cp.async.bulk{.tensor}' should be used on"
                " .target 'sm_90a/sm_100a/sm_100f/sm_103a/sm_103f/sm_110a/sm_110f' instead of .target"
                f" '{place.target}' as this feature is {slow}",
            )
        )
    for i, word in enumerate(words):
        if SLOT_OF.get(word) == "vec" and i + 1 < len(words) and words[i + 1] not in TYPE_WORDS:
            found.append(("warning", "Vector Type not specified properly"))
    return found


def conversion_errors(slots: dict[str, str], types: tuple[str, ...]) -> list[str]:
    """What is wrong between the modifiers of cvt."""
    found: list[str] = []
    rnd = slots.get("rnd", "")
    if "relu" in slots and "sat" in slots:
        found.append("Modifier '.relu' cannot be combined with modifier '.sat'")
    if "satfinite" in slots and "sat" in slots:
        found.append("Modifier '.satfinite' cannot be combined with modifier '.sat'")
    if rnd == "rna" and "relu" in slots:
        found.append("Modifier '.relu' cannot be combined with modifier '.rna'")
        found.append("Illegal rounding modifier for instruction 'cvt'")
    if rnd in ("rm", "rp") and types[0] != "ue8m0x2":
        if "satfinite" in slots:
            found.append(f"Modifier '.satfinite' cannot be combined with modifier '.{rnd}'")
        if "relu" in slots:
            found.append("Illegal rounding modifier for instruction 'cvt'")
    return found
