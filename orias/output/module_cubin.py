"""Makes the cubin of a module from emitted code: data, kernels, calls, line tables, debug sections."""

from typing import Final

from orias.cubin.model import (
    GLOBAL,
    LOCAL,
    WEAK,
    CallEdge,
    CubinModule,
    DebugSection,
    ExternFunction,
    KernelCode,
    SourceFile,
    SubFunction,
)
from orias.cubin.relocs import R_SAMP_HEADER_INDEX, R_SURF_HEADER_INDEX, R_TEX_HEADER_INDEX
from orias.cubin.unified import stub
from orias.cubin.variable_layout import align_up, global_bytes
from orias.cubin.writer import write
from orias.diag import Unsupported
from orias.lower.frame.data_layout import BINDING
from orias.lower.frame.program import Kernel, Program
from orias.options import Options
from orias.ori.decisions import annotation_lines
from orias.output.advice import kernel_decisions
from orias.output.emit import EmittedText
from orias.output.function_addresses import place_functions
from orias.output.kernel_code import kernel_code, reach_of
from orias.output.kernel_records import describe
from orias.output.line_rows import line_rows, names_section
from orias.output.result import CompileResult, KernelInfo, KernelPart
from orias.output.stack_sizes import unknown_stacks
from orias.ptx.ast import Function, Instr, Loc, Module
from orias.ptx.input_scopes import written
from orias.regalloc.frame import stack_bytes
from orias.target import features
from orias.target.driver import NAMED_SYSCALL
from orias.target.profile import Target
from orias.version import VERSION

_TOOL_VERSION: Final = f"Orias {VERSION}, for release 13.0"


def kernel_part(
    kernel: Kernel,
    text: EmittedText,
    out: CubinModule,
    module: Module,
    options: Options,
    target: Target,
    beside: list[Kernel],
) -> KernelPart:
    """A compiled kernel, for the module `out`.  `beside`: the kernels whose functions it may call, itself included."""
    facts = CubinModule(target.name, options.compile_only)
    reach = reach_of(kernel, beside)
    code = kernel_code(kernel, text, target, reach)
    describe(code, kernel, reach, facts, options)
    if options.name_syscall:
        code.externs = [*code.externs, NAMED_SYSCALL]
    if out.relocatable and not code.is_entry:
        # nvlink fails on the symbol of a helper where it drops the function that the helper stands in.
        code.subs = [sub for sub in code.subs if not sub.helper]
    _name_copies(code, module, out.extensible)
    if out.relocatable and not (text.addresses or code.reserved_begin or code.reserved_cap or code.reserved_offset):
        code.relocs_applied = False  # objects leave the addresses of shared memory to the linker
    if out.relocatable and not target.has(features.SPLIT_SEGMENTS):
        spaces = {v.name: v.space for v in out.variables}
        spaces.update((p.symbol, p.space) for p in code.params if p.symbol)
        used = {spaces.get(r.symbol, "") for r in code.relocs}
        code.bindless_texture = "texref" in used or "samplerref" in used
        code.bindless_surface = "surfref" in used
    if options.own_sections and kernel.pool is not None and kernel.pool.values:
        code.const2_align = 8
    if options.annotate:
        code.annotation = f"instr/R-regs: {len(text.code) // 16} instructions, {code.num_regs} R-regs"
        if options.remarks:
            code.annotation += annotation_lines(kernel_decisions(kernel))
    if out.lineinfo and not kernel.is_helper:
        code.lines = line_rows(text.lines, kernel.locs, names_section(module)[1], _first_loc(kernel.ptx))
    part = KernelPart(code, _kernel_info(kernel, code, text, target))
    part.paced, part.isa_class, part.tensor_map = facts.paced, facts.isa_class, facts.tensor_map
    part.texture_query = facts.uses_texture_query
    part.copies = text.functions
    for caller, callee in kernel.edges:
        if callee in kernel.externs or options.own_sections:
            part.calls.append(CallEdge(caller, callee))
    if options.compile_only:
        part.calls += [CallEdge(alias, name) for alias, name in reversed(module.aliases) if name == code.name]
    for fn in kernel.functions:
        info = KernelInfo(fn.name)
        info.is_entry = False
        info.stack, info.spill_stores, info.spill_loads = stack_bytes(fn), fn.spill_stores, fn.spill_loads
        part.functions.append(info)
    return part


