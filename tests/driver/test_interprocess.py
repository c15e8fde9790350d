"""Device memory and events of one process in another."""

import ctypes
import json
import shutil
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint8, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

from tests.driver.test_driver import BAD, allocate, context, cuda, function, launch  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
ROOT = Path(__file__).parents[2]
INVALID_VALUE, INVALID_CONTEXT, MAP_FAILED, INVALID_HANDLE = 1, 201, 205, 400
DISABLE_TIMING, INTERPROCESS = 2, 4
LAZY = 1


class Handle(ctypes.Structure):
    """CUipcMemHandle, CUipcEventHandle."""

    _fields_ = [("bytes", c_uint8 * 64)]


def memory_handle(api, address):
    handle = Handle()
    api("cuIpcGetMemHandle", byref(handle), c_uint64(address))
    return bytes(handle)


def open_memory(api, handle, flags=LAZY):
    address = c_uint64()
    return api.code("cuIpcOpenMemHandle_v2", byref(address), Handle.from_buffer_copy(handle), flags), address.value


def write(api, address, data):
    api("cuMemcpyHtoD_v2", c_uint64(address), data, c_size_t(len(data)))


def read(api, address, size):
    out = np.zeros(size, np.uint8)
    api("cuMemcpyDtoH_v2", c_void_p(out.ctypes.data), c_uint64(address), c_size_t(size))
    return out.tobytes()


def other_process(handles, *words):
    """What another process says that opens these handles and does something."""
    # The package that is installed comes first, as in this process.
    program = f"import sys; sys.path.append({str(ROOT)!r}); from tests.driver.test_interprocess import child; child()"
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command, input=json.dumps([h.hex() for h in handles]), capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def child():
    """The other process."""
    from tests.driver.test_driver import Api

    api = Api()
    api("cuInit", 0)
    api("cuCtxCreate_v2", byref(c_void_p()), 0, 0)
    handles = [bytes.fromhex(h) for h in json.load(sys.stdin)]
    print(json.dumps(ACTIONS[sys.argv[1]](api, handles)))


def read_all(api, handles):
    offset = int(sys.argv[2])
    opened = [open_memory(api, h)[1] for h in handles]
    return [read(api, a + offset, 16).hex() for a in opened]


def store(api, handles):
    """A kernel stores 7."""
    address = open_memory(api, handles[0])[1]
    assert launch(api, function(api, BAD, b"store"), 1, 1, [c_uint64(address)]) == 0
    return api.code("cuIpcCloseMemHandle", c_uint64(address))


def use_closed(api, handles):
    """Opened twice, memory is at one address until it was closed twice."""
    out = [open_memory(api, handles[0])[1] for _ in range(2)]
    results = [api.code("cuIpcCloseMemHandle", c_uint64(out[0])) for _ in range(3)]
    f = function(api, BAD, b"store")
    assert launch(api, f, 1, 1, [c_uint64(out[0])]) == 0
    return [out[0] == out[1], *results, api.code("cuCtxSynchronize")]


def free_opened(api, handles):
    address = open_memory(api, handles[0])[1]
    return api.code("cuMemFree_v2", c_uint64(address))


def result_of_open(api, handles):
    return open_memory(api, handles[0])[0]


def export(api, handles):
    """Memory of this process, which ends."""
    return memory_handle(api, allocate(api, 64).value).hex()


def use_event(api, handles):
    event = c_void_p()
    results = [api.code("cuIpcOpenEventHandle", byref(event), Handle.from_buffer_copy(handles[0]))]
    results.append(api.code("cuStreamWaitEvent", None, event, 0))
    results += [api.code(f, event) for f in ("cuEventQuery", "cuEventSynchronize", "cuEventDestroy_v2")]
    return results


ACTIONS = {f.__name__: f for f in (read_all, store, use_closed, free_opened, result_of_open, export, use_event)}


