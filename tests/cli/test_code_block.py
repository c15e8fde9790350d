"""The block of code that the command line starts from: it serves what it holds, and never a module whose source has changed."""

import marshal
import os
import py_compile
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import orias
from orias import patterns
from orias.code_block import without_columns
from orias.lean_code import lean_code

SOURCE = Path(orias.__file__).parent
SCRIPT = """
import orias
from orias.code_block import use_block
block = use_block()
import orias.before, orias.compiler, orias.part.inner
print(type(orias.part.inner.__loader__).__name__, orias.part.inner.VALUE, orias.part.inner.__file__, orias.part.__path__)
block.save()
"""
WATCH = """
import sys
sys.addaudithook(lambda event, values: print(values[0]) if event == "open" else None)
sys.argv[0] = "orias"
from orias.__main__ import start
start()
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "orias"
    (folder / "part").mkdir(parents=True)
    for name in ("__init__", "before", "compiler", "part/__init__"):
        (folder / f"{name}.py").write_text("")
    (folder / "part" / "inner.py").write_text("VALUE = 1\n")
    for name in ("code_block", "lean_code", "patterns"):
        shutil.copy(SOURCE / f"{name}.py", folder)
    return folder


def start(package: Path, *options: str) -> list[str]:
    """The words of the script: kind of loader, value, file, folders."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    r = subprocess.run(
        [sys.executable, *options, "-c", SCRIPT], cwd=package.parent, env=environment, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert r.returncode == 0, r.stderr
    return r.stdout.split(None, 3)


def blocks(package: Path) -> list[Path]:
    return list(package.rglob("*.block*"))


def older(data: bytes) -> bytes:
    """A block with another number of its format."""
    end = 8 + int.from_bytes(data[:8], "little")
    form, *rest = marshal.loads(data[8:end])
    head = marshal.dumps((form - 1, *rest))
    return len(head).to_bytes(8, "little") + head + data[end:]


def lines_of(code: CodeType) -> list[int | None]:
    """The line of each code unit."""
    return [line for start, end, line in code.co_lines() for _ in range(start, end, 2)]


def test_code_of_the_block_has_lines_and_no_columns() -> None:
    whole = compile(Path(__file__).read_text(encoding="utf-8"), __file__, "exec")
    pairs = [(whole, without_columns(whole))]
    for a, b in pairs:
        assert lines_of(a) == lines_of(b) and len(lines_of(b)) > 3
        assert {place[2:] for place in b.co_positions()} == {(None, None)}
        assert a.co_code == b.co_code
        pairs += [(x, y) for x, y in zip(a.co_consts, b.co_consts, strict=True) if isinstance(x, CodeType)]
    assert len(pairs) > 10


TYPED = """'text'
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from nowhere import Nothing

LIMIT: Final[int] = 3
unset: Final[int]

@final
class Point(NamedTuple):
    x: int
    y: int = LIMIT

@final
class Plain:
    only: int
    def get(self, key: "Nothing", *more: Missing, also: Missing = LIMIT) -> Missing:
        def inner(m: Mapping[str, int]) -> int:
            return len(m)
        value: Callable[[], int] = lambda: inner({"a": 1}) + also
        return value()
"""


def test_code_of_the_block_has_no_annotations_but_those_of_fields() -> None:
    names: dict[str, Any] = {}
    exec(lean_code(TYPED, "typed.py"), names)
    assert names["__doc__"] == "text" and names["LIMIT"] == 3 and "__annotations__" not in names
    assert names["Point"](1) == (1, 3) and names["Plain"]().get("k") == 4
    assert names["Plain"].get.__annotations__ == {} and "unset" not in names
    assert "Mapping" in names and "NamedTuple" in names and not {"Callable", "Final", "final"} & set(names)
    error = lean_code("def f() -> int:\n    return 1\n\n\nraise OSError\n", "e.py")
    assert [line for _, _, line in error.co_lines()][-1] == 5


