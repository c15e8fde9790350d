"""The compile of one kernel: the phases on its functions, and their code.

Helpers are compiled before the functions that call them, so that callers know which registers a call may change.
"""

import time
from typing import final

from orias.analysis.liveness import live_across
from orias.cubin.model import CubinModule
from orias.diag import CompileError, Diagnostic, Unsupported
from orias.isa.isa_table import load
from orias.lower.frame.program import Kernel
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.decisions import Decision
from orias.ori.ir import Func
from orias.output.advice import advice, kernel_decisions
from orias.output.callee_writes import callees_first, note_writes
from orias.output.emit import EmittedText, emit
from orias.output.module_cubin import kernel_part
from orias.output.result import KernelPart
from orias.passes.instrument import show_errors_at_exit, steer_threads
from orias.passes.wgmma_calls import note_blocking_calls
from orias.pipeline.functions import Trace
from orias.pipeline.phases import PHASES
from orias.pipeline.runner import Runner
from orias.ptx.ast import Module
from orias.ptx.pragmas import knob_pragmas
from orias.regalloc.register_allocation import set_known_clobbers
from orias.regalloc.register_budget import block_warps, most_warps, register_counts
from orias.regalloc.shared_spills import shared_spills
from orias.schedule.texture_quads import reserve as reserve_quads
from orias.target import features
from orias.target.profile import Target
from orias.target.register_steps import MOST_REGISTERS, SYSTEM_REGISTERS


