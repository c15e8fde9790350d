"""The contents of a cubin as objects: the compiler fills them in for the writer, and the reader returns them.

Units: every offset, size and alignment is in bytes unless said otherwise; code offsets are relative to the start of
their ``.text`` section.  Names are the ELF symbol names (PTX names, ``$k$f`` for the copy of ``f`` after kernel ``k``).
Relocation types are the ``R_CUDA`` numbers of :mod:`orias.cubin.relocs`.

In an executable module (``relocatable = False``) the writer applies the relocations in code that the layout of the
module determines (shared variables, functions of the same section) and writes those that only the loader can resolve.
In a relocatable module (option ``-c``) it writes all of them.
"""

from typing import Final, TypeAlias, final

LOCAL: Final = 0
GLOBAL: Final = 1
WEAK: Final = 2
"""Symbol bindings, with their ELF values."""

RESERVED_BEGIN: Final = ".nv.reservedSmem.begin"
RESERVED_CAP: Final = ".nv.reservedSmem.cap"
RESERVED_OFFSET: Final = ".nv.reservedSmem.offset0"
"""Symbols of reserved shared memory: its start, its size, and where the driver's variables begin."""

NO_CTA: Final[tuple[int, int, int]] = (0, 0, 0)

UnifiedId: TypeAlias = tuple[int, int]
"""The two numbers by which a linker knows a unified function or variable, ``.attribute(.unified(a, b))``."""


@final
class Reloc:
    """One relocation: ``type`` (R_CUDA number) at byte ``offset`` of its section, against ``symbol`` plus ``addend``.

    ``symbol`` may also be a section name (``.text.k``).
    """

    __slots__ = ("addend", "offset", "symbol", "type")

    def __init__(self, offset: int, type_: int, symbol: str, addend: int = 0) -> None:
        self.offset: int = offset
        self.type: int = type_
        self.symbol: str = symbol
        self.addend: int = addend


@final
class Param:
    """A kernel parameter.

    ``offset`` is relative to the start of the parameter space.  ``pointee_align`` is the ``.ptr .align`` value (bytes,
    a power of two; 0: none given) and ``space`` one of PTX's spaces of a ``.ptr`` parameter (``""``: no ``.ptr``;
    ``generic``, ``global``, ``shared``, ``const``) or ``texref``, ``surfref``, ``samplerref``; ``symbol`` names such a
    reference (its offset is then 0xffff for a texref).
    """

    __slots__ = ("offset", "ordinal", "pointee_align", "size", "space", "symbol")

    def __init__(self, ordinal: int, offset: int, size: int, space: str = "", pointee_align: int = 0) -> None:
        self.ordinal: int = ordinal
        self.offset: int = offset
        self.size: int = size
        self.space: str = space
        self.pointee_align: int = pointee_align
        self.symbol: str = ""


@final
class Variable:
    """A module-level variable, or a shared variable of a kernel.

    ``space``: ``global``, ``const`` or ``shared``; or ``texref``, ``samplerref``, ``surfref`` for references, which
    have no bytes.  ``data`` is the initial value (None: zero or uninitialised); ``relocs`` patch it.  ``offset`` is the
    place in its section; -1 leaves it to the layout rule of :mod:`orias.cubin.variable_layout`.  ``extern``: declared
    here, defined elsewhere.
    """

    __slots__ = (
        "align", "binding", "common", "data", "declared", "extern", "functions", "managed", "name", "offset", "relocs", "relocs_applied", "size", "space",
        "unified", "written",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        space: str,
        size: int,
        align: int,
        binding: int = LOCAL,
        data: bytes | None = None,
        extern: bool = False,
    ) -> None:
        self.name: str = name
        self.space: str = space
        self.size: int = size
        self.align: int = align
        self.binding: int = binding
        self.data: bytes | None = data
        self.extern: bool = extern
        self.declared: str = name
        """The name in the PTX text, of which ``name`` is the symbol."""
        self.written: str = name
        """The symbol's text: that of several variables of several inputs can be the same."""
        self.relocs: list[Reloc] = []
        self.functions: list[Reloc] = []
        """The addresses of functions that ``data`` holds as offsets in the section of the only kernel; ``type``: 8, or the number of the only byte."""
        self.relocs_applied: bool = False
        """``data`` had relocations that are already applied (on sm_90 an empty relocation section remains)."""
        self.offset: int = -1
        self.managed: bool = False
        self.common: bool = False
        self.unified: UnifiedId | None = None


