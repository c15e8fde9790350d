"""Where knobs come from, which setting wins, and what is refused."""

import json
import pickle
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.knobs.knob_settings import (
    KnobError,
    KnobSettings,
    changed,
    checked,
    from_dict,
    parse_environment,
    parse_knob_file,
    parse_setting,
    read_knob_file,
)
from orias.knobs.knob_table import KNOBS
from orias.knobs.knob_values import DEFAULTS
from orias.options import Options

LOOP = """.version 8.0
.target sm_80
.address_size 64
{module}
.visible .entry {name}(.param .u64 p, .param .u32 n) {header}
{{ {body}
 .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p;
 ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 0;
L: ld.global.u32 %r4, [%d1]; add.u32 %r3, %r3, %r4; add.u64 %d1, %d1, 4; add.u32 %r2, %r2, 1;
 setp.lt.u32 %p, %r2, %r1; @%p bra L;
 st.global.u32 [%d1], %r3; ret; }}
"""
LIMIT = "UnrollUnknownInstLimit"
PRAGMA = f'.pragma "knob {LIMIT}=0";'


def text(name: str = "k", module: str = "", header: str = "", body: str = "") -> str:
    return LOOP.format(name=name, module=module, header=header, body=body)


def code(source: str, **options: object) -> bytes:
    """The instructions of the only kernel."""
    return orias.compile(source, arch="sm_80", **options).disassemble().encode()


@pytest.fixture(scope="module")
def forms() -> tuple[bytes, bytes]:
    """The loop with copies, and as it is written."""
    plain, rolled = code(text()), code(text(), knobs={LIMIT: 0})
    assert plain != rolled
    return plain, rolled


def test_python(forms: tuple[bytes, bytes]) -> None:
    plain, rolled = forms
    assert code(text(), knobs={}) == plain
    assert code(text(), knobs={"k": {LIMIT: 0}}) == rolled
    assert code(text(), knobs={"other": {LIMIT: 0}}) == plain
    assert code(text(), knobs=KnobSettings([checked("", LIMIT, 0)])) == rolled
    assert code(text(), knobs={LIMIT.upper(): 0}) == rolled, "names have no case"
    with pytest.raises(TypeError, match="dictionary"):
        code(text(), knobs=[LIMIT])
    with pytest.raises(KnobError, match="out of range 0"):
        code(text(), knobs={LIMIT: -1})
    outcome = orias.compile_many([text()], arch="sm_80", jobs=1, knobs={LIMIT: 0})[0]
    assert outcome.cubin is not None and outcome.cubin.disassemble().encode() == rolled


@pytest.mark.parametrize("place", ["module", "header", "body"])
def test_pragma(forms: tuple[bytes, bytes], place: str) -> None:
    plain, rolled = forms
    source = text(**{place: PRAGMA})
    cubin = orias.compile(source, arch="sm_80")
    assert cubin.disassemble().encode() == rolled and not cubin.diagnostics
    # A pragma comes after the options, as in ptxas; one knob switches pragmas off.
    assert code(source, knobs={LIMIT: 180}) == rolled
    assert code(source, knobs={"DisablePragmaKnobs": True}) == plain


