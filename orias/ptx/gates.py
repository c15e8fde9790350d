"""Version and target gates: the first PTX ISA version and target that have a word, a form or a combination.

A gate has conditions in the order of ptxas's messages, then the name of the feature::

    F90 Fv8.0 : cp.async.bulk

``F90`` means ``Feature 'cp.async.bulk' requires .target sm_90 or higher``; ``Fv8.0``:
``Feature ... requires PTX ISA .version 8.0 or later``; ``M`` and ``I`` mean Modifier and Instruction instead of
Feature.  ``N100af/110a`` and ``n100af/110a``: ``Instruction`` or ``Feature ... not supported on .target``, for every
target but sm_100a, sm_100f and sm_110a; ``N90``: for targets below sm_90; ``X``: ``Illegal modifier ..., for arch``.  :data:`orias.ptx.targets.GROUPS` has names
for lists of targets.  In names ``{n}`` is the instruction, ``{t0}`` its first type, ``{t}`` all its types.  Commas
separate several gates; a gate without a name is about the instruction.  The gate of an instruction is in its form row,
gates that depend on modifiers are in the ``GATES`` and ``LAST`` of the ``forms_*`` modules; this module has the gates of
words and directives.

Facts: docs/facts/front-end.md (first versions and targets).
"""

from typing import Final, final

from orias.ptx.targets import listed, reaches

_KINDS: Final = {"F": "Feature", "M": "Modifier", "I": "Instruction", "N": "Instruction", "n": "Feature"}


@final
class Place:
    """What a module declares: PTX version times 10, SM number, target name."""

    __slots__ = ("facts", "sm", "target", "version")

    def __init__(self, version: int, sm: int, target: str) -> None:
        self.version: Final[int] = version
        self.sm: Final[int] = sm
        self.target: Final[str] = target
        self.facts: Final[dict[str, str]] = {"isa": str(version), "sm": str(sm), "target": target}
        """The same facts, as strings for rules."""

    def reaches(self, first: int) -> bool:
        """Whether the target is sm_<first> or higher."""
        return reaches(self.sm, first)


def fill(text: str, facts: dict[str, str]) -> str:
    """Fill in the facts that a text names in braces; ``{evict.tail}`` is the part of a fact after its ``::``."""
    if "{" not in text:
        return text
    first, *pieces = text.split("{")
    done = [first]
    for piece in pieces:
        key, _, rest = piece.partition("}")
        tail = key.removesuffix(".tail")
        value = facts.get(tail, "")
        done.append(value if tail == key else value.partition("::")[2])
        done.append(rest)
    return "".join(done)


def messages(gates: str, place: Place, facts: dict[str, str]) -> list[str]:
    """The messages of the conditions in ``gates`` that ``place`` does not meet; ``facts`` of the instruction, for the names."""
    result: list[str] = []
    for gate in gates.split(", "):
        conditions, _, label = gate.partition(" : ")
        for condition in conditions.split():
            text = _unmet(condition, place)
            if text:
                result.append(text.replace("?", fill(label, facts) if label else facts["n"], 1))
    return result


def _unmet(condition: str, place: Place) -> str:
    """The message of one condition, with ``?`` in place of the name; empty if ``place`` meets it."""
    kind = condition[0]
    if kind in "NnX":
        if listed(place.target, condition[1:]):
            return ""
        if kind == "X":
            return f"Illegal modifier '?', for arch '{place.target}'"
        return f"{_KINDS[kind]} '?' not supported on .target '{place.target}'"
    if condition[1] == "v":
        major, _, minor = condition[2:].partition(".")
        if place.version >= int(major) * 10 + int(minor):
            return ""
        return f"{_KINDS[kind]} '?' requires PTX ISA .version {condition[2:]} or later"
    if place.reaches(int(condition[1:])):
        return ""
    return f"{_KINDS[kind]} '?' requires .target sm_{condition[1:]} or higher"


