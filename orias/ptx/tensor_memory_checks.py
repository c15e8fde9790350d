"""Operands of the instructions on tensor memory that rows cannot express: vectors sized by shape, operand lists of products.

Facts: docs/facts/front-end.md (tensor memory).
"""

from typing import Final

from orias.ptx.ast import O_ADDR, O_IMM, O_REG, O_VEC, TYPE_BITS, Operand, Sig
from orias.ptx.fits import vector_size_errors

_PER_ROW: Final[dict[str, int]] = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}
"""Registers of one thread for .x1, by shape."""
_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "tcgen05.mma": ("adbnp", "adbnpc", "adbnvp", "adbnvpc"),
    "tcgen05.mma scaled": ("adbnssp",),
    "tcgen05.mma.ws": ("adbnp", "adbnpl"),
}
"""Operand lists of dense products: a address, d descriptor or address, b descriptor, n 32-bit value, p predicate or constant,
c constant, v vector, s address of scales, l 64-bit value.  Sparse ones have the address of the metadata before n."""
_FITS: Final[dict[str, str]] = {
    "a": "a", "s": "a", "d": "lca", "b": "lc", "n": "wc", "p": "pc", "c": "c", "v": "v", "l": "lc",
}  # fmt: skip
"""Letter of a list -> kinds of operands that fit."""


def _kind(op: Operand) -> str:
    """The kind of an operand: a address in an untyped register, l and w values of 64 and 32 bits, p predicate, c constant, v vector."""
    if op.kind == O_IMM:
        return "c" if op.imm_type == "int" else "-"
    if op.kind == O_VEC:
        return "v"
    var = op.var
    if var is None or var.space != "reg" or var.type not in _LETTERS:
        return "-"
    letter = _LETTERS[var.type]
    if op.kind == O_ADDR:
        return "a" if var.type == "b32" else "-"
    return letter if op.kind == O_REG else "-"


_LETTERS: Final[dict[str, str]] = {
    **dict.fromkeys(("b32", "u32", "s32"), "w"), **dict.fromkeys(("b64", "u64", "s64"), "l"), "pred": "p",
}  # fmt: skip


def transfer_errors(name: str, sig: Sig, ops: list[Operand]) -> list[str]:
    """Error messages on the operands of a load from tensor memory, or of a store to it."""
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    store = name == "tcgen05.st"
    at = 2 if name == "tcgen05.ld.red" else 0 if store else 1
    count = len(ops)
    if not at + 1 + store <= count <= at + 2 + store:
        return mismatch
    place = count - 1 if store else 0
    offsets = ops[1 : count - 1] if store else ops[at + 1 :]
    vector = ops[place]
    if ops[at].kind != O_ADDR or any(op.kind != O_IMM for op in offsets):
        return mismatch
    base = ops[at].var
    if base is None or (base.space == "reg" and TYPE_BITS.get(base.type, 0) != 32):
        return mismatch
    if base.space != "reg":
        return ["Argument 1 of instruction 'add': must be register"]
    size = f"Argument {place} of instruction '{name}': Argument vector size mismatch"
    if vector.kind != O_VEC:
        return [f"Vector expected for argument {place}", size]
    values = vector.elems if at < 2 else [*vector.elems, ops[1]]
    if any(e.kind != O_REG or e.var is None or TYPE_BITS.get(e.var.type, 0) != 32 for e in values):
        return mismatch
    if base.type == "f32":
        return ["Arguments mismatch for instruction 'add'"]
    shape = sig.mods.get("shape", "")
    errors: list[str] = []
    if shape and bool(offsets) != (shape == "16x32bx2"):
        errors.append(f"Unexpected number of arguments specified for {name} with shape '.{shape}'")
    if shape in _PER_ROW and "num" in sig.mods:
        if len(vector.elems) != _PER_ROW[shape] * int(sig.mods["num"][1:]):
            errors.append(size)
    return errors


def product_errors(name: str, sig: Sig, ops: list[Operand]) -> list[str]:
    """Error messages on the operands of a product in tensor memory."""
    mods = sig.mods
    kinds = [_kind(op) for op in ops]
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    scaled = any(_matches(kinds, text, "sp" in mods) for text in _LISTS.get(f"{name} scaled", ()))
    if not scaled and ("block_scale" in mods or not any(_matches(kinds, text, "sp" in mods) for text in _LISTS[name])):
        return mismatch
    errors: list[str] = []
    if scaled and "block_scale" not in mods:
        if "scale_vec" in mods:
            errors.append(f"Modifier '.{mods['scale_vec']}' requires modifier '.block_scale' for instruction '{name}'")
        return [*errors, f".block_scale modifier required for instruction '{name}'", *mismatch]
    for op in ops:
        if op.kind == O_REG and op.key[0] == "-":
            errors.append(f"Operand negation not allowed for instruction '{name}'")
        if op.kind == O_VEC:
            elems = op.elems
            if any(e.kind != O_IMM and _kind(e) != "w" for e in elems):
                return mismatch
            errors.extend(vector_size_errors(len(elems)))
            if len(elems) != (8 if mods.get("cta_group") == "cta_group::2" else 4):
                errors.append(f"Argument vector size mismatch for instruction '{name}'")
    if "ashift" in mods and kinds[1] != "a":
        errors.append(f"Illegal modifier '.ashift' for instruction '{name}'")
    return errors


def _matches(kinds: list[str], text: str, sparse: bool) -> bool:
    """Whether operands of these kinds fit an operand list."""
    if sparse:
        text = text.replace("n", "sn", 1)
    return len(kinds) == len(text) and all(kind in _FITS[letter] for kind, letter in zip(kinds, text, strict=True))
