"""Version and target gates: from which PTX ISA version and which target on a word, a form or a combination exists.

A gate is written as ptxas reports it: conditions in the order of the messages, then the name of the feature::

    F90 Fv8.0 : cp.async.bulk

``F90``: ``Feature 'cp.async.bulk' requires .target sm_90 or higher``; ``Fv8.0``: ``Feature ... requires PTX ISA .version
8.0 or later``; ``M`` and ``I`` say Modifier and Instruction instead; ``N100a`` and ``n100a``: ``Instruction`` or ``Feature
... not supported on .target``, for targets below, and with ``a`` for those without a or f suffix.  In names ``{n}`` stands for the
instruction, ``{0}`` for its first type, ``{t}`` for all its types.  Several gates are separated by commas.

Facts: 900 forms under eleven pairs of .target and .version, ptxas 13.0.88.
"""

from typing import Final, final

_KINDS: Final = {"F": "Feature", "M": "Modifier", "I": "Instruction"}


@final
class Place:
    """What a module declares: PTX version times 10, SM number, whether the target has an a or f suffix, target name."""

    __slots__ = ("sm", "special", "target", "version")

    def __init__(self, version: int, sm: int, special: bool, target: str) -> None:
        self.version: Final[int] = version
        self.sm: Final[int] = sm
        self.special: Final[bool] = special
        self.target: Final[str] = target


def messages(gates: str, place: Place, name: str, types: tuple[str, ...]) -> list[str]:
    """The messages of the conditions in ``gates`` that ``place`` does not meet."""
    result: list[str] = []
    for gate in gates.split(", "):
        conditions, _, label = gate.partition(" : ")
        if not label:
            label = name
        elif "{" in label:
            label = label.replace("{n}", name).replace("{0}", types[0] if types else "").replace("{t}", ".".join(types))
        for condition in conditions.split():
            kind = condition[0]
            if kind in "Nn":
                if place.sm < int(condition[1:].rstrip("a")) or (condition.endswith("a") and not place.special):
                    word = "Instruction" if kind == "N" else "Feature"
                    result.append(f"{word} '{label}' not supported on .target '{place.target}'")
            elif condition[1] == "v":
                major, _, minor = condition[2:].partition(".")
                if place.version < int(major) * 10 + int(minor):
                    result.append(f"{_KINDS[kind]} '{label}' requires PTX ISA .version {condition[2:]} or later")
            elif place.sm < int(condition[1:]):
                result.append(f"{_KINDS[kind]} '{label}' requires .target sm_{condition[1:]} or higher")
    return result


DIRECTIVES: Final[dict[str, str]] = {
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
    "address": "Fv2.1 : addresses as initial values",
    "managed": "Fv4.0 : .attribute, F30 : .managed",
    "unified": "Fv8.0 F90 : .unified",
    "unsized": "F30 Fv6.0 : Unsized Array Parameter",
    "timestamp": "Fv3.2 : timestamp and filesize in .file directive",
    "inlined_at": "Fv7.0 : Line information of inline functions",
    "b128": "Fv8.3 F70 : Type .b128",
    "f16x2": "F53 Fv4.2 : .f16x2 packed data-type",
}
"""Gates of directives, attributes and declared types."""

_ORDERED_OBJECTS: Final = ("mbarrier.arrive", "mbarrier.test_wait", "mbarrier.try_wait")
_ORDER: Final = ("relaxed", "acquire", "release", "acq_rel", "sc")
_KIND_WORDS: Final = [
    "kind::f16",
    "kind::f8f6f4",
    "kind::i8",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "kind::mxf8f6f4",
    "kind::tf32",
    "block_scale",
    "scale_vec::1X",
    "scale_vec::2X",
    "scale_vec::4X",
    "block16",
    "block32",
    "cta_group::1",
    "cta_group::2",
]
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

EARLY: Final[dict[str, str]] = {
    "aligned": "Fv6.0 : .aligned",
    "bf16": "F80 Fv7.0 : .bf16",
    "bf16x2": "F75 : .bf16x2, F80 Fv7.0 : .bf16x2",
    "tf32": "F80 Fv7.0 : .tf32",
    "s4": "F75 Fv6.3 : .s4",
    "u4": "F75 Fv6.3 : .u4",
    "b1": "F75 Fv6.3 : .b1",
    "relu": "Fv7.0 : .relu",
    "satfinite": "Fv6.0 F70 : .satfinite",
    "oob": "M90 Fv8.1 : .oob",
    "async": "M90 Mv8.0 : .async",
    "alias": "M60 Mv7.5 : .alias",
    "wait": "M90 Mv7.8 : .wait",
    "launch_dependents": "M90 Mv7.8 : .launch_dependents",
    "abs": "F86 Fv7.2 : .abs",
    "mmio": "Fv8.2 F70 : .mmio",
    "mbarrier_init": "F90 Fv8.0 : .op_restrict",
    "sync_restrict::shared::cta": "F90 Fv8.6 : .sync_restrict",
    "sync_restrict::shared::cluster": "F90 Fv8.6 : .sync_restrict",
    "param::entry": "Fv8.3 : ::entry",
    "param::func": "Fv8.3 : ::func",
    "tensormap": "M90 Mv8.0 : .tensormap",
    "m16n16": "n100a Mv8.6 : .m16n16",
    "m8n16": "n100a Mv8.6 : .m8n16",
    "m16n8": "n100a Mv8.6 : .m16n8",
    **{word: f"n100a Mv8.6 : .{word}" for word in _SHAPES},
}
"""Gates of words, reported before those of the instruction."""

