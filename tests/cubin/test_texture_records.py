"""Records and slots of textures, samplers and surfaces, and the records of warp operations without ``.sync``, as in ptxas's files."""

from pathlib import Path
from typing import Final

import pytest

import orias
from tests.nvtools import tool
from tools.compare_records import features, judged

HEAD: Final = ".version {}\n.target {}\n.address_size 64\n"
NAMES: Final = ".global .texref t;\n.global .surfref s;\n"
TEXTURE: Final = "txq.width.b32 %q, [t];"
SURFACE: Final = "suq.width.b32 %q, [s];"


def function(name: str, *queries: str) -> str:
    """A function that asks textures and surfaces one after the other."""
    sums = "".join(f"{query} add.u32 %r, %r, %q; " for query in queries)
    return f".visible .func (.param .b32 r) {name}() {{ .reg .b32 %r, %q; mov.b32 %r, 0; {sums}st.param.b32 [r], %r; ret; }}\n"


def kernel(name: str, words: int, code: str = "") -> str:
    """A kernel with parameters of so many words."""
    parameters = ", ".join(f".param .u32 {name}{n}" for n in range(words))
    return f".visible .entry {name}({parameters}) {{ .reg .b32 %r<4>; mov.u32 %r1, 0; {code} ret; }}\n"


STORE: Final = "sust.b.1d.b32.trap [s, {%r1}], %r1;"
FUNCTIONS: Final = "".join([function("a", TEXTURE), function("b", SURFACE), function("c", TEXTURE), function("d"), function("e", SURFACE, TEXTURE), function("f")])  # fmt: skip
INDEPENDENT: Final = """.global .texref t;
.global .samplerref s;
.visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .f32 %f<5>; ld.param.u64 %d, [p]; mov.f32 %f1, 0f00000000;
tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, s, {%f1,%f1}]; st.global.f32 [%d], %f1; ret; }
"""
WITHOUT_SYNC: Final = """.visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d; .reg .pred %p<3>; ld.param.u64 %d, [p]; mov.u32 %r1, %tid.x;
shfl.down.b32 %r2, %r1, 1, 31;
setp.eq.u32 %p1, %r2, 7;
vote.all.pred %p2, %p1;
selp.u32 %r3, 1, 2, %p2; st.global.u32 [%d], %r3; ret; }
"""
CASES: Final = {
    "banks of functions": (HEAD.format("9.0", "{}") + NAMES + FUNCTIONS, "c"),
    "slots after the largest parameters": (HEAD.format("9.0", "{}") + NAMES + kernel("a", 2, STORE) + kernel("b", 6) + kernel("c", 3, STORE), "exe"),
    "a texture and its sampler": (HEAD.format("9.0", "{}, texmode_independent") + INDEPENDENT, "exe"),
    "without .sync": (HEAD.format("6.0", "sm_30") + WITHOUT_SYNC, "exe"),
}  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", CASES)
def test_as_ptxas(name: str, arch: str, tmp_path: Path) -> None:
    tool("ptxas")
    text, mode = CASES[name]
    text = text.replace("{}", arch)
    theirs = judged(text, arch, mode, tmp_path)
    assert isinstance(theirs, bytes), theirs
    ours = orias.compile(text, arch=arch, compile_only=mode == "c").data
    assert sorted(f for f in features(ours) ^ features(theirs) if "type 66 " not in f and "type 115 " not in f) == []