DIRECTIVES: Final[dict[str, str]] = {
    "language": "Fv9.2 : .language",
    "reqntid": "Fv2.1 : .reqntid directive",
    **{word: f"Fv7.8 F90 : .{word}" for word in ("reqnctapercluster", "explicitcluster", "maxclusterrank")},
    "blocksareclusters": "Fv9.0 F90 : .blocksareclusters",
    "noreturn": "Fv6.4 F30 : .noreturn",
    "abi_preserve": "Fv9.0 F80 : .abi_preserve",
    "abi_preserve_control": "Fv9.0 F80 : .abi_preserve_control",
    "local_maxnreg": "Fv8.8 : .local_maxnreg",
    "ptr": "Fv2.2 : kernel parameter pointer attribute",
    "weak": "Fv3.1 : .weak directive",
    "common": "Fv5.0 : .common directive",
    "alias": "Fv6.3 F30 : .alias",
    "callprototype": "Fv2.1 : .callprototype directive",
    "calltargets": "Fv2.1 : .calltargets directive",
    "indirect call": "Fv2.1 : indirect call",
    "branchtargets": "Fv6.0 F30 : .branchtargets directive",
    "generic": "Fv3.1 : generic() operator",
    "mask": "Fv7.1 : mask operator in initializer",
    "number": "Fv7.2 : Integer immediate in mask operator",
    "address": "Fv2.1 : addresses as initial values",
    "managed": "Fv4.0 : .attribute, F30 : .managed",
    "unified": "Fv8.0 F90 : .unified",
    "unsized": "F30 Fv6.0 : Unsized Array Parameter",
    "timestamp": "Fv3.2 : timestamp and filesize in .file directive",
    "inlined_at": "Fv7.0 : Line information of inline functions",
    "section_label": "Fv7.0 : Defining labels in .section",
    "section_difference": "Fv7.5 : labels1 - labels2 expression in .section",
    "section_negative": "Fv7.5 : Negative numbers in dwarf section",
    "b128": "Fv8.3 F70 : Type .b128",
    "opaque": "Fv1.5 : opaque type",
    "f16x2": "F53 Fv4.2 : .f16x2 packed data-type",
}
"""Gates of directives, attributes and declared types."""

_ORDER: Final = ("relaxed", "acquire", "release", "acq_rel", "sc")
_COLLECTED: Final = ("fill", "use", "lastuse", "discard")
_PRODUCTS: Final[dict[str, str]] = {
    "kind::f16 kind::tf32 ashift": "Fv8.6 nTENSOR",
    " ".join(f"collector::{x}::{what}" for x in ("a", "b0", "b1", "b2", "b3") for what in _COLLECTED): "Fv8.6 nTENSOR",
    "kind::i8": "Fv8.6 n100a/110a",
    "kind::f8f6f4 kind::mxf4 kind::mxf8f6f4 block_scale": "Fv8.6 nNEW",
    "kind::mxf4nvf4": "Fv8.7 nNEW",
    "scale_vec::1X scale_vec::2X scale_vec::4X": "Fv8.6 n100a/103a/110a/120af/121af",
    "block16 block32": "Fv8.8 nTENSOR",
}

PRODUCT_WORDS: Final[dict[str, str]] = {
    word: f"{gate} : .{word}" for words, gate in _PRODUCTS.items() for word in words.split()
}
"""Gates of the words of matrix products, reported with any instruction."""
_SHAPES: Final = [
    "16x64b",
    "16x128b",
    "16x256b",
    "32x32b",
    "16x32bx2",
    "4x256b",
    "128x256b",
    "64x128b",
    "128x128b",
    "32x128b",
]
_CANCELLED: Final = ("is_canceled", *(f"get_first_ctaid{axis}" for axis in ("", "::x", "::y", "::z")))

