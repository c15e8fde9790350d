"""The management library (NVML), through ctypes as nvidia-ml-py calls it."""

import sys

from orias.driver import library
from orias.driver.driver_calls import HANDLERS
from tests.driver.test_driver import execute

PROGRAM = """
import ctypes, os
from ctypes import byref, c_int, c_uint, c_uint64, c_void_p, create_string_buffer
c, m = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
device, n, pair, text = c_void_p(), c_uint(), (c_uint * 2)(), create_string_buffer(96)
m.nvmlErrorString.restype = ctypes.c_char_p
print(m.nvmlDeviceGetCount_v2(byref(n)), m.nvmlInit_v2(), m.nvmlDeviceGetCount_v2(byref(n)), n.value)
print(m.nvmlDeviceGetHandleByIndex_v2(1, byref(device)), m.nvmlDeviceGetHandleByIndex_v2(0, byref(device)))
print(m.nvmlDeviceGetName(device, text, 5), m.nvmlDeviceGetName(device, text, 96), text.value.decode())
print(m.nvmlDeviceGetCudaComputeCapability(device, byref(pair), ctypes.byref(pair, 4)), *pair)
cuda = create_string_buffer(16)
c.cuInit(0), c.cuDeviceGetUuid_v2(cuda, 0)
m.nvmlDeviceGetUUID(device, text, 96)
print(text.value[4:].decode().replace("-", "") == cuda.raw.hex(), m.nvmlDeviceGetHandleByUUID(text, byref(device)), m.nvmlDeviceGetHandleByUUID(b"GPU-1", byref(device)))
place = create_string_buffer(68)
print(m.nvmlDeviceGetPciInfo_v3(device, place), place.raw[:12].decode(), place.raw[36:52].decode(), m.nvmlDeviceGetHandleByPciBusId_v2(b"0000:01:00.0", byref(device)))
sizes, address, context = (c_uint64 * 5)(), c_uint64(), c_void_p()
c.cuCtxCreate_v2(byref(context), 0, 0), c.cuMemAlloc_v2(byref(address), ctypes.c_size_t(1 << 20))
print(m.nvmlDeviceGetMemoryInfo(device, sizes), sizes[0] == sizes[1] + sizes[2], sizes[2] >= 1 << 20)
old = m.nvmlDeviceGetMemoryInfo_v2(device, sizes)
sizes[0] = 40 | 2 << 24
print(old, m.nvmlDeviceGetMemoryInfo_v2(device, sizes), sizes[1] == sizes[2] + sizes[3] + sizes[4])
print(m.nvmlDeviceGetUtilizationRates(device, pair), *pair, m.nvmlDeviceGetComputeRunningProcesses_v3(device, byref(n), None), n.value)
print(m.nvmlDeviceGetTemperature(device, 0, byref(n)), m.nvmlErrorString(3).decode(), m.nvmlDeviceGetName(None, text, 96), m.nvmlDeviceGetIndex(device, None))
print(m.nvmlShutdown(), m.nvmlShutdown(), m.nvmlErrorString(1).decode())
"""
EXPECTED = """\
1 0 0 1
2 0
7 0 NVIDIA A100-SXM4-80GB
0 8 0
True 0 6
0 0000:01:00.0 00000000:01:00.0 0
0 True True
25 0 True
0 0 0 0 0
3 Not Supported 2 2
0 1 Uninitialized
"""


def test_what_it_tells_of_the_device(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert execute(["--device", "A100", "--", sys.executable, str(program)]).stdout == EXPECTED


def test_all_but_what_is_not_supported_have_a_handler():
    for f in library.management_functions():
        assert (f.symbol in HANDLERS) == (f.arguments is not None), f.symbol
