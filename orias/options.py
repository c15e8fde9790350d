"""The options of one compilation, with ``ptxas``'s names and defaults."""

from collections.abc import Mapping
from typing import Final, final

from orias.knobs.knob_settings import KnobSettings, from_dict

CAPSULES: Final = ("forbid", "allow", "require")
"""Values of :attr:`Options.capsules`."""


KEEPS_WARP_BARRIERS: Final = "--keep-warp-barriers"
"""What the tool note says of :attr:`Options.keep_warp_barriers`."""


def _meant(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, Options.__slots__, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


@final
class Options:
    """Every compile option as a typed field.

    ``arch``: target name; ``opt_level`` 0..3 (higher means 3); ``maxrregcount`` 0 for none; ``entries``: compile only
    these kernels.
    """

    __slots__ = (
        "arch", "blocks_are_clusters", "cloning", "compile_only", "constant_bank", "debug", "def_load_cache", "def_store_cache", "dump_after", "dump_before", "dump_dir", "entries", "fmad", "force_load_cache", "force_rela",
        "force_store_cache", "host_data", "knobs", "level_given", "lineinfo", "maxntid", "maxrregcount", "minnctapersm", "name_syscall", "opt_level",
        "annotate", "capsules", "access_checks", "errors_at_exit", "extensible", "jobserver", "keep_warp_barriers", "function_maxrregcount", "split_compile", "thread_steering", "override_directives", "preserve_relocs", "raw_textures", "register_usage", "release", "remarks", "reserve_null", "self_check", "serial", "skip_phases", "stack_check", "stack_guard", "stop_after",
        "suppress_debug_info", "time_phases", "tool_arguments", "tools_patch", "uniform_registers", "verbose", "verify_each", "warn_double", "warn_lmem", "warn_spills",
    )  # fmt: skip

    def __init__(self, arch: str = "sm_75", opt_level: int = 3) -> None:
        self.arch: str = arch
        self.opt_level: int = opt_level
        self.maxrregcount: int = 0
        self.maxntid: list[int] = []
        """Threads per block in x, y, z for kernels without such a directive; empty: not given."""
        self.minnctapersm: int = 0
        self.override_directives: bool = False
        """``maxntid``, ``minnctapersm`` and ``maxrregcount`` override directives."""
        self.lineinfo: bool = False
        self.debug: bool = False
        self.level_given: bool = False
        """True if the command line has an optimisation level."""
        self.compile_only: bool = False
        self.extensible: bool = False
        """A whole program that a linker may extend; without effect with ``compile_only``."""
        self.force_rela: bool = False
        """Relocation sections have addends on all targets."""
        self.raw_textures: bool = False
        """Textures, samplers and surfaces by name are errors, unless the module says ``texmode_independent``."""
        self.reserve_null: bool = False
        """No constant or shared variable is at address 0 of its space."""
        self.name_syscall: bool = False
        """Every function names one that only the driver defines (``--cuda32f3056bbb``)."""
        self.host_data: bytes = b""
        """What the section ``.nv.host`` of an executable holds; empty: no such section."""
        self.blocks_are_clusters: bool = False
        """All kernels are launched as with the directive ``.blocksareclusters``; from sm_90 on."""
        self.entries: list[str] = []
        self.fmad: bool = True
        self.verbose: bool = False
        self.warn_spills: bool = False
        self.warn_lmem: bool = False
        self.warn_double: bool = False
        self.register_usage: int = 5
        """0..10; higher values allow more registers to hide latency."""
        self.remarks: bool = False
        """Collect the decisions of passes (:mod:`orias.ori.decisions`)."""
        self.function_maxrregcount: int = 0
        """``maxrregcount`` for functions that are no kernels, with ``compile_only``; 0 for none."""
        self.cloning: bool = True
        """Each kernel gets copies of the functions it calls; else functions have sections of their own."""
        self.constant_bank: bool = True
        """Constants of doubles may go to a constant bank."""
        self.preserve_relocs: bool = False
        """An executable keeps the relocations that are resolved in it; below sm_90."""
        self.uniform_registers: bool = True
        """Code may take uniform registers where there is another way; False: only where there is none, with a warning."""
        self.errors_at_exit: bool = False
        """Each kernel waits at its end until faults of its memory accesses are visible."""
        self.thread_steering: bool = False
        """A random pause before each access to memory, so that data races show."""
        self.access_checks: bool = False
        """Each access to memory is checked against the tables of a tool, if it has laid any (``-sanitize memcheck``)."""
        self.keep_warp_barriers: bool = False
        """A barrier of a warp stays where the warp is together anyway: races between its threads can be told from the code."""
        self.split_compile: int = 1
        """Processes that compile functions at the same time; 0: one per CPU.  The cubin is the same."""
        self.jobserver: bool = False
        """The processes but the first need tokens of the jobserver that the environment names."""
        self.stack_check: bool = False
        """Trap if the stack pointer is out of bounds."""
        self.stack_guard: int = -1
        """Functions with sections of their own trap where their frame was overwritten, if their local variables have this many bytes; -1: none."""
        self.annotate: bool = False
        """Write instruction and register counts into the cubin."""
        self.def_load_cache: str = ""
        self.def_store_cache: str = ""
        self.force_load_cache: str = ""
        self.force_store_cache: str = ""
        """Cache operations of loads and stores of global memory: the default, or an override for all of them (``force_``)."""
        self.suppress_debug_info: bool = False
        self.self_check: bool = False
        """Verify functions between phases, the results of allocation and scheduling, every encoded word, and the finished cubin."""
        self.serial: bool = False
        """No reordering, and every instruction waits for all before it, to exclude the scheduler as the cause of an error."""
        self.verify_each: bool = False
        """Run the verifier after each phase."""
        self.skip_phases: list[str] = []
        """Names of phases to leave out."""
        self.stop_after: str = ""
        """Name of the last phase to run; the compile then produces no code."""
        self.dump_before: list[str] = []
        self.dump_after: list[str] = []
        """``PHASE`` or ``PHASE:FUNCTION``, either with ``*`` and ``?``: functions to dump."""
        self.dump_dir: str = ""
        """Folder for dumps, one file each; empty: standard error."""
        self.time_phases: bool = False
        """Measure how long each phase takes."""
        self.knobs: KnobSettings = KnobSettings()
        """Settings of knobs, for all kernels or some."""
        self.tools_patch: bool = False
        """The module has functions that tools put into other code: sections of their own in an executable, with a record that says so."""
        self.tool_arguments: str = ""
        self.release: str = ""
        """The release of the CUDA compiler tools that the compile stands for, which limits ``.version``; empty: the newest."""
        self.capsules: str = "allow"
        """Capsules of targets that have them: ``forbid``, ``allow`` (if the whole cubin can have them) or ``require`` (else an error)."""

    def take(self, caller: str, settings: dict[str, object]) -> None:
        """Set fields by name; ``knobs`` may be a dictionary (:func:`orias.knobs.knob_settings.from_dict`).

        Raises TypeError for an unknown field and for a value of another type, KnobError for a wrong knob.
        """
        for name, value in settings.items():
            if name not in Options.__slots__:
                raise TypeError(f"{caller}() got an unexpected option '{name}'{_meant(name)}")
            if name == "knobs" and not isinstance(value, KnobSettings):
                if not isinstance(value, Mapping):
                    raise TypeError(f"{caller}(): knobs is a dictionary or KnobSettings, not {type(value).__name__}")
                value = from_dict(value)
            kind = type(getattr(self, name))
            if kind is list and isinstance(value, tuple):
                value = list(value)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise TypeError(f"{caller}(): option '{name}' takes {kind.__name__}, not {type(value).__name__}")
            setattr(self, name, value)

    @property
    def own_sections(self) -> bool:
        """True if every function has a section of its own."""
        return self.compile_only or self.debug or self.tools_patch or not self.cloning

    @property
    def first_address(self) -> int:
        """The lowest address that constant and shared variables get: 1 if 0 is reserved, which alignment makes more."""
        return 1 if self.reserve_null else 0

    @property
    def verifies(self) -> bool:
        """True if the verifier runs after each phase."""
        return self.verify_each or self.self_check

    @property
    def watches(self) -> bool:
        """True if an option observes functions between phases."""
        return self.verifies or self.time_phases or self.remarks or bool(self.dump_before) or bool(self.dump_after)

    def note_text(self) -> str:
        """The argument text of the tool note, in ptxas's short form and order."""
        text = self.tool_arguments or f"-arch {self.arch} "
        if self.keep_warp_barriers and KEEPS_WARP_BARRIERS not in text:
            text += KEEPS_WARP_BARRIERS + " "
        return text
