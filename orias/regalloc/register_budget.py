"""The number of registers that the functions of a kernel may use: directives, options, and setmaxnreg."""

from math import prod
from typing import Final

from orias.diag import CompileError, Diagnostic
from orias.lower.frame.program import Kernel
from orias.options import Options
from orias.ori.ir import Func
from orias.passes.setmaxnreg import expand_setmaxnreg, requests
from orias.ptx.ast import Function, Module
from orias.ptx.launch_warnings import effective_limit, ignores_blocks, warnings_of
from orias.regalloc.operation_needs import fewest_registers
from orias.target.profile import Target
from orias.target.register_steps import FEWEST_REGISTERS, MOST_REGISTERS, SUB_PARTITIONS, allowed, registers_for

_IGNORED: Final = (
    "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry."
)
_TOO_FEW: Final = "(C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements."
_NO_LIMIT: Final = 256
"""What ``-v`` says for the limit of a kernel without ``.maxnreg``."""
_IGNORED_APART: Final = (
    "(C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across compilation units."
)


def register_counts(kernel: Kernel, options: Options, target: Target, said: list[Diagnostic]) -> tuple[int, int]:
    """Register limits of the functions of a kernel and of its entry; expands setmaxnreg.

    Appends advice to `said`.  Raises CompileError if a decrease asks for more registers than the kernel ever has.
    """
    limit = register_limit(kernel, options, target)
    asked = requests(kernel.entry)
    ignored = any(requests(f) for f in kernel.functions)
    counts = [n for n, _, _ in asked]
    start = 0
    too_few = False
    if asked and kernel.ptx.entry:
        increases = [n for n, more, _ in asked if more]
        fewest = fewest_registers(kernel.entry)
        start = count_at_entry(kernel, options, limit, increases, fewest)
        too_few = bool(start) and fewest > max(increases, default=fewest)
        if too_few:
            start = 0
    most = max([start, *[n for n, more, _ in asked if more]])
    for n, _, line in asked if start else ():
        if n > most:
            text = f"(C7406) setmaxnreg.dec has register count ({n}) which is larger than the largest temporal register count"
            raise CompileError([*said, Diagnostic("fatal", f"{text} in the program ({most})", line)])
    for fn in kernel.all_functions():
        expand_setmaxnreg(fn, start if fn is kernel.entry else 0)
    if ignored or (asked and not start):
        text = _IGNORED_APART if options.compile_only else _TOO_FEW if too_few and not ignored else _IGNORED
        said.append(Diagnostic("info", text))
    if not start:
        return limit, limit
    return min(start, *counts), max(start, *counts)


def block_threads(f: Function) -> int:
    """Threads of the largest block, from the directives of a kernel; 0 where they do not say."""
    d = f.directives
    dimensions = d.get("reqntid") or d.get("maxntid")
    return prod(dimensions) if dimensions else 0


def register_limit(kernel: Kernel, options: Options, target: Target) -> int:
    """Maximum registers per thread, from directives and options (``docs/facts/targets.md``, "Limits")."""
    d = kernel.ptx.directives
    limit = MOST_REGISTERS
    threads = block_threads(kernel.ptx)
    # A block that no SM takes says nothing, and a number of blocks without their size neither.
    by_threads = 0 < threads <= target.number("threads_per_sm")
    stated = ("maxnreg" in d or by_threads) and not (options.maxrregcount > 0 and options.override_directives)
    if stated:
        if "maxnreg" in d:
            limit = allowed(d["maxnreg"][0])
        if by_threads:
            per_sm = d["minnctapersm"][0] if "minnctapersm" in d else 1
            if per_sm > target.number("ctas_per_sm") or threads * per_sm > target.number("threads_per_sm"):
                per_sm = 1
            limit = min(limit, most_registers(threads, per_sm))
    elif not kernel.ptx.entry and options.function_maxrregcount:
        limit = options.function_maxrregcount
    elif options.maxrregcount:
        limit = options.maxrregcount
    return max(min(limit, MOST_REGISTERS), FEWEST_REGISTERS)


