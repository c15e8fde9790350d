"""Bundles the front ends of the pages with esbuild: ``python tools/explorer/build_explorer.py`` (needs npm).

The results, a script for each page in ``orias/explore/data`` and ``explorer.css``, are checked in.  The first line of a script holds
the hashes of the sources and of itself; ``tests/explore/test_bundle.py`` holds them against the files.
"""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "orias/explore/data"
HEAD = "/* Bundled by tools/explorer/build_explorer.py; sources {sources}; code {code} */\n"
PAGES = ("explorer", "perf", "reference")
"""The modules with which bundles begin."""
VENDOR = "vendor/dagre.esm.js"
VENDOR_SHA256 = "b0ddaf4af1417bec9bd89373a3a3987f081727d6cc6d95fc40dbf85a19bdf3b0"
"""Hash of dist/dagre.esm.js of the npm package @dagrejs/dagre 3.1.3."""


def sources() -> list[Path]:
    """Everything that goes into the bundle."""
    return sorted([*HERE.glob("src/*.js"), HERE / VENDOR, HERE / "package.json"])


def sources_hash() -> str:
    """A hash of the names and contents of the sources."""
    h = hashlib.sha256()
    for path in sources():
        h.update(f"{path.relative_to(HERE)}\0".encode() + path.read_bytes() + b"\0")
    return h.hexdigest()


def bundle(page: str) -> str:
    """The bundled script of a page without its first line."""
    version = json.loads((HERE / "package.json").read_text())["devDependencies"]["esbuild"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.js"
        command = [
            "npx",
            "--yes",
            f"esbuild@{version}",
            f"src/{page}.js",
            "--bundle",
            "--minify",
            "--format=iife",
            "--target=es2022",
        ]
        subprocess.run(
            [*command, "--legal-comments=none", "--log-level=error", f"--outfile={out}"],
            cwd=HERE,
            check=True,
            timeout=300,
        )
        return out.read_text(encoding="utf-8")


def with_head(code: str) -> str:
    """The script as it is checked in."""
    return HEAD.format(sources=sources_hash(), code=hashlib.sha256(code.encode()).hexdigest()) + code


if __name__ == "__main__":
    for name in PAGES:
        (DATA / f"{name}.js").write_text(with_head(bundle(name)), encoding="utf-8")
    (DATA / "explorer.css").write_bytes((HERE / "src/explorer.css").read_bytes())
