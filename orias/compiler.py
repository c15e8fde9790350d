"""The one road: PTX text in, :class:`Cubin` out.

parse -> check -> lower -> (phases on each function) -> emit -> cubin.  Helpers are compiled before the functions that call
them, so that callers know which registers they may lose.
"""

import time
from collections.abc import Callable
from typing import Final, final

from orias import __version__
from orias.analysis.liveness import live_across
from orias.cubin import relocs
from orias.cubin.errors import CubinError
from orias.cubin.layout import align_up, global_bytes
from orias.cubin.model import (
    NO_CTA,
    BranchTargets,
    CallEdge,
    CubinModule,
    KernelCode,
    Reloc,
    SourceFile,
    SubFunction,
    Variable,
)
from orias.cubin.writer import write
from orias.debuginfo import debug_sections, missing_sections
from orias.describe import describe
from orias.diag import CompileError, Diagnostic, Unsupported
from orias.inputs import merge, restrict
from orias.isa.table import load
from orias.lineinfo import line_rows, names_section
from orias.lower.layout import FUNCTION_BYTE, FUNCTION_OFFSET
from orias.lower.module import lower_module
from orias.lower.program import Kernel, LowerOptions, Program
from orias.options import Options
from orias.ori.clone import clone
from orias.ori.ir import CROSSING, PRIVATE, Func
from orias.ori.remarks import INJECTIONS, REASONS
from orias.passes import pipeline
from orias.passes.crossing import note_crossings
from orias.passes.setmaxnreg import ENTRY_REGS, expand_setmaxnreg, requests
from orias.ptx.ast import Instr, Module
from orias.ptx.check import check
from orias.ptx.parser import parse
from orias.regalloc.files import RESERVE
from orias.regalloc.run import set_known_clobbers
from orias.schedule import shared_gap
from orias.schedule.emit import EmittedText, emit
from orias.schedule.quads import reserve as reserve_quads
from orias.target.profile import TARGETS, Target

_NO_LIMIT: Final = 255
"""``Func.max_regs`` where neither option nor directive limits the registers."""

Trace = Callable[[str, Func], None]


@final
class KernelInfo:
    """What the compiler used for one kernel: registers (as reported), named barriers, and sizes in bytes."""

    __slots__ = (
        "barriers", "constant", "instructions", "is_entry", "name", "registers", "shared", "spill_loads", "spill_stores",
        "stack", "stack_cumulative",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.is_entry: bool = True
        self.registers: int = 0
        self.barriers: int = 0
        self.spill_stores: int = 0
        self.spill_loads: int = 0
        self.stack: int = 0
        self.stack_cumulative: int = 0
        self.shared: int = 0
        self.constant: dict[int, int] = {}
        """Constant bank number -> bytes."""
        self.instructions: int = 0
        """Static instructions of the section, padding left out."""


@final
class Cubin:
    """A finished cubin.  ``times``: seconds per stage of the compile."""

    __slots__ = ("arch", "cmem", "data", "diagnostics", "functions", "gmem", "kernels", "times")

    def __init__(self, arch: str, data: bytes) -> None:
        self.arch: str = arch
        self.data: bytes = data
        self.kernels: dict[str, KernelInfo] = {}
        self.functions: dict[str, KernelInfo] = {}
        """Device functions copied behind kernels, by symbol name."""
        self.gmem: int = 0
        self.cmem: dict[int, int] = {}
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}

    def disassemble(self) -> str:
        """The SASS listing, as ``nvdisasm -c`` prints it."""
        from orias.tools.disassemble import disassemble

        return disassemble(self.data)


def compile_text(sources: list[tuple[str, str | bytes]], options: Options, trace: Trace | None = None) -> Cubin:
    """Compile PTX sources (name, text) into one cubin.

    Raises CompileError with every diagnostic if the input cannot be compiled.  ``trace`` is called after each phase
    of each function with the phase's name and the function.
    """
    return _Compiler(options, trace).run(sources)


