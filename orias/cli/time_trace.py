"""``--fdevice-time-trace``: adds the times of a compile to a Chrome trace (the "Trace Event Format", complete events).

Events of ptxas have its names; those of the phases of Orias (category ``phase``) lie within the kernel's event.
"""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.api import Cubin

_BAD = "Parsed trace file not in expected format : "


class TraceError(Exception):
    """The trace file cannot be used; the text is ptxas's message."""


def read_trace(path: str) -> dict[str, object]:
    """The trace that the compile is added to; raises TraceError."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        raise TraceError(f"File '{path}' could not be opened") from None
    if not data:
        raise TraceError(f"{_BAD}Error reading input trace file to buffer")
    try:
        trace = json.loads(data)
    except (ValueError, RecursionError):
        trace = None
    if not isinstance(trace, dict):
        raise TraceError(f"Input file '{path}' not in expected format")
    if "traceEvents" not in trace:
        raise TraceError(f"{_BAD}expected key 'traceEvents'")
    if not isinstance(trace["traceEvents"], list):
        raise TraceError(f"{_BAD}expected key 'traceEvents' to be a JSON Array")
    return trace


def trace_start(trace: dict[str, object], after: str) -> int:
    """Microseconds at which the compile begins in a trace: the end of the event called ``after``; raises TraceError without one."""
    if not after:
        return 0
    events = trace["traceEvents"]
    assert isinstance(events, list)
    for e in events:
        if isinstance(e, dict) and e.get("name") == after:
            ts, duration = e.get("ts", 0), e.get("dur", 0)
            return int(ts) + int(duration) if isinstance(ts, int | float) and isinstance(duration, int | float) else 0
    raise TraceError(f"{_BAD}--ftrace-phase-after string not found in input file")


def events_of(cubin: "Cubin", source: str, begin: float, end: float, offset: int, pid: int) -> list[dict[str, object]]:
    """The events of a compile from ``begin`` to ``end`` (performance counter) of the input called ``source``."""

    def event(name: str, detail: str, start: float, seconds: float, category: str = "") -> dict[str, object]:
        ts = offset + round(1e6 * (start - begin))
        out: dict[str, object] = {"args": {"name": detail}}
        if category:
            out["cat"] = category
        return {**out, "dur": round(1e6 * seconds), "name": name, "ph": "X", "pid": pid, "tid": 0, "ts": ts}

    kernels = [k for k in cubin.kernels.values() if k.is_entry]
    first = min((k.start for k in kernels), default=end)
    last = max((k.start + k.seconds for k in kernels), default=end)
    return [
        event("Total PTXAS Time", source, begin, end - begin),
        *(event("Optimizing compilation unit", k.name, k.start, k.seconds) for k in kernels),
        event("PTX parsing and setup time", "", begin, first - begin),
        event("Post processing", "", last, end - last),
        *(event(phase, function, start, seconds, "phase") for phase, function, start, seconds in cubin.spans),
    ]


def write_trace(path: str, trace: dict[str, object], events: list[dict[str, object]]) -> None:
    """Write the trace with the events added; raises OSError."""
    old = trace["traceEvents"]
    assert isinstance(old, list)
    text = json.dumps({**trace, "traceEvents": [*old, *events]}, separators=(",", ":"))
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "x", encoding="utf-8") as f:
            f.write(text)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
