"""``orias run``: launches a kernel of a cubin in the simulator from the command line.

    orias run FILE.cubin [--kernel K] [--grid X[,Y,Z]] [--block X[,Y,Z]] [--shared BYTES] [--arg ARG]...
              [--print [N,...]] [--save N=FILE]... [--max-steps N] [--hazards[=stop|stale]] [--json] [--quiet] [--stats] [--list]

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
early (``stop``), or goes on with the old value and lists all such places (``stale``).  ``--json`` prints one object: text, counts, shown buffers in full, hazards.
Exit status: 0, 1 if the launch failed, 2 for wrong usage.
"""

import json
import sys
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.progress import Bar
from orias.sim.core.image import DEFAULT_STEPS, Image, load
from orias.sim.core.sim_errors import SimError

Arr = npt.NDArray[Any]

_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "u8": np.dtype(np.uint8), "s8": np.dtype(np.int8), "u16": np.dtype(np.uint16), "s16": np.dtype(np.int16),
    "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32), "u64": np.dtype(np.uint64), "s64": np.dtype(np.int64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
_SHOWN: Final = 64
"""Largest number of elements of a buffer that ``--print`` shows."""


class UsageError(Exception):
    """The command line is wrong."""


class _Options:
    def __init__(self) -> None:
        self.file = ""
        self.kernel = ""
        self.grid: tuple[int, ...] = (1,)
        self.block: tuple[int, ...] = (1,)
        self.shared = 0
        self.max_steps = DEFAULT_STEPS
        self.args: list[str] = []
        self.show: list[int] | None = None
        self.show_all = False
        self.save: list[tuple[int, str]] = []
        self.stats = False
        self.list_kernels = False
        self.hazards = ""
        self.json = False
        self.quiet = False


def _dims(text: str) -> tuple[int, ...]:
    try:
        d = tuple(int(x, 0) for x in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' is not a size X[,Y[,Z]]") from None
    if not 1 <= len(d) <= 3 or min(d) < 1:
        raise UsageError(f"'{text}' is not a size X[,Y[,Z]]")
    return d


def _integer(text: str, what: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{what}: '{text}' is not a number") from None


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
            o.grid = _dims(value)
        elif name == "--block":
            o.block = _dims(value)
        elif name == "--shared":
            o.shared = _integer(value, name)
        elif name == "--max-steps":
            o.max_steps = _integer(value, name)
        elif name == "--arg":
            o.args.append(value)
        elif name == "--save":
            number, sep, path = value.partition("=")
            if not sep:
                raise UsageError("--save takes N=FILE")
            o.save.append((_integer(number, name), path))
        else:
            raise UsageError(f"unknown option {name}")
    if not o.file:
        raise UsageError("no cubin given")
    return o


def _number(text: str, t: np.dtype[Any]) -> Any:
    try:
        if t.kind == "f":
            v = float.fromhex(text) if "0x" in text.lower() else float(text)
            return t.type(v)
        v = int(text, 0)
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}' is no value of type {_name(t)}") from None
    bits = 8 * t.itemsize
    if not -(1 << (bits - 1)) <= v < 1 << bits:
        raise UsageError(f"{text} does not fit {_name(t)}")
    return np.array([v & ((1 << bits) - 1)], f"u{t.itemsize}").view(t)[0]


def _name(t: np.dtype[Any]) -> str:
    return next(k for k, v in _TYPES.items() if v == t)


def _type(text: str) -> np.dtype[Any]:
    t = _TYPES.get(text)
    if t is None:
        raise UsageError(f"unknown type '{text}'; there are {' '.join(_TYPES)}")
    return t


def _buffer(rest: str) -> Arr:
    type_text, _, shape = rest.partition(":")
    t = _type(type_text)
    if shape.startswith("@"):
        try:
            with open(shape[1:], "rb") as f:
                raw = f.read()
        except OSError as e:
            raise UsageError(f"{shape[1:]}: {e.strerror}") from None
        if len(raw) % t.itemsize:
            raise UsageError(f"{shape[1:]}: {len(raw)} bytes are no whole number of {type_text}")
        return np.frombuffer(raw, t).copy()
    count_text, _, init = shape.partition("=")
    n = _integer(count_text, "buffer")
    if not 0 <= n <= 1 << 30:
        raise UsageError(f"a buffer of {n} elements")
    if init in ("", "zeros"):
        return np.zeros(n, t)
    if init == "ones":
        return np.ones(n, t)
    if init == "iota":
        return np.arange(n).astype(t)
    if init == "random":
        rng = np.random.default_rng(0)
        return (
            rng.standard_normal(n).astype(t)
            if t.kind == "f"
            else rng.integers(0, 256, n * t.itemsize, np.uint8).view(t)
        )
    values = [_number(x, t) for x in init.split(";")]
    if len(values) == 1:
        return np.full(n, values[0], t)
    if len(values) != n:
        raise UsageError(f"{len(values)} values for {n} elements")
    return np.array(values, t)


def _arguments(texts: list[str]) -> list[Any]:
    out: list[Any] = []
    for text in texts:
        kind, sep, rest = text.partition(":")
        if not sep:
            raise UsageError(f"argument '{text}': expected TYPE:VALUE or buf:TYPE:COUNT")
        if kind == "buf":
            out.append(_buffer(rest))
        elif kind == "same":
            n = _integer(rest, "same")
            if not 0 <= n < len(out) or not isinstance(out[n], np.ndarray):
                raise UsageError(f"same:{n}: argument {n} is no buffer")
            out.append(out[n])
        elif kind == "hex":
            try:
                out.append(bytes.fromhex(rest))
            except ValueError:
                raise UsageError(f"'{rest}' is no string of hexadecimal bytes") from None
        else:
            out.append(_number(rest, _type(kind)))
    return out


def _list(image: Image) -> None:
    for name, k in sorted(image.kernels.items()):
        sizes = ", ".join(str(p.size) for p in sorted(k.params, key=lambda p: p.ordinal))
        print(f"{name}: parameters of {sizes or 'no'} bytes")


def _show(i: int, a: Arr) -> None:
    shown = ", ".join(str(x) for x in a[:_SHOWN].tolist())
    more = f", ... ({len(a)} elements)" if len(a) > _SHOWN else ""
    print(f"arg {i}: {_name(a.dtype)} [{shown}{more}]")


def run_command(args: list[str]) -> int:
    """Run ``orias run`` with the arguments after ``run``; returns the exit status."""
    if args and args[0] in ("-h", "--help"):
        print((__doc__ or "").replace("``", ""), end="")
        return 0
    try:
        o = _parse(args)
        values = _arguments(o.args)
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
        bar = Bar(o.quiet)
        if bar.on:
            image.progress = lambda ended, threads: bar(ended, threads, f"threads of {kernel}")
        try:
            result = image.launch(kernel, o.grid, o.block, values, o.shared, o.max_steps, hazards=o.hazards)
        finally:
            bar.clear()
    except SimError as e:
        print(f"orias run: {type(e).__name__}: {e}", file=sys.stderr)
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
            "buffers": {i: {"type": _name(v.dtype), "values": v.tolist()} for i, v in shown.items()},
            "hazards": [v.record() for v in result.hazards],
        }))  # fmt: skip
        return 1 if result.hazards else 0
    for violation in result.hazards:
        print(violation.line())
    if o.stats:
        print(f"{result.instructions} thread instructions, {result.steps} steps")
    return 1 if result.hazards else 0
