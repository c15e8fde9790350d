"""Streams and events.  Work is done when the call that starts it returns, so streams are ordered and never busy."""

import ctypes
from typing import Final

from orias.driver import graphs
from orias.driver.driver_registry import call, get32, get64, put32, put64, put_float, u
from orias.driver.driver_state import Driver, Event, Stream
from orias.driver.results import DriverError

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_STREAM_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
DISABLE_TIMING: Final = 2
INTERPROCESS: Final = 4
"""Flags of events."""


@call("cuStreamCreate")
def create(d: Driver, place: int, flags: int) -> None:
    """A stream."""
    create_with_priority(d, place, flags, 0)


@call("cuStreamCreateWithPriority")
def create_with_priority(d: Driver, place: int, flags: int, priority: int) -> None:
    """A stream with a priority."""
    if flags not in (0, 1):
        raise DriverError("INVALID_VALUE", f"flags {flags}")
    put64(place, d.new(Stream(d.context, flags, max(-5, min(priority, 0)))))


@call("cuStreamDestroy_v2", "cuStreamDestroy")
def destroy(d: Driver, stream: int) -> None:
    """End a stream."""
    d.drop(stream, Stream)


@call("cuStreamSynchronize", "cuStreamQuery")
def synchronize(d: Driver, stream: int) -> None:
    """All work is done; a captured stream has none."""
    graphs.refuse_capture(d, stream)


@call("cuStreamGetPriority")
def priority(d: Driver, stream: int, place: int) -> None:
    """Its priority."""
    found = d.stream(stream)
    put32(place, found.priority if found else 0)


@call("cuStreamGetFlags")
def flags(d: Driver, stream: int, place: int) -> None:
    """Its flags."""
    found = d.stream(stream)
    put32(place, found.flags if found else 0)


@call("cuStreamGetId")
def identity(d: Driver, stream: int, place: int) -> None:
    """A number of its own."""
    d.stream(stream)
    put64(place, stream)


_ATTRIBUTE_BYTES = 64
"""Bytes of CUlaunchAttributeValue."""


@call("cuStreamSetAttribute")
def set_attribute(d: Driver, stream: int, number: int, place: int) -> None:
    """Keep an attribute; none has an effect."""
    d.stream(stream)
    d.keep[f"stream {stream} {number}"] = ctypes.string_at(place, _ATTRIBUTE_BYTES)


@call("cuStreamGetAttribute")
def get_attribute(d: Driver, stream: int, number: int, place: int) -> None:
    """What was kept, zeros without."""
    d.stream(stream)
    ctypes.memmove(place, d.keep.get(f"stream {stream} {number}", bytes(_ATTRIBUTE_BYTES)), _ATTRIBUTE_BYTES)


@call("cuStreamWaitEvent")
def wait_event(d: Driver, stream: int, event: int, flags: int) -> None:
    """Work before the event is done; after an event of a capture, the stream is captured too."""
    found = d.stream(stream)
    e = d.get(event, Event)
    if e.captured is None or e.captured[0].status == 0:
        if graphs.capture_of(d, stream) is not None:
            raise DriverError("STREAM_CAPTURE_ISOLATION")
        return
    capture, before = e.captured
    if found is None:
        raise DriverError("STREAM_CAPTURE_IMPLICIT")
    if found.capture not in (None, capture):
        raise DriverError("STREAM_CAPTURE_MERGE")
    found.capture = capture
    last = capture.last.setdefault(found, [])
    capture.last[found] = last + [n for n in before if n not in last]


@call("cuStreamAddCallback")
def add_callback(d: Driver, stream: int, function: int, data: int, flags: int) -> None:
    """Call a function of the host now: all work before it is done."""
    graphs.refuse_capture(d, stream)
    _STREAM_CALLBACK(function)(stream, d.context.error, data)


@call("cuLaunchHostFunc")
def launch_host(d: Driver, stream: int, function: int, data: int) -> None:
    """Call a function of the host in stream order."""
    graphs.submit(d, stream, graphs.HOST, host_work(function, data), (function, data))


def host_work(function: int, data: int) -> graphs.Work:
    """A call of a function of the host."""
    return lambda: _HOST_FUNCTION(function)(data)


@call("cuStreamWriteValue32_v2", "cuStreamWriteValue32")
def write_32(d: Driver, stream: int, address: int, value: int, flags: int) -> None:
    """Store a word."""
    graphs.refuse_capture(d, stream)
    put32(address, value)
    if d.arena.written is not None:
        d.arena.written.fill(u(address), 4)


@call("cuStreamWriteValue64_v2", "cuStreamWriteValue64")
def write_64(d: Driver, stream: int, address: int, value: int, flags: int) -> None:
    """Store a word of 64 bits."""
    graphs.refuse_capture(d, stream)
    put64(address, value)
    if d.arena.written is not None:
        d.arena.written.fill(u(address), 8)


@call("cuStreamWaitValue32_v2", "cuStreamWaitValue32")
def wait_32(d: Driver, stream: int, address: int, value: int, flags: int) -> None:
    """Nothing can change the word later: it has the value, or the stream never goes on."""
    _compare(get32(address), value & 0xFFFFFFFF, flags, 32)


@call("cuStreamWaitValue64_v2", "cuStreamWaitValue64")
def wait_64(d: Driver, stream: int, address: int, value: int, flags: int) -> None:
    """The same for 64 bits."""
    _compare(get64(address), value & (1 << 64) - 1, flags, 64)


def _compare(found: int, value: int, flags: int, bits: int) -> None:
    kind = flags & 3
    after = (found - value & (1 << bits) - 1) < 1 << bits - 1
    if not (after, found == value, bool(found & value), bool(~(found | value) & (1 << bits) - 1))[kind]:
        raise DriverError("NOT_SUPPORTED", "waiting for a value that is not there yet")


# -- events


@call("cuEventCreate")
def create_event(d: Driver, place: int, flags: int) -> None:
    """An event."""
    d.context  # noqa: B018 - fails without a context
    if flags & INTERPROCESS and not flags & DISABLE_TIMING:
        raise DriverError("INVALID_VALUE", "an event for other processes has no time")
    if not flags & DISABLE_TIMING:
        d.timeline.modelled = True
    put64(place, d.new(Event(flags)))


@call("cuEventRecord", "cuEventRecordWithFlags")
def record(d: Driver, event: int, stream: int, flags: int = 0) -> None:
    """Record it in stream order."""
    e = d.get(event, Event)
    recording = graphs.capture_of(d, stream)
    if recording is None:
        e.captured = None
        e.record(d.timeline)
    else:
        capture, own = recording
        e.captured = capture, list(capture.last[own])


@call("cuEventQuery", "cuEventSynchronize")
def query(d: Driver, event: int) -> None:
    """What was before it is done."""
    if d.get(event, Event).captured is not None:
        raise DriverError("CAPTURED_EVENT")


@call("cuEventDestroy_v2", "cuEventDestroy")
def destroy_event(d: Driver, event: int) -> None:
    """End an event."""
    d.drop(event, Event)


@call("cuEventElapsedTime", "cuEventElapsedTime_v2")
def elapsed(d: Driver, place: int, start: int, end: int) -> None:
    """Milliseconds of the device's timeline between two events."""
    a, b = d.get(start, Event), d.get(end, Event)
    if (a.flags | b.flags) & DISABLE_TIMING or a.time is None or b.time is None:
        raise DriverError("INVALID_HANDLE", "not recorded, or without time")
    put_float(place, 1000 * (b.time - a.time))
