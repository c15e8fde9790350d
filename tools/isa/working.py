"""The tables as records that the derivation programs change: read from the table files, written back merged."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from tablefile import DATA, Record, TableNames, bits_text, default_notes, form_text, write  # noqa: E402

from orias.isa.isa_table import IsaTable  # noqa: E402
from orias.isa.notation import (  # noqa: E402
    H_CONST,
    H_FIELD,
    H_FLOAT,
    H_SET,
    H_SUM,
    Elem,
    Piece,
)
from orias.isa.rawtable import ANY_REUSE, CLASSES, Entry, Form, RawTable  # noqa: E402


def piece_record(p: Piece) -> Any:
    """A piece as [bits, values], or its literal text."""
    return [bits_text(list(p.bits)), dict(p.values)] if p.bits else p.text


def element_record(e: Elem) -> Record:
    out: Record = {}
    if e.how == H_FIELD:
        scale = f"*{e.scale}" if e.scale != 1 else ""
        out["f"] = f"{e.lo}+{e.width}{'s' if e.signed else ''}{scale}"
    elif e.how == H_SUM:
        out["sum"] = [e.const, [list(p) for p in e.parts]]
    elif e.how == H_FLOAT:
        out["fl"] = f"{e.fkind}@{e.lo}"
    elif e.how == H_CONST:
        out["c"] = e.const
    elif e.how == H_SET:
        out["set"] = f"{e.lo}+{e.width}"
    else:
        out["w"] = [piece_record(p) for p in e.pieces]
    if e.suf:
        out["suf"] = [piece_record(p) for p in e.suf]
    if e.reuse >= 0:
        out["r"] = e.reuse
    if e.hidden:
        out["hid"] = 1
    return out


def form_record(f: Form) -> Record:
    """A form as the record that writes the same line."""
    fixed = f.mask | (0 if f.reuse == ANY_REUSE else (7 & ~f.reuse) << 122)
    out: Record = {"mn": f.mnemonic, "mask": f"{fixed:x}", "val": f"{f.val:x}", "n": f.seen, "results": f.results}
    out["not"] = [[f"{m:x}", f"{v:x}"] for m, v in f.nots]
    out["mods"] = [piece_record(p) for p in f.mods]
    out["ops"] = [
        {
            "s": o.skeleton,
            "el": [element_record(e) for e in o.elems],
            "pre": [piece_record(p) for p in o.pre],
            "post": [piece_record(p) for p in o.post],
        }
        for o in f.operands
    ]
    out["bar"] = ("w" if f.bars & 1 else "") + ("r" if f.bars & 2 else "")
    out["guard"] = "UP" if f.guard_up else "P"
    hidden = f.hidden
    out["hidden_default"] = f"{f.default & hidden:x}"
    out["hidden_by_mods"] = {k: f"{v & hidden:x}" for k, v in f.default_by_mods.items()}
    out["prefer"] = f"{f.prefer:x}"
    if f.alias:
        out["alias"] = 1
    if f.pow2:
        out["pow2"] = 1
    return out


class Working:
    """All classes as records by opcode, in match order."""

    def __init__(self) -> None:
        self.records: dict[str, dict[int, list[Record]]] = {c: {} for c in CLASSES}
        if any(DATA.glob("*.isa")):
            for name in CLASSES:
                for f in RawTable(name).forms():
                    self.records[name].setdefault(f.opcode, []).append(form_record(f))

    def table(self, name: str) -> RawTable:
        """The records of a class as the table that the product would read."""
        names = TableNames({})
        entries = []
        for opcode, forms in sorted(self.records[name].items()):
            for v in forms:
                template, notes = form_text(opcode, v, names)
                e = Entry(opcode, name[3:], template)
                notes += [*default_notes(v), *([f"seen {v['n']}"] if v["n"] else [])]
                e.notes = "; ".join(notes)
                entries.append(e)
        return RawTable(name, entries, names.used)

    def isa(self, name: str) -> IsaTable:
        """The same with its encoder and decoder."""
        return IsaTable(name, self.table(name))

    def save(self) -> None:
        """Writes the table files."""
        write(self.records)


def form_of(opcode: int, v: Record, name: str) -> Form:
    """A record as a form of a class."""
    work = Working.__new__(Working)
    work.records = {name: {opcode: [v]}}
    return work.table(name).of_opcode(opcode)[0]
