"""Programs of other people's generators: what is changed for many threads, and samples of campaigns (tools/strangers)."""

import os
import shutil
from pathlib import Path

import pytest

from tools.strangers import csmith_programs
from tools.strangers.__main__ import NO_HOST, NO_PROGRAM, NO_PTX, one
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
