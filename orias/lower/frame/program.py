"""The result of lowering a module: functions per kernel and the data layout."""

from typing import final

from orias.cubin.model import GLOBAL, WEAK, BankSlot, CallEdge, ExternFunction, Param, Reloc, Variable
from orias.lower.frame.data_layout import prototype
from orias.ori.ir import ConstantPool, Func
from orias.ptx.ast import Function, Loc
from orias.target.profile import Target


@final
class LowerOptions:
    """Options that lowering reads.  ``relocatable``: -c (extern symbols stay); ``opt_level`` 0..3; ``debug``: -g.

    ``own_sections``: functions have sections of their own instead of copies after each kernel.
    ``extensible``: -ewp, a whole program whose global variables and undefined functions are symbols for a linker.
    ``drops_unreached``: with ``own_sections``: functions that no kernel reaches are left out.
    ``stack_guard``: as in :class:`orias.options.Options`.
    ``access_checks``: accesses to memory are checked (:mod:`orias.lower.memory.access_checks`); False where the target has no checks.
    ``preserve_relocs``: addresses of shared and constant variables are from relocations, which the writer resolves and keeps.
    """

    __slots__ = (
        "access_checks",
        "own_sections",
        "debug",
        "drops_unreached",
        "extensible",
        "first_address",
        "opt_level",
        "preserve_relocs",
        "relocatable",
        "stack_guard",
    )

    def __init__(
        self,
        relocatable: bool = False,
        opt_level: int = 3,
        debug: bool = False,
        own_sections: bool = False,
        extensible: bool = False,
        preserve_relocs: bool = False,
        drops_unreached: bool = False,
        stack_guard: int = -1,
        access_checks: bool = False,
        first_address: int = 0,
    ) -> None:
        self.first_address: int = first_address
        """The lowest address that constant and shared variables get."""
        self.access_checks: bool = access_checks
        self.stack_guard: int = stack_guard
        self.drops_unreached: bool = drops_unreached
        self.preserve_relocs: bool = preserve_relocs
        self.relocatable: bool = relocatable
        self.extensible: bool = extensible
        self.opt_level: int = opt_level
        self.debug: bool = debug
        self.own_sections: bool = own_sections or relocatable or debug

    @property
    def linked(self) -> bool:
        """True if a linker gives global variables and undefined functions their addresses."""
        return self.relocatable or self.extensible

    @property
    def names_places(self) -> bool:
        """True if code has the places of shared and constant variables from relocations."""
        return self.relocatable or self.preserve_relocs

    @property
    def names_globals(self) -> bool:
        """True if code has the addresses of global variables from relocations, not from the table in bank 4."""
        return self.own_sections or self.extensible

    @property
    def has_tables(self) -> bool:
        """True if branches may read tables of a constant bank 2 of the function or kernel."""
        return not self.debug and (self.relocatable or not self.own_sections)

    @property
    def names_externs(self) -> bool:
        """True if calls of undefined functions name the symbol instead of reading its address from bank 4."""
        return self.own_sections or self.extensible

    @property
    def helpers_apart(self) -> bool:
        """True if internal subroutines that ptxas has a name for are functions of that name with sections of their own.

        Not where a linker may take another compiler's subroutine of the same name, which has other conventions.
        """
        return self.debug and not self.linked

    @property
    def extern_call(self) -> str:
        """The kind (:class:`CallInfo`) of calls of undefined functions."""
        return "abi" if self.own_sections else "extern" if self.extensible else "syscall"


