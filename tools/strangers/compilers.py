"""Compiles C for the host and, through a front end of others, to PTX."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.nvtools import find

HEADERS: Final = Path(__file__).parent / "device"
CSMITH_HEADERS: Final = ("/usr/include/csmith", "/usr/local/include/csmith")
LIMIT_S: Final = 60
HOST_S: Final = 2
CICC_LEVELS: Final = ("0", "1", "2", "3")


def clang() -> str | None:
    """A clang that compiles C for nvptx64."""
    for name in ("clang-19", "clang-18", "clang-17", "clang-16", "clang"):
        if path := shutil.which(name):
            return path
    return None


def csmith_headers() -> str | None:
    """The folder of Csmith's headers."""
    return next((d for d in CSMITH_HEADERS if Path(d, "safe_math.h").exists()), None)


def run(command: list[str], limit: float) -> str | None:
    """What a command prints, None if it fails or does not end in time."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def to_ptx(source: Path, arch: str, level: str, front: str, more: list[str]) -> str | None:
    """The PTX of a C file by `front` (clang, or nvcc for CUDA C++), None if it is refused."""
    out = source.with_suffix(".ptx")
    include = [f"-I{HEADERS}", *(f"-I{d}" for d in CSMITH_HEADERS)]
    if front == "clang":
        tool = clang()
        command = [
            tool or "clang", "--target=nvptx64-nvidia-cuda", f"-march={arch}", "-ffreestanding", "-fno-strict-aliasing", "-fwrapv", "-w",
            f"-O{level}", "-ffp-contract=off", "-S", *include, *more, "-DDEVICE", str(source), "-o", str(out),
        ]  # fmt: skip
    else:
        tool = find("nvcc")
        command = [
            tool or "nvcc", "-ptx", f"-arch={arch}", "-fmad=false", "-w", f"-Xcicc=-O{level if level in CICC_LEVELS else 3}", *include, *more, "-DDEVICE", "-x", "cu",
            str(source), "-o", str(out),
        ]  # fmt: skip
    if run(command, LIMIT_S) is None:
        return None
    return out.read_text(encoding="utf-8")


def _host(source: Path, more: list[str], compiler: str = "") -> Path | None:
    """The program that gcc or another compiler makes of a C file for the host; None if it does not compile."""
    program = source.with_suffix(".host")
    include = [f"-I{HEADERS}", *(f"-I{d}" for d in CSMITH_HEADERS)]
    compiler = compiler or ("g++" if source.suffix == ".cc" else "gcc")
    command = [compiler, "-w", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", *include, *more, str(source), "-o", str(program), "-lm"]  # fmt: skip
    return None if run(command, LIMIT_S) is None else program


def on_host(source: Path, more: list[str], level: str = "1", compiler: str = "") -> list[int] | None:
    """The 64-bit words that a program prints in hexadecimal when `compiler` (gcc) compiles it; None if it does not compile or end."""
    program = _host(source, [f"-O{level}", *more], compiler)
    said = None if program is None else run([str(program)], HOST_S)
    return None if said is None else [int(w, 16) for w in said.split()]


def is_undefined(source: Path, more: list[str]) -> bool:
    """Whether a program converts a float to an integer type that does not hold it, for which C has no meaning.

    Csmith makes such programs (a float as an argument of type uint16_t), and no two targets need agree on them.
    """
    program = _host(source, ["-O1", "-fsanitize=float-cast-overflow", *more])
    if program is None:
        return False
    try:
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=4 * HOST_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return "outside the range of representable values" in done.stderr
