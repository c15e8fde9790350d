"""Write ``docs/ptxas-faults.md`` from the catalogue of :mod:`orias.tools.audit.known_faults`.

python tools/write_faults_page.py
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from orias.tools.audit.known_faults import Fault, catalogue

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "tests" / "oracle_faults"
LONGEST = 80
"""Lines of PTX that the page shows; longer programs are linked."""
HEAD = """\
# Faults of ptxas

Written by `python tools/write_faults_page.py` from `orias/tools/audit/data/ptxas_faults.toml`. Each
entry is proven by a test in `tests/oracle_faults`: the program, what `ptxas` computes and what the
PTX says. Orias is right on all of them. `orias audit` ([audit.md](audit.md)) names the entry that
fits a wrong cubin.

"Levels" are those that are wrong. "Wrong in" and "right in" list the releases that were tried;
"right" includes those that refuse the program.

| fault | kind | levels | wrong in | right in |
|---|---|---|---|---|
"""
TAIL = """
## Which releases

The releases were run as black boxes on the programs of `tests/oracle_faults` at the levels of their
tests, and the results were simulated. Not every release was tried with every program.
"""


def _row(f: Fault) -> str:
    levels = ", ".join(f"-O{n}" for n in f.levels)
    return f"| [{f.name}](#{f.name}) | {f.kind} | {levels} | {', '.join(f.wrong)} | {', '.join(f.right) or '-'} |\n"


def _program(f: Fault) -> str:
    place = f"`tests/oracle_faults/{f.file or f.proof}`"
    if f.excerpt:
        made = "" if f.file else "made by "
        return f"What matters of the program ({made}{place}):\n\n```ptx\n{f.excerpt}```\n"
    lines = [x for x in (FAULTS / f.file).read_text().splitlines() if not x.startswith("//")]
    assert len(lines) <= LONGEST, f"{f.name} needs an excerpt"
    return "```ptx\n" + "\n".join(lines) + "\n```\n"


def _wrapped(text: str) -> str:
    out, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > 100:
            out.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*out, line]) + "\n"


def _entry(f: Fault) -> str:
    return (
        f"\n## {f.name}\n\n"
        + _wrapped(f"{f.title}. {f.cause}")
        + "\n"
        + _wrapped(f"Who is hit: {f.who}")
        + "\n"
        + _wrapped(f"Instead: {f.workaround}")
        + "\n"
        + f"Targets: `{f.targets}`. Proof: `tests/oracle_faults/{f.proof}`.\n\n"
        + _program(f)
    )


def page() -> str:
    """The whole page."""
    found = catalogue()
    return HEAD + "".join(map(_row, found)) + TAIL + "".join(map(_entry, found))


if __name__ == "__main__":
    (ROOT / "docs" / "ptxas-faults.md").write_text(page())
