"""The block of code that the command line starts from: it serves what it holds, and never a module whose source has changed."""

import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest

import orias
from orias.code_block import without_columns

SOURCE = Path(orias.__file__).parent
SCRIPT = """
import orias
from orias.code_block import use_block
block = use_block()
import orias.before, orias.compiler, orias.part.inner
print(type(orias.part.inner.__loader__).__name__, orias.part.inner.VALUE, orias.part.inner.__file__, orias.part.__path__)
block.save()
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


def test_nothing_is_written_where_python_writes_no_code(package: Path) -> None:
    start(package, "-B")
    assert not blocks(package)


def test_the_command_line_gives_the_same_bytes_with_and_without_a_block(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "saxpy.ptx"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "cache")
    environment["PYTHONPATH"] = str(SOURCE.parent)
    results = []
    for _ in range(2):
        out = tmp_path / "k.cubin"
        command = [sys.executable, "-m", "orias", "-arch=sm_80", str(example), "-o", str(out)]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)
        results.append(out.read_bytes())
        assert len(list((tmp_path / "cache").rglob("*.block"))) == 1
    assert results[0] == results[1]
