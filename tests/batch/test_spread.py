"""Many tasks over processes and executors: every task has its result, and one that kills its process costs only itself."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from orias.spread import WorkerDied, spread
from orias.tools.fuzz import campaign
from orias.tools.fuzz.campaign import DIED, Settings, Turn
from orias.tools.fuzz.judge import Verdict


def square(n: int) -> int:
    """The square; its process dies of 13."""
    if n == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 17:
        raise ValueError("seventeen")
    return n * n


def test_processes() -> None:
    out = dict(spread(square, range(10, 20), jobs=2))
    assert isinstance(out.pop(3), WorkerDied)
    assert str(out.pop(7)) == "seventeen"
    assert out == {n: (n + 10) ** 2 for n in (0, 1, 2, 4, 5, 6, 8, 9)}


def test_an_executor_gets_no_more_than_it_is_due() -> None:
    taken: list[int] = []
    ended = 0

    def tasks() -> Iterator[int]:
        for n in range(40):
            taken.append(n)
            yield n % 12
            assert len(taken) - ended <= 3

    with ThreadPoolExecutor(2) as executor:
        results = {}
        for n, result in spread(square, tasks(), jobs=1, executor=executor, ahead=3):
            ended += 1
            results[n] = result
    assert results == {n: (n % 12) ** 2 for n in range(40)}


def test_a_lost_task_has_a_second_try() -> None:
    with ThreadPoolExecutor(1) as executor:
        out = dict(spread(square, [3, 17, 4], jobs=1, executor=executor))
    assert (out[0], str(out[1]), out[2]) == (9, "seventeen", 16)


def judged(turn: Turn) -> Verdict:
    if turn.seed == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return Verdict(turn.seed, turn.arch, turn.level, "ok")


@pytest.mark.in_turn(2)
def test_a_campaign_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--seed", "3", "--count", "8", "--seconds", "0", "--budget", "8", "--ptxas", "none", "--quiet"]
    assert campaign.campaign(Settings([*arguments, "--jobs", "2"])) == campaign.campaign(Settings(arguments))
    monkeypatch.setattr(campaign, "judge_turn", judged)
    counts, notable = campaign.campaign(Settings([*arguments, "--jobs", "2"]))
    assert (counts, [(v.seed, v.kind) for v in notable]) == ({"ok": 7, DIED: 1}, [(5, DIED)])
