"""The typed PTX module, which the parser produces and lowering consumes.

Names are resolved: operands refer to :class:`Var`, :class:`Function` and :class:`Label` objects, never to text.  Scopes
are flattened; two variables of the same name in different scopes are different objects.
"""

from typing import Final, final

from orias.diag import Diagnostic

_TYPES: Final[dict[int, str]] = {
    1: "pred* b1",
    4: "u4 s4 b4",
    8: "b8* u8* s8* e4m3 e5m2 e2m1x2",
    16: "b16* u16* s16* f16* bf16 e4m3x2 e5m2x2 e2m1x4 e3m2x2 e2m3x2 ue8m0x2 s2f6x2",
    32: "b32* u32* s32* f32* f16x2* bf16x2 u16x2 s16x2 tf32 e4m3x4 e5m2x4 e3m2x4 e2m3x4 u8x4 s8x4",
    64: "b64* u64* s64* f64* f32x2 texref* surfref* samplerref*",
    128: "b128*",
    0: "u2 s2 e2m1 e2m3 e3m2 ue8m0 ue4m3 b8x16 b6x16_p32 b4x16_p64 b1024",
}
"""Bits -> type words of that size (0: types of opcodes only, without a size); a star marks types that variables may have."""

TYPE_BITS: Final[dict[str, int]] = {
    word.rstrip("*"): bits for bits, words in _TYPES.items() if bits for word in words.split()
}
"""Bits of one element of a PTX type."""
TYPE_WORDS: Final[frozenset[str]] = frozenset(" ".join(_TYPES.values()).replace("*", "").split())
"""Words that are types in an opcode."""
VARIABLE_TYPES: Final[frozenset[str]] = frozenset(
    word[:-1] for words in _TYPES.values() for word in words.split() if word[-1] == "*"
)
"""Types that variables and registers may be declared with."""


@final
class SymInit:
    """An address as an initialiser element: ``var + addend``; ``generic`` for generic(var); ``mask`` for byte masks (0: none)."""

    __slots__ = ("addend", "generic", "mask", "target")

    def __init__(self, target: "Var | Function", addend: int, generic: bool, mask: int = 0) -> None:
        self.target: Var | Function = target
        self.addend: int = addend
        self.generic: bool = generic
        self.mask: int = mask


@final
class Var:
    """A declared variable or register.

    ``space``: reg, param, local, shared, global, const.  ``type`` is the PTX type without the dot; ``vec`` 1, 2 or 4;
    ``dims`` the array dimensions (0 for an unsized first one).  ``size`` in bytes (0 if unsized), ``align`` in bytes.
    ``linkage``: "", extern, visible, weak, common.  ``init``: flat list of (byte offset, value), value an int bit
    pattern of the element's size or a SymInit; None without initialiser.  ``fields``: initial values of a texture,
    surface or sampler reference, by field.  ``index``: dense number, for registers within the function, for others
    within the module.
    """

    __slots__ = (
        "align", "attributes", "dims", "fields", "function", "index", "init", "line", "linkage", "name", "ptr_align", "ptr_space",
        "size", "space", "type", "vec",
    )  # fmt: skip

    def __init__(self, name: str, space: str, type_: str, vec: int = 1, line: int = 0) -> None:
        self.name: str = name
        self.space: str = space
        self.type: str = type_
        self.vec: int = vec
        self.dims: tuple[int, ...] = ()
        self.align: int = 0
        self.size: int = 0
        self.linkage: str = ""
        self.init: list[tuple[int, int | SymInit]] | None = None
        self.fields: dict[str, int] | None = None
        self.index: int = 0
        self.line: int = line
        self.ptr_space: str = ""
        self.ptr_align: int = 0
        self.attributes: tuple[str, ...] = ()
        self.function: Function | None = None
        """The function that declares the variable; None at module level."""

    def __repr__(self) -> str:
        return f"<{self.space} {self.type} {self.name}>"


# Operand kinds, in Operand.kind
O_REG: Final = 1
O_IMM: Final = 2
O_ADDR: Final = 3
O_SYM: Final = 4
O_VEC: Final = 5
O_SREG: Final = 6
O_LABEL: Final = 7
O_FUNC: Final = 8
O_SINK: Final = 9
O_PAIR: Final = 10


