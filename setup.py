"""Build switch: ``ORIAS_MYPYC=1 pip install --no-build-isolation .`` compiles the hot packages with mypyc; without it the package is plain Python."""

import ast
import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGES = (
    "knobs",
    "isa",
    "target",
    "timing",
    "semantics",
    "ori",
    "analysis",
    "ptx",
    "lower",
    "passes",
    "regalloc",
    "schedule",
    "pipeline",
    "output",
)
"""Packages that a compile spends its time in.  The others (command line, cubin, simulator, tools) gain nothing."""

MODULES = ("orias/kernel_compiler.py",)
"""Imports most of those: from a compiled module, an import of another needs no file of its own.  ``orias/compiler.py`` stays plain
Python, as the tests put checks around its ``run``."""

LEFT_OUT = {
    "orias/knobs/knob_settings.py": "read once per compile; its settings travel to worker processes",
    "orias/ori/fact_text.py": "dumps and tests only",
    "orias/ori/text.py": "dumps and tests only",
    "orias/ori/text_reader.py": "dumps and tests only; its error is a ValueError, which mypyc cannot subclass",
    "orias/pipeline/watch.py": "dumps, times and verification only",
    "orias/target/target_names.py": "plain data that the command line loads in no time",
    "orias/ori/verify.py": "tests and self-checks only",
    "orias/output/result.py": "has a subclass in plain Python",
}
"""Module -> why it stays plain Python."""


def modules() -> list[str]:
    """Files to compile, in an order that does not change, so that builds repeat."""
    out = list(MODULES)
    for package in PACKAGES:
        for path in sorted(Path("orias", package).rglob("*.py")):
            name = path.as_posix()
            if path.name != "__init__.py" and name not in LEFT_OUT:
                out.append(name)
    return out


TYPE_MODULES = ("typing", "collections.abc")
READ_ANNOTATIONS = {"NamedTuple", "TypedDict", "Protocol"}
"""Bases of classes that read the annotations of their fields when they are made."""


def used_names(source: str) -> set[str]:
    """The names that a module looks up when it runs, which are not those of its annotations."""
    tree = ast.parse(source)
    read: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(
            isinstance(b, ast.Name) and b.id in READ_ANNOTATIONS for b in node.bases
        ):
            read.update([id(statement) for statement in node.body])
        if isinstance(node, (ast.arg, ast.AnnAssign)) and id(node) not in read:
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = [d for d in node.decorator_list if not (isinstance(d, ast.Name) and d.id == "final")]
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def lean(source: str) -> str:
    """A module's source, line by line the same, without the imports of names that only its annotations use.

    Each of them costs the start of a compiled module as much as all else in it, and ``typing`` and what it imports a sixth of
    a short compile.  Type checkers still see them, under ``TYPE_CHECKING``.
    """
    tree = ast.parse(source)
    first = tree.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return source
    used = used_names(source)
    lines = source.splitlines()
    for statement in tree.body:
        if not (isinstance(statement, ast.ImportFrom) and statement.module in TYPE_MODULES):
            continue
        names = [alias.name for alias in statement.names if alias.name != "TYPE_CHECKING"]
        if used.intersection(names):
            if "TYPE_CHECKING" in used:
                return source  # nothing is gained: the module is imported all the same
            continue
        if statement.lineno != statement.end_lineno:
            return source
        lines[statement.lineno - 1] = (
            f"if TYPE_CHECKING: from {statement.module} import {', '.join(names)}" if names else ""
        )
    if lines == source.splitlines():
        return source
    lines[first.end_lineno - 1] += "; TYPE_CHECKING = False"
    return "\n".join(lines) + "\n"


def extensions() -> list[Extension]:
    """The compiled modules, from a lean copy of the package in ``build``."""
    from mypyc.build import mypycify

    root = os.getcwd()
    copy = Path("build", "lean")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        "orias", copy / "orias", ignore=lambda _, names: [n for n in names if n == "__pycache__" or n.endswith(".so")]
    )
    for name in modules():
        text = Path(name).read_text(encoding="utf-8")
        (copy / name).write_text(lean(text), encoding="utf-8")
    os.chdir(copy)  # the paths in tracebacks are relative to it
    try:
        made = mypycify(
            ["--strict", "--follow-imports=silent", *modules()],
            opt_level=os.environ.get("ORIAS_MYPYC_OPT", "3"),
            debug_level="0",
            multi_file=True,
        )
    finally:
        os.chdir(root)
    for extension in made:
        for paths in (extension.sources, extension.depends, extension.include_dirs):
            paths[:] = [os.path.relpath(copy / path) for path in paths]
        if os.name != "nt":
            # Names are looked up when the library is loaded; only the functions that initialise a module are looked up by name.
            extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden"]
    return made


CLIENT = Path("orias", "cli", "server_client")
"""The client of ``orias serve`` as a program without Python; its source is beside it."""


class BuildWithClient(build_ext):
    """Builds the client too, on Linux, where the server runs."""

    def run(self) -> None:
        """Build the extensions and the client."""
        super().run()
        if sys.platform == "linux" and not self.inplace:
            objects = self.compiler.compile([f"{CLIENT}.c"], self.build_temp, extra_preargs=["-O2"])
            self.compiler.link_executable(objects, CLIENT.name, str(Path(self.build_lib, CLIENT.parent)))


if os.environ.get("ORIAS_MYPYC") == "1" and not {"egg_info", "dist_info"}.intersection(sys.argv):
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildWithClient})
else:
    setup()
