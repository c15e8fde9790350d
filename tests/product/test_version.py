"""The version of the package: one place, and the newest section of the changelog."""

import re
from pathlib import Path

import pytest

import orias
from orias.version import VERSION

ROOT = Path(orias.__file__).parent.parent


def test_the_changelog_begins_with_the_version() -> None:
    changelog = ROOT / "CHANGELOG.md"
    if not changelog.exists():
        pytest.skip("an installed package has no changelog")
    headings = re.findall(r"(?m)^## (\S+) \((\d{4}-\d\d-\d\d|unreleased)\)$", changelog.read_text(encoding="utf-8"))
    assert headings[0][0] == VERSION
    assert [h[0] for h in headings] == sorted((h[0] for h in headings), key=_numbers, reverse=True)


def _numbers(version: str) -> list[int]:
    return [int(n) for n in version.split(".")]