def _name_copies(code: KernelCode, module: Module, extensible: bool) -> None:
    """Gives the copies of functions the bindings of the functions, and enters the aliases that the module has for them.

    ``extensible``: weak ones are local, for a linker would merge those of several files.
    """
    linkage = {f.name: BINDING[f.linkage] for f in module.functions if f.body is not None}
    prefix = f"${code.name}$"
    places = {code.name: 0} if not code.is_entry else {}
    for sub in code.subs:
        name = sub.name.removeprefix(prefix)
        sub.written = written(sub.name)
        sub.binding = WEAK if sub.helper else linkage.get(name, LOCAL)
        if extensible and sub.binding == WEAK:
            sub.binding = LOCAL
        places[name] = sub.offset
    for alias, name in reversed(module.aliases):
        if name in places:
            other = SubFunction(alias if name == code.name else prefix + alias, places[name], 0)
            other.alias, other.binding = True, GLOBAL
            code.subs.append(other)


def make_cubin(
    module: Module,
    program: Program,
    out: CubinModule,
    parts: list[KernelPart],
    texts: list[EmittedText],
    options: Options,
    target: Target,
) -> CompileResult:
    """The finished cubin of a module whose kernels are compiled; `texts`: their code, for -g only.

    Raises CubinError if a limit of the format is exceeded.
    """
    result = CompileResult(target.name, b"")
    stubs: dict[str, KernelCode] = {}
    for part in parts:
        out.kernels.append(part.code)
        out.calls.extend(part.calls)
        if part.code.unified is not None:
            stubs[part.code.name] = stub(part.code, target.number("call_relocation"), options.opt_level > 0)
            out.calls.append(CallEdge(stubs[part.code.name].name, part.code.name))
        out.paced |= part.paced
        out.isa_class = max(out.isa_class, part.isa_class)
        out.tensor_map = max(out.tensor_map, part.tensor_map)
        out.uses_texture_query |= part.texture_query
        result.kernels[part.code.name] = part.info
        for info in part.functions:
            result.functions[info.name] = info
    if options.own_sections and not target.has(features.SPLIT_SEGMENTS):
        _name_surfaces(list(reversed(out.kernels)) if out.relocatable else out.kernels)
    if out.lineinfo:
        out.sections = _text_sections(module, program, texts, out, options, target)
    if stubs:
        out.kernels = [code for k in out.kernels for code in (k, stubs.get(k.name)) if code is not None]
    if not options.own_sections:
        for v in program.variables:
            place_functions(v, parts)
    result.data = write(out)
    result.no_capsule = out.no_capsule
    result.unknown_stacks = unknown_stacks(program, options)
    if out.no_capsule and options.capsules == "require":
        raise Unsupported(f"No capsules: {out.no_capsule}")
    result.gmem = global_bytes(out.variables)
    if program.const_size:
        result.cmem[3] = program.const_size
    if out.bank4:
        result.cmem[4] = 8 * len(out.bank4)
    return result


def _name_surfaces(codes: list[KernelCode]) -> None:
    """Sets the records for surfaces as ptxas has them: two where one is used, one in functions after that, in ptxas's order."""
    seen = False
    for code in codes:
        seen = seen or code.bindless_surface
        code.surface_named_again = seen


def _text_sections(
    module: Module, program: Program, texts: list[EmittedText], out: CubinModule, options: Options, target: Target
) -> list[DebugSection]:
    """The debug sections that come from the PTX text: all of them with -g, else the names of inlined functions."""
    if options.debug:
        from orias.output.debug_records import debug_sections

        return debug_sections(module, program.kernels, texts, out, target)
    section, _ = names_section(module)
    return [section] if section is not None else []


