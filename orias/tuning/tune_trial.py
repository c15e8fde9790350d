"""One trial of a search: compile a kernel with some knobs, and ask the machine model for its time."""

import hashlib
import math
from typing import Any, Final, NamedTuple

import numpy as np

from orias.api import compile_sources
from orias.diag import CompileError
from orias.knobs.knob_settings import KnobSettings, Setting
from orias.options import Options
from orias.perf.kernel_steps import KernelCode, kernels
from orias.perf.measure import FULL_SM, ONE_WARP, costs
from orias.perf.resident_blocks import occupancy
from orias.perf.static_time import TRIPS, static_time
from orias.perf.trace import record
from orias.sim.core.image import DEFAULT_STEPS, Image, load
from orias.sim.core.sim_errors import SimError

OBJECTIVES: Final = ("mean", "one", "full")
"""What is to be small: ``one``: the time of one warp alone; ``full``: of a full SM; ``mean``: both alike."""
_THREADS: Final = 256
"""Threads of a block where nothing states them."""


class Launch(NamedTuple):
    """A launch in the simulator: ``args`` as for :meth:`orias.sim.core.image.Image.launch` (numpy scalars, arrays, bytes)."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: list[Any]
    shared: int = 0
    max_steps: int = DEFAULT_STEPS


class Known(NamedTuple):
    """What trials are compared with: digest of the code -> its trial; ``output``: digest of the untuned kernel's results."""

    codes: "dict[str, Trial]"
    output: str


class Task(NamedTuple):
    """What a worker gets: a source, the kernel, the options without knobs, the user's own knobs, and the launch."""

    name: str
    text: str | bytes
    kernel: str
    options: Options
    base: list[Setting]
    launch: Launch | None
    objective: str


class Trial(NamedTuple):
    """What became of some knobs.

    ``knobs``: name -> value.  ``time``: the measure that is to be small (0 if there is none); ``one``, ``one_far``:
    cycles of a warp alone; ``full``, ``full_far``: cycles of a full SM a block (of code alone: a warp; then ``full_far``
    is 0).  ``state``: ``ok``, ``checked`` (the results are those of the untuned kernel), ``different`` results, or
    ``failed``, with ``why``.  ``code``, ``output``: digests.
    """

    knobs: dict[str, int | str]
    time: float
    one: float
    one_far: float
    full: float
    full_far: float
    registers: int
    instructions: int
    spills: int
    state: str
    why: str
    code: str
    output: str

    @property
    def good(self) -> bool:
        """True if the knobs may be used."""
        return self.state in ("ok", "checked")


def failed(knobs: dict[str, int | str], why: str, state: str = "failed") -> Trial:
    """A trial without a time."""
    return Trial(knobs, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, state, why.splitlines()[0] if why else "", "", "")


def run_trial(task: Task, changes: list[Setting], known: Known, self_check: bool = False) -> Trial:
    """Compile and measure where a worker runs; never raises an Exception.  `self_check`: run all checkers on the compile."""
    knobs = {s.knob.name: s.value for s in changes}
    try:
        return _run(task, changes, known, knobs, self_check)
    except (CompileError, SimError, KeyError, ValueError) as e:
        return failed(knobs, f"{type(e).__name__}: {e}")
    except Exception as e:
        return failed(knobs, f"internal error: {type(e).__name__}: {e}")


def _run(task: Task, changes: list[Setting], known: Known, knobs: dict[str, int | str], self_check: bool) -> Trial:
    o = Options()
    for name in Options.__slots__:
        setattr(o, name, getattr(task.options, name))
    o.knobs = KnobSettings([*task.base, *changes])
    o.entries = [task.kernel]
    o.self_check = self_check
    cubin = compile_sources([(task.name, task.text)], o)
    info = cubin.kernels[task.kernel]
    spills = info.spill_stores + info.spill_loads
    code = next(k for k in kernels(cubin.data) if k.name == task.kernel)
    digest = hashlib.blake2b(b"".join(w.to_bytes(16, "little") for w in code.words), digest_size=12).hexdigest()
    digest += f"-{code.registers}"
    same = known.codes.get(digest)
    if same is not None:
        return same._replace(knobs=knobs)
    count = sum(1 for n in code.nodes if n.d.op.base != "NOP")
    image = load(cubin.data)
    if task.launch is None:
        one, one_far, full, full_far, output, state = (*_from_code(image, code, task.kernel), "", "ok")
    else:
        one, one_far, full, full_far, output = _from_launch(image, code, task.launch)
        state = "checked"
        if known.output and output != known.output:
            return failed(knobs, "the results are not those of the untuned kernel", "different")
    alone = math.sqrt(max(one, 1.0) * max(one_far, 1.0))
    busy = math.sqrt(max(full, 1.0) * max(full_far or full, 1.0))
    time = alone if task.objective == "one" else busy if task.objective == "full" else math.sqrt(alone * busy)
    return Trial(knobs, time, one, one_far, full, full_far, code.registers, count, spills, state, "", digest, output)


def _from_code(image: Image, code: KernelCode, kernel: str) -> tuple[float, float, float, float]:
    k = image.kernels[kernel]
    stated = next((d for d in (k.reqntid, k.maxntid) if any(d)), (_THREADS,))
    threads = math.prod(max(1, x) for x in stated)
    occ = occupancy(code.profile, code.registers, threads, max(code.shared, code.profile.number("system_shared")))
    t = static_time(code, occ.warps, TRIPS)
    return t.one, t.one_far, t.full, 0.0


def _from_launch(image: Image, code: KernelCode, launch: Launch) -> tuple[float, float, float, float, str]:
    twins: dict[int, Any] = {}
    args: list[Any] = []
    for a in launch.args:
        if isinstance(a, np.ndarray):
            # Arguments that are one array stay one.
            args.append(twins.setdefault(id(a), a.copy()))
        else:
            args.append(a)
    run = record(image, code, launch.grid, launch.block, args, launch.shared, launch.max_steps)
    state = hashlib.blake2b(digest_size=12)
    for a in twins.values():
        state.update(a.tobytes())
    shared = max(code.shared, code.profile.number("system_shared")) + launch.shared
    found = {(c.what, c.far): c for c in costs(run, occupancy(code.profile, code.registers, run.threads, shared))}
    if not found:
        raise ValueError("the launch executes nothing")
    full = [found[FULL_SM, far].cycles / found[FULL_SM, far].blocks for far in (False, True)]
    one = [float(found[ONE_WARP, far].cycles) for far in (False, True)]
    return one[0], one[1], full[0], full[1], state.hexdigest()
