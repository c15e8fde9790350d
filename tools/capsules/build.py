"""``python -m tools.capsules.build FOLDER -o TABLE``: the table of rules from its sources, in one command.

Cubins of ptxas give rules (``tools.capsules``), nvlink narrows them (``refine``), what Orias writes without rule is listed (``campaign``), and nvlink
judges candidates for it (``candidates``).  Each step writes a file in the folder; a step whose file is there is not repeated.
"""

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from orias.cubin.capsule.capsule_rules import RULES_PATH
from tools.capsules.__main__ import main as derive
from tools.capsules.campaign import KINDS
from tools.capsules.campaign import main as campaign
from tools.capsules.candidates import ARCHES
from tools.capsules.candidates import main as candidates
from tools.capsules.refine import main as refine


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--keep", type=Path, default=Path(RULES_PATH), help="a table whose rules stay where the samples give none"
    )
    parser.add_argument("--targets", default="sm_100a,sm_120a,sm_110a")
    parser.add_argument("--kinds", default="", help="sources of these kinds alone")
    parser.add_argument(
        "--count", type=int, default=2000, help="random programs and forms that are asked for what has no rule"
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="for each of these runs")
    parser.add_argument("-o", type=Path, dest="out", required=True)
    o = parser.parse_args(arguments)
    o.folder.mkdir(parents=True, exist_ok=True)
    table = o.folder / "derived.txt"
    _step(
        table,
        lambda: derive(
            [
                str(o.folder / "cubins"),
                "--targets",
                o.targets,
                "--kinds",
                o.kinds,
                "--keep",
                str(o.keep),
                "-o",
                str(table),
            ]
        ),
    )
    for arch in (*ARCHES, "sm_100f"):
        only = ["--only", "UTC"] if arch == "sm_100f" else []
        table = _refined(table, o.folder / f"refined-{arch}.txt", arch, only)
    missing: list[str] = []
    for arch in ARCHES:
        for kind in KINDS:
            path = o.folder / f"missing-{arch}-{kind}.txt"
            asked = ["--arch", arch, "--kind", kind, "--count", str(o.count), "--seconds", str(o.seconds)]
            _step(path, _asking([*asked, "--no-run", "--rules", str(table), "--missing", str(path)]))
            missing.append(str(path))
    added = o.folder / "candidates.txt"
    _step(added, lambda: candidates([str(table), "--missing", *missing, "-o", str(added)]))
    shutil.copyfile(added, o.out)
    return 0


def _asking(arguments: list[str]) -> Callable[[], int]:
    return lambda: campaign(arguments)


def _refined(table: Path, out: Path, arch: str, only: list[str]) -> Path:
    _step(out, lambda: refine([str(table), "--arch", arch, *only, "-o", str(out)]))
    return out


def _step(path: Path, run: Callable[[], int]) -> None:
    """Run a step unless its file is there."""
    if not path.exists():
        print(f"== {path.name}", flush=True)
        run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
