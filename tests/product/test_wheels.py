"""The configuration of wheels: what cannot be run here is at least read as the shells that run it read it."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NEEDED = ["setuptools>=77", "mypy>=1.10", "wheel"]


def wheels() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    return found


def test_requirements_reach_pip() -> None:
    """A ``>`` that a shell sees is a redirection: sh quotes in two ways, cmd.exe with double quotes only."""
    assert shlex.split(wheels()["before-build"]) == ["pip", "install", *NEEDED]
    windows = wheels()["windows"]["before-build"]
    assert "'" not in windows
    assert [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^\s"<>]+)', windows)] == [
        "pip",
        "install",
        *NEEDED,
    ]


def test_the_build_checks_only_what_it_compiles() -> None:
    """Else it needs numpy, jinja2 and whatever else the rest of the package imports, in an environment that has none of them."""
    assert '"--follow-imports=silent"' in (ROOT / "setup.py").read_text(encoding="utf-8")