@final
class Operand:
    """One operand; ``kind`` determines which fields are used.

    * O_REG: ``var``; ``comp`` "x".."w" for one element of a vector register; ``neg`` for ``!p``.
    * O_IMM: ``value``; ``imm_type`` "int" (value is a Python int, negative allowed), "f32" (0f...: 32-bit pattern),
      "f64" (0d... or decimal: 64-bit pattern).
    * O_ADDR: ``[var + value]``; ``var`` a register, a variable, or None for an absolute address; ``elems`` holds further
      address components (tensor coordinates, mbarrier ...) in source order, empty otherwise.
    * O_SYM: the address of ``var`` + ``value`` as a value; with ``elems``, that of the element with the number ``elems[0]`` +
      ``value``, whose bytes before it are counted in 32 bits.
    * O_VEC: ``elems``.   * O_SREG: ``name`` without % (``tid``), ``comp``.   * O_LABEL: ``label``.   * O_FUNC: ``func``.
    * O_SINK: ``_``.   * O_PAIR: ``elems[0] | elems[1]``.

    Operands with equal text share one object within a function: do not modify them.  ``comp`` also holds the part
    selectors of video instructions ("b0", "h1", "h10" ...), with ``neg`` for ``-a``, and "unified" of an address.
    ``key`` is the for the checks: the operand's class and register type, "r:f32", "i", "[r:b64]"; operands with equal
    keys pass the same checks.
    """

    __slots__ = ("comp", "elems", "func", "imm_type", "key", "kind", "label", "name", "neg", "value", "var")

    def __init__(self, kind: int) -> None:
        self.kind: int = kind
        self.key: str = ""
        self.var: Var | None = None
        self.comp: str = ""
        self.neg: bool = False
        self.value: int = 0
        self.imm_type: str = ""
        self.elems: list[Operand] = []
        self.name: str = ""
        self.label: Label | None = None
        self.func: Function | None = None

    def scalar(self) -> "Operand":
        """The operand itself, or the first element of a vector that stands for one value."""
        return self.elems[0] if self.kind == O_VEC else self


@final
class Label:
    """A code label; ``index`` is dense within its function.  ``targets`` is set for .branchtargets lists (labels) and
    ``proto`` for .callprototype / .calltargets labels."""

    __slots__ = ("functions", "index", "line", "name", "proto", "targets")

    def __init__(self, name: str, index: int, line: int = 0) -> None:
        self.name: str = name
        self.index: int = index
        self.line: int = line
        self.targets: list[Label] | None = None
        self.proto: Function | None = None
        self.functions: list[Function] | None = None

    def is_list(self) -> bool:
        """Whether it names a list or a prototype, not a place in the code."""
        return self.targets is not None or self.proto is not None or self.functions is not None


@final
class Sig:
    """A parsed opcode with its modifiers, shared by all instructions with the same opcode text.

    ``name``: instruction name as in the PTX manual, without modifiers (``add``, ``mad``, ``bar``, ``cp.async``);
    ``text``: the whole dotted opcode as written.  ``mods``: slot name -> value.  Boolean slots (``ftz``, ``sat``,
    ``cc``, ``sync``, ``aligned``, ``nc`` ...) hold their own name; slots of choice: ``rnd`` (rn rz rm rp rna rs rni rzi
    rmi rpi approx full), ``cmp``, ``bool`` (and or xor popc), ``mulsize`` (lo hi wide), ``dir`` (l r), ``wrap`` (clamp
    wrap), ``space`` (global, shared, shared::cta, param ...), ``order`` (weak relaxed acquire release acq_rel volatile
    mmio sc), ``scope`` (cta cluster gpu sys), ``cop`` (ca cg cs lu cv wb wt), ``vec`` (v2 v4 v8), ``op``
    (atom/red/redux/vote/shfl/bar operation), ``mode`` (any further choice of that instruction), ``evict``,
    ``prefetch``, ...  ``types``: the type suffixes in order, without dots.
    """

    __slots__ = ("mods", "name", "text", "types")

    def __init__(self, name: str, text: str, mods: dict[str, str], types: tuple[str, ...]) -> None:
        self.name: Final[str] = name
        self.text: Final[str] = text
        self.mods: Final[dict[str, str]] = mods
        self.types: Final[tuple[str, ...]] = types