def block_warps(kernel: Kernel) -> int:
    """Warps of a block; 1 where its size is not known."""
    return max(1, (block_threads(kernel.ptx) + 31) // 32)


def most_warps(kernel: Kernel, target: Target) -> int:
    """Warps that an SM holds at most, whatever their registers; 0 where the size of blocks is not known."""
    if not kernel.ptx.entry or not block_threads(kernel.ptx):
        return 0
    warps = block_warps(kernel)
    shared = kernel.shared_size + target.number("system_shared")
    blocks = min(target.number("ctas_per_sm"), target.number("threads_per_sm") // 32 // warps)
    if kernel.shared_size:
        blocks = min(blocks, target.number("shared_per_sm") // shared)
    return max(1, blocks) * warps


def with_limit_notes(found: list[Diagnostic], module: Module, options: Options, target: Target) -> list[Diagnostic]:
    """Messages of the checks with what ``-v`` says of ``-maxrregcount``: which kernels it limits, and which have limits that count instead.

    Each kernel's notes follow its warnings, the last kernel's first; with -g the first kernel's.
    """
    if any(d.severity in ("error", "fatal") for d in found):
        return found
    entries = [f for f in module.functions if f.entry]
    messages = [d.message for d in found]
    of = {f.name: [messages.index(text) for text in warnings_of(f, target) if text in messages] for f in entries}
    at = min([k for places in of.values() for k in places], default=len(found))
    out = found[:at]
    for f in entries if options.debug else reversed(entries):
        end = max([at, *(k + 1 for k in of[f.name])])
        out += found[at:end] + _limit_notes(f, options, target)
        at = end
    return out + found[at:]


def _limit_notes(f: Function, options: Options, target: Target) -> list[Diagnostic]:
    """The notes of one kernel."""
    out: list[Diagnostic] = []
    given = options.maxrregcount
    own = effective_limit(f) or _NO_LIMIT
    by_threads = own == _NO_LIMIT and 0 < block_threads(f) <= target.number("threads_per_sm")
    if own != _NO_LIMIT and not options.override_directives:
        if given != own:
            text = f"Overriding global maxrregcount {given} with entry-specific value {own} of .maxnreg"
            out.append(Diagnostic("info", text))
        return out
    limit = register_limit(Kernel(f, Func(f.name, target)), Options(options.arch), target)
    if by_threads and "minnctapersm" in f.directives and not ignores_blocks(f, target) and given != limit:
        text = f"Overriding global maxrregcount {given} with entry-specific value {limit} computed using thread count"
        out.append(Diagnostic("info", text))
    if given != own and (options.override_directives or not by_threads):
        text = f"Overriding maximum register limit {own} for '{f.name}' with  {given} of maxrregcount option"
        out.append(Diagnostic("info", text))
    return out


def count_at_entry(kernel: Kernel, options: Options, limit: int, increases: list[int], fewest: int) -> int:
    """Registers at the entry of a kernel with setmaxnreg: its limit, but at most the highest increase; 0 if none is stated.

    `fewest`: what its largest operation needs.  Measured with ptxas 13.0.88: ``.maxnreg``, ``.minnctapersm`` with a thread
    count, and ``-maxrregcount`` state a limit; so does a thread count alone where two such blocks leave that operation too few
    registers, so that an SM holds one.  Relocatable code states none.
    """
    d = kernel.ptx.directives
    known = "maxnreg" in d or bool(options.maxrregcount)
    if threads := block_threads(kernel.ptx):
        known = known or "minnctapersm" in d or fewest > most_registers(threads, 2)
    if not known or options.compile_only:
        return 0
    return min(limit, max(increases)) if increases else limit


def most_registers(threads: int, blocks: int) -> int:
    """Registers of a thread where an SM holds so many blocks of so many threads."""
    warps = blocks * ((threads + 31) // 32)
    return registers_for((warps + SUB_PARTITIONS - 1) // SUB_PARTITIONS)
