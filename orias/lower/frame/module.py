"""Lowers a PTX module to a :class:`Program`: kernels, each with copies of the functions it calls, and the data layout."""

from typing import Final, final

from orias.cubin.model import GLOBAL, LOCAL, WEAK, BankSlot, CallEdge, ExternFunction, Reloc, Variable
from orias.cubin.relocs import R_SAMP_HEADER_INDEX, R_SAMP_HEADER_INDEX_0, R_SURF_HEADER_INDEX, R_TEX_HEADER_INDEX
from orias.cubin.variable_layout import by_alignment, shared_with_debug
from orias.diag import Unsupported
from orias.isa.operand import K_NONE, NONE, NOT_PT, RZ, Opnd, const, imm, imm64, vreg, word
from orias.lower.builtins import builtin_function
from orias.lower.frame import data_layout
from orias.lower.frame.context import Ctx
from orias.lower.frame.families import load_common
from orias.lower.frame.function import lower_function
from orias.lower.frame.function_summary import Facts, functions_in_data
from orias.lower.frame.private_functions import private_functions
from orias.lower.frame.program import Kernel, LowerOptions, Program
from orias.lower.frame.special_registers import read_special
from orias.ori.ir import ConstantPool, Func
from orias.ptx.ast import Function, Module, SymInit, Var
from orias.ptx.debug import variable_registers
from orias.target import descriptors, driver, features
from orias.target.profile import Target


def lower_module(module: Module, target: Target, options: LowerOptions | None = None) -> Program:
    """Lower every kernel of the module; raises Unsupported at the first thing that cannot be compiled yet."""
    return ModuleLower(module, target, options or LowerOptions()).run()


_CHECKED_FUNCTIONS: Final = ("malloc", "free")
_LARGEST_DATA: Final = 1 << 28
"""Bytes of initial values that a module may have: a short text can ask for any number (a limit of Orias)."""


