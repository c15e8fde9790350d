"""The options of one compilation, with ``ptxas``'s names and defaults."""

from typing import final


@final
class Options:
    """Every compile option as a typed field.

    ``arch``: target name; ``opt_level`` 0..3 (higher means 3); ``maxrregcount`` 0 for none; ``entries``: compile only these.
    """

    __slots__ = (
        "arch", "compile_only", "debug", "def_load_cache", "def_store_cache", "entries", "fmad", "force_load_cache",
        "force_store_cache", "level_given", "lineinfo", "maxntid", "maxrregcount", "minnctapersm", "opt_level",
        "annotate", "override_directives", "register_usage", "self_check", "serial", "stack_check", "suppress_debug_info", "tool_arguments", "verbose",
        "warn_double", "warn_lmem", "warn_spills",
    )  # fmt: skip

    def __init__(self, arch: str = "sm_75", opt_level: int = 3) -> None:
        self.arch: str = arch
        self.opt_level: int = opt_level
        self.maxrregcount: int = 0
        self.maxntid: list[int] = []
        """Threads per block in x, y, z for kernels without such a directive; empty: not given."""
        self.minnctapersm: int = 0
        self.override_directives: bool = False
        """``maxntid``, ``minnctapersm`` and ``maxrregcount`` win over directives."""
        self.lineinfo: bool = False
        self.debug: bool = False
        self.level_given: bool = False
        """The user chose the optimisation level."""
        self.compile_only: bool = False
        self.entries: list[str] = []
        self.fmad: bool = True
        self.verbose: bool = False
        self.warn_spills: bool = False
        self.warn_lmem: bool = False
        self.warn_double: bool = False
        self.register_usage: int = 5
        """0..10: how readily registers are spent on latency."""
        self.stack_check: bool = False
        """Trap where the stack pointer leaves its bounds."""
        self.annotate: bool = False
        """State instruction and register counts in the cubin."""
        self.def_load_cache: str = ""
        self.def_store_cache: str = ""
        self.force_load_cache: str = ""
        self.force_store_cache: str = ""
        """Cache operations of loads and stores of global memory: where none is written, or everywhere (``force_``)."""
        self.suppress_debug_info: bool = False
        self.self_check: bool = False
        self.serial: bool = False
        self.tool_arguments: str = ""

    @property
    def apart(self) -> bool:
        """Functions get sections of their own."""
        return self.compile_only or self.debug

    def note_text(self) -> str:
        """The argument text of the tool note, in ptxas's short form and order."""
        if self.tool_arguments:
            return self.tool_arguments
        return f"-arch {self.arch} "
