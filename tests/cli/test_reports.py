"""Statistics, time traces, parallel compiles and the options that add instructions."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.jobserver import JobServer
from orias.split import work_in_processes
from tests.cli.command_lines import FILES, HEAD
from tests.nvtools import LIMIT_S, tool

ROOT = Path(__file__).resolve().parents[2]
ACCESSES = (
    HEAD.format("sm_80")
    + ".visible .entry k(.param .u64 p0) { .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p; ld.param.u64 %rd1,[p0];\n"
    "ld.global.u32 %r1,[%rd1]; setp.eq.u32 %p,%r1,0; @%p exit; st.global.u32 [%rd1],1; mov.u32 %r3, 0; st.shared.u32 [%r3], %r1; "
    "bar.sync 0; ld.shared.u32 %r2, [%r3]; red.global.add.u32 [%rd1+4], %r2; ret; }\n"
)
MANY = HEAD.format("sm_80") + "".join(
    f".visible .entry k{i}(.param .u64 p0) {{ .reg .b64 %rd<4>; .reg .b32 %r<4>; ld.param.u64 %rd1,[p0]; ld.global.u32 %r1,[%rd1];\n"
    + f"mad.lo.u32 %r1,%r1,{i + 3},%r1; div.u32 %r1,%r1,%r1; st.global.u32 [%rd1],%r1; ret; }}\n" * 1
    for i in range(6)
)


def blind(text: str) -> str:
    return re.sub(r"\d+\.\d+", "N", text)


@pytest.mark.parametrize("parts", ["t", "m", "t,p", "m,d", "t,m,p,d", "p"])
def test_statistics_have_the_form_of_ptxas(
    parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.ptx").write_text(FILES["f.ptx"])
    real = subprocess.run(
        [tool("ptxas"), "f.ptx", f"--compiler-stats={parts}"], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert run(["ptxas", "f.ptx", f"--compiler-stats={parts}"]) == 0
    said = capsys.readouterr().err
    assert blind(said) == blind(real.stderr)
    assert run(["ptxas", "f.ptx", f"--compiler-stats={parts}", "--compiler-stats-file=s"]) == 0
    assert Path("s").read_text().startswith("f.ptx >>\n\n") and capsys.readouterr().err == ""


def test_statistics_add_up() -> None:
    cubin = orias.compile(MANY, arch="sm_80")
    assert sum(k.seconds for k in cubin.kernels.values()) == pytest.approx(cubin.times["phases"] + cubin.times["emit"])


def test_time_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete events that nest: phases in their kernel, kernels in the whole, all after the event that is named."""
    monkeypatch.chdir(tmp_path)
    Path("m.ptx").write_text(MANY)
    before = {"traceEvents": [{"name": "cicc", "ph": "X", "ts": 100, "dur": 50, "pid": 1, "tid": 0, "args": {}}]}
    Path("t.json").write_text(json.dumps(before))
    options = ["--fdevice-time-trace=t.json", "--ftrace-phase-after=cicc", "--use-trace-pid=7"]
    assert run(["ptxas", "-arch=sm_80", "m.ptx", *options]) == 0
    events = json.loads(Path("t.json").read_text())["traceEvents"][1:]
    assert all(set(e) - {"cat"} == {"args", "dur", "name", "ph", "pid", "tid", "ts"} for e in events)
    assert all(e["ph"] == "X" and e["pid"] == 7 and e["ts"] >= 150 and e["dur"] >= 0 for e in events)
    (whole,) = [e for e in events if e["name"] == "Total PTXAS Time"]
    kernels = {e["args"]["name"]: e for e in events if e["name"] == "Optimizing compilation unit"}
    phases = [e for e in events if e.get("cat") == "phase"]
    assert len(kernels) == 6 and len(phases) > 100
    for e in [*kernels.values(), *phases]:
        outer = kernels.get(e["args"]["name"], whole) if e in phases else whole
        assert outer["ts"] - 1 <= e["ts"] and e["ts"] + e["dur"] <= outer["ts"] + outer["dur"] + 1


@pytest.mark.parametrize("options", [{}, {"compile_only": True}, {"lineinfo": True}])
def test_split_compile_has_the_same_bytes(options: dict[str, bool]) -> None:
    alone = orias.compile(MANY, arch="sm_80", **options)
    split = orias.compile(MANY, arch="sm_80", split_compile=3, **options)
    assert split.data == alone.data
    assert list(split.kernels) == list(alone.kernels)
    assert [k.registers for k in split.kernels.values()] == [k.registers for k in alone.kernels.values()]


def test_split_compile_has_the_first_error() -> None:
    broken = MANY.replace(
        "ret; }",
        "tex.2d.v4.s32.s32 {%r1,%r1,%r1,%r1}, [%rd1, {%r1, %r1}]; brkpt; setmaxnreg.inc.sync.aligned.u32 24; ret; }",
    )
    texts = []
    for count in (1, 3):
        with pytest.raises(orias.CompileError) as e:
            orias.compile(broken, arch="sm_80", split_compile=count)
        texts.append(str(e.value))
    assert texts[0] == texts[1]


def test_a_copy_that_dies_costs_no_result() -> None:
    here = os.getpid()

    def work(i: int) -> int:
        if os.getpid() != here:
            os._exit(9)
        return i * i

    assert work_in_processes(list(range(20)), 4, work) == {i: i * i for i in range(20)}


