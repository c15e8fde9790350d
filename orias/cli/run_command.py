"""``orias run``: launches a kernel of a cubin in the simulator from the command line.

    orias run FILE.cubin [--kernel K] [--grid X[,Y,Z]] [--block X[,Y,Z]] [--shared BYTES] [--arg ARG]...
              [--print [N,...]] [--save N=FILE]... [--max-steps N] [--cores N] [--hazards[=stop|stale]]
              [--json] [--quiet] [--stats] [--list]

Arguments, one ``--arg`` a parameter, in order:

    u32:5  s64:-1  f32:1.5  f16:0x1p-3  f64:nan     a scalar (types u8 s8 u16 s16 u32 s32 u64 s64 f16 f32 f64)
    hex:0a0b0c                                      the bytes of a structure
    buf:TYPE:COUNT[=INIT]                           a buffer of COUNT elements; its address is passed
    buf:TYPE:@FILE                                  a buffer with the contents of a file
    same:N                                          the buffer of argument N again

INIT: ``zeros`` (the default), ``ones``, ``iota`` (0, 1, 2, ...), ``random`` (the same numbers each time), a number, or a list
of numbers separated by ``;``.  After the run, text printed by the kernel is written out; ``--print`` shows the buffers (or those
of the arguments listed), ``--save N=FILE`` writes the bytes of one.

``--hazards`` makes results visible no sooner than the control words promise: the run ends at the first value that is read too
early (``stop``), or goes on with the old value and lists all such places (``stale``).  ``--cores`` divides the blocks of a large launch
among so many processes, with the same results, where they cannot see each other; ``--stats`` says why if they stay in one.
``--json`` prints one object: text, counts, shown buffers in full, hazards, why blocks stayed in one process.
Exit status: 0, 1 if the launch failed, 2 for wrong usage.
"""

import json
import sys
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.cli.launch_values import UsageError, arguments, dims, integer, type_name
from orias.sim.core.image import DEFAULT_STEPS, Image, load
from orias.sim.core.sim_errors import ArgumentError, LoadError, SimError

Arr = npt.NDArray[Any]

_SHOWN: Final = 64
"""Largest number of elements of a buffer that ``--print`` shows."""


class _Options:
    def __init__(self) -> None:
        self.file = ""
        self.kernel = ""
        self.grid: tuple[int, ...] = (1,)
        self.block: tuple[int, ...] = (1,)
        self.shared = 0
        self.max_steps = DEFAULT_STEPS
        self.cores = 1
        self.args: list[str] = []
        self.show: list[int] | None = None
        self.show_all = False
        self.save: list[tuple[int, str]] = []
        self.stats = False
        self.list_kernels = False
        self.hazards = ""
        self.json = False
        self.quiet = False


def _parse(args: list[str]) -> _Options:
    o = _Options()
    i = 0
    while i < len(args):
        a = args[i]
        i += 1
        name, eq, value = a.partition("=") if a.startswith("--") else (a, "", "")
        if not a.startswith("-"):
            if o.file:
                raise UsageError(f"more than one file: {o.file}, {a}")
            o.file = a
            continue
        if name == "--stats":
            o.stats = True
            continue
        if name == "--list":
            o.list_kernels = True
            continue
        if name in ("--json", "--quiet"):
            setattr(o, name[2:], True)
            continue
        if name == "--hazards":
            o.hazards = value or "stop"
            if o.hazards not in ("stop", "stale"):
                raise UsageError(f"--hazards={value}: stop or stale")
            continue
        if name == "--print":
            follows = args[i] if i < len(args) and not eq else value
            if follows and all(x.isdigit() for x in follows.split(",")):
                o.show = (o.show or []) + [int(x) for x in follows.split(",")]
                i += not eq
            else:
                o.show_all = True
            continue
        if not eq:
            if i >= len(args):
                raise UsageError(f"{name} needs a value")
            value = args[i]
            i += 1
        if name in ("--kernel", "-k"):
            o.kernel = value
        elif name == "--grid":
            o.grid = dims(value)
        elif name == "--block":
            o.block = dims(value)
        elif name == "--shared":
            o.shared = integer(value, name)
        elif name == "--max-steps":
            o.max_steps = integer(value, name)
        elif name == "--cores":
            o.cores = integer(value, name)
            if o.cores < 1:
                raise UsageError(f"--cores {value}: at least one process")
        elif name == "--arg":
            o.args.append(value)
        elif name == "--save":
            number, sep, path = value.partition("=")
            if not sep:
                raise UsageError("--save takes N=FILE")
            o.save.append((integer(number, name), path))
        else:
            raise UsageError(f"unknown option {name}")
    if not o.file:
        raise UsageError("no cubin given")
    return o