@final
class _Compiler:
    __slots__ = ("diagnostics", "options", "target", "times", "trace")

    def __init__(self, options: Options, trace: Trace | None) -> None:
        self.options: Options = options
        self.trace: Trace | None = trace
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}
        arch = options.arch
        if arch not in TARGETS:
            raise CompileError([Diagnostic("fatal", f"Value '{arch}' is not defined for option 'gpu-name'")])
        self.target: Target = TARGETS[arch]

    def run(self, sources: list[tuple[str, str | bytes]]) -> Cubin:
        start = time.perf_counter()
        sources = [merge(sources)]
        module = self._front_end(sources)
        start = self._clock("front end", start)
        try:
            program = lower_module(
                module, self.target, LowerOptions(self.options.compile_only, self.options.opt_level, self.options.debug)
            )
            start = self._clock("lower", start)
            texts: list[EmittedText] = []
            for kernel in program.kernels:
                texts.append(self._kernel(kernel))
            start = time.perf_counter()
            cubin = self._write(module, program, texts, sources)
        except Unsupported as e:
            raise CompileError([*self.diagnostics, Diagnostic("error", e.message, e.line)]) from e
        except CubinError as e:
            raise CompileError([*self.diagnostics, Diagnostic("fatal", f"Internal error: {e}")]) from e
        self._clock("cubin", start)
        if self.options.self_check:
            self._check(cubin)
        cubin.diagnostics = self.diagnostics
        cubin.times = self.times
        return cubin

    def _check(self, cubin: Cubin) -> None:
        """The hazard checker on the finished file."""
        from orias.check import check_cubin

        start = time.perf_counter()
        found = [h for h in check_cubin(cubin.data) if h.rule != "unknown"]
        if found:
            raise CompileError([*self.diagnostics, *(Diagnostic("fatal", f"Self check: {h.line()}") for h in found)])
        self._clock("self check", start)

    def _clock(self, stage: str, start: float) -> float:
        now = time.perf_counter()
        self.times[stage] = self.times.get(stage, 0.0) + now - start
        return now

    def _front_end(self, sources: list[tuple[str, str | bytes]]) -> Module:
        name, text = sources[0]
        module = parse(text, name)
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
        """``.target ..., debug`` asks for what -g does."""
        if self.options.level_given and self.options.opt_level:
            raise CompileError([*self.diagnostics, Diagnostic("fatal", "Optimized debugging not supported")])
        self.options.debug = True
        self.options.opt_level = 0

    # --- one kernel --------------------------------------------------------------------------------------------

    def _context(self) -> pipeline.PassContext:
        cx = pipeline.PassContext(self.options.opt_level)
        cx.serial = self.options.serial
        cx.register_usage = self.options.register_usage
        cx.self_check = self.options.self_check
        cx.apart = self.options.apart
        cx.after = self._after
        return cx

    def _after(self, phase: str, fn: Func) -> None:
        if self.trace is not None:
            self.trace(phase, fn)

    def _kernel(self, kernel: Kernel) -> EmittedText:
        done: dict[str, Func] = {}
        cx = self._context()
        limits = self._register_counts(kernel)
        copies = self.options.apart or any(i.op.base == "LDGSTS" for f in kernel.all_functions() for i in f.insts())
        note_crossings(kernel.in_order(), self.options.apart)
        for fn in kernel.in_order():
            fn.max_regs = min(fn.max_regs, limits[fn is kernel.entry])
        reserve_quads(kernel.all_functions())
        for fn in kernel.in_order():
            if copies:
                fn.notes[shared_gap.NOTE] = 1
            if not self.options.fmad:
                fn.contract.clear()
            if self.options.stack_check:
                fn.notes["stack_check"] = 1
            set_known_clobbers(fn, done)
            if PRIVATE in fn.notes and fn.max_regs < _NO_LIMIT and not self._leaves_room(kernel, fn):
                del fn.notes[PRIVATE]
            start = time.perf_counter()
            pipeline.run(fn, cx)
            self._clock("phases", start)
            if fn.kind == "helper" or PRIVATE in fn.notes:
                done[fn.name] = fn
        self.diagnostics.extend(advice(kernel))
        start = time.perf_counter()
        text = emit(
            kernel.all_functions(),
            load(self.target.table),
            self.target,
            self.options.apart,
            kernel.pointers,
            self.options.self_check,
        )
        self._clock("emit", start)
        return text

    def _leaves_room(self, kernel: Kernel, fn: Func) -> bool:
        """Under a register limit: True if the callers of a private function find registers for what lives across its calls.

        Otherwise the general convention does better: the function keeps what many callers want with one save.
        """
        held = max((live_across(caller, fn.name) for caller in kernel.all_functions()), default=0)
        if not held:
            return True
        trial = clone(fn)
        cx = self._context()
        cx.after = None
        pipeline.run(trial, cx)
        return trial.notes["clobber_r"].bit_length() + held <= fn.max_regs - RESERVE

    def _register_counts(self, kernel: Kernel) -> tuple[int, int]:
        """Register limits of the functions of a kernel and of its entry; expands setmaxnreg."""
        limit = register_limit(kernel, self.options, self.target)
        asked = requests(kernel.entry)
        ignored = any(requests(f) for f in kernel.functions)
        counts = [n for n, _, _ in asked]
        start = 0
        if asked and kernel.ptx.entry:
            start = count_at_entry(kernel, self.options, limit, [n for n, more, _ in asked if more])
            ignored = ignored or not start
        most = max([start, *[n for n, more, _ in asked if more]])
        for n, _, line in asked if start else ():
            if n > most:
                text = f"(C7406) setmaxnreg.dec has register count ({n}) which is larger than the largest temporal register count"
                raise CompileError([*self.diagnostics, Diagnostic("fatal", f"{text} in the program ({most})", line)])
        for fn in kernel.all_functions():
            expand_setmaxnreg(fn, start if fn is kernel.entry else 0)
        if ignored or (asked and not start):
            self.diagnostics.append(Diagnostic("info", _IGNORED_APART if self.options.compile_only else _IGNORED))
        if not start:
            return limit, limit
        return min(start, *counts), max(start, *counts)

    # --- the cubin ---------------------------------------------------------------------------------------------

    def _write(
        self, module: Module, program: Program, texts: list[EmittedText], sources: list[tuple[str, str | bytes]]
    ) -> Cubin:
        out = CubinModule(self.target.name, self.options.compile_only)
        out.ptx_sm = int("".join(c for c in module.target if c.isdigit()) or 0)
        out.options = self.options.note_text()
        out.tool_version = f"Orias {__version__}, for release 13.0"
        located = any(k.locs for k in program.kernels)
        out.lineinfo = (self.options.lineinfo or self.options.debug or located) and not self.options.suppress_debug_info
        out.debug = self.options.debug
        out.apart = self.options.apart
        out.texmode_independent = "texmode_independent" in module.target_options
        out.variables = program.variables
        for name, fields in program.samplers:
            if "force_unnormalized_coords" in fields:
                out.sampler_unnormalized.append((name, fields["force_unnormalized_coords"]))
            out.sampler_inits.append((name, packed_sampler(fields)))
        out.bank4 = program.bank4
        out.externs = program.externs
        if out.relocatable:
            out.prototypes = program.prototypes
        if self.options.apart:
            out.address_taken = program.address_taken
            out.indirect_calls = program.indirect_calls
            out.address_uses = program.address_uses
        names: dict[str, int] = {}
        if out.lineinfo:
            section, names = names_section(module)
            out.sections = [section] if section is not None and not self.options.debug else []
            source = sources[0][1]
            out.ptx_text = source.decode("latin-1") if isinstance(source, bytes) else source
            out.files = [SourceFile(n, name, mtime, size) for n, (name, mtime, size) in sorted(module.files.items())]
        cubin = Cubin(self.target.name, b"")
        for kernel, text in zip(program.kernels, texts, strict=True):
            beside = program.kernels if self.options.apart and not out.relocatable and kernel.ptx.entry else [kernel]
            code = kernel_code(kernel, text, self.target, beside)
            describe(code, kernel, out, self.options)
            if self.options.annotate:
                code.annotation = f"instr/R-regs: {len(text.code) // 16} instructions, {code.num_regs} R-regs"
            if out.lineinfo:
                code.lines = line_rows(text.lines, kernel.locs, names)
            out.kernels.append(code)
            for caller, callee in kernel.edges:
                if callee in kernel.externs or self.options.apart:
                    out.calls.append(CallEdge(caller, callee))
            cubin.kernels[code.name] = _report(kernel, code, text, self.target)
            for fn in kernel.functions:
                info = KernelInfo(fn.name)
                info.is_entry = False
                info.stack, info.spill_stores, info.spill_loads = fn.frame_size, fn.spill_stores, fn.spill_loads
                cubin.functions[fn.name] = info
        if out.lineinfo and self.options.debug:
            out.sections = debug_sections(module, program.kernels, texts, out, self.target)
        if not self.options.apart:
            for v in program.variables:
                place_functions(v, program.kernels, texts)
        cubin.data = write(out)
        cubin.gmem = global_bytes(out.variables)
        if program.const_size:
            cubin.cmem[3] = program.const_size
        if out.bank4:
            cubin.cmem[4] = 8 * len(out.bank4)
        return cubin


