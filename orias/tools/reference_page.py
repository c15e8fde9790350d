"""The reference of all instruction forms as one HTML page, generated from the tables.

``python -m orias.tools.reference_page [-o FILE] [sm_NN ...]`` covers the tables named, or all tables.  A form that
several tables share is listed once, with these tables.
"""

import html
import os
import sys
from typing import Final

from orias.isa.isa_table import load
from orias.isa.notation import H_CONST, H_FIELD, H_FLOAT, H_SUM, Elem, Operand, Piece
from orias.isa.operations import facts
from orias.isa.rawtable import Form
from orias.tools.hints import form_text

_STYLE: Final = """
body{font:14px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:110rem;padding:0 1rem;color:#222;background:#fff}
h2{margin:1.6rem 0 .3rem;font-size:1.1rem;border-bottom:1px solid #ccc}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem .5rem;border-bottom:1px solid #eee}
code{font:12.5px ui-monospace,monospace}.w{color:#a40000}.r{color:#00528a}nav a{margin-right:.6rem;white-space:nowrap}.dim{color:#777}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}td,th{border-color:#333}.w{color:#ff8a80}.r{color:#82b1ff}}
"""
_FILES: Final = {
    "R": "register",
    "U": "uniform register",
    "P": "predicate",
    "Q": "uniform predicate",
    "B": "barrier register",
    "D": "scoreboard",
    "I": "integer",
    "F": "float",
    "L": "label",
    "W": "word",
    "S": "set of scoreboards",
}


def all_tables() -> list[str]:
    """Names of all tables, lowest SM first."""
    from orias.target.profile import TARGETS

    return sorted({t.table for t in TARGETS.values()}, key=lambda name: int(name[len("sm_") :]))


def _bits(bits: tuple[int, ...]) -> str:
    """``74..75,80`` for bit numbers."""
    runs: list[list[int]] = []
    for b in bits:
        if runs and runs[-1][1] + 1 == b:
            runs[-1][1] = b
        else:
            runs.append([b, b])
    return ",".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)


def _piece(p: Piece) -> str:
    """A modifier field: its bits and the text of each value."""
    if not p.bits:
        return ""
    values = [
        f"{v}:{t or '-'}" for v, t in sorted(p.values.items()) if "?" not in t and "INVALID" not in t
    ]  # values without a meaning are legal for the decoder only
    shown = " ".join(values[:24]) + (f" and {len(values) - 24} more" if len(values) > 24 else "")
    return f"<code>[{_bits(p.bits)}] {html.escape(shown)}</code>"


def _place(e: Elem) -> str:
    """The bits that store an element's number."""
    if e.how == H_CONST:
        return f"always {e.const}"
    if e.how == H_SUM:
        parts = " + ".join(f"{weight}*[{_bits(tuple(range(lo, lo + n)))}]" for lo, n, weight in e.parts)
        return f"{e.const} + {parts}" if e.const else parts
    if e.kind == "W":
        return ""
    out = f"[{_bits(tuple(range(e.lo, e.lo + e.width)))}]"
    if e.how == H_FLOAT:
        return f"{out} {e.fkind}"
    if e.how == H_FIELD and e.kind in "IL":
        out += (" signed" if e.signed else "") + (f" times {e.scale}" if e.scale > 1 else "")
    if e.reuse >= 0:
        out += f", reuse {e.reuse}"
    return out + (", not printed" if e.hidden else "")


def _operand(o: Operand, written: bool) -> str:
    """One operand: its elements with their bits, and the fields that change its text."""
    elements = [f"{_FILES[e.kind]} {_place(e)}".strip() for e in o.elems]
    fields = [t for t in map(_piece, [*o.pre, *o.post, *(p for e in o.elems for p in e.suf + e.pieces)]) if t]
    kind = "w" if written else "r"
    return (
        f'<span class="{kind}">{html.escape(o.skeleton)}</span>: {html.escape("; ".join(elements))} {" ".join(fields)}'
    )


