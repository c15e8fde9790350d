"""Audits a seeded sample of kernels: ptxas's code for each against its PTX, and how much of it could be compared.

    python -m tools.judge.audits RESULTS.jsonl PTX_FOLDER [--count N] [--seed N] [--limit SECONDS] [--turns N] [--arch sm_NN]...
                                 [--level N]... [--ours]

A line of the results for each kernel, target and cubin (of each level, and with --ours of both compilers): outcome (equal, different, not
compared, or the limit of processor time was passed), reason, and processor seconds of the whole command by the number of its cubins.  The other kernels of a file are left out where the rest compiles without
them.  Goes on where it was stopped; --until: ends at a time of day.
"""

import argparse
import contextlib
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orias
from tests.nvtools import find
from tools.judge.clock import moment

_ENTRY = re.compile(r"\.entry\s+([A-Za-z_$][\w$]*)")


def kernels(folder: Path) -> list[tuple[Path, str]]:
    """All (file, kernel) of the PTX files below a folder."""
    out: list[tuple[Path, str]] = []
    for path in sorted(folder.rglob("*.ptx")):
        out.extend((path, name) for name in _ENTRY.findall(path.read_text(encoding="latin-1")))
    return out


_OTHER = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)\s+)*\.entry\s+([A-Za-z_$][\w$]*)", re.MULTILINE)


def alone(text: str, kernel: str) -> str:
    """A PTX text without the bodies of other kernels."""
    out, at = [], 0
    for m in _OTHER.finditer(text):
        if m[1] == kernel or m.start() < at:
            continue
        depth, end = 0, text.find("{", m.end())
        while 0 <= end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        out.append(text[at : m.start()])
        at = end
    return "".join(out) + text[at:]


def _limit(seconds: float) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))

    return limit


def _cubins(source: Path, arch: str, ptxas: str, levels: list[int], ours: bool) -> dict[str, Path]:
    """The cubins of a PTX file beside it, by who made them and at which level; those that a compiler refuses are left out."""
    out: dict[str, Path] = {}
    for level in levels:
        goal = source.with_name(f"ptxas-O{level}.cubin")
        command = [ptxas, f"-arch={arch}", f"-O{level}", str(source), "-o", str(goal)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            if subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0:
                out[f"ptxas -O{level}"] = goal
        if ours:
            goal = source.with_name(f"orias-O{level}.cubin")
            with contextlib.suppress(orias.CompileError):
                goal.write_bytes(orias.compile(source.read_bytes(), arch=arch, opt_level=level).data)
                out[f"orias -O{level}"] = goal
    return out


def audit(
    path: Path, kernel: str, arch: str, ptxas: str, turns: int, limit: float, levels: list[int], ours: bool
) -> list[dict[str, Any]]:
    """The results for one kernel."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / path.name
        source.write_text(alone(path.read_text(encoding="latin-1"), kernel), encoding="latin-1")
        made = _cubins(source, arch, ptxas, levels, ours)
        if not made:
            source.write_bytes(path.read_bytes())
            made = _cubins(source, arch, ptxas, levels, ours)
        same = {"file": path.name, "kernel": kernel, "target": arch}
        if not made:
            return [{**same, "by": "", "outcome": "refused", "reason": "", "seconds": 0.0}]
        return [{**same, **found} for found in _audited(source, made, kernel, turns, limit)]


def _audited(source: Path, made: dict[str, Path], kernel: str, turns: int, limit: float) -> list[dict[str, Any]]:
    command = [
        sys.executable, "-m", "orias", "audit", str(source), *map(str, made.values()), "--kernel", kernel, "--turns", str(turns),
        "--seconds", "0", "--json",
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    verdicts: list[dict[str, Any]] = []
    other = "time limit"
    try:
        r = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=20 * limit,
            check=False,
            preexec_fn=_limit(limit * len(made)),
        )
        if r.returncode >= 0:
            verdicts = json.loads(r.stdout)["verdicts"] if r.stdout else []
            other = r.stderr[:200]
    except subprocess.TimeoutExpired:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = round((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / len(made), 2)
    by = {Path(v["cubin"]).name: v for v in verdicts}
    out: list[dict[str, Any]] = []
    for who, cubin in made.items():
        v = by.get(cubin.name, {"outcome": other or "not compared", "skipped": []})
        out.append({
            "by": who, "outcome": v["outcome"], "reason": "; ".join(v["skipped"])[:200], "difference": v.get("difference"), "seconds": seconds,
        })  # fmt: skip
    return out


def main() -> None:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("results", type=Path)
    p.add_argument("folder", type=Path)
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", type=int, default=19)
    p.add_argument("--limit", type=float, default=120.0)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--arch", action="append")
    p.add_argument("--level", type=int, action="append")
    p.add_argument("--ours", action="store_true")
    p.add_argument("--until", default="")
    a = p.parse_args()
    ptxas, end = find("ptxas"), moment(a.until)
    if ptxas is None:
        sys.exit("ptxas is not installed")
    done = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    known = {(d["file"], d["kernel"], d["target"]) for d in done}
    all_kernels = kernels(a.folder)
    sample = random.Random(a.seed).sample(all_kernels, min(a.count, len(all_kernels)))
    with a.results.open("a") as f:
        for path, kernel in sample:
            for arch in a.arch or ["sm_80", "sm_90"]:
                if (path.name, kernel, arch) in known or time.time() > end:
                    continue
                for row in audit(path, kernel, arch, ptxas, a.turns, a.limit, a.level or [3], a.ours):
                    done.append(row)
                    f.write(json.dumps(row) + "\n")
                f.flush()
    for arch, by in sorted({(d["target"], d["by"]) for d in done if d["outcome"] != "refused"}):
        mine = [d for d in done if (d["target"], d["by"]) == (arch, by)]
        compared = [d for d in mine if d["outcome"] in ("equal", "different")]
        wrong = sum(d["outcome"] == "different" for d in mine)
        middle = statistics.median(d["seconds"] for d in mine) if mine else 0.0
        print(
            f"{arch}, {by}: {len(mine)} kernels, {len(compared)} compared, {wrong} different, median {middle:.1f} s of processor time"
        )


if __name__ == "__main__":
    main()