def packed_sampler(fields: dict[str, int]) -> int:
    """The initial modes of a sampler as the driver is told them: a byte for each address mode, then the filter's; 255: not said."""
    names = ("addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode")
    # Numbers 1 to 5 are address modes, 6 and 7 filters; ptxas 13.0.88 lets them stand for each other.
    modes = [fields.get(name, 0) for name in names]
    codes = [m - 1 if 1 <= m <= 5 else m - 6 if m in (6, 7) else 255 for m in modes]
    return sum(code << 8 * k for k, code in enumerate(codes))


def double_uses(module: Module) -> list[Diagnostic]:
    """A warning for each instruction on f64 values (``-warn-double-usage``)."""
    return [
        Diagnostic("warning", "Program is doing double precision computations.", s.line)
        for f in module.functions
        for s in f.body or ()
        if isinstance(s, Instr) and "f64" in s.sig.types
    ]


def place_functions(v: Variable, kernels: list[Kernel], texts: list[EmittedText]) -> None:
    """Fill in the function addresses of an initialiser in a module with one kernel: offsets of the copies in its section."""
    waiting = [r for r in v.relocs if r.type < 0]
    if not waiting or v.data is None:
        return
    data = bytearray(v.data)
    for r in waiting:
        found = {
            offset
            for kernel, text in zip(kernels, texts, strict=True)
            for name, offset, _ in text.functions
            if name == f"${kernel.ptx.name}${r.symbol}"
        }
        # There is one kernel; a function that it cannot call has no copy.
        place = (max(found, default=0) + r.addend).to_bytes(8, "little")
        if r.type == FUNCTION_OFFSET:
            data[r.offset : r.offset + 8] = place
        else:
            data[r.offset] = place[r.type - FUNCTION_BYTE]
    v.data = bytes(data)
    v.relocs = [r for r in v.relocs if r.type >= 0]


