"""C programs that check themselves, as GCC's ``gcc.c-torture/execute``: one thread that ends by ``abort`` or ``exit``.

The programs are not part of this repository: the folder ``gcc/testsuite/gcc.c-torture/execute`` of GCC's sources holds them.
clang compiles a program with its kernel and takes the functions of a C library that are missing from ``torture/runtime.c``.
"""

import random
import re
from pathlib import Path
from typing import Final

import numpy as np

from orias.ptx.parser import parse
from orias.sim import SimError, StepLimit
from orias.sim.ptx import PtxImage
from orias.tools.fuzz.judge import options, ptxas_cubin
from tools.strangers.choices import (
    ARCHES,
    FRONT_ARCH,
    FRONT_LEVELS,
    LEVELS,
    NO_HOST,
    NO_PROGRAM,
    NO_PTX,
    PTX_FAILS,
    PTX_REFUSED,
    STACK,
)
from tools.strangers.compilers import HOST_S, LIMIT_S, clang, run
from tools.strangers.judge_program import BOTH, OURS, REFUSED, STEPS, THEIRS, Result, judge

KERNEL: Final = "torture_kernel"
MOST_TEXT: Final = 300_000
"""Characters of PTX; larger ones are left out."""
_SUPPORT: Final = Path(__file__).parent / "torture"
_FLAGS: Final = ("-std=gnu89", "-w", "-fgnu89-inline", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off")
"""Those that the programs ask for in their own lines, for all of them."""
_WORD: Final = re.compile(r"^#define (\w+) (0x\w+)$", re.MULTILINE)
_MAIN: Final = re.compile(r"\b(?P<void>void\s+)?main\s*\((?P<parameters>(?:[^()]|\(\(\w+\)\))*)\)(?=\s*[\w{])")
"""The definition, also with attributes of parameters or types of parameters after their names; no call, which an operator follows."""
_NOT_DEFINED: Final = "Unresolved extern function"


def words() -> dict[str, int]:
    """The words that a program leaves, by name (``torture/words.h``)."""
    return {name: int(value, 16) for name, value in _WORD.findall((_SUPPORT / "words.h").read_text(encoding="utf-8"))}


def files(folder: Path) -> list[Path]:
    """The programs of a folder and of its folder ``ieee``, in the order of their names."""
    return sorted(folder.glob("*.c")) + sorted(folder.glob("ieee/*.c"))


def call_of_main(text: str) -> str:
    """An expression of type int that calls the function ``main`` of a program; one without definition is in another file."""
    m = _MAIN.search(text)
    parameters = [] if m is None else [p for p in m["parameters"].split(",") if p.strip() not in ("", "void")]
    call = f"main({','.join('0' for _ in parameters)})"
    return f"({call},0)" if m is not None and m["void"] else call


def to_ptx(program: Path, arch: str, level: str, folder: Path) -> str | None:
    """The PTX of a program with its kernel, None if clang refuses it; `folder` holds what is made on the way."""
    call, tool = call_of_main(program.read_text(encoding="utf-8", errors="replace")), clang()
    if tool is None:
        return None
    library, out = folder / "runtime.bc", folder / "program.ptx"
    device = [tool, "--target=nvptx64-nvidia-cuda", f"-march={arch}", "-nostdlibinc", f"-I{_SUPPORT}"]
    # Without -ffreestanding the loop of memcpy would become a call of memcpy.
    first = [*device, "-ffreestanding", "-O1", "-c", "-emit-llvm", str(_SUPPORT / "runtime.c"), "-o", str(library)]
    second = [
        *device, *_FLAGS, f"-O{level}", f'-DPROGRAM="{program.resolve()}"', f"-DMAIN={call}", "-Xclang", "-mlink-builtin-bitcode",
        "-Xclang", str(library), "-S", str(_SUPPORT / "kernel.c"), "-o", str(out),
    ]  # fmt: skip
    if run(first, LIMIT_S) is None or run(second, LIMIT_S) is None:
        return None
    return out.read_text(encoding="utf-8")


def passes_on_host(program: Path, level: str, folder: Path) -> bool:
    """Whether a program passes its own checks on the host, compiled by clang with the same options."""
    out = folder / "program.host"
    command = [clang() or "clang", *_FLAGS, f"-O{level}", str(program), "-o", str(out), "-lm"]
    return run(command, LIMIT_S) is not None and run([str(out)], HOST_S) is not None


def fails_interpreted(text: str, arch: str, steps: int) -> bool:
    """Whether the PTX of a program fails its checks in the interpreter of PTX, so that the front end is at fault."""
    out = np.zeros(1, np.uint64)
    try:
        PtxImage(parse(text, "program.ptx"), arch).launch(KERNEL, 1, 1, [out], max_steps=steps)
    except StepLimit:
        return False
    except SimError:
        return True
    return int(out[0]) != words()["PASSED"]


def check(
    program: Path, arch: str, level: int, front_level: str, folder: Path, ptxas: str | None, always: bool = False,
    hazards: str = "", steps: int = STEPS,
) -> tuple[Result, str]:  # fmt: skip
    """The verdict on a program, and its PTX; `always` and `hazards` as for ``judge_program.judge``."""
    text = to_ptx(program, FRONT_ARCH.get(arch, arch), front_level, folder)
    if text is None:
        return Result(NO_PTX), ""
    if len(text) > MOST_TEXT:
        return Result(NO_PROGRAM), ""
    result = judge(text, arch, level, 1, [words()["PASSED"]], ptxas, always, hazards, steps, KERNEL)
    if result.kind == REFUSED:
        undefined = result.detail.startswith(_NOT_DEFINED)
        if undefined or (ptxas is not None and isinstance(ptxas_cubin(ptxas, text, options(arch, level)), str)):
            result = Result(PTX_REFUSED)
    elif result.kind in (OURS, THEIRS, BOTH) and not passes_on_host(program, front_level, folder):
        result = Result(NO_HOST)
    elif result.kind == BOTH and result.detail.count(" at local address ") == 2:
        result = Result(STACK)
    elif result.kind in (OURS, BOTH) and fails_interpreted(text, arch, steps):
        result = Result(PTX_FAILS, result.detail if result.kind == OURS else "")
    return result, text


def one(source: Path, seed: int, folder: Path, ptxas: str | None, steps: int = STEPS) -> tuple[Result, str, str]:
    """The verdict on one seed, the PTX, and the name of the run.

    Seeds in order take each program of the folder `source` once, in a random order, before one comes again.
    """
    programs = files(source)
    if not programs:
        raise FileNotFoundError(f"{source}: no C programs")
    iteration, k = divmod(seed, len(programs))
    random.Random(iteration).shuffle(programs)
    r = random.Random(seed)
    arch, level, front_level = r.choice(ARCHES), r.choice(LEVELS), r.choice(FRONT_LEVELS)
    name = f"torture {programs[k].name} seed {seed} {arch} -O{level} clang -O{front_level}"
    hazards = "stop" if seed % 4 == 0 else ""
    result, text = check(programs[k], arch, level, front_level, folder, ptxas, seed % 8 == 0, hazards, steps)
    return result, text, name