def _row(form: Form, tables: list[str]) -> str:
    results = form.results
    operands = "<br>".join(_operand(o, i < results) for i, o in enumerate(form.operands))
    mods = "<br>".join(t for t in map(_piece, form.mods) if t)
    barriers = " ".join(n for n, bit in (("write", 1), ("read", 2)) if form.bars & bit) or "none"
    fixed = f"{form.val:#x} / {form.mask:#x}"
    hidden = f"<br>not printed: {form.hidden & (1 << 105) - 1:#x}, default {form.default:#x}" if form.default else ""
    return (
        f"<tr><td><code>{html.escape(form_text(form))}</code>{' <span class=dim>alias</span>' if form.alias else ''}</td>"
        f"<td><code>{form.opcode:04x}</code></td><td>{operands}</td><td>{mods}</td>"
        f"<td class=dim><code>{fixed}</code>{hidden}<br>barriers: {barriers}</td><td>{' '.join(t[3:] for t in tables)}</td></tr>"
    )


def _facts(mnemonic: str) -> str:
    """Pipe, late results and sources, registers per operand, implied operands; docs/isa-table.md explains them."""
    found = facts(mnemonic)
    return "" if found is None else f"<p class=dim>{html.escape(found.text)}</p>"


def reference(names: list[str]) -> str:
    """The page for the tables named.  KeyError if there is no such table."""
    rows: dict[str, dict[str, tuple[Form, list[str]]]] = {}
    for name in names:
        raw = load(name).raw
        for mnemonic in raw.mnemonics():
            for form in raw.of_mnemonic(mnemonic):
                operands = "|".join(_operand(o, False) for o in form.operands)
                key = f"{form.opcode:04x} {form.val:x} {form.mask:x} {form_text(form)} {operands}"
                entry = rows.setdefault(mnemonic, {}).setdefault(key, (form, []))
                if name not in entry[1]:
                    entry[1].append(name)
    out = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>SASS instruction forms</title><style>{_STYLE}</style><h1>SASS instruction forms</h1>",
        f"<p>Generated from the tables {', '.join(names)}. <span class=w>Written</span> and <span class=r>read</span> operands; bit numbers count "
        "from the lowest bit of the 128-bit word. <code>value:text</code> lists the legal values of a field, <code>-</code> prints nothing. "
        "Bits 0..11 and 91 are the opcode, 12..15 the guard, 105..125 the control word.</p><nav>",
        " ".join(f"<a href='#{m}'>{m}</a>" for m in sorted(rows)),
        "</nav>",
    ]
    for mnemonic in sorted(rows):
        out.append(
            f"<h2 id='{mnemonic}'>{mnemonic}</h2>{_facts(mnemonic)}<table><tr><th>form<th>opcode<th>operands<th>modifiers<th>fixed bits<th>SM</tr>"
        )
        out += [_row(form, tables) for _, (form, tables) in sorted(rows[mnemonic].items())]
        out.append("</table>")
    return "\n".join(out) + "\n"


def main(argv: list[str]) -> int:
    """Entry of ``python -m orias.tools.reference_page``; returns the exit code."""
    target = "isa.html"
    names: list[str] = []
    rest = list(argv)
    while rest:
        a = rest.pop(0)
        if a == "-o" and rest:
            target = rest.pop(0)
        elif a.startswith("-"):
            sys.stderr.write("usage: python -m orias.tools.reference_page [-o FILE] [sm_NN ...]\n")
            return 255
        else:
            names.append(a)
    try:
        page = reference(names or all_tables())
    except KeyError as e:
        sys.stderr.write(f"{e.args[0]}\n")
        return 255
    with open(target, "w", encoding="utf-8") as f:
        f.write(page)
    sys.stdout.write(f"{os.path.abspath(target)}: {len(page):,} characters\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
