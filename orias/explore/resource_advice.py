"""What the figures of a section say to somebody who wants the kernel faster, in sentences.

An advice is a dictionary: ``kind``, ``instruction`` (-1 if it is about the whole function), ``line`` of the PTX (0 if none), ``text`` and
``weight``, by which the list is in order: the depth of loops first.
"""

from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]

KINDS: Final[dict[str, str]] = {
    "registers": "the register count, and what one step less would give",
    "spills": "values in local memory, and what that costs",
    "occupancy": "what limits the warps of an SM",
    "waits": "where a warp waits longest",
    "divergence": "branches that split warps",
    "coalescing": "accesses of global memory that move more than they need",
    "banks": "accesses of shared memory whose threads meet in a bank",
}
"""Kind of advice -> what it is about."""
_WHY: Final = {
    "thread": "the thread index",
    "stride": "the thread index and numbers of the launch",
    "data": "loaded data",
}
_CAUSE: Final = {
    "scoreboard": "a scoreboard",
    "barrier": "the barrier before it",
    "stall count": "the stall counts of results with a fixed latency",
    "branch": "the branch before it",
    "unit": "a unit that is busy",
    "memory queue": "a place in the memory queue",
    "register ports": "the register ports",
}
_NONE: Final = (0, 0)
_MOST: Final = 6
"""Advices of one kind about single instructions."""
_TURNS: Final = 10
"""Turns that a loop counts as."""


def advise(s: Json) -> list[Json]:
    """The advices about a section (:mod:`orias.explore.machine_code`)."""
    depth = _depths(s)
    rows = s["instructions"]

    def entry(kind: str, at: int, text: str, weight: float = 0) -> Json:
        line = rows[at]["line"] if at >= 0 else 0
        return {"kind": kind, "instruction": at, "line": line, "text": text, "weight": round(weight, 1)}

    def place(at: int) -> str:
        line = f", line {rows[at]['line']}," if rows[at]["line"] else ""
        return (
            f"{rows[at]['text'].split(' ')[0 if rows[at]['text'][0] != '@' else 1]} at {rows[at]['address']:04x}{line}"
        )

    out = [entry("registers", *_registers(s, depth)), entry("occupancy", -1, _occupancy(s))]
    out += [entry("spills", -1, text) for text in _spills(s, depth)]
    wait = max(range(len(rows)), key=lambda i: _waited(rows[i]) * _TURNS ** depth[i], default=-1)
    if wait >= 0 and _waited(rows[wait]) >= 1:
        out.append(entry("waits", wait, _wait(s, wait, depth[wait], place)))
    reasons = dict(s["divergent"])
    found = [
        i
        for i, row in enumerate(rows)
        if (i in reasons or row.get("splits", _NONE)[1]) and not row["text"].endswith("EXIT")
    ]
    for i in sorted(found, key=lambda i: (-rows[i].get("splits", _NONE)[1], -depth[i]))[:_MOST]:
        out.append(entry("divergence", i, _divergence(s, i, reasons.get(i, ""), place), _TURNS ** depth[i]))
    for kind, unit, text in (("coalescing", "sectors", _sectors), ("banks", "bank turns", _turns)):
        poor = [(m, side) for m in s["memory"] for side in m["sides"] if side["unit"] == unit and _excess(side)]
        poor.sort(key=lambda x: -_excess(x[1]) * _TURNS ** depth[x[0]["instruction"]])
        for m, side in poor[:_MOST]:
            i = m["instruction"]
            out.append(entry(kind, i, f"{place(i)} {text(m, side)}", _excess(side) * _TURNS ** depth[i]))
    return out


def _depths(s: Json) -> list[int]:
    out = [0] * len(s["instructions"])
    for r in s["regions"]:
        if r["kind"] == "loop":
            for i in range(r["start"], r["end"]):
                out[i] = max(out[i], r["depth"])
    return out


def _waited(row: Json) -> float:
    return float(sum(row.get("waited", {}).values()))


def _takes(side: Json) -> float | None:
    runs = side.get("runs")
    found = runs["takes"] if runs else side["takes"]
    return None if found is None else float(found)


def _excess(side: Json) -> float:
    """Units that a warp's access takes beyond the least; 0 up to a quarter more."""
    takes = _takes(side)
    return takes - side["least"] if takes is not None and takes > 1.25 * side["least"] else 0