@final
class FrameRow:
    """One row of call frame information: ``op`` holds from code offset ``offset`` of the function on.

    ``op``: ``cfa`` (the frame lies at R1 + ``value``), ``saved`` (register ``reg`` is saved at word ``value`` of the
    frame), ``restored``, ``in_reg`` (the value of ``reg`` is in register ``value``), ``at`` (the value of ``reg`` is at
    R1 + ``value``), ``here`` (no rule: an address only).  ``advance``: write the address even if it did not change.
    """

    __slots__ = ("advance", "offset", "op", "reg", "value")

    def __init__(self, offset: int, op: str, reg: int = 0, value: int = 0) -> None:
        self.offset: int = offset
        self.op: str = op
        self.advance: bool = False
        self.reg: int = reg
        self.value: int = value


@final
class FrameInfo:
    """The call frame information of a function in ``.debug_frame``.

    ``rows`` in code order.  ``return_reg``: first register of the pair that holds the return address (functions only).
    ``same``: registers, in addition to R1, whose values survive the function.
    """

    __slots__ = ("return_reg", "rows", "same")

    def __init__(self) -> None:
        self.rows: list[FrameRow] = []
        self.return_reg: int = 20
        self.same: list[int] = []


@final
class SubFunction:
    """A function that lives inside a kernel's ``.text`` section (executable modules).

    ``helper``: an internal subroutine (``$__internal_0_$__cuda_sm20_div_rn_f64_slowpath...``) with its own calling
    convention; otherwise a copy of a PTX function (``$k$f``).  ``frame_size`` is its stack frame in bytes, ``frame``
    its call frame information.  ``alias``: only another name for the function at the same offset.
    """

    __slots__ = ("alias", "binding", "frame", "frame_size", "helper", "name", "offset", "size", "written")

    def __init__(self, name: str, offset: int, size: int, helper: bool = False) -> None:
        self.name: str = name
        self.offset: int = offset
        self.size: int = size
        self.helper: bool = helper
        self.written: str = name
        """The name in the file, which several may have."""
        self.alias: bool = False
        self.binding: int = LOCAL
        self.frame_size: int = 0
        self.frame: FrameInfo = FrameInfo()


@final
class BranchTargets:
    """One BRX: its code offset and the code offsets of its possible targets, in table order."""

    __slots__ = ("offset", "targets")

    def __init__(self, offset: int, targets: list[int]) -> None:
        self.offset: int = offset
        self.targets: list[int] = targets


@final
class LineRow:
    """One row of the line table: from code offset ``offset`` on, the source is ``file:line:column``.

    ``file`` is the number of the PTX ``.file`` directive (0: no ``.loc`` holds here), ``ptx_line`` the line of the PTX
    text (1-based); ``inlined_at`` is (file, line, column) of the call site of inlined code, and ``function_offset`` the
    offset of the inlined function's name in ``.debug_str``.  ``outer`` has the same for the code at the call site if
    that is inlined itself, and so on outwards: (file, line, column, function offset).
    """

    __slots__ = ("column", "file", "function_offset", "inlined_at", "line", "offset", "outer", "ptx_line")

    def __init__(self, offset: int, file: int, line: int, column: int, ptx_line: int) -> None:
        self.offset: int = offset
        self.file: int = file
        self.line: int = line
        self.column: int = column
        self.ptx_line: int = ptx_line
        self.inlined_at: tuple[int, int, int] | None = None
        self.function_offset: int = 0
        self.outer: tuple[tuple[int, int, int, int], ...] = ()


