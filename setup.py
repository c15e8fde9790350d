"""Build switch: ``ORIAS_MYPYC=1 pip install --no-build-isolation .`` compiles the hot packages with mypyc; without it the package is plain Python."""

import os
from pathlib import Path

from setuptools import setup

PACKAGES = (
    "knobs",
    "isa",
    "target",
    "timing",
    "semantics",
    "ori",
    "analysis",
    "ptx",
    "lower",
    "passes",
    "regalloc",
    "schedule",
    "pipeline",
    "output",
)
"""Packages that a compile spends its time in.  The others (command line, cubin, simulator, tools) gain nothing."""

LEFT_OUT = {
    "orias/knobs/knob_settings.py": "read once per compile; its settings travel to worker processes",
    "orias/lower/frame/families.py": "imports handlers for their side effect",
    "orias/ori/fact_text.py": "dumps and tests only",
    "orias/ori/text.py": "dumps and tests only",
    "orias/ori/text_reader.py": "dumps and tests only; its error is a ValueError, which mypyc cannot subclass",
    "orias/pipeline/watch.py": "dumps, times and verification only",
    "orias/target/target_names.py": "plain data that the command line loads in no time",
    "orias/ori/verify.py": "tests and self-checks only",
    "orias/output/result.py": "has a subclass in plain Python",
}
"""Module -> why it stays plain Python."""


def modules() -> list[str]:
    """Files to compile, sorted, so that builds repeat."""
    out = []
    for package in PACKAGES:
        for path in sorted(Path("orias", package).rglob("*.py")):
            name = path.as_posix()
            if path.name != "__init__.py" and name not in LEFT_OUT:
                out.append(name)
    return out


if os.environ.get("ORIAS_MYPYC") == "1":
    from mypyc.build import mypycify

    setup(
        ext_modules=mypycify(
            ["--strict", "--follow-imports=silent", *modules()],
            opt_level=os.environ.get("ORIAS_MYPYC_OPT", "3"),
            multi_file=True,
        )
    )
else:
    setup()
