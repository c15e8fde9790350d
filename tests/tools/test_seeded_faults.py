"""The tool that seeds faults (``python -m tools.sanitizer``): what it changes, and a sample of its campaign."""

from tests.forms.items import items
from tools.sanitizer.fault_seeds import faults
from tools.sanitizer.seed_campaign import Program, alarms, campaign

LINES = """.shared .align 4 .b8 buf[64];
@%p0 bar.sync 0;
L: bar.warp.sync 0xffffffff;
ld.global.u8 %r1, [%a0];
@!%p1 st.shared.u32 [%r2+4], %r1;
cp.async.wait_group 1;
add.u32 %r1, %r1, 1;"""


def test_faults_of_each_class() -> None:
    found = {(f.kind, f.line): f.text.split("\n")[f.line - 1] for f in faults(LINES, 1)}
    assert found == {
        ("barrier", 2): "",
        ("warp barrier", 3): "L: ",
        ("wrong mask", 3): "L: bar.warp.sync 0x7fff7ffe;",
        ("past the end", 4): "ld.global.u8 %r1, [%a0+268435456];",
        ("past shared memory", 5): "@!%p1 st.shared.u32 [%r2+262148], %r1;",
        ("initial store", 5): "",
        ("copy wait", 6): "",
    }
    order = [f.kind for f in faults(LINES, 1)]
    assert max(order.index(k) for k in ("barrier", "warp barrier", "copy wait")) < order.index("past the end")
    assert [f.kind for f in faults(LINES, 1)] == order


def test_a_sample_of_the_campaign() -> None:
    chosen = [i for i in items(["barriers"]) if i.name == "cp.async.ca.8.ignore"]
    programs = [Program(i.name, i.source("sm_90a"), "sm_90a", lambda image, i=i: i.check(image, "k0")) for i in chosen]
    assert list(alarms(programs)) == [(p.name, []) for p in programs]
    seeded = list(campaign(programs, 1, 2, 30))
    assert len(seeded) == 2
    assert [x.fault.kind for x in seeded if not x.found] == []
