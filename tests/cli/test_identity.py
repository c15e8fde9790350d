"""The version text changes with the code."""

import re
from pathlib import Path

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
