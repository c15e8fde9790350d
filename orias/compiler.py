"""The compiler driver: PTX text in, cubin out.

parse -> check -> lower -> (phases on each function) -> emit -> cubin.  Helpers are compiled before the functions that
call them, so that callers know which registers a call may change.
"""

import os
import time
from typing import TYPE_CHECKING, final

from orias.collector import Seldom
from orias.cubin.cubin_error import CubinError
from orias.cubin.model import CubinModule
from orias.diag import CompileError, Diagnostic, Unsupported
from orias.jobserver import JobServer
from orias.kernel_compiler import KernelCompiler, sum_phases
from orias.lower.frame.program import LowerOptions, Program
from orias.lower.memory.access_checks import checks_accesses
from orias.lower.module import lower_module
from orias.options import Options
from orias.ori.decisions import distinct
from orias.output.emit import EmittedText
from orias.output.module_cubin import cubin_module, make_cubin
from orias.output.result import CompileResult, KernelPart
from orias.peak_memory import peak_memory
from orias.pipeline.functions import Trace
from orias.pipeline.runner import Runner
from orias.ptx.ast import Module
from orias.ptx.input_scopes import has_equal_symbols
from orias.ptx.module_checks import check, check_debug
from orias.ptx.module_inputs import check_heads, input_lines, merge, restrict
from orias.ptx.parser import parse
from orias.ptx.targets import newest_of
from orias.ptx.uniform_needs import uniform_needs
from orias.regalloc.register_budget import with_limit_notes
from orias.split import can_split, work_in_processes
from orias.target.profile import TARGETS, Target

if TYPE_CHECKING:
    from orias.lower.frame.program import Kernel
    from orias.ori.ir import Func
    from orias.progress import Bar, Steps


def compile_text(
    sources: list[tuple[str, str | bytes]], options: Options, trace: "Trace | None" = None, bar: "Bar | None" = None
) -> CompileResult:
    """Compile PTX sources (name, text) into one cubin.

    Raises CompileError with every diagnostic if the input cannot be compiled.  ``trace`` is called after each phase
    of each function with the phase's name and the function.  ``bar`` shows the progress, without a trace.
    """
    compiler = Compiler(options, trace, bar)
    try:
        with Seldom():
            return compiler.run(sources)
    finally:
        if compiler.server is not None:
            compiler.server.close()