def register_limit(kernel: Kernel, options: Options, target: Target) -> int:
    """Registers a thread may use, from directives and options (regalloc inventory, section 3.4; T5 and T6)."""
    d = kernel.ptx.directives
    threads = d.get("reqntid") or d.get("maxntid")
    blocks = d.get("minnctapersm")
    limit = 255
    if "maxnreg" in d:
        limit = min(255, max(24, d["maxnreg"][0]))
    if threads or blocks:
        count = 1
        for n in threads or (1,):
            count *= n
        per_sm = blocks[0] if blocks else 1
        if per_sm > target.ctas_per_sm or count * per_sm > target.threads_per_sm:
            per_sm = 1
        if count <= target.threads_per_sm:
            warps = per_sm * ((count + 31) // 32)
            quarter = (warps + 3) // 4
            limit = min(limit, 512 // max(quarter, 1) // 8 * 8)
    elif options.maxrregcount:
        limit = min(limit, max(24, options.maxrregcount))
    return max(limit, 24)


def count_at_entry(kernel: Kernel, options: Options, limit: int, increases: list[int]) -> int:
    """Registers at the entry of a kernel with setmaxnreg: its limit, but no more than the highest increase; 0 if nothing states one.

    Measured with ptxas 13.0.88: ``.maxnreg``, ``.minnctapersm`` with a thread count, or ``-maxrregcount`` state it.
    """
    d = kernel.ptx.directives
    known = "maxnreg" in d or ("minnctapersm" in d and ("maxntid" in d or "reqntid" in d)) or options.maxrregcount
    if not known:
        return 0
    return min(limit, max(increases)) if increases else limit


_IGNORED: Final = (
    "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry."
)
_IGNORED_APART: Final = (
    "(C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across compilation units."
)


def advice(kernel: Kernel) -> list[Diagnostic]:
    """What the phases have to say about a kernel and its functions.

    In ptxas's order: every ARRIVE put in, every wait put in, and one reason why operations run one at a time.
    """
    found: list[tuple[int, int, str]] = []
    for fn in kernel.in_order():
        name = fn.name.removeprefix(f"${kernel.ptx.name}$")
        found += [(number, line, name) for number, line in fn.remarks]
        if fn.notes.get(CROSSING, 0):
            found.append((fn.notes[CROSSING], 0, name))
    said = [x for number in INJECTIONS for x in found if x[0] == number]
    precedence = list(REASONS)
    reasons = sorted((x for x in found if x[0] not in INJECTIONS), key=lambda x: precedence.index(x[0]))
    texts = INJECTIONS | REASONS
    return [
        Diagnostic("info", f"(C{number}) {texts[number].format(line, name)}")
        for number, line, name in said + reasons[:1]
    ]


_RELOC_TYPES: Final = {
    "lo32": relocs.R_ABS32_LO_32,
    "hi32": relocs.R_ABS32_HI_32,
    "abs32": relocs.R_ABS32_32,
    "abs16": relocs.R_ABS16_32,
    "cbank": relocs.R_CONST_FIELD21_38,
    "const_opt": relocs.R_CONST_FIELD19_40,
    "bindless": relocs.R_BINDLESSOFF14_40,
    "unified_lo32": relocs.R_UNIFIED32_LO_32,
    "unified_hi32": relocs.R_UNIFIED32_HI_32,
}


def relocation_type(kind: str, target: Target) -> int:
    """The R_CUDA number of a place that emission left open (``orias.schedule.emit.TextReloc``)."""
    if kind == "call":
        return relocs.R_ABS55_16_34 if target.sm >= 90 else relocs.R_ABS47_34
    return _RELOC_TYPES[kind]


def kernel_code(kernel: Kernel, text: EmittedText, target: Target, beside: list[Kernel]) -> KernelCode:
    """The cubin's view of a compiled kernel.  `beside`: the sections whose functions it may call, itself included."""
    ptx = kernel.ptx
    funcs = kernel.all_functions()
    code = KernelCode(ptx.name, text.code, ptx.entry)
    reached, code.min_stack_size, code.abi_frame_unknown = _calls(kernel, beside)
    code.num_regs = kernel.entry.notes.get(ENTRY_REGS, 0) or max(f.reg_count for f in reached)
    if "maxnreg" in ptx.directives:
        code.maxreg = max(24, min(255, ptx.directives["maxnreg"][0]))
    code.barriers = kernel.barriers
    code.frame_size = kernel.entry.frame_size
    code.calls_rel = bool(kernel.functions or kernel.helpers)
    code.crs_stack = code.calls_rel or any(i.op.base == "BSSY" for f in funcs for i in f.insts())
    code.params = kernel.params
    code.texture_relocs = kernel.references
    code.param_bytes = kernel.param_bytes
    code.shared = kernel.shared
    code.shared_size = kernel.shared_size
    code.shared_align = kernel.shared_align
    code.shared_dynamic = kernel.shared_dynamic
    code.const2 = text.table_bytes
    code.const2_align = 4
    pool = kernel.pool
    if pool is not None and pool.values:
        if pool.owner:
            code.const2_align = 8
            code.const2_parts = [(pool.start + 8 * k, 8) for k in range(len(pool.values))]
    elif kernel.pointers:
        code.const2_align = 8
    code.relocs = [Reloc(r.offset, relocation_type(r.kind, target), r.symbol, r.addend) for r in text.relocs]
    code.exit_offsets = text.exits
    code.coop_offsets = text.cooperative
    code.coop_mask_regs = [-1] * len(text.cooperative)
    code.int_warp_wide = text.warp_wide
    code.syscall_offsets = [at for at, kind, _ in text.calls if kind == "syscall"]
    code.externs = kernel.externs
    code.branch_targets = [BranchTargets(at, targets) for at, targets in text.branch_tables]
    code.ctaidz_used = kernel.ctaidz_used
    code.maxntid = _dimensions(ptx.directives.get("maxntid"))
    code.reqntid = _dimensions(ptx.directives.get("reqntid"))
    for (name, offset, size), fn in zip(text.functions[1:], funcs[1:], strict=True):
        sub = SubFunction(name, offset, size, fn.kind == "helper")
        sub.frame_size = fn.frame_size
        code.subs.append(sub)
    code.spill_stores = sum(f.spill_stores for f in funcs)
    code.spill_loads = sum(f.spill_loads for f in funcs)
    return code


def _dimensions(d: tuple[int, ...] | None) -> tuple[int, int, int]:
    """A directive's (x, y, z), missing ones 1; all 0 if it is not there."""
    if not d:
        return NO_CTA
    return d[0], d[1] if len(d) > 1 else 1, d[2] if len(d) > 2 else 1


def _calls(kernel: Kernel, beside: list[Kernel]) -> tuple[list[Func], int, bool]:
    """Functions a kernel may reach, the deepest sum of their frames in bytes, and whether that cannot be known."""
    known = {f.name: f for k in beside for f in k.all_functions()}
    owner = {f.name: k for k in beside for f in k.all_functions()}
    depth: dict[str, int] = {}
    on_path: set[str] = set()
    unknown = kernel.indirect_calls

    def visit(name: str) -> int:
        nonlocal unknown
        if name in depth:
            return depth[name]
        if name in on_path:
            unknown = True
            return 0
        on_path.add(name)
        unknown = unknown or owner[name].indirect_calls
        callees = [c.target for c in known[name].calls.values() if c.target in known and c.target is not None]
        total = known[name].frame_size + max([visit(c) for c in callees], default=0)
        on_path.discard(name)
        depth[name] = total
        return total

    total = visit(kernel.entry.name)
    reached = known.keys() if unknown else depth.keys() | {f.name for f in kernel.all_functions()}
    return [known[name] for name in reached], total, unknown


def _report(kernel: Kernel, code: KernelCode, text: EmittedText, target: Target) -> KernelInfo:
    info = KernelInfo(code.name)
    info.registers = code.num_regs
    info.barriers = code.barriers
    info.spill_stores, info.spill_loads = kernel.entry.spill_stores, kernel.entry.spill_loads
    info.stack = code.frame_size
    info.is_entry = code.is_entry
    if not code.abi_frame_unknown:
        info.stack_cumulative = code.min_stack_size
    info.shared = align_up(kernel.shared_size, max((v.align for v in kernel.shared_dynamic), default=1))
    info.instructions = len(text.code) // 16
    if target.const_operands:
        info.constant[0] = target.param_base + kernel.param_bytes
    if text.table_bytes:
        info.constant[2] = len(text.table_bytes)
    return info