@final
class KernelCode:
    """One ``.text`` section: a kernel with the functions copied after it, or (relocatable modules) one function."""

    __slots__ = (
        "abi_frame_unknown", "addresses", "annotation", "atom16_regs", "barriers", "barriers_of_callees", "binding", "bindless_surface", "bindless_texture",
        "blocks_are_clusters", "branch_targets", "calls_rel", "cluster_dim", "code", "const2", "const2_align",
        "const2_parts", "const2_relocs", "const2_resolved", "coop_mask_regs", "coop_offsets", "crs_stack", "ctaidz_used", "exit_offsets",
        "explicit_cluster", "externs", "frame", "frame_size", "init_count", "instr_reg_map", "int_warp_wide", "is_entry", "is_helper", "language", "lines",
        "max_cluster_rank", "max_stack_size", "maxntid", "maxreg", "mbarrier_count", "mbarrier_records",
        "min_stack_size", "name", "num_regs", "padded", "param_bytes", "params", "pointers", "reg_reconfig", "relative_addresses", "relocs", "tensor_allocation", "tensor_blocks", "tensor_pairs",
        "relocs_applied", "reqntid", "resolved", "slot_uses", "reserved_begin", "reserved_cap", "reserved_offset", "reserved_smem_used", "sanitize", "shared", "shared_align", "shared_dynamic", "shared_scratch", "shared_size", "shared_windows",
        "size", "sparse_mma_mask", "spill_loads", "spill_offsets", "spill_stores", "stack_traps", "stub_of", "subs", "surface_named_again", "syscall_offsets", "texture_relocs",
        "tools_patch", "unified", "unused_load_bytes", "wmma_used",
    )  # fmt: skip

    def __init__(self, name: str, code: bytes, is_entry: bool = True) -> None:
        self.name: str = name
        self.is_entry: bool = is_entry
        self.is_helper: bool = False
        """A subroutine of the compiler with a section of its own."""
        self.binding: int = GLOBAL
        self.code: bytes = code
        """The instructions.  The writer adds the branch to itself and the padding after the last one, unless
        ``padded`` says that ``code`` is a whole section."""
        self.padded: bool = False
        self.size: int = -1
        """Value of the symbol's size field; -1: the whole section (what ptxas writes)."""
        self.num_regs: int = 0
        """Register count to report (REGCOUNT): highest register used + 1, at least the minimum of the target."""
        self.maxreg: int = 255
        """MAXREG_COUNT: the register limit from ``.maxnreg`` or ``-maxrregcount``, else 255."""
        self.barriers: int = 0
        self.barriers_of_callees: bool = False
        """Only functions in sections of their own use barriers, none of its own code: the record comes later."""
        """Highest named barrier used + 1; 16 if a barrier number is in a register."""

        self.frame_size: int = 0
        """Stack frame of the kernel itself (local variables, spills, outgoing arguments)."""
        self.min_stack_size: int = 0
        """Largest sum of frames, in bytes, on a path of the call graph (executable modules; syscalls count as 0)."""
        self.max_stack_size: int = 0
        """MAX_STACK_SIZE record of relocatable modules (ptxas 13.0.88 writes 0 in every measured file)."""
        self.frame: FrameInfo = FrameInfo()
        """For ``.debug_frame``; without rows the writer states the frame size at the function's start."""
        self.abi_frame_unknown: bool = False
        """Recursion or indirect calls make the stack size unknown."""
        self.crs_stack: bool = False
        """CRS_STACK_SIZE record: code holds BSSY, or a relative CALL to a copied function or helper."""
        self.calls_rel: bool = False
        """Code holds relative calls to functions in the same section."""

        self.params: list[Param] = []
        self.param_bytes: int = 0
        """Size of the parameter space."""

        self.shared: list[Variable] = []
        """Static shared variables that the kernel uses; the writer fills in an ``offset`` of -1."""
        self.shared_size: int = -1
        """Static shared bytes without the part that the system reserves; -1: computed from ``shared`` by the layout rule."""
        self.shared_scratch: int = 0
        """Bytes of these after the variables: spilled values and what aligns them."""
        self.shared_align: int = 0
        """Alignment of the shared section; 0: the largest alignment of the variables used (dynamic ones included)."""
        self.shared_dynamic: list[Variable] = []
        """Dynamically sized (``.extern .shared``) variables: all of an executable, those that the kernel uses with -g."""
        self.reserved_smem_used: bool = False
        """The code reads a %reserved_smem_offset register."""
        self.reserved_begin: bool = False
        self.reserved_cap: bool = False
        self.reserved_offset: bool = False
        """It reads %reserved_smem_offset_begin, %reserved_smem_offset_cap, %reserved_smem_offset_0 (sm_90 on, where they are symbols)."""
        self.tensor_blocks: bool = False
        """The code has tcgen05 operations of single blocks (from sm_100 on)."""
        self.tensor_pairs: bool = False
        """The code has tcgen05 operations of pairs of blocks."""
        self.tensor_allocation: bool = False
        """The code allocates tensor memory, or gives up doing so, with a record in reserved shared memory."""
        self.init_count: int = 0
        """VRC_CTA_INIT_COUNT: 0x80 if the code writes tensor memory or runs tcgen05 operations (targets with capsules only)."""

        self.const2: bytes = b""
        """Constant bank 2: optimiser constants and branch tables."""
        self.const2_align: int = 4
        self.const2_parts: list[tuple[int, int]] = []
        """(offset, size) of the parts of bank 2; relocatable modules name each with a symbol."""
        self.pointers: list[str] = []
        """Functions whose addresses bank 2 begins with (8 bytes each), after an entry of 8 bytes that is no address."""
        self.const2_relocs: list[Reloc] = []
        """Branch tables: 8-byte entries, symbol = kernel, addend = code offset of the target."""
        self.const2_resolved: bool = False
        """Bank 2 had relocations that are already applied (on sm_90 an empty relocation section remains)."""
        self.relocs: list[Reloc] = []
        """Relocations in the code; in executable modules the writer applies them."""
        self.relocs_applied: bool = False
        """The code had relocations that are already applied (on sm_90 an empty relocation section remains)."""
        self.texture_relocs: list[Reloc] = []
        """Texture, sampler and surface slots after the parameters in constant bank 0 (offsets in the bank)."""
        self.bindless_texture: bool = False
        self.bindless_surface: bool = False
        self.surface_named_again: bool = False
        """Up to sm_89: a second record for surfaces, as functions with a section of their own have it if they use one."""

        self.addresses: list[tuple[int, int]] = []
        """(code offset of an instruction, code offset that it holds as an immediate): return addresses and functions without relocation."""
        self.relative_addresses: bool = False
        """Other code addresses or distances are operands that are no branch targets."""
        self.exit_offsets: list[int] = []
        """Offsets of every EXIT, including guarded ones, ascending."""
        self.coop_offsets: list[int] = []
        """Offsets of the instructions that implement PTX ``.sync`` warp operations."""
        self.coop_mask_regs: list[int] = []
        """For each of ``coop_offsets``: -1 for a constant full mask, else the register of the mask."""
        self.int_warp_wide: list[int] = []
        """Offsets of warp-wide instructions that the compiler inserted (aggregated atomics)."""
        self.stack_traps: list[int] = []
        """Offsets of the traps that say that the frame was overwritten."""
        self.syscall_offsets: list[int] = []
        """Offsets of calls to driver functions (vprintf, malloc, free, __assertfail ...)."""
        self.externs: list[str] = []
        """Undefined functions called."""
        self.branch_targets: list[BranchTargets] = []
        self.spill_offsets: list[int] = []
        """Offsets of the stores and loads of spilled values, which disassemblers mark."""
        self.annotation: str = ""
        """Text of the ANNOTATIONS record about the function; empty for none."""
        self.atom16_regs: list[tuple[int, int]] = []
        """(offset, register) pairs of 16-bit atomics implemented with compare-and-swap loops."""
        self.unused_load_bytes: list[tuple[int, int]] = []
        """(offset, byte mask) of loads under ``.pragma "used_bytes_mask"``."""
        self.mbarrier_count: int = -1
        """NUM_MBARRIERS; -1: no record."""
        self.mbarrier_records: list[tuple[int, int, int, int]] = []
        """MBARRIER_INSTR_OFFSETS: four words each (offset, 0xff, word, operation)."""
        self.instr_reg_map: bytes = b""
        """INSTR_REG_MAP payload (sm_80 to sm_89, mbarrier test_wait); empty: no record."""
        self.ctaidz_used: bool = False
        """The code reads ``%ctaid.z`` (record on sm_75 to sm_89)."""
        self.wmma_used: bool = False
        self.resolved: list[Reloc] = []
        """Relocations in the code that the writer has applied and keeps (:attr:`CubinModule.preserve_relocs`)."""
        self.shared_windows: list[int] = []
        """Offsets of the instructions that add the size of reserved shared memory to the place of the window (sm_100 and later)."""
        self.slot_uses: list[tuple[int, int, bool]] = []
        """(offset, byte in constant bank 4, whether it is the operand of a load) of each instruction that reads that bank."""
        self.unified: UnifiedId | None = None
        self.stub_of: str = ""
        """The unified function that this code jumps to, if it is the stub of one."""
        self.tools_patch: bool = False
        """A function that tools put into other code."""
        self.sanitize: int = -1
        """SANITIZE value: 0 with pauses, 1 with checks of accesses that an option put in; -1: no record."""
        self.reg_reconfig: bool = False
        """The code uses setmaxnreg."""
        self.sparse_mma_mask: int = 0
        """SPARSE_MMA_MASK value (from sm_90 on): 0, or 0x10 with ``mma.sp``."""

        self.language: int = -1
        """LANGUAGE value; -1: no record."""
        self.maxntid: tuple[int, int, int] = NO_CTA
        """``.maxntid`` (x, y, z); all 0: not given."""
        self.reqntid: tuple[int, int, int] = NO_CTA
        self.cluster_dim: tuple[int, int, int] = NO_CTA
        """``.reqnctapercluster``."""
        self.explicit_cluster: bool = False
        self.max_cluster_rank: int = 0
        """``.maxclusterrank``; 0: not given."""
        self.blocks_are_clusters: bool = False

        self.subs: list[SubFunction] = []
        """Functions copied after the kernel, in the order in which their symbols and frames are written."""
        self.lines: list[LineRow] = []
        """Line table in order of offsets (with ``-lineinfo``)."""
        self.spill_stores: int = 0
        self.spill_loads: int = 0
        """Bytes of spill loads, for the ``-v`` report."""


