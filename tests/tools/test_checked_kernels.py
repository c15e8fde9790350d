"""Kernels of any PTX files under the sanitizer (``python -m tools.sanitizer kernels``): how a kernel and its findings count."""

from pathlib import Path

import pytest

from tools.sanitizer.corpus_kernels import ALARM, OPEN, RAN, UNORDERED, kernels

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
BODY = """.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x;
"""
OWN = "mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r0;\n"
SHARED = "st.global.u32 [%d0], %r0;\n"
BARRIER = "bar.sync 0;\n"
UNUSED = """ld.global.u32 %r1, [%d0]; popc.b32 %r1, %r1; shr.u32 %r1, %r1, 6;
setp.eq.u32 %p, %r0, 0; @%p st.global.u32 [%d0], 5; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1;
@!%p st.global.u32 [%d1], %r1;
"""
"""Reads what another thread stores, and stores nothing that depends on it."""


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (OWN, RAN),
        (SHARED, UNORDERED),
        (BARRIER + SHARED, OPEN),
        (BARRIER + UNUSED, ALARM),
    ],
)
def test_states(body: str, state: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(HEAD + BODY + body + "ret;\n}\n")
    found = list(kernels([tmp_path / "k.ptx"], "sm_90", 1, 1, 30))
    assert [(k.kernel, k.state) for k in found] == [("k", state)]
    assert all("race at global address" in x for x in found[0].findings)
    assert bool(found[0].findings) == (state != RAN)


def test_a_sample_is_the_same_again(tmp_path: Path) -> None:
    kernel = (HEAD + BODY + OWN + "ret;\n}\n").split("\n", 3)
    for n in range(3):
        (tmp_path / f"{n}.ptx").write_text(
            "\n".join([*kernel[:3], kernel[3], kernel[3].replace("entry k(", "entry l(")])
        )
    paths = list(tmp_path.glob("*.ptx"))
    one, two = ([(k.file, k.kernel) for k in kernels(p, "sm_90", 5, 1, 30)] for p in (paths, paths[::-1]))
    assert one == two
    assert len(one) == 3
