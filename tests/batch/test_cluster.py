"""Many files over Dask: a worker that is killed costs nothing, a source that kills its workers costs only itself."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import orias
from orias.cli.main import run
from tests.batch.test_many import BAD, GOOD

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


class Poison(distributed.WorkerPlugin):  # type: ignore[misc, name-defined]
    """Makes every worker die of the source called "dies", and take time for the others."""

    name = "poison"

    def setup(self, worker: Any) -> None:
        import orias.batch.many as many

        real = many.compile_sources

        def poisoned(sources: Any, options: Any) -> Any:
            if "dies" in sources[0][0]:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.02)
            return real(sources, options)

        many.compile_sources = poisoned


@pytest.fixture
def client() -> Iterator[Any]:
    # One death is enough to give a task up: workers take seconds to start.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(Poison())
        yield client


@pytest.mark.sweep
def test_a_killed_worker_and_a_poisoned_source(client: Any) -> None:
    workers = client.run(os.getpid)
    killer = threading.Timer(1.0, os.kill, (next(iter(workers.values())), signal.SIGKILL))
    killer.start()
    sources = [(f"f{i}", BAD if i % 20 == 7 else GOOD) for i in range(60)]
    sources[30] = ("dies", GOOD)
    with client.get_executor() as executor:
        out = orias.compile_many(sources, arch="sm_80", executor=executor)
    killer.join()
    assert [o.name for o in out] == [name for name, _ in sources]
    wrong = {o.name: type(o.error).__name__ for o in out if not o.ok}
    assert wrong == {"dies": "KilledWorker", **{f"f{i}": "CompileError" for i in (7, 27, 47)}}


@pytest.mark.sweep
def test_the_command(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a", GOOD), ("dies", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.ptx").write_text(text)
    address = client.scheduler.address
    command = [
        "orias",
        "batch",
        "-arch",
        "sm_80",
        "--out",
        str(tmp_path / "out"),
        "--scheduler",
        address,
        str(tmp_path),
    ]
    assert run(command) == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 of 3 have a cubin") and "dies.ptx: " in said.err and "bad.ptx: line 6" in said.err
    assert (tmp_path / "out" / "a.cubin").read_bytes() == orias.compile(GOOD, arch="sm_80").data
