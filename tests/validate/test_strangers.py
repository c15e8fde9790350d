"""Programs of other people's generators: what is changed for many threads, and samples of campaigns (tools/strangers)."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import orias
from tools.strangers import csmith_programs, judge_program, torture_programs, zig_programs
from tools.strangers.__main__ import main, one
from tools.strangers.choices import NO_HOST, NO_PROGRAM, NO_PTX, PTX_FAILS, PTX_REFUSED, STACK
from tools.strangers.compilers import clang, csmith_headers, is_undefined, on_host, to_ptx
from tools.strangers.judge_program import LONG, OK, OURS, judge

SMALL = """
#include "csmith.h"
static long __undefined;
/* --- Struct/Union Declarations --- */
/* --- GLOBAL VARIABLES --- */
static int32_t g_2 = 6L;
static int32_t g_3[2][2] = {{1L,(-2L)},{3L,4L}};
static int32_t *g_4 = &g_3[1][0];
static volatile uint16_t g_5 = 0xFFFFL;/* VOLATILE GLOBAL g_5 */

/* --- FORWARD DECLARATIONS --- */
static int32_t  func_1(void);
static int16_t  func_6(int32_t * p_7, uint16_t  p_8);

/* --- FUNCTIONS --- */
static int32_t  func_1(void)
{
    int i;
    for (i = 0; i < (g_2 & 7); i++)
        if (func_6(g_4, g_5) > i)
            g_3[0][1] = safe_add_func_int32_t_s_s(g_3[0][1], g_5);
    return g_2;
}
static int16_t  func_6(int32_t * p_7, uint16_t  p_8)
{
    (*p_7) ^= p_8;
    return (int16_t)(*p_7) & 3;
}

/* ---------------------------------------- */
int main (int argc, char* argv[])
{
    int i, j;
    int print_hash_value = 0;
    if (argc == 2 && strcmp(argv[1], "1") == 0) print_hash_value = 1;
    platform_main_begin();
    crc32_gentab();
    func_1();
    transparent_crc(g_2, "g_2", print_hash_value);
    for (i = 0; i < 2; i++)
    {
        for (j = 0; j < 2; j++)
        {
            transparent_crc(g_3[i][j], "g_3[i][j]", print_hash_value);
        }
    }
    platform_main_end(crc32_context ^ 0xFFFFFFFFUL, print_hash_value);
    return 0;
}
"""


def test_the_text_for_many_threads() -> None:
    """Variables are members, functions have the state as a parameter, calls pass it on, initial integers depend on the thread."""
    text = csmith_programs.threaded(SMALL)
    assert text is not None
    assert "int32_t m_3[2][2];" in text and ".m_4 = &s.m_3[1][0]" in text
    assert "static int16_t  func_6(struct G *S, int32_t * p_7, uint16_t  p_8);" in text
    assert "if (func_6(S, g_4, g_5) > i)" in text and "func_1(S);" in text
    assert (
        "S->m_2 ^= (t * 1u) & 63u;" in text
        and "S->m_5 ^= (t * 3u) & 63u;" in text
        and "S->m_3" not in text.split("#define g_2")[0]
    )
    assert csmith_programs.threaded(SMALL.replace("= 6L;", "[] = {6L};")) is None


needs_compilers = pytest.mark.skipif(
    clang() is None or csmith_headers() is None or shutil.which("gcc") is None,
    reason="needs a clang for nvptx64, gcc and the headers of Csmith",
)


@needs_compilers
def test_many_threads_and_a_wrong_result(tmp_path: Path) -> None:
    """Threads differ, ours is right, and a result that is off by one is noticed."""
    source = tmp_path / "program.c"
    source.write_text(csmith_programs.threaded(SMALL) or "")
    want = on_host(source, [])
    assert want is not None and len(set(want)) == csmith_programs.THREADS + 1
    text = to_ptx(source, "sm_80", "2", "clang", [])
    assert text is not None
    assert judge(text, "sm_80", 3, csmith_programs.THREADS, want, None, False, "stop").kind == OK
    wrong = [*want[:7], want[7] ^ 1, *want[8:]]
    assert judge(text, "sm_80", 1, csmith_programs.THREADS, wrong, None, False, "").kind == OURS


@needs_compilers
@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("csmith") is None, reason="csmith is not installed")
@pytest.mark.parametrize("kind", ["csmith", "threads"])
def test_sample(kind: str, tmp_path: Path) -> None:
    """Twelve seeds; another beginning every day."""
    first = int(os.environ.get("ORIAS_STRANGERS_SEED", "500"))
    seen = [one(kind, seed, "clang", tmp_path, "", None) for seed in range(first, first + 12)]
    assert [(name, r.detail) for r, _, name in seen if r.kind not in (OK, LONG, NO_PROGRAM, NO_HOST, NO_PTX)] == []
    assert sum(r.kind == OK for r, _, _ in seen) >= 6


@pytest.mark.parametrize(("value", "undefined"), [("-14.0f", True), ("70000.0f", True), ("65535.0f", False)])
def test_floats_that_no_integer_holds_are_undefined(tmp_path: Path, value: str, undefined: bool) -> None:
    """As in the program of Csmith with seed 275009: no two targets need agree on it."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    source = tmp_path / "p.c"
    source.write_text(f"volatile float f = {value};\nint main(void) {{ return (unsigned short)f == 1; }}\n")
    assert is_undefined(source, []) is undefined


TORTURE = Path(__file__).parent / "torture"
"""Programs of ours that check themselves; those of GCC are not here."""
needs_clang = pytest.mark.skipif(clang() is None, reason="needs a clang for nvptx64")


