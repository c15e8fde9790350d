"""The data of the instruction reference: every form of every mnemonic, from the tables.

``tables``: names; ``decoded``: fields that all instructions have; ``mnemonics``: for each ``name``, ``about`` (a sentence), ``text`` (the
properties as written in the table of operations), ``ptx`` (instructions that it comes from), ``semantics`` (file and code of the
simulator; null if it is not simulated or numpy is missing), ``times`` (:func:`_times`, by table) and ``forms``: ``text``,
``opcode``, ``tables`` (indices), ``seen`` (different words of compiler output, by table), ``results``, ``alias``, ``mask`` and ``value`` of
the fixed bits, ``hidden`` (bits that are set although no text shows them), ``fields``: indices into the list ``fields`` of all that there
are, with ``kind``, ``name``, ``bits``, ``note`` and, for modifiers, ``values``.
"""

import functools
import inspect
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, final

from orias.analysis.access import P_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.isa_table import CTL_SHIFT, load
from orias.isa.notation import H_CONST, H_FIELD, H_FLOAT, H_SUM, Elem, Operand, Piece
from orias.isa.op import op
from orias.isa.operations import LATE_RESULT, LATE_SOURCE, facts
from orias.isa.rawtable import Form
from orias.target.profile import TARGETS
from orias.timing.latency import latency
from orias.tools.hints import form_text

Json = dict[str, Any]

_FILES: Final = {
    "R": "register", "U": "uniform register", "P": "predicate", "Q": "uniform predicate", "B": "barrier register", "D": "scoreboard",
    "I": "integer", "F": "float", "L": "label", "W": "word", "S": "set of scoreboards",
}  # fmt: skip
_GUARD: Final = range(12, 16)
_OPCODE: Final = (*range(12), 91)
_CONTROL: Final = (
    ("stall count", 0, 4), ("yield", 4, 1), ("write barrier", 5, 3), ("read barrier", 8, 3), ("wait mask", 11, 6), ("reuse flags", 17, 4),
)  # fmt: skip
_MOST_LINES: Final = 60
"""Lines of the simulator's code that are shown of one function."""


def all_tables() -> list[str]:
    """Names of all tables, lowest SM first."""
    return sorted({t.table for t in TARGETS.values()}, key=lambda name: int(name[len("sm_") :]))


def reference_data(names: list[str]) -> Json:
    """The data for the tables named.  KeyError if there is no such table."""
    found: dict[str, dict[str, Json]] = {}
    fields = _Fields()
    for k, name in enumerate(names):
        raw = load(name).raw
        for mnemonic in raw.mnemonics():
            forms = found.setdefault(mnemonic, {})
            for form in raw.of_mnemonic(mnemonic):
                data = _form(form, fields)
                key = f"{form.opcode:04x} {data['value']} {data['mask']} {data['text']} {data['fields']}"
                entry = forms.setdefault(key, data)
                if k not in entry["tables"]:
                    entry["tables"].append(k)
                    entry["seen"].append(form.seen)
    about, ptx = sentences("meanings.txt"), sentences("ptx_of_sass.txt")
    return {
        "tables": names,
        "fields": fields.all,
        "decoded": [
            {"kind": "opcode", "name": "opcode", "bits": list(_OPCODE)}, {"kind": "guard", "name": "guard", "bits": list(_GUARD)},
            *({"kind": "control", "name": n, "bits": list(range(CTL_SHIFT + lo, CTL_SHIFT + lo + w))} for n, lo, w in _CONTROL),
        ],
        "mnemonics": [
            {
                "name": m, "about": meaning(m, about), "text": _text(m), "ptx": ptx.get(m, "").split(), "semantics": semantics(m),
                "times": {n: _times(m, n) for n in names if m in load(n).raw.mnemonics()},
                "forms": [forms[key] for key in sorted(forms)],
            }
            for m, forms in sorted(found.items())
        ],
    }  # fmt: skip


def sentences(name: str) -> dict[str, str]:
    """A file of lines ``MNEMONIC: text``."""
    text = (files("orias.explore") / "data" / name).read_text(encoding="utf-8")
    return dict(line.split(": ", 1) for line in text.splitlines() if line and line[0] != "#")


def meaning(mnemonic: str, about: dict[str, str]) -> str:
    """What an instruction does, in a sentence; empty if nobody has written one."""
    found = about.get(mnemonic)
    if found is None and mnemonic[:1] == "U" and mnemonic[1:] in about:
        return f"{about[mnemonic[1:]]} On the uniform datapath: once for the warp."
    return found or ""


