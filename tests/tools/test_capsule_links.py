"""Random programs as two objects: how they are divided, and what the tool says of a right and of a wrong link."""

from pathlib import Path

from tools.capsules.links import Links, divided, link, modules, object_of, wrong_results

SMALL = """.version 9.0
.target sm_100
.address_size 64
.const .align 16 .u32 table[2] = {5, 6};
.func (.param .b32 out) f0(.param .b32 a0)
{
.reg .b32 %r<4>;
ld.param.b32 %r1, [a0];
add.u32 %r1, %r1, 1;
{
mov.u32 %r2, %r1;
}
st.param.b32 [out], %r2;
ret;
}

.visible .entry k(.param .u64 pi, .param .u64 po) {
.reg .b32 %r<6>; .reg .b64 %in, %out, %t;
ld.param.u64 %in, [pi]; ld.param.u64 %out, [po]; ld.global.u32 %r1, [%in]; mov.u64 %t, table; ld.const.u32 %r2, [%t+4];
{
.param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), f0, (x); ld.param.b32 %r3, [y];
}
add.u32 %r3, %r3, %r2; st.global.u32 [%out], %r3;
ret;
}
"""


def test_a_program_is_divided() -> None:
    """The function and the variable are in the second module, and declared in the first."""
    first, second = divided(SMALL, 1)
    assert ".extern .const .align 16 .u32 table[2];\n" in first
    assert ".extern .func (.param .b32 out) f0(.param .b32 a0);\n.visible .entry k(" in first.replace("\n\n", "\n")
    assert ".visible .const .align 16 .u32 table[2] = {5, 6};\n" in second
    assert ".visible .func (.param .b32 out) f0" in second
    assert ".entry" not in second
    assert second.rstrip().endswith("ret;\n}")
    texts, kernels = modules(311, 3, "sm_100")
    assert [name for name, _, _ in kernels] in (["k"], ["k", "k2"])
    assert len(texts) == 2


def test_links(tmp_path: Path) -> None:
    """A right link is right; with a function that does something else it is wrong, and a missing one is said."""
    first, second = divided(SMALL, 1)
    whole = [("k", SMALL, 1)]
    paths = [tmp_path / f"{k}.o" for k in range(2)]
    for level in (0, 3):
        for path, text in zip(paths, (first, second), strict=True):
            assert not object_of(text, "sm_100", level, True, path)
        assert not link(paths, "sm_103", tmp_path / "l.cubin")
        assert not wrong_results(whole, "sm_103", (tmp_path / "l.cubin").read_bytes())
    assert not object_of(second.replace("%r1, 1;", "%r1, 2;"), "sm_100", 3, True, paths[1])
    assert not link(paths, "sm_103", tmp_path / "l.cubin")
    assert "k: " in wrong_results(whole, "sm_103", (tmp_path / "l.cubin").read_bytes())
    assert "ndefined reference" in link(paths[:1], "sm_103", tmp_path / "l.cubin")
    assert object_of(first, "sm_100", 3, True, paths[0], "forbid") == ""
    assert "SM Arch" in link(paths, "sm_103", tmp_path / "l.cubin")
    links = Links("sm_120", False, tmp_path, None)
    links.one(6001, 3, 1, ("op",))
    assert not links.wrong
    assert sum(links.counts.values()) == 1
