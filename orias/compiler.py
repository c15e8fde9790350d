"""The compiler driver: PTX text in, cubin out.

parse -> check -> lower -> (phases on each function) -> emit -> cubin.  Helpers are compiled before the functions that
call them, so that callers know which registers a call may change.
"""

import time
from typing import final

from orias.analysis.liveness import live_across
from orias.cubin.cubin_error import CubinError
from orias.diag import CompileError, Diagnostic, Unsupported
from orias.isa.isa_table import load
from orias.lower.frame.module import lower_module
from orias.lower.frame.program import Kernel, LowerOptions
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.decisions import Decision, distinct
from orias.ori.ir import Func
from orias.output.advice import advice, kernel_decisions
from orias.output.debug_records import missing_sections
from orias.output.emit import EmittedText, emit
from orias.output.module_cubin import make_cubin
from orias.output.result import CompileResult
from orias.passes.wgmma_calls import note_blocking_calls
from orias.pipeline.functions import Trace
from orias.pipeline.runner import Runner
from orias.ptx.ast import Module
from orias.ptx.double_warnings import double_uses
from orias.ptx.module_checks import check
from orias.ptx.module_inputs import merge, restrict
from orias.ptx.parser import parse
from orias.ptx.pragmas import knob_pragmas
from orias.ptx.targets import newest_of
from orias.regalloc.register_allocation import set_known_clobbers
from orias.regalloc.register_budget import register_counts
from orias.schedule.texture_quads import reserve as reserve_quads
from orias.target.profile import TARGETS, Target
from orias.target.register_steps import MOST_REGISTERS, SYSTEM_REGISTERS


def compile_text(sources: list[tuple[str, str | bytes]], options: Options, trace: Trace | None = None) -> CompileResult:
    """Compile PTX sources (name, text) into one cubin.

    Raises CompileError with every diagnostic if the input cannot be compiled.  ``trace`` is called after each phase
    of each function with the phase's name and the function.
    """
    return _Compiler(options, trace).run(sources)


@final
class _Compiler:
    __slots__ = ("decisions", "diagnostics", "options", "target", "times", "trace")

    def __init__(self, options: Options, trace: Trace | None) -> None:
        self.options: Options = options
        self.trace: Trace | None = trace
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}
        self.decisions: list[Decision] = []
        arch = options.arch
        if arch not in TARGETS:
            raise CompileError([Diagnostic("fatal", f"Value '{arch}' is not defined for option 'gpu-name'")])
        self.target: Target = TARGETS[arch]

    def run(self, sources: list[tuple[str, str | bytes]]) -> CompileResult:
        start = time.perf_counter()
        sources = [merge(sources)]
        try:
            module = self._front_end(sources)
            start = self._clock("front end", start)
            program = lower_module(
                module, self.target, LowerOptions(self.options.compile_only, self.options.opt_level, self.options.debug)
            )
            start = self._clock("lower", start)
            runner = Runner(self.options, self.trace)
            texts: list[EmittedText] = []
            for kernel in program.kernels:
                self._phases(kernel, runner, module.pragmas)
                if not runner.stopped:
                    texts.append(self._emit(kernel))
            start = time.perf_counter()
            if runner.stopped:
                result = CompileResult(self.options.arch, b"")
            else:
                result = make_cubin(module, program, texts, sources[0][1], self.options, self.target)
        except Unsupported as e:
            raise CompileError([*self.diagnostics, Diagnostic("error", e.message, e.line)]) from e
        except CubinError as e:
            raise CompileError([*self.diagnostics, Diagnostic("fatal", f"Internal error: {e}")]) from e
        self._clock("cubin", start)
        result.diagnostics = self.diagnostics
        result.times = self.times
        result.phases = runner.times()
        result.remarks = distinct(self.decisions)
        return result

    def _clock(self, stage: str, start: float) -> float:
        now = time.perf_counter()
        self.times[stage] = self.times.get(stage, 0.0) + now - start
        return now

    def _front_end(self, sources: list[tuple[str, str | bytes]]) -> Module:
        name, text = sources[0]
        newest = newest_of(self.options.release)
        module = parse(text, name, newest)
        self.diagnostics.extend(module.warnings)
        restrict(module, self.options)
        if "debug" in module.target_options:
            self._debug_target()
        if self.options.debug:
            self.diagnostics.extend(missing_sections(module))
        if self.options.warn_double:
            self.diagnostics.extend(double_uses(module))
        found = check(module, self.target, self.options.compile_only)
        self.diagnostics.extend(found)
        if any(d.severity in ("error", "fatal") for d in found):
            raise CompileError(self.diagnostics)
        return module

    def _debug_target(self) -> None:
        """Apply ``.target ..., debug``, which has the effect of -g."""
        if self.options.level_given and self.options.opt_level:
            raise CompileError([*self.diagnostics, Diagnostic("fatal", "Optimized debugging not supported")])
        self.options.debug = True
        self.options.opt_level = 0

    # --- one kernel --------------------------------------------------------------------------------------------

    def _phases(self, kernel: Kernel, runner: Runner, pragmas: list[str]) -> None:
        done: dict[str, Func] = {}
        knobs = self.options.knobs.values(kernel.entry.name, knob_pragmas(kernel.ptx, pragmas))
        for fn in kernel.all_functions():
            fn.knobs = knobs
        limits = register_counts(kernel, self.options, self.target, self.diagnostics)
        copies = self.options.own_sections or any(
            i.op.base == "LDGSTS" for f in kernel.all_functions() for i in f.insts()
        )
        note_blocking_calls(kernel.in_order(), self.options.own_sections)
        for fn in kernel.in_order():
            fn.max_regs = min(fn.max_regs, limits[fn is kernel.entry])
            if not kernel.entry.entry_regs:
                fn.max_regs = min(fn.max_regs, knobs.max_reg_count)
        reserve_quads(kernel.all_functions())
        for fn in kernel.in_order():
            fn.beside_async_copies = copies
            if not self.options.fmad:
                fn.contract.clear()
            fn.stack_check = self.options.stack_check
            fn.decisions = [] if self.options.remarks else None
            set_known_clobbers(fn, done)
            if fn.private and fn.max_regs < MOST_REGISTERS and not _leaves_registers(kernel, fn, runner):
                fn.private = False
            start = time.perf_counter()
            runner.run(fn)
            self._clock("phases", start)
            if fn.clobbers is not None and (fn.kind == "helper" or fn.private):
                done[fn.name] = fn
        self.diagnostics.extend(advice(kernel))
        if self.options.remarks:
            self.decisions.extend(kernel_decisions(kernel))

    def _emit(self, kernel: Kernel) -> EmittedText:
        start = time.perf_counter()
        text = emit(
            kernel.all_functions(),
            load(self.target.table),
            self.target,
            self.options.own_sections,
            kernel.pointers,
            self.options.self_check,
        )
        self._clock("emit", start)
        return text


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
