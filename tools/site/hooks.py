"""Hooks of the documentation site: pages from the root of the repository, and links to files that are not pages."""

import ast
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site that are files of the root."""
_MODULES = re.compile(r"<!-- modules: (\S+) -->")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that stand in the root of the repository."""
    for name, source in GENERATED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        files.append(File.generated(config, name, content=text))
    return files


def on_post_build(config: Any) -> None:
    """Makes the pictures anew, if ORIAS_PICTURES is set."""
    if os.environ.get("ORIAS_PICTURES"):
        from tools.site.pictures import make_pictures

        problems = make_pictures(Path(config.site_dir) / "pictures")
        if problems:
            raise RuntimeError("; ".join(problems))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that lead out of the site: to a page of the root where there is one, else the name of the file alone."""

    def link(m: re.Match[str]) -> str:
        text, target, anchor = m.group(1), m.group(2), m.group(3) or ""
        if "://" in target or target.startswith("mailto:"):
            return m.group()
        place = (Path(page.file.src_uri).parent / target).as_posix()
        plain = _normal(place)
        if not plain.startswith("../"):
            return m.group() if files.get_file_from_path(plain) else text
        outside = plain.removeprefix("../")
        for name, source in GENERATED.items():
            if outside == source:
                up = "../" * page.file.src_uri.count("/")
                return f"[{text}]({up}{name}{anchor})"
        if outside == "README.md":
            return f"[{text}]({'../' * page.file.src_uri.count('/')}index.md)"
        return text if text.startswith("`") else f"`{outside}`" if text == target else text

    return _LINK.sub(link, _MODULES.sub(lambda m: _modules(m.group(1)), markdown))


def _modules(folder: str) -> str:
    """A table of the modules of a package with the first sentence of each docstring."""
    rows = ["| file | what it does |", "|---|---|"]
    for path in sorted((ROOT / folder).glob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if path.stem != "__init__":
            first = " ".join(said.split("\n\n")[0].split())
            rows.append(f"| `{path.name}` | {_plain(first)} |")
    return "\n".join(rows)


def _plain(text: str) -> str:
    """A docstring as Markdown: roles and double backquotes become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`").replace("|", "\\|")


def _normal(path: str) -> str:
    out: list[str] = []
    for part in path.split("/"):
        if part == ".." and out and out[-1] != "..":
            out.pop()
        elif part not in ("", "."):
            out.append(part)
    return "/".join(out)
