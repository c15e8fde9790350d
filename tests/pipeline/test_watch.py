"""Looking at phases: dumps, the verifier between phases, times, skipping, stopping, the serial schedule."""

from pathlib import Path

import pytest

import orias
from orias.diag import CompileError, VerifyError
from orias.isa.operand import K_R, NOT_PT
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import parse
from orias.pipeline import functions
from orias.pipeline.phases import PHASES
from tests.kernels.test_kernels import run, source

TWO = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.global.u32 [%d1], 1; ret; }
.visible .entry second(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.global.u32 [%d1], 2; ret; }
"""
OPTIONAL = [p.name for p in PHASES if not p.required and p.key != "verify"]


def test_dumps_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    orias.compile(TWO, arch="sm_80", dump_after=["oricopyprop:f*"], dump_before=["OriCopyProp:second", "PostSched*"])
    text = capsys.readouterr().err
    heads = [line for line in text.splitlines() if line.startswith(("#", ".func"))]
    number = 1 + [p.name for p in PHASES].index("OriCopyProp")
    assert heads[:2] == [f"# after OriCopyProp (phase {number} of {len(PHASES)})", ".func first sm_80 entry ssa"]
    assert heads.count(f"# before OriCopyProp (phase {number} of {len(PHASES)})") == 1
    assert heads.count(f"# before PostSchedule (phase {len(PHASES)} of {len(PHASES)})") == 2
    assert sum(h.startswith(".func first") for h in heads) == 2


def test_dumps_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    orias.compile(TWO, arch="sm_80", dump_after=["*"], dump_dir=str(folder))
    files = sorted(folder.iterdir())
    assert len(files) == 2 * sum("3" in p.levels for p in PHASES)
    assert files[0].name == "first.01-after-OriCheckInitialProgram.ori"
    assert {parse(f.read_text()).name for f in files} == {"first", "second"}


@pytest.mark.parametrize("option", ["dump_before", "dump_after"])
def test_unknown_phases_are_refused(option: str) -> None:
    with pytest.raises(CompileError, match="did you mean OriCopyProp"):
        orias.compile(TWO, arch="sm_80", **{option: ["OriCopyPop"]})


def test_stop_after(capsys: pytest.CaptureFixture[str]) -> None:
    cubin = orias.compile(TWO, arch="sm_80", stop_after="GvnCse", dump_after=["*"], self_check=True)
    assert cubin.data == b""
    last = [line for line in capsys.readouterr().err.splitlines() if line.startswith("# after")][-1]
    assert "GvnCse" in last


def test_times() -> None:
    assert orias.compile(TWO, arch="sm_80").phases == []
    phases = orias.compile(TWO, arch="sm_80", time_phases=True).phases
    assert [name for name, _, _ in phases] == [p.name for p in PHASES if "3" in p.levels]
    assert all(count == 2 and seconds > 0 for _, count, seconds in phases)


def lose_a_definition(fn: Func, o: Options) -> None:
    """A wrong phase: the first value that is read is not computed any more."""
    used = {s for i in fn.insts() for s in i.src}
    for b in fn.blocks:
        for i in b.insts:
            if i.dst and i.dst[0] & 15 == K_R and i.dst[0] in used:
                b.insts.remove(i)
                return


def guard_several_results(fn: Func, o: Options) -> None:
    """Another: a guarded instruction with more than one result."""
    for i in fn.insts():
        if len(i.dst) == 1 and i.dst[0] & 15 == K_R:
            i.guard, i.dst = NOT_PT, [i.dst[0], fn.new_vreg(K_R)]
            return


@pytest.mark.parametrize("wrong", [lose_a_definition, guard_several_results])
@pytest.mark.parametrize("option", ["verify_each", "self_check"])
@pytest.mark.parametrize("name", ["OriHoistInvariantsEarly", "OriDoPredication", "ConvertToUniformReg"])
def test_the_verifier_names_the_phase(
    name: str, option: str, wrong: functions.PhaseFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = next(p.key for p in PHASES if p.name == name)
    first = next(p.name for p in PHASES if p.key == key)
    real = functions.FUNCTIONS[key]

    def planted(fn: Func, o: Options) -> None:
        real(fn, o)
        wrong(fn, o)

    monkeypatch.setitem(functions.FUNCTIONS, key, planted)
    with pytest.raises(VerifyError) as e:
        orias.compile(source("saxpy"), arch="sm_80", **{option: True})
    text = str(e.value)
    assert text.startswith(f"after phase {first}, function saxpy:")
    assert "\n  > " in text, "the guilty instruction is marked"
    assert any(line.startswith("    ") for line in text.splitlines()), "and shown among its neighbours"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ["reduce", "bfs", "matmul"])
@pytest.mark.parametrize("skipped", OPTIONAL)
def test_code_is_right_without_an_optional_phase(skipped: str, name: str) -> None:
    run(name, orias.compile(source(name), arch="sm_80", skip_phases=[skipped], self_check=True).data)


def test_code_is_right_without_all_optional_phases() -> None:
    for name in ("reduce", "bfs", "matmul"):
        run(name, orias.compile(source(name), arch="sm_90", skip_phases=OPTIONAL, self_check=True).data)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_the_serial_schedule(arch: str, level: int) -> None:
    for name in ("reduce", "bfs", "matmul"):
        plain = orias.compile(source(name), arch=arch, opt_level=level).data
        cubin = orias.compile(source(name), arch=arch, opt_level=level, serial=True, self_check=True).data
        assert (cubin == plain) == (level == 0)
        run(name, cubin)


def test_every_compile_of_the_tests_is_verified_after_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tests/conftest.py`` asks for it; a compile of a user pays nothing."""
    from orias.ori import verify as module

    real = module.verify
    count = 0

    def counting(fn: Func) -> list[str]:
        nonlocal count
        count += 1
        return real(fn)

    monkeypatch.setattr(module, "verify", counting)
    orias.compile(TWO, arch="sm_80")
    assert count == 2 * sum("3" in p.levels for p in PHASES)


def test_nothing_looks_on_unless_asked() -> None:
    from orias.pipeline.runner import Runner

    assert Runner(Options("sm_80", 3)).watch is None
