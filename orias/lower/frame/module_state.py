"""What the functions of a module share while they are lowered."""

from typing import Final, final

from orias.diag import Unsupported
from orias.lower.frame.data_layout import param_places
from orias.lower.frame.function_graph import FunctionGraph
from orias.lower.frame.module_data import ModuleData, module_variables
from orias.lower.frame.program import Kernel, LowerOptions, Program
from orias.ptx.ast import Function, Module
from orias.ptx.debug import variable_registers
from orias.target import driver
from orias.target.profile import Target


@final
class ModuleState:
    """The module, its layout of data, its functions, and the kernel that is being lowered.

    ``helpers``: the symbols of the internal subroutines that the current kernel needs, by name; ``helpers_apart``: the names of
    those with a section of their own, by symbol.
    """

    __slots__ = (
        "_helper_count",
        "_most_parameters",
        "_variable_registers",
        "accesses",
        "ast",
        "data",
        "driver_prototypes",
        "functions",
        "helpers",
        "helpers_apart",
        "helpers_of",
        "kernel",
        "options",
        "program",
        "target",
    )

    def __init__(self, module: Module, target: Target, options: LowerOptions) -> None:
        variables = module_variables(module)
        self.ast: Final[Module] = module
        self.target: Final[Target] = target
        self.options: Final[LowerOptions] = options
        self.program: Final[Program] = Program(target, options)
        self.functions: Final[FunctionGraph] = FunctionGraph(module, variables, not options.own_sections)
        self.program.points_to_functions = self.functions.has_pointers
        self.data: Final[ModuleData] = ModuleData(module, variables, self.program, self.functions)
        self._variable_registers: Final[dict[str, dict[str, list[int]]]] = (
            variable_registers(module) if options.debug else {}
        )
        self.driver_prototypes: Final[dict[str, str]] = {}
        """Texts of the prototypes of called driver functions that the module does not declare."""
        self.helpers: dict[str, str] = {}
        self.helpers_apart: Final[dict[str, str]] = {}
        self.helpers_of: Final[dict[str, list[str]]] = {}
        """Those of ``helpers_apart`` that a function calls, in the order of its text."""
        self._helper_count: int = 0
        self.accesses: int = 0
        """How many accesses to memory have a check."""
        self.kernel: Kernel
        self._most_parameters: int = -1

    def largest_parameters(self) -> int:
        """Bytes of the parameters of the kernel that has most."""
        if self._most_parameters < 0:
            sizes = [param_places(f.params, self.target)[1] for f in self.ast.functions if f.entry]
            self._most_parameters = max(sizes, default=0)
        return self._most_parameters

    def begin(self, kernel: Kernel) -> None:
        """Go on with another kernel, which has helpers of its own."""
        self.kernel = kernel
        self.helpers = {}

    def copy_name(self, g: Function) -> str:
        """Symbol of the current kernel's copy of a function, or of the function itself if it has a section of its own."""
        if self.options.own_sections:
            return g.name
        return f"${self.kernel.ptx.name}${g.name}"

    def need_helper_apart(self, name: str, symbol: str, caller: str) -> None:
        """Require an internal subroutine as a function with its own section."""
        self.helpers_apart[symbol] = name
        self.helpers_of.setdefault(caller, []).append(symbol)
        self.kernel.edges.append((caller, symbol))

    def need_helper(self, name: str) -> str:
        """Require an internal subroutine for the current kernel; returns its symbol."""
        symbol = self.helpers.get(name)
        if symbol is None:
            symbol = f"$__internal_{self._helper_count}_$__{name}"
            self._helper_count += 1
            self.helpers[name] = symbol
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

    def name_driver_function(self, name: str, prototype: str = "") -> None:
        """Record a call of a driver function that the PTX module does not declare; `prototype`: its text, for a linker."""
        if prototype:
            self.driver_prototypes[name] = prototype
        if name not in self.kernel.externs:
            self.kernel.externs.append(name)
        self.program.declare_extern(name, False)

    def variable_registers(self, f: Function) -> dict[str, list[int]]:
        """With -g: the registers of a function that hold variables of the program, and the lines at which they end."""
        return self._variable_registers.get(f.name, {})
