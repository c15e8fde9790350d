"""The code of one section of a cubin, instruction by instruction, with what is known of it without running it."""

from typing import Any, Final

from orias.analysis.access import P_BASE, UP_BASE, UR_BASE, unit_name
from orias.check.section_flow import CodeBlock, blocks_of, live_sets, waited_for
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile, Section
from orias.cubin.lineread import DEBUG_LINE, PTX_LINE, LineEntry, line_tables
from orias.cubin.reader import Reader
from orias.explore.lane_flow import LaneFlow
from orias.explore.memory_access import access
from orias.explore.occupancy_table import occupancy_table
from orias.isa.isa_table import CTL_SHIFT, IllegalWord
from orias.perf.kernel_steps import KernelCode, kernels
from orias.perf.loops import loops
from orias.perf.measure import loop_cost, straight_timeline
from orias.perf.resident_blocks import occupancy
from orias.timing.machine_numbers import machine
from orias.tools.labels import Labels, code_sections
from orias.tools.structured import control_fields

Json = dict[str, Any]

_INST: Final = 16
_R_MASK: Final = (1 << UR_BASE) - 1
_UR_MASK: Final = (1 << P_BASE) - (1 << UR_BASE)
_P_MASK: Final = (1 << UP_BASE) - (1 << P_BASE)
_USUAL_THREADS: Final = 256
"""Threads of a block where the kernel states none."""
_PLAYED: Final = 2
"""Loops, the deepest and largest, for which a full SM is played."""
_LARGEST: Final = 2500
"""Instructions of a loop up to which one is played."""


def sections(data: bytes) -> list[Json]:
    """Every function with a section of its own, kernels first.

    Raises CubinError for a file that is no cubin, KeyError for a target without tables, Unsupported for one without latencies.
    """
    reader = Reader(data)
    lines = line_tables(reader.elf, DEBUG_LINE)
    ptx_lines = line_tables(reader.elf, PTX_LINE)
    by_name = {s.name.removeprefix(".text."): s for s in code_sections(reader.elf)}
    out: list[Json] = []
    for code in kernels(data, functions=True):
        section = by_name.get(code.name)
        if section is None or not code.nodes:
            raise CubinError(f".text.{code.name}: no code")
        places = _by_instruction(lines.get(section.index, []), len(code.nodes))
        ptx = _by_instruction(ptx_lines.get(section.index, []), len(code.nodes))
        out.append(_section(reader, code, section, places, ptx))
    return out


