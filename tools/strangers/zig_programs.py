"""Programs of Zig's standard library (hashes, ciphers, wide integers, sorts, maps, text), compiled by Zig for both machines."""

import ctypes
import random
import re
import shlex
from pathlib import Path
from typing import Final

import numpy as np

from tools.strangers.choices import ARCHES, FRONT_ARCH, LEVELS, NO_HOST, NO_PROGRAM, NO_PTX
from tools.strangers.compilers import LIMIT_S, run
from tools.strangers.judge_program import STEPS, Result, judge

THREADS: Final = 32
WORDS: Final = 8
"""Of a thread's result."""
MODES: Final = ("ReleaseFast", "ReleaseSmall", "ReleaseSafe")
MOST_TEXT: Final = 300_000
"""Characters of PTX; larger ones are left out."""
_SOURCE: Final = Path(__file__).parent / "zig" / "programs.zig"
_NAME: Final = re.compile(r"pub fn (\w+)\(seed: u64, out: \*Words\)")


def names() -> list[str]:
    """The programs, in the order of their file."""
    return _NAME.findall(_SOURCE.read_text(encoding="utf-8"))


def one(zig: str, seed: int, folder: Path, ptxas: str | None, steps: int = STEPS) -> tuple[Result, str, str]:
    """The verdict on one seed, the PTX, and the name of the run; `zig` is a command, seeds in order take each program in turn."""
    programs = names()
    name, r = programs[seed % len(programs)], random.Random(seed)
    arch, level, mode = r.choice(ARCHES), r.choice(LEVELS), r.choice(MODES)
    title = f"zig {name} seed {seed} {arch} -O{level} {mode}"
    (folder / "chosen.zig").write_text(f'pub const name = "{name}";\npub const seed: u64 = {r.getrandbits(64)};\n')
    modules = ["--dep", "chosen", f"-Mroot={_SOURCE}", f"-Mchosen={folder / 'chosen.zig'}"]
    library, out = folder / "host.so", folder / "k.ptx"
    host = ["build-lib", "-dynamic", "-lc", "-O", MODES[0], f"-femit-bin={library}", *modules]
    device = ["build-obj", "-target", "nvptx64-cuda", "-mcpu", FRONT_ARCH.get(arch, arch), "-O", mode, "-fno-emit-bin"]
    if run([*shlex.split(zig), *host], LIMIT_S) is None:
        return Result(NO_HOST), "", title
    if run([*shlex.split(zig), *device, f"-femit-asm={out}", *modules], LIMIT_S) is None:
        return Result(NO_PTX), "", title
    text = out.read_text(encoding="utf-8").rstrip("\0")
    if len(text) > MOST_TEXT:
        return Result(NO_PROGRAM), "", title
    want = np.zeros(THREADS * WORDS, np.uint64)
    ctypes.CDLL(str(library)).run(want.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint32(THREADS))
    hazards = "stop" if seed % 4 == 0 else ""
    result = judge(text, arch, level, THREADS, [int(x) for x in want], ptxas, seed % 8 == 0, hazards, steps)
    return result, text, title