def test_patterns_come_from_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (r"(?a)\s*(?P<word>[a-z]+)(\d)?", r"(?s)a.*?(?:b|\Z)", r"\w+(?![\w.])")
    monkeypatch.setattr(patterns, "_made", {})
    monkeypatch.setattr(patterns, "_ready", {})
    by_re = [patterns.regex(text) for text in texts]
    parts = marshal.loads(marshal.dumps(patterns.all_parts()))
    assert list(parts) == list(texts)
    monkeypatch.setattr(patterns, "_made", {})
    patterns.use_parts(parts)
    monkeypatch.setattr(patterns, "_by_re", None)
    made = [patterns.regex(text) for text in texts]
    assert made == by_re == [re.compile(text) for text in texts]
    match = made[0].match("  word7")
    assert match is not None and match["word"] == "word" and match.lastindex == 2


def test_the_second_start_reads_the_block(package: Path) -> None:
    first = start(package)
    second = start(package)
    assert first[0] == "SourceFileLoader" and second[0] == "_Loader"
    assert first[1:] == second[1:] and second[2] == str(package / "part" / "inner.py")
    assert len(blocks(package)) == 1


def test_a_changed_source_is_read_and_the_block_renewed(package: Path) -> None:
    start(package)
    start(package)
    (package / "part" / "inner.py").write_text("VALUE = 22\n")
    assert start(package)[:2] == ["SourceFileLoader", "22"]
    assert start(package)[:2] == ["_Loader", "22"]


def test_a_touched_source_is_read(package: Path) -> None:
    start(package)
    os.utime(package / "part" / "inner.py", ns=(1, 1))
    assert start(package)[0] == "SourceFileLoader"


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("damage", ["empty", "short", "noise", "moved", "older"])
def test_a_block_that_is_damaged_or_of_another_place_is_ignored(package: Path, damage: str) -> None:
    start(package)
    (block,) = blocks(package)
    data = block.read_bytes()
    block.write_bytes(
        {"empty": b"", "short": data[:-5], "noise": b"\xff" * 64, "moved": data, "older": older(data)}[damage]
    )
    if damage == "moved":
        package = package.rename(package.parent / "old")
        (package.parent / "other").mkdir()
        package = package.rename(package.parent / "other" / "orias")
    assert start(package)[:2] == ["SourceFileLoader", "1"]
    assert start(package)[:2] == ["_Loader", "1"]


@pytest.mark.parametrize("compiled", [False, True])
def test_modules_after_the_compiler_are_in_the_second_group(package: Path, compiled: bool) -> None:
    """Also where the compiler has no source in the block, as in the mypyc build."""
    if compiled:
        source = package / "compiler.py"
        py_compile.compile(str(source), str(package / "compiler.pyc"))
        source.unlink()
    start(package)
    (block,) = blocks(package)
    data = block.read_bytes()
    entries = marshal.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])[4]
    assert {name: entry[3] for name, entry in entries.items() if name in ("orias.before", "orias.part.inner")} == {
        "orias.before": 0,
        "orias.part.inner": 1,
    }


def test_nothing_is_written_where_python_writes_no_code(package: Path) -> None:
    start(package, "-B")
    assert not blocks(package)


@pytest.mark.in_turn(2)
def test_the_command_line_gives_the_same_bytes_with_and_without_a_block(tmp_path: Path) -> None:
    """With the block, neither typing nor re is imported; the second run does not read the instruction table."""
    example = Path(__file__).parents[2] / "examples" / "saxpy.ptx"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "cache")
    environment["PYTHONPATH"] = str(SOURCE.parent)
    results = []
    imported: set[str] = set()
    for _ in range(2):
        out = tmp_path / "k.cubin"
        command = [sys.executable, "-X", "importtime", "-c", WATCH, "-arch=sm_80", str(example), "-o", str(out)]
        r = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, timeout=120, capture_output=True, text=True
        )
        imported = {line.rpartition("|")[2].strip() for line in r.stderr.splitlines()}
        results.append(out.read_bytes())
        tables = [line for line in r.stdout.splitlines() if line.endswith(".isa")]
        assert len(list((tmp_path / "cache").rglob("*.block"))) == 1
        assert bool(tables) == (len(results) == 1)
    assert results[0] == results[1]
    assert "orias.compiler" in imported
    assert not {"typing", "re", "enum"} & imported
