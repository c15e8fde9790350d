"""Triton compiles with Orias in its own process: no assembler process, no temporary files.

The hook is Triton's own (``knobs.runtime.add_stages_inspection_hook``): it replaces the stage that makes the cubin.
Triton's cache keys get the identity of our code, so that an upgrade compiles again.
"""

import os
from collections.abc import Callable
from typing import Any

from orias.cli.parse import UsageError, parse_arguments
from orias.cli.settings import settings
from orias.compiler import compile_text
from orias.diag import CompileError, Diagnostic
from orias.identity import identity
from orias.options import Options
from orias.output.result import CompileResult
from orias.version import VERSION

Stages = dict[str, Callable[[Any, dict[str, Any]], Any]]

_installed: list[Any] = []
"""What the knobs held before: hook, text in place of the assembler's version; empty if not installed."""


def key() -> str:
    """The text that stands for Orias in Triton's cache keys."""
    return f"Orias {VERSION} in process, code {identity()}"


def install() -> None:
    """Make Triton compile with Orias from now on; a hook that was there before still runs, before ours."""
    if _installed:
        return
    knobs = _knobs()
    _installed.extend([knobs.runtime.add_stages_inspection_hook, knobs.nvidia.mock_ptx_version])
    knobs.runtime.add_stages_inspection_hook = _hook
    knobs.nvidia.mock_ptx_version = key()
    _forget_versions()


def uninstall() -> None:
    """Undo :func:`install`."""
    if not _installed:
        return
    knobs = _knobs()
    knobs.runtime.add_stages_inspection_hook, knobs.nvidia.mock_ptx_version = _installed
    _installed.clear()
    _forget_versions()


def _knobs() -> Any:
    from triton import knobs

    return knobs


def _forget_versions() -> None:
    """Triton keeps the version of the assembler, and what it derives from it."""
    from triton.backends.nvidia import compiler

    for f in (compiler.get_ptxas_version, compiler.CUDABackend.hash):
        getattr(f, "cache_clear", lambda: None)()


def _hook(
    backend: Any = None, stages: Stages | None = None, options: Any = None, language: Any = None, capability: Any = None
) -> Any:
    """Triton's hook; called without arguments, by releases that do so, it returns the key and its hash."""
    before = _installed[0]
    if stages is None:
        mine = key()
        if before is None:
            return mine, mine
        theirs, their_hash = before()
        return f"{theirs} {mine}", f"{their_hash} {mine}"
    if before is not None:
        before(backend, stages, options, language, capability)
    if "cubin" in stages:
        arch = int(backend.target.arch)
        stages["cubin"] = lambda source, metadata: make_cubin(source, metadata, options, arch)
    return None


def arguments(options: Any, arch: int) -> list[str]:
    """The options that Triton gives its assembler; ``arch`` is the compute capability, such as 90."""
    knobs = _knobs()
    words: list[str] = []
    if knobs.compilation.disable_line_info:
        words += ["-lineinfo", "-suppress-debug-info"]
    else:
        words += ["-g" if knobs.nvidia.disable_ptxas_opt else "-lineinfo"]
    if not options.enable_fp_fusion:
        words.append("--fmad=false")
    words.append("-v")
    if knobs.nvidia.disable_ptxas_opt:
        words += ["--opt-level", "0"]
    words += [w for w in (options.ptx_options or "").split(" ") if w]
    return [*words, f"--gpu-name=sm_{arch}{'a' if arch >= 90 else ''}"]


def make_cubin(source: str, metadata: dict[str, Any], options: Any, arch: int) -> bytes:
    """The stage: PTX to a cubin; ``metadata`` gets the kernel's registers, spilled words and shared memory.

    Raises Triton's PTXASError, by which its tuner drops a configuration.
    """
    words = arguments(options, arch)
    try:
        result = compile_text([("<triton>", source)], _options(words))
    except CompileError as e:
        from triton.runtime.errors import PTXASError

        log = "\n".join(str(d) for d in e.diagnostics)
        raise PTXASError(
            f"Internal Triton PTX codegen error\n`orias` says:\n{log}\nOptions: {' '.join(words)}\n"
        ) from e
    _report(result, metadata)
    if _knobs().nvidia.dump_ptxas_log:
        print("\n".join(str(d) for d in result.diagnostics))
    return result.data


def _options(words: list[str]) -> Options:
    command, message = parse_arguments([*words, os.devnull])
    if message:
        raise CompileError([Diagnostic("fatal", message)])
    try:
        found = settings(command)
    except UsageError as e:
        raise CompileError([Diagnostic("fatal", str(e))]) from e
    return found.options


def _report(result: CompileResult, metadata: dict[str, Any]) -> None:
    for info in result.kernels.values():
        metadata["orias_registers"] = info.registers
        # Triton counts spills in words of the stack.
        metadata["orias_spills"] = info.stack // 4
        metadata["orias_shared"] = info.shared
