"""The result of a compile: the cubin, what each kernel uses, and the diagnostics."""

from typing import final

from orias.diag import Diagnostic
from orias.ori.decisions import Decision


@final
class KernelInfo:
    """What the compiler used for one kernel: registers (as reported), named barriers, and sizes in bytes."""

    __slots__ = (
        "barriers", "constant", "instructions", "is_entry", "name", "registers", "shared", "spill_loads", "spill_stores",
        "stack", "stack_cumulative",
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
        self.instructions: int = 0
        """Number of static instructions of the section, without padding."""


class CompileResult:
    """A finished cubin and its statistics; without bytes if the options end the compile earlier.

    ``times``: seconds by stage of the compile.
    """

    __slots__ = (
        "arch",
        "cmem",
        "data",
        "diagnostics",
        "functions",
        "gmem",
        "kernels",
        "no_capsule",
        "phases",
        "remarks",
        "times",
    )

    def __init__(self, arch: str, data: bytes) -> None:
        self.arch: str = arch
        self.data: bytes = data
        self.kernels: dict[str, KernelInfo] = {}
        self.functions: dict[str, KernelInfo] = {}
        """Device functions copied after kernels, by symbol name."""
        self.gmem: int = 0
        self.no_capsule: str = ""
        """Why there are no capsules although they were asked for; empty if there are, or none were asked for."""
        self.cmem: dict[int, int] = {}
        self.diagnostics: list[Diagnostic] = []
        self.times: dict[str, float] = {}
        self.remarks: list[Decision] = []
        """With ``Options.remarks``: what passes decided, by kind."""
        self.phases: list[tuple[str, int, float]] = []
        """With ``Options.time_phases``: name, number of functions and seconds of each phase that ran, in order."""