LATE: Final[dict[str, str]] = {
    "NaN": "Fv7.0 M80 : .NaN",
    "xorsign": "Fv7.2 M86 : .xorsign",
    "relu": "Fv7.0 M80 : .relu",
    "mbarrier_init": "Mv8.0 M90 : .mbarrier_init",
    **{word: f"Fv6.0 F70 : .{word}" for word in _ORDER},
    "cluster": "F90 Fv7.8 : .cluster scope",
    "shared::cta": "Fv7.8 : ::cta",
    "shared::cluster": "Fv7.8 F90 : ::cluster",
    "L2::cache_hint": "M80 Mv7.4 : .L2::cache_hint",
    "tile": "F90 Fv8.0 : .tile",
    "im2col": "F90 Fv8.0 : .im2col",
    "im2col_no_offs": "F90 Fv8.0 : .im2col_no_offs",
    "im2col::w": "n100a Fv8.6 : .im2col::w with destination state space as .shared::cluster",
    "im2col::w::128": "n100a Fv8.6 : .im2col::w::128",
    "tile::gather4": "F100 Fv8.6 : .tile::gather4 with destination state space as .shared::cta",
    "tile::scatter4": "n100a Fv8.6 : .tile::scatter4",
    "mbarrier::complete_tx::bytes": "F90 Fv8.0 : .mbarrier::complete_tx::bytes",
    "bulk_group": "F90 Fv8.0 : .bulk_group",
    "multicast::cluster": "M90 Mv8.0 : .multicast::cluster",
    "cp_mask": "F100 Fv8.6 : .cp_mask",
    "acc::f32": "M90 Mv8.2 : .acc::f32",
    "acc::f16": "n100a Mv8.6 : .acc::f16",
    "num_mipmap_levels": "Fv4.1 : num_mipmap_levels attribute",
    **{word: f"Fv8.6 n100a : .{word}" for word in _KIND_WORDS},
    **{word: f"n100a Fv8.6 : .{word}" for word in ("e4m3x4", "e5m2x4")},
}
"""Gates of words, reported behind those of the instruction."""


