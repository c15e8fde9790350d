"""The version text changes with the code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cli.main import run
from orias.identity import Stamp, identity, identity_of
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


def test_the_kept_identity_is_that_of_the_code(tmp_path: Path) -> None:
    """The command line keeps the identity beside the code; a change of any file, in any folder, is seen."""
    import orias as package

    package_folder = tmp_path / "orias"
    shutil.copytree(
        Path(package.__file__).parent, package_folder, ignore=lambda _, names: [n for n in names if n == "__pycache__"]
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
    environment |= {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}

    def version() -> str:
        command = [sys.executable, "-m", "orias", "--version"]
        text = subprocess.run(command, capture_output=True, check=True, env=environment, timeout=60).stdout
        found = re.search(r"\(code ([0-9a-f]{16})\)", text.decode())
        assert found is not None
        return found.group(1)

    seen = [version()]
    assert seen[0] == identity_of(str(package_folder))
    assert list((package_folder / "__pycache__").glob("*.identity.kept"))
    assert version() == seen[0]
    for name in ("isa/data/operations.isa", "passes/licm.py", "version.py"):
        with open(package_folder / name, "a") as f:
            f.write("# changed\n")
        assert version() == identity_of(str(package_folder))
        seen.append(version())
    (package_folder / "passes" / "new.py").write_text("")
    seen.append(version())
    assert seen[-1] == identity_of(str(package_folder))
    assert len(set(seen)) == len(seen)


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


def test_a_stamp_holds_until_a_source_changes(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    source = tmp_path / "inner" / "a.py"
    source.write_text("a = 1\n")
    stamp = Stamp(str(tmp_path))
    assert stamp.holds()
    (tmp_path / "inner" / "__pycache__").mkdir()
    (tmp_path / "inner" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (tmp_path / "inner" / "a.c").write_text("int a;\n")
    assert stamp.holds() and stamp.holds()
    os.utime(source, ns=(0, 1))
    assert not stamp.holds()
    stamp = Stamp(str(tmp_path))
    (tmp_path / "inner" / "b.txt").write_text("b\n")
    assert not stamp.holds()
    stamp = Stamp(str(tmp_path))
    source.unlink()
    assert not stamp.holds()