@final
class Instr:
    """One instruction.  ``pred`` is an O_REG operand (``neg`` for @!p) or None.  For ``call``: ``rets`` and ``ops[0]`` the callee (O_FUNC
    or O_REG), ``args``, ``proto`` the label of the prototype or target list."""

    __slots__ = ("args", "column", "line", "ops", "pred", "proto", "rets", "sig")

    def __init__(self, sig: Sig, ops: list[Operand], pred: Operand | None, line: int, column: int = 0) -> None:
        self.sig: Sig = sig
        self.ops: list[Operand] = ops
        self.pred: Operand | None = pred
        self.line: int = line
        self.column: int = column
        self.rets: list[Operand] = []
        self.args: list[Operand] = []
        self.proto: Label | None = None


@final
class Loc:
    """A .loc directive; ``function_name``/``inlined_at`` kept as (label, offset) and (file, line, column) or None.

    ``caller``: the directive that ``inlined_at`` names, the last one before this with its file, line and column.
    """

    __slots__ = ("caller", "column", "file", "function_name", "inlined_at", "line")

    def __init__(self, file: int, line: int, column: int) -> None:
        self.file: int = file
        self.line: int = line
        self.column: int = column
        self.function_name: tuple[str, int] | None = None
        self.inlined_at: tuple[int, int, int] | None = None
        self.caller: Loc | None = None


@final
class Pragma:
    """A .pragma string inside a function body, in order among the statements."""

    __slots__ = ("line", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text: str = text
        self.line: int = line


Stmt = Instr | Label | Loc | Pragma
"""A statement of a body; a Label marks the place of its definition."""


@final
class Function:
    """A kernel (``entry``), a function or a prototype.

    ``body`` is None for a declaration.  ``regs``: all registers; ``variables``: local, shared, param, global and const
    variables declared inside.  ``directives``: e.g. ``maxntid`` (x, y, z), ``reqntid``, ``minnctapersm`` (n,),
    ``maxnreg`` (n,), ``noreturn`` (), ``reqnctapercluster``, ``explicitcluster`` (), ``maxclusterrank`` (n,),
    ``abi_preserve`` (n,), ``pragma:NAME``.
    """

    __slots__ = (
        "body", "column", "declared", "directives", "entry", "labels", "line", "linkage", "name", "params", "regs", "rets", "variables",
    )  # fmt: skip

    def __init__(self, name: str, entry: bool, line: int) -> None:
        self.name: str = name
        self.entry: bool = entry
        self.line: int = line
        self.declared: int = line
        """The line of the first declaration; ``line`` is that of the definition, if there is one."""
        self.column: int = 0
        self.linkage: str = ""
        self.params: list[Var] = []
        self.rets: list[Var] = []
        self.body: list[Stmt] | None = None
        self.regs: list[Var] = []
        self.variables: list[Var] = []
        self.labels: list[Label] = []
        self.directives: dict[str, tuple[int, ...]] = {}


@final
class DebugSection:
    """A PTX ``.section``: items are (size in bytes, value); a value is an int, or a symbol or label name with an addend."""

    __slots__ = ("items", "labels", "name")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.items: list[tuple[int, int | tuple[str, int]]] = []
        self.labels: dict[str, int] = {}


@final
class Module:
    """A whole PTX module.  ``files``: .file index -> (name, time, size)."""

    __slots__ = (
        "address_size",
        "aliases",
        "dwarf",
        "files",
        "functions",
        "per_thread",
        "pragmas",
        "sections",
        "target",
        "target_options",
        "variables",
        "version",
        "warnings",
    )

    def __init__(self) -> None:
        self.version: tuple[int, int] = (0, 0)
        self.target: str = ""
        self.target_options: tuple[str, ...] = ()
        self.address_size: int = 0
        """Of the directive, 0 without one."""
        self.variables: list[Var] = []
        self.functions: list[Function] = []
        self.files: dict[int, tuple[str, int, int]] = {}
        self.sections: list[DebugSection] = []
        self.aliases: list[tuple[str, str]] = []
        self.pragmas: list[str] = []
        self.per_thread: str = ""
        """The first ``.reg`` or ``.local`` variable at module level, which PTX before 3.0 may have; empty without one."""
        self.dwarf: list[str] = []
        """@@DWARF lines, verbatim."""
        self.warnings: list[Diagnostic] = []

    def lacks_debug(self) -> bool:
        """Whether the module promises debug information (``.target ..., debug``) and has none."""
        return "debug" in self.target_options and not self.sections and not self.dwarf
