"""Chooses launches of a kernel that reach its code: trip counts of loops, the least shared memory, contents by type.

A scalar parameter that bounds a loop gets values for two and three iterations: the step of the loop is a power of two
that the kernel adds to a register or shifts a parameter by.  Dynamic shared memory is what the PTX reaches, because
wrong addresses show only where memory ends.
"""

from collections.abc import Iterator
from typing import Final

from orias.ptx.ast import O_IMM, Function, Instr, Module
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import IllegalInstruction, Misaligned, OutOfBounds, StepLimit, Trap
from orias.sim.core.state import Machine
from orias.sim.ptx import PtxImage
from orias.target.descriptors import HANDLE_KINDS
from orias.tools.validate.bound_objects import Handle
from orias.tools.validate.case import Case, Region
from orias.tools.validate.kernel_inputs import Uses, scalar, shape
from orias.tools.validate.run_case import Outcome, run

MOST_SHARED: Final = 227 << 10
"""Bytes: the maximum of all targets."""
_STEPS: Final = (8, 1024)
"""Least and largest step of a loop that is looked for."""
_GRAIN: Final = 16
"""Sizes of shared memory are multiples of this, in bytes."""
_SMALL, _LARGE = 1 << 16, 1 << 20
"""Sizes of regions, in bytes."""
_TRIES: Final[tuple[tuple[int, str, tuple[int, int, int] | None, int], ...]] = (
    (_SMALL, "", None, 0), (_LARGE, "", None, 0), (_SMALL, "", (32, 1, 1), 0), (_LARGE, "small", None, 0), (_LARGE, "zero", None, 0),
    (_LARGE, "", None, 4), (_LARGE, "", None, 64), (_LARGE, "small", None, 1), (_LARGE, "zero", None, 1),
    (_SMALL, "small", (32, 1, 1), 0), (_SMALL, "zero", (16, 16, 1), 0), (_SMALL, "zero", (8, 8, 1), 0),
    (_SMALL, "zero", (32, 8, 1), 0), (_SMALL, "zero", (1, 1, 1), 0),
)  # fmt: skip
"""Sizes of regions, contents, blocks and numbers (0: by the loops) to try until a launch runs.  Small numbers are for strides, whose
products would leave the regions."""
_MATRIX: Final = frozenset(("ldmatrix", "stmatrix", "mma", "wmma.mma"))
"""Operations that a whole warp runs, whose kernels number warps by rows of the block."""
_HALVES: Final = frozenset(("f16", "f16x2", "bf16", "bf16x2"))
_WARP: Final = 32
_ENDLESS: Final = 4
"""After so many launches of a kernel that do not end it is taken for one that does not."""
_TRAPS: Final = 5
"""After so many launches that the PTX ends with a trap, that is taken for what the kernel does."""


def loop_steps(kernel: Function) -> list[int]:
    """Steps of loops, largest first: constants added to a register itself, and powers of two that are shifted by."""
    found: set[int] = set()
    for i in kernel.body or []:
        if not isinstance(i, Instr) or len(i.ops) != 3 or i.ops[2].kind != O_IMM:
            continue
        n = i.ops[2].value
        if i.sig.name in ("shr", "shl") and 0 <= n < 11:
            found.add(1 << n)
        elif i.sig.name in ("div", "rem") or (i.sig.name == "add" and i.ops[1].var is i.ops[0].var):
            found.add(n)
    return sorted((n for n in found if _STEPS[0] <= n <= _STEPS[1]), reverse=True)


def _sizes(kernel: Function, threads: int, exact: bool) -> list[int]:
    """Values for scalar parameters, in the order of the launches; `exact`: multiples of the step."""
    steps = loop_steps(kernel)
    step = next((s for s in steps if s <= 128), steps[-1] if steps else threads)
    more = 0 if exact else 1
    return [2 * step + more, step + more, max(threads - 3, 1) if not exact else 3 * step]


def float_types(kernel: Function) -> frozenset[str]:
    """The types of floating-point values that the kernel works on: f16, bf16, f32, f64."""
    found: set[str] = set()
    for i in kernel.body or []:
        if isinstance(i, Instr):
            found.update(t.removesuffix("x2") for t in i.sig.types)
    return frozenset(t for t in found if t in ("f16", "bf16", "f32", "f64"))


def _orders_halves(kernel: Function) -> bool:
    """Whether a kernel takes the minimum or maximum of 16-bit floats, for which PTX defines what becomes of every NaN."""
    return any(
        isinstance(i, Instr) and i.sig.name in ("min", "max") and any(t in _HALVES for t in i.sig.types)
        for i in kernel.body or []
    )


def _contents(kernel: Function, turn: int) -> str:
    types = float_types(kernel)
    if types & {"f16", "bf16"}:
        return ("half", "extreme" if _orders_halves(kernel) else "small", "half")[turn % 3]
    if types:
        return ("float", "mixed", "small")[turn % 3]
    return ("mixed", "small", "mixed")[turn % 3]


def _has_matrices(kernel: Function) -> bool:
    return any(isinstance(i, Instr) and i.sig.name in _MATRIX for i in kernel.body or [])


