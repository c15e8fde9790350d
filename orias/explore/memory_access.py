"""Memory accesses: what each moves, and how well the addresses of a warp fit together.

An access is a dictionary: ``instruction``, ``space``, ``kind``, ``bytes`` a thread (None if the program decides it) and ``sides``, one for
the memory that it touches, two for a copy: ``space``, ``shape`` (words), ``unit`` (sectors of 32 bytes in global memory, turns of the
banks in shared memory), ``takes`` (units that a warp's access takes; None if not known) and ``least`` (that a warp with all its
threads needs for as much data).  With a run, a side also has ``runs``: ``times`` that warps ran it, and ``takes`` on average.
"""

from itertools import pairwise
from typing import Any, Final

from orias.check.code import Node
from orias.explore.lane_values import DATA, STRIDE, THREAD, WARP, Lanes, Pattern
from orias.isa.op import F_ATOMIC, F_READ, F_WRITE, GLOBAL, LOCAL, SHARED, TENSOR
from orias.isa.operand import INV, PT
from orias.isa.operations import access_bytes, facts
from orias.perf.access_cost import SECTOR, conflicts, global_cost, least_turns

Json = dict[str, Any]

_SPACES: Final = ((GLOBAL, "global"), (SHARED, "shared"), (LOCAL, "local"), (TENSOR, "tensor"))
_MATRIX: Final = {"LDSM", "STSM"}
_MATRIX_ROW: Final = 16
_MATRIX_ROWS: Final = 8
_WHY: Final = {
    DATA: "depends on loaded data",
    STRIDE: "depends on the thread index and on numbers of the launch",
    THREAD: "depends on the thread index, at no fixed distance",
}
SECTORS: Final = "sectors"
TURNS: Final = "bank turns"


def access(n: Node, addresses: list[Lanes]) -> Json | None:
    """The access of an instruction; None for other instructions and for one that never runs."""
    op = n.d.op
    if not (op.loads() or op.flags & (F_WRITE | F_ATOMIC)) or not op.space or n.guard == PT | INV:
        return None
    both = op.flags & (F_READ | F_WRITE)
    if op.flags & F_ATOMIC:
        kind = "atomic"
    elif both == F_READ | F_WRITE:
        kind = "copy"
    else:
        kind = "store" if both == F_WRITE else "load"
    names = [name for bit, name in _SPACES if op.space & bit]
    space = names[0] if len(names) == 1 else "global to shared" if kind == "copy" else "generic"
    known = facts(op.base)
    sized = kind != "copy" or (known is not None and known.value("model", op.mods) == "copy")
    matrices = next((int(m) for m in op.mods if m in ("2", "4")), 1) if op.base in _MATRIX else 0
    size = (4 * matrices if matrices else access_bytes(op.mods)) if sized and space != "tensor" else None
    sides: list[Json] = []
    if size is not None and matrices:
        sides = [_matrix(addresses[0], matrices)]
    elif size is not None and kind == "copy" and len(addresses) == 2:
        sides = [_side("global", addresses[1], size), _side("shared", addresses[0], size)]
    elif size is not None and len(addresses) == 1 and space in ("global", "shared", "local", "generic"):
        sides = [_side("global" if space == "generic" else space, addresses[0], size)]
    return {"instruction": n.index, "space": space, "kind": kind, "bytes": size, "sides": sides}


def _side(space: str, lanes: Lanes, size: int) -> Json:
    shared = space == "shared"
    out: Json = {"space": space, "unit": TURNS if shared else SECTORS, "takes": None}
    out["least"] = least_turns(size) if shared else WARP * size // SECTOR
    if space == "local":
        return {
            **out,
            "shape": "words of the threads beside each other, as for all local memory",
            "takes": out["least"],
        }
    out["shape"] = shape(lanes, size)
    if isinstance(lanes, Pattern):
        out["takes"] = _cost(lanes, size, shared)
        if lanes.uniform:
            out["least"] = out["takes"]
    return out


def _matrix(lanes: Lanes, count: int) -> Json:
    out: Json = {"space": "shared", "unit": TURNS, "takes": None, "least": count, "shape": _WHY.get(str(lanes), "")}
    if isinstance(lanes, Pattern):
        out["shape"] = f"{_MATRIX_ROWS * count} rows of {_MATRIX_ROW} bytes"
        if not lanes.rows:
            out["takes"] = conflicts(lanes.offsets[: _MATRIX_ROWS * count], 4)
    return out


def _cost(lanes: Pattern, size: int, shared: bool) -> int | None:
    """Units of a warp's access; None for rows of shared memory, whose banks depend on their distance."""
    if shared:
        return None if lanes.rows else conflicts(lanes.offsets, size)
    rows: dict[int, list[int]] = {}
    for k, at in enumerate(lanes.offsets):
        rows.setdefault(lanes.rows[k] if lanes.rows else 0, []).append(at)
    return sum(global_cost(part, size)[1] for part in rows.values())


def shape(lanes: Lanes, size: int) -> str:
    """The addresses of a warp in words."""
    if isinstance(lanes, str):
        return _WHY[lanes]
    if lanes.uniform:
        return "one address for all threads"
    at = lanes.offsets
    if lanes.rows:
        count = len(set(lanes.rows))
        each = WARP // count
        if count == WARP:
            return "every thread in a row of its own, at a distance that the launch decides"
        inner = _distance(at[:each], size) if len(set(lanes.rows[:each])) == 1 else "a fixed pattern"
        return f"{count} rows at a distance that the launch decides, in each {inner}"
    return _distance(at, size)


def _distance(at: list[int], size: int) -> str:
    steps = {b - a for a, b in pairwise(at)}
    if not steps or steps == {0}:
        return "one address"
    if steps == {size}:
        return "adjacent"
    if len(steps) == 1:
        return f"{abs(steps.pop())} bytes from thread to thread"
    if set(at) == set(range(min(at), min(at) + len(set(at)) * size, size)) and len(set(at)) == len(at):
        return "adjacent, in another order"
    if steps <= {0, size}:
        return f"adjacent, {len(at) // len(set(at))} threads on each address"
    return "a fixed pattern"