@final
class KernelCompiler:
    """Compiles kernels of one module; what it has to say is added to ``diagnostics``, what passes decided to ``decisions``."""

    __slots__ = ("decisions", "diagnostics", "options", "target", "trace")

    def __init__(self, options: Options, target: Target, trace: "Trace | None", diagnostics: list[Diagnostic]) -> None:
        self.options: Options = options
        self.target: Target = target
        self.trace = trace
        self.diagnostics: list[Diagnostic] = diagnostics
        self.decisions: list[Decision] = []

    def run_phases(
        self, kernel: Kernel, runner: Runner, pragmas: list[str], apart: "dict[str, Func] | None" = None
    ) -> None:
        """Run all phases on the functions of a kernel.

        `pragmas`: those of the module; `apart`: the compiled helpers with sections of their own, to which it may be added.
        """
        done: dict[str, Func] = {} if apart is None else dict(apart)
        knobs = self.options.knobs.values(kernel.entry.name, knob_pragmas(kernel.ptx, pragmas))
        for fn in kernel.all_functions():
            fn.knobs = knobs
        limits = register_counts(kernel, self.options, self.target, self.diagnostics)
        copies = self.options.own_sections or any(
            i.op.base == "LDGSTS" for f in kernel.all_functions() for i in f.insts()
        )
        note_blocking_calls(kernel.in_order(), self.options.own_sections)
        warps = most_warps(kernel, self.target)
        for fn in kernel.in_order():
            fn.most_warps, fn.block_warps = warps, block_warps(kernel)
            fn.max_regs = min(fn.max_regs, limits[fn is kernel.entry])
            if not kernel.entry.entry_regs:
                fn.max_regs = min(fn.max_regs, knobs.max_reg_count)
        kernel.entry.shared_spills = shared_spills(kernel, self.options, self.target, self.diagnostics)
        reserve_quads(kernel.all_functions())
        for fn in kernel.in_order():
            fn.beside_async_copies = copies
            if not self.options.fmad:
                fn.contract.clear()
            fn.stack_check = self.options.stack_check
            fn.spares_uniform = not self.options.uniform_registers
            fn.keep_warp_barriers = self.options.keep_warp_barriers
            fn.decisions = [] if self.options.remarks else None
            if not self.options.constant_bank:
                fn.pool = None
            if self.options.errors_at_exit:
                show_errors_at_exit(fn)
            if self.options.thread_steering:
                steer_threads(fn)
            set_known_clobbers(fn, done)
            if fn.private and fn.max_regs < MOST_REGISTERS and not _leaves_registers(kernel, fn, runner):
                fn.private = False
            runner.run(fn)
            if fn.clobbers is not None and (fn.kind == "helper" or fn.private):
                done[fn.name] = fn
                if apart is not None and kernel.is_helper:
                    apart[fn.name] = fn
        if kernel.entry.shared_end > kernel.shared_size:
            kernel.shared_scratch = kernel.entry.shared_end - kernel.shared_size
            kernel.shared_size = kernel.entry.shared_end
        self.diagnostics.extend(advice(kernel))
        if self.options.remarks:
            self.decisions.extend(kernel_decisions(kernel))

    def emit(self, kernel: Kernel) -> EmittedText:
        """The instruction words of a kernel whose phases have run."""
        return emit(
            kernel.all_functions(),
            load(self.target.table),
            self.target,
            self.options.own_sections,
            kernel.pointers,
            self.options.compile_only and self.target.has(features.UNIFIED_FUNCTIONS),
            self.options.self_check,
        )

    def part(self, kernel: Kernel, out: CubinModule, module: Module) -> "KernelPart | CompileError | Unsupported":
        """Compile one kernel of a module whose kernels share nothing; returns what goes wrong."""
        before, self.diagnostics = self.diagnostics, []
        decided, self.decisions = self.decisions, []
        try:
            start = time.perf_counter()
            runner = Runner(self.options, self.trace)
            self.run_phases(kernel, runner, module.pragmas)
            middle = time.perf_counter()
            text = self.emit(kernel)
            part = kernel_part(kernel, text, out, module, self.options, self.target, [kernel])
            part.info.start = start
            part.emit_seconds = time.perf_counter() - middle
            part.info.seconds = time.perf_counter() - start
            part.diagnostics = self.diagnostics
            part.decisions = self.decisions
            part.phases, part.spans = runner.times(), runner.spans()
        except (CompileError, Unsupported) as e:
            return e
        finally:
            self.diagnostics = before
            self.decisions = decided
        return part

    def together(
        self, kernels: list[Kernel], out: CubinModule, module: Module, runner: Runner
    ) -> tuple[list[KernelPart], list[EmittedText]]:
        """Compile the kernels of a module whose kernels call functions of each other."""
        compiled: dict[int, tuple[EmittedText, tuple[float, float, float]]] = {}
        said: dict[int, tuple[list[Diagnostic], list[Decision]]] = {}
        written: dict[str, int] | None = None if out.relocatable else {}
        debug = self.options.debug
        apart: dict[str, Func] = {}
        for k in callees_first(kernels):
            kernel = kernels[k]
            diagnostics, decisions = len(self.diagnostics), len(self.decisions)
            start = time.perf_counter()
            kernel.entry.callee_writes = written
            try:
                self.run_phases(kernel, runner, module.pragmas, apart)
            except CompileError as e:
                raise CompileError([*self.diagnostics, *e.diagnostics]) from e
            if debug:
                note_writes(kernel.entry)
            middle = time.perf_counter()
            text = self.emit(kernel)
            compiled[k] = text, (start, middle, time.perf_counter())
            said[k] = self.diagnostics[diagnostics:], self.decisions[decisions:]
            del self.diagnostics[diagnostics:], self.decisions[decisions:]
        for k in range(len(kernels)):
            self.diagnostics.extend(said[k][0])
            self.decisions.extend(said[k][1])
        texts = [compiled[k][0] for k in range(len(kernels))]
        times = [compiled[k][1] for k in range(len(kernels))]
        parts: list[KernelPart] = []
        for kernel, text, (start, middle, end) in zip(kernels, texts, times, strict=True):
            # What a kernel may reach is known when all functions are compiled.
            beside = kernels if kernel.ptx.entry and not out.relocatable else [kernel]
            part = kernel_part(kernel, text, out, module, self.options, self.target, beside)
            part.info.start, part.info.seconds, part.emit_seconds = start, end - start, end - middle
            parts.append(part)
        if parts:
            parts[0].phases, parts[0].spans = runner.times(), runner.spans()
        return parts, texts


def _leaves_registers(kernel: Kernel, fn: Func, runner: Runner) -> bool:
    """Under a register limit: True if the callers of a private function have registers for the values live across its calls.

    If they do not, the general convention is better: one save in the function replaces spills in many callers.
    """
    held = max((live_across(caller, fn.name) for caller in kernel.all_functions()), default=0)
    if not held:
        return True
    trial = clone(fn)
    runner.try_out(trial)
    assert trial.clobbers is not None
    return trial.clobbers.r.bit_length() + held <= fn.max_regs - SYSTEM_REGISTERS


def sum_phases(parts: list[KernelPart]) -> list[tuple[str, int, float]]:
    """Functions and seconds of each phase over all parts, in the order of the pipeline."""
    runs: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for part in parts:
        for name, count, spent in part.phases:
            runs[name] = runs.get(name, 0) + count
            seconds[name] = seconds.get(name, 0.0) + spent
    return [(p.name, runs[p.name], seconds[p.name]) for p in PHASES if p.name in runs]
