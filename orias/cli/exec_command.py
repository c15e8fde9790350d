"""``orias exec``: runs a program with the simulator as its GPU."""

import hashlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from orias.cli.toolerror import ToolError
from orias.cli.toolkit_command import script

USAGE = """\
usage: orias exec [--device NAME] [--tool NAME[,NAME]...] [--exact] [--report] [--cores N] [--trace[=all]] [--] PROGRAM [ARGUMENT]...

Runs a program whose GPU is the simulator: its CUDA driver library (libcuda.so.1) is Orias's.
--device: H100 (default), A100, RTX4090, B200 or RTX5090 (ORIAS_DEVICE).  --trace: prints driver functions that fail,
=all every call (ORIAS_DRIVER_TRACE).  --exact: allocations end at their last byte, not at a multiple of 512 as on a device
(ORIAS_EXACT).
--tool: checks every kernel with memcheck, racecheck, initcheck and synccheck, or with hazards (ORIAS_TOOL).  --json FILE writes
what they found, too; --leaks reports memory that was not given back, --api-errors functions that fail; --error-exitcode N ends
with N if there are errors.  --keep-context: an error ends its kernel, not the context, so that later kernels run
(ORIAS_KEEP_CONTEXT).
--cores: processes among which the blocks of long launches are divided (ORIAS_CORES); without it as many as there are processors.
--report: at the end, launches, instructions and modelled time of each kernel (ORIAS_REPORT).
--env prints the environment instead of running a program.
"""


_VALUES = {
    "--tool": "ORIAS_TOOL",
    "--json": "ORIAS_TOOL_JSON",
    "--error-exitcode": "ORIAS_ERROR_EXITCODE",
    "--cores": "ORIAS_CORES",
}
"""Options with a value, and the variables that carry them."""
_FLAGS = {
    "--exact": "ORIAS_EXACT",
    "--leaks": "ORIAS_LEAKS",
    "--api-errors": "ORIAS_API_ERRORS",
    "--keep-context": "ORIAS_KEEP_CONTEXT",
    "--report": "ORIAS_REPORT",
}
"""Options without, likewise."""


def exec_command(arguments: list[str]) -> int:
    """Run the sub-command; returns 0 if it printed something, and does not return from a program."""
    environment = dict(os.environ)
    show = False
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        name, _, value = option.partition("=")
        if option == "--":
            break
        if name == "--device":
            environment["ORIAS_DEVICE"] = value or (arguments.pop(0) if arguments else "")
        elif name == "--trace":
            environment["ORIAS_DRIVER_TRACE"] = value or "errors"
        elif name in _FLAGS:
            environment[_FLAGS[name]] = "1"
        elif name in _VALUES:
            environment[_VALUES[name]] = value or (arguments.pop(0) if arguments else "")
        elif name == "--env":
            show = True
        elif name in ("-h", "--help"):
            sys.stdout.write(USAGE)
            return 0
        else:
            raise ToolError(f"unknown option {option}\n{USAGE}")
    if not arguments and not show:
        raise ToolError(USAGE.splitlines()[0])
    changed = settings(environment)
    if show:
        sys.stdout.write("".join(f"export {k}={v}\n" for k, v in sorted(changed.items())))
        return 0
    return _start(arguments, environment | changed)


def _start(arguments: list[str], environment: dict[str, str]) -> int:
    program = shutil.which(arguments[0])
    if program is None:
        raise ToolError(f"{arguments[0]}: no such program")
    sys.stdout.flush()
    os.execve(program, arguments, environment)
    return 0


def settings(environment: dict[str, str]) -> dict[str, str]:
    """The variables that put the driver library into programs; ToolError if it cannot be built or a name is wrong."""
    try:
        import numpy
    except ImportError:
        raise ToolError("the simulator needs numpy: pip install 'orias[sim]'") from None
    from orias.c_library import BuildError
    from orias.driver.devices import DEFAULT, devices
    from orias.driver.library import RUNTIMES, folder

    device = environment.get("ORIAS_DEVICE") or DEFAULT
    if device.upper() not in devices():
        raise ToolError(f"device {device}: there are {', '.join(devices())}")
    from orias.sim.checks.checker import TOOLS

    tools = [t for t in environment.get("ORIAS_TOOL", "").split(",") if t]
    strange = [t for t in tools if t not in TOOLS]
    if strange:
        raise ToolError(f"tool {strange[0]}: there are {', '.join(TOOLS)}")
    if "hazards" in tools and len(tools) > 1:
        raise ToolError("the tool hazards runs alone")
    if not environment.get("ORIAS_ERROR_EXITCODE", "0").isdigit():
        raise ToolError(f"--error-exitcode {environment['ORIAS_ERROR_EXITCODE']}: a number from 0 to 255")
    cores = environment.get("ORIAS_CORES") or "1"
    if not cores.isdigit() or not int(cores):
        raise ToolError(f"--cores {cores}: a number from 1 on")
    try:
        place = str(folder())
    except BuildError as e:
        raise ToolError(str(e)) from None
    ours = [str(Path(__file__).parents[2]), str(Path(numpy.__file__).parents[1])]
    paths, preloaded = environment.get("LD_LIBRARY_PATH", ""), environment.get("LD_PRELOAD", "")
    # PyTorch says itself where its runtime library is, which comes before that variable.
    runtimes = [f"{place}/libcudart.so.{major}" for major in RUNTIMES]
    changed = {k: environment[k] for k in (*_VALUES.values(), *_FLAGS.values()) if environment.get(k)}
    changed |= {
        "LD_LIBRARY_PATH": f"{place}:{paths}" if paths else place,
        "LD_PRELOAD": ":".join([*runtimes, *([preloaded] if preloaded else [])]),
        # Programs with the address sanitizer want to be told that libraries may come before its own.
        "ASAN_OPTIONS": ":".join(filter(None, [environment.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])),
        "ORIAS_DEVICE": device,
        "ORIAS_DRIVER_PATH": ":".join(dict.fromkeys(ours)),
        "NUMBA_CUDA_DRIVER": f"{place}/libcuda.so.1",
        "TRITON_LIBCUDA_PATH": place,
    }
    own = _program(place)
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        changed[name] = environment.get(name) or own
    library = _python_library()
    if library:
        changed["ORIAS_LIBPYTHON"] = library
    return changed


def _program(place: str) -> str:
    """The program ``orias`` of this Python; one in `place` where Orias is used without having been installed."""
    installed = Path(sys.executable).with_name("orias")
    if installed.is_file():
        return str(installed)
    text = script(sys.executable, str(Path(__file__).parents[2]))
    own = Path(place) / hashlib.sha256(text.encode()).hexdigest()[:16] / "orias"
    if not own.is_file():
        own.parent.mkdir(exist_ok=True)
        fresh = own.with_name(f"orias.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(own)
    return str(own)


def _python_library() -> str:
    """The shared library of this Python, for programs that have none; empty if it is not shared."""
    name = str(sysconfig.get_config_var("INSTSONAME") or "")
    for place in (sysconfig.get_config_var("LIBDIR"), str(Path(sys.base_prefix) / "lib")):
        file = Path(str(place)) / name
        if ".so" in name and file.is_file():
            return str(file)
    return ""
