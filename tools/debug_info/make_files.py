"""Makes PTX with line tables and with full debug information out of the kernels of the tests, for the other tools here.

python -m tools.debug_info.make_files FOLDER [--limit N]

FOLDER gets ``lineinfo/`` (nvcc -lineinfo) and ``debug/`` (nvcc -G): a file for each source of `tests/kernels/cuda` and kind, for targets
in turn.  Files of Triton, numba and llc are in the corpus.  Nothing of them belongs into the repository.
"""

import argparse
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "tests" / "kernels" / "cuda"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")
KINDS = {"lineinfo": "-lineinfo", "debug": "-G"}
SECONDS = 120


def make(source: Path, option: str, arch: str, out: Path) -> str:
    """Compiles a source to PTX; why there is none, or nothing."""
    command = ["nvcc", "-ptx", "-w", "-std=c++17", f"-arch={arch}", option, f"-I{SOURCES}", str(source), "-o", str(out)]
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
    a = p.parse_args()
    made = 0
    for k, source in enumerate(sorted(SOURCES.glob("*.cu"))[: a.limit]):
        arch = TARGETS[k % len(TARGETS)]
        for kind, option in KINDS.items():
            out = a.folder / kind / f"nvcc_{source.stem}.{arch}.ptx"
            out.parent.mkdir(parents=True, exist_ok=True)
            missing = "" if out.exists() else make(source, option, arch, out)
            made += not missing
            if missing:
                print(f"{out.name}: {missing}")
    print(f"{made} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
