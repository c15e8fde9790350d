"""``orias opt`` and the options about phases, as a user types them."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cli.main import run
from orias.ori.text import dump, parse
from orias.pipeline.phases import PHASES
from tests.kernels.test_kernels import source

INPUT = """\
# by hand
.func k sm_90 entry ssa
b0:
  v256:R = S2R SR_TID.X
  v257:R2 = copy c[0x0][0x210]
  v258:R = IADD3 v256, 0x0, RZ
  v259:R2 = IMAD.WIDE v258, 0x4, v257
  STG.E -, v259, URZ, 0x0, v258
  EXIT
"""


def orias(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orias", *arguments], capture_output=True, text=True, timeout=120, input=stdin
    )


def opt(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``orias opt``."""
    code = run(["orias", "opt", *arguments])
    streams = capsys.readouterr()
    return code, streams.out, streams.err


@pytest.fixture
def written(tmp_path: Path) -> str:
    path = tmp_path / "in.ori"
    path.write_text(INPUT)
    return str(path)


def test_one_phase(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = opt(capsys, "oricopyprop", written)
    assert (code, err) == (0, "")
    assert "IADD3" in INPUT and "IADD3" not in out
    assert dump(parse(out)) == out


def test_reading_alone(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt(capsys, written) == (0, INPUT.split("\n", 1)[1], "")


def test_several_functions_from_standard_input() -> None:
    text = INPUT + INPUT.replace(".func k", ".func other")
    r = orias("opt", "GeneralOptimize", "OriSimpleLiveDead", "-", stdin=text)
    assert (r.returncode, r.stderr) == (0, "")
    assert [line.split()[1] for line in r.stdout.splitlines() if line.startswith(".func")] == ["k", "other"]


def test_to_the_end_is_what_the_compiler_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, folder = tmp_path / "k.ptx", tmp_path / "dumps"
    ptx.write_text(source("reduce"))
    for level in ("-O0", "-O3"):
        command = ["orias", "-arch=sm_90", level, str(ptx), "-o", str(tmp_path / "k.cubin")]
        assert run([*command, "--dump-after=*", "--dump-dir", str(folder)]) == 0
        (last,) = folder.glob("*-after-PostSchedule.ori")
        want = last.read_text().split("\n", 1)[1]
        for first in ("SetControlFlowOpLastInBB", "LateExpansion", "AllocateRegisters"):
            before = [p.name for p in PHASES if level[2] in p.levels]
            (dumped,) = folder.glob(f"*-after-{before[before.index(first) - 1]}.ori")
            code, out, err = opt(capsys, f"{first}..", str(dumped), level)
            assert (code, err) == (0, "")
            assert out == want
    code, out, _ = opt(capsys, "AllocateRegisters..", str(dumped), "--serial-schedule", "--check")
    assert code == 0 and out != want


def test_output_file_and_times(written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.ori"
    code, text, err = opt(capsys, "..GvnCse", written, "-o", str(out), "--time-phases")
    assert (code, text) == (0, "")
    assert parse(out.read_text()).name == "k"
    assert err.splitlines()[1].split()[:2] == ["OriCheckInitialProgram", "1"]
    assert err.splitlines()[-1].startswith("all phases")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["OriCopyPro", "FILE"], "Unknown phase 'OriCopyPro'; did you mean OriCopyProp"),
        (["EmitPSI", "FILE"], "Phase 'EmitPSI' does nothing in Orias: graphics only"),
        (["GvnCse..OriCopyProp", "FILE"], "'GvnCse..OriCopyProp': GvnCse runs after OriCopyProp"),
        (["PostSchedule", "FILE"], "takes functions in state allocated; k is in state ssa"),
        (["--nothing", "FILE"], "unknown option '--nothing'"),
        (["FILE", "-o"], "argument expected after '-o'"),
        (["--register-usage", "11", "FILE"], "'11' is not a number from 0 to 10"),
        (["/no/such.ori"], "/no/such.ori: No such file"),
        ([], "usage: orias opt"),
    ],
)
def test_wrong_command_lines(
    arguments: list[str], message: str, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = opt(capsys, *(written if a == "FILE" else a for a in arguments))
    assert (code, out) == (255, "")
    assert err.startswith("orias opt: ") and message in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sm_90", "sm_1", "line 2: unknown target 'sm_1'"),
        ("entry ssa", "entry sas", "line 2: expected one of entry"),
        ("b0:", "b0: -> b7", "line 3: there is no b7"),
        (
            "v256:R = S2R SR_TID.X",
            "v256 = S2R SR_TID.X",
            "line 4: v256 has no definition that names its register file (v256:R = ...)",
        ),
        ("0x4,", "0x4$,", "line 7: operand '0x4$'"),
        ("0x4,", f"{1 << 64},", "line 7: 18446744073709551616 is not below"),
        ("v257:R2", "v99999999:R2", "line 5: 99999999 is not below"),
        ("  EXIT", "  EXIT ; what", "line 9: unknown mark 'what'"),
        ("  EXIT", "  EXIT\nb0:\n  EXIT", "line 10: b0 is there twice"),
        ("b0:", ".what 1\nb0:", "line 3: unknown directive .what"),
        ("b0:", ".flags odd\nb0:", "line 3: unknown flag 'odd'"),
        ("b0:\n", "", "line 3: instruction outside a block"),
        (INPUT, "", "no function"),
        (INPUT, "hello", "line 1: expected .func"),
        ("  EXIT\n", "", "as read, function k:\nk b0: falls through"),
        ("v258, 0x4", "v258, v256, v256, 0x4", ""),
    ],
)
def test_wrong_texts(old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.ori"
    assert old in INPUT
    path.write_text(INPUT.replace(old, new, 1))
    code, out, err = opt(capsys, "GeneralOptimize..", str(path))
    assert (code, out) == (255, "")
    assert message in err


def test_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.ori"
    path.write_bytes(b"# one\n\xff\xfe")
    assert opt(capsys, str(path)) == (255, "", f"orias opt: {path}, line 2: not UTF-8 text\n")


def test_any_text_gives_a_result_or_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mutated dumps: letters and lines lost, doubled and swapped.  No exception gets out."""
    rng = random.Random(5)
    path = tmp_path / "mutated.ori"
    codes = []
    for n in range(150):
        text = list(INPUT)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            kind = rng.randrange(4)
            if kind == 0:
                del text[at]
            elif kind == 1:
                text.insert(at, rng.choice("v0R:;,-.{}@#b \n19~|"))
            elif kind == 2:
                text[at] = rng.choice("v0R:;,-.{}@#b \n19~|")
            else:
                end = at + rng.randint(1, 40)
                text[at:at] = text[at:end]
        path.write_text("".join(text))
        code, out, err = opt(capsys, "GeneralOptimize.." if n % 2 else "OriCopyProp", str(path))
        assert code in (0, 255)
        assert (out != "") == (code == 0) == (err == "")
        codes.append(code)
    assert codes.count(0) > 5 and codes.count(255) > 50


def test_tables() -> None:
    r = orias("opt", "--list")
    assert r.returncode == 0
    assert [line.split()[0] for line in r.stdout.splitlines()[1:]] == [p.name for p in PHASES]
    assert len(orias("opt", "--documented").stdout.splitlines()) == 160
    assert orias("opt", "--help").stdout.startswith("usage: orias opt PHASE")


def test_the_help_of_orias_alone_has_the_options() -> None:
    from orias.cli.help_text import help_text

    assert "--dump-after <phase>[:<function>]" in help_text("orias")
    assert "--dump-after" not in help_text("ptxas")


def test_options_of_a_compile(tmp_path: Path) -> None:
    path, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    path.write_text(source("saxpy"))
    command = ("-arch=sm_80", str(path), "-o", str(cubin))
    r = orias(*command, "--dump-before=PostSchedule:sax*", "--time-phases", "--verify-each")
    assert r.returncode == 0 and cubin.exists()
    assert r.stderr.startswith(
        f"# before PostSchedule (phase {len(PHASES)} of {len(PHASES)})\n.func saxpy sm_80 entry allocated\n"
    )
    assert r.stderr.splitlines()[-1].startswith("all phases")
    plain = cubin.read_bytes()
    assert orias(*command, "--serial-schedule", "--skip-phase=GvnCse,OriDoRemat").returncode == 0
    assert cubin.read_bytes() != plain
    cubin.unlink()
    assert orias(*command, "--stop-after=GvnCse").returncode == 0
    assert not cubin.exists()
    for option, message in [
        ("--skip-phase=AllocateRegisters", "Phase 'AllocateRegisters' cannot be skipped"),
        ("--stop-after=GvnCsee", "Unknown phase 'GvnCsee'; did you mean GvnCse"),
        ("--dump-after=Zz*", "No phase matches 'Zz*'"),
    ]:
        r = orias(*command, option)
        assert r.returncode == 255 and message in r.stderr and "Traceback" not in r.stderr
    r = orias(*command, "--dump-after=GvnCse", "--dump-dir", str(path))
    assert r.returncode == 255 and f"{path}: File exists" in r.stderr