def test_jobserver_tokens_go_back() -> None:
    read, write = os.pipe()
    os.write(write, b"abc")
    server = JobServer({"MAKEFLAGS": f"-j4 --jobserver-auth={read},{write}"})
    assert server.found and server.take(2) == 2 and server.take(5) == 1 and server.take(1) == 0
    server.give_back()
    server.close()
    assert sorted(os.read(read, 9)) == sorted(b"abc")
    for wrong in ("", "--jobserver-auth=900,901", "--jobserver-auth=x", "--jobserver-auth=fifo:/no/such"):
        assert not JobServer({"MAKEFLAGS": wrong}).found


def test_make_with_a_jobserver(tmp_path: Path) -> None:
    """Under make -j no message, and the cubin of a compile alone."""
    if not Path("/usr/bin/make").exists():
        pytest.skip("make is not installed")
    (tmp_path / "m.ptx").write_text(MANY)
    command = f"{sys.executable} -m orias -arch=sm_80 m.ptx"
    (tmp_path / "Makefile").write_text(
        f"all: a b\na:\n\t+{command} --jobserver -split-compile=4 -o a\nb:\n\t+{command} --jobserver -split-compile=4 -o b\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["make", "-s", "-j3"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert orias.Cubin is not None and (tmp_path / "a").stat().st_size > 1000


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_errors_are_visible_before_each_exit(arch: str) -> None:
    text = orias.compile(ACCESSES, arch=arch, errors_at_exit=True, self_check=True).disassemble()
    lines = [re.sub(r"^.*\*/ *", "", x).split(";")[0].split() for x in text.splitlines() if ";" in x]
    for i, words in enumerate(lines):
        if "EXIT" in words:
            waits = lines[i - 1 : i] if arch == "sm_80" else lines[i - 2 : i]
            names = ["ERRBAR"] if arch == "sm_80" else ["ERRBAR", "CGAERRBAR"]
            assert [w[-1] for w in waits] == names and all(w[:-1] == words[:-1] for w in waits)


def test_threads_pause_before_what_others_see() -> None:
    """As many pauses as ptxas has."""
    text = orias.compile(ACCESSES, arch="sm_80", thread_steering=True, self_check=True).disassemble()
    assert text.count("NANOSLEEP.RAND 0x3e8") == 3


def test_functions_that_are_not_copied(tmp_path: Path) -> None:
    """``--cloning=no``: a function has one section of its own for all kernels, and the kernels still run."""
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    function = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1,[a]; add.u32 %r1,%r1,%r1; st.param.b32 [r],%r1; ret; }\n"
    kernel = (
        ".visible .entry {}(.param .u64 p0) {{ .reg .b64 %rd<4>; .reg .b32 %r<4>; ld.param.u64 %rd1,[p0]; ld.global.u32 %r1,[%rd1];\n"
        "{{ .param .b32 a; st.param.b32 [a],%r1; .param .b32 r; call.uni (r), twice, (a); ld.param.b32 %r1,[r]; }}\n"
        "st.global.u32 [%rd1],%r1; ret; }}\n"
    )
    text = HEAD.format("sm_80") + function + kernel.format("a") + kernel.format("b")
    cubin = orias.compile(text, arch="sm_80", cloning=False)
    from orias.cubin.elf import ElfFile

    names = [s.name for s in ElfFile(cubin.data).sections if s.name.startswith(".text")]
    assert sorted(names) == [".text.a", ".text.b", ".text.twice"]
    data = np.array([21], dtype=np.uint32)
    sim.load(cubin.data).launch("b", 1, 1, [data])
    assert data[0] == 42


def _spilling(calls: str) -> str:
    """The body of a function that needs more than 24 registers."""
    loads = " ".join(f"ld.volatile.global.u32 %r{n}, [%rd1+{4 * n}];" for n in range(1, 40))
    stores = " ".join(f"st.volatile.global.u32 [%rd1+{4 * n}], %r{40 - n};" for n in range(1, 40))
    return (
        f"{{ .reg .b32 %r<40>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; {loads} bar.sync 0; {stores} {calls} ret; }}\n"
    )


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("option", ["", "-c", "-g", "--cloning=no"])
def test_order_of_functions_in_reports(option: str, tmp_path: Path) -> None:
    """-v and -warn-spills name kernels and functions in the order of their sections, and the copies of functions by name."""
    call = "{{ .param .u64 q; st.param.u64 [q], %rd1; call.uni {}, (q); }}"
    text = ".version 8.0\n.target sm_80\n.address_size 64\n"
    text += "".join(f".func {name}(.param .u64 p) {_spilling('')}" for name in "gf")
    for name, called in (("k1", "g"), ("k2", "gf")):
        text += f".visible .entry {name}(.param .u64 p) {_spilling(' '.join(call.format(c) for c in called))}"
    (tmp_path / "k.ptx").write_text(text)
    arguments = ["-arch=sm_80", "-maxrregcount=24", "-v", "-warn-spills", *option.split(), "k.ptx"]
    found = []
    for command in ([tool("ptxas")], [sys.executable, "-m", "orias"]):
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        found.append(re.findall(r"(?:properties for |in function ')(\w+)", done.stderr))
    assert found[0] == found[1] and len(found[0]) >= 8
