"""Turns derived instruction tables (gzip JSON, one per decoder class) into the data files of ``orias/isa/data``.

Usage: ``python tools/isa/import_derived.py SOURCE_DIR [sm_90 ...]``.

The source was made by asking ``nvdisasm`` for the text of chosen words.  This script keeps its facts and repairs what the
derivation could not see:

* the descriptor register that the text of sm_80..89 hides becomes a hidden address element;
* hidden bits of forms that no compiler output contained take the value of their nearest relative;
* fields that lost their low bit (a predicate derived from two of its three bits) are widened;
* the lists of scoreboards of ``DEPBAR`` become one set operand.

The format of the output is described in ``orias/isa/rawtable.py``.
"""

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.isa import rawtable  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "orias" / "isa" / "data"
DEFAULT = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")

Variant = dict[str, Any]


def bits_text(bits: list[int]) -> str:
    """Bit positions as runs: ``74+2,80`` (least significant first)."""
    runs: list[list[int]] = []
    for b in bits:
        if runs and runs[-1][0] + runs[-1][1] == b:
            runs[-1][1] += 1
        else:
            runs.append([b, 1])
    return ",".join(f"{lo}+{n}" if n > 1 else str(lo) for lo, n in runs)


class Tables:
    """Value tables shared by content."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, str] = {}

    def add(self, table: dict[str, str]) -> str:
        items = {int(k): v for k, v in table.items()}
        keys = sorted(items)
        body: Any
        if keys == list(range(len(keys))):
            body = [items[k] for k in keys]
        else:
            body = {str(k): items[k] for k in keys}
        text = json.dumps(body, separators=(",", ":"))
        name = hashlib.sha1(text.encode()).hexdigest()[:7]
        if self.rows.setdefault(name, text) != text:
            raise SystemExit(f"two tables share the name {name}")
        return name

    def load(self) -> None:
        """Takes over the tables already in the file."""
        if self.path.exists():
            for row in self.path.read_text(encoding="ascii").splitlines():
                key, _, body = row.partition(" ")
                self.rows[key] = body

    def publish(self) -> None:
        """Makes new tables known to the running reader."""
        rawtable._shared_tables().update(self.rows)

    def write_used(self, folder: Path) -> None:
        """Writes the tables that the data files of a folder use."""
        used: set[str] = set()
        for path in folder.glob("sm_*.txt"):
            used |= used_tables(path.read_text(encoding="ascii"), self.rows)
        self.write(used)

    def write(self, used: set[str]) -> None:
        rows = [f"{k} {self.rows[k]}\n" for k in sorted(used)]
        self.path.write_text("".join(rows), encoding="ascii")


def piece(p: Any, tables: Tables) -> Any:
    if isinstance(p, str):
        return p
    return [bits_text(p["b"]), tables.add(p["t"])]


def element(e: Variant, tables: Tables) -> Any:
    out: dict[str, Any] = {}
    if "f" in e:
        f = e["f"]
        text = f"{f[0]}+{f[1]}"
        if len(f) > 2:
            text += f[2] + (f"*{f[3]}" if f[3] != 1 else "")
        out["f"] = text
    elif "wsum" in e:
        out["sum"] = e["wsum"]
    elif "float" in e:
        out["fl"] = f"{e['float'][0]}@{e['float'][1]}"
    elif "tab" in e and [int(t) for _, t in sorted((int(k), t) for k, t in e["tab"]["t"].items())] == list(range(256)):
        out["f"] = bits_text(e["tab"]["b"])
    elif "tab" in e:
        raise SystemExit(f"an element is stored by a value table: {e}")
    elif "const" in e:
        out["c"] = e["const"]
    elif "set" in e:
        out["set"] = "{}+{}".format(*e["set"])
    elif "w" in e:
        out["w"] = [piece(p, tables) for p in e["w"]]
    if e.get("suf"):
        out["suf"] = [piece(p, tables) for p in e["suf"]]
    if "reuse" in e:
        out["r"] = e["reuse"]
        if e.get("reuse_after"):
            out["ra"] = 1
    if e.get("hid"):
        out["hid"] = 1
    if list(out) == ["f"]:
        return out["f"]
    if list(out) == ["f", "r"]:
        return f"{out['f']}r{out['r']}"
    return out


def operand(o: Variant, tables: Tables) -> list[Any]:
    out = [
        o["s"],
        [element(e, tables) for e in o["el"]],
        [piece(p, tables) for p in o.get("pre", [])],
        [piece(p, tables) for p in o.get("post", [])],
    ]
    while len(out) > 2 and not out[-1]:
        out.pop()
    return out


def hexed(v: int) -> str:
    return f"{v:x}"


def line(opcode: int, v: Variant, tables: Tables) -> str:
    out: dict[str, Any] = {"m": v["mask"], "v": v["val"]}
    if v.get("not"):
        out["x"] = v["not"]
    if v.get("pow2"):
        out["pow2"] = 1
    if v.get("alias"):
        out["alias"] = 1
    if v.get("guard", "P") != "P":
        out["g"] = v["guard"]
    if v.get("mods"):
        out["mods"] = [piece(p, tables) for p in v["mods"]]
    if v.get("ops"):
        out["ops"] = [operand(o, tables) for o in v["ops"]]
    if int(v["hidden"], 16):
        out["h"] = v["hidden"]
    if int(v.get("hidden_default", "0"), 16):
        out["d"] = v["hidden_default"]
    if v.get("hidden_by_mods"):
        out["dm"] = v["hidden_by_mods"]
    if int(v.get("prefer", "0"), 16):
        out["p"] = v["prefer"]
    if v.get("bar"):
        out["bar"] = v["bar"]
    if v["n"]:
        out["n"] = v["n"]
    return f"{opcode:04x} {v['mn']} {json.dumps(out, separators=(',', ':'))}\n"


# --- repairs -----------------------------------------------------------------------------------------------------


def skeleton(v: Variant) -> str:
    return ", ".join(o["s"] for o in v.get("ops", []))


def fix_fields(v: Variant) -> None:
    """A register field with a scale lost its low bits to the opcode mask; give them back."""
    mask = int(v["mask"], 16)
    for o in v.get("ops", []):
        if o["s"] not in ("{P}", "{R}", "{U}", "{Q}", "{B}"):
            continue
        for e in o["el"]:
            f = e.get("f")
            if f and len(f) > 3 and f[3] > 1:
                k = f[3].bit_length() - 1
                mask &= ~(((1 << k) - 1) << (f[0] - k))
                e["f"] = [f[0] - k, f[1] + k]
            if "wsum" in e:
                c, parts = e["wsum"]
                parts = [p for p in parts if p[2]]
                if len(parts) == 1 and parts[0][2] == -2:
                    lo = parts[0][0] - 1
                    mask &= ~(1 << lo)
                    c, parts = 7, [[lo, 3, -1]]
                e["wsum"] = [c, parts]
                if len(parts) == 1 and c == 0 and parts[0][2] == 1:
                    del e["wsum"]
                    e["f"] = parts[0][:2]
    v["mask"] = hexed(mask)
    v["val"] = hexed(int(v["val"], 16) & mask)


def fold_depbar(forms: dict[int, list[Variant]]) -> None:
    """One DEPBAR form with a set operand in place of one form per set of scoreboards."""
    for opcode, variants in forms.items():
        sets = [v for v in variants if v["mn"] == "DEPBAR" and "{{F}" in skeleton(v)]
        if not sets:
            continue
        kept = [v for v in variants if v not in sets]
        seen: set[str] = set()
        for v in sets:
            plain = [o for o in v["ops"] if not o["s"].startswith("{{F}")]
            key = json.dumps([v.get("mods"), len(plain)])
            if key in seen:
                continue
            seen.add(key)
            new = dict(v)
            field = 0x3F << 32
            new["mask"] = hexed(int(v["mask"], 16) & ~field)
            new["val"] = hexed(int(v["val"], 16) & ~field)
            new["not"] = [*v.get("not", []), [hexed(field), "0"]]
            new["ops"] = [*plain, {"s": "{S}", "el": [{"set": [32, 6]}]}]
            new["n"] = sum(w["n"] for w in sets if len(w["ops"]) == len(v["ops"]))
            kept.append(new)
        forms[opcode] = kept


def show_descriptors(lines: list[str]) -> list[str]:
    """Gives `[R.64]` addresses of sm_80..89 the descriptor register that only the bit-101 form prints; works on data lines."""
    parsed = [(row[: row.index(" ", 5)], json.loads(row[row.index(" ", 5) + 1 :])) for row in lines]
    where: dict[str, str] = {}
    for head, rec in parsed:
        for o in rec.get("ops", []):
            if o[0].startswith("desc[{U}]["):
                where[head] = o[1][0]
    out = []
    for row, (head, rec) in zip(lines, parsed, strict=True):
        if head in where and int(rec["m"], 16) >> 101 & 1 and not int(rec["v"], 16) >> 101 & 1:
            for o in rec["ops"]:
                first = o[1][0]
                if (
                    o[0].startswith("[")
                    and isinstance(first, dict)
                    and ".64" in first.get("suf", [])
                    and not o[0].endswith("{U}")
                ):
                    lo, _, width = where[head].partition("+")
                    field = ((1 << int(width)) - 1) << int(lo)
                    o[1].append({"f": where[head], "hid": 1})
                    o[0] += "{U}"
                    clear_hidden(rec, field)
                    row = f"{head} {json.dumps(rec, separators=(',', ':'))}"
                    break
        out.append(row)
    return out


def clear_hidden(rec: Variant, field: int) -> None:
    """Takes a field out of the hidden bits of a record and out of their defaults."""
    rec["h"] = hexed(int(rec["h"], 16) & ~field)
    default = int(rec.pop("d", "0"), 16) & ~field
    if default:
        rec["d"] = hexed(default)
    special = {k: int(v, 16) & ~field for k, v in rec.pop("dm", {}).items()}
    special = {k: v for k, v in special.items() if v != default}
    if special:
        rec["dm"] = {k: hexed(v) for k, v in special.items()}


def free_base_forms(forms: dict[int, list[Variant]]) -> None:
    """Alias forms stand first; the base forms then need no exclusions for them and hold every word of the operation."""
    operands = ((1 << 48) - 1) << 24
    for opcode, variants in forms.items():
        if not any(v.get("alias") for v in variants):
            continue
        out = [v for v in variants if v.get("alias")]
        seen: dict[str, Variant] = {}
        for v in variants:
            if v.get("alias"):
                continue
            v["not"] = [x for x in v.get("not", []) if int(x[0], 16) & ~operands]
            key = json.dumps([v["mask"], v["val"], v["not"], v.get("mods"), v.get("ops")])
            if key in seen:
                seen[key]["n"] += v["n"]
                continue
            seen[key] = v
            out.append(v)
        forms[opcode] = out


def add_moves(forms: dict[int, list[Variant]]) -> None:
    """`IMAD` with RZ as first factor is printed as a move whatever the second is; the derivation saw it for some second operands."""
    ra = 0xFF << 24
    for variants in forms.values():
        base = [v for v in variants if v["mn"] == "IMAD" and not v.get("alias")]
        moves = [v for v in variants if v.get("alias") and v.get("mods", [""])[0] == "MOV"]
        plain = [v for v in base if [f"{ra:x}", f"{ra:x}"] in v.get("not", []) and v.get("mods") and len(v["ops"]) == 4]
        if not plain or any(int(v["mask"], 16) & ra for v in moves):
            continue
        conditions = [(ra, ra)]
        if plain[0]["ops"][2]["s"] == "{I}":
            conditions.append((0xFF << 64 | 0xFFFFFFFF << 32, 0xFF << 64 | 1 << 32))
        for mask, val in conditions:
            v = json.loads(json.dumps(plain[0]))
            v["mask"] = hexed(int(v["mask"], 16) | mask)
            v["val"] = hexed(int(v["val"], 16) | val)
            v["not"] = []
            v["alias"] = "MOV"
            v["mods"] = ["MOV", *v["mods"]]
            v["n"] = 0
            variants.insert(0, v)


WEIRD = ("{F} ", "-{W}", "{W}-{W}", "-{W}-{W}", "-{W}+{W}", "{W}+{W}")


def is_noise(v: Variant) -> bool:
    """True for forms that only random words take: constants read as floats, words made of unrelated bits, huge joint fields."""
    if v["n"]:
        return False
    for o in v.get("ops", []):
        if o["s"] in WEIRD or (o["s"] == "{F}" and "const" in o["el"][0]):
            return True
    return any(not isinstance(p, str) and len(p["b"]) > 20 for p in v.get("mods", []))


def relatives_defaults(forms: dict[int, list[Variant]]) -> None:
    """Hidden bits of forms with no compiled example come from the same mnemonic with the same number of operands."""
    by_mn: dict[str, list[Variant]] = {}
    for variants in forms.values():
        for v in variants:
            if v["n"]:
                by_mn.setdefault(v["mn"], []).append(v)
    high = ~((1 << 72) - 1)
    for variants in forms.values():
        for v in variants:
            if v["n"]:
                continue
            best: Variant | None = None
            score = (0, 0, 0)
            for w in by_mn.get(v["mn"], []):
                same_mods = json.dumps(v.get("mods")) == json.dumps(w.get("mods"))
                same_count = len(v.get("ops", [])) == len(w.get("ops", []))
                s = (2 * same_count + same_mods, w["n"], 1)
                if same_count and s > score:
                    best, score = w, s
            if best is not None:
                shared = int(v["hidden"], 16) & int(best["hidden"], 16) & high
                d = int(v.get("hidden_default", "0"), 16) & ~shared
                v["hidden_default"] = hexed(d | int(best.get("hidden_default", "0"), 16) & shared)


def convert(source: Path, name: str, tables: Tables) -> str:
    with gzip.open(source / f"{name}.json.gz", "rt", encoding="utf-8") as f:
        raw = json.load(f)
    forms = {int(k, 16): v for k, v in raw["forms"].items()}
    for opcode, variants in forms.items():
        forms[opcode] = [v for v in variants if not is_noise(v)]
        for v in forms[opcode]:
            fix_fields(v)
    fold_depbar(forms)
    add_moves(forms)
    free_base_forms(forms)
    relatives_defaults(forms)
    rows = [line(opcode, v, tables).rstrip("\n") for opcode in sorted(forms) for v in forms[opcode]]
    return "".join(row + "\n" for row in show_descriptors(rows))


def used_tables(text: str, known: dict[str, str]) -> set[str]:
    found = set()
    for word in text.replace("]", '"').split('"'):
        if word in known:
            found.add(word)
    return found


def main(argv: list[str]) -> None:
    source = Path(argv[0])
    names = argv[1:] or list(DEFAULT)
    DATA.mkdir(parents=True, exist_ok=True)
    tables = Tables(DATA / "modifiers.txt")
    tables.load()
    for name in names:
        (DATA / f"{name}.txt").write_text(convert(source, name, tables), encoding="ascii")
    tables.write_used(DATA)


if __name__ == "__main__":
    main(sys.argv[1:])