@final
class ModuleLower:
    """State shared by the functions of a module."""

    __slots__ = (
        "_bank4",
        "_common_shared",
        "_common_size",
        "_dynamic_start",
        "_const_offsets",
        "_facts",
        "_helper_count",
        "_helpers",
        "_pointed",
        "_symbols",
        "_used",
        "_variable_registers",
        "accesses",
        "ast",
        "kernel",
        "pointer",
        "options",
        "program",
        "shared",
        "target",
    )

    def __init__(self, module: Module, target: Target, options: LowerOptions) -> None:
        load_common()
        self.ast: Module = module
        self.target: Target = target
        self.options: LowerOptions = options
        self.program: Program = Program(target, options)
        self._bank4: dict[str, int] = {}
        self._const_offsets: dict[Var, int] = {}
        self._common_shared: dict[Var, int] = {}
        self._common_size: int = 0
        self._dynamic_start: int = 0
        """Where dynamic shared memory begins in all kernels, if functions with sections of their own use it."""
        self._used: set[Var] = set()
        self._facts: dict[Function, Facts] = {}
        self._pointed: list[Function] = []
        self.pointer: dict[str, int] = {}
        """Numbers that stand for addresses of functions, by name; empty where addresses are real addresses or offsets."""
        self._symbols: dict[Var, str] = _local_symbols(module)
        if options.debug and not options.relocatable:
            self._symbols.update(_debug_symbols(module))
        self._variable_registers: dict[str, dict[str, int]] = variable_registers(module) if options.debug else {}
        self._helpers: dict[str, str] = {}
        self._helper_count: int = 0
        self.accesses: int = 0
        """How many accesses to memory have a check."""
        self.kernel: Kernel
        self.shared: dict[Var, int] = {}
        """Byte offsets of the current kernel's shared variables."""

    def run(self) -> Program:
        """Lower the whole module."""
        for v in self._module_vars():
            if v.type not in data_layout.REFERENCES and data_layout.var_align(v) > _LARGEST_DATA:
                # The file is padded to the alignment of a section, also of one without bytes.
                raise Unsupported(f"Variable '{v.name}' has an alignment of more than {_LARGEST_DATA} bytes", v.line)
        self._layout_const()
        self._find_pointers()
        for f in self.ast.functions:
            if data_layout.function_unified_id(f) is not None:
                # The linker and the host have its address.
                if self.definition(f).body is None:
                    self._extern(f)
                self._take_address(self.definition(f))
        if self.options.own_sections and not self.options.relocatable:
            self._layout_common_shared()
        left_out = self._unreached() if self.options.drops_unreached else set()
        for f in self.ast.functions:
            if f.name in left_out:
                continue
            if f.body is not None and (f.entry or self.options.own_sections):
                self._kernel(f)
        if self.options.own_sections and not self.options.relocatable:
            declared = list(dict.fromkeys(f.name for f in self.ast.functions))
            self.program.kernels.sort(key=lambda k: declared.index(k.ptx.name))
        self._variables()
        if self.options.relocatable:
            used = {callee for k in self.program.kernels for _, callee in k.edges} | {a for a, _ in self.ast.aliases}
            pointed = {name for name, _ in self.program.address_taken}
            for f in self.ast.functions:
                if f.entry or f.name in pointed:
                    continue
                if f.name in used if f.body is None else f.linkage in ("visible", "weak"):
                    self.program.prototypes.append((f.name, data_layout.prototype(f)))
        return self.program

    # --- data --------------------------------------------------------------------------------------------------

    def _module_vars(self) -> list[Var]:
        out = list(self.ast.variables)
        for f in self.ast.functions:
            out.extend(v for v in f.variables if v.space in ("global", "const", "shared"))
        return out

    def _layout_const(self) -> None:
        top = 0
        if self.options.relocatable:
            return
        constants = [v for v in self._module_vars() if v.space == "const"]
        # Visible and weak variables come first, in the order in which the cubin writer creates them.
        created = sorted(constants, key=lambda v: data_layout.BINDING[v.linkage] == LOCAL)
        if self.options.own_sections:
            created = [created[n] for n in by_alignment([(data_layout.var_align(v), v.size) for v in created])]
        for v in created:
            top = data_layout.align_up(top, data_layout.var_align(v))
            self._const_offsets[v] = top
            top += v.size
        self.program.const_size = top
        limit = self.target.number("constant_limit")
        if top > limit:
            raise Unsupported(f"File uses too much global constant data ({hex(top)} bytes, {hex(limit)} max)")

    def _variables(self) -> None:
        # What a linker reads names the functions of its initial values, whether or not code reads it.
        left = ("extern",) if self.options.linked else ("", "extern")
        kept = [v for v in self._module_vars() if v.space in ("global", "const") and v.linkage not in left]
        todo = [*self._used, *kept]
        while todo:
            v = todo.pop()
            for _, value in v.init or []:
                if not isinstance(value, SymInit):
                    continue
                if isinstance(value.target, Function):
                    target = self.definition(value.target)
                    if target.body is None:
                        self._extern(target)
                    self._take_address(target)
                elif value.target not in self._used:
                    self._used.add(value.target)
                    todo.append(value.target)
        self._references()
        written = 0
        for v in self._module_vars():
            if v.type in data_layout.REFERENCES:
                continue
            if v.space not in ("global", "const", "shared"):
                continue
            if v.space == "shared" and not self.options.relocatable and v not in self._common_shared:
                continue
            if v.space == "shared" and v.function is not None and v.function.entry and v.linkage != "extern":
                continue
            if v not in self._used and v.linkage == "extern" and self.options.linked:
                # ptxas enters it, and nvlink refuses to link where nothing defines it, used or not.
                continue
            out = data_layout.cubin_variable(v, v.space, self.symbol(v))
            # A whole program defines what nothing else can; ptxas does so with a warning.
            out.extern = out.extern and self.options.linked
            if v.init is not None or v.space == "const" or out.unified is not None:
                # Other variables take no bytes of the file.
                written += v.size + data_layout.var_align(v)
                if written > _LARGEST_DATA:
                    raise Unsupported(
                        f"Variables with initial values of more than {_LARGEST_DATA} bytes in a module", v.line
                    )
            out.data, out.relocs = data_layout.initial_data(
                v,
                self.target,
                None if self.options.relocatable else self._const_offsets,
                self.options.own_sections,
                self.pointer,
                self._symbols,
            )
            if v.space == "const":
                out.offset = self._const_offsets.get(v, -1)
            elif v.space == "shared":
                out.offset = self._common_shared.get(v, -1)
            self.program.variables.append(out)

    def _references(self) -> None:
        """Texture, surface and sampler references, used ones first: all are symbols that the driver finds by name."""
        every = [v for v in self._module_vars() if v.type in data_layout.REFERENCES]
        for v in sorted(every, key=lambda v: v not in self._used):
            binding = WEAK if v.linkage == "weak" else GLOBAL
            if v in self._used or v.linkage != "extern":
                self.program.variables.append(Variable(v.name, v.type, 0, 1, binding))
        for v in reversed(every):
            if v.type == "samplerref":
                self.program.samplers.append((v.name, v.fields or {}))

    def symbol(self, v: Var) -> str:
        """The symbol of a variable, which for one declared in a function is another than its name."""
        return self._symbols.get(v, v.name)

    def slot(self, symbol: str) -> int:
        """Byte offset in bank 4 of the slot that holds the symbol's address; the first use allots it."""
        offset = self._bank4.get(symbol)
        if offset is None:
            offset = 8 * len(self._bank4)
            self._bank4[symbol] = offset
            self.program.bank4.append(BankSlot(offset, symbol))
        return offset

    # --- kernels -----------------------------------------------------------------------------------------------

    def _kernel(self, f: Function) -> None:
        kernel = Kernel(f, Func(f.name, self.target))
        self.kernel = kernel
        self._helpers = {}
        places, kernel.param_bytes = data_layout.param_places(f.params, self.target)
        kernel.params = places
        reached: list[Function] = []
        if not self.options.own_sections:
            reached = self._reach(f)
            self._layout_shared(f, reached)
            if self.pointer and any(self.facts(g).indirect for g in [f, *reached]):
                kernel.pointers = [self.copy_name(g) for g in self._pointed]
                kernel.table_bytes = 8 * (1 + len(kernel.pointers))
        elif not f.entry:
            kernel.params, kernel.param_bytes = [], 0
            self.shared = dict(self._common_shared)
        elif not self.options.relocatable:
            self._layout_shared(f, [])
        else:
            own = [v for v in f.variables if v in self.facts(f).shared and v.linkage != "extern"]
            kernel.shared = [data_layout.cubin_variable(v, "shared", self.symbol(v)) for v in own]
            kernel.shared_size = sum(v.size for v in own)
            kernel.shared_align = max((data_layout.var_align(v) for v in own), default=1)
        kernel.entry = lower_function(self, f, f.name, "entry" if f.entry else "func")
        kernel.functions = [lower_function(self, g, self.copy_name(g), "func") for g in reached]
        if f.entry and self.options.access_checks and not self.options.own_sections:
            # As in ptxas's file, whose checks of these functions' calls are routines that only call them.
            for name in _CHECKED_FUNCTIONS:
                self._name_driver_function(name)
                self.slot(name)
        while len(kernel.helpers) < len(self._helpers):
            name = list(self._helpers)[len(kernel.helpers)]
            kernel.helpers.append(lower_function(self, builtin_function(name), self._helpers[name], "helper"))
        if self.options.opt_level and not self.options.own_sections:
            kernel.private = private_functions(kernel.functions, {self.copy_name(g) for g in self._pointed})
        self._open_pool(kernel)
        for fn in kernel.all_functions() if kernel.references else ():
            fn.slots_at = min(r.offset for r in kernel.references)
        self.program.kernels.append(kernel)

    def _open_pool(self, kernel: Kernel) -> None:
        """Allot what phases put into bank 2, after its tables: more tables, and constants on targets whose operations read that bank.

        With -g a function has a section of its own and any kernel may call it: it has no bank and uses no constants.
        """
        if self.options.debug and not kernel.ptx.entry:
            return
        if not self.target.has(features.CONSTANT_OPERANDS) and (self.options.relocatable or self.options.own_sections):
            return
        owner = kernel.entry.name if self.options.relocatable else ""
        kernel.pool = ConstantPool(data_layout.align_up(kernel.table_bytes, 8), owner)
        for fn in kernel.all_functions():
            fn.pool = kernel.pool

    def copy_name(self, g: Function) -> str:
        """Symbol of the current kernel's copy of a function, or of the function itself if it has a section of its own."""
        if self.options.own_sections:
            return g.name
        return f"${self.kernel.ptx.name}${g.name}"

    def need_helper(self, name: str) -> str:
        """Require an internal subroutine for the current kernel; returns its symbol."""
        symbol = self._helpers.get(name)
        if symbol is None:
            symbol = f"$__internal_{self._helper_count}_$__{name}"
            self._helper_count += 1
            self._helpers[name] = symbol
        return symbol

    def need_extern(self, g: Function, line: int) -> int:
        """Record a call of an undefined function; returns its bank 4 slot, or -1 where the call names the symbol.  Raises
        Unsupported if neither the driver nor a linker defines the function."""
        if g.name not in driver.CALLABLE and not self.options.linked:
            raise Unsupported(f"Unresolved extern function '{g.name}'", line)
        if g.name not in self.kernel.externs:
            self.kernel.externs.append(g.name)
        self._extern(g)
        return -1 if self.names_externs else self.slot(g.name)

    @property
    def has_tables(self) -> bool:
        """True if branches may read tables of a constant bank 2 of the function or kernel."""
        return not self.options.debug and (self.options.relocatable or not self.options.own_sections)

    @property
    def names_externs(self) -> bool:
        """True if calls of undefined functions name the symbol instead of reading its address from bank 4."""
        return self.options.own_sections or self.options.extensible

    @property
    def extern_call(self) -> str:
        """The kind (:class:`CallInfo`) of calls of undefined functions."""
        return "abi" if self.options.own_sections else "extern" if self.options.extensible else "syscall"

    def driver_function(self, ctx: Ctx, name: str) -> Opnd:
        """Address of a driver function that the PTX module does not declare; NONE where a call names the symbol."""
        self._name_driver_function(name)
        self.kernel.edges.append((ctx.fn.name, name))
        if self.names_externs:
            return K_NONE
        return ctx.b.copy(const(4, self.slot(name)), 2)

    def _name_driver_function(self, name: str) -> None:
        if name not in self.kernel.externs:
            self.kernel.externs.append(name)
        if all(e.name != name for e in self.program.externs):
            self.program.externs.append(ExternFunction(name, GLOBAL))

    def _extern(self, g: Function) -> None:
        if all(e.name != g.name for e in self.program.externs):
            self.program.externs.append(ExternFunction(g.name, WEAK if g.linkage == "weak" else GLOBAL))

    def variable_registers(self, f: Function) -> dict[str, int]:
        """With -g: the registers of a function that hold variables of the program, and the line at which they end."""
        return self._variable_registers.get(f.name, {})

    def facts(self, f: Function) -> Facts:
        """The summary of a function, computed once."""
        known = self._facts.get(f)
        if known is None or f.body is None:
            known = Facts(f)
            if f.body is not None:
                self._facts[f] = known
        return known

    def _reach(self, f: Function) -> list[Function]:
        """Functions with a body that the kernel can call or point to, in module order."""
        seen: set[str] = set()
        todo = [f]
        while todo:
            facts = self.facts(todo.pop())
            for g in [*facts.functions, *(self._pointed if facts.indirect else ())]:
                target = self.definition(g)
                if target.name not in seen and target.body is not None and not target.entry:
                    seen.add(target.name)
                    todo.append(target)
        return [g for g in self.ast.functions if g.name in seen and g.body is not None]

    def _unreached(self) -> set[str]:
        """Names of functions that no kernel can call and no data points to."""
        kept = {f.name for f in self._pointed}
        for f in self.ast.functions:
            if f.entry and f.body is not None:
                kept.update(g.name for g in self._reach(f))
        return {f.name for f in self.ast.functions if not f.entry} - kept

    def _find_pointers(self) -> None:
        """Find the functions whose address the module takes, in module order."""
        taken: set[str] = set()
        for f in self.ast.functions:
            if f.body is not None:
                taken.update(self.definition(g).name for g in self.facts(f).addressed)
        taken.update(self.definition(g).name for g in functions_in_data(*self._module_vars()))
        self.program.points_to_functions = bool(taken)
        self._pointed = [f for f in self.ast.functions if f.name in taken and f.body is not None and not f.entry]
        entries = sum(f.entry and f.body is not None for f in self.ast.functions)
        if entries > 1 and not self.options.own_sections:
            # Each kernel has its own copies of functions: an address is an offset in the kernel's table of them.
            self.pointer = {f.name: 8 * (k + 1) for k, f in enumerate(self._pointed)}
            self.pointer.update({a: self.pointer[f] for a, f in self.ast.aliases if f in self.pointer})

    def definition(self, f: Function) -> Function:
        """The function with this name (or the one it is an alias of) that has a body, if any, else `f`."""
        if f.body is None:
            name = f.name
            for alias, target in self.ast.aliases:
                if alias == name:
                    name = target
            for g in self.ast.functions:
                if g.name == name and g.body is not None:
                    return g
        return f

    def _layout_common_shared(self) -> None:
        """Place shared variables of functions with sections of their own: before the kernel's, at equal offsets in all."""
        top = 0
        used: set[Var] = set()
        for f in self.ast.functions:
            if f.body is not None and not f.entry:
                used |= self.facts(f).shared
        entries = [f for f in self.ast.functions if f.body is not None and f.entry]
        named = set(used)
        if self.options.debug:
            # Debug information names it, whatever uses it.
            for f in entries:
                named |= self.facts(f).shared
        dynamic = [v for v in self._module_vars() if v in named and v.size == 0]
        for v in self._in_shared_order([v for v in self._module_vars() if v in used and v.size]):
            top = data_layout.align_up(top, data_layout.var_align(v))
            self._common_shared[v] = top
            top += v.size
        self._common_size = top
        if not dynamic:
            return
        # One address for all kernels that use it: after the static variables of each.
        for f in entries:
            if self._uses_dynamic(f):
                mine = self.facts(f).shared
                own = [v for v in [*f.variables, *self.ast.variables] if v in mine and v not in self._common_shared]
                at = self._common_size
                for v in self._in_shared_order(own):
                    at = data_layout.align_up(at, data_layout.var_align(v)) + v.size
                top = max(top, at)
        self._dynamic_start = data_layout.align_up(top, max(data_layout.var_align(v) for v in dynamic))
        self._common_shared.update(dict.fromkeys(dynamic, self._dynamic_start))

    def _in_shared_order(self, variables: list[Var]) -> list[Var]:
        """The order of shared variables in memory: as declared, but sorted with -g."""
        if not self.options.debug:
            return variables
        return [variables[n] for n in shared_with_debug([(data_layout.var_align(v), v.size) for v in variables])]

    def _uses_dynamic(self, f: Function) -> bool:
        """Whether a kernel, or a function that it may call, uses dynamic shared memory."""
        return any(v.size == 0 for g in [f, *self._reach(f)] for v in self.facts(g).shared)

    def _layout_shared(self, f: Function, reached: list[Function]) -> None:
        used: set[Var] = set()
        for g in [f, *reached]:
            used |= self.facts(g).shared
        self.shared = {}
        kernel = self.kernel
        top = 0
        if self._common_shared:
            top = self._common_size
            self.shared = dict(self._common_shared)
            kernel.shared_align = max(data_layout.var_align(v) for v in self._common_shared)
            used -= self._common_shared.keys()
        local = [v for g in [f, *reached] for v in g.variables if v in used]
        module = [v for v in self.ast.variables if v in used]
        for v in self._in_shared_order([*local, *module]):
            if v.size:
                top = data_layout.align_up(top, data_layout.var_align(v))
                self.shared[v] = top
                top += v.size
        dynamic: list[Var] = []
        for v in [*local, *module]:
            kernel.shared_align = max(kernel.shared_align, data_layout.var_align(v))
            if v.size == 0:
                dynamic.append(v)
                continue
            out = data_layout.cubin_variable(v, "shared", self.symbol(v))
            out.offset = self.shared[v]
            kernel.shared.append(out)
        if self._dynamic_start and self._uses_dynamic(f):
            top = self._dynamic_start
        kernel.shared_size = top
        if self._uses_dynamic(f):
            for v in (v for v in self._common_shared if v.size == 0):
                out = data_layout.cubin_variable(v, "shared", self.symbol(v))
                out.offset = self._dynamic_start
                kernel.shared_dynamic.append(out)
        if dynamic:
            start = data_layout.align_up(top, max(data_layout.var_align(v) for v in dynamic))
            for v in dynamic:
                self.shared[v] = start
                out = data_layout.cubin_variable(v, "shared", self.symbol(v))
                out.offset = start
                kernel.shared_dynamic.append(out)

    # --- queries of handlers -----------------------------------------------------------------------------------

    def start_function(self, ctx: Ctx, f: Function) -> None:
        """Emit the head of the entry block: the shared window of the CTA, where the target needs it."""
        if not self.target.has(features.CLUSTERS):
            return
        if self.options.relocatable:
            if self.facts(f).shared:
                ctx.state.shared_base = ctx.b.r("S2R", word("SR_CgaCtaId"))
        elif self.shared:
            cta = ctx.b.r("S2R", word("SR_CgaCtaId"))
            ctx.state.shared_base = ctx.b.r("LEA", cta, imm(self.target.number("system_shared")), imm(24))

    def shared_address(self, ctx: Ctx, var: Var, addend: int) -> tuple[Opnd, int]:
        """A shared variable's address as (base register or RZ, byte offset)."""
        base = ctx.state.shared_base
        if self.options.names_places:
            self._used.add(var)
            place = ctx.b.copy(ctx.fn.sym(self.symbol(var), "abs32"))
            if base == NONE:
                return place, addend
            return ctx.b.r(
                "LEA", base, ctx.b.r("IADD3", place, imm(self.target.number("system_shared")), RZ), imm(24)
            ), addend
        offset = self.shared[var] + addend
        return (RZ if base == NONE else base), offset

    def address(self, ctx: Ctx, var: Var, addend: int, words: int) -> Opnd:
        """The address of a variable in its own space, as a value of `words` words."""
        space = var.space
        if var.type in data_layout.REFERENCES:
            self._used.add(var)
            return self._sampler_value(ctx, var) if var.type == "samplerref" else self._reference_value(ctx, var)
        if space == "global":
            self._used.add(var)
            if self.options.names_globals:
                unified = data_layout.unified_id(var.attributes) is not None
                return self._symbol(ctx, self.symbol(var), addend, "unified_" if unified else "")
            base = ctx.b.copy(const(4, self.slot(self.symbol(var))), 2)
            return ctx.b.r("iadd64", base, imm64(addend), width=2) if addend else base
        if space == "const":
            if self.options.names_places:
                low = self.const_symbol(ctx, var, addend)
                return ctx.b.pack(low, imm(0)) if words == 2 else low
            return _number(self.const_offset(ctx, var) + addend, words)
        if space == "shared":
            sbase, offset = self.shared_address(ctx, var, addend)
            if sbase == RZ:
                return _number(offset, words)
            low = ctx.b.r("IADD3", sbase, imm(offset), RZ) if offset else sbase
            return ctx.b.pack(low, imm(0)) if words == 2 else low
        if space == "param" and ctx.state.kind == "entry" and var not in ctx.state.frame_offset:
            return _number(self.param_offset(var) + addend, words)
        if var in ctx.state.frame_offset:
            low = ctx.frame(ctx.state.frame_offset[var] + addend)
            return ctx.b.pack(low, imm(0)) if words == 2 else low
        if var in ctx.state.incoming:
            low = ctx.b.r("frame.IN", imm(ctx.state.incoming[var] + addend))
            return ctx.b.pack(low, imm(0)) if words == 2 else low
        raise ctx.unsupported(f"The address of '{var.name}'")

    def _reference_value(self, ctx: Ctx, var: Var) -> Opnd:
        """A texture or surface reference as a value: its handle.  (Texture instructions can read it from the bank.)"""
        kind = imm(descriptors.HANDLE_KINDS[var.type])
        if self.options.relocatable:
            handle = ctx.b.pack(self.reference_handle(ctx, var), kind)
            ctx.state.reference_values[vreg(handle)] = var
            return handle
        slot = self.reference_slot(ctx, var)
        low = ctx.b.copy(const(0, 4 * slot))
        if not self.target.has(features.SEPARATE_SAMPLERS):
            low = self._marked(ctx, low)
        value = ctx.b.pack(low, kind)
        ctx.state.param_values[vreg(value)] = 4 * slot
        return value

    def _sampler_value(self, ctx: Ctx, var: Var) -> Opnd:
        """A sampler reference as a value."""
        if self.options.relocatable:
            low = self.reference_handle(ctx, var)
        else:
            low = ctx.b.copy(const(0, 4 * self.reference_slot(ctx, var)))
        if not self.target.has(features.SEPARATE_SAMPLERS):
            low = self._marked(ctx, ctx.b.r("SHF.R.U32.HI", RZ, imm(20), low))
        return ctx.b.pack(low, imm(descriptors.HANDLE_KINDS[var.type]))

    def _marked(self, ctx: Ctx, low: Opnd) -> Opnd:
        """The low word of a handle from the bank, with bit 31 set as in a handle that is a value (up to sm_89)."""
        return ctx.b.r("LOP3.LUT", low, imm(1 << 31), RZ, imm(0xFC), NOT_PT)

    def _symbol(self, ctx: Ctx, name: str, addend: int = 0, prefix: str = "") -> Opnd:
        """The 64-bit address of a symbol, from relocations."""
        low = ctx.b.copy(ctx.fn.sym(name, prefix + "lo32", addend))
        return ctx.b.pack(low, ctx.b.copy(ctx.fn.sym(name, prefix + "hi32", addend)))

    def const_symbol(self, ctx: Ctx, var: Var, addend: int) -> Opnd:
        """Where relocations say it: the offset of a constant variable in bank 3, from a relocation."""
        self._used.add(var)
        return ctx.b.copy(ctx.fn.sym(self.symbol(var), "abs16", addend))

    def const_offset(self, ctx: Ctx, var: Var) -> int:
        """Byte offset of a constant variable in bank 3."""
        self._used.add(var)
        return self._const_offsets[var]

    def param_offset(self, var: Var) -> int:
        """Byte offset of a kernel parameter in the parameter space."""
        for v, p in zip(self.kernel.ptx.params, self.kernel.params, strict=True):
            if v is var:
                return p.offset
        raise Unsupported(f"'{var.name}' is not a parameter of this kernel", var.line)

    def param_bank(self) -> int:
        """Offset of the parameter space in constant bank 0."""
        return self.target.word("parameters")

    def reference_slot(self, ctx: Ctx, var: Var, sampler: Var | None = None) -> int:
        """Word number in constant bank 0 of a reference's handle; the first use allots it.

        Up to sm_89 the index of a sampler is above the low 20 bits of the texture's word; `sampler` then shares that
        word.
        """
        names = [v.name for v in (sampler, var) if v is not None]
        self._used.update(v for v in (sampler, var) if v is not None)
        kernel = self.kernel
        words: dict[int, list[str]] = {}
        for known in kernel.references:
            words.setdefault(known.offset, []).append(known.symbol)
        for at, symbols in words.items():
            if symbols == names:
                return at // 4
        first = data_layout.align_up(kernel.param_bytes, self.target.number("reference_alignment"))
        at = self.target.word("parameters") + first + 4 * len(words)
        upper = R_SAMP_HEADER_INDEX_0 if self.target.has(features.SEPARATE_SAMPLERS) else R_SAMP_HEADER_INDEX
        types = {"texref": R_TEX_HEADER_INDEX, "surfref": R_SURF_HEADER_INDEX, "samplerref": upper}
        for v in (sampler, var):
            if v is not None:
                kernel.references.append(Reloc(at, types[v.type], v.name))
        return at // 4

    def reference_symbol(self, ctx: Ctx, var: Var) -> Opnd:
        """In a relocatable module: the word number of :meth:`reference_slot`, which the linker fills in."""
        self._used.add(var)
        return ctx.fn.sym(var.name, "bindless")

    def reference_handle(self, ctx: Ctx, var: Var) -> Opnd:
        """In a relocatable module: the handle of a reference, read from the bank at an offset that the linker fills in."""
        self._used.add(var)
        return ctx.b.r("LDC", ctx.fn.sym(var.name, "cbank"), RZ)

    def function_address(self, ctx: Ctx, f: Function) -> Opnd:
        """The address of a function, represented as in ptxas 13.0.88.

        Where functions are copied after the kernel, it is the copy's offset in the section.  In modules with several
        kernels it is an offset in a table at the start of constant bank 2; each kernel has such a table with the
        offsets of its own copies.
        """
        target = self.definition(f)
        if self.options.own_sections:
            if target.body is None:
                self.need_extern(target, ctx.line)
            self._take_address(target)
            self.program.address_uses.append(CallEdge(ctx.fn.name, target.name))
            unified = self.options.relocatable and self.target.has(features.UNIFIED_FUNCTIONS)
            return self._symbol(ctx, target.name, 0, "unified_" if unified else "")
        if target.body is None or target.entry:
            if self.options.extensible:
                raise Unsupported(f"The address of '{target.name}' with --extensible-whole-program", ctx.line)
            slot = self.slot(target.name) if target.entry else self.need_extern(target, ctx.line)
            return ctx.b.copy(const(4, slot), 2)
        name = self.copy_name(target)
        if target.name in self.pointer:
            return ctx.b.copy(imm64(self.pointer[target.name]), 2)
        lo = ctx.b.copy(ctx.fn.sym(name, "text_lo"))
        return ctx.b.pack(lo, imm(0))

    def _take_address(self, f: Function) -> None:
        if not f.entry and all(name != f.name for name, _ in self.program.address_taken):
            self.program.address_taken.append((f.name, data_layout.prototype(f)))

    def special(self, ctx: Ctx, name: str, comp: str) -> Opnd:
        """The value of a special register."""
        return read_special(ctx, name, comp)


