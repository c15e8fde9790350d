"""Blocks in several processes: the same memory, text, counts and errors as in one, or a reason why they ran in one."""

import json
import os
import pickle
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orias import sim
from orias.cli.run_command import run_command
from orias.sim.core import parallel_blocks
from orias.sim.core.launch import Launch
from orias.sim.core.parallel_blocks import Changes, Share
from tests.sim.build import assemble

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
KERNEL = (
    HEAD
    + """
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[11] = {98,108,111,99,107,32,37,117,10,0,0};
.visible .entry bytes(.param .u64 out, .param .u32 fails)
{ .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>; .local .align 8 .b8 a[8];
  ld.param.u64 %d0, [out]; ld.param.u32 %r5, [fails];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r2, %r1, %r0;
  cvt.u64.u32 %d1, %r3; add.u64 %d1, %d0, %d1; add.u32 %r4, %r0, %r2; st.global.u8 [%d1], %r4;
  setp.ne.u32 %p, %r2, 0; @%p bra DONE;
  st.local.u32 [a], %r0; mov.u64 %d2, a; cvta.local.u64 %d2, %d2; mov.u64 %d3, text; cvta.global.u64 %d3, %d3;
  { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d3; st.param.b64 [y], %d2; call (z), vprintf, (x, y); }
  setp.ne.u32 %p, %r0, %r5; @%p bra DONE; trap;
DONE: ret; }
"""
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_blocks, "LARGE", 1)


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return assemble(KERNEL, "sm_90", "-O1")


class Reversed(ThreadPoolExecutor):
    """Runs the last part first."""

    def __init__(self) -> None:
        super().__init__(1)
        self.waiting: list[tuple[Future[Any], Any]] = []

    def submit(self, f: Any, *args: Any) -> Future[Any]:  # type: ignore[override]
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: f(*args)))
        if len(self.waiting) == 3:
            for waiting, run in reversed(self.waiting):
                waiting.set_result(run())
        return future


def run(cubin: bytes, fails: int = 99, **options: Any) -> tuple[Any, Any, Any]:
    image = sim.load(cubin)
    out = np.full(7 * 64, 3, "u1")
    try:
        return out, image.launch("bytes", 7, 64, [out, fails], **options), image
    except sim.SimError as e:
        return e, "".join(image.syscalls.output), image


def test_neighbouring_bytes_text_and_counts(cubin: bytes) -> None:
    out, one, _ = run(cubin)
    assert (out.reshape(64, 7) == np.add.outer(np.arange(64), np.arange(7))).all()
    assert one.output == "".join(f"block {k}\n" for k in range(7)) and one.together == ""
    for options in ({"executor": Reversed(), "cores": 3}, {"cores": 2}):
        again, many, _ = run(cubin, **options)
        assert (again == out).all() and many.together == ""
        assert (many.output, many.instructions) == (one.output, one.instructions)


def test_the_command_line(cubin: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cubin"
    path.write_bytes(cubin)
    args = [str(path), "--grid=7", "--block=64", "--arg", "buf:u8:448", "--arg", "u32:99", "--print", "--json"]
    shown = []
    for cores in ("1", "3"):
        assert run_command([*args, "--cores", cores]) == 0
        shown.append(json.loads(capsys.readouterr().out))
        assert shown[-1].pop("steps") and shown[-1]["together"] == ""
    assert shown[0] == shown[1] and "block 6" in shown[0]["output"]
    assert run_command([*args[:-1], "--cores", "2", "--hazards=stale", "--stats"]) == 0
    assert "in one process: something looks at the blocks as they run" in capsys.readouterr().out


@pytest.mark.in_turn(2)
def test_a_fault_of_each_process(cubin: bytes) -> None:
    """Blocks 0 to 2 are those of the first process."""
    for block in (1, 4):
        one, text, _ = run(cubin, block)
        many, same, _ = run(cubin, block, cores=2)
        assert isinstance(many, sim.Trap) and str(many) == str(one) and many.block == (block, 0, 0)
        assert f"block {block - 1}\n" in text and text.startswith(same[: same.index(f"block {block}")])


def test_a_process_that_ends(cubin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Launch.run_blocks

    def run_blocks(self: Launch, first: int, last: int) -> None:
        if first:
            os._exit(3)
        real(self, first, last)

    monkeypatch.setattr(Launch, "run_blocks", run_blocks)
    # A worker of pytest-xdist has a thread of its own, beside which nothing is forked.
    monkeypatch.setattr(parallel_blocks, "_other_threads", lambda: False)
    with pytest.raises(BrokenProcessPool, match="without a result"):
        run(cubin, cores=2)


def test_the_first_error_and_what_was_printed_before(cubin: bytes) -> None:
    one, text, _ = run(cubin, 4)
    many, same, _ = run(cubin, 4, executor=Reversed(), cores=3)
    assert isinstance(one, sim.Trap) and type(many) is type(one) and str(many) == str(one) and many.block == (4, 0, 0)
    assert "block 3\n" in text and text.startswith(same[: same.index("block 4")])


def test_the_limit_of_steps_counts_all_parts(cubin: bytes) -> None:
    steps = run(cubin, executor=Reversed(), cores=3)[1].steps
    limited, _, _ = run(cubin, executor=Reversed(), cores=3, max_steps=steps - 1)
    assert isinstance(limited, sim.StepLimit)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("red.global.add.u32 [%d0], 1;", "global memory"),
        ("atom.add.u32 %r0, [%d0], 1; st.global.u32 [%d0+4], %r0;", "global memory"),
        ("ld.volatile.global.u32 %r0, [%d0]; st.global.u32 [%d0+4], %r0;", "sees stores"),
        ("membar.gl; st.global.u32 [%d0+4], 1;", "orders memory"),
        ("atom.shared.add.u32 %r0, [s], 1; st.global.u32 [%d0], %r0;", ""),
        ("ld.global.u32 %r0, [%d0+4]; st.global.u32 [%d0], %r0;", ""),
    ],
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_code_that_may_look_at_other_blocks_stays_together(body: str, reason: str, arch: str) -> None:
    text = HEAD.replace("sm_90", "sm_80") + (
        ".visible .entry k(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %d<2>; .shared .b32 s; ld.param.u64 %d0, [p]; "
        f"cvta.to.global.u64 %d0, %d0; {body} ret; }}"
    )
    image = sim.load(assemble(text, arch, "-O1"))
    out = np.zeros(2, "u4")
    with Reversed() as executor:
        executor.waiting = []
        result = image.launch("k", 3, 32, [out], executor=executor, cores=3)
    assert reason in result.together and bool(result.together) == bool(reason)
    assert len(executor.waiting) == (0 if reason else 3)
    if body.startswith("red"):
        assert out[0] == 96


def test_small_launches_and_those_that_are_watched_stay_together(cubin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "looks at" in run(cubin, cores=2, hazards="stale")[1].together
    monkeypatch.setattr(parallel_blocks, "LARGE", 7 * 64 + 1)
    assert "fewer than 449" in run(cubin, cores=2)[1].together


def test_changes_of_bytes() -> None:
    rng = np.random.default_rng(3)
    before = rng.integers(0, 255, 5 * 4096).astype("u1")
    one, two = before.copy(), before.copy()
    one[[0, 4095, 4096, 9000]] ^= 1
    two[[1, 4094, 9001, 20479]] ^= 2
    memory = before.copy()
    for part in (one, two):
        pickle.loads(pickle.dumps(Changes.between(before, part))).apply(memory)
    assert (memory == (one ^ before ^ two)).all()
    assert len(Changes.between(before, one).pages) == 3 and Share._fields[0] == "changes"
