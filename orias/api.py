"""The public interface: compiles PTX text, and gives access to the cubin."""

import os
import time
from typing import TYPE_CHECKING, final

from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.output.result import CompileResult, KernelInfo

if TYPE_CHECKING:
    from orias.explore.exploration import Exploration
    from orias.explore.recorded_run import Launch
    from orias.perf.resident_blocks import Occupancy
    from orias.pipeline.functions import Trace
    from orias.progress import Bar

__all__ = ["CompileError", "Cubin", "Diagnostic", "KernelInfo", "compile_sources"]


_MOST_THREADS = 1024
"""Threads of a block at most, on every target."""


@final
class Cubin(CompileResult):
    """A finished cubin: its bytes (``data``), what each kernel uses (``kernels``), diagnostics, seconds per stage (``times``)."""

    __slots__ = ("source",)

    def __init__(self, result: CompileResult) -> None:
        super().__init__(result.arch, result.data)
        for name in CompileResult.__slots__:
            setattr(self, name, getattr(result, name))
        self.source: tuple[list[tuple[str, str | bytes]], Options] | None = None
        """What it was made from, for :meth:`explore`; not known of a cubin that another process compiled."""

    def explore(self, launch: "Launch | None" = None) -> "Exploration":
        """How the PTX became SASS and why: ``.save("page.html")`` writes it as a page, a notebook shows it.

        The PTX is compiled a second time, with every phase recorded; of a cubin without it, the SASS alone is shown.  With a
        launch (:class:`orias.explore.recorded_run.Launch`) the code runs in the simulator, and the page shows what its addresses cost.
        """
        from orias.explore.collect import of_compile, of_cubin
        from orias.explore.exploration import Exploration

        if self.source is None:
            return Exploration([of_cubin(self.data, self.arch, launch)])
        return Exploration([of_compile(*self.source, launch=launch)[0]])

    def occupancy(self, kernel: str, threads: int, dynamic_shared: int = 0) -> "Occupancy":
        """How many blocks of `threads` threads an SM holds at a time, and what limits them.

        ``blocks``, ``warps`` of ``most_warps``; ``limit``: registers, shared memory, threads or blocks.  `dynamic_shared` in
        bytes.  KeyError for an unknown kernel, ValueError for a block that no launch may have.
        """
        from orias.perf.resident_blocks import occupancy
        from orias.target.profile import target

        info, profile = self.kernels[kernel], target(self.arch)
        if not 0 < threads <= _MOST_THREADS:
            raise ValueError(f"a block has 1 to {_MOST_THREADS} threads, not {threads}")
        shared = info.shared + profile.number("system_shared") + dynamic_shared
        return occupancy(profile, info.registers, threads, shared)

    def __str__(self) -> str:
        rows = _rows(self)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([f"cubin for {self.arch}, {len(self.data)} bytes", *table])

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        from html import escape

        rows = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in _rows(self)]
        head = rows[0].replace("td>", "th>")
        return f"<table><caption>cubin for {escape(self.arch)}, {len(self.data)} bytes</caption>{head}{''.join(rows[1:])}</table>"

    def disassemble(self) -> str:
        """The SASS listing, as ``nvdisasm -c`` prints it."""
        from orias.tools.disassemble import disassemble

        return disassemble(self.data)


def _rows(cubin: Cubin) -> list[list[str]]:
    """Head and rows of the table of kernels; sizes in bytes."""
    rows = [["kernel", "registers", "shared", "stack", "spill stores", "spill loads", "barriers", "instructions"]]
    for k in cubin.kernels.values():
        numbers = (k.registers, k.shared, k.stack, k.spill_stores, k.spill_loads, k.barriers, k.instructions)
        rows.append([k.name, *map(str, numbers)])
    return rows


def compile_sources(
    sources: list[tuple[str, str | bytes]], options: Options, trace: "Trace | None" = None, bar: "Bar | None" = None
) -> Cubin:
    """Compile PTX sources (name, text) into one cubin; ``options.arch`` empty: for the target that they name; with ``options.self_check`` also run the hazard checker on it.
    ``bar`` shows the progress.

    With ``ORIAS_CACHE_DIR`` in the environment a finished compile is kept there, and used again (:mod:`orias.result_cache`).
    Raises CompileError with every diagnostic if the compile fails or the check finds a hazard.
    """
    if not options.arch:
        from copy import copy

        from orias.target.own_target import own_target

        options = copy(options)
        options.arch = own_target(*[text for _, text in sources])
    cubin = Cubin(_result(sources, options, trace, bar))
    cubin.source = sources, options
    if options.self_check and cubin.data:
        _check(cubin)
    return cubin


def _result(
    sources: list[tuple[str, str | bytes]], options: Options, trace: "Trace | None", bar: "Bar | None"
) -> CompileResult:
    """The result, from the cache or the compiler."""
    folder = ""
    if trace is None and "ORIAS_CACHE_DIR" in os.environ:
        from orias.result_cache import cache_folder, cache_key, load, store

        folder = cache_folder(options)
        if folder:
            key = cache_key(sources, options)
            known = load(folder, key, options)
            if known is not None:
                return known
    from orias.compiler import compile_text

    result = compile_text(sources, options, trace, bar)
    if folder:
        store(folder, key, options, result)
    return result


def _check(cubin: Cubin) -> None:
    from orias.check import check_cubin

    start = time.perf_counter()
    found = [h for h in check_cubin(cubin.data) if h.rule != "unknown"]
    if found:
        raise CompileError([*cubin.diagnostics, *(Diagnostic("fatal", f"Self check: {h.line()}") for h in found)])
    cubin.times["self check"] = time.perf_counter() - start