@final
class Compiler:
    """One compile: its options, what it has said, and the time and memory of its stages."""

    __slots__ = (
        "alone", "diagnostics", "kernels", "memory", "options", "peak", "server", "steps", "target", "times", "trace"
    )  # fmt: skip

    def __init__(self, options: Options, trace: "Trace | None", bar: "Bar | None") -> None:
        self.options: Options = options
        self.alone: bool = bool(options.verifies or options.dump_before or options.dump_after or trace is not None)
        self.steps: Steps | None = bar.steps() if bar is not None and trace is None else None
        self.trace = trace if self.steps is None else self._step
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self.peak: int = peak_memory()
        self.server: JobServer | None = JobServer() if options.jobserver else None
        arch = options.arch
        if arch not in TARGETS:
            raise CompileError([Diagnostic("fatal", f"Value '{arch}' is not defined for option 'gpu-name'")])
        self.target: Target = TARGETS[arch]
        self.kernels: KernelCompiler = KernelCompiler(options, self.target, self.trace, self.diagnostics)

    def run(self, sources: list[tuple[str, str | bytes]]) -> CompileResult:
        """Compile sources."""
        try:
            return self.finish(*self.lowered(sources))
        except (CubinError, Unsupported) as e:
            raise self.refusal(e) from e

    def refusal(self, e: CompileError | CubinError | Unsupported) -> CompileError:
        """What a compile ends with that is given up, after all that was said before."""
        if isinstance(e, CompileError):
            return CompileError([*self.diagnostics, *e.diagnostics])
        if isinstance(e, Unsupported):
            return CompileError([*self.diagnostics, Diagnostic("error", e.message, e.line)])
        return CompileError([*self.diagnostics, Diagnostic("fatal", f"Internal error: {e}")])

    def lowered(self, sources: list[tuple[str, str | bytes]]) -> tuple[Module, Program, str | bytes]:
        """The module as it was read and as it was lowered, and its text."""
        start = time.perf_counter()
        check_heads(sources, newest_of(self.options.release))
        source = merge(sources, self.options.arch)
        module = self._front_end(source, input_lines(sources))
        start = self._clock("front end", start)
        o = self.options
        drops = not (o.compile_only or o.debug or o.tools_patch or o.cloning)
        shape = (o.compile_only, o.opt_level, o.debug, o.own_sections, o.extensible, o.preserve_relocs)
        checks = o.access_checks and checks_accesses(self.target)
        program = lower_module(module, self.target, LowerOptions(*shape, drops, o.stack_guard, checks, o.first_address))
        self._clock("lower", start)
        return module, program, source[1]

    def finish(self, module: Module, program: Program, text: str | bytes) -> CompileResult:
        """Compile the kernels of a lowered module."""
        start = time.perf_counter()
        out = cubin_module(module, program, text, self.options, self.target)
        self._clock("lower", start)
        runner = Runner(self.options, self.trace)
        parts, texts = self._kernels(module, program, out, runner)
        start = time.perf_counter()
        if runner.stopped:
            result = CompileResult(self.options.arch, b"")
        else:
            result = make_cubin(module, program, out, parts, texts, self.options, self.target)
        self._clock("cubin", start)
        result.diagnostics = self.diagnostics
        result.times = self.times
        result.memory = self.memory
        result.jobserver = self.server is not None and self.server.found
        result.phases = sum_phases(parts) if parts else runner.times()
        result.spans = [span for part in parts for span in part.spans]
        result.remarks = distinct(self.kernels.decisions)
        return result

    # --- all kernels -------------------------------------------------------------------------------------------

    def _kernels(
        self, module: Module, program: Program, out: CubinModule, runner: Runner
    ) -> tuple[list[KernelPart], list[EmittedText]]:
        """Compile every kernel; the codes are returned where a cubin needs them together."""
        kernels = program.kernels
        if runner.stopped:
            for kernel in kernels:
                self.kernels.run_phases(kernel, runner, module.pragmas)
            return [], []
        if self.options.debug or (self.options.own_sections and not self.options.compile_only):
            self._count_steps(kernels, list(range(len(kernels))), runner)
            parts, texts = self.kernels.together(program.kernels, out, module, runner)
            self._add_times(parts)
            return parts, texts
        order = sorted(range(len(kernels)), key=lambda i: -kernels[i].size())
        before = self._count_steps(kernels, order, runner)

        def work(i: int) -> KernelPart | CompileError | Unsupported:
            if self.steps is not None:
                self.steps.reach(before[i])
            return self.kernels.part(kernels[i], out, module)

        server = self.server
        workers = 1 if self.alone or len(kernels) < 2 or not can_split() else self._workers(len(kernels), server)
        try:
            done = work_in_processes(order, workers, work) if workers > 1 else {}
        finally:
            if server is not None:
                server.give_back()
        parts = []
        for i in range(len(kernels)):
            part = done.pop(i) if i in done else work(i)
            if isinstance(part, (CompileError, Unsupported)):
                raise self.refusal(part)
            self.diagnostics.extend(part.diagnostics)
            self.kernels.decisions.extend(part.decisions)
            parts.append(part)
        self._add_times(parts)
        return parts, []

    def _add_times(self, parts: list[KernelPart]) -> None:
        emit_seconds = sum(p.emit_seconds for p in parts)
        self.times["phases"] = sum(p.info.seconds for p in parts) - emit_seconds
        self.times["emit"] = emit_seconds

    def _count_steps(self, kernels: "list[Kernel]", order: list[int], runner: Runner) -> dict[int, int]:
        """Begin the count of steps; returns the steps before each kernel, which are done when it begins."""
        before: dict[int, int] = {}
        total = 0
        for i in order if self.steps is not None else ():
            before[i] = total
            total += len(kernels[i].all_functions()) * len(runner.phases)
        if self.steps is not None:
            self.steps.begin(total)
        return before

    def _step(self, phase: str, fn: "Func") -> None:
        if self.steps is not None:
            self.steps.step(f"{phase} {fn.name}")

    def _workers(self, kernels: int, server: JobServer | None) -> int:
        """Number of processes to use, each but the first with a token of the jobserver if there is one."""
        wanted = min(self.options.split_compile or os.cpu_count() or 1, kernels)
        return 1 + server.take(wanted - 1) if server is not None and server.found else wanted

    def _clock(self, stage: str, start: float) -> float:
        now = time.perf_counter()
        self.times[stage] = self.times.get(stage, 0.0) + now - start
        peak = peak_memory()
        self.memory[stage] = self.memory.get(stage, 0) + peak - self.peak
        self.peak = peak
        return now

    def _front_end(self, source: tuple[str, str | bytes], inputs: list[int]) -> Module:
        name, text = source
        o = self.options
        module = parse(text, name, newest_of(o.release), inputs, o.raw_textures, o.warn_double)
        self._report(module.warnings)
        if "debug" in module.target_options:
            self._report(check_debug(module))
        self._report(restrict(module, o))
        if self.options.debug or "debug" in module.target_options:
            self._debug_target()
        found = check(module, self.target, o.compile_only, o.extensible, o.debug)
        if not self.options.uniform_registers:
            found += uniform_needs(module)
        if o.verbose and o.maxrregcount:
            found = with_limit_notes(found, module, o, self.target)
        self._report(found)
        if self.options.debug:
            from orias.output.debug_records import missing_sections

            self.diagnostics.extend(missing_sections(module))
        if self.options.own_sections and has_equal_symbols(module):
            self._report([Diagnostic("fatal", "Internal error: symbol already assigned")])
        return module

    def _report(self, found: list[Diagnostic]) -> None:
        """Add messages; raises CompileError if one of them is an error."""
        self.diagnostics.extend(found)
        if any(d.severity in ("error", "fatal") for d in found):
            raise CompileError(self.diagnostics)

    def _debug_target(self) -> None:
        """Apply -g, or ``.target ..., debug``, which has its effect: code is that of -O0."""
        if self.options.level_given and self.options.opt_level:
            self._report([Diagnostic("fatal", "Optimized debugging not supported")])
        self.options.debug = True
        self.options.opt_level = 0
