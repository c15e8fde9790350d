"""The man page holds every option and sub-command, and is what its writer makes."""

import shutil
import subprocess
import tomllib

import pytest

from orias.cli.option_table import OPTIONS, OWN
from orias.cli.program_names import TOOLS
from tools.write_man_page import PAGE, man_page


def test_it_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == man_page(), "run python -m tools.write_man_page"


def test_it_is_complete_and_installed() -> None:
    plain = man_page().replace("\\-", "-")
    for name in (*(row[0] for row in (*OPTIONS, *OWN)),):
        assert f"\n.B --{name}" in plain
    for tool in TOOLS:
        assert f"\n.B orias {tool}" in plain
    root = PAGE.parents[2]
    files = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["data-files"]
    assert files == {"share/man/man1": [PAGE.relative_to(root).as_posix()]}


@pytest.mark.parametrize("formatter", [["groff", "-man", "-Tutf8", "-ww"], ["mandoc", "-W", "warning"], ["man", "-l"]])
def test_it_is_formatted(formatter: list[str]) -> None:
    if shutil.which(formatter[0]) is None:
        pytest.skip(f"{formatter[0]} is not installed")
    done = subprocess.run([*formatter, str(PAGE)], capture_output=True, text=True, timeout=60, check=True)
    assert "maxrregcount" in done.stdout and done.stderr == ""
