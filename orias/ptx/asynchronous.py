"""Rules between modifiers and operands of fences of proxies, bulk and tensor copies, barrier objects and tensor maps.

Texts: asked of ptxas 13.0.88.
"""

from typing import Final

from orias.ptx.ast import O_IMM, O_PAIR, O_REG, O_SINK, O_VEC, TYPE_BITS, Instr, Operand

_BITWISE: Final = ("b32", "b64")
_REDUCTIONS: Final[dict[str, tuple[str, ...]]] = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), _BITWISE),
}
"""Types of cp.reduce.async.bulk by operation."""
_REMOTE: Final[dict[str, tuple[str, ...]]] = {
    "add": ("u32", "s32", "u64", "s64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}
"""Types of red.async by operation."""
_SIDES: Final = (
    ("shared::cluster", "global"), ("shared::cta", "global"), ("global", "shared::cta"), ("shared::cluster", "shared::cta"),
)  # fmt: skip
_WORD_FIELDS: Final = (
    "rank",
    "box_dim",
    "global_dim",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "fill_mode",
)
_WIDE_FIELDS: Final = ("global_address", "global_stride")
_ORDINALS: Final = ("box_dim", "global_dim", "element_stride", "global_stride")
_CONSTANTS: Final = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")

CHECKED_ASYNC: Final = frozenset(
    (
        "fence", "fence.proxy", "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor",
        "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor", "mbarrier.arrive", "mbarrier.arrive_drop", "mbarrier.arrive.expect_tx",
        "mbarrier.arrive_drop.expect_tx", "elect", "tensormap.replace", "red.async", "st.async",
    )
)  # fmt: skip
"""Names with such rules."""


def async_errors(name: str, instr: Instr) -> list[str]:
    """What is wrong with an instruction (one of CHECKED_ASYNC)."""
    mods = instr.sig.mods
    if name.startswith("fence"):
        return _fence(name, instr)
    if name.startswith("mbarrier"):
        return _arrival(name, instr)
    if name == "tensormap.replace":
        return _replace(name, instr)
    if name == "elect":
        pair = instr.ops and instr.ops[0].kind == O_PAIR
        return [] if pair else [f"Predicate output expected for instruction '{name}'"]
    errors: list[str] = _remote(name, mods) if name in ("st.async", "red.async") else []
    if name == "st.async":
        bits = TYPE_BITS.get(instr.sig.types[-1], 32)
        if bits * int(mods.get("vec", "v1")[1:]) > 128:
            errors.append("Vector type too large, exceeds 128 bit limit")
        elif bits < 32:
            errors.append(f"Arguments mismatch for instruction '{name}'")
        return errors
    if name == "red.async":
        if "order" not in mods:
            errors.append(f"order modifier required for instruction '{name}'")
        if instr.sig.types[0] not in _REMOTE[mods["op"]]:
            errors.append(_type_error(name, instr.sig.types[0], mods["op"]))
        return errors
    if "prefetch" in name and "dst" not in mods:
        errors.append(f"State space modifier required for instruction '{name}'")
        errors.append(f"State space incorrect for instruction '{name}'")
        if "cache_hint" in mods:
            errors.append(f"Modifier '.L2::cache_hint' cannot be applied to '' space for instruction '{name}'")
        return errors
    if "tensor" in name:
        return _tensor(name, instr)
    return [] if "prefetch" in name else _bulk(name, instr)


def _remote(name: str, mods: dict[str, str]) -> list[str]:
    """State space and completion of st.async and red.async."""
    if mods.get("space") == "shared::cluster" and "completion" not in mods:
        return [f"Modifier '.shared::cluster' requires modifier '.completion_mechanism' for instruction '{name}'"]
    return []


def _type_error(name: str, type_: str, op: str) -> str:
    return f"Incorrect type '.{type_}' for operation '.{op}' in instruction '{name}'"


def _fence(name: str, instr: Instr) -> list[str]:
    mods = instr.sig.mods
    order, scope, proxy = mods.get("order", ""), mods.get("scope", ""), mods.get("proxy", "")
    errors: list[str] = []
    if "mbarrier_init" in instr.sig.text:
        for word, right in ((order, "release"), (scope, "cluster")):
            if word and word != right:
                errors.append(f"Modifier '.mbarrier_init' cannot be combined with modifier '.{word}'")
        return errors
    if not proxy:
        return errors
    if order and proxy in ("alias", "async"):
        errors.append(f"Illegal modifier '.{order}' for instruction '{name}'")
    if not order and "::" in proxy:
        return [f".acquire/.release modifier required for instruction '{name}'"]
    if proxy == "async::generic":
        if scope != "cluster":
            errors.append(f".cluster modifier required for instruction '{name}'")
        wanted = f"sync_restrict::shared::{'cluster' if order == 'acquire' else 'cta'}"
        if mods.get("sync_restrict", "") != wanted:
            errors.append(f".{wanted} modifier required for instruction '{name}'")
    if order and not scope:
        errors.append(f"Modifier '.{order}' requires scope with '{name}' instruction")
    if proxy == "tensormap::generic":
        if order == "release" and instr.ops:
            errors.append(f".release modifier required for instruction '{name}' with 0 arguments")
        elif order == "acquire" and len(instr.ops) != 2:
            errors.append(f"Arguments mismatch for instruction '{name}'")
    return errors


def _arrival(name: str, instr: Instr) -> list[str]:
    mods = instr.sig.mods
    if "noComplete" in mods and (mods.get("order") == "relaxed" or mods.get("scope") == "cluster"):
        wrong = [w for w in (mods.get("order", ""), mods.get("scope", "")) if w in ("relaxed", "cluster")]
        return [f"Modifier '.{w}' cannot be combined with modifier '.noComplete'" for w in wrong]
    if mods.get("space") != "shared::cluster":
        return []
    if "noComplete" in mods:
        return ["Modifier '.shared::cluster' cannot be combined with modifier '.noComplete'"]
    if instr.ops and instr.ops[0].kind != O_SINK:
        return [f"Sink '_' is expected as a destination operand for instruction '{name}' with '.shared::cluster'"]
    return []


def _replace(name: str, instr: Instr) -> list[str]:
    mods = instr.sig.mods
    ops = instr.ops
    field = mods.get("field", "")
    type_ = instr.sig.types[-1]
    if not field:
        return [f"Tensormap field modifier required for instruction '{name}'"]
    if mods.get("mode", "tile") != "tile" or "im2col" in instr.sig.text:
        return [f"Illegal modifier '.tile' for instruction '{name}'"]
    if mods.get("space", "global") not in ("global", "shared::cta"):
        return [f"State space incorrect for instruction '{name}'"]
    wide = field in _WIDE_FIELDS
    if (type_ == "b64") != wide:
        return [f"Illegal modifier '.{field}' for instruction '{name}' with type '.{type_}'"]
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    if len(ops) != (3 if field in _ORDINALS else 2):
        return mismatch
    if field in _ORDINALS and ops[1].kind != O_IMM:
        return mismatch
    value = ops[-1]
    if value.kind == O_REG and value.var is not None and TYPE_BITS[value.var.type] != (64 if wide else 32):
        return mismatch
    if field in _CONSTANTS and value.kind != O_IMM:
        return ["Integer constant expression expected"]
    return []


def _bulk(name: str, instr: Instr) -> list[str]:
    mods = instr.sig.mods
    errors: list[str] = []
    if (mods.get("dst", ""), mods.get("src", "")) not in _SIDES:
        return [f"State space incorrect for instruction '{name}'"]
    wanted = "bulk_group" if mods["dst"] == "global" else "mbarrier::complete_tx::bytes"
    completion = mods.get("completion", "")
    if completion and completion != wanted:
        errors.append(f"Illegal modifier '.{completion}' for instruction '{name}'")
    remote = mods["dst"] == "shared::cluster" and mods["src"] == "shared::cta"
    if remote and "cache_hint" in mods:
        if name == "cp.reduce.async.bulk":
            return [f"Arguments mismatch for instruction '{name}'"]
        errors.append(
            f"Illegal modifier '.L2::cache_hint' for instruction '{name}' with '.shared::cluster.shared::cta'"
        )
    if name == "cp.reduce.async.bulk":
        op, type_ = mods["op"], instr.sig.types[0]
        if mods["dst"] == "shared::cluster" and "f" in type_:
            errors.append(f"Arguments mismatch for instruction '{name}'")
        elif type_ not in _REDUCTIONS[op]:
            errors.append(_type_error(name, type_, op))
        elif mods["dst"] == "shared::cluster" and type_ == "s64":
            errors.append(f"Illegal type for {name} with .shared::cluster destination state space")
        elif mods["dst"] == "shared::cluster" and type_ not in _REMOTE[op]:
            errors.append(f"Illegal reduction operation for instruction '{name}.shared::cluster.shared::cta.{type_}'")
        elif op == "add" and type_ in ("f16", "bf16") and "noftz" not in mods:
            errors.append(
                f"Modifier '.noftz' required for instruction '{name}' with type '.{type_}' and operation '.{op}'"
            )
    return errors


def _tensor(name: str, instr: Instr) -> list[str]:
    mods = instr.sig.mods
    mode = mods.get("mode", "tile")
    rank = int(mods["dim"][0]) if "dim" in mods else 0
    at = 0 if mods.get("dst") == "global" else 1
    if rank == 0 or len(instr.ops) <= at or mode not in ("tile", "im2col", "im2col_no_offs"):
        return []
    errors: list[str] = []
    if mode != "tile" and rank < 3:
        errors.append(f"Modifier '.{mods['dim']}' cannot be combined with modifier '.{mode}'")
    errors += _vector(name, instr.ops[at].elems, at + 1, rank, 32)
    if mode == "im2col":
        place = at + (1 if "prefetch" in name else 2)
        found = instr.ops[place : place + 1]
        if not found:
            errors.append(f"Arguments mismatch for instruction '{name}'")
        elif found[0].kind in (O_VEC, O_REG, O_IMM):
            count = len(found[0].elems) if found[0].kind == O_VEC else 1
            if count != max(rank - 2, 0):
                errors.append(f"Argument {place + 1} of instruction '{name}': Argument vector size mismatch")
    return errors


def _vector(name: str, elems: list[Operand], number: int, count: int, bits: int) -> list[str]:
    """A vector inside an address: its length and the width of its registers."""
    if not elems or elems[0].kind != O_VEC:
        return [f"Arguments mismatch for instruction '{name}'"]
    values = elems[0].elems
    if len(values) != count:
        return [f"Argument {number} of instruction '{name}': Argument vector size mismatch"]
    if any(v.kind == O_REG and v.var is not None and TYPE_BITS[v.var.type] != bits for v in values):
        return [f"Arguments mismatch for instruction '{name}'"]
    return []
