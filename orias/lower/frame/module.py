"""Lowers a PTX module to a :class:`Program`: kernels, each with copies of the functions it calls, and the data layout."""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.operand import K_NONE, Opnd, const
from orias.lower.builtins import builtin_function
from orias.lower.frame import data_layout
from orias.lower.frame.context import Ctx
from orias.lower.frame.families import load_common
from orias.lower.frame.function import lower_function
from orias.lower.frame.function_graph import FunctionGraph
from orias.lower.frame.module_data import ModuleData, module_variables
from orias.lower.frame.private_functions import private_functions
from orias.lower.frame.program import Kernel, LowerOptions, Program
from orias.lower.frame.special_registers import read_special
from orias.ori.ir import ConstantPool, Func
from orias.ptx.ast import Function, Module
from orias.ptx.debug import variable_registers
from orias.target import driver, features
from orias.target.profile import Target


def lower_module(module: Module, target: Target, options: LowerOptions | None = None) -> Program:
    """Lower every kernel of the module; raises Unsupported at the first thing that cannot be compiled yet."""
    return ModuleLower(module, target, options or LowerOptions()).run()


_CHECKED_FUNCTIONS: Final = ("malloc", "free")


@final
class ModuleLower:
    """What the functions of a module share while they are lowered."""

    __slots__ = (
        "_helper_count",
        "_helpers",
        "_variable_registers",
        "accesses",
        "ast",
        "data",
        "functions",
        "kernel",
        "options",
        "program",
        "target",
    )

    def __init__(self, module: Module, target: Target, options: LowerOptions) -> None:
        load_common()
        variables = module_variables(module)
        self.ast: Final[Module] = module
        self.target: Final[Target] = target
        self.options: Final[LowerOptions] = options
        self.program: Final[Program] = Program(target, options)
        self.functions: Final[FunctionGraph] = FunctionGraph(module, variables, not options.own_sections)
        self.program.points_to_functions = self.functions.has_pointers
        self.data: Final[ModuleData] = ModuleData(module, variables, self.program, self.functions)
        self._variable_registers: Final[dict[str, dict[str, int]]] = variable_registers(module) if options.debug else {}
        self._helpers: dict[str, str] = {}
        self._helper_count: int = 0
        self.accesses: int = 0
        """How many accesses to memory have a check."""
        self.kernel: Kernel

    def run(self) -> Program:
        """Lower the whole module."""
        program, options = self.program, self.options
        for f in self.ast.functions:
            if data_layout.function_unified_id(f) is not None:
                # The linker and the host have its address.
                definition = self.functions.definition(f)
                if definition.body is None:
                    program.declare_extern(f.name, f.linkage == "weak")
                program.take_address(definition)
        left_out = self.functions.unreached() if options.drops_unreached else set()
        for f in self.ast.functions:
            if f.name not in left_out and f.body is not None and (f.entry or options.own_sections):
                self._kernel(f)
        if options.own_sections and not options.relocatable:
            declared = list(dict.fromkeys(f.name for f in self.ast.functions))
            program.kernels.sort(key=lambda k: declared.index(k.ptx.name))
        self.data.put_variables()
        if options.relocatable:
            used = {callee for k in program.kernels for _, callee in k.edges} | {a for a, _ in self.ast.aliases}
            pointed = {name for name, _ in program.address_taken}
            for f in self.ast.functions:
                if f.entry or f.name in pointed:
                    continue
                if f.name in used if f.body is None else f.linkage in ("visible", "weak"):
                    program.prototypes.append((f.name, data_layout.prototype(f)))
        return program

    def _kernel(self, f: Function) -> None:
        kernel = Kernel(f, Func(f.name, self.target))
        self.kernel = kernel
        self._helpers = {}
        places, kernel.param_bytes = data_layout.param_places(f.params, self.target)
        kernel.params = places
        reached: list[Function] = []
        if not self.options.own_sections:
            functions = self.functions
            reached = functions.reach(f)
            self.data.layout_shared(kernel, reached)
            if functions.numbers and any(functions.facts(g).indirect for g in [f, *reached]):
                kernel.pointers = [self.copy_name(g) for g in functions.pointed]
                kernel.table_bytes = 8 * (1 + len(kernel.pointers))
        elif not f.entry:
            kernel.params, kernel.param_bytes = [], 0
            self.data.share_common(f)
        elif not self.options.relocatable:
            self.data.take_shared(kernel)
        else:
            self.data.list_shared(kernel)
        kernel.entry = lower_function(self, f, f.name, "entry" if f.entry else "func")
        kernel.functions = [lower_function(self, g, self.copy_name(g), "func") for g in reached]
        if f.entry and self.options.access_checks and not self.options.own_sections:
            # As in ptxas's file, whose checks of these functions' calls are routines that only call them.
            for name in _CHECKED_FUNCTIONS:
                self._name_driver_function(name)
                self.data.slot(name)
        while len(kernel.helpers) < len(self._helpers):
            name = list(self._helpers)[len(kernel.helpers)]
            kernel.helpers.append(lower_function(self, builtin_function(name), self._helpers[name], "helper"))
        if self.options.opt_level and not self.options.own_sections:
            kernel.private = private_functions(kernel.functions, {self.copy_name(g) for g in self.functions.pointed})
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
        if not driver.is_callable(g.name) and not self.options.linked:
            raise Unsupported(f"Unresolved extern function '{g.name}'", line)
        if g.name not in self.kernel.externs:
            self.kernel.externs.append(g.name)
        self.program.declare_extern(g.name, g.linkage == "weak")
        return -1 if self.options.names_externs else self.data.slot(g.name)

    def driver_function(self, ctx: Ctx, name: str) -> Opnd:
        """Address of a driver function that the PTX module does not declare; NONE where a call names the symbol."""
        self._name_driver_function(name)
        self.kernel.edges.append((ctx.fn.name, name))
        if self.options.names_externs:
            return K_NONE
        return ctx.b.copy(const(4, self.data.slot(name)), 2)

    def _name_driver_function(self, name: str) -> None:
        if name not in self.kernel.externs:
            self.kernel.externs.append(name)
        self.program.declare_extern(name, False)

    def variable_registers(self, f: Function) -> dict[str, int]:
        """With -g: the registers of a function that hold variables of the program, and the line at which they end."""
        return self._variable_registers.get(f.name, {})

    def special(self, ctx: Ctx, name: str, comp: str) -> Opnd:
        """The value of a special register."""
        return read_special(ctx, name, comp)
