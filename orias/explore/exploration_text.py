"""The advice and the remarks of a compile as lines of text."""

from typing import Any


def exploration_text(doc: dict[str, Any]) -> str:
    """What :mod:`orias.explore.collect` found, for a terminal: the advice about each function, then what the passes decided."""
    out: list[str] = []
    for s in doc["sections"]:
        out.append(f"{doc['title']}: {s['name']}, {s['target']}")
        out += [f"  {a['kind']}: {a['text']}" for a in s["advice"]]
    remarks = [r for r in doc["remarks"] if r["kind"] != "registers"]
    for r in remarks:
        out.append(f"{doc['title']}, line {r['line']}: {r['kind']}: {r['text']} [{r['phase']}]")
    return "".join(f"{line}\n" for line in out)
