"""Build switch: ``ORIAS_MYPYC=1 pip install --no-build-isolation .`` compiles the hot rooms with mypyc; without it the package is plain Python."""

import os
from pathlib import Path

from setuptools import setup

ROOMS = ("isa", "semantics", "target", "ori", "analysis", "ptx", "lower", "passes", "regalloc", "schedule")
"""Rooms that a compile spends its time in.  The others (command line, cubin, simulator, tools) gain nothing."""

LEFT_OUT = {
    "orias/lower/families.py": "imports handlers for their side effect",
    "orias/ori/text.py": "dumps and tests only; its error is a ValueError, which mypyc cannot subclass",
    "orias/ori/verify.py": "tests and self-checks only",
}
"""Module -> why it stays plain Python."""


def modules() -> list[str]:
    """Files to compile, sorted, so that builds repeat."""
    out = []
    for room in ROOMS:
        for path in sorted(Path("orias", room).rglob("*.py")):
            name = path.as_posix()
            if path.name != "__init__.py" and name not in LEFT_OUT:
                out.append(name)
    return out


if os.environ.get("ORIAS_MYPYC") == "1":
    from mypyc.build import mypycify

    setup(
        ext_modules=mypycify(
            ["--strict", *modules()], opt_level=os.environ.get("ORIAS_MYPYC_OPT", "3"), multi_file=True
        )
    )
else:
    setup()