def test_wrong_pragmas() -> None:
    def message(source: str) -> tuple[int, str]:
        with pytest.raises(orias.CompileError) as e:
            orias.compile(source, arch="sm_80")
        return e.value.diagnostics[0].line, e.value.diagnostics[0].message

    assert message(text(body='.pragma "knob HoistBudgets=1";')) == (
        6,
        "Unknown knob 'HoistBudgets'; did you mean HoistBudget or URFConditionBudget?",
    )
    assert message(text(header='.pragma "knob HoistBudget=x";'))[1].startswith(
        "Knob 'HoistBudget' takes a whole number"
    )
    assert "names a kernel" in message(text(body='.pragma "knob k:HoistBudget=1";'))[1]
    function = '.func f() { .pragma "knob HoistBudget=1"; ret; }'
    assert "cannot be specified for device functions" in message(text(module=function))[1]
    assert "cannot be specified for a function" in message(text(module=f".func f() {PRAGMA} {{ ret; }}"))[1]


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], forms: tuple[bytes, bytes]
) -> None:
    source, out, file = tmp_path / "k.ptx", tmp_path / "k.cubin", tmp_path / "k.knobs"
    source.write_text(text())
    file.write_text(f"# a comment\n; another\n[knobs]\n{LIMIT} = 180\n\n[knobs k]\n{LIMIT}=0x0\n")

    def compiled(*options: str, program: str = "orias") -> bytes:
        code = run([program, *options, "-arch=sm_80", str(source), "-o", str(out)])
        assert code == 0, capfd.readouterr().err
        return orias.disassemble(out.read_bytes()).encode()

    plain, rolled = forms
    assert compiled() == plain
    for options in (
        ["-knob", f"{LIMIT}=0"],
        [f"-knob={LIMIT}=0"],
        ["--knob", f"k:{LIMIT}=0"],
        ["--knob-file", str(file)],
    ):
        assert compiled(*options) == rolled, options
    assert compiled("-knob", f"other:{LIMIT}=0") == plain
    assert compiled("--knob-file", str(file), "-knob", f"{LIMIT}=180") == plain, "the command line wins over a file"
    monkeypatch.setenv("ORIAS_KNOBS", f"HoistBudget=3,{LIMIT}=0")
    assert compiled() == rolled
    assert compiled(program="ptxas") == rolled, "a client that calls ptxas can set the environment"
    assert compiled("-knob", f"{LIMIT}=180") == plain, "the command line wins over the environment"
    monkeypatch.setenv("ORIAS_KNOBS", f"@{file}")
    assert compiled() == rolled


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-knob", "Nothing=1"], "Unknown knob 'Nothing' (orias --list-knobs lists them)"),
        (["-knob", "HoistBudget"], "'HoistBudget': expected NAME=VALUE"),
        (["-knob", "HoistBudget=1.5"], "Knob 'HoistBudget' takes a whole number, not '1.5'"),
        (["-knob", "HoistBudget=4096"], "Value 4096 of knob 'HoistBudget' is out of range 0..1024"),
        (["-knob", "DisablePragmaKnobs=2"], "Knob 'DisablePragmaKnobs' takes true or false, not '2'"),
        (["-knob", "DisablePhases=Nothing"], "Unknown phase 'Nothing'; 'orias opt --list' names all phases"),
        (
            ["-knob", "DisablePhases=PostSchedule"],
            "Phase 'PostSchedule' cannot be skipped: without it there is no code",
        ),
        (["--knob-file", "/nonexistent"], "Knob file '/nonexistent' could not be opened: No such file or directory"),
        (["-knob"], "argument expected after '-knob'"),
        (["--list-knobs=xml"], "Value 'xml' is not defined for option 'list-knobs'"),
    ],
)
def test_refused(options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(text())
    assert run(["orias", "-arch=sm_80", str(source), "-o", str(out), *options]) == 255
    assert capfd.readouterr().err.splitlines()[0] == f"orias fatal   : {message}"
    assert not out.exists()


@pytest.mark.parametrize("option", ["-knob", "--knob", "--knob-file", "--list-knobs"])
def test_ptxas_has_no_such_option(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["ptxas", option, "HoistBudget=1"]) == 255
    assert capfd.readouterr().err == f"ptxas fatal   : Unknown option '{option[1:]}'\n"


def test_files() -> None:
    for wrong, message in (
        ("HoistBudget=1\n", "f, line 1: A setting before the heading [knobs]"),
        ("[knob]\n", "f, line 1: '[knob]': expected [knobs] or [knobs KERNEL]"),
        ("[knobs a b]\n", "f, line 1: '[knobs a b]': expected"),
        ("[knobs]\n\nHoistBudget=-1\n", "f, line 3: Value -1 of knob 'HoistBudget' is out of range 0..1024"),
    ):
        with pytest.raises(KnobError) as e:
            parse_knob_file(wrong, "f")
        assert str(e.value).startswith(message)
    both = from_dict({"HoistBudget": 2, "k": {"DisablePragmaKnobs": True, "DisablePhases": "GvnCse"}})
    assert KnobSettings(parse_knob_file(both.text(), "f")) == both
    assert pickle.loads(pickle.dumps(both)) == both


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"[knobs]\n\xff\n")
    with pytest.raises(KnobError, match="is not UTF-8 text"):
        read_knob_file(str(tmp_path / "k"))


def test_the_last_setting_wins() -> None:
    settings = parse_environment("HoistBudget=1 k:HoistBudget=2, HoistBudget=3")
    assert KnobSettings(settings).values("k", []).hoist_budget == 3
    assert KnobSettings(settings[:2]).values("k", []).hoist_budget == 2
    assert KnobSettings(settings[:2]).values("j", []).hoist_budget == 1
    assert KnobSettings(settings).values("k", [parse_setting("HoistBudget=4")]).hoist_budget == 4
    assert KnobSettings().values("k", []) is DEFAULTS
    assert changed(KnobSettings(settings).values("k", [])) == [checked("", "HoistBudget", 3)]


def test_list(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["orias", "--list-knobs"]) == 0
    shown = capfd.readouterr().out
    assert all(f"  {k.name}=" in shown and k.about in shown for k in KNOBS)
    assert run(["orias", "--list-knobs=json"]) == 0
    listed = json.loads(capfd.readouterr().out)
    assert [(x["name"], x["default"]) for x in listed] == [(k.name, k.default) for k in KNOBS]


def test_options_by_name() -> None:
    o = Options()
    with pytest.raises(TypeError, match="f\\(\\) got an unexpected option 'nothing'"):
        o.take("f", {"nothing": 1})
