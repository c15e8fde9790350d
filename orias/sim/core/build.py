"""Builds plans from decoded instructions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from orias.isa.decode import Decoded
from orias.isa.op import F_ATOMIC, Op
from orias.isa.operand import INV, K_P, K_UP, K_UR, K_WORD, PT, UPT, Opnd, in_file, kind_of, payload
from orias.sim.core.engine import Plan
from orias.sim.core.known_modifiers import unknown
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter, Site, constant_bool
from orias.sim.core.state import Active, Machine
from orias.sim.matrix import exec_mma, exec_tensor, exec_tmem, exec_warpgroup
from orias.sim.sass import (
    exec_async,
    exec_copy,
    exec_f2fp,
    exec_float,
    exec_flow,
    exec_int,
    exec_mem,
    exec_packed,
    exec_special,
    exec_warp,
)
from orias.sim.texture import exec_quad, exec_texture

_NOTHING: Final = frozenset((
    "NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "CCTLT", "FENCE", "PMTRIG", "ACQBULK",
    "PREEXIT", "UTMACCTL", "UBLKPF", "UTMAPF",
))  # fmt: skip
"""Instructions without effect in the simulator: memory is sequentially consistent, and copies are done at once."""

_PLAIN: Final[dict[str, Any]] = {
    **exec_int.BUILDERS,
    **exec_special.BUILDERS,
    **exec_float.BUILDERS,
    **exec_f2fp.BUILDERS,
    **exec_packed.BUILDERS,
    **exec_mem.BUILDERS,
    **exec_warp.BUILDERS,
    **exec_mma.BUILDERS,
    **exec_tensor.BUILDERS,
    **exec_warpgroup.BUILDERS,
    **exec_async.BUILDERS,
    **exec_copy.BUILDERS,
    **exec_tmem.BUILDERS,
    **exec_texture.BUILDERS,
    **exec_quad.BUILDERS,
    "DEPBAR": exec_async.depbar,
    **exec_flow.BUILDERS,
}


_TRACKED: Final = frozenset((
    *exec_int.BUILDERS, *exec_special.BUILDERS, *exec_float.BUILDERS, *exec_f2fp.BUILDERS, *exec_packed.BUILDERS,
    *exec_mem.BUILDERS, *exec_warp.BUILDERS, *exec_mma.BUILDERS, "BSSY", "BRA", "EXIT", "BSYNC", "BREAK", "WARPSYNC", "BAR", "YIELD",
))  # fmt: skip
"""Operations that write registers by setters of a site only."""
_BY_ELEMENT: Final = frozenset((
    "IADD3", "IADD", "VIADD", "IMAD", "LEA", "SHF", "LOP3", "PLOP3", "MOV", "SEL", "PRMT", "ISETP", "IMNMX", "VIMNMX", "POPC", "FLO",
    "BREV", "IABS", "SGXT", "BMSK", "FADD", "FMUL", "FFMA", "FSETP", "FSEL", "FMNMX", "I2F", "I2FP", "F2I",
))  # fmt: skip
"""Operations whose result in a thread depends on registers of this thread only, and that cannot fail."""


def _nothing(m: Machine, a: Active) -> None:
    """The closure of instructions without effect."""


def builder_of(op: Op) -> Callable[..., Any] | None:
    """The function that gives an operation its meaning, None for one that is not simulated."""
    if op.base in _NOTHING:
        return _nothing
    found: Callable[..., Any] | None = exec_flow.FLOW_BUILDERS.get(op.base) or _PLAIN.get(op.means or op.base)
    return found


def _refuse(message: str) -> Exec:
    def run(m: Machine, a: Active) -> None:
        raise Fault(IllegalInstruction, message, 0)

    return run


def guard_of(g: Opnd) -> Getter | None:
    """The guard of an instruction as a getter, None for PT."""
    if g in (PT, UPT):
        return None
    p = payload(g)
    inverted = bool(g & INV)
    if p == 7:
        return constant_bool(not inverted)
    if in_file(g, K_P):
        if inverted:
            return lambda m, a: ~m.P[p][a.sel]
        return lambda m, a: m.P[p][a.sel]
    assert in_file(g, K_UP)
    return lambda m, a: m.UP[p][a.warp_of] ^ np.bool_(inverted)


_LIMIT: Final = 1 << 15
_closures: dict[tuple[Any, ...], tuple[Exec, bool]] = {}
"""(closure, whether it polls) by operation and operands, because the code of a module repeats instructions."""


def placed(d: Decoded) -> bool:
    """True if the effect of an instruction depends on its address."""
    return d.op.base in exec_flow.FLOW_BUILDERS or d.op.base == "LEPC"


def build(d: Decoded, offset: int, address: int, text: Callable[[], str]) -> Plan:
    """The plan of one instruction; an instruction that cannot be simulated fails when it is executed."""
    plan = Plan(offset, text)
    plan.guard = guard_of(d.guard)
    plan.guard_by_element = plan.guard is not None
    means = d.op.means or d.op.base
    plan.tracked = means in _TRACKED or means in _NOTHING
    plan.by_element = (
        means in _BY_ELEMENT and d.op.means == "" and not any(in_file(o, K_UR) or in_file(o, K_UP) for o in d.dst)
    )
    if placed(d):
        _build(plan, d, address)
        return plan
    key = (d.op.ident, tuple(d.dst), tuple(d.src))
    known = _closures.get(key)
    if known is None:
        _build(plan, d, address)
        if len(_closures) >= _LIMIT:
            _closures.clear()
        if plan.run is not None:
            _closures[key] = plan.run, plan.polls
    else:
        plan.run, plan.polls = known
    return plan


def _build(plan: Plan, d: Decoded, address: int) -> None:
    base = d.op.base
    if base in _NOTHING:
        plan.run = _nothing
        return
    strange = unknown(d.op, d.op.means or base)
    if strange:
        plan.run = _refuse(f"{d.op.name} is not simulated: modifier {strange[0]}")
        return
    uniform = d.op.means != ""
    site = Site(d.op, d.dst, d.src, address, uniform)
    try:
        if base == "BMOV" and exec_quad.touches_active(site):
            if site.dst and kind_of(site.dst[0]) == K_WORD:
                plan.flow = exec_quad.write_active(site)
            else:
                plan.run = exec_quad.read_active(site)
            return
        flow = exec_flow.FLOW_BUILDERS.get(base)
        if flow is not None:
            plan.flow = flow(site)
            return
        builder = exec_async.atoms_arrive if base == "ATOMS" and d.op.has("ARRIVE") else _PLAIN.get(d.op.means or base)
        if builder is None:
            plan.run = _refuse(f"{d.op.name} is not simulated")
            return
        plan.run = builder(site)
    except Fault as f:
        plan.run = _refuse(f.message)
    except (StopIteration, IndexError, AssertionError):
        plan.run = _refuse(f"this form of {d.op.name} is not simulated")
    plan.polls = d.op.flags & F_ATOMIC != 0 or base == "SYNCS" or d.op.has("STRONG") or d.op.has("MMIO")


def illegal(offset: int, message: str) -> Plan:
    """The plan of a word that is no instruction."""
    plan = Plan(offset, lambda: "")
    plan.run = _refuse(message)
    return plan
