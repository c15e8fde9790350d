"""Rules on operands that need arithmetic: coordinates of tensor copies, fractions of cache policies.

The rows of :mod:`orias.ptx.rules` can only compare.  Facts: docs/facts/front-end.md (order of messages).
"""

import struct

from orias.ptx.ast import O_ADDR, O_FUNC, O_IMM, O_REG, O_SREG, O_SYM, O_VEC, TYPE_BITS, Instr, Operand
from orias.ptx.fits import register_fits
from orias.ptx.operands import is_address_type, no_address


def fraction_errors(name: str, instr: Instr) -> list[str]:
    """Error messages on the fraction of a createpolicy.fractional, which must be above 0 and at most 1."""
    if len(instr.ops) < 2 or instr.ops[1].kind != O_IMM:
        return []
    op = instr.ops[1]
    if op.imm_type == "int":
        return [f"Arguments mismatch for instruction '{name}'"]
    code, width = ("<f", 4) if op.imm_type == "f32" else ("<d", 8)
    value: float = struct.unpack(code, (op.value & (1 << 8 * width) - 1).to_bytes(width, "little"))[0]
    if 0 < value <= 1:
        return []
    return [
        f"Argument 2 of instruction '{name}': value '{value:f}' out of range, expected to be in range (0.000000 .. 1.000000]"
    ]


def range_errors(name: str, instr: Instr) -> list[str]:
    """Error messages on the sizes of a createpolicy.range: the first is part of the second."""
    if len(instr.ops) < 4 or instr.ops[2].kind != O_IMM or instr.ops[3].kind != O_IMM:
        return []
    part, whole = instr.ops[2].value, instr.ops[3].value
    if part & 0xFFFFFFFF <= whole & 0xFFFFFFFF:
        return []
    return [
        f"Argument 3 of instruction '{name}': value '{part}' must be less than or equal to the value '{whole}' of argument 4"
    ]


def tensor_errors(name: str, instr: Instr) -> list[str]:
    """Error messages on the coordinates, offsets and barrier of a tensor copy."""
    mods = instr.sig.mods
    mode = mods.get("mode", "tile")
    dim = mods.get("dim", "")
    rank = int(dim[0]) if dim[:1].isdigit() else 0
    at = _place_of_tensor(name, mods)
    if at < 0 and instr.ops and not instr.ops[0].elems:
        return [f"Arguments mismatch for instruction '{name}'"]
    if at < 0 or len(instr.ops) <= at:
        return []
    wrong = _plain_errors(name, instr.ops, at)
    if wrong:
        return wrong
    if rank == 0:
        return [] if instr.ops[at].elems else [f"Arguments mismatch for instruction '{name}'"]
    errors: list[str] = []
    four = mode.startswith("tile::")
    if (mode != "tile" and not four and rank < 3) or (four and rank != 2):
        return [f"Modifier '.{mods['dim']}' cannot be combined with modifier '.{mode}'"]
    errors += _vector(name, instr.ops[at].elems, at + 1, 5 if four else rank, 32)
    prefetch = "prefetch" in name
    windows = mode in ("im2col::w", "im2col::w::128") and (prefetch or mods.get("dst") != "global")
    expected = (
        at + (1 if prefetch else 2) + (mode == "im2col" or windows) + ("multicast" in mods) + ("cache_hint" in mods)
    )
    if len(instr.ops) != expected:
        return [*errors, f"Arguments mismatch for instruction '{name}'"]
    errors += _barrier_errors(name, instr.ops, at) + _mask_errors(name, instr)
    if mode == "im2col" or windows:
        errors += _offset_errors(name, instr.ops, at + (1 if prefetch else 2), 2 if windows else max(rank - 2, 0))
    return errors


def _mask_errors(name: str, instr: Instr) -> list[str]:
    """The error message on what is no mask of a multicast, or a cache policy that has not 64 bits."""
    mods = instr.sig.mods
    hinted = "cache_hint" in mods
    wrong = "multicast" in mods and not _is_mask(instr.ops[-2 if hinted else -1])
    policy = instr.ops[-1]
    if hinted and policy.kind == O_REG and policy.var is not None:
        wrong = wrong or TYPE_BITS.get(policy.var.type) != 64
    return [f"Arguments mismatch for instruction '{name}'"] if wrong else []


