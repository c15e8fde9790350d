"""The cache of finished compiles: a hit is the same result, and nothing but an equal compile hits."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import orias
from orias import result_cache
from orias.api import Cubin, compile_sources
from orias.options import Options

EXAMPLE = (Path(__file__).parents[2] / "examples" / "saxpy.ptx").read_text()
OTHER = EXAMPLE.replace("saxpy", "other")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORIAS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(result_cache, "identity", lambda: "this")
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def from_cache(cubin: Cubin) -> bool:
    return "cache" in cubin.times


def facts(cubin: Cubin) -> list[object]:
    infos = [
        {n: getattr(k, n) for n in type(k).__slots__} for k in (*cubin.kernels.values(), *cubin.functions.values())
    ]
    return [cubin.data, cubin.arch, cubin.diagnostics, cubin.cmem, cubin.gmem, infos]


def test_a_second_compile_is_the_first(folder: Path) -> None:
    first = orias.compile(EXAMPLE, arch="sm_80", verbose=True)
    second = orias.compile(EXAMPLE, arch="sm_80", verbose=True)
    assert not from_cache(first) and from_cache(second)
    assert facts(first) == facts(second)
    assert second.disassemble() == first.disassemble()


def test_off_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORIAS_CACHE_DIR", raising=False)
    orias.compile(EXAMPLE, arch="sm_80")
    assert not from_cache(orias.compile(EXAMPLE, arch="sm_80"))


@pytest.mark.parametrize(
    "changed",
    [
        {"arch": "sm_90"}, {"opt_level": 1}, {"lineinfo": True}, {"maxrregcount": 32}, {"knobs": {"UnrollUnknownCount": 8}},
        {"knobs": {"saxpy": {"UnrollUnknownCount": 8}}}, {"fmad": False}, {"text": OTHER}, {"text": EXAMPLE + "\n"},
        {"text": EXAMPLE.encode()},
    ],
    ids=repr,
)  # fmt: skip
def test_every_difference_is_a_miss(folder: Path, changed: dict[str, object]) -> None:
    orias.compile(EXAMPLE, arch="sm_80")
    given = {"arch": "sm_80", **changed}
    text = given.pop("text", EXAMPLE)
    assert not from_cache(orias.compile(text, **given))  # type: ignore[arg-type]
    assert len(entries(folder)) == 2


def test_other_code_is_a_miss(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orias.compile(EXAMPLE, arch="sm_80")
    monkeypatch.setattr(result_cache, "identity", lambda: "another")
    assert not from_cache(orias.compile(EXAMPLE, arch="sm_80"))


def test_every_option_is_in_the_key(folder: Path) -> None:
    plain = result_cache._settings(Options("sm_80"))
    assert len(plain) == len(Options.__slots__)
    for name in Options.__slots__:
        o = Options("sm_80")
        setattr(o, name, "another value")
        assert result_cache._settings(o) != plain, name


def test_the_name_of_a_file_is_in_the_key(folder: Path) -> None:
    compile_sources([("a.ptx", EXAMPLE)], Options("sm_80"))
    assert not from_cache(compile_sources([("b.ptx", EXAMPLE)], Options("sm_80")))
    assert from_cache(compile_sources([("a.ptx", EXAMPLE)], Options("sm_80")))


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "swapped", "folder"])
def test_a_damaged_entry_is_a_miss(folder: Path, damage: str) -> None:
    first = orias.compile(EXAMPLE, arch="sm_80")
    (entry,) = entries(folder)
    data = entry.read_bytes()
    if damage == "swapped":
        orias.compile(OTHER, arch="sm_80")
        (other,) = [e for e in entries(folder) if e != entry]
        data = other.read_bytes()
    entry.write_bytes({"cut": data[:-1], "bit": data[:-1] + bytes([data[-1] ^ 1]), "empty": b""}.get(damage, data))
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    again = orias.compile(EXAMPLE, arch="sm_80")
    assert not from_cache(again) and again.data == first.data


def test_failures_and_observed_compiles_are_not_kept(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(orias.CompileError):
        orias.compile(EXAMPLE.replace("fma.rn.f32", "fma.f32"), arch="sm_80")
    orias.compile(EXAMPLE, arch="sm_80", time_phases=True)
    orias.compile(EXAMPLE, arch="sm_80", dump_after=["*"])
    assert not folder.exists() or not entries(folder)


def test_the_size_stays_below_the_limit(folder: Path) -> None:
    for k in range(40):
        sub = folder / "0"
        sub.mkdir(parents=True, exist_ok=True)
        (sub / f"{k:03}").write_bytes(bytes(1000))
        result_cache._trim(str(sub), 10_000)
        assert sum(p.stat().st_size for p in entries(folder)) <= 10_000
    names = [p.name for p in entries(folder)]
    assert names[-1] == "039" and "000" not in names


def test_writers_at_the_same_time(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        data = {c.data for c in pool.map(lambda _: orias.compile(EXAMPLE, arch="sm_80"), range(8))}
    assert len(data) == 1 and len(entries(folder)) == 1
    assert from_cache(orias.compile(EXAMPLE, arch="sm_80"))


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ORIAS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert orias.compile(EXAMPLE, arch="sm_80").data


def test_a_debug_target_hits_with_its_options(folder: Path) -> None:
    text = (
        EXAMPLE.replace(".target sm_75", ".target sm_75, debug") + '\n.file 1 "a.cu"\n.section .debug_info { .b8 0 }\n'
    )
    for hit in (False, True):
        o = Options("sm_80")
        cubin = compile_sources([("a.ptx", text)], o)
        assert from_cache(cubin) is hit and o.debug and o.opt_level == 0


@pytest.mark.in_turn(2)
def test_the_command_line(tmp_path: Path) -> None:
    source = tmp_path / "a.ptx"
    source.write_text(EXAMPLE)
    outputs, reports = [], []
    for _ in range(2):
        command = [sys.executable, "-m", "orias", "-arch=sm_80", "-v", str(source), "-o", str(tmp_path / "a.cubin")]
        environment = {"ORIAS_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(orias.__file__).parents[1])}
        r = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        outputs.append((tmp_path / "a.cubin").read_bytes())
        reports.append(r.stderr)
    assert outputs[0] == outputs[1] and reports[0] == reports[1] and "registers" in reports[0]