EARLY: Final[dict[str, str]] = {
    "aligned": "Fv6.0 : .aligned",
    "bf16": "F80 Fv7.0 : .bf16",
    "bf16x2": "F75 : .bf16x2, F80 Fv7.0 : .bf16x2",
    "tf32": "F80 Fv7.0 : .tf32",
    "s4": "F75 Fv6.3 : .s4",
    "u4": "F75 Fv6.3 : .u4",
    "b1": "F75 Fv6.3 : .b1",
    **{word: f"Fv8.6 : .{word}" for word in ("alloc", "cp", "dealloc", "ld", "mma", "shift", "st")},
    "read": "M90 Mv8.0 : .read",
    "sp::ordered_metadata": "Fv8.5 F80 : .sp::ordered_metadata",
    "relu": "Fv7.0 : .relu",
    "NaN": "Fv7.0 : .NaN",
    "satfinite": "Fv6.0 F70 : .satfinite",
    "oob": "M90 Fv8.1 : .oob",
    "async": "M90 Mv8.0 : .async",
    "alias": "M60 Mv7.5 : .alias",
    "wait": "M90 Mv7.8 : .wait",
    "launch_dependents": "M90 Mv7.8 : .launch_dependents",
    "abs": "F86 Fv7.2 : .abs",
    "mmio": "Fv8.2 F70 : .mmio",
    **{word: f"Fv8.6 F100 : .{word}" for word in _CANCELLED},
    "param::entry": "Fv8.3 : ::entry",
    "param::func": "Fv8.3 : ::func",
    "tensormap": "M90 Mv8.0 : .tensormap",
    "m16n16": "nNEW Mv8.6 : .m16n16",
    "m8n16": "nNEW Mv8.6 : .m8n16",
    "m16n8": "nNEW Mv8.6 : .m16n8",
    **{word: f"nTENSOR Mv8.6 : .{word}" for word in _SHAPES},
}
"""Gates of words, reported before those of the instruction."""

LATE: Final[dict[str, str]] = {
    "NaN": "M80 : .NaN",
    "xorsign": "Fv7.2 M86 : .xorsign",
    "relu": "Fv7.0 M80 : .relu",
    "mbarrier_init": "F90 Fv8.0 : .op_restrict, Mv8.0 M90 : .mbarrier_init",
    "sync_restrict::shared::cta": "F90 Fv8.6 : .sync_restrict",
    "sync_restrict::shared::cluster": "F90 Fv8.6 : .sync_restrict",
    **{word: f"Fv6.0 F70 : .{word}" for word in _ORDER},
    "weak": "F70 : .weak, F70 : .weak",
    "cluster": "F90 Fv7.8 : .cluster scope",
    "shared::cta": "Fv7.8 : ::cta",
    "shared::cluster": "Fv7.8 F90 : ::cluster",
    "L2::cache_hint": "M80 Mv7.4 : .L2::cache_hint",
    "tile": "F90 Fv8.0 : .tile",
    "im2col": "F90 Fv8.0 : .im2col",
    "im2col_no_offs": "F90 Fv8.0 : .im2col_no_offs",
    "im2col::w::128": "nTENSOR Fv8.6 : .im2col::w::128",
    "tile::scatter4": "nTENSOR Fv8.6 : .tile::scatter4",
    "mbarrier::complete_tx::bytes": "F90 Fv8.0 : .mbarrier::complete_tx::bytes",
    "bulk_group": "F90 Fv8.0 : .bulk_group",
    "mbarrier::arrive::one": "F90 Fv8.6 : .zoneevre::neevir::bar",
    "multicast::cluster": "M90 Mv8.0 : .multicast::cluster",
    "multicast::cluster::all": "Fv8.6 nNEW : .multicast::cluster::all",
    "cp_mask": "F100 Fv8.6 : .cp_mask",
    "num_mipmap_levels": "Fv4.1 : num_mipmap_levels attribute",
    "cta_group::1": "Fv8.6 nTENSOR : .cta_group::1",
    "cta_group::2": "Fv8.6 nTENSOR : .cta_group::2",
    **{
        word: f"F90 Fv9.3 : .{word}"
        for word in ("layout::v0", "layout::v1", "phase_type::primary", "phase_type::conditional")
    },
    "proxy::readonly": "F90 Fv9.4 : .proxy::readonly",
    "L1::32B": "F90 Fv9.4 : .L1::32B",
    "valid_addr": "F90 Fv9.4 : .valid_addr",
    **PRODUCT_WORDS,
}
"""Gates of words, reported after those of the instruction."""
SPARSE: Final[dict[str, str]] = {
    "kind::mxf4": "Fv8.6 n100a/103a/110a/120a/121a : .kind::mxf4 with .sp modifier",
    "kind::mxf4nvf4": "Fv8.7 n100a/103a/110a/120a/121a : .kind::mxf4nvf4 with .sp modifier",
}
"""Gates of words of sparse products, in place of those in LATE."""
