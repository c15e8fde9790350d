"""Takes derived instruction tables (gzip JSON, one per decoder class) into the table files of ``orias/isa/data``.

Usage: ``python tools/isa/import_derived.py SOURCE_DIR [sm_90 ...]``; the named classes are replaced.

The source was made by asking ``nvdisasm`` for the text of chosen words.  This script keeps its facts and repairs what the
derivation could not see:

* the descriptor register that the text of sm_80..89 hides becomes a hidden address element;
* hidden bits of forms that no compiler output contained take the value of their nearest relative;
* fields that lost their low bit (a predicate derived from two of its three bits) are widened;
* the lists of scoreboards of ``DEPBAR`` become one set operand.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

sys.path.insert(0, str(ROOT / "tools" / "isa"))

from roles import result_count  # noqa: E402
from tablefile import CLASSES, Record, bits_text  # noqa: E402
from working import Working  # noqa: E402

Variant = dict[str, Any]


def piece(p: Any) -> Any:
    """[bits, values] or a literal."""
    if isinstance(p, str):
        return p
    return [bits_text(p["b"]), {int(k): t for k, t in p["t"].items()}]


def element(e: Variant) -> Record:
    out: Record = {}
    if "f" in e:
        f = e["f"]
        text = f"{f[0]}+{f[1]}"
        if len(f) > 2:
            text += ("s" if f[2] == "s" else "") + (f"*{f[3]}" if f[3] != 1 else "")
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
        out["c"] = int(e["const"])
    elif "set" in e:
        out["set"] = "{}+{}".format(*e["set"])
    elif "w" in e:
        out["w"] = [piece(p) for p in e["w"]]
    if e.get("suf"):
        out["suf"] = [piece(p) for p in e["suf"]]
    if "reuse" in e:
        out["r"] = e["reuse"]
    if e.get("hid"):
        out["hid"] = 1
    return out


def operand(o: Variant) -> Record:
    return {
        "s": o["s"],
        "el": [element(e) for e in o["el"]],
        "pre": [piece(p) for p in o.get("pre", [])],
        "post": [piece(p) for p in o.get("post", [])],
    }


def hexed(v: int) -> str:
    return f"{v:x}"


def derived_record(v: Variant) -> Record:
    """A derived variant as the record of a form: mask, val, not (hex), mods and ops as pieces, hidden defaults, bar, guard, n."""
    out: Record = {k: v[k] for k in ("mn", "mask", "val", "n")}
    for k in ("not", "pow2", "alias", "guard", "hidden_default", "hidden_by_mods", "prefer", "bar"):
        if v.get(k):
            out[k] = v[k]
    out["mods"] = [piece(p) for p in v.get("mods", ())]
    out["ops"] = [operand(o) for o in v.get("ops", ())]
    out["results"] = result_count(v["mn"], [o["s"] for o in out["ops"]]) if out["ops"] else 0
    return out


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


def show_descriptors(forms: list[Record]) -> list[Record]:
    """Gives `[R.64]` addresses of sm_80..89 the descriptor register that only the bit-101 form prints (forms of one opcode)."""
    where = ""
    for r in forms:
        for o in r["ops"]:
            if o["s"].startswith("desc[{U}][") and "f" in o["el"][0]:
                where = o["el"][0]["f"]
    if not where:
        return forms
    for r in forms:
        if not int(r["mask"], 16) >> 101 & 1 or int(r["val"], 16) >> 101 & 1:
            continue
        for o in r["ops"]:
            if o["s"].startswith("[") and ".64" in o["el"][0].get("suf", []) and not o["s"].endswith("{U}"):
                lo, _, width = where.partition("+")
                o["el"].append({"f": where, "hid": 1})
                o["s"] += "{U}"
                clear_hidden(r, (1 << int(width)) - 1 << int(lo))
                break
    return forms


def clear_hidden(r: Record, field: int) -> None:
    """Takes a field out of the defaults of hidden bits."""
    r["hidden_default"] = hexed(int(r.get("hidden_default", "0"), 16) & ~field)
    r["hidden_by_mods"] = {k: hexed(int(v, 16) & ~field) for k, v in r.get("hidden_by_mods", {}).items()}


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


def convert(source: Path, name: str) -> dict[int, list[Record]]:
    """The records of a class by opcode, repaired."""
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
    return {op: show_descriptors([derived_record(v) for v in variants]) for op, variants in forms.items()}


def main(argv: list[str]) -> None:
    work = Working()
    for name in argv[1:] or CLASSES:
        work.records[name] = convert(Path(argv[0]), name)
    work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