def _list(image: Image) -> None:
    for name, k in sorted(image.kernels.items()):
        sizes = ", ".join(str(p.size) for p in sorted(k.params, key=lambda p: p.ordinal))
        print(f"{name}: parameters of {sizes or 'no'} bytes")


def _show(i: int, a: Arr) -> None:
    shown = ", ".join(str(x) for x in a[:_SHOWN].tolist())
    more = f", ... ({len(a)} elements)" if len(a) > _SHOWN else ""
    print(f"arg {i}: {type_name(a.dtype)} [{shown}{more}]")


def run_command(args: list[str]) -> int:
    """Run ``orias run`` with the arguments after ``run``; returns the exit status."""
    if args and args[0] in ("-h", "--help"):
        print((__doc__ or "").replace("``", ""), end="")
        return 0
    try:
        o = _parse(args)
        values = arguments(o.args)
        for i, _ in [*o.save, *((n, "") for n in o.show or [])]:
            if not 0 <= i < len(values) or not isinstance(values[i], np.ndarray):
                raise UsageError(f"argument {i} is no buffer")
    except UsageError as e:
        print(f"orias run: {e}", file=sys.stderr)
        return 2
    try:
        image = load(o.file)
        if o.list_kernels:
            _list(image)
            return 0
        kernel = o.kernel
        if not kernel:
            if len(image.kernels) != 1:
                names = ", ".join(sorted(image.kernels)) or "none"
                print(f"orias run: --kernel needed; the file has {names}", file=sys.stderr)
                return 2
            kernel = next(iter(image.kernels))
        result = image.launch(
            kernel,
            o.grid,
            o.block,
            values,
            o.shared,
            o.max_steps,
            hazards=o.hazards,
            progress=not o.quiet,
            cores=o.cores,
        )
    except SimError as e:
        what = o.file if isinstance(e, LoadError | ArgumentError) else type(e).__name__
        print(f"orias run: {what}: {e}", file=sys.stderr)
        return 1
    shown = {i: v for i, v in enumerate(values) if isinstance(v, np.ndarray) and (o.show_all or i in (o.show or []))}
    if not o.json:
        sys.stdout.write(result.output)
        for i, v in shown.items():
            _show(i, v)
    try:
        for i, path in o.save:
            with open(path, "wb") as f:
                f.write(values[i].tobytes())
    except OSError as e:
        print(f"orias run: {e.filename}: {e.strerror}", file=sys.stderr)
        return 1
    if o.json:
        print(json.dumps({
            "kernel": kernel, "output": result.output, "instructions": result.instructions, "steps": result.steps,
            "buffers": {i: {"type": type_name(v.dtype), "values": v.tolist()} for i, v in shown.items()},
            "hazards": [v.record() for v in result.hazards], "together": result.together,
        }))  # fmt: skip
        return 1 if result.hazards else 0
    for violation in result.hazards:
        print(violation.line())
    if o.stats:
        print(f"{result.instructions} thread instructions, {result.steps} steps")
        if result.together:
            print(f"in one process: {result.together}")
    return 1 if result.hazards else 0