def _by_instruction(rows: list[LineEntry], count: int) -> list[tuple[str, int]]:
    """(file, line) of each instruction, ("", 0) where there is none."""
    last: dict[int, tuple[str, int]] = {r.offset // _INST: (r.file, r.line) for r in rows}
    out: list[tuple[str, int]] = []
    now = ("", 0)
    for i in range(count):
        now = last.get(i, now)
        out.append(now)
    return out


def _section(
    reader: Reader, code: KernelCode, section: Section, places: list[tuple[str, int]], ptx: list[tuple[str, int]]
) -> Json:
    nodes = code.nodes
    functions = _functions(reader.elf, section, code.name, len(nodes))
    entry = code.name in reader.kernels
    blocks = blocks_of(nodes, {f["start"] for f in functions})
    roots = {f["start"]: not entry for f in functions[:1]}
    live = live_sets(nodes, blocks, roots)
    waits = waited_for(nodes, blocks)
    texts, labels = _texts(reader.elf, section, code)
    block_of = [k for k, b in enumerate(blocks) for _ in range(b.start, b.end)]
    rows: list[Json] = []
    for n, word in zip(nodes, code.words, strict=True):
        i = n.index
        rows.append({
            "address": n.address, "text": texts[i], "control": control_fields(word >> CTL_SHIFT & 0x1FFFFF), "block": block_of[i],
            "live": (live[i] & _R_MASK).bit_count(), "reads": _names(n.touch.reads), "writes": _names(n.touch.writes),
            "waits_for": waits[i], "line": ptx[i][1], "file": places[i][0], "source_line": places[i][1],
        })  # fmt: skip
    size = _stated(reader, code.name)
    threads = size[0] * size[1] * size[2] or _USUAL_THREADS
    shared = max(code.shared, code.profile.number("system_shared"))
    occ = occupancy(code.profile, code.registers, threads, shared)
    regions = _regions(code, occ.warps)
    for region in regions:
        for i, waited in region.pop("waited").items():
            rows[i]["waited"] = waited
    flow = LaneFlow(nodes, blocks, entry, size)
    divergent = {i: why for i, why in sorted(flow.conditions.items()) if isinstance(why, str)}
    memory = [m for n in nodes if (m := access(n, flow.addresses.get(n.index, []))) is not None]
    return {
        "name": code.name, "entry": entry, "target": code.profile.name, "registers": code.registers, "shared": shared,
        "threads": threads, "stated_threads": size[0] > 0,
        "functions": functions, "instructions": rows, "labels": labels,
        "blocks": [_block(k, b, blocks) for k, b in enumerate(blocks)],
        "ranges": _ranges(live), "regions": regions, "memory": memory,
        "divergent": [[i, why] for i, why in divergent.items()],
        "pressure": {"R": max(x["live"] for x in rows), "UR": max((v & _UR_MASK).bit_count() for v in live), "P": max((v & _P_MASK).bit_count() for v in live)},
        "occupancy": occupancy_table(code.profile, code.registers, threads, shared),
        "guessed": sorted(k for k, v in machine(code.profile.sm).numbers.items() if v.guessed),
    }  # fmt: skip


def _texts(file: ElfFile, section: Section, code: KernelCode) -> tuple[list[str], dict[str, str]]:
    names = Labels(file, code.table).in_section(section.index)
    texts: list[str] = []
    for i, word in enumerate(code.words):
        try:
            texts.append(code.table.text(word, i * _INST, names))
        except IllegalWord as e:
            raise CubinError(f".text.{code.name}+0x{i * _INST:x}: {e}") from None
    return texts, {str(at // _INST): name for at, name in sorted(names.items()) if name.startswith(".L")}


def _functions(file: ElfFile, section: Section, name: str, count: int) -> list[Json]:
    """The functions of a section in the order of the code: name, first instruction, and the one after the last."""
    starts = {
        s.value // _INST: s.name
        for s in file.symbols
        if s.section == section.index and s.type == 2 and s.value // _INST < count
    }
    starts.setdefault(0, name)
    order = sorted(starts)
    ends = [*order[1:], count]
    return [{"name": starts[a], "start": a, "end": b} for a, b in zip(order, ends, strict=True)]


def _names(accesses: list[tuple[int, int]]) -> list[str]:
    return [unit_name(u) for u in dict.fromkeys(u for u, _ in accesses)]


def _block(k: int, b: CodeBlock, blocks: list[CodeBlock]) -> Json:
    number = {x.start: j for j, x in enumerate(blocks)} if b.edges else {}
    edges = [[number[t], kind] for t, kind in b.edges if t in number]
    return {"id": k, "start": b.start, "end": b.end, "edges": edges}


def _ranges(live: list[int]) -> dict[str, list[int]]:
    """Register -> start, end, start, end, ... of the stretches of code in which it holds a value."""
    out: dict[str, list[int]] = {}
    before = 0
    for i, now in enumerate([*live, 0]):
        changed = before ^ now
        while changed:
            low = changed & -changed
            out.setdefault(unit_name(low.bit_length() - 1), []).append(i)
            changed ^= low
        before = now
    return out


def _stated(reader: Reader, name: str) -> tuple[int, int, int]:
    """Threads of a block in x, y and z that the kernel states, zeros if it states none."""
    k = reader.kernels.get(name)
    for d in (k.reqntid, k.maxntid) if k is not None else ():
        if any(d):
            return max(1, d[0]), max(1, d[1]), max(1, d[2])
    return 0, 0, 0


def _regions(code: KernelCode, warps: int) -> list[Json]:
    """The loops of a section, then the code outside them, as the machine model plays them: one warp, far memory."""
    found: list[Json] = []
    inside: set[int] = set()
    far = machine(code.profile.sm).one("far_latency")
    every = [x for x in loops(code.nodes) if x.own]
    heavy = sorted(every, key=lambda x: (-x.depth, -len(x.own)))[:_PLAYED]
    for loop in every:
        inside.update(loop.body)
        c = loop_cost(code, loop, warps if loop in heavy and len(loop.own) <= _LARGEST else 0)
        found.append({
            "kind": "loop", "start": loop.body[0], "end": loop.body[-1] + 1, "header": loop.header, "depth": loop.depth,
            "instructions": c.instructions, "one_warp": round(c.one, 1), "one_warp_far": round(c.one_far, 1),
            "full_sm": round(c.full, 1) or None, "bound": c.bound,
            "timeline": [_issue(code, t, i, far) for t, i in c.timeline[: len(loop.own)]], "waited": c.waited,
        })  # fmt: skip
    rest = [n.index for n in code.nodes if n.index not in inside and n.d.op.base != "NOP"]
    if rest:
        timeline, waited = straight_timeline(code, rest)
        found.append({
            "kind": "straight", "start": rest[0], "end": rest[-1] + 1, "header": rest[0], "depth": 0, "instructions": len(rest),
            "one_warp_far": timeline[-1][0] + 1 if timeline else 0,
            "timeline": [_issue(code, t, i, far) for t, i in timeline], "waited": waited,
        })  # fmt: skip
    return found


def _issue(code: KernelCode, cycle: int, i: int, far: int) -> list[int]:
    """Instruction, cycle of its issue, cycles until its late result or the reading of its operands (0: fixed latency)."""
    s = code.steps[i]
    late = 0 if s.fixed or s.write > 5 else far if s.loads else s.raw
    return [i, cycle, late]
