"""The report as one self-contained HTML page: runs, loops with a timeline, and the code with its waits."""

from html import escape
from typing import Any, Final

from orias.perf.report import Object
from orias.perf.report_text import comparison
from orias.timing.play import CAUSES

_COLOURS: Final[tuple[str, ...]] = (
    "#7aa2c4", "#d9822b", "#8f6bb3", "#b5bd61", "#c05b5b", "#5ba89a", "#a8825b", "#9a9a9a",
)  # fmt: skip
_ROW: Final = 14
_LABEL: Final = 420
_WIDTH: Final = 1000

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --faint: #888; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1500px; padding: 0 1.5rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; } h1 small, .faint { color: var(--faint); font-weight: normal; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; } td.l, th.l { text-align: left; }
code, .code td.l, svg text, pre { font-family: ui-monospace, monospace; font-size: 12.5px; }
.bar { display: inline-block; height: .75em; vertical-align: baseline; }
.key span.bar { width: .75em; margin: 0 .3em 0 1em; }
.scroll { overflow-x: auto; }
.note { color: var(--faint); max-width: 75ch; }
svg text { fill: currentColor; }
"""


def page(reports: list[Object]) -> str:
    """The page of one report, or of two that are compared."""
    names = ", ".join(dict.fromkeys(escape(str(r["kernel"])) for r in reports))
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{names}</title><style>{_STYLE}</style><body>"
    ]
    if len(reports) > 1:
        parts.append(
            f"<h1>Comparison <small>second over first</small></h1><pre>{escape(comparison(reports[0], reports[1]))}</pre>"
        )
    for r in reports:
        parts.append(_report(r))
    parts.append("</body></html>\n")
    return "".join(parts)


def _report(r: Object) -> str:
    occ = r["occupancy"]
    out = [
        f"<h1>{escape(r['kernel'])} <small>{r['sm']}</small></h1>"
        f"<p>{r['instructions']} instructions, {r['registers']} registers, {r['shared_bytes']} bytes of shared memory. "
        f"Blocks of {r['threads']} threads: {occ['blocks']} an SM, {occ['warps']} of {occ['most_warps']} warps, "
        f"limited by {occ['limit']}.</p>"
    ]
    if r["runs"]:
        out.append(_runs(r))
    if r["loops"]:
        out.append(_loops(r))
    if r.get("hot"):
        out.append(_code(r))
    if r.get("lines"):
        out.append(_lines(r))
    out.append(
        '<p class="note">Cycles are those of a model, not of a GPU. Guessed for this SM: '
        f"{escape(', '.join(r['guessed']))}.</p>"
    )
    return "".join(out)


def _table(heads: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,), name: str = "") -> str:
    out = [f'<div class="scroll"><table class="{name}"><tr>']
    out += [f"<th{' class=l' if k in left else ''}>{escape(h)}</th>" for k, h in enumerate(heads)]
    out.append("</tr>")
    for row in rows:
        out.append(
            "<tr>" + "".join(f"<td{' class=l' if k in left else ''}>{c}</td>" for k, c in enumerate(row)) + "</tr>"
        )
    out.append("</table></div>")
    return "".join(out)


def _key() -> str:
    spans = "".join(
        f'<span class="bar" style="background:{c}"></span>{n}' for n, c in zip(CAUSES, _COLOURS, strict=True)
    )
    return f'<p class="key">{spans}</p>'


def _waited(waited: dict[str, int], scale: float) -> str:
    """A bar with a part for each cause, `scale` pixels a cycle."""
    out = ""
    for name, colour in zip(CAUSES, _COLOURS, strict=True):
        cycles = waited.get(name, 0)
        if cycles * scale >= 0.5:
            out += f'<span class="bar" style="width:{cycles * scale:.1f}px;background:{colour}" title="{name}: {cycles} cycles"></span>'
    return out


def _runs(r: Object) -> str:
    rows: list[list[str]] = []
    for x in r["runs"]:
        total = max(1, sum(x["waited"].values()))
        rows.append([
            f"{x['what']}, {x['memory']}", str(x["blocks"]), f"{x['cycles']:,}", f"{x['instructions']:,}", f"{x['per_cycle']:.2f}",
            f"{x['loads_under_way']:.1f}", f"{x['load_distance']:.1f}", f"{x['bank_bubbles']:,}", escape(x["bound"]),
            _waited(x["waited"], 260 / total),
        ])  # fmt: skip
    heads = [
        "run", "blocks", "cycles", "issued", "a cycle", "loads at a wait", "load to wait", "bank bubbles", "bound by",
        "what warps wait for",
    ]  # fmt: skip
    return f"<h2>Runs</h2>{_key()}{_table(heads, rows, (0, 8, 9))}"


def _loops(r: Object) -> str:
    rows = [
        [f"<code>0x{x['address']:04x}-0x{x['end']:04x}</code>", str(x["depth"]), str(x["instructions"]), str(x["one_warp"]),
         str(x["one_warp_far"]), str(x["full_sm"]), escape(x["bound"])]
        for x in r["loops"]
    ]  # fmt: skip
    heads = ["loop", "depth", "instructions", "one warp", "one warp, far", "full SM", "bound by"]
    out = f"<h2>Loops <small>cycles of a turn</small></h2>{_table(heads, rows, (0, 6))}"
    for x in r["loops"]:
        if x["timeline"]:
            out += (
                f"<details><summary>Two turns of <code>0x{x['address']:04x}</code>, one warp, far memory</summary>"
                f"{_timeline(x['timeline'])}</details>"
            )
    return out


def _timeline(rows: list[Any]) -> str:
    """Each instruction on a line: the cycle in which it issues, and the time until its late result is there."""
    end = max(x["cycle"] + max(x["late"], 1) for x in rows)
    scale = _WIDTH / max(end, 1)
    out = [
        f'<div class="scroll"><svg width="{_LABEL + _WIDTH + 10}" height="{len(rows) * _ROW + 20}" role="img" aria-label="timeline">'
    ]
    for k, x in enumerate(rows):
        y = k * _ROW
        at = _LABEL + x["cycle"] * scale
        out.append(f'<text x="0" y="{y + 11}">{x["address"]:04x} {escape(x["text"][:48])}</text>')
        if x["late"]:
            out.append(
                f'<rect x="{at:.1f}" y="{y + 4}" width="{max(1, x["late"] * scale):.1f}" height="6" fill="{_COLOURS[1]}" opacity=".55">'
                f"<title>result after {x['late']} cycles</title></rect>"
            )
        out.append(
            f'<rect x="{at:.1f}" y="{y + 2}" width="{max(2, scale):.1f}" height="10" fill="{_COLOURS[0]}">'
            f"<title>cycle {x['cycle']}</title></rect>"
        )
    out.append(f'<text x="{_LABEL}" y="{len(rows) * _ROW + 14}">0</text>')
    out.append(
        f'<text x="{_LABEL + _WIDTH}" y="{len(rows) * _ROW + 14}" text-anchor="end">{end} cycles</text></svg></div>'
    )
    return "".join(out)


def _code(r: Object) -> str:
    most = max(1, max(sum(x["waited"].values()) for x in r["hot"]))
    rows = [
        [f"{x['address']:04x}", escape(x["text"]), f"{x['count']:,}", _waited(x["waited"], 320 / most)]
        for x in r["hot"]
    ]
    heads = ["address", "instruction", "executed", "cycles that warps waited before it"]
    return f"<h2>Code <small>full SM, far memory</small></h2>{_key()}{_table(heads, rows, (0, 1, 3), 'code')}"


def _lines(r: Object) -> str:
    most = max(1, max(x["waited"] for x in r["lines"]))
    rows = [
        [x["kind"], f"{escape(x['file'])}:{x['line']}", f"{x['count']:,}",
         f'<span class="bar" style="width:{x["waited"] * 320 / most:.1f}px;background:{_COLOURS[1]}"></span>']
        for x in r["lines"]
    ]  # fmt: skip
    return f"<h2>Lines <small>full SM, far memory</small></h2>{_table(['kind', 'line', 'executed', 'waited'], rows, (0, 1, 3))}"
