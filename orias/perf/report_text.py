"""The report on a kernel, or on two, as text."""

from typing import Final

from orias.perf.report import Object

_SHOWN: Final = 12


def text(r: Object, top: int = _SHOWN) -> str:
    """The report for a terminal; `top` instructions with the longest waits are shown."""
    occ = r["occupancy"]
    out = [
        f"{r['kernel']} ({r['sm']}): {r['instructions']} instructions, {r['registers']} registers, "
        f"{r['shared_bytes']} bytes of shared memory",
        f"  {r['threads']} threads a block: {occ['blocks']} blocks, {occ['warps']} of {occ['most_warps']} warps an SM, "
        f"limited by {occ['limit']}",
    ]
    if r["runs"]:
        out += ["", *_runs(r)]
    if r["loops"]:
        out += ["", *_loops(r)]
    if r.get("hot"):
        out += ["", *_hot(r, top)]
    if r.get("lines"):
        out += ["", *_lines(r, top)]
    return "\n".join(out) + "\n"


def _runs(r: Object) -> list[str]:
    out = [
        f"  {'run':<10}{'memory':>7}{'blocks':>8}{'cycles':>10}{'issued':>10}{'a cycle':>9}"
        f"{'loads at a wait':>17}{'distance':>10}  bound by"
    ]
    for x in r["runs"]:
        out.append(
            f"  {x['what']:<10}{x['memory']:>7}{x['blocks']:>8}{x['cycles']:>10}{x['instructions']:>10}{x['per_cycle']:>9.2f}"
            f"{x['loads_under_way']:>17.1f}{x['load_distance']:>10.1f}  {x['bound']}"
        )
    full = r["runs"][-1]
    waited = full["waited"]
    total = max(1, sum(waited.values()))
    parts = [f"{k} {v / total:.0%}" for k, v in sorted(waited.items(), key=lambda x: -x[1]) if v * 100 > total]
    busy = [f"{k} {v:.0%}" for k, v in sorted(full["busy"].items(), key=lambda x: -x[1])]
    mix = r["executed"]["by_unit"]
    issued = max(1, sum(mix.values()))
    out += [
        f"  waits of warps (full SM, far): {', '.join(parts) or 'none'}",
        f"  units busy: {', '.join(busy) or 'none'}",
        f"  executed: {', '.join(f'{k} {v / issued:.0%}' for k, v in mix.items())}",
        f"  register banks: {full['bank_bubbles']} bubbles in {full['instructions']} instructions; "
        f"reuse served {full['reuse_hits']} of {full['operand_reads']} operand reads",
    ]
    if r["executed"]["local_memory"]:
        out.append(f"  local memory: {r['executed']['local_memory']} loads and stores executed")
    return out


def _loops(r: Object) -> list[str]:
    out = [f"  {'loop':<18}{'depth':>6}{'instructions':>14}{'one warp':>10}{'far':>8}{'full SM':>9}  bound by"]
    for x in r["loops"]:
        where = f"0x{x['address']:04x}-0x{x['end']:04x}"
        out.append(
            f"  {where:<18}{x['depth']:>6}{x['instructions']:>14}{x['one_warp']:>10}{x['one_warp_far']:>8}{x['full_sm']:>9}"
            f"  {x['bound']}"
        )
    return out


def _hot(r: Object, top: int) -> list[str]:
    rows = sorted(r["hot"], key=lambda x: -sum(x["waited"].values()))[:top]
    rows = [x for x in rows if x["waited"]]
    if not rows:
        return []
    total = max(1, sum(sum(x["waited"].values()) for x in r["hot"]))
    out = ["  waits by instruction (full SM, far)"]
    for x in sorted(rows, key=lambda x: int(x["address"])):
        waited = x["waited"]
        cause = max(waited, key=lambda k: int(waited[k]))
        out.append(f"  {sum(waited.values()) / total:>5.0%}  0x{x['address']:04x}  {x['text']:<60} {cause}")
    return out


def _lines(r: Object, top: int) -> list[str]:
    out = ["  waits by line (full SM, far)"]
    total: dict[str, int] = {}
    for x in r["lines"]:
        total[x["kind"]] = total.get(x["kind"], 0) + x["waited"]
    for kind in total:
        for x in [x for x in r["lines"] if x["kind"] == kind][:top]:
            out.append(
                f"  {x['waited'] / max(1, total[kind]):>5.0%}  {x['file'] or kind}:{x['line']}  {x['count']} executed"
            )
    return out


def compared(a: Object, b: Object) -> list[tuple[str, float, float]]:
    """What two reports have in common: name, first, second."""
    rows: list[tuple[str, float, float]] = [
        ("instructions", a["instructions"], b["instructions"]),
        ("registers", a["registers"], b["registers"]),
        ("warps an SM", a["occupancy"]["warps"], b["occupancy"]["warps"]),
    ]
    runs = list(zip(a["runs"], b["runs"], strict=False))
    if runs:
        rows.append(("executed", runs[-1][0]["per_block"], runs[-1][1]["per_block"]))
    for x, y in runs:
        name = f"{x['what']}, {x['memory']}"
        if x["what"] == "full SM":
            rows.append((f"{name} (a block)", x["cycles_a_block"], y["cycles_a_block"]))
        else:
            rows.append((name, x["cycles"], y["cycles"]))
    for key in ("loads_under_way", "load_distance", "bank_bubbles", "reuse_hits"):
        if runs:
            rows.append((key.replace("_", " "), runs[-1][0][key], runs[-1][1][key]))
    return rows


def comparison(a: Object, b: Object) -> str:
    """Two reports side by side, with the second over the first."""
    out = [f"  {'':<28}{'first':>12}{'second':>12}{'ratio':>8}"]
    for name, x, y in compared(a, b):
        out.append(f"  {name:<28}{x:>12}{y:>12}{_ratio(x, y):>8}")
    return "\n".join(out) + "\n"


def _ratio(x: float, y: float) -> str:
    return f"{y / x:.3f}" if x else "-"