@final
class Kernel:
    """A kernel with everything that goes into its ``.text`` section.

    ``functions``: copies of the PTX functions it can reach (named ``$kernel$function``, kind ``func``);
    ``helpers``: internal subroutines (kind ``helper``), compiled once per kernel.  Sizes and offsets in bytes.
    """

    __slots__ = (
        "barriers", "calls_unknown", "common_shared", "ctaidz_used", "dynamic_used", "edges", "entry", "externs", "frame_places", "functions", "helpers", "indirect_calls", "is_helper",
        "locs", "param_bytes", "params", "pointers", "pool", "private", "ptx", "references", "shared", "shared_align", "shared_dynamic", "shared_scratch", "shared_size", "table_bytes",
    )  # fmt: skip

    def __init__(self, ptx: Function, entry: Func) -> None:
        self.ptx: Function = ptx
        """The PTX function, for its directives and linkage."""
        self.is_helper: bool = False
        """An internal subroutine with a section of its own, of which the PTX text has no lines."""
        self.entry: Func = entry
        self.functions: list[Func] = []
        self.helpers: list[Func] = []
        self.private: list[Func] = []
        """Those of ``functions`` that need not preserve registers; callees before callers."""
        self.frame_places: dict[str, int] = {}
        """With -g: offsets of local variables in the entry's frame, from its lowest byte."""
        self.params: list[Param] = []
        self.param_bytes: int = 0
        self.shared: list[Variable] = []
        """Static shared variables in use, with byte offsets in the kernel's shared memory (without the system's part)."""
        self.shared_size: int = 0
        self.shared_scratch: int = 0
        """Bytes of these that hold spilled values, with what aligns them."""
        self.shared_align: int = 1
        self.shared_dynamic: list[Variable] = []
        """Dynamic shared variables, also those that the kernel does not use."""
        self.dynamic_used: bool = False
        self.common_shared: bool = False
        """A function with a section of its own uses shared variables, which are not in its memory."""
        self.barriers: int = 0
        """Highest number of a named barrier in use, plus 1; 16 if a register holds a barrier number."""
        self.table_bytes: int = 0
        """Bytes of tables at the start of constant bank 2: function pointers, then jump tables (see ``Func.tables``)."""
        self.pool: ConstantPool | None = None
        """64-bit constants in bank 2, shared by all functions; None on targets whose operations cannot read them."""
        self.pointers: list[str] = []
        """Functions in the table of function pointers (8 bytes each, after an empty first entry); empty without a table."""
        self.edges: list[tuple[str, str]] = []
        """Direct calls (caller, callee) by function name."""
        self.references: list[Reloc] = []
        """Texture and surface references in use: words after the parameters in constant bank 0."""
        self.externs: list[str] = []
        """Syscalls and other undefined functions called."""
        self.indirect_calls: bool = False
        self.ctaidz_used: bool = False
        self.locs: dict[int, Loc] = {}
        """PTX line of an instruction -> the .loc directive in force."""

    def in_order(self) -> list[Func]:
        """All functions in the order of compilation: helpers and private functions come before their callers."""
        others = [f for f in self.functions if f not in self.private]
        return [*self.helpers, *self.private, *others, self.entry]

    def size(self) -> int:
        """Number of instructions of all functions."""
        return sum(len(b.insts) for f in self.all_functions() for b in f.blocks)

    def all_functions(self) -> list[Func]:
        """Entry, functions and helpers, in the order of their code."""
        return [self.entry, *self.functions, *self.helpers]


@final
class Program:
    """A lowered module."""

    __slots__ = (
        "address_taken", "address_uses", "bank4", "const_size", "externs", "indirect_calls", "kernels", "options", "points_to_functions",
        "prototypes", "samplers", "target", "variables",
    )  # fmt: skip

    def __init__(self, target: Target, options: LowerOptions) -> None:
        self.target: Target = target
        self.options: LowerOptions = options
        self.kernels: list[Kernel] = []
        self.variables: list[Variable] = []
        """Global and constant variables, with data; constant ones with their offsets in bank 3."""
        self.const_size: int = 0
        self.bank4: list[BankSlot] = []
        """Address table."""
        self.externs: list[ExternFunction] = []
        """Undefined functions called, in the order of their PTX declarations."""
        self.samplers: list[tuple[str, dict[str, int]]] = []
        """Sampler references in reverse order of declaration: (name, fields with initial values)."""
        self.prototypes: list[tuple[str, str]] = []
        """Relocatable modules, for the linker: (function, prototype text) of visible, weak and undefined functions."""
        self.points_to_functions: bool = False
        """Code or data has the address of a function or kernel."""
        self.address_taken: list[tuple[str, str]] = []
        """(function, prototype text) of each function whose address is taken; the text of a kernel is empty."""
        self.indirect_calls: list[tuple[str, str]] = []
        """(caller, prototype text) of each indirect call."""
        self.address_uses: list[CallEdge] = []
        """(function, function whose address it takes)."""

    def declare_extern(self, name: str, weak: bool) -> None:
        """Record a function that code calls or data points to and that nothing here defines."""
        if all(e.name != name for e in self.externs):
            self.externs.append(ExternFunction(name, WEAK if weak else GLOBAL))

    def take_address(self, f: Function) -> None:
        """Record that code or data has the address of a function, or the descriptor of a kernel, which has no prototype."""
        if all(name != f.name for name, _ in self.address_taken):
            self.address_taken.append((f.name, "" if f.entry else prototype(f)))
