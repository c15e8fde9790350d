"""Deriving rules of capsules: rules of two kernels of ptxas say what ptxas says about both, and conditions tell operands apart."""

from pathlib import Path

from orias.cubin.capsule.capsule_rules import RULES_PATH, Rules
from orias.cubin.capsule.items import HEAD, SAME
from orias.isa.isa_table import load
from orias.isa.op import op
from orias.isa.operand import PT, RZ, r
from tools.capsules.__main__ import judged
from tools.capsules.derive import rules_of
from tools.capsules.lengths import Lengths
from tools.capsules.refine import with_addresses
from tools.capsules.samples import Sample, cubins, equations_of, samples_of
from tools.capsules.sources import (
    BATCH,
    Source,
    compile_source,
    expand,
    held_apart,
    module_of,
    programs,
    random_programs,
    with_stores,
)


def test_programs() -> None:
    """Alternatives are multiplied out; what is stored is stored by its type; all programs and their order are fixed."""
    assert list(expand("a<b/c>d</e>")) == ["abd", "abde", "acd", "acde"]
    stored = with_stores("add.u64 %rd10,%rd4,1; store %rd10 %p3")
    assert "st.global.b64 [%rd3+0],%rd10;" in stored
    assert "selp.u32 %r31,6,0,%p3;" in stored
    assert len(programs()) > 5000
    assert programs()[:20] == programs()[:20]
    assert random_programs(3) == random_programs(3)


def test_derivation(tmp_path: Path) -> None:
    """From a cubin come rules that say the same about most of its functions, as far as lengths follow from so few equations."""
    name = next(n for n in (f"a{i}" for i in range(99)) if not held_apart(n))
    bodies = [with_stores(x) for x in programs()[:BATCH]]
    out = tmp_path / f"sm_100.{name}.O3.cubin"
    assert compile_source(Source(name, module_of(bodies, "sm_100"), kernels=bodies), "sm_100", 3, out)
    found = cubins(tmp_path, apart=False)
    assert not cubins(tmp_path, apart=True)
    lengths = Lengths(equations_of(found))
    assert lengths.known
    assert not lengths.contradictions
    rules, _ = rules_of(samples_of(found), lengths)
    assert all(x.instructions >= x.sources == 1 for x in rules)
    functions, equal, _ = judged(Rules([x.line for x in rules]), found)
    assert functions > 40
    # Rules hold for the constants and registers of the samples only, so a cubin has rules for about half of its functions.
    assert equal > 0.5 * functions


def test_addresses_of_groups() -> None:
    """Each group of the table asks for a register in its address, without which nvlink may not end; barriers in memory have no such need."""
    lines = Path(RULES_PATH).read_text().splitlines()
    assert [x for x in lines if with_addresses(x) != x] == []
    assert with_addresses("ATOMS.MIN R | - R I R + NOP |\tsame") == "ATOMS.MIN R | - R=r I R + NOP |\tsame"


def test_conditions() -> None:
    """The fewest conditions tell what is said apart: here, whether the source is RZ."""
    table = load("sm_100")
    samples = []
    for source, kind, code in ((RZ, HEAD, bytes.fromhex("42100102")), (r(3), SAME, b""), (r(5), SAME, b"")):
        word = table.decode(table.encode(op("MOV"), PT, [r(4)], [source], 0x7F1))
        samples.append(Sample([word], kind, code))
        samples[-1].count, samples[-1].sources = 1, {"a"}
    lengths = Lengths({(((("MOV", ("R", "R")), 1),), 2)})
    rules, without = rules_of({"MOV R | R": samples}, lengths)
    assert [x.line for x in rules] == ["MOV R | R=255\thead 42100102", "MOV R=r | R=r\tsame 2"]
    assert not without
