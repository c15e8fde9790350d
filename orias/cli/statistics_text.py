"""The text of ``--compiler-stats``, in ptxas's form."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.api import Cubin, KernelInfo

_STAGES = (
    ("Parse", "Parser", ("front end",)),
    ("CompileUnitSetup", "CompileUnitSetup", ()),
    ("DAGgen", "DAGgen", ("lower",)),
    ("OCG", "OCG", ("phases", "emit")),
    ("ELF", "ELF", ("cubin",)),
    ("DebugInfo", "DebugInfo", ()),
)
"""ptxas's names of a stage for times and for memory, and the stages of Orias that do this work (none: part of another)."""


def statistics(cubin: "Cubin", wanted: list[str], prefix: str) -> str:
    """Times (``t``), memory (``m``), both by stage (``p``) and by kernel (``d``); each block after ``prefix``.

    The time of a kernel is that from Ori to its code; the memory of a stage is what the process grew by.
    """
    out = ""
    total = sum(cubin.times.values())
    phases = "p" in wanted
    if "t" in wanted:
        out += f"{prefix}CompileTime = {1000 * total:.6f} ms" + (" (100%)\n" if phases else "\n")
        for name, _, stages in _STAGES if phases else ():
            seconds = sum(cubin.times.get(s, 0.0) for s in stages)
            share = 100 * seconds / total if total else 0.0
            out += f"{name + '-time':<22}: {1000 * seconds:.3f} ms ({share:.2f}%)\n"
        out += "\n" if phases else ""
    if "m" in wanted:
        out += f"{prefix}PeakMemoryUsage = {sum(cubin.memory.values()):.3f} KB\n"
        for _, name, stages in _STAGES if phases else ():
            out += f"{f'Peak{name}MemoryUsage':<32}: {sum(cubin.memory.get(s, 0) for s in stages):.3f} KB\n"
        out += "\n" if phases else ""
    if "d" in wanted and ("t" in wanted or "m" in wanted):
        out += f"{prefix}\n"
        for k in cubin.kernels.values():
            if k.is_entry:
                out += _unit(k, cubin, wanted)
    return out


def _unit(k: "KernelInfo", cubin: "Cubin", wanted: list[str]) -> str:
    """The block of one kernel."""
    phases = "p" in wanted
    out = f"Compile-unit with entry {k.name}\n"
    if "t" in wanted:
        out += f"\tTotal Compile-Unit time        = {1000 * k.seconds:.3f} ms\n"
        for name, seconds in (("DAGgen", 0.0), ("OCG", k.seconds), ("ELF", 0.0)) if phases else ():
            out += f"\t\t{name + '-time':<23}: {1000 * seconds:.3f} ms\n"
        out += "\n" if phases else ""
    if "m" in wanted:
        out += f"\tPeak Compile-Unit memory usage = {sum(cubin.memory.values()):.3f} KB\n"
        units = (("DAGgen", ("lower",)), ("OCG", ("phases", "emit")), ("ELF", ("cubin",)))
        for name, stages in units if phases else ():
            used = sum(cubin.memory.get(s, 0) for s in stages)
            out += f"\t\t{f'Peak{name}MemoryUsage':<23}: {used:.3f} KB\n"
        out += "\n" if phases else ""
    return out
