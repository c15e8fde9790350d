"""A target that exists in this file only: its row is all that a new target needs, and a fact that the row lacks is missed by name."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest

from orias import sim
from orias.compiler import compile_text
from orias.diag import CompileError, MissingFact
from orias.isa.isa_table import load
from orias.options import Options
from orias.target.profile import TARGETS, Target
from orias.target.table import Column, columns
from orias.timing.latency import Latency
from tests.target.forms import FEATURES, LATER, PRODUCTS, SPELLINGS
from tests.target.probes import DATA, HEAD, kernel
from tests.target.words import WORDS

PROGRAMS = Path(__file__).parents[1] / "sim" / "programs"
MOVED = {
    "parameters": "0x260", "large_parameters": "0x260", "stack_pointer": "0x4c", "ntid": "0x240", "nctaid": "0x250",
    "descriptor": "0x228", "dynamic_shared": "0x5c", "cluster_size": "0x174",
}  # fmt: skip
SHARED = 2048


def column() -> Column:
    """The facts of sm_90 with other places and another size of the system's shared memory."""
    out = copy.deepcopy(columns()[90])
    out["word"].update(MOVED)
    out["number"]["system_shared"] = str(SHARED)
    return out


def register(monkeypatch: pytest.MonkeyPatch, facts: Column) -> Target:
    t = Target("sm_99", 99, "", facts)
    monkeypatch.setitem(TARGETS, "sm_99", t)
    return t


def compiled(text: str, arch: str, level: int = 3) -> bytes:
    return compile_text([("k.ptx", text)], Options(arch, level)).data


def code(data: bytes) -> dict[str, list[str]]:
    """The instructions of each kernel."""
    table = load("sm_90")
    out = {}
    for name, k in sim.load(data).kernels.items():
        words = [k.code[i : i + 16] for i in range(0, len(k.code), 16)]
        out[name] = [table.text(int.from_bytes(w, "little"), 16 * i) for i, w in enumerate(words)]
    return out


def moved(line: str) -> str:
    """An instruction of sm_90 as sm_99 should have it."""
    old = columns()[90]["word"]

    def word(match: re.Match[str]) -> str:
        at = 0 if match[1] == "RZ" else int(match[1], 16)
        if at >= int(old["parameters"], 16):
            return f"c[0x0][{at - int(old['parameters'], 16) + int(MOVED['parameters'], 16):#x}]"
        for name, place in MOVED.items():
            first = int(old[name], 16)
            if first <= at < first + (12 if name in ("ntid", "nctaid", "cluster_size") else 4):
                return f"c[0x0][{at - first + int(place, 16):#x}]"
        return match[0]

    line = re.sub(r"c\[0x0\]\[(RZ|0x[0-9a-f]+)\]", word, line)
    if not re.search("BRA|BSSY|CALL|LEPC", line):
        line = re.sub(rf"\b{1024:#x}\b", f"{SHARED:#x}", line)
    return line


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", ["control", "cooperation", "copies", "cluster", "mbarrier", "tensor"])
def test_row_is_enough(name: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code differs from that of sm_90 where the rows differ, and nowhere else."""
    register(monkeypatch, column())
    text = (PROGRAMS / f"{name}.ptx").read_text()
    old, new = code(compiled(text, "sm_90", level)), code(compiled(text, "sm_99", level))
    different = 0
    assert list(old) == list(new)
    for k in old:
        assert [moved(line) for line in old[k]] == new[k]
        different += old[k] != new[k]
    assert different


def test_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reader and simulator take the row as well."""
    register(monkeypatch, column())
    text = HEAD.format(target="sm_90") + kernel(
        "k", "mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; shl.b32 %r4, %r2, 2; mov.u32 %r5, sh; add.u32 %r5, %r5, %r4;"
        " mad.lo.u32 %r6, %r2, %r3, 5; st.shared.u32 [%r5], %r6; bar.sync 0; ld.shared.u32 %r1, [sh+8];"
    )  # fmt: skip
    out = np.zeros(32, "u4")
    sim.load(compiled(text, "sm_99")).launch("k", 1, 16, [out])
    assert out[16] == 2 * 16 + 5


def rows() -> list[tuple[str, str, str]]:
    """Section, fact, and PTX that needs it; only those that a compile for sm_90 asks for."""
    found = [
        ("word", n, p) for n, p in WORDS.items() if n not in ("bank_window", "parameters_end", "parameter_window_end")
    ]
    found += [("feature", n, p) for n, (p, _) in FEATURES.items() if n not in LATER]
    found += [("product", n, p) for n, (p, _) in PRODUCTS.items()]
    found += [("spelling", n, p) for n, (p, _) in SPELLINGS.items()]
    plain = "mov.u32 %r1, %r10;"
    shared = SPELLINGS["shared_load"][0]
    found += [("word", n, plain) for n in ("parameters", "stack_pointer", "descriptor")]
    found += [("number", n, plain) for n in ("sw_war", "mercury_isa", "text_padding", "compat_class")]
    found += [("number", "system_shared", shared), ("number", "shared_limit", shared)]
    found += [
        ("spelling", "stop_branch", plain),
        ("feature", "addends_in_relocations", plain),
        ("feature", "split_segments", plain),
    ]
    return found


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("section", "fact", "ptx"), [pytest.param(*r, id=f"{r[0]}-{r[1]}") for r in rows()])
def test_missing_fact(section: str, fact: str, ptx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that nobody has measured ends the compile with the names of target and fact; no other target's value is taken."""
    text = HEAD.format(target="sm_90") + DATA + kernel("k", ptx)
    facts = column()
    register(monkeypatch, facts)
    assert compiled(text, "sm_99")
    facts[section][fact] = "?"
    register(monkeypatch, facts)
    with pytest.raises(CompileError, match=rf"sm_99: {section} '{re.escape(fact)}' is not known"):
        compiled(text, "sm_99")


@pytest.mark.parametrize("fact", ["decoder_class", "latency_class"])
def test_missing_class(fact: str) -> None:
    facts = column()
    facts["number"][fact] = "?"
    with pytest.raises(MissingFact, match=f"sm_99: number '{fact}' is not known"):
        Target("sm_99", 99, "", facts)


def test_missing_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = column()
    facts["number"]["latency_table"] = "?"
    register(monkeypatch, facts)
    with pytest.raises(MissingFact, match="sm_99: number 'latency_table' is not known"):
        Latency(99)


def test_what_a_target_does_not_have() -> None:
    t = TARGETS["sm_100"]
    with pytest.raises(MissingFact, match="sm_100 has no word 'shared_window' in constant bank 0"):
        t.word("shared_window")
    with pytest.raises(MissingFact, match="sm_100: word 'cluster_size' of constant bank 0 has no fixed place"):
        t.word("cluster_size")
    with pytest.raises(MissingFact, match="sm_75 has no number 'compat_class'"):
        TARGETS["sm_75"].number("compat_class")
    with pytest.raises(CompileError, match="Value 'sm_130' is not defined for option 'gpu-name'"):
        compiled(HEAD.format(target="sm_90") + kernel("k", "mov.u32 %r1, 1;"), "sm_130")
