"""Makes PTX with line tables and with full debug information, for the other tools here.

python -m tools.debug_info.make_files FOLDER [--limit N] [--python PYTHON] [--include FOLDER ...]

FOLDER gets ``lineinfo/`` (nvcc -lineinfo) and ``debug/`` (nvcc -G): a file for each source of `tests/kernels/cuda` and of `programs`
and kind, for targets in turn.  The programs use CUB, Thrust, libcu++, CUTLASS and cooperative groups (``--include``: where their headers
are, from nvidia-cuda-cccl and nvidia-cutlass).  Clang makes those that begin with ``clang``, and ``--python`` names a Python with Triton,
numba-cuda and Warp, each of which may be missing.  Nothing that they write belongs into the repository.
"""

import argparse
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "tests" / "kernels" / "cuda"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")
KINDS = {"lineinfo": "-lineinfo", "debug": "-G"}
PROGRAMS = Path(__file__).parent / "programs"
CLANG = {"lineinfo": ("-O2", "-gline-tables-only"), "debug": ("-O0", "-g", "--cuda-noopt-device-debug")}
SECONDS = 250


def make(source: Path, kind: str, arch: str, out: Path, include: list[str]) -> str:
    """Compiles a source to PTX; why there is none, or nothing."""
    if source.name.startswith("clang"):
        flags = ["-S", "-nocudainc", "-nocudalib", "-xcuda", "-std=c++17", "-w", "--cuda-feature=+ptx83", *CLANG[kind]]
        command = ["clang-19", "--cuda-device-only", f"--cuda-gpu-arch={arch}", *flags]
    else:
        flags = ["-ptx", "-w", "-std=c++17", "--extended-lambda", KINDS[kind], f"-I{SOURCES}"]
        command = ["nvcc", f"-arch={arch}", *flags, *[f"-I{f}" for f in include]]
    return ran([*command, str(source), "-o", str(out)], out)


def ran(command: list[str], out: Path) -> str:
    """Runs a compiler; why there is no kernel in `out`, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, text=True)
    except (subprocess.TimeoutExpired, FileNotFoundError) as e:
        return str(e)
    if done.returncode == 0 and ".entry" in out.read_text():
        return ""
    out.unlink(missing_ok=True)
    return (done.stderr.splitlines() or ["no kernel"])[0]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--limit", type=int, default=1000, help="sources")
    p.add_argument("--python", help="an interpreter with Triton, numba-cuda, warp-lang")
    p.add_argument("--include", nargs="*", default=[], help="folders of headers")
    a = p.parse_args()
    made = 0
    for kind in KINDS:
        (a.folder / kind).mkdir(parents=True, exist_ok=True)
    for k, source in enumerate([*sorted(SOURCES.glob("*.cu")), *sorted(PROGRAMS.glob("*.cu"))][: a.limit]):
        arch = "sm_80" if source.stem == "gemm_tensor" else TARGETS[k % len(TARGETS)]
        arch = min(arch, "sm_90", key=len) if source.name.startswith("clang") else arch
        for kind in KINDS:
            out = a.folder / kind / f"{'' if source.name.startswith('clang') else 'nvcc_'}{source.stem}.{arch}.ptx"
            missing = "" if out.exists() else make(source, kind, arch, out, a.include)
            made += not missing
            if missing:
                print(f"{out.name}: {missing}")
    lines, debug = str(a.folder / "lineinfo"), str(a.folder / "debug")
    scripts = ("numba_files.py", str(a.folder)), ("triton_files.py", lines), ("warp_files.py", lines, "lineinfo"), ("warp_files.py", debug, "debug")  # fmt: skip
    for name, *arguments in scripts if a.python else ():
        done = subprocess.run([a.python, str(PROGRAMS / name), *arguments], capture_output=True, text=True, timeout=600)
        if done.returncode:
            print(f"{name}: {done.stderr.splitlines()[-1:]}")
    print(f"{made} files of nvcc and clang")
    return 0


if __name__ == "__main__":
    sys.exit(main())
