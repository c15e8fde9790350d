"""The result of a compile: the cubin, what each kernel uses, and the diagnostics."""

from typing import final

from orias.cubin.model import CallEdge, KernelCode
from orias.diag import Diagnostic
from orias.ori.decisions import Decision


@final
class KernelInfo:
    """What the compiler used for one kernel: registers (as reported), named barriers, and sizes in bytes."""

    __slots__ = (
        "barriers", "constant", "instructions", "is_entry", "name", "references", "registers", "seconds", "shared", "spill_loads", "spill_stores",
        "stack", "stack_cumulative", "start",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.is_entry: bool = True
        self.registers: int = 0
        self.barriers: int = 0
        self.spill_stores: int = 0
        self.spill_loads: int = 0
        self.stack: int = 0
        self.stack_cumulative: int = 0
        self.shared: int = 0
        self.constant: dict[int, int] = {}
        """Constant bank number -> bytes."""
        self.references: dict[str, int] = {}
        """How many textures, samplers and surfaces have a handle in constant bank 0."""
        self.instructions: int = 0
        """Number of static instructions of the section, without padding."""
        self.start: float = 0.0
        """Reading of the performance counter when its phases began."""
        self.seconds: float = 0.0
        """Time of the compile from Ori to encoded instructions."""


class KernelPart:
    """A kernel that is compiled: what the cubin and the reports need of it.  It can be pickled.

    ``copies``: (function, offset, bytes) in its section; ``calls``: its edges of the call graph; ``paced``,
    ``isa_class``, ``tensor_map``, ``texture_query``: what it adds to the module's facts of these names; ``phases``: as
    in :class:`CompileResult`; ``spans``: (phase, function, start, seconds) of each phase by the performance counter.
    """

    __slots__ = (
        "calls", "code", "copies", "decisions", "diagnostics", "emit_seconds", "functions", "info", "isa_class", "paced", "phases", "spans",
        "tensor_map", "texture_query",
    )  # fmt: skip

    def __init__(self, code: KernelCode, info: KernelInfo) -> None:
        self.code: KernelCode = code
        self.info: KernelInfo = info
        self.functions: list[KernelInfo] = []
        self.copies: list[tuple[str, int, int]] = []
        self.calls: list[CallEdge] = []
        self.diagnostics: list[Diagnostic] = []
        self.decisions: list[Decision] = []
        self.paced: bool = False
        self.isa_class: int = 0
        self.tensor_map: int = 0
        self.texture_query: bool = False
        self.phases: list[tuple[str, int, float]] = []
        self.spans: list[tuple[str, str, float, float]] = []
        self.emit_seconds: float = 0.0


class CompileResult:
    """A finished cubin and its statistics; without bytes if the options end the compile earlier.

    ``times``: seconds by stage of the compile.
    """

    __slots__ = (
        "arch", "cmem", "data", "diagnostics", "functions", "gmem", "jobserver", "kernels", "memory", "no_capsule", "phases", "remarks", "spans", "times", "unknown_stacks",
    )  # fmt: skip

    def __init__(self, arch: str, data: bytes) -> None:
        self.arch: str = arch
        self.data: bytes = data
        self.kernels: dict[str, KernelInfo] = {}
        self.functions: dict[str, KernelInfo] = {}
        """Device functions copied after kernels, by symbol name."""
        self.gmem: int = 0
        self.no_capsule: str = ""
        self.unknown_stacks: list[str] = []
        """Kernels of which ptxas warns that their need of stack is unknown."""
        """Why there are no capsules although they were asked for; empty if there are, or none were asked for."""
        self.jobserver: bool = False
        """With ``Options.jobserver``: there is one that can be used."""
        self.cmem: dict[int, int] = {}
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}
        self.remarks: list[Decision] = []
        """With ``Options.remarks``: what passes decided, by kind."""
        self.spans: list[tuple[str, str, float, float]] = []
        """With ``Options.time_phases``: (phase, function, start, seconds) of each run of a phase, by the performance counter."""
        self.memory: dict[str, int] = {}
        """By stage: growth of the largest memory of the process, in KiB."""
        self.phases: list[tuple[str, int, float]] = []
        """With ``Options.time_phases``: name, number of functions and seconds of each phase that ran, in order."""
