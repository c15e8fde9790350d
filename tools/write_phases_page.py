"""Write ``docs/phases.md`` from the tables of :mod:`orias.pipeline`.

python tools/write_phases_page.py
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from orias.pipeline.documented import documented_phases
from orias.pipeline.phases import ORDER, PHASES

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
# Phases

Written by `python tools/write_phases_page.py` from `orias/pipeline/phases.py` and
`orias/pipeline/data/documented_phases.txt`. [command-line.md](command-line.md) shows how to dump,
skip, time and run phases; [facts/optimizer.md](facts/optimizer.md) where the names and levels come
from.

## What runs on each function

"Levels": the optimisation levels that run the phase. Phases of level 0 cannot be skipped.

| phase | levels | what it does |
|---|---|---|
"""
STATES = {"runs": "runs", "elsewhere": "done elsewhere", "none": "not needed", "absent": "absent", "open": "open"}


def page() -> str:
    """The whole page."""
    out = HEAD + "".join(f"| {p.name} | {p.levels} | {p.about} |\n" for p in PHASES)
    out += "\n## Order\n\n| this phase | runs before | because |\n|---|---|---|\n"
    out += "".join(f"| {a} | {b} | {why} |\n" for a, b, why in ORDER)
    out += (
        "\n## The documented phases of ptxas\n\n"
        '"Gate": the levels at which `ptxas` runs the phase, or what switches it. "Absent": not done, and a\n'
        'probe of `bench/phase_probes.py` loses nothing by it; "open": `ptxas` gains in such a probe\n'
        "([log/phase-probes.md](log/phase-probes.md)).\n\n"
        "| phase | gate | in Orias | how |\n|---|---|---|---|\n"
    )
    out += "".join(f"| {d.name} | {d.gate} | {STATES[d.state]} | {d.text} |\n" for d in documented_phases())
    return out


if __name__ == "__main__":
    (ROOT / "docs" / "phases.md").write_text(page())
