"""The version text changes with the code."""

import re
from pathlib import Path

import pytest

from orias.cli.main import run
from orias.identity import identity, identity_of
from tests.cli.test_drop_in import orias


def test_version_names_the_code() -> None:
    assert re.search(r"\(code ([0-9a-f]{16})\)", orias("--version").stdout.decode()).group(1) == identity()  # type: ignore[union-attr]


def test_identity_changes_with_sources_and_tables(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "data" / "t.isa").write_text("row\n")
    seen = [identity_of(str(tmp_path))]
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.py").write_text("built\n")
    (tmp_path / "a.so").write_text("built\n")
    assert identity_of(str(tmp_path)) == seen[0]
    (tmp_path / "data" / "t.isa").write_text("rwo\n")
    seen.append(identity_of(str(tmp_path)))
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    seen.append(identity_of(str(tmp_path)))
    (tmp_path / "c.py").write_text("")
    seen.append(identity_of(str(tmp_path)))
    assert len(set(seen)) == 4


RELEASES = [
    ("ptxas", "", [], "13.5", "9.5"),
    ("orias", "13.0", [], "13.5", "9.5"),
    ("ptxas", "13.0", [], "13.0", "9.0"),
    ("ptxas", "13.0", ["--orias-release=13.3"], "13.3", "9.3"),
    ("orias", "", ["--orias-release", "13.1"], "13.1", "9.1"),
]


@pytest.mark.parametrize(("program", "environment", "options", "release", "newest"), RELEASES)
def test_the_release_to_stand_for(
    program: str,
    environment: str,
    options: list[str],
    release: str,
    newest: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ORIAS_PTXAS_RELEASE", environment)
    assert run([program, *options, "--version"]) == 0
    assert f"release {release}, V{release}." in capsys.readouterr().out
    assert run([program, *options, "--list-version"]) == 0
    assert capsys.readouterr().out.split()[-1] == newest
    text = ".version {}\n.target sm_90\n.address_size 64\n.entry k() {{ ret; }}\n"
    for version, arch in (("9.6", "sm_90"), ("9.6", "compute_90")):
        assert run([program, *options, f"-arch={arch}", "-ias", text.format(version), "-o", "/dev/null"]) == 255
        assert f"Unsupported .version 9.6; current version is '{newest}'" in capsys.readouterr().err
    assert run([program, *options, "-arch=sm_90", "-ias", text.format(newest), "-o", "/dev/null"]) == 0


def test_a_release_that_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ORIAS_PTXAS_RELEASE", "12.8")
    assert run(["ptxas", "--version"]) == 255
    assert capsys.readouterr().err == "ptxas fatal   : Value '12.8' is not defined for option 'orias-release'\n"
