"""Predicates of tests inside a piece of code, beside one that only the branch at its end reads."""

import orias
from orias.perf.kernel_steps import kernels
from tests.kernels.varied.varied_cases import source

PARTS = 4
LOADS = "".join(
    f"add.s32 %i{k}, %at, {128 * k};\nsetp.lt.s32 %p{k}, %i{k}, %n;\nmov.f32 %x{k}, 0fC0000000;\n"
    f"@%p{k} ld.global.f32 %x{k}, [%a+{512 * k}];\n"
    for k in range(PARTS)
)
POWERS = "".join(f"ex2.approx.f32 %x{k}, %x{k};\n@%p{k} st.global.f32 [%b+{512 * k}], %x{k};\n" for k in range(PARTS))
TEXT = f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {{
.reg .u64 %a, %b;
.reg .f32 %x<{PARTS}>;
.reg .s32 %i<{PARTS}>, %at, %n;
.reg .pred %p<{PARTS}>, %more;
ld.param.u64 %a, [a];
ld.param.u64 %b, [b];
ld.param.u32 %n, [n];
mov.u32 %at, %tid.x;
TOP:
{LOADS}
add.s32 %at, %at, 512;
setp.lt.s32 %more, %at, %n;
{POWERS}
add.u64 %a, %a, 2048;
add.u64 %b, %b, 2048;
@%more bra TOP;
ret;
}}
"""


def under_way(spared: int) -> int:
    """The most guarded powers of the loop that have begun and not ended at once."""
    text = orias.compile(TEXT, arch="sm_80", knobs={"SchedSparedPredicates": spared}).disassemble()
    lines = [line.split("*/")[1].split() for line in text.splitlines() if ";" in line]
    held: set[str] = set()
    most = 0
    for words in lines:
        if words[0].startswith("FSETP"):
            held.add(words[1].strip(","))
        elif words[0].startswith("@!P") and words[1] == "FMUL" and words[3] == words[4].strip(";") + ",":
            held.discard(words[0][2:])
        most = max(most, len(held))
    return most


def test_the_condition_of_a_loop_leaves_predicates_for_tests_in_it() -> None:
    assert under_way(2) > under_way(0)


def stalls(name: str, **knobs: int) -> int:
    """Cycles by the stall counts of a kernel."""
    made = orias.compile(source(name), arch="sm_80", knobs=knobs)
    return sum(step.stall for step in kernels(made.data)[0].steps)


def test_tests_off_the_longest_path_wait_where_that_is_shorter() -> None:
    name = "route_tokens"
    assert stalls(name) < stalls(name, SchedTestSlack=100_000)
    assert stalls(name, SchedTestGain=100) == stalls(name, SchedTestSlack=100_000)


def waited_for(**knobs: int) -> int:
    """Loads of a kernel with many guarded loads whose result one of the next eight instructions reads."""
    text = orias.compile(source("causal_conv1d"), arch="sm_80", knobs=knobs).disassemble()
    lines = [line.split("*/")[1].split(";")[0].split() for line in text.splitlines() if ";" in line]
    found = 0
    for k, words in enumerate(lines):
        if words[0].startswith("@") and words[1].startswith("LDG"):
            found += any(any(w.startswith(words[2].strip(",") + ".") for w in x[2:]) for x in lines[k + 1 : k + 9])
    return found


def test_more_predicates_than_fit_are_made_where_waits_for_loads_free_none() -> None:
    assert waited_for() < waited_for(SchedPredicateGain=100)
    assert waited_for(SchedPredicateWait=100_000) == waited_for(SchedPredicateGain=100)
