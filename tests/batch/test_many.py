"""`orias.compile_many`: every source has its outcome, whatever the others do."""

import os
import pickle
import signal
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import orias
import orias.batch.many as many

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
GOOD = HEAD + ".visible .entry k()\n{\n ret;\n}\n"
BAD = HEAD + ".visible .entry k()\n{\n ad.s32 %r1;\n}\n"
ALL = [GOOD, BAD, ("named", GOOD), GOOD.encode()]


def check(outcomes: list[orias.Outcome]) -> None:
    assert [o.ok for o in outcomes] == [True, False, True, True]
    assert outcomes[2].name == "named"
    error = outcomes[1].error
    assert isinstance(error, orias.CompileError) and error.diagnostics[0].line == 6
    data = orias.compile(GOOD, arch="sm_80").data
    assert all(o.cubin is None or o.cubin.data == data for o in outcomes)


def test_an_error_survives_pickling() -> None:
    with pytest.raises(orias.CompileError) as e:
        orias.compile(BAD, arch="sm_80")
    again = pickle.loads(pickle.dumps(e.value))
    assert again.diagnostics == e.value.diagnostics and str(again) == str(e.value)


def test_own_processes_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    check(orias.compile_many(ALL, arch="sm_80", jobs=1, progress=lambda n, of, o: seen.append((n, of))))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_an_executor_of_the_caller(pool: Any) -> None:
    with pool(1) as executor:
        check(orias.compile_many(ALL, arch="sm_80", executor=executor))


class Losing(ThreadPoolExecutor):
    """Loses the answers of the first sources, and of one source always."""

    def __init__(self, first: int) -> None:
        super().__init__(1)
        self.first, self.asked = first, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        future = super().submit(fn, *args, **kwargs)
        if self.asked <= self.first or args[1].name == "always":
            future.result()
            future = Future()
            future.set_exception(OSError("lost"))
        return future


def test_what_an_executor_loses_gets_a_second_try() -> None:
    seen: list[int] = []
    with Losing(2) as executor:
        sources = [("a", GOOD), ("always", GOOD), ("b", GOOD)]
        out = orias.compile_many(sources, arch="sm_80", executor=executor, progress=lambda n, of, o: seen.append(n))
    assert [(o.name, o.ok) for o in out] == [("a", True), ("always", False), ("b", True)]
    assert str(out[1].error) == "lost" and executor.asked == 5 and seen == [1, 2, 3]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(GOOD)
    out = orias.compile_many([tmp_path / "k.ptx", str(tmp_path / "none.ptx")], arch="sm_80", jobs=1)
    assert out[0].ok and isinstance(out[1].error, FileNotFoundError)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        orias.compile_many([], arch="sm_80", nonsense=1)
    with pytest.raises(ValueError, match="timeout"), ThreadPoolExecutor(1) as e:
        orias.compile_many([], arch="sm_80", executor=e, timeout=1)
    assert orias.compile_many([], arch="sm_80") == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers must inherit the patched compiler")
def test_a_worker_that_dies_or_hangs_costs_only_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    real = many.compile_sources

    def poisoned(sources: Any, options: Any) -> Any:
        if sources[0][0] == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if sources[0][0] == "hangs":
            time.sleep(600)
        return real(sources, options)

    monkeypatch.setattr(many, "compile_sources", poisoned)
    sources = [("a", GOOD), ("dies", GOOD), ("b", GOOD), ("hangs", GOOD), ("c", GOOD)]
    out = orias.compile_many(sources, arch="sm_80", jobs=2, timeout=5)
    assert [o.name for o in out if not o.ok] == ["dies", "hangs"]
    assert all(isinstance(o.error, orias.WorkerDied) for o in out if not o.ok)


@pytest.mark.in_turn(2)
def test_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        check(orias.compile_many(ALL, arch="sm_80", executor=executor))
