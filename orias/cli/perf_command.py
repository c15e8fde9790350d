"""``orias perf``: what a kernel costs, by the machine model.

    orias perf FILE.cubin [OTHER.cubin] [--kernel K] [--grid X[,Y,Z]] [--block X[,Y,Z]] [--shared BYTES] [--arg ARG]...
               [--json] [--html PAGE] [--top N] [--max-steps N]

Without arguments of a launch: occupancy, and the cycles of a turn of each loop, of all kernels or that of --kernel.  With ``--grid``, ``--block`` and ``--arg`` (as
for ``orias run``) the kernel is launched in the simulator, and what its warps executed is played through a model of the SM: one
warp alone, one block alone and a full SM, with data in the first cache (near) and beyond it (far).  Two files are compared: the
same launch, and the second over the first.

--json prints the whole report, --html writes it as a page (needs Jinja2: pip install 'orias[explore]').  Exit status: 0, 1 if the launch failed, 2 for wrong usage.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from orias.cli.launch_values import UsageError, arguments, dims, integer
from orias.cli.tool_arguments import scan
from orias.cli.toolerror import ToolError
from orias.cubin.cubin_error import CubinError
from orias.cubin.reader import Reader
from orias.diag import Unsupported
from orias.explore.page_writer import NeedsJinja
from orias.explore.perf_page import perf_page
from orias.perf.kernel_steps import KernelCode, kernels
from orias.perf.report import Object, report
from orias.perf.report_text import comparison, text
from orias.perf.trace import record
from orias.sim.core.image import DEFAULT_STEPS, Image, load
from orias.sim.core.sim_errors import ArgumentError, LoadError, SimError

_VALUES = ("--kernel", "--grid", "--block", "--shared", "--top", "--max-steps", "--arg", "--html")


class _Options:
    def __init__(self) -> None:
        self.files: list[str] = []
        self.kernel = ""
        self.grid: tuple[int, ...] = (1,)
        self.block: tuple[int, ...] = ()
        self.shared = 0
        self.args: list[str] = []
        self.json = False
        self.html = ""
        self.top = 12
        self.max_steps = DEFAULT_STEPS


def _parse(given: list[str]) -> _Options:
    o = _Options()
    found = scan(given, ("--json",), _VALUES, {"-k": "--kernel"})
    o.files = found.files
    o.json = "--json" in found.flags
    o.kernel, o.html, o.args = found.last("--kernel"), found.last("--html"), found.values.get("--arg", [])
    if "--grid" in found.values:
        o.grid = dims(found.last("--grid"))
    if "--block" in found.values:
        o.block = dims(found.last("--block"))
    o.shared = integer(found.last("--shared", "0"), "--shared")
    o.top = integer(found.last("--top", str(o.top)), "--top")
    o.max_steps = integer(found.last("--max-steps", str(o.max_steps)), "--max-steps")
    if not 1 <= len(o.files) <= 2:
        raise UsageError("one cubin, or two to compare")
    if o.args and not o.block:
        raise UsageError("a launch needs --block")
    return o


def _kernels(o: _Options, name: str, found: list[KernelCode]) -> list[KernelCode]:
    """The kernel that is asked for; all of one file if no launch and no other file ask for a single one."""
    chosen = [k for k in found if k.name == o.kernel] if o.kernel else found
    if len(chosen) == 1 or (chosen and len(o.files) == 1 and not o.block):
        return chosen
    names = ", ".join(k.name for k in found)
    raise UsageError(f"{name}: --kernel needed; the file has {names}" if found else f"{name}: the file has no kernel")


def _reports(o: _Options, name: str, values: list[Any]) -> list[Object]:
    data = Path(name).read_bytes()
    found = _kernels(o, name, kernels(data))
    reader = Reader(data)
    # Objects that need a linker have no image, but code.
    image = load(data) if o.block else None
    return [_report(o, code, reader, image, values) for code in found]


def _report(o: _Options, code: KernelCode, reader: Reader, image: Image | None, values: list[Any]) -> Object:
    k = reader.kernels[code.name]
    stated = next((d for d in (k.reqntid, k.maxntid) if any(d)), (256,))
    block = o.block or tuple(max(1, x) for x in stated)
    run = None
    if image is not None:
        own = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        run = record(image, code, o.grid, block, own, o.shared, o.max_steps)
    return report(code, int(np.prod(block)), o.shared, run, reader.elf)


def perf_command(given: list[str]) -> int:
    """Run ``orias perf`` with the arguments after ``perf``; returns the exit status."""
    if given and given[0] in ("-h", "--help"):
        print((__doc__ or "").replace("``", ""), end="")
        return 0
    name = ""
    try:
        o = _parse(given)
        values = arguments(o.args)
        reports = []
        for name in o.files:
            reports += _reports(o, name, values)
    except (UsageError, ToolError) as e:
        print(f"orias perf: {e}", file=sys.stderr)
        return 2
    except SimError as e:
        what = name if isinstance(e, LoadError | ArgumentError) else type(e).__name__
        print(f"orias perf: {what}: {e}", file=sys.stderr)
        return 1
    except KeyError as e:
        print(f"orias perf: there is no instruction table for {e}", file=sys.stderr)
        return 1
    except (CubinError, Unsupported, ValueError) as e:
        print(f"orias perf: {name}: {e}", file=sys.stderr)
        return 1
    if o.html:
        try:
            Path(o.html).write_text(perf_page(reports), encoding="utf-8")
        except NeedsJinja as e:
            print(f"orias perf: {e}", file=sys.stderr)
            return 2
    if o.json:
        print(json.dumps(reports if len(reports) > 1 else reports[0]))
        return 0
    for r in reports:
        sys.stdout.write(text(r, o.top))
    if len(o.files) > 1:
        sys.stdout.write(comparison(reports[0], reports[1]))
    return 0
