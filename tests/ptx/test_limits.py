"""What is nested or listed as long as ptxas 13.0.88 takes it, and one more."""

import pytest

import orias
from orias.cubin.reader import Reader

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
END = ".entry k(){ret;}\n"


def said(text: str) -> list[str]:
    """The messages on a module."""
    try:
        return [d.message for d in orias.compile(HEAD + text, arch="sm_90", opt_level=0).diagnostics]
    except orias.CompileError as e:
        return [d.message for d in e.diagnostics]


def full(near: str) -> list[str]:
    return [f"Parsing error near '{near}': memory exhausted"]


@pytest.mark.parametrize(
    ("good", "bad", "near"),
    [
        (".entry k(){" + "{" * 1663 + "ret;" + "}" * 1664, ".entry k(){" + "{" * 1665 + "}" * 1666, "{"),
        *[
            (f".global .u32 x = {left * good}1{right * good};{END}", f".global .u32 x = {left * bad}1{right * bad};{END}", "1")
            for left, right, good, bad in [
                ("(", ")", 9970, 10_000), ("(", "+1)", 9970, 10_000), ("(1+", ")", 3320, 3340), ("-", "", 4980, 5000),
                ("1?1:", "", 2490, 2510), ("(.s64)", "", 2490, 2510),
            ]
        ],
    ],
)  # fmt: skip
def test_nesting(good: str, bad: str, near: str) -> None:
    assert said(good) == []
    assert said(bad) == full(near)


def test_lists() -> None:
    body = ".func f;\n.entry k(){.reg .b32 %r; "
    for one in ("mov.b32 {LIST}, %r;", "call f, (LIST);"):
        messages = [said(body + one.replace("LIST", ",".join(["%r"] * n)) + "ret;}\n") for n in (4989, 4990)]
        assert "exhausted" not in messages[0][0]
        assert messages[1] == full("%r")
    assert said(body + f"add{'.sat' * 9990}.s32 %r,%r,%r; ret;}}\n")[0].endswith("memory exhausted")


def test_braces_follow_the_shape() -> None:
    for wrong in ("x[2] = {{1}}", "x[2] = {1,{1}}", "x = {1}", "x[2][2] = {1,2}", "x[2][2] = {{1},2}", "x[2] = 1"):
        assert said(f".global .u32 {wrong};{END}") == ["Initial value type mismatch"]
    for right in ("x[2] = {}", "x[2][2] = {{1},{}}", "x[2][2] = {}", "x[2][2][1] = {{{1},{2}},{{3}}}"):
        assert said(f".global .u32 {right};{END}") == []
    assert said(f".global .u32 x[2][2] = {{{{1,2,3}}}};{END}") == ["Greater number of elements in array initializer"]


@pytest.mark.in_turn(2)
def test_long_lists_of_offsets_take_several_records() -> None:
    """ptxas crashes on such a list of targets, and keeps a part of such a list of exits."""
    targets = ",".join(["A", "B"] * 10_000)
    body = f"""T: .branchtargets {targets};
      ld.param.u32 %r1, [p];
      brx.idx %r1, T;
      A: mov.u32 %r2, 1; bra C;
      B: mov.u32 %r2, 2;
      C: st.shared.u32 [s], %r2;
      {"@%p exit;" * 17_000}
      ret;"""
    text = f"{HEAD}.visible .entry k(.param .u32 p){{.reg .b32 %r<4>; .reg .pred %p; .shared .u32 s; {body}}}\n"
    kernel = Reader(orias.compile(text, arch="sm_90", opt_level=0).data).module.kernels[0]
    assert [len(b.targets) for b in kernel.branch_targets] == [20_000]
    assert len(set(kernel.branch_targets[0].targets)) == 2
    assert len(kernel.exit_offsets) == 17_001 == len(set(kernel.exit_offsets))


@pytest.mark.in_turn(2)
def test_long_chain_of_calls() -> None:
    functions = ".func f0(.reg .b64 q){st.global.u32 [q],1; ret;}\n"
    functions += "".join(f".func f{i}(.reg .b64 q){{call f{i - 1},(q); ret;}}\n" for i in range(1, 500))
    entry = ".visible .entry k(.param .u64 p){.reg .b64 %rd; ld.param.u64 %rd,[p]; call f499,(%rd); ret;}\n"
    assert said(functions + entry) == []