@final
class ExternFunction:
    """A function that is called or referred to but not defined here."""

    __slots__ = ("binding", "name")

    def __init__(self, name: str, binding: int = GLOBAL) -> None:
        self.name: str = name
        self.binding: int = binding


@final
class CallEdge:
    """A direct call from ``caller`` to ``callee`` (symbol names)."""

    __slots__ = ("callee", "caller")

    def __init__(self, caller: str, callee: str) -> None:
        self.caller: str = caller
        self.callee: str = callee


@final
class BankSlot:
    """An 8-byte slot of constant bank 4 with the address of ``symbol + addend``, or a kernel's descriptor, at byte ``offset``."""

    __slots__ = ("addend", "descriptor", "offset", "symbol")

    def __init__(self, offset: int, symbol: str, addend: int = 0, descriptor: bool = False) -> None:
        self.offset: int = offset
        self.symbol: str = symbol
        self.addend: int = addend
        self.descriptor: bool = descriptor


@final
class SourceFile:
    """A PTX ``.file`` directive: number, name, modification time and size (0: not given)."""

    __slots__ = ("index", "mtime", "name", "size")

    def __init__(self, index: int, name: str, mtime: int = 0, size: int = 0) -> None:
        self.index: int = index
        self.name: str = name
        self.mtime: int = mtime
        self.size: int = size