def _rows_of_warps(kernel: Function, block: tuple[int, int, int]) -> tuple[int, int, int]:
    """Blocks with rows, of kernels with matrix operations: each row is a warp, and there are as many as may be, up to eight."""
    if block[1] == 1 or not _has_matrices(kernel):
        return block
    most = 1
    for n in kernel.directives.get("maxntid", (64,)):
        most *= n
    return (_WARP, min(max(most // _WARP, 1), 8), 1)


def _choose(
    module: Module,
    kernel: Function,
    turn: int,
    exact: bool,
    size: int,
    profile: str,
    block: tuple[int, int, int] | None,
    number: int = 0,
) -> Case:
    uses = Uses(kernel)
    case = Case(kernel.name)
    case.grid, case.block = shape(kernel, uses)
    if "reqntid" not in kernel.directives:
        case.block = block or _rows_of_warps(kernel, case.block)
    total = case.grid[0] * case.block[0] * case.block[1] * case.block[2]
    number = number or _sizes(kernel, total, exact)[turn % 3]
    kind = profile or _contents(kernel, turn)
    for k, p in enumerate(kernel.params):
        data = bytearray(0 if p.type in HANDLE_KINDS else p.size)
        for j, (origin, t) in enumerate(sorted(uses.loads.items())):
            index, offset, width = origin
            if index != k or offset + width > p.size:
                continue
            if origin in uses.handles:
                found = uses.handles[origin]
                case.handles[k, offset] = Handle(found.role, found.kind, found.type, 1000 * turn + 10 * k + j)
            elif origin in uses.pointers and width == 8:
                region = Region(size, kind, 1000 * turn + 10 * k + j, size // 4)
                if origin in uses.structures:
                    region.inner = Region(size, kind, 1000 * turn + 10 * k + j + 7, size // 4)
                case.pointers[k, offset] = region
            else:
                value = scalar(t, number, turn + (1 if t.startswith(("f", "bf")) else 0))
                data[offset : offset + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        case.params.append(data)
    case.references = dict(uses.references)
    return case


def _has_dynamic(module: Module, kernel: Function) -> bool:
    """Whether the launch gives a kernel its shared memory: through a variable without size, or by addresses alone (as Halide writes)."""
    sizes = [v.size for v in [*module.variables, *kernel.variables] if v.space == "shared"]
    if sizes:
        return not all(sizes)
    return any(isinstance(i, Instr) and i.sig.mods.get("space", "").startswith("shared") for i in kernel.body or [])


def _fitted(module: Module, arch: str, like: Image, case: Case) -> Outcome:
    """Runs the PTX with much dynamic shared memory, then with as little as it reaches; sets ``case.shared``."""
    reach = 0
    static = 0

    def note(m: Machine) -> None:
        nonlocal reach
        reach = max(reach, m.shared.reach)

    image = PtxImage(module, arch, like=like)
    static = image.static_shared(case.kernel)
    case.shared = max(MOST_SHARED - static, 0)
    out = run(image, case, on_batch=note)
    if out.error is not None:
        return out
    least = -(-max(reach - static, 0) // _GRAIN) * _GRAIN
    while least < case.shared:
        trial, case.shared = case.shared, least
        found = run(PtxImage(module, arch, like=like), case)
        if found.error is None:
            return found
        if not isinstance(found.error, OutOfBounds):
            return found
        # accesses that the mark does not see (matrices, copies) need more
        case.shared = trial
        least = max(2 * least, 1024)
    return run(PtxImage(module, arch, like=like), case)


def usable_launch(
    module: Module,
    kernel: Function,
    arch: str,
    turn: int,
    like: Image,
    shared: int = -1,
    endless: list[str] | None = None,
) -> tuple[Case, Outcome] | str:
    """Launch number `turn` of a kernel and what the PTX does in it; else the reason why no launch runs.

    `shared`: bytes of dynamic shared memory, -1 for the least with which the PTX runs.  A kernel that traps in one launch after the other
    has the trap as its outcome.  `endless`: what was said of launches of this kernel that did not end; after some no more are tried.
    """
    endless = [] if endless is None else endless
    reason = ""
    traps: list[tuple[Case, Outcome]] = []
    for exact in (False, True):
        for size, profile, block, number in _TRIES:
            case = _choose(module, kernel, turn, exact, size, profile, block, number)
            if shared >= 0:
                case.shared = shared
                found = run(PtxImage(module, arch, like=like), case)
            elif _has_dynamic(module, kernel):
                found = _fitted(module, arch, like, case)
            else:
                found = run(PtxImage(module, arch, like=like), case)
            if found.error is None:
                return case, found
            reason = reason or str(found.error)
            if isinstance(found.error, Trap):
                traps.append((case, found))
                if len(traps) == _TRAPS:
                    # A kernel that its producer left without code for this target, or one that checks what no launch shows.
                    return traps[0]
            if isinstance(found.error, StepLimit):
                endless.append(str(found.error))
                if len(endless) >= _ENDLESS:
                    return reason
            if isinstance(found.error, Misaligned):
                break
            if isinstance(found.error, IllegalInstruction) and block is None and not _has_matrices(kernel):
                # With other blocks it may be that a warp has too few threads, and with other sizes that a part of one runs a matrix operation.
                return str(found.error)
    return reason


def launches(
    module: Module, kernel: Function, arch: str, like: Image, count: int, shared: int = -1
) -> Iterator[tuple[Case, Outcome] | str]:
    """Up to `count` launches of a kernel, each as :func:`usable_launch` gives it."""
    endless: list[str] = []
    for turn in range(count):
        yield usable_launch(module, kernel, arch, turn, like, shared, endless)
