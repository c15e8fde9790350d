"""`orias tune`: finds what is faster, uses nothing that changes results, keeps what it has."""

import json
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orias
from orias.cli.main import run
from orias.knobs.knob_settings import read_knob_file
from orias.tuning import Launch, Trial, Tuned, knob_space, tune, tune_search
from orias.tuning.tune_table import known_trials, table, table_json
from orias.tuning.tune_trial import run_trial

EXAMPLE = Path(__file__).parents[2] / "examples" / "rowsum.ptx"
TEXT = EXAMPLE.read_text()
ROWS, COLUMNS = 32, 64
FEW = {"UnrollUnknownCount": (2, 8), "UnrollUnknownInstLimit": (0,), "SchedSinkRounds": (1,)}


class Here(Executor):
    """Runs a call where it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        f: Future[Any] = Future()
        try:
            f.set_result(fn(*args, **kwargs))
        except Exception as e:
            f.set_exception(e)
        return f


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of four changes."""
    monkeypatch.setattr(knob_space, "SPACE", FEW)


def rows() -> Launch:
    rng = np.random.default_rng(1)
    a, x = (rng.standard_normal(n).astype("f4") for n in (ROWS * COLUMNS, COLUMNS))
    return Launch((1,), (32,), [a, x, np.zeros(ROWS, "f4"), np.uint32(COLUMNS), np.uint32(ROWS)])


def found(**options: Any) -> Tuned:
    (result,) = tune(TEXT, arch="sm_80", launch=rows(), executor=Here(), jobs=1, **options)
    return result


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("few")
def test_finds_the_faster_loop() -> None:
    seen: list[tuple[int, int]] = []
    r = found(seed=3, progress=lambda done, most, trial, best: seen.append((done, most)))
    assert r.best.knobs == {"UnrollUnknownCount": 8} and r.best.state == "checked" and 0.5 < r.ratio < 0.95
    assert seen[0] == (2, 200) and seen[-1][0] == len(r.trials)
    worst = next(t for t in r.trials if t.knobs == {"UnrollUnknownInstLimit": 0})
    assert worst.good and worst.time > r.default.time
    same = next(t for t in r.trials if t.knobs == {"SchedSinkRounds": 1})
    assert same.code == r.default.code and same.time == r.default.time
    # A compile with the result has the code that was measured.
    info = orias.compile(TEXT, arch="sm_80", knobs=r.settings()).kernels["rowsum"]
    assert (info.registers, info.instructions) != (0, 0) and info.registers == r.best.registers
    assert r.settings().text() == "[knobs]\n\n[knobs rowsum]\nUnrollUnknownCount=8\n"
    assert "*  0." in table(r) and "UnrollUnknownCount=8" in table(r)
    # The same search again has the same trials; one with known trials runs none.
    assert found(seed=3).trials == r.trials
    text = table_json([r], {"file": "f"})
    assert known_trials(text, {"file": "g"}, "mean") == {} and known_trials(text, {"file": "f"}, "one") == {}
    again = found(
        seed=3, known=known_trials(text, {"file": "f"}, "mean"), progress=lambda *a: pytest.fail("a new trial")
    )
    assert again.trials == r.trials and again.best == r.best


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("few")
def test_from_the_code_alone() -> None:
    (r,) = tune(TEXT, arch="sm_80", executor=Here(), jobs=1, objective="one")
    assert r.default.state == "ok" and r.default.full_far == 0 and r.ratio < 1.0


@pytest.mark.usefixtures("few")
def test_the_users_knobs_stay() -> None:
    r = found(knobs={"UnrollUnknownCount": 2}, trials=3)
    assert len(r.trials) == 3 and all("UnrollUnknownCount" not in t.knobs for t in r.trials)