@final
class DebugSection:
    """A PTX ``.section`` of debug information, assembled: bytes, and relocations against labels already resolved."""

    __slots__ = ("data", "name", "relocs")

    def __init__(self, name: str, data: bytes) -> None:
        self.name: str = name
        self.data: bytes = data
        self.relocs: list[Reloc] = []


TOOL: Final = "orias"
"""The name of the tool in the notes of our cubins."""


@final
class CubinModule:
    """Everything in a cubin.

    ``target`` is the ``-arch`` name (``sm_90a``), ``ptx_sm`` the number in the ``.target`` directive.  ``options`` is
    the argument text of the tool note, in ptxas's short form (``-arch sm_90 ``).
    """

    __slots__ = (
        "address_taken", "address_uses", "own_sections", "section_order", "bank4", "calls", "capsules", "debug", "errbar_at_exit", "preserve_relocs", "extensible", "externs", "files", "first_constant", "force_rela", "host",
        "indirect_calls", "isa_class", "kernels", "lineinfo", "no_capsule", "object_name", "opt_level", "options", "paced", "prototypes", "ptx_sm", "ptx_suffix", "ptx_text",
        "relocatable", "sampler_inits", "sampler_unnormalized", "sections", "target", "tensor_map", "texmode_independent", "tool",
        "tool_build", "tool_version", "uses_texture_query", "variables",
    )  # fmt: skip

    def __init__(self, target: str, relocatable: bool = False) -> None:
        self.target: str = target
        self.relocatable: bool = relocatable
        self.own_sections: bool = relocatable
        """Functions have sections of their own (``-c``, ``-g``); otherwise each kernel is followed by copies of its functions."""
        self.extensible: bool = False
        """``-ewp``: code as in an executable module, data and undefined symbols as in a relocatable one."""
        self.force_rela: bool = False
        """``--force-rela``: relocation sections have addends, whatever the target."""
        self.first_constant: int = 0
        """The lowest address that the writer gives a constant variable."""
        self.host: bytes = b""
        """The bytes of ``.nv.host``, which the driver does not read; empty: no such section."""
        self.section_order: list[str] = []
        """Names of kernels and functions in the order of their code sections in a file that was read; empty: that of ptxas."""
        self.kernels: list[KernelCode] = []
        """Kernels and (relocatable) functions, in PTX order; the writer orders the sections."""
        self.variables: list[Variable] = []
        """Global and constant variables to write, in PTX order, without unused local ones.  Relocatable modules
        also list shared variables here, in PTX order, and undefined ones with ``extern``."""
        self.bank4: list[BankSlot] = []
        """Address table (executable modules) in order of offsets.  The writer adds slots for global variables without one."""
        self.externs: list[ExternFunction] = []
        """Undefined functions, in the order of the PTX declarations."""
        self.calls: list[CallEdge] = []
        """Direct calls; executable modules need only those to undefined functions."""
        self.prototypes: list[tuple[str, str]] = []
        """(function, prototype text) of visible, weak and undefined functions in PTX order (relocatable modules); texts
        come from :func:`orias.cubin.callgraph.prototype_text`."""
        self.address_taken: list[tuple[str, str]] = []
        """(function, prototype text) of functions whose address is taken (relocatable modules), and (kernel, "")."""
        self.indirect_calls: list[tuple[str, str]] = []
        """(caller, prototype text) of indirect calls (relocatable modules)."""
        self.address_uses: list[CallEdge] = []
        """Functions that take the address of others (relocatable modules), or the descriptor of a kernel."""
        self.ptx_sm: int = 0
        self.capsules: bool = False
        """The writer adds capsules if the target has them and it can make them for all of the module."""
        self.no_capsule: str = ""
        """Filled in by the writer: why there are no capsules although they were asked for."""
        self.opt_level: int = 3
        self.options: str = ""
        self.tool: str = TOOL
        self.tool_version: str = ""
        self.tool_build: str = ""
        """Texts of the tool note."""
        self.object_name: str = ""
        self.isa_class: int = 1
        """``.nv.compat``: 1; 2 with textures, bulk copies, TMA, setmaxnreg or video instructions; 4 with wgmma."""
        self.paced: bool = False
        """``.nv.compat``: code holds f64 arithmetic, integer matrix products or FSETP with a constant (measured on sm_100)."""
        self.tensor_map: int = 0
        """``.nv.compat``: 0; 1 with TMA tensor copies; 2 with tensormap.replace."""
        self.texmode_independent: bool = False
        self.sampler_inits: list[tuple[str, int]] = []
        """(samplerref, packed initial value)."""
        self.sampler_unnormalized: list[tuple[str, int]] = []
        """(samplerref, value of force_unnormalized_coords)."""
        self.uses_texture_query: bool = False
        """The module uses txq or suq: it has MAX_STACK_SIZE records and no ``.nv.callgraph``."""
        self.debug: bool = False
        """``-g``."""
        self.preserve_relocs: bool = False
        """Resolved relocations stay in sections of their own (``-preserve-relocs``, below sm_90)."""
        self.errbar_at_exit: bool = False
        """``-make-errors-visible-at-exit``."""
        self.lineinfo: bool = False
        self.files: list[SourceFile] = []
        self.ptx_text: str = ""
        """The PTX text, for ``.nv_debug_ptx_txt`` (with ``lineinfo``)."""
        self.ptx_suffix: str = ""
        """The end of the section's name in objects, so that a linker keeps the texts of several apart: a dot and the text's Adler-32."""
        self.sections: list[DebugSection] = []
        """``.section`` data of the PTX text, in input order."""

    @property
    def linked(self) -> bool:
        """True if a linker completes the file: data has the section types of objects, and no addresses."""
        return self.relocatable or self.extensible