def combinations(
    name: str, types: tuple[str, ...], words: list[str], mods: dict[str, str], count: int, place: Place
) -> str:
    """Gates of combinations of an instruction with its words; ``count`` operands."""
    gates: list[str] = []
    first = types[0] if types else ""
    if name in ("min", "max"):
        if "relu" in mods and first[0] != "f" and first[0] != "b":
            gates.append("F90 Fv8.0 : {n}.relu")
        if count == 4:
            gates.append("F100 Fv8.8 : {n}.f32 with 3 input operands")
    elif name in ("atom", "red"):
        gates.append(_atomic(name, first, mods))
        if "scope" in mods:
            gates.append("F60 Fv5.0 : scopes on atomic operations")
        if "vec" in mods:
            gates.append(f"F90 Fv8.1 : {name} instruction with vector types")
    elif name == "cvt":
        gates.append(_convert(types, mods, place))
    elif name in ("ld", "st"):
        gates.extend([f"Mv7.4 M70 : .{w[4:]}' on '{name}" for w in words if w.startswith("L1::")])
        if "prefetch" in mods:
            gates.append(f"F{80 if mods['prefetch'] == 'L2::256B' else 75} Fv7.4 : cache prefetching")
        if "nc" in mods:
            gates.append("I32 : ld.nc")
    elif name == "cp.async":
        if "prefetch" in mods:
            gates.append("F75 Fv7.4 : cache prefetching")
    elif name == "prefetch":
        if mods.get("level", "").startswith("L2::"):
            gates.append("Mv7.4 M80 : cache eviction priority' on 'prefetch")
    elif name == "applypriority":
        gates.append("Mv7.4 M80 : .evict_normal' on 'applypriority")
    elif name.startswith("createpolicy."):
        gates.extend([f"Mv7.4 M80 : .{w}' on '{name}" for w in words if w.startswith("L2::evict")])
    elif name in ("cvta", "cvta.to", "isspacep"):
        if mods.get("space", "").startswith("param"):
            gates.append("F70 Fv7.7 : cvta/isspacep with .param state space")
    elif name in ("shfl", "vote"):
        if "sync" in mods:
            gates.append(f"Fv6.0 : {name}.sync")
    elif name in ("cp.async.bulk", "cp.async.bulk.tensor"):
        if mods.get("dst") == "shared::cta":
            gates.append("Fv8.6 : {n} with destination state space as .shared::cta")
        if "cta_group" in mods:
            gates.append(f"Mv8.6 : .{mods['cta_group']}' on '{name}")
    elif name.startswith("barrier.cluster."):
        gates.extend([f"Mv8.0 : .{w}' on '{name}" for w in words if w in _ORDER])
    elif name in ("st.async", "red.async"):
        if "mmio" in words:
            gates.append("F100 : st.async/red.async with .mmio modifier")
        elif "global" in words:
            gates.append("F100 : st.async/red.async with .global state space")
    elif name == "tensormap.replace":
        if "swizzle_atomicity" in words:
            gates.append("N100a : {n}.swizzle_atomicity")
    elif name == "ldmatrix" and first == "b16":
        gates.append("Fv6.5 M75 : .m8n8")
    elif name in ("add", "sub", "addc", "subc") and "cc" in mods and first in ("u64", "s64"):
        gates.append("Fv4.3 : .cc with 64bit type")
    elif name.startswith(_ORDERED_OBJECTS) and count == 0:
        if "order" in mods:
            least = "Mv8.6 M90" if mods["order"] == "relaxed" else "Mv8.0"
            gates.append(f"{least} : .{mods['order']}' on '{name}")
        if "scope" in mods:
            gates.append("Fv8.0 : scopes on mbarrier operations")
    elif name in ("mbarrier.arrive", "mbarrier.arrive_drop"):
        if count == 3 and "noComplete" not in mods:
            gates.append("F90 Fv7.8 : {n} with count argument and without '.noComplete' modifier")
    if first == "b128" and name in ("atom", "red", "ld", "st") and mods.get("scope") == "sys":
        gates.append("Fv8.4 : .b128 with .sys")
    return ", ".join([g for g in gates if g])


def _atomic(name: str, type_: str, mods: dict[str, str]) -> str:
    """The gate of an atomic operation, which ptxas names after operation, type and state space."""
    operation = mods.get("op", "")
    if type_ in ("bf16", "bf16x2"):
        gate = "I90 Iv7.8"
    elif type_ == "f16":
        gate = "I70 Iv6.3"
    elif type_ == "f16x2":
        gate = "I60 Iv6.2"
    elif type_ == "b128":
        gate = "I90 Iv8.3"
    elif type_ == "b16":
        gate = "I70 Iv6.3"
    elif type_ == "f64":
        gate = "I60 Iv5.0"
    elif type_.endswith("64") and operation in ("min", "max", "and", "or", "xor"):
        gate = "I32 Iv3.1"
    else:
        return ""
    space = mods.get("space")
    where = f".{space}" if space else " with generic state space"
    return f"{gate} : {name}.{operation}.{type_}{where}"


def _convert(types: tuple[str, ...], mods: dict[str, str], place: Place) -> str:
    """The gates of cvt that depend on more than the types."""
    if "tf32" in types and mods.get("rnd") in ("rn", "rz"):
        rnd = mods["rnd"]
        gate = f"F90 Fv7.8 : cvt with .tf32.f32.{rnd}"
        if "satfinite" in mods:
            gate += f", Mv8.6 M100 : .satfinite' on 'cvt.tf32.f32.{rnd}"
        return gate
    if mods.get("rnd") == "rs":
        return "Fv8.7 n100a : .rs"
    if types[0] == "tf32" and "satfinite" in mods:
        return "Mv8.1 : .satfinite' on 'cvt.tf32.f32.rna"
    if types == ("f32", "bf16") and "ftz" in mods:
        return "F90 Fv7.8 : cvt with .f32.bf16.ftz"
    if "satfinite" in mods and types[-1] == "f32" and types[0] in ("f16", "bf16", "f16x2", "bf16x2"):
        return "Mv8.1 : .satfinite' on 'cvt.{t}"
    if types[0] in ("e4m3x2", "e5m2x2") or types[-1] in ("e4m3x2", "e5m2x2"):
        label = "cvt with .e4m3x2/.e5m2x2"
        if place.version >= 81:
            return f"F89 : {label}"
        if place.sm == 89:
            return f"F90 : {label}, Fv8.1 : {label} on sm_89"
        return f"F90 Fv7.8 : {label}"
    return ""