ROUNDING = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) { .reg .f32 %f<9>; .reg .b64 %d<4>; .reg .b32 %r<3>;
ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 32; add.u64 %d1, %d1, %d2;
ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+4]; mul.f32 %f3, %f1, %f2;
add.f32 %f4, %f3, %f1; add.f32 %f5, %f3, %f2; sub.f32 %f6, %f3, %f1; sub.f32 %f7, %f3, %f2; add.f32 %f8, %f3, 0f3F800000;
st.global.f32 [%d1+8], %f4; st.global.f32 [%d1+12], %f5; st.global.f32 [%d1+16], %f6; st.global.f32 [%d1+20], %f7;
st.global.f32 [%d1+24], %f8; ret; }
"""


def test_other_results_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knob_space, "SPACE", {"FusedProductReaders": (8,)})
    data = np.random.default_rng(2).standard_normal(256).astype("f4")
    (r,) = tune(ROUNDING, arch="sm_80", launch=Launch((1,), (32,), [data]), executor=Here(), jobs=1)
    assert [t.state for t in r.trials] == ["checked", "different"] and r.best is r.default
    assert r.settings().text() == "[knobs]\n" and "with other results (not used)" in table(r)


def test_what_cannot_run() -> None:
    short = Launch((1,), (32,), [np.zeros(1, "f4")])
    (r,) = tune(ROUNDING, arch="sm_80", launch=short, executor=Here(), jobs=1)
    assert r.default.state == "failed" and r.best is r.default and len(r.trials) == 1 and "has no time" in table(r)
    with pytest.raises(ValueError, match="there is no kernel 'q'; the text has k"):
        tune(ROUNDING, arch="sm_80", kernel="q", executor=Here())
    with pytest.raises(ValueError, match="objective 'x'"):
        tune(ROUNDING, arch="sm_80", objective="x", executor=Here())
    with pytest.raises(orias.CompileError):
        tune(ROUNDING.replace("mul.f32", "mull.f32"), arch="sm_80", executor=Here())


@pytest.mark.usefixtures("few")
def test_an_interrupt_keeps_the_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(task: Any, changes: Any, known: Any, self_check: bool = False) -> Trial:
        if changes and changes[0].value == 0:
            raise KeyboardInterrupt
        return run_trial(task, changes, known, self_check)

    monkeypatch.setattr(tune_search, "run_trial", interrupted)
    r = found()
    assert r.interrupted and len(r.trials) == 3 and r.best.knobs == {"UnrollUnknownCount": 8}


def dies(task: Any, changes: Any, known: Any, self_check: bool = False) -> Trial:
    if changes and changes[0].value == 2:
        os._exit(1)
    return run_trial(task, changes, known, self_check)


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("few")
def test_a_worker_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_search, "run_trial", dies)
    (r,) = tune(TEXT, arch="sm_80", launch=rows(), jobs=1)
    dead = [t for t in r.trials if "without an answer" in t.why]
    assert [t.knobs for t in dead] == [{"UnrollUnknownCount": 2}] and r.best.knobs == {"UnrollUnknownCount": 8}


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("few")
def test_time_limit_and_threads() -> None:
    with ThreadPoolExecutor(1) as threads:
        (r,) = tune(TEXT, arch="sm_80", launch=rows(), executor=threads, jobs=1, trials=2)
    assert len(r.trials) == 2
    r = found(seconds=0.0001)
    assert r.default.good and r.best is r.default and len(r.trials) == 1, "the untuned kernel is always measured"


@pytest.mark.in_turn(2)
def test_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        monkeypatch.setattr(knob_space, "SPACE", {"UnrollUnknownCount": (8,)})
        (r,) = tune(TEXT, arch="sm_80", launch=rows(), executor=executor, jobs=2)
    assert r.best.knobs == {"UnrollUnknownCount": 8} and r.best.state == "checked"


def test_register_budgets() -> None:
    budgets = [s.value for s in knob_space.choices(57, 3, set()) if s.knob.name == "MaxRegCount"]
    assert budgets == sorted(budgets, reverse=True) and budgets[0] < 57 and min(budgets) >= 32
    assert not any(s.knob.name == "DisablePhases" for s in knob_space.choices(57, 1, set()))


LAUNCH = f"--block 32 --arg buf:f32:{ROWS * COLUMNS}=random --arg buf:f32:{COLUMNS}=random --arg buf:f32:{ROWS} --arg u32:{COLUMNS} --arg u32:{ROWS}"


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("few")
def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, kept = tmp_path / "k.knobs", tmp_path / "t.json"
    out.write_text("[knobs other]\nHoistBudget=2\n")
    command = [
        "orias",
        "tune",
        str(EXAMPLE),
        "-o",
        str(out),
        "-arch=sm_80",
        *LAUNCH.split(),
        "--jobs",
        "1",
        "--table",
        str(kept),
    ]
    assert run(command) == 0
    assert "UnrollUnknownCount=8" in capfd.readouterr().out
    settings = [(s.kernel, s.knob.name, s.value) for s in read_knob_file(str(out)).settings]
    assert settings == [("other", "HoistBudget", 2), ("rowsum", "UnrollUnknownCount", 8)]
    first = json.loads(kept.read_text())
    assert run([*command, "--json"]) == 0
    again = json.loads(capfd.readouterr().out)
    assert again == first and again["kernels"][0]["best"] == {"UnrollUnknownCount": 8}
    cubin = tmp_path / "k.cubin"
    assert run(["orias", str(EXAMPLE), "-arch=sm_80", "--knob-file", str(out), "-o", str(cubin)]) == 0
    assert cubin.read_bytes() != orias.compile(TEXT, arch="sm_80").data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no PTX file given"),
        ([str(EXAMPLE)], "-o OUT.knobs is needed (or --table or --json)"),
        ([str(EXAMPLE), "-o", "x", "--objective", "y"], "--objective y: one of mean, one, full"),
        ([str(EXAMPLE), "-o", "x", "--arg", "u32:1"], "a launch needs --block"),
        ([str(EXAMPLE), "-o", "x", "-knob", "Foo=1"], "Unknown knob 'Foo' (orias --list-knobs lists them)"),
        ([str(EXAMPLE), "-o", "x", "--trials", "-1"], "--trials: -1 is negative"),
        ([str(EXAMPLE), "-o", "x", "-arch", "sm_1"], "'sm_1' is no target"),
        ([str(EXAMPLE), "-o", "x", "--nothing", "1"], "unknown option '--nothing'"),
        ([str(EXAMPLE), "-o", "x", "--table", str(EXAMPLE)], f"{EXAMPLE} exists and is no table of orias tune"),
        (["/nonexistent.ptx", "-o", "x"], "/nonexistent.ptx: No such file or directory"),
    ],
)
def test_wrong_usage(options: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["orias", "tune", *options]) == 255
    assert capfd.readouterr().err == f"orias tune: {message}\n"
