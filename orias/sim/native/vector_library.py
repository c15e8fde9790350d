"""The library of ``vector.c``, built once for each kind of processor, where the machine has a C compiler.

``ORIAS_NATIVE=0`` in the environment leaves it out: then numpy executes every instruction, with the same results.
"""

import ctypes
import hashlib
import os
import platform
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any, Final

from orias import c_library
from orias.sim.native.record_format import enumeration

FOLDER: Final = Path(__file__).parent
OPTIONS: Final = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w", "-lm")


def _processor() -> str:
    """What the machine's processor is able to do, in words."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((x for x in lines if x.startswith("flags")), "")


@cache
def library() -> Any:
    """The function ``orias_run``, None where it is not wanted or there is no C compiler."""
    if (
        os.environ.get("ORIAS_NATIVE") == "0"
        or (sys.platform, platform.machine()) != ("linux", "x86_64")
        or c_library.compiler() is None
    ):
        return None
    files = [x.read_text(encoding="utf-8") for x in sorted(FOLDER.glob("*.[ch]"))]
    words = "\0".join((enumeration(), *files, *OPTIONS, c_library.compiler() or "", _processor()))
    place = c_library.cache() / f"vector-{hashlib.sha256(words.encode()).hexdigest()[:16]}.so"
    try:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            c_library.build(f'{enumeration()}#include "vector.c"\n', place, [f"-I{FOLDER}", *OPTIONS])
        # It keeps the interpreter's lock: its scratch memory is there once.
        run = ctypes.PyDLL(str(place)).orias_run
    except (c_library.BuildError, OSError) as e:
        warnings.warn(f"the simulator's C library cannot be used: {e}", RuntimeWarning, stacklevel=2)
        return None
    run.restype = ctypes.c_int64
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 5, ctypes.c_void_p, *[ctypes.c_int64] * 3]
    return run
