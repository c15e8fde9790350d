"""Compiles a kernel and all functions that it can call to plans of the engine."""

from typing import Any, Final

import numpy.typing as npt

from orias.ptx.ast import Function, Instr, Label
from orias.sim.core.engine import Flow, Plan
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Exec
from orias.sim.core.state import Active, Machine
from orias.sim.ptx.loaded_module import LoadedModule
from orias.sim.ptx.ptx_async import ASYNCHRONOUS
from orias.sim.ptx.ptx_convert import CONVERT
from orias.sim.ptx.ptx_float import FLOAT
from orias.sim.ptx.ptx_flow import FLOW, leave, synchronised
from orias.sim.ptx.ptx_integer import INTEGER, Builder, floating
from orias.sim.ptx.ptx_matrix import MATRIX
from orias.sim.ptx.ptx_memory import MEMORY
from orias.sim.ptx.ptx_site import PtxSite, Step
from orias.sim.ptx.ptx_texture import TEXTURE
from orias.sim.ptx.ptx_units import Operation, Program, Unit, refuse
from orias.sim.ptx.ptx_video import VIDEO
from orias.sim.ptx.ptx_warp import COLLECTIVES, WARP, meeting, members
from orias.sim.ptx.ptx_wmma import WMMA
from orias.sim.ptx.tensor import TENSOR

Arr = npt.NDArray[Any]

_NOTHING: Final = frozenset((
    "membar", "fence", "prefetch", "prefetchu", "applypriority", "discard", "cp.async.commit_group", "cp.async.wait_group",
    "cp.async.wait_all", "griddepcontrol", "pmevent", "setmaxnreg", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
    "cp.async.bulk.commit_group", "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor", "fence.proxy",
    "tcgen05.relinquish_alloc_permit", "tcgen05.wait::ld", "tcgen05.wait::st", "tcgen05.fence::before_thread_sync",
    "tcgen05.fence::after_thread_sync",
))  # fmt: skip
"""Instructions without effect here: memory is sequentially consistent; copies and warpgroup products are done at once."""
_POLLS: Final = frozenset(("atom", "mbarrier.test_wait", "mbarrier.try_wait"))


def _nothing(m: Machine, a: Active) -> None:
    """The step of an instruction without effect."""


def _builder(s: PtxSite) -> Builder | None:
    t = s.types[-1] if s.types else ""
    name = s.name
    if name in FLOAT and (floating(t) or name not in INTEGER):
        return FLOAT[name]
    for table in (INTEGER, MEMORY, CONVERT, WARP, VIDEO, MATRIX, WMMA, TENSOR, ASYNCHRONOUS, TEXTURE):
        if name in table:
            return table[name]
    return None


def compile_kernel(image: LoadedModule, kernel: Function) -> Program:
    """The program of a kernel: the plans of all functions that it reaches, then those of its collectives."""
    program = Program(image, kernel)
    for u in program.units:
        _emit(program, u)
    for text, operation in program.operations.items():
        _emit_operation(program, text, operation)
    return program


def _emit(program: Program, u: Unit) -> None:
    u.start = len(program.plans)
    body = u.function.body or []
    for statement in body:
        if isinstance(statement, Label):
            u.label(statement)[0] = len(program.plans)
        elif isinstance(statement, Instr):
            for run, flow in _steps(program, u, statement):
                program.plans.append(_plan(u, statement, run, flow))
    end = Plan(body[-1].line if body and isinstance(body[-1], Instr) else u.function.line, lambda: "end of function")
    if u.function.entry:

        def finish(e: Any, a: Active, rest: Active | None, pc: int) -> int:
            e.exit(a)
            return -1

        end.flow = finish
    else:
        end.flow = leave(u)
    program.plans.append(end)


def _emit_operation(program: Program, text: str, operation: Operation) -> None:
    """What the threads of all collectives with one text run together, after the functions."""
    operation.start = len(program.plans)
    plan = Plan(operation.line, lambda: text)
    plan.run = operation.run
    end = Plan(operation.line, lambda: text)
    end.flow = lambda e, a, rest, pc: e.end_collective(a, rest, pc)
    program.plans += [plan, end]


def _steps(program: Program, u: Unit, i: Instr) -> list[Step]:
    s = PtxSite(program, u, i)
    try:
        if i.sig.name in _NOTHING:
            return [(_nothing, None)]
        flow = FLOW.get(i.sig.name)
        if flow is not None:
            return flow(s)
        if s.name in COLLECTIVES and members(s) is not None:
            return meeting(s)
        build = _builder(s)
        if build is None:
            raise s.unknown()
        return synchronised(s, build(s))
    except Fault as f:
        return [(refuse(f.message), None)]
    except (KeyError, IndexError, ValueError, AssertionError, AttributeError) as e:
        return [(refuse(f"{i.sig.text} is not interpreted: {type(e).__name__}: {e}"), None)]


def _plan(u: Unit, i: Instr, run: Exec | None, flow: Flow | None) -> Plan:
    text = i.sig.text
    plan = Plan(i.line, lambda: text)
    plan.run, plan.flow = run, flow
    plan.polls = i.sig.name in _POLLS or "order" in i.sig.mods
    if i.pred is not None:
        row, _, _ = u.rows[id(i.pred.var)]
        if i.pred.neg:
            plan.guard = lambda m, a: ~m.P[row][a.sel]
        else:
            plan.guard = lambda m, a: m.P[row][a.sel]
    return plan
