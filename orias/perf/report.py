"""The report on a kernel: a plain object (JSON), from which the text and the page are made."""

from typing import TYPE_CHECKING, Any, Final

from orias.cubin.elf import ElfFile
from orias.cubin.lineread import DEBUG_LINE, PTX_LINE, LineEntry, line_tables
from orias.perf.kernel_steps import KernelCode
from orias.perf.loops import loops
from orias.perf.measure import FULL_SM, Cost, LoopCost, costs, loop_cost
from orias.perf.resident_blocks import Occupancy, occupancy
from orias.timing import step
from orias.timing.machine_numbers import machine
from orias.timing.play import CAUSES
from orias.timing.step import UNITS

if TYPE_CHECKING:
    from orias.perf.trace import Run

Object = dict[str, Any]

_CLOSE: Final = 2
"""A load that is waited for within so many instructions is called close to its use."""
_INST: Final = 16
_DRAWN: Final = 300
"""Instructions of a loop up to which its timeline is part of the report."""


def report(code: KernelCode, threads: int, dynamic: int, run: "Run | None", elf: ElfFile | None = None) -> Object:
    """All that the model says of a kernel.

    `threads`: of a block; `dynamic`: its dynamic shared memory in bytes; `run`: a recorded launch, or None for what the
    code alone says; `elf`: its file, for line tables.
    """
    shared = max(code.shared, code.profile.number("system_shared")) + dynamic
    occ = occupancy(code.profile, code.registers, threads, shared)
    out: Object = {
        "kernel": code.name,
        "sm": code.profile.name,
        "instructions": sum(1 for n in code.nodes if n.d.op.base != "NOP"),
        "registers": code.registers,
        "shared_bytes": shared,
        "threads": threads,
        "occupancy": _occupancy(occ),
        "guessed": sorted(k for k, v in machine(code.profile.sm).numbers.items() if v.guessed),
        "loops": [],
        "runs": [],
    }
    for loop in loops(code.nodes):
        c = loop_cost(code, loop, occ.warps)
        out["loops"].append({
            "address": loop.header * _INST, "end": loop.body[-1] * _INST, "depth": loop.depth, "instructions": c.instructions,
            "one_warp": round(c.one, 1), "one_warp_far": round(c.one_far, 1), "full_sm": round(c.full, 1), "bound": c.bound,
            "timeline": _timeline(code, c) if c.instructions <= _DRAWN else [],
        })  # fmt: skip
    if run is None:
        return out
    measured = costs(run, occ)
    out["runs"] = [_cost(c) for c in measured]
    if measured:
        full = next(c for c in measured if c.what == FULL_SM and c.far)
        out["executed"] = _executed(code, full)
        out["hot"] = _hot(code, full)
        if elf is not None:
            out["lines"] = _lines(code, full, elf)
    return out


def _timeline(code: KernelCode, c: LoopCost) -> list[Object]:
    """Two turns of a loop: when each instruction issues, and when its late result arrives (0: it has none)."""
    out: list[Object] = []
    for cycle, k in c.timeline:
        s = code.steps[k]
        far = machine(code.profile.sm).one("far_latency") if s.loads else s.raw
        out.append(
            {"address": k * _INST, "text": code.text(k), "cycle": cycle, "late": 0 if s.fixed or s.write > 5 else far}
        )
    return out


def _occupancy(occ: Occupancy) -> Object:
    return {"blocks": occ.blocks, "warps": occ.warps, "most_warps": occ.most_warps, "limit": occ.limit}


def _cost(c: Cost) -> Object:
    p = c.played
    slots = max(1, p.cycles * 4)
    waits = p.waits
    many = max(1, len(waits))
    return {
        "what": c.what,
        "memory": "far" if c.far else "near",
        "blocks": c.blocks,
        "cycles": p.cycles,
        "cycles_a_block": round(p.cycles / max(1, c.blocks), 1),
        "instructions": p.issued,
        "per_block": round(p.issued / max(1, c.blocks), 1),
        "per_cycle": round(p.issued / max(1, p.cycles), 3),
        "bound": c.bound,
        "waited": {name: p.by_cause(k) for k, name in enumerate(CAUSES)},
        "busy": {name: round(cycles / slots, 3) for name, cycles in zip(UNITS, p.busy, strict=True) if cycles},
        "load_waits": len(waits),
        "loads_under_way": round(sum(w.under_way for w in waits) / many, 2),
        "load_distance": round(sum(w.distance for w in waits) / many, 1),
        "waits_close_to_load": round(sum(w.distance <= _CLOSE for w in waits) / many, 3),
        "bank_bubbles": p.port_bubbles,
        "operand_reads": p.port_reads,
        "reuse_hits": p.port_hits,
    }


def _executed(code: KernelCode, full: Cost) -> Object:
    """Executed instructions by unit, and those that move spilled registers."""
    mix: dict[str, int] = {}
    local = 0
    for s, n, count in zip(code.steps, code.nodes, full.played.counts, strict=True):
        if not count:
            continue
        name = "shared" if s.memory == step.SHARED else "memory" if s.memory == step.GLOBAL else "other"
        if s.unit != step.NO_UNIT:
            name = UNITS[s.unit]
        mix[name] = mix.get(name, 0) + count
        if n.d.op.base in ("LDL", "STL"):
            local += count
    return {"by_unit": dict(sorted(mix.items(), key=lambda x: -x[1])), "local_memory": local}


def _hot(code: KernelCode, full: Cost) -> list[Object]:
    """The executed instructions with the cycles that warps waited before them, in the order of the code."""
    out: list[Object] = []
    for k, count in enumerate(full.played.counts):
        if not count:
            continue
        lost = full.played.lost[k * len(CAUSES) : (k + 1) * len(CAUSES)]
        waited = {name: cycles for name, cycles in zip(CAUSES, lost, strict=True) if cycles}
        out.append({"address": k * _INST, "text": code.text(k), "count": count, "waited": waited})
    return out


def _lines(code: KernelCode, full: Cost, elf: ElfFile) -> list[Object]:
    """Executed instructions and waited cycles by line of source and of PTX, most waited first."""
    section = elf.section(f".text.{code.name}")
    out: list[Object] = []
    if section is None:
        return out
    for kind, name in (("source", DEBUG_LINE), ("ptx", PTX_LINE)):
        rows = line_tables(elf, name).get(section.index, [])
        found: dict[tuple[str, int], list[int]] = {}
        for row, end in _spans(rows, len(code.nodes)):
            total = found.setdefault((row.file, row.line), [0, 0])
            for k in range(row.offset // _INST, end):
                total[0] += full.played.counts[k]
                total[1] += sum(full.played.lost[k * len(CAUSES) : (k + 1) * len(CAUSES)])
        ordered = sorted(found.items(), key=lambda x: -x[1][1])
        out.extend(
            {"kind": kind, "file": f, "line": line, "count": t[0], "waited": t[1]} for (f, line), t in ordered if t[0]
        )
    return out


def _spans(rows: list[LineEntry], count: int) -> list[tuple[LineEntry, int]]:
    """Each row with the index after its last instruction."""
    ordered = sorted(rows, key=lambda r: r.offset)
    ends = [r.offset // _INST for r in ordered[1:]] + [count] * bool(ordered)
    return [(r, min(end, count)) for r, end in zip(ordered, ends, strict=True)]
