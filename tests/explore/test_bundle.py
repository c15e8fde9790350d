"""The front end that is checked in is what its sources make."""

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("build_explorer", ROOT / "tools/explorer/build_explorer.py")
assert _spec is not None and _spec.loader is not None
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)


@pytest.mark.parametrize("page", build.PAGES)
def test_hashes(page: str) -> None:
    """The first line of the bundle has the hash of the sources and of the rest; the library is the one that was published."""
    head, code = (build.DATA / f"{page}.js").read_text(encoding="utf-8").split("\n", 1)
    sources, own = re.findall(r"[0-9a-f]{64}", head)
    assert own == hashlib.sha256(code.encode()).hexdigest(), (
        "the bundle was edited: run tools/explorer/build_explorer.py"
    )
    assert sources == build.sources_hash(), "the sources were edited: run tools/explorer/build_explorer.py"
    assert hashlib.sha256((build.HERE / build.VENDOR).read_bytes()).hexdigest() == build.VENDOR_SHA256
    assert (build.DATA / "explorer.css").read_bytes() == (build.HERE / "src/explorer.css").read_bytes()
    assert "Copyright (c) 2012-2014 Chris Pettitt" in (build.DATA / "dagre-license.txt").read_text()


def test_nothing_is_loaded() -> None:
    """No part of the page names an address of the network, but for the name spaces of SVG."""
    for name in (*(f"{page}.js" for page in build.PAGES), "explorer.css", "page.html.jinja"):
        text = (build.DATA / name).read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert "</script" not in text.lower() or name.endswith(".jinja")


@pytest.mark.sweep
def test_rebuilt() -> None:
    """Bundling the sources a second time gives the same bytes."""
    if shutil.which("npx") is None:
        pytest.skip("npx (Node.js) is not installed")
    for page in build.PAGES:
        assert build.with_head(build.bundle(page)) == (build.DATA / f"{page}.js").read_text(encoding="utf-8")
