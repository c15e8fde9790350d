"""What the cubin says of a kernel's barrier objects: MBARRIER_INSTR_OFFSETS, NUM_MBARRIERS and INSTR_REG_MAP.

Formats and numbers read off the cubins of ptxas 13.0.88 (and what cuobjdump prints for them).  A record has four words: offset of the
instruction, R register of the address (255: none), immediate offset, and uniform register, stride code 1 and kind of operation in bytes 2, 1
and 0.  The register map names the register of a count (noComplete, sm_90) or of the state or parity that is tested (up to sm_89).
"""

from typing import Final

from orias.cubin.model import KernelCode
from orias.isa.operand import PAYLOAD_SHIFT
from orias.lower.program import Kernel
from orias.ori.ir import Inst
from orias.ptx.ast import Function, Instr

_INIT: Final = 0
_KINDS: Final[dict[str, int]] = {
    "mbarrier.init": _INIT, "mbarrier.arrive": 1, "mbarrier.arrive_drop": 3, "mbarrier.test_wait": 5, "cp.async.mbarrier.arrive": 7,
    "mbarrier.inval": 8, "mbarrier.try_wait": 9, "mbarrier.expect_tx": 11, "mbarrier.complete_tx": 12,
}  # fmt: skip
"""Kinds of operation; noComplete and parity add one."""
_NO_COMPLETE: Final = (2, 4)
_WAITS: Final = (5, 6)
_BYTES: Final = 16
_BASES: Final = frozenset(("SYNCS", "ARRIVES", "STS", "ATOMS", "LDS"))


def describe_mbarriers(code: KernelCode, kernel: Kernel, functions: list[Function], sm: int) -> None:
    """Fill in the kernel's records; `functions` are those in PTX that its code comes from."""
    kinds = _lines(functions)
    if not kinds:
        return
    records: list[tuple[int, int, int, int]] = []
    registers: list[int] = []
    at = 0
    for fn in kernel.all_functions():
        for b in fn.blocks:
            for inst in b.insts:
                kind = kinds.get(inst.loc, -1) if inst.op.base in _BASES else -1
                if kind >= 0 and _stands_for(inst, kind, sm):
                    base, uniform, offset = (o >> PAYLOAD_SHIFT for o in inst.src[1:4])
                    records.append((at, base, offset & 0xFFFFFFFF, min(uniform, 63) << 16 | 1 << 8 | kind))
                    if sm >= 90 and kind in _NO_COMPLETE:
                        registers += [at, (inst.src[4] >> PAYLOAD_SHIFT) << 16 | 0x201, 0xFFFFFFFF]
                    elif sm < 90 and kind in _WAITS:
                        registers += [at, _tested(b.insts, inst) << 16 | 0x202, 0xFFFFFFFF]
                at += _BYTES
    code.mbarrier_records = records
    code.mbarrier_count = sum(r[3] & 0xFF == _INIT for r in records)
    code.instr_reg_map = b"".join(w.to_bytes(4, "little") for w in registers)


def _lines(functions: list[Function]) -> dict[int, int]:
    """The kind of operation on each PTX line that has one."""
    out: dict[int, int] = {}
    for f in functions:
        for s in f.body or ():
            if (
                isinstance(s, Instr)
                and s.sig.name in _KINDS
                and ("expect_tx" not in s.sig.mods or s.sig.name == "mbarrier.expect_tx")
            ):
                more = "noComplete" in s.sig.mods or "parity" in s.sig.mods
                out[s.line] = _KINDS[s.sig.name] + more
    return out


def _stands_for(inst: Inst, kind: int, sm: int) -> bool:
    """True if an instruction of such a line is the one to record."""
    op = inst.op
    if kind == 7:
        return op.base == "ARRIVES"
    if sm >= 90:
        if op.base != "SYNCS":
            return False
        return op.has("TRYWAIT") if kind in (9, 10) else True
    if kind == _INIT:
        return op.base == "STS"
    if kind in _WAITS:
        return op.base == "LDS"
    if kind in _NO_COMPLETE:
        return op.base == "ATOMS" and op.has("ADD") and (inst.src[3] >> PAYLOAD_SHIFT) & 7 == 4
    return op.base == "ATOMS" and op.has("ARRIVE")


def _tested(insts: list[Inst], load: Inst) -> int:
    """The register that the value of a load is compared with (the next LOP3 that reads it); 255 if it is zero or elsewhere."""
    following = insts[insts.index(load) + 1 :]
    value = load.dst[0]
    for inst in following:
        if inst.op.base == "LOP3" and inst.src and inst.src[0] == value:
            return min(inst.src[2] >> PAYLOAD_SHIFT, 255)
    return 255
