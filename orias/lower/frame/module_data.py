"""Where the variables of a module lie: constant bank 3, shared memory, the table of addresses in bank 4, and their bytes."""

from typing import Final, final

from orias.cubin.model import GLOBAL, LOCAL, WEAK, BankSlot, Variable
from orias.cubin.variable_layout import by_alignment
from orias.diag import Unsupported
from orias.lower.frame import data_layout
from orias.lower.frame.function_graph import FunctionGraph
from orias.lower.frame.program import Kernel, Program
from orias.lower.frame.shared_layout import SharedLayout
from orias.ptx.ast import Function, Module, SymInit, Var
from orias.ptx.input_scopes import written

_LARGEST_DATA: Final = 1 << 28
"""Bytes of initial values that a module may have: a short text can ask for any number (a limit of Orias)."""


@final
class ModuleData:
    """The variables of a module.  Raises Unsupported if they are larger than the target or Orias allows."""

    __slots__ = (
        "_ast",
        "_bank4",
        "_functions",
        "_program",
        "_shared_layout",
        "_symbols",
        "_variables",
        "const_offsets",
        "shared",
        "used",
    )

    def __init__(self, module: Module, variables: list[Var], program: Program, functions: FunctionGraph) -> None:
        options = program.options
        self._ast: Final[Module] = module
        self._variables: Final[list[Var]] = variables
        self._program: Final[Program] = program
        self._functions: Final[FunctionGraph] = functions
        self._bank4: Final[dict[str, int]] = {}
        self._shared_layout: Final[SharedLayout] = SharedLayout(options.first_address)
        self._symbols: Final[dict[Var, str]] = _local_symbols(module)
        if options.debug:
            self._symbols.update(_debug_symbols(module, options.relocatable))
        self.used: Final[set[Var]] = set()
        """Variables that code or the data of others names."""
        self.const_offsets: Final[dict[Var, int]] = {}
        """Byte offsets in constant bank 3; empty where a linker places them."""
        self.shared: dict[Var, int] = {}
        """Byte offsets of the current kernel's shared variables."""
        for v in variables:
            if v.type not in data_layout.REFERENCES and data_layout.var_align(v) > _LARGEST_DATA:
                # The file is padded to the alignment of a section, also of one without bytes.
                raise Unsupported(f"Variable '{v.name}' has an alignment of more than {_LARGEST_DATA} bytes", v.line)
        if not options.relocatable:
            self._layout_const()
            if options.own_sections:
                self._layout_own_sections()

    def symbol(self, v: Var) -> str:
        """The symbol of a variable, which for one declared in a function is another than its name."""
        return self._symbols.get(v, v.name)

    def slot(self, symbol: str, descriptor: bool = False) -> int:
        """Byte offset in bank 4 of the slot that holds the symbol's address, or a kernel's descriptor; the first use allots it."""
        offset = self._bank4.get(symbol)
        if offset is None:
            offset = 8 * len(self._bank4)
            self._bank4[symbol] = offset
            self._program.bank4.append(BankSlot(offset, symbol, 0, descriptor))
        return offset

    # --- constant and global variables --------------------------------------------------------------------------

    def _layout_const(self) -> None:
        top = self._program.options.first_address
        constants = [v for v in self._variables if v.space == "const"]
        # Visible and weak variables come first, in the order in which the cubin writer creates them.
        created = sorted(constants, key=lambda v: data_layout.BINDING[v.linkage] == LOCAL)
        if self._program.options.own_sections:
            created = [created[n] for n in by_alignment([(data_layout.var_align(v), v.size) for v in created])]
        for v in created:
            top = data_layout.align_up(top, data_layout.var_align(v))
            self.const_offsets[v] = top
            top += v.size
        self._program.const_size = top if created else 0
        limit = self._program.target.number("constant_limit")
        if top > limit:
            raise Unsupported(f"File uses too much global constant data ({hex(top)} bytes, {hex(limit)} max)")

    def put_variables(self) -> None:
        """Give the program its variables, with their bytes, once all code is lowered."""
        options, program = self._program.options, self._program
        self._use_what_data_names()
        self._put_references()
        written = 0
        for v in self._variables:
            if v.type in data_layout.REFERENCES:
                continue
            if v.space not in ("global", "const", "shared"):
                continue
            if v.space == "shared" and not options.relocatable and v not in self._shared_layout.common:
                continue
            if v.space == "shared" and v.function is not None and v.function.entry and v.linkage != "extern":
                continue
            if v not in self.used and v.linkage == "extern" and options.linked:
                # ptxas enters it, and nvlink refuses to link where nothing defines it, used or not.
                continue
            out = data_layout.cubin_variable(v, v.space, self.symbol(v))
            # A whole program defines what nothing else can; ptxas does so with a warning.
            out.extern = out.extern and options.linked
            if v.init is not None or v.space == "const" or out.unified is not None:
                # Other variables take no bytes of the file.
                written += v.size + data_layout.var_align(v)
                if written > _LARGEST_DATA:
                    raise Unsupported(
                        f"Variables with initial values of more than {_LARGEST_DATA} bytes in a module", v.line
                    )
            out.data, out.relocs = data_layout.initial_data(
                v,
                program.target,
                None if options.relocatable else self.const_offsets,
                options.own_sections,
                self._functions.numbers,
                self._symbols,
            )
            if v.space == "const":
                out.offset = self.const_offsets.get(v, -1)
            elif v.space == "shared":
                out.offset = self._shared_layout.places.get(v, -1)
            program.variables.append(out)

    def _use_what_data_names(self) -> None:
        """Initial values name variables and functions."""
        # What a linker reads names the functions of its initial values, whether or not code reads it.
        left = ("extern",) if self._program.options.linked else ("", "extern")
        kept = [v for v in self._variables if v.space in ("global", "const") and v.linkage not in left]
        todo = [v for v in self._variables if v in self.used] + kept
        while todo:
            v = todo.pop()
            for _, value in v.init or []:
                if not isinstance(value, SymInit):
                    continue
                if isinstance(value.target, Function):
                    target = self._functions.definition(value.target)
                    if target.body is None:
                        self._program.declare_extern(target.name, target.linkage == "weak")
                    self._program.take_address(target)
                elif value.target not in self.used:
                    self.used.add(value.target)
                    todo.append(value.target)

    def _put_references(self) -> None:
        """Texture, surface and sampler references, used ones first: all are symbols that the driver finds by name."""
        every = [v for v in self._variables if v.type in data_layout.REFERENCES]
        for v in sorted(every, key=lambda v: v not in self.used):
            binding = WEAK if v.linkage == "weak" else GLOBAL
            if v in self.used or v.linkage != "extern":
                reference = Variable(v.name, v.type, 0, 1, binding)
                reference.written = written(v.name)
                self._program.variables.append(reference)
        for v in reversed(every):
            if v.type == "samplerref":
                self._program.samplers.append((v.name, v.fields or {}))

    # --- shared variables ---------------------------------------------------------------------------------------

    def _layout_own_sections(self) -> None:
        """Place shared variables where functions have sections of their own."""
        functions = [f for f in self._ast.functions if f.body is not None]
        called = [f for f in functions if not f.entry]
        # What a linker adds may call any function from any kernel.
        extensible = self._program.options.extensible
        reached = {f: called if extensible else self._functions.reach(f) for f in functions if f.entry}
        self._shared_layout.lay_out(self._ast, reached, self._functions.facts, self._program.options.debug)

    def share_common(self, kernel: Kernel) -> None:
        """For a function with a section of its own: its shared variables are where all kernels have them."""
        places = self._shared_layout.places
        self.shared = {v: places[v] for v in self._functions.facts(kernel.ptx).shared if v in places}
        kernel.common_shared = bool(self.shared)

    def take_shared(self, kernel: Kernel) -> None:
        """For a kernel whose functions have sections of their own: the shared variables that it may reach."""
        layout = self._shared_layout
        memory = layout.kernels[kernel.ptx]
        self.shared = memory.places
        own = [v for v in memory.places if v.size and v not in layout.common]
        kernel.shared_size = memory.size
        kernel.shared_align = max((data_layout.shared_align(v) for v in memory.places), default=1)
        kernel.shared = [self._placed(v, self.shared[v]) for v in own]
        kernel.shared_dynamic = [self._placed(v, self.shared[v]) for v in memory.places if v.size == 0]
        kernel.dynamic_used = bool(kernel.shared_dynamic)

    def list_shared(self, kernel: Kernel) -> None:
        """For a kernel whose shared variables a linker places: those that it declares itself."""
        f = kernel.ptx
        own = [v for v in f.variables if v in self._functions.facts(f).shared and v.linkage != "extern"]
        kernel.shared = [data_layout.cubin_variable(v, "shared", self.symbol(v)) for v in own]
        kernel.shared_size = sum(v.size for v in own)
        kernel.shared_align = max((data_layout.var_align(v) for v in own), default=1)

    def layout_shared(self, kernel: Kernel, reached: list[Function]) -> None:
        """Place the shared variables of a kernel and of the functions that are copied after it.

        Each kernel has the dynamic ones of the module, used or not, as with ptxas 13.0.88.
        """
        f = kernel.ptx
        used = self._functions.shared_variables(f, *reached)
        variables = [v for g in [f, *reached] for v in g.variables if v in used]
        variables += [v for v in self._ast.variables if v in used or (v.space == "shared" and v.size == 0)]
        self.shared = {}
        top = self._program.options.first_address if variables else 0
        dynamic: list[Var] = []
        for v in variables:
            kernel.shared_align = max(kernel.shared_align, data_layout.shared_align(v))
            if v.size == 0:
                dynamic.append(v)
                kernel.dynamic_used = kernel.dynamic_used or v in used
                continue
            self.shared[v] = data_layout.align_up(top, data_layout.var_align(v))
            top = self.shared[v] + v.size
            kernel.shared.append(self._placed(v, self.shared[v]))
        kernel.shared_size = top
        start = data_layout.align_up(top, max((data_layout.shared_align(v) for v in dynamic), default=1))
        for v in dynamic:
            self.shared[v] = start
            kernel.shared_dynamic.append(self._placed(v, start))

    def _placed(self, v: Var, offset: int) -> Variable:
        """A shared variable at a byte offset."""
        out = data_layout.cubin_variable(v, "shared", self.symbol(v))
        out.offset, out.align = offset, data_layout.shared_align(v)
        return out


def module_variables(module: Module) -> list[Var]:
    """The variables of a module that are in memory of their own, those of its functions after the others."""
    out = list(module.variables)
    for f in module.functions:
        out.extend(v for v in f.variables if v.space in ("global", "const", "shared"))
    return out


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


def _debug_symbols(module: Module, relocatable: bool) -> dict[Var, str]:
    """Symbols of shared variables that functions declare, with -g: the name; of a second one ``name.1``; in objects those of local
    functions come last, as their code."""
    out: dict[Var, str] = {}
    count: dict[str, int] = {v.name: 1 for v in module.variables}
    late = {f for f in module.functions if relocatable and data_layout.BINDING[f.linkage] == LOCAL}
    for f in sorted(module.functions, key=lambda g: g in late):
        for v in f.variables:
            if v.space == "shared" and v.linkage == "":
                again = count.get(v.name, 0)
                count[v.name] = again + 1
                out[v] = f"{v.name}.{again}" if again else v.name
    return out
