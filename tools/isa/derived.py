"""Derived variants (what ``probe.py`` found) as the records of ``working.py``.

The descriptor register that the text of sm_80..89 hides becomes a hidden address element (:func:`show_descriptors`).
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

sys.path.insert(0, str(ROOT / "tools" / "isa"))

from roles import result_count  # noqa: E402
from tablefile import Record, bits_text  # noqa: E402

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
