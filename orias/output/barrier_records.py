"""The cubin's records of a kernel's mbarrier objects: MBARRIER_INSTR_OFFSETS, NUM_MBARRIERS and INSTR_REG_MAP.

Formats and numbers come from the cubins of ptxas 13.0.88 and from cuobjdump's text of them.  A record has four words:
offset of the instruction, R register of the address (255: none), immediate offset, and a word with uniform register,
stride code 1 and kind of operation in bytes 2, 1 and 0.  The register map has the register of a count (noComplete,
sm_90) or of the tested state or parity (up to sm_89).
"""

from typing import Final

from orias.cubin.model import KernelCode
from orias.isa.op import Op
from orias.isa.operand import imm_value, payload
from orias.lower.frame.program import Kernel
from orias.ori.ir import Inst
from orias.ptx.ast import Function, Instr

_INIT: Final = 0
_KINDS: Final[dict[str, int]] = {
    "mbarrier.init": _INIT, "mbarrier.arrive": 1, "mbarrier.arrive_drop": 3, "mbarrier.test_wait": 5, "cp.async.mbarrier.arrive": 7,
    "mbarrier.inval": 8, "mbarrier.try_wait": 9, "mbarrier.expect_tx": 11, "mbarrier.complete_tx": 12,
}  # fmt: skip
"""Kinds of operation; noComplete and parity add one."""
_NO_COMPLETE: Final = (2, 4)
_DROPS: Final = (3, 4)
_WAITS: Final = (5, 6)
_ATTEMPTS: Final = (9, 10)
_WORDS: Final = {_INIT: "EXCH", 8: "CCTL", 11: "A0TR", 12: "A0TX"}
"""Kinds that a modifier of SYNCS tells."""
_BYTES: Final = 16


def describe_mbarriers(code: KernelCode, kernel: Kernel, functions: list[Function], hardware: bool) -> None:
    """Fill in the kernel's mbarrier records.

    `functions`: the PTX functions that its code comes from; `hardware`: SYNCS operations implement the objects.
    """
    kinds = _lines(functions)
    if not kinds:
        return
    none = kernel.entry.target.number("uniform_zero")
    records: list[tuple[int, int, int, int]] = []
    registers: list[int] = []
    at = 0
    for fn in kernel.all_functions():
        for b in fn.blocks:
            for inst in b.insts:
                kind = next((k for k in kinds.get(inst.loc, ()) if _stands_for(inst, k, hardware)), -1)
                if kind >= 0:
                    base, uniform, offset = (payload(o) for o in inst.src[1:4])
                    records.append((at, base, offset & 0xFFFFFFFF, min(uniform, none) << 16 | 1 << 8 | kind))
                    if hardware and kind in _NO_COMPLETE:
                        registers += [at, imm_value(inst.src[4]) << 16 | 0x201, 0xFFFFFFFF]
                    elif not hardware and kind in _WAITS:
                        registers += [at, _tested(b.insts, inst) << 16 | 0x202, 0xFFFFFFFF]
                at += _BYTES
    code.mbarrier_records = records
    code.mbarrier_count = sum(r[3] & 0xFF == _INIT for r in records)
    code.instr_reg_map = b"".join(w.to_bytes(4, "little") for w in registers)


def _lines(functions: list[Function]) -> dict[int, list[int]]:
    """PTX line -> kinds of its mbarrier operations, in their order."""
    out: dict[int, list[int]] = {}
    for f in functions:
        for s in f.body or ():
            if (
                isinstance(s, Instr)
                and s.sig.name in _KINDS
                and ("expect_tx" not in s.sig.mods or s.sig.name == "mbarrier.expect_tx")
            ):
                more = "noComplete" in s.sig.mods or "parity" in s.sig.mods
                out.setdefault(s.line, []).append(_KINDS[s.sig.name] + more)
    return out


def _stands_for(inst: Inst, kind: int, hardware: bool) -> bool:
    """True if the record of an operation of this kind is about this instruction of its line, which may have operations of other kinds too."""
    op = inst.op
    if kind == 7:
        return op.base == "ARRIVES"
    if hardware:
        return op.base == "SYNCS" and _is_of_kind(op, kind)
    if kind == _INIT:
        return op.base == "STS"
    if kind in _WAITS:
        return op.base == "LDS"
    if kind in _NO_COMPLETE:
        return op.base == "ATOMS" and op.has("ADD") and imm_value(inst.src[3]) & 7 == 4
    return op.base == "ATOMS" and op.has("ARRIVE")


def _is_of_kind(op: Op, kind: int) -> bool:
    """True for the SYNCS operations of a kind; arrivals that expect bytes, which have no record, are of none."""
    if kind in _WORDS:
        return op.has(_WORDS[kind])
    if kind in _WAITS or kind in _ATTEMPTS:
        # A try_wait with a time tests once more, without TRYWAIT.
        return op.has("PHASECHK") and op.has("TRYWAIT") == (kind in _ATTEMPTS)
    if op.has("OPTOUT") != (kind in _DROPS):
        return False
    # An arrival that completes no phase needs no mask of threads if nobody asks for its state.
    return op.has("ART0") if kind in _NO_COMPLETE else not op.has("TMASK") and (op.has("A1T0") or op.has("ART0"))


def _tested(insts: list[Inst], load: Inst) -> int:
    """The register that a loaded value is compared with (in the next LOP3 that reads it); 255 if it is RZ or not found."""
    following = insts[insts.index(load) + 1 :]
    value = load.dst[0]
    for inst in following:
        if inst.op.base == "LOP3" and inst.src and inst.src[0] == value:
            return min(imm_value(inst.src[2]), 255)
    return 255
