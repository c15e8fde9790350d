"""Shapes, types and fragment sizes of mma.

Facts: docs/facts/front-end.md (matrix instructions).
"""

from typing import Final

from orias.ptx.ast import O_ADDR, O_IMM, O_REG, O_SINK, O_SREG, O_VEC, TYPE_BITS, Instr, Operand, Sig
from orias.ptx.fits import may_hold
from orias.ptx.opcode import is_shape
from orias.ptx.special_names import SPECIAL

_F8: Final = ("e4m3", "e5m2")
_F864: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")

DENSE: Final[dict[str, str]] = {
    "m8n8k4": "f16.f16.f16.f16 f16.f16.f16.f32 f32.f16.f16.f16 f32.f16.f16.f32 f64.f64.f64.f64",
    "m16n8k4": "f32.tf32.tf32.f32 f64.f64.f64.f64",
    "m16n8k8": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f32.tf32.tf32.f32 f64.f64.f64.f64",
    "m16n8k16": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f64.f64.f64.f64 s32.I8.I8.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m8n8k16": "s32.I8.I8.s32",
    "m8n8k32": "s32.I4.I4.s32",
    "m16n8k32": "s32.I8.I8.s32 s32.I4.I4.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m16n8k64": "s32.I4.I4.s32",
    "m8n8k128": "s32.b1.b1.s32",
    "m16n8k128": "s32.b1.b1.s32",
    "m16n8k256": "s32.b1.b1.s32",
}
SPARSE: Final[dict[str, str]] = {
    "m16n8k8": "f32.tf32.tf32.f32",
    "m16n8k16": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f32.tf32.tf32.f32",
    "m16n8k32": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 s32.I8.I8.s32",
    "m16n8k64": "s32.I8.I8.s32 s32.I4.I4.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m16n8k128": "s32.I4.I4.s32",
}
CLASSES: Final[dict[str, tuple[str, ...]]] = {"I8": ("u8", "s8"), "I4": ("u4", "s4"), "F8": _F8}
"""Type classes in the rows -> their members."""


def _listed(rows: str, types: tuple[str, ...]) -> bool:
    """Whether the rows list these types, directly or by type classes."""
    for row in rows.split():
        if all(t == r or t in CLASSES.get(r, ()) for t, r in zip(types, row.split("."), strict=True)):
            return True
    return False


def _known_types(types: tuple[str, ...]) -> bool:
    """Whether any shape, dense or sparse, has these types."""
    return any(_listed(rows, types) for table in (DENSE, SPARSE) for rows in table.values())


def mma_facts(sig: Sig, types: tuple[str, ...]) -> dict[str, str]:
    """The facts of an mma opcode that rules test.

    ``typed``: whether a product of these types exists; ``factor``: fp6, fp8 or the type of A; ``shaped``: yes or no.
    """
    facts: dict[str, str] = {}
    if len(types) < 4:
        return facts
    factors = types[1:3]
    kind = "kind" in sig.mods
    scaled = sig.mods.get("kind", "").startswith("kind::mx")
    if scaled or any(t in _F864 and t not in _F8 for t in factors):
        facts["factor"] = "fp6"
    else:
        facts["factor"] = "fp8" if any(t in _F8 for t in factors) else types[1]
    if kind and all(t in _F864 for t in factors):
        if (types[0], types[3]) in ((("f32", "f32"),) if scaled else (("f32", "f32"), ("f16", "f16"))):
            facts["typed"] = "yes"
            facts["shaped"] = "yes" if _scaled_shape(sig, types) else "no"
    elif len(types) == 4 and _known_types(types):
        facts["typed"] = "yes"
        table = SPARSE if "sp" in sig.mods else DENSE
        facts["shaped"] = "yes" if _listed(table.get(sig.mods.get("shape", ""), ""), types[:4]) else "no"
    return facts


def _scaled_shape(sig: Sig, types: tuple[str, ...]) -> bool:
    """Whether the shape of a product with a kind fits its kind and its types."""
    shape = sig.mods.get("shape", "")
    kind = sig.mods.get("kind", "")
    depth = 64 if kind in ("kind::mxf4", "kind::mxf4nvf4") else 32
    if depth == 64 and types[1:3] != ("e2m1", "e2m1"):
        return False
    if kind == "kind::mxf8f6f4" and types[4:] not in ((), ("ue8m0",)):
        return False
    if "sp" in sig.mods:
        depth *= 2
    elif shape == "m16n8k16" and kind == "kind::f8f6f4":
        return types[1] in _F8 and types[2] in _F8
    return shape == f"m16n8k{depth}"


def numbers(shape: str) -> tuple[int, int, int]:
    """M, N and K of a shape such as ``m16n8k16`` (K 0 if it has none)."""
    m, _, rest = shape[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k or 0)