@pytest.mark.in_turn(2)
def test_another_process_reads_and_writes(context):  # noqa: F811
    # Small allocations have pages in common, and a large one is moved in parts.
    places = [allocate(context, n).value for n in (600, 600, 5 << 20, 40)]
    for i, p in enumerate(places):
        write(context, p, bytes(range(i, i + 16)))
    end = places[2] + (5 << 20) - 16
    write(context, end, b"e" * 16)
    handles = [memory_handle(context, p) for p in places]
    assert other_process(handles, "read_all", "0") == [bytes(range(i, i + 16)).hex() for i in range(4)]
    assert read(context, end, 16) == b"e" * 16
    assert other_process([handles[1]], "store") == 0
    assert [read(context, p, 4)[0] for p in places] == [0, 7, 2, 3]
    # What this process writes later is there, too.
    write(context, places[0], b"x" * 16)
    assert other_process(handles, "read_all", "0")[0] == (b"x" * 16).hex()


def test_a_handle_is_of_the_whole_allocation(context):  # noqa: F811
    p = allocate(context, 1000).value
    assert memory_handle(context, p + 500) == memory_handle(context, p)


@pytest.mark.in_turn(2)
def test_pages_are_given_back(context):  # noqa: F811
    p = allocate(context, 1 << 20)
    write(context, p.value, b"x" * (1 << 20))
    handle = memory_handle(context, p.value)
    a_page = "4096"
    assert other_process([handle], "read_all", a_page) == [(b"x" * 16).hex()]
    context("cuMemFree_v2", p)
    assert other_process([handle], "read_all", a_page) == [bytes(16).hex()]
    handle = Handle()
    assert context.code("cuIpcGetMemHandle", byref(handle), p) == INVALID_VALUE


@pytest.mark.in_turn(2)
def test_uses_of_open_memory_are_counted(context):  # noqa: F811
    handle = memory_handle(context, allocate(context, 64).value)
    illegal_address = 700
    assert other_process([handle], "use_closed") == [True, 0, 0, INVALID_VALUE, illegal_address]
    assert other_process([handle], "free_opened") == INVALID_VALUE


def test_no_handles_of_other_memory(context):  # noqa: F811
    host, managed = c_void_p(), c_uint64()
    context("cuMemAllocHost_v2", byref(host), c_size_t(64))
    context("cuMemAllocManaged", byref(managed), c_size_t(64), 1)
    for address in (host.value, managed.value, 64):
        assert context.code("cuIpcGetMemHandle", byref(Handle()), c_uint64(address)) == INVALID_VALUE


def test_what_cannot_be_opened(context):  # noqa: F811
    handle = memory_handle(context, allocate(context, 64).value)
    assert open_memory(context, handle)[0] == INVALID_CONTEXT
    assert open_memory(context, handle, 0)[0] == INVALID_VALUE
    assert open_memory(context, bytes(64))[0] == INVALID_VALUE
    assert context.code("cuIpcCloseMemHandle", c_uint64(int.from_bytes(handle[24:32], "little"))) == INVALID_VALUE
    ended = bytes.fromhex(other_process([], "export"))
    assert open_memory(context, ended)[0] == MAP_FAILED
    event = c_void_p()
    assert context.code("cuIpcOpenEventHandle", byref(event), Handle.from_buffer_copy(ended)) == INVALID_VALUE


@pytest.mark.in_turn(2)
def test_events(context):  # noqa: F811
    event, handle = c_void_p(), Handle()
    assert context.code("cuEventCreate", byref(event), INTERPROCESS) == INVALID_VALUE
    context("cuEventCreate", byref(event), DISABLE_TIMING)
    assert context.code("cuIpcGetEventHandle", byref(handle), event) == INVALID_HANDLE
    context("cuEventCreate", byref(event), INTERPROCESS | DISABLE_TIMING)
    context("cuIpcGetEventHandle", byref(handle), event)
    assert other_process([bytes(handle)], "use_event") == [0] * 5
    assert context.code("cuIpcOpenEventHandle", byref(c_void_p()), handle) == INVALID_CONTEXT
    assert other_process([bytes(handle)], "result_of_open") == INVALID_VALUE


def test_the_device_has_both(context):  # noqa: F811
    value = c_int()
    ipc_events = 125
    context("cuDeviceGetAttribute", byref(value), ipc_events, 0)
    assert value.value == 1