@pytest.mark.in_turn(4)
@needs_clang
@pytest.mark.parametrize("name", ["lists", "numbers", "arguments"])
@pytest.mark.parametrize(("arch", "level", "front_level"), [("sm_75", 0, "0"), ("sm_90a", 3, "2"), ("sm_120a", 1, "s")])
def test_programs_that_check_themselves(name: str, arch: str, level: int, front_level: str, tmp_path: Path) -> None:
    """They pass their checks in the simulator."""
    result, text = torture_programs.check(
        TORTURE / f"{name}.c", arch, level, front_level, tmp_path, None, hazards="stop"
    )
    assert (result.kind, result.detail) == (OK, "")
    assert ".entry torture_kernel" in text and not torture_programs.fails_interpreted(text, arch, 60_000)


@pytest.mark.in_turn(4)
@needs_clang
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("!= 699", "!= 700"), NO_HOST),
        (("!= 699", "!= 699 + DEVICE"), PTX_FAILS),
        (("exit(0)", "exit(DEVICE)"), PTX_FAILS),
        (("exit(0)", "exit(system(0) == 2)"), PTX_REFUSED),
        (("exit(0)", "exit(argv ? : )"), NO_PTX),
        (("exit(0)", "for (;; total(first))"), LONG),
    ],
)
def test_why_a_program_is_left_out(change: tuple[str, str], kind: str, tmp_path: Path) -> None:
    """It fails on the host, or its PTX fails by itself, calls what nobody defines, is none, or runs too long."""
    if kind == NO_HOST and shutil.which("ld") is None:
        pytest.skip("there is no linker for the host")
    program = tmp_path / "p.c"
    head = "#ifdef __NVPTX__\n#define DEVICE 1\n#else\n#define DEVICE 0\n#endif\n"
    program.write_text(head + (TORTURE / "lists.c").read_text().replace(*change))
    assert torture_programs.check(program, "sm_80", 2, "1", tmp_path, None, steps=5000)[0].kind == kind


@needs_clang
def test_a_planted_fault_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that multiplies by another number."""
    compile_ = orias.compile

    def wrong(text: str, arch: str, opt_level: int, fmad: bool) -> orias.Cubin:
        changed, n = re.subn("-1640531535", "-1640531533", text)
        assert n > 0
        return compile_(changed, arch=arch, opt_level=opt_level, fmad=fmad)

    monkeypatch.setattr(judge_program.orias, "compile", wrong)
    result, _ = torture_programs.check(TORTURE / "numbers.c", "sm_100a", 3, "2", tmp_path, None)
    assert result.kind == OURS
    assert result.detail == "ours word 0: 0xbad instead of 0x600d"


def test_calls_of_main() -> None:
    """By the parameters and the type of the definition, however it is written."""
    call = torture_programs.call_of_main
    assert (
        call("int main(void);\nint f(void) { return main(); }\nint main(int a, char **b) { return a; }") == "main(0,0)"
    )
    assert call("main (argc, argv)\n  int argc; char **argv;\n{ }") == "main(0,0)"
    assert call("void main ()\n{ }") == "(main(),0)"
    assert call("int main(int a __attribute__((unused)))\n{ }") == "main(0)"
    assert call('#include "other.c"') == "main()"


@pytest.mark.in_turn(2)
@needs_clang
def test_seeds_take_every_program_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three seeds, three programs, by the command line; the next three in another order or with other levels."""
    log = tmp_path / "log"
    arguments = ["strangers", "torture", "--torture", str(TORTURE), "--seed", "30", "--count", "6", "--log", str(log)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert main() == 0
    assert "6 ok" in capsys.readouterr().out
    lines = log.read_text().splitlines()
    names = [line.split()[1] for line in lines]
    assert sorted(names[:3]) == sorted(names[3:]) == ["arguments.c", "lists.c", "numbers.c"]
    assert len({line.split(maxsplit=4)[4] for line in lines}) > 3
    monkeypatch.delenv("ORIAS_TORTURE", raising=False)
    monkeypatch.setattr(sys, "argv", ["strangers", "torture"])
    with pytest.raises(SystemExit):
        main()


@needs_clang
@pytest.mark.sweep
@pytest.mark.skipif("ORIAS_TORTURE" not in os.environ, reason="ORIAS_TORTURE does not name GCC's programs")
def test_torture_sample(tmp_path: Path) -> None:
    """Thirty programs of GCC; another beginning every day."""
    first = int(os.environ.get("ORIAS_STRANGERS_SEED", "500"))
    folder = Path(os.environ["ORIAS_TORTURE"])
    seen = [torture_programs.one(folder, seed, tmp_path, None) for seed in range(first, first + 30)]
    allowed = (OK, LONG, NO_PROGRAM, NO_HOST, NO_PTX, PTX_FAILS, PTX_REFUSED, STACK)
    assert [(name, r.detail) for r, _, name in seen if r.kind not in allowed] == []
    assert sum(r.kind == OK for r, _, _ in seen) >= 20


def test_programs_of_zig_have_names() -> None:
    found = zig_programs.names()
    assert len(found) == len(set(found)) == 28


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["wide", "odd_widths", "packed_fields", "vectors"])
def test_zig(tmp_path: Path, name: str) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed")
    seed = zig_programs.names().index(name)
    result, _, title = zig_programs.one(f"{sys.executable} -m ziglang", seed, tmp_path, None)
    assert result.kind in (OK, LONG), f"{title}: {result.kind} {result.detail}"
