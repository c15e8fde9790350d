"""``orias perf``: reports on code and on runs."""

import json
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.cli.main import run
from orias.perf.access_cost import conflicts, global_cost
from orias.perf.kernel_steps import kernels
from orias.perf.loops import loops
from orias.perf.measure import costs, loop_cost
from orias.perf.report import report
from orias.perf.report_text import compared, comparison, text
from orias.perf.resident_blocks import occupancy
from orias.perf.trace import record, without_polls
from orias.sim.core.image import load
from orias.target.profile import profile_of_sm
from orias.timing.play import step_of

SAXPY = (Path(__file__).parents[2] / "examples" / "saxpy.ptx").read_text()
LOOP = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry total(.param .u64 p, .param .u64 q, .param .u32 n) {
  .reg .pred %c; .reg .b32 %n, %i; .reg .b64 %p, %q; .reg .f32 %x, %s;
  ld.param.u64 %p, [p];
  ld.param.u64 %q, [q];
  ld.param.u32 %n, [n];
  mov.b32 %i, 0;
  mov.f32 %s, 0f00000000;
top:
  ld.global.f32 %x, [%p];
  add.f32 %s, %s, %x;
  add.s64 %p, %p, 4;
  add.s32 %i, %i, 1;
  setp.lt.s32 %c, %i, %n;
  @%c bra top;
  st.global.f32 [%q], %s;
  ret;
}
"""


def launched(data: bytes, blocks: int = 4):  # type: ignore[no-untyped-def]
    code = kernels(data)[0]
    x, y = np.arange(1024, dtype="f4"), np.zeros(1024, "f4")
    run_ = record(load(data), code, (blocks,), (256,), [x, y, np.float32(2), np.uint32(1024)])
    return code, run_, x, y


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_a_recorded_run(arch: str) -> None:
    code, r, x, y = launched(orias.compile(SAXPY, arch=arch).data)
    np.testing.assert_array_equal(y, 2 * x)
    assert len(r.blocks) == 4 and all(len(b) == 8 for b in r.blocks)
    trace = [step_of(v) for v in r.blocks[0][0]]
    assert trace == sorted(trace) and code.nodes[trace[-1]].d.op.base == "EXIT"
    occ = occupancy(code.profile, code.registers, 256, r.shared)
    found = {(c.what, c.far): c for c in costs(r, occ)}
    assert found["one warp", True].cycles > found["one warp", False].cycles + 200
    assert found["one block", False].played.issued == 8 * len(trace)
    full = found["full SM", False]
    assert full.played.issued == full.blocks * 8 * len(trace)
    assert full.cycles < full.blocks * found["one block", False].cycles


def test_loads_under_way() -> None:
    """Both loads of saxpy are under way when the first is waited for."""
    code, r, _, _ = launched(orias.compile(SAXPY, arch="sm_80").data)
    far = next(c for c in costs(r, occupancy(code.profile, code.registers, 256, 0)) if c.far)
    waits = far.played.waits
    assert [w.under_way for w in waits] == [2]


def test_a_loop() -> None:
    code = kernels(orias.compile(LOOP, arch="sm_80").data)[0]
    found = loops(code.nodes)
    assert found and all(x.header in x.body for x in found)
    inner = max(found, key=lambda x: x.depth)
    c = loop_cost(code, inner, 48)
    assert c.one >= c.instructions
    assert c.one_far > c.one + 100
    assert c.full <= c.one


@pytest.mark.parametrize(
    ("sm", "registers", "threads", "shared", "blocks", "limit"),
    [
        (80, 32, 256, 0, 8, "threads"),
        (80, 33, 256, 0, 6, "registers"),
        (80, 255, 256, 0, 1, "registers"),
        (80, 16, 32, 0, 32, "blocks"),
        (75, 64, 256, 0, 4, "threads"),
        (90, 32, 128, 100_000, 2, "shared memory"),
        (120, 32, 256, 0, 6, "threads"),
    ],
)
def test_occupancy(sm: int, registers: int, threads: int, shared: int, blocks: int, limit: str) -> None:
    o = occupancy(profile_of_sm(sm), registers, threads, shared)
    assert (o.blocks, o.limit) == (blocks, limit)


def test_bank_conflicts() -> None:
    lanes = np.arange(32)
    assert conflicts(lanes * 4, 4) == 1
    assert conflicts(lanes * 8, 4) == 2
    assert conflicts(lanes * 128, 4) == 32
    assert conflicts(lanes * 0, 4) == 1
    assert conflicts(lanes * 8, 8) == 2
    assert conflicts(lanes * 16, 16) == 4
    assert conflicts([64], 4) == 1


def test_coalescing() -> None:
    lanes = np.arange(32)
    assert global_cost(lanes * 4, 4) == (1, 4)
    assert global_cost(lanes * 4 + 4, 4) == (2, 5)
    assert global_cost(lanes * 128, 4) == (32, 32)
    assert global_cost(lanes * 16, 16) == (4, 16)
    assert global_cost(lanes * 0, 4) == (1, 1)


def test_the_text() -> None:
    data = orias.compile(LOOP.replace("total", "a_b"), arch="sm_80", lineinfo=True).data
    code = kernels(data)[0]
    image = load(data)
    r = record(image, code, (2,), (64,), [np.ones(100, "f4"), np.zeros(1, "f4"), np.uint32(100)])
    made = report(code, 64, 0, r, image.reader.elf)
    again = json.loads(json.dumps(made))
    assert again == made
    shown = text(made)
    assert "full SM" in shown and "loop" in shown and "LDG" in shown
    assert " 1.000" in comparison(made, made) and len(compared(made, made)) > 9
    assert {x["kind"] for x in made["lines"]} == {"ptx"}


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.cubin"
    file.write_bytes(orias.compile(SAXPY, arch="sm_80").data)
    launch = [
        "--grid",
        "4",
        "--block",
        "256",
        "--arg",
        "buf:f32:1024=iota",
        "--arg",
        "buf:f32:1024",
        "--arg",
        "f32:2",
        "--arg",
        "u32:1024",
    ]
    assert run(["orias", "perf", str(file)]) == 0
    assert "limited by threads" in capsys.readouterr().out
    pytest.importorskip("jinja2", reason="Jinja2 is not installed (pip install 'orias[explore]')")
    html = tmp_path / "p.html"
    assert run(["orias", "perf", str(file), str(file), *launch, "--html", str(html)]) == 0
    out = capsys.readouterr().out
    assert "waits by instruction" in out and "full SM, far (a block)" in out and html.exists()
    assert run(["orias", "perf", str(file), *launch, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "saxpy"


def test_all_kernels_of_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a linker has still to place does not matter to a report on code; a launch and a comparison need one kernel."""
    head, body = ".version 8.0\n.target sm_80\n.address_size 64\n", "() { call.uni g; ret; }\n"
    text = f"{head}.extern .func g();\n.visible .entry a{body}.visible .entry b{body}"
    file = tmp_path / "o.cubin"
    file.write_bytes(orias.compile(text, arch="sm_80", compile_only=True).data)
    assert run(["orias", "perf", str(file), "--json"]) == 0
    assert {r["kernel"] for r in json.loads(capsys.readouterr().out)} == {"a", "b"}
    assert run(["orias", "perf", str(file), "-k", "b"]) == 0
    assert capsys.readouterr().out.startswith("b (sm_80)")
    for more in (["--block", "32"], [str(file)]):
        assert run(["orias", "perf", str(file), *more]) == 2
        assert "--kernel needed; the file has" in capsys.readouterr().err
    file.write_bytes(orias.compile(f"{head}.visible .func f() {{ ret; }}", arch="sm_80", compile_only=True).data)
    assert run(["orias", "perf", str(file)]) == 2
    assert "the file has no kernel" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["FILE", "--grid"], 2, "argument expected"),
        (["FILE", "--what=1"], 2, "unknown option"),
        ([], 2, "one cubin"),
        (["FILE", "--kernel", "none"], 2, "the file has saxpy"),
        (["FILE", "--arg", "u32:1"], 2, "needs --block"),
        (["FILE", "--block", "256"], 1, "0 arguments, the kernel has 4 parameters"),
        (["TEXT"], 1, "shorter than an ELF header"),
        (["MISSING"], 255, "No such file"),
    ],
)
def test_wrong_use(
    arguments: list[str], status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").write_bytes(orias.compile(SAXPY, arch="sm_80").data)
    (tmp_path / "TEXT").write_text("no cubin")
    given = [str(tmp_path / a) if a.isupper() else a for a in arguments]
    assert run(["orias", "perf", *given]) == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


WAITS = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %a; .reg .b32 %r<4>; .reg .pred %p;
  .shared .align 8 .b64 barrier;
  ld.param.u64 %a, [p];
  mov.u32 %r3, %tid.x;
  mov.u32 %r2, barrier;
L: add.u32 %r3, %r3, 1;
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%r2], 0;
  @!%p bra L;
  st.global.u32 [%a], %r3;
  ret;
}
"""


def test_failed_polls_do_not_count() -> None:
    (code,) = kernels(orias.compile(WAITS, arch="sm_90").data)
    poll = next(n.index for n in code.nodes if n.d.op.has("TRYWAIT"))
    branch = next(n for n in code.nodes[poll:] if n.targets)
    assert branch.targets[0] <= poll < branch.index > branch.targets[0] + 1
    loop = range(branch.targets[0], branch.index + 1)
    before, after = range(loop.start), range(loop.stop, len(code.nodes))

    def trace(*parts: range) -> list[tuple[int, int, int]]:
        return [(k, 0, 0) for part in parts for k in part]

    assert without_polls(trace(before, loop, loop, loop, after), code) == trace(before, loop, after)
    # Waits one after the other are not one.
    twice = trace(before, loop, after, before, loop, after)
    assert without_polls(twice, code) == twice