def _is_mask(op: Operand) -> bool:
    """Whether an operand is an integer of 16 bits or a number; what else ``value_errors`` knows has its own message."""
    if op.kind == O_REG:
        return op.var is not None and op.var.type in ("b16", "u16", "s16")
    return op.kind == O_IMM and op.imm_type == "int"


def _barrier_errors(name: str, ops: list[Operand], at: int) -> list[str]:
    """Error messages on what stands in place of the barrier."""
    if at != 1 or "prefetch" in name:
        return []
    op = ops[2]
    var = op.var if op.kind == O_ADDR else None
    if var is None or var.space != "reg" or (var.vec == 1 and is_address_type(var.type)):
        return value_errors(name, op)
    return [no_address(var)] if var.type != "b128" else []


def value_errors(name: str, op: Operand) -> list[str]:
    """Error messages on an operand of a tensor copy that stands for an address by its value."""
    whole = op.var is not None and op.var.vec > 1 and not op.comp
    if op.kind == O_VEC or (op.kind == O_REG and whole):
        return [f"Vector operand is not allowed for instruction '{name}'"]
    if op.kind == O_SREG:
        return [f"Special register argument not allowed for instruction '{name}'"]
    if op.kind == O_FUNC:
        return [f"Illegal operand type to instruction '{name}'"]
    if op.kind != O_REG or op.var is None:
        return []
    if op.neg:
        return [f"Operand negation not allowed for instruction '{name}'"]
    return [f"Arguments mismatch for instruction '{name}'"] if op.var.type == "pred" else []


def _offset_errors(name: str, ops: list[Operand], place: int, count: int) -> list[str]:
    """Error messages on the offsets of a copy by im2col, 16 bits each; ``place``: of the offsets, ``count``: their number."""
    if len(ops) <= place:
        return [f"Arguments mismatch for instruction '{name}'"]
    op = ops[place]
    if op.kind in (O_ADDR, O_SYM, O_FUNC):
        return [f"Arguments mismatch for instruction '{name}'"]
    if op.kind not in (O_VEC, O_REG, O_IMM):
        return []
    if not all(_is_offset(e) for e in (op.elems if op.kind == O_VEC else [op])):
        return [f"Arguments mismatch for instruction '{name}'"]
    size = f"Argument {place + 1} of instruction '{name}': Argument vector size mismatch"
    found = len(op.elems) if op.kind == O_VEC else op.var.vec if op.var is not None and not op.comp else 1
    if op.kind != O_VEC and found == 1:
        return [f"Vector expected for argument {place + 1}", size]
    return [] if found == count else [size]


def _is_offset(op: Operand) -> bool:
    """Whether an operand is an integer of 16 bits or a number."""
    if op.kind == O_REG:
        return op.var is not None and register_fits(op.var.type, "u16", False)
    return op.kind == O_IMM and op.imm_type == "int"


def _place_of_tensor(name: str, mods: dict[str, str]) -> int:
    """Which operand has the coordinates; -1 if that is open, because a state space is missing."""
    if mods.get("dst") != "global":
        return 1
    return 0 if "src" in mods or "prefetch" in name else -1


def _plain_errors(name: str, ops: list[Operand], at: int) -> list[str]:
    """Error messages on the address without coordinates and on the barrier; ``at``: the place of the tensor."""
    plain = 1 - at
    if "prefetch" not in name:
        without = [ops[plain]] + (ops[2:3] if at == 1 else []) if len(ops) > plain else []
        if any(op.kind == O_ADDR and op.elems for op in without):
            return [f"Arguments mismatch for instruction '{name}'"]
    barrier = ops[2].var if at == 1 and len(ops) > 2 and ops[2].kind in (O_ADDR, O_SYM) else None
    if barrier is not None and barrier.space not in ("reg", "shared"):
        return [f"State space mismatch between instruction and address in instruction '{name}'"]
    return []


def _vector(name: str, elems: list[Operand], number: int, count: int, bits: int) -> list[str]:
    """Error messages on the length of a vector in an address and on the width of its registers."""
    if not elems or elems[0].kind != O_VEC:
        return [f"Arguments mismatch for instruction '{name}'"]
    values = elems[0].elems
    if len(values) != count:
        return [f"Argument {number} of instruction '{name}': Argument vector size mismatch"]
    if any(v.kind == O_REG and v.var is not None and TYPE_BITS[v.var.type] != bits for v in values):
        return [f"Arguments mismatch for instruction '{name}'"]
    return []