def _registers(elements: int, type_: str) -> int:
    """Registers per lane of a fragment: 32-bit ones, or 64-bit ones for f64."""
    bits = {"e3m2": 8, "e2m3": 8, "e2m1": 8}.get(type_) or TYPE_BITS.get(type_, 32)
    if bits == 64:
        return elements // 32
    return max(1, elements * bits // 1024)


def _sizes(sig: Sig, types: tuple[str, ...], shape: str) -> list[int]:
    """Registers of D, A, B and C."""
    m, n, k = numbers(shape)
    if shape == "m8n8k4" and types[1] == "f16":
        return [8 if types[0] == "f32" else 4, 2, 2, 8 if types[3] == "f32" else 4]
    a = "b4" if "mxf4" in sig.mods.get("kind", "") and "mxf8" not in sig.mods.get("kind", "") else types[1]
    b = a if a == "b4" else types[2]
    return [
        _registers(m * n, types[0]),
        _registers(m * k, a) // (2 if "sp" in sig.mods else 1),
        _registers(k * n, b),
        _registers(m * n, types[3]),
    ]


def mma_operands(sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> bool:
    """Whether the operands of an mma have the sizes that its shape requires."""
    shape = sig.mods.get("shape", "")
    if len(ops) < 4 or not is_shape(shape) or len(types) < 4:
        return len(ops) >= 4
    count = 6 if "sp" in sig.mods else 4
    kind = sig.mods.get("kind", "")
    if "sp" in sig.mods and not _is_index(ops[4]):
        return False
    if kind and mma_facts(sig, types).get("shaped") != "yes":
        return True
    if kind.startswith("kind::mx"):
        if len(types) != 5 or len(ops) != count + 4 or any(len(op.elems) not in (0, 1) for op in ops[count::2]):
            return False
        if any(op.kind != O_VEC or len(op.elems) != 2 for op in ops[count + 1 :: 2]):
            return False
        if not all(_is_index(op) for op in ops[count::2]):
            return False
    elif len(ops) != count:
        return False
    if "sp" in sig.mods and (len(ops) < count or ops[5].kind != O_IMM or ops[5].imm_type != "int"):
        return False
    sizes = _sizes(sig, types, shape)
    return all(
        ops[i].kind == O_VEC and len(ops[i].elems) == size and _all_registers(ops[i], types[i])
        for i, size in enumerate(sizes)
    )


def _is_index(op: Operand) -> bool:
    """Whether an operand may be the word of metadata or of scales: a register of 32 bits, a predicate, a single, or a vector of them."""
    if op.kind == O_VEC:
        return any(e.kind in (O_REG, O_SREG) for e in op.elems) and all(
            e.kind != O_REG or _is_index(e) for e in op.elems
        )
    if op.kind == O_REG:
        var = op.var
        return var is not None and (var.type == "pred" or (TYPE_BITS.get(var.type) == _WORD and op.key[0] != "-"))
    return op.key == "s+" or (op.kind == O_IMM and op.imm_type == "f32")


def mma_sizes_differ(sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> bool:
    """Whether the matrices of an mma without scales are vectors of fitting registers, but not of the right sizes."""
    shape = sig.mods.get("shape", "")
    count = 6 if "sp" in sig.mods else 4
    if len(ops) != count or len(types) != 4 or not is_shape(shape) or "kind" in sig.mods:
        return False
    if any(op.kind != O_VEC or not _all_registers(op, type_) for op, type_ in zip(ops, types, strict=False)):
        return False
    return any(len(op.elems) != size for op, size in zip(ops, _sizes(sig, types, shape), strict=False))


_WORD: Final = 32
_WORDS: Final = ("f16x2", "b32", "u32", "s32", "f32")
_REGISTERS: Final[dict[str, tuple[str, ...]]] = {
    "f16": ("f16x2", "b32"), "bf16": ("b32",), "tf32": ("b32",), "f32": ("b32", "f32"), "s32": ("b32", "u32", "s32"),
    "f64": ("b64", "u64", "s64", "f64"),
}  # fmt: skip
"""Types of the registers that hold elements of a matrix, by the type of the elements; any word for the others."""


def _all_registers(op: Operand, type_: str) -> bool:
    """Whether the registers of a vector may hold elements of the type; constants alone are values of f64."""
    registers = any(e.kind == O_REG for e in op.elems)
    return (registers or type_ == "f64") and may_hold(op.elems, _REGISTERS.get(type_, _WORDS))


def _is_word(e: Operand, stored: bool) -> bool:
    """Whether an operand is a word of a matrix; of a vector that is ``stored`` predicates and special registers count too."""
    if e.kind == O_REG and e.var is not None:
        return e.var.type in _WORDS or (stored and e.var.type == "pred")
    return e.kind == O_SINK or (stored and e.kind == O_SREG and SPECIAL[e.name][0] in _WORDS)


def matrix_vector_errors(name: str, sig: Sig, ops: list[Operand]) -> list[str]:
    """Error messages on the registers of ldmatrix and stmatrix."""
    where = 0 if name == "ldmatrix" else 1
    if len(ops) != 2 or "num" not in sig.mods:
        return []
    op = ops[where]
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    count = int(sig.mods.get("num", "x1")[1:]) * (2 if sig.mods.get("shape") == "m16n16" else 1)
    if op.kind == O_SINK and not where:
        return []
    if op.kind == O_ADDR and op.var is not None and (op.var.space != "reg" or op.var.type in _WORDS):
        return [f"Vector of size {count} is expected for argument {where} of instruction '{name}'"]
    parts = op.elems if op.kind == O_VEC else [op]
    if not all(_is_word(e, op.kind == O_VEC and where == 1) for e in parts):
        return mismatch
    if op.kind != O_VEC or len(op.elems) != count:
        return [f"Vector of size {count} is expected for argument {where} of instruction '{name}'"]
    if where and any(e.kind == O_SINK for e in op.elems):
        return ["Sink '_' not allowed as a source operand"]
    return []


_LAST_SELECTOR: Final[dict[str, int]] = {
    "m16n8k8 tf32": 3, "m16n8k16 tf32": 1, "m16n8k16 f16": 3, "m16n8k16 bf16": 3, "m16n8k32 f16": 1, "m16n8k32 bf16": 1,
    "m16n8k32 s8": 1, "m16n8k32 u8": 1, "m16n8k64 s4": 1, "m16n8k64 u4": 1,
}  # fmt: skip
"""Highest sparsity selector by shape and type of A; 0 for all others."""


_BYTES: Final[dict[str, str]] = {"2X": "0 or 2", "4X": "0"}
"""Size of the scale vector -> legal first bytes of a scale within its register."""


def _scale_errors(sig: Sig, ops: list[Operand]) -> list[str]:
    """Error messages on the positions of the scales of a block-scaled mma."""
    kind = sig.mods["kind"]
    size = sig.mods.get("scale_vec", "scale_vec::1X" if kind == "kind::mxf8f6f4" else "scale_vec::2X")[-2:]
    first = 6 if "sp" in sig.mods else 4
    errors: list[str] = []
    for at, threads in ((first + 1, 2), (first + 3, 4)):
        if len(ops) <= at or len(ops[at].elems) != 2:
            continue
        byte, thread = ops[at].elems
        where = f"Argument {at} of instruction 'mma':"
        if byte.kind == O_IMM and size == "1X" and not 0 <= byte.value <= 3:
            errors.append(f"{where} value '{byte.value}' out of range, expected to be in range [0..3]")
        if byte.kind == O_IMM and size != "1X" and byte.value not in ((0, 2) if size == "2X" else (0,)):
            errors.append(f"{where} unexpected value '{byte.value}', expected to be {_BYTES[size]}")
        if thread.kind == O_IMM and not 0 <= thread.value < threads:
            errors.append(f"{where} value '{thread.value}' out of range, expected to be in range [0..{threads - 1}]")
    return errors


def selector_errors(name: str, instr: Instr) -> list[str]:
    """Error messages on the sparsity selector, and on the positions of scales, of an mma whose operands fit."""
    sig = instr.sig
    shape = sig.mods.get("shape", "")
    if sig.mods.get("kind", "").startswith("kind::mx"):
        value = instr.ops[5].value if "sp" in sig.mods and len(instr.ops) > 5 and instr.ops[5].kind == O_IMM else 0
        wrong = [f"Argument 5 of instruction 'mma': unexpected value '{value}', expected to be 0"] if value else []
        return wrong + _scale_errors(sig, instr.ops)
    if "sp" not in sig.mods or len(instr.ops) != 6 or not shape:
        return []
    if instr.ops[5].kind != O_IMM:
        return []
    value = instr.ops[5].value
    if sig.types[1] in _F864:
        return [] if value == 0 else [f"Argument 5 of instruction 'mma': unexpected value '{value}', expected to be 0"]
    last = _LAST_SELECTOR.get(f"{shape} {sig.types[1]}", 0)
    if shape == "m16n8k32" and sig.types[:2] == ("f32", "f16"):
        # Only here ptxas accepts 2 and 3.
        last = 3
    if 0 <= value <= last:
        return []
    return [
        f"Argument 6 of instruction 'Sparse mma': value '{value}' out of range, expected to be in range [0..{last}]"
    ]