def _registers(s: Json, depth: list[int]) -> tuple[int, str]:
    rows = s["instructions"]
    peak = max(range(len(rows)), key=lambda i: rows[i]["live"])
    line = f", line {rows[peak]['line']}" if rows[peak]["line"] else ""
    where = f"{rows[peak]['address']:04x}{line}{', in a loop' if depth[peak] else ''}"
    text = f"{s['registers']} registers: {rows[peak]['live']} hold a value at once at {where}"
    more = s["occupancy"]["next"]
    if more:
        text += (
            f"; with {more['registers']} an SM would hold {more['warps']} warps instead of {s['occupancy']['warps']}"
        )
    else:
        text += "; fewer would give no more warps"
    return peak, text + "."


def _occupancy(s: Json) -> str:
    o = s["occupancy"]
    assumed = "" if s["stated_threads"] else ", a size that is assumed because the kernel states none"
    share = round(100 * o["warps"] / o["most_warps"])
    return f"{o['warps']} of {o['most_warps']} warps ({share} %) with blocks of {s['threads']} threads{assumed}; limited by {o['limit']}."


def _spills(s: Json, depth: list[int]) -> list[str]:
    local = [m for m in s["memory"] if m["space"] == "local"]
    if not local:
        return []
    inside = sum(1 for m in local if depth[m["instruction"]])
    stores = sum(1 for m in local if m["kind"] == "store")
    cycles = sum(_waited(s["instructions"][m["instruction"]]) for m in local)
    users = {m["instruction"] for m in local if m["kind"] == "load"}
    for i, row in enumerate(s["instructions"]):
        if i not in users and any(t in users for _, t in row["waits_for"]):
            cycles += row.get("waited", {}).get("scoreboard", 0)
    loop = f"{inside} of them in loops" if inside else "none in a loop"
    return [
        f"{len(local)} accesses of local memory, {stores} of them stores, {loop}: by the model a warp waits {cycles:.0f} cycles at them "
        "and for what they load, each run once."
    ]


def _wait(s: Json, at: int, depth: int, place: Callable[[int], str]) -> str:
    row = s["instructions"][at]
    causes = sorted(row["waited"].items(), key=lambda x: -x[1])
    text = f"A warp waits {_waited(row):.0f} cycles before {place(at)} {'in a loop, ' if depth else ''}mostly for {_CAUSE.get(causes[0][0], causes[0][0])}"
    if row["waits_for"] and causes[0][0] == "scoreboard":
        text += f": the result of {place(row['waits_for'][0][1]).rstrip(',')}"
    elif causes[0][0] == "barrier" and at:
        text += f", {place(at - 1).rstrip(',')}"
    return text + "."


def _divergence(s: Json, at: int, why: str, place: Callable[[int], str]) -> str:
    back = any(r["kind"] == "loop" and r["start"] <= at < r["end"] and _leaves(s, r, at) for r in s["regions"])
    came, split = s["instructions"][at].get("splits", _NONE)
    reason = f"its condition depends on {_WHY[why]}" if why else "the estimate saw no reason"
    if came and not split:
        return f"{place(at)} split no warp in the run, of {came} that came there, though {reason}."
    unsure = why == "data" and not came
    what = (
        "lets threads of a warp leave the loop in different turns"
        if back
        else "may split a warp"
        if unsure
        else "splits a warp"
    )
    return f"{place(at)} {what}: {f'in the run {split} of the {came} times that a warp came there; ' if came else ''}{reason}."


def _leaves(s: Json, region: Json, at: int) -> bool:
    block = s["blocks"][s["instructions"][at]["block"]]
    return any(not region["start"] <= s["blocks"][t]["start"] < region["end"] for t, _ in block["edges"])


def _sectors(m: Json, side: Json) -> str:
    what = "touches" if "runs" not in side else "touched, on average of the run,"
    return f"{what} {_takes(side):g} sectors of 32 bytes where {side['least']} would do ({m['bytes']} bytes a thread; {side['shape']})."


def _turns(m: Json, side: Json) -> str:
    what = "takes" if "runs" not in side else "took, on average of the run,"
    return f"{what} {_takes(side):g} turns of the banks where {side['least']} would do ({m['bytes']} bytes a thread; {side['shape']})."
