"""OriReassociateAndCommon: addresses of tensor memory that differ by constants share one uniform register.

A load or store of tensor memory takes its address as a uniform register and an offset of 32 bits.  Constants that are
added before the value is copied to the uniform register (R2UR) go to the offset, and the operations of a block share the
copies.  ptxas 13.0.88 has one copy for the 512 loads of a CUTLASS epilogue too.
"""

from typing import Final

from orias.isa.op import TENSOR, op
from orias.isa.operand import (
    K_IMM,
    K_R,
    K_UR,
    PT,
    RZ,
    Opnd,
    has_modifiers,
    imm,
    imm64,
    imm_signed,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    kind_of,
)
from orias.ori.ir import Func, Inst
from orias.passes.def_use import Values

_COPY: Final = op("R2UR")
_ADD: Final = op("IADD3")


def share_tensor_addresses(fn: Func) -> bool:
    """Rewrite the addresses of a function in SSA; True if any changed."""
    if not any(i.op.space == TENSOR for i in fn.insts()):
        return False
    values = Values(fn)
    changed = False
    for b in fn.blocks:
        copies: dict[Opnd, Opnd] = {}
        """The uniform register with a value, in this block."""
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op.space == TENSOR and _rewrite(fn, values, inst, copies, out):
                changed = True
            out.append(inst)
        b.insts = out
    return changed


def _rewrite(fn: Func, values: Values, inst: Inst, copies: dict[Opnd, Opnd], out: list[Inst]) -> bool:
    copy = values.definition(inst.src[0])
    if copy is None or copy.op is not _COPY or copy.guard != PT or len(copy.dst) != 1 or not _plain(copy.src[0]):
        return False
    base, offset = _split(values, copy.src[0], fn.knobs.tensor_address_depth)
    shared = copies.get(base)
    if shared is None:
        if base == copy.src[0]:
            copies[base] = inst.src[0]
            return False
        shared = fn.new_vreg(K_UR)
        out.append(fn.new_inst(_COPY, [shared], [base], loc=inst.loc))
        copies[base] = shared
    elif shared == inst.src[0]:
        return False
    rest = inst.src[1:]
    if rest and is_imm(rest[0]):
        offset += imm_value(rest.pop(0))
    signed = imm_signed(imm(offset))
    inst.src = [shared, imm64(signed), *rest] if signed else [shared, *rest]
    return True


def _plain(o: Opnd) -> bool:
    return is_vreg(o) and in_file(o, K_R) and not has_modifiers(o)


def _split(values: Values, o: Opnd, depth: int) -> tuple[Opnd, int]:
    """A word as (value, constant) whose sum it is; `depth` additions are followed."""
    offset = 0
    for _ in range(depth):
        d = values.definition(o)
        if d is None or d.op is not _ADD or d.guard != PT or o != d.dst[0]:
            break
        terms = [s for s in d.src[:3] if s not in (RZ, K_IMM)]
        constants = [s for s in terms if kind_of(s) == K_IMM]
        others = [s for s in terms if kind_of(s) != K_IMM]
        if len(d.src) != 3 or len(others) != 1 or not _plain(others[0]):
            break
        offset += sum(imm_value(s) for s in constants)
        o = others[0]
    return o, offset