def semantics(mnemonic: str) -> Json | None:
    """The code with which the simulator runs an instruction: ``file``, ``line`` and ``code``."""
    try:
        from orias.sim.core.build import builder_of
    except ImportError:
        return None
    found = builder_of(op(mnemonic))
    if found is None:
        return None
    plain: Callable[..., Any] = found.func if isinstance(found, functools.partial) else found
    lines, first = inspect.getsourcelines(plain)
    path = Path(inspect.getsourcefile(plain) or "")
    shown = "/".join(path.parts[-4:]) if "orias" in path.parts else path.name
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"    ...  # {len(lines) - _MOST_LINES} more lines\n"]
    return {"file": shown, "line": first, "code": inspect.cleandoc("\n" + "".join(lines))}


def _text(mnemonic: str) -> str:
    """Pipe, late results and sources, registers per operand, implied operands; docs/isa-table.md explains them."""
    found = facts(mnemonic)
    return "" if found is None else found.text


def _times(mnemonic: str, table: str) -> Json:
    """``pipe``; ``late`` (what comes at a variable time); ``cycles`` until an integer instruction may use a result of fixed latency,
    and whether that is a ``guess``; ``interval`` (cycles that it keeps its pipe busy)."""
    o, found = op(mnemonic), facts(mnemonic)
    late = found.late(table) if found is not None else 0
    names = [name for name, bit in (("result", LATE_RESULT), ("source", LATE_SOURCE)) if late & bit]
    out: Json = {"pipe": found.pipe(()) if found is not None else "", "late": names}
    sm = next(t.latency_class for t in TARGETS.values() if t.table == table)
    try:
        times = latency(sm)
        out["interval"] = times.interval(o)
        if not late & LATE_RESULT:
            uniform, predicate = out["pipe"] == "uniform", mnemonic.endswith(("SETP", "SETP2", "PLOP3"))
            unit = P_BASE if predicate else UR_BASE if uniform else 0
            reader = op("SEL" if predicate else "UIADD3" if uniform else "IADD3")
            out["cycles"] = times.raw(o, 0, reader, unit, 0)
            out["guess"] = times.is_guess(o, reader, unit, 0)
    except (Unsupported, KeyError):
        return out
    return out


@final
class _Fields:
    """The fields of all forms, each different one once."""

    __slots__ = ("_numbers", "all")

    def __init__(self) -> None:
        self.all: Final[list[Json]] = []
        self._numbers: Final[dict[str, int]] = {}

    def number(self, field: Json) -> int:
        """The index of a field."""
        key = repr(field)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(field)
        return found


def _form(form: Form, fields: _Fields) -> Json:
    found: list[Json] = []
    for k, o in enumerate(form.operands):
        name = f"result {k + 1}" if k < form.results else f"source {k + 1 - form.results}"
        found += _operand(o, name.split()[0], name)
    for p in form.mods:
        found += _piece(p, "modifier")
    barriers = [n for n, bit in (("write", 1), ("read", 2)) if form.bars & bit]
    return {
        "text": form_text(form), "opcode": f"{form.opcode:04x}", "alias": form.alias, "results": form.results, "barriers": barriers,
        "mask": f"{form.mask:x}", "value": f"{form.val:x}", "hidden": f"{form.default:x}" if form.default else "",
        "fields": [fields.number(f) for f in found], "tables": [], "seen": [],
    }  # fmt: skip


def _operand(o: Operand, kind: str, name: str) -> list[Json]:
    """The fields of an operand: its elements, and what changes its text."""
    out: list[Json] = []
    for e in o.elems:
        bits, note = _place(e)
        if bits or note:
            out.append({"kind": kind, "name": f"{name}: {_FILES[e.kind]}", "bits": bits, "note": note})
    for p in [*o.pre, *o.post, *(p for e in o.elems for p in e.suf + e.pieces)]:
        out += _piece(p, f"of {name}")
    return out


def _place(e: Elem) -> tuple[list[int], str]:
    """The bits that store an element's number, and what else there is to know of it."""
    if e.how == H_CONST:
        return [], f"always {e.const}"
    if e.how == H_SUM:
        sums = " + ".join(f"{weight} * [{lo}..{lo + n - 1}]" for lo, n, weight in e.parts)
        return [b for lo, n, _ in e.parts for b in range(lo, lo + n)], f"{e.const} + {sums}" if e.const else sums
    if e.kind == "W":
        return [], ""
    notes = [e.fkind] if e.how == H_FLOAT else []
    if e.how == H_FIELD and e.kind in "IL":
        notes += ["signed"] * e.signed + [f"times {e.scale}"] * (e.scale > 1)
    notes += [f"reuse flag in bit {e.reuse}"] * (e.reuse >= 0) + ["not printed"] * e.hidden
    return list(range(e.lo, e.lo + e.width)), ", ".join(notes)


def _piece(p: Piece, name: str) -> list[Json]:
    """A modifier field: its bits and the text of each value that has a meaning."""
    if not p.bits:
        return []
    values = [[v, t] for v, t in sorted(p.values.items()) if "?" not in t and "INVALID" not in t]
    return [{"kind": "modifier", "name": name, "bits": list(p.bits), "note": "", "values": values}]
