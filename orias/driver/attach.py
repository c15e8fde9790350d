"""Connects the C library to its functions in Python; the library imports this when it is called first."""

import atexit
import ctypes
import os
import sys
import threading
import traceback
from typing import Any, Final

from orias.driver import library
from orias.driver.driver_calls import HANDLERS
from orias.driver.driver_state import Driver
from orias.driver.results import NAMES, NUMBERS, DriverError
from orias.driver.runtime_calls import failed
from orias.driver.sanitizer import Sanitizer
from orias.driver.timeline import print_report

_CALLBACK: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int))
_QUIET: Final = ("cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable")
"""Clients ask these for what may be missing: a trace of errors leaves them out."""
_NO_ERRORS: Final = (
    *_QUIET, "cuEventQuery", "cuStreamQuery", "cudaEventQuery", "cudaStreamQuery", "cudaGetLastError", "cudaPeekAtLastError",
)  # fmt: skip
"""What these return tells of something else."""
_INTERRUPTED: Final = -1
_BEGUN: Final = -2
_FRAMES: Final = "torch._C._dynamo.eval_frame"
"""The module through which TorchDynamo compiles each frame of Python that runs in a function under ``torch.compile``."""
_kept: list[Any] = []
_interruptions: list[type[BaseException]] = []
"""Classes whose addresses the library has got."""


def connect(place: int, path: str) -> None:
    """Store the callback at address `place` of the library at `path`; without one every function fails."""
    driver = Driver.of_process = Driver(path)
    own, runtime, management = library.functions(), library.runtime_functions(), library.management_functions()
    exported: list[library.Function | library.RuntimeFunction] = [*own, *runtime, *management]
    names = [f.symbol for f in exported]
    first_of_management = len(own) + len(runtime)
    silent = [f.of in _NO_ERRORS or i >= first_of_management for i, f in enumerate(exported)]
    counts = [*(len(f.arguments or "") for f in own), *(f.values for f in (*runtime, *management))]
    handlers = [next((HANDLERS[n] for n in f.names if n in HANDLERS), None) for f in exported]
    first_runtime = len(own)
    lock = threading.RLock()
    ctypes.c_uint64.in_dll(ctypes.CDLL(path), "orias_pool").value = driver.pool
    interruption = ctypes.c_void_p.in_dll(ctypes.CDLL(path), "orias_interruption")
    trace = os.environ.get("ORIAS_DRIVER_TRACE", "")

    def answer(index: int, values: Any) -> int:
        if index < 0:
            atexit._run_exitfuncs()
            return 0
        handler = handlers[index]
        given = values[: counts[index]]
        reason = ""
        try:
            if handler is None:
                raise DriverError("NOT_SUPPORTED", "not in this driver")
            # The simulator runs one launch at a time.
            with lock:
                driver.check(handler.needs)
                result = handler.function(driver, *given) or 0
        except DriverError as e:
            result, reason = e.number, e.reason
            if first_runtime <= index < first_of_management:
                failed(driver, result)
        except Exception:
            sys.stderr.write(f"orias: {names[index]}: internal error\n{traceback.format_exc()}")
            result = NUMBERS["UNKNOWN"]
        except BaseException as e:
            # KeyboardInterrupt, or what a handler of the program raises: the program gets it, not ctypes.
            _interruptions.append(type(e))
            interruption.value = id(type(e))
            return _INTERRUPTED
        if result and driver.sanitizer is not None and not silent[index]:
            driver.sanitizer.failed_call(names[index], NAMES.get(result, str(result)), reason)
        if trace == "all" or (trace and result and names[index] not in _QUIET):
            sys.stderr.write(f"orias: {names[index]}({', '.join(hex(v) for v in given)}) = {result} {reason}\n")
        return result

    def call(index: int, values: Any, result: Any) -> None:
        # An exception of a signal's handler may come where nothing catches it: the library sees how far this came.
        result[0] = _BEGUN
        # The frames below are the driver's, not the program's: compiled as if they were, they fail where they use numpy.
        frames = sys.modules.get(_FRAMES)
        compiler = frames.set_eval_frame(None) if frames is not None else None
        try:
            result[0] = answer(index, values)
        finally:
            if frames is not None and compiler is not None:
                frames.set_eval_frame(compiler)

    if os.environ.get("ORIAS_TOOL"):
        driver.sanitizer = Sanitizer(driver.arena)
        exit_code = ctypes.c_int.in_dll(ctypes.CDLL(path), "orias_exit_code")

        def end() -> None:
            exit_code.value = driver.sanitizer.end()

        atexit.register(end)

    if os.environ.get("ORIAS_REPORT"):
        atexit.register(print_report, driver.timeline)
    function = _CALLBACK(call)
    _kept.append(function)
    ctypes.c_void_p.from_address(place).value = ctypes.cast(function, ctypes.c_void_p).value