def cubin_module(
    module: Module, program: Program, source: str | bytes, options: Options, target: Target
) -> CubinModule:
    """The cubin without kernels: options, notes, data, samplers, the PTX text for debuggers."""
    out = CubinModule(target.name, options.compile_only)
    out.capsules = options.capsules != "forbid"
    out.extensible = options.extensible and not options.compile_only
    out.force_rela = options.force_rela
    out.first_constant = options.first_address
    if not (options.compile_only or options.extensible):
        out.host = options.host_data
    out.opt_level = options.opt_level
    out.ptx_sm = int("".join(c for c in module.target if c.isdigit()) or 0)
    out.options = options.note_text()
    out.tool_version = _TOOL_VERSION
    located = any(k.locs for k in program.kernels)
    out.lineinfo = (options.lineinfo or options.debug or located) and not options.suppress_debug_info
    out.debug = options.debug
    out.preserve_relocs = options.preserve_relocs
    out.errbar_at_exit = options.errors_at_exit
    out.own_sections = options.own_sections
    out.texmode_independent = "texmode_independent" in module.target_options
    out.variables = program.variables
    for name, fields in program.samplers:
        if "force_unnormalized_coords" in fields:
            out.sampler_unnormalized.append((name, fields["force_unnormalized_coords"]))
        out.sampler_inits.append((name, packed_sampler(fields)))
    out.bank4 = program.bank4
    out.externs = program.externs
    if options.name_syscall:
        out.externs = [*program.externs, ExternFunction(NAMED_SYSCALL)]
    if out.relocatable:
        out.prototypes = program.prototypes
    # Executables name kernels only, whose code refers to descriptors.
    out.address_taken = [(name, text) for name, text in program.address_taken if options.own_sections or not text]
    out.address_uses = program.address_uses
    if options.own_sections:
        out.indirect_calls = program.indirect_calls
    if out.lineinfo:
        out.ptx_text = source.decode("latin-1") if isinstance(source, bytes) else source
        if out.relocatable:
            from zlib import adler32

            data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogateescape")
            out.ptx_suffix = f".{adler32(data)}"
        out.files = [SourceFile(n, name, mtime, size) for n, (name, mtime, size) in sorted(module.files.items())]
    return out


def _first_loc(function: Function) -> Loc | None:
    """The first ``.loc`` of a function if no instruction precedes it."""
    for s in function.body or ():
        if isinstance(s, Loc):
            return s
        if isinstance(s, Instr):
            return None
    return None


def packed_sampler(fields: dict[str, int]) -> int:
    """The initial modes of a sampler as one word: a byte per address mode, then one for the filter mode; 255: not given."""
    names = ("addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode")
    # Numbers 1 to 5 are address modes, 6 and 7 filters; ptxas 13.0.88 accepts either kind in either field.
    modes = [fields.get(name, 0) for name in names]
    codes = [m - 1 if 1 <= m <= 5 else m - 6 if m in (6, 7) else 255 for m in modes]
    return sum(code << 8 * k for k, code in enumerate(codes))


_REFERENCES: Final = {R_TEX_HEADER_INDEX: "textures", R_SAMP_HEADER_INDEX: "samplers", R_SURF_HEADER_INDEX: "surfaces"}
_HANDLE_BYTES: Final = 4


def _kernel_info(kernel: Kernel, code: KernelCode, text: EmittedText, target: Target) -> KernelInfo:
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
    if target.has(features.CONSTANT_OPERANDS):
        info.constant[0] = target.parameters_at(kernel.param_bytes) + kernel.param_bytes
        for r in code.texture_relocs:
            info.constant[0] = max(info.constant[0], r.offset + _HANDLE_BYTES)
            what = _REFERENCES[r.type]
            info.references[what] = info.references.get(what, 0) + 1
    if text.table_bytes:
        info.constant[2] = len(text.table_bytes)
    return info
