"""Sub-commands: ``orias dis``, ``orias as``, ``orias run``.

An input file with such a name is compiled by writing it as ``./dis``; under any other program name than ``orias`` there are no
sub-commands.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from orias.cli.drive import write_output

FAILURE = 255
RUN_USAGE = """\
usage: orias run FILE.cubin [--kernel NAME] [--grid X[,Y[,Z]]] [--block X[,Y[,Z]]] [--shared BYTES] [--arg VALUE]...
                 [--show N]

Runs a kernel in the simulator and prints its printf output and the arrays it changed.
VALUE: 5, 0x10, 1.5              a number
       f32:1.5, s64:-3           a number of that type
       zeros:f32:1024            an array of zeros
       range:u32:64              an array 0, 1, 2 ...
       file:f32:data.bin         an array from a file
"""


class ToolError(Exception):
    """Wrong use of a sub-command; the text is the message."""


def run_tool(program: str, tool: str, arguments: list[str]) -> int:
    """Run a sub-command; returns the exit code."""
    try:
        if tool == "dis":
            return _dis(arguments)
        if tool == "as":
            return _as(arguments)
        return _run(arguments)
    except ToolError as e:
        message = str(e)
    except OSError as e:
        message = f"{e.filename}: {e.strerror}"
    except BrokenPipeError:
        return 0
    sys.stderr.write(f"{program} {tool}: {message}\n")
    return FAILURE


def _dis(arguments: list[str]) -> int:
    import orias
    from orias.cubin.errors import CubinError

    files = [a for a in arguments if not a.startswith("-")]
    if len(files) != len(arguments) or not files:
        raise ToolError("usage: orias dis FILE.cubin...")
    for name in files:
        try:
            sys.stdout.write(orias.disassemble(Path(name).read_bytes()))
        except (CubinError, ValueError) as e:
            raise ToolError(f"{name}: {e}") from None
    return 0


def _as(arguments: list[str]) -> int:
    files: list[str] = []
    output = "out.cubin"
    i = 0
    while i < len(arguments):
        if arguments[i] == "-o" and i + 1 < len(arguments):
            output = arguments[i + 1]
            i += 1
        elif arguments[i].startswith("-"):
            raise ToolError("usage: orias as FILE.sass -o FILE.cubin")
        else:
            files.append(arguments[i])
        i += 1
    if len(files) != 1:
        raise ToolError("usage: orias as FILE.sass -o FILE.cubin")
    assemble: Any = import_module("orias.tools.assemble").assemble
    try:
        data: bytes = assemble(Path(files[0]).read_text())
    except ValueError as e:
        raise ToolError(f"{files[0]}: {e}") from None
    write_output(output, data)
    return 0


def _triple(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(v, 0) for v in text.split(","))
    except ValueError:
        raise ToolError(f"'{text}' is not a list of numbers") from None


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ToolError(f"'{text}' is not a number") from None


def _argument(text: str) -> Any:
    """A kernel argument from its text (see RUN_USAGE)."""
    import numpy as np

    types: dict[str, Any] = {
        "f16": np.float16, "f32": np.float32, "f64": np.float64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
        "u64": np.uint64, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    }  # fmt: skip
    parts = text.split(":", 2)
    if len(parts) == 1:
        return _number(text)
    if len(parts) == 2 and parts[0] in types:
        return types[parts[0]](_number(parts[1]))
    if len(parts) == 3 and parts[1] in types:
        kind, dtype, value = parts[0], types[parts[1]], parts[2]
        if kind == "zeros":
            return np.zeros(int(value, 0), dtype)
        if kind == "range":
            return np.arange(int(value, 0)).astype(dtype)
        if kind == "file":
            return np.fromfile(value, dtype)
    raise ToolError(f"'{text}' is not an argument; see orias run --help")


def _run(arguments: list[str]) -> int:
    files: list[str] = []
    given: dict[str, str] = {"--grid": "1", "--block": "1", "--shared": "0", "--show": "8"}
    texts: list[str] = []
    i = 0
    while i < len(arguments):
        a = arguments[i]
        if a in ("--help", "-h"):
            sys.stdout.write(RUN_USAGE)
            return 0
        if a in ("--kernel", "--grid", "--block", "--shared", "--arg", "--show"):
            i += 1
            if i >= len(arguments):
                raise ToolError(f"argument expected after '{a}'")
            if a == "--arg":
                texts.append(arguments[i])
            else:
                given[a] = arguments[i]
        elif a.startswith("-"):
            raise ToolError(f"unknown option '{a}'")
        else:
            files.append(a)
        i += 1
    if len(files) != 1:
        raise ToolError("one cubin is needed; see orias run --help")
    try:
        return _launch(files[0], given, texts)
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None


def _launch(name: str, given: dict[str, str], texts: list[str]) -> int:
    from orias.sim import SimError, load

    values = [_argument(t) for t in texts]
    try:
        image = load(Path(name).read_bytes())
        kernel = given.get("--kernel")
        if kernel is None:
            if len(image.kernels) != 1:
                raise ToolError(f"--kernel must name one of: {', '.join(sorted(image.kernels)) or 'none'}")
            kernel = next(iter(image.kernels))
        shared = int(_number(given["--shared"]))
        result = image.launch(kernel, _triple(given["--grid"]), _triple(given["--block"]), values, shared)
    except SimError as e:
        raise ToolError(str(e)) from None
    sys.stdout.write(result.output)
    show = int(_number(given["--show"]))
    for i, v in enumerate(values):
        if hasattr(v, "shape") and v.shape:
            more = " ..." if len(v) > show else ""
            print(f"arg {i}: {' '.join(str(x) for x in v[:show])}{more}")
    print(f"{result.instructions} thread instructions")
    return 0
