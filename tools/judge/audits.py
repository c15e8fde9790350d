"""Audits a seeded sample of kernels: ptxas's code for each against its PTX, and how much of it could be compared.

    python -m tools.judge.audits RESULTS.jsonl PTX_FOLDER [--count N] [--seed N] [--limit SECONDS] [--turns N] [--arch sm_NN]...

A line of the results for each kernel and target: outcome (equal, different, not compared, or the limit of processor time was
passed), reason, and processor seconds of the whole command.  The other kernels of a file are left out where the rest compiles without
them.  Goes on where it was stopped; --until: ends at a time of day.
"""

import argparse
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


def audit(path: Path, kernel: str, arch: str, ptxas: str, turns: int, limit: float) -> dict[str, Any]:
    """The result for one kernel."""
    text = path.read_text(encoding="latin-1")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        small.write_text(alone(text, kernel), encoding="latin-1")
        try:
            compiled = subprocess.run(
                [ptxas, f"-arch={arch}", str(small), "-o", str(small.with_suffix(".cubin"))],
                capture_output=True,
                timeout=120,
                check=False,
            )
            source = small if compiled.returncode == 0 else path
        except subprocess.TimeoutExpired:
            source = path
        return _audited(source, path, kernel, arch, ptxas, turns, limit)


def _audited(source: Path, path: Path, kernel: str, arch: str, ptxas: str, turns: int, limit: float) -> dict[str, Any]:
    command = [
        sys.executable, "-m", "orias", "audit", str(source), "--with", ptxas, "--arch", arch, "--kernel", kernel, "--turns", str(turns),
        "--seconds", "0", "--json",
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out: dict[str, Any] = {"file": path.name, "kernel": kernel, "target": arch}
    try:
        r = subprocess.run(
            command, capture_output=True, text=True, timeout=20 * limit, check=False, preexec_fn=_limit(limit)
        )
        if r.returncode < 0:
            raise subprocess.TimeoutExpired(command, limit)
        data = json.loads(r.stdout) if r.stdout else {"verdicts": [], "refused": [r.stderr[:200]]}
        v = data["verdicts"][0] if data["verdicts"] else {"outcome": "refused", "skipped": data["refused"]}
        out |= {"outcome": v["outcome"], "reason": "; ".join(v["skipped"])[:200], "difference": v.get("difference")}
    except subprocess.TimeoutExpired:
        out |= {"outcome": "time limit", "reason": ""}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    out["seconds"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)
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
                done.append(audit(path, kernel, arch, ptxas, a.turns, a.limit))
                f.write(json.dumps(done[-1]) + "\n")
                f.flush()
    for arch in sorted({d["target"] for d in done}):
        mine = [d for d in done if d["target"] == arch and d["outcome"] != "refused"]
        compared = [d for d in mine if d["outcome"] in ("equal", "different")]
        wrong = sum(d["outcome"] == "different" for d in mine)
        middle = statistics.median(d["seconds"] for d in mine) if mine else 0.0
        print(
            f"{arch}: {len(mine)} kernels, {len(compared)} compared, {wrong} different, median {middle:.1f} s of processor time"
        )


if __name__ == "__main__":
    main()