def _local_symbols(module: Module) -> dict[Var, str]:
    """Symbols of variables declared in functions: ptxas's ``$__name__N``, with the line of the declaration.

    Two functions, and two blocks of one function, may declare variables of the same name.
    """
    out: dict[Var, str] = {}
    count: dict[str, int] = {}
    for f in module.functions:
        for v in f.variables:
            if v.space in ("global", "const", "shared") and v.linkage == "" and v.type not in data_layout.REFERENCES:
                symbol = f"$__{v.name}__{v.line}"
                again = count.get(symbol, 0)
                count[symbol] = again + 1
                out[v] = f"{symbol}${again}" if again else symbol
    return out


def _debug_symbols(module: Module) -> dict[Var, str]:
    """Symbols of shared variables that functions of a whole program declare, with -g: the name; of a second one ``name.1``."""
    out: dict[Var, str] = {}
    count: dict[str, int] = {v.name: 1 for v in module.variables}
    for f in module.functions:
        for v in f.variables:
            if v.space == "shared" and v.linkage == "":
                again = count.get(v.name, 0)
                count[v.name] = again + 1
                out[v] = f"{v.name}.{again}" if again else v.name
    return out


def _number(value: int, words: int) -> Opnd:
    return imm64(value) if words == 2 else imm(value)
