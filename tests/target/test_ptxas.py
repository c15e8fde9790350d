"""The table of targets against what ptxas 13.0.88 reads and writes for every one of its targets."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin import elf, nvinfo
from orias.cubin.elf import ElfFile
from orias.cubin.elf_values import CubinFacts, pad_code
from orias.diag import MissingFact
from orias.target import driver, features
from orias.target.profile import TARGETS, Target
from tests.nvtools import tool
from tests.target.forms import FEATURES, PRODUCTS, SPELLINGS
from tests.target.probes import HEAD, instructions, kernel
from tests.target.words import WORDS

PLAIN = [n for n, t in TARGETS.items() if not t.suffix]
ALL = [
    pytest.param(n, marks=[] if n in (*PLAIN, "sm_90a", "sm_100a", "sm_110f") else pytest.mark.sweep) for n in TARGETS
]


def known(target: Target, feature: int) -> bool | None:
    try:
        return target.has(feature)
    except MissingFact:
        return None


def pattern(target: Target, name: str) -> str:
    """How an instruction of the target names a word of constant bank 0."""
    offset = target.word_base(name)
    if target.moves_with_cluster(name):
        return rf"c\[0x0\]\[U?R\d+\+{offset:#x}\]"
    return rf"c\[0x0\]\[({offset:#x}{'|RZ' if offset == 0 else ''})\]"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ALL)
def test_words(name: str, tmp_path: Path) -> None:
    t = TARGETS[name]
    found = instructions(name, WORDS, tmp_path)
    assert len(found) >= 12
    for word in WORDS:
        code = "\n".join(found.get(word, []))
        if t.has_word(word):
            assert re.search(pattern(t, word), code), (word, code)
        elif word not in ("parameter_window_end", "parameters_end"):
            # (Without one of these ptxas reads the other.)
            others = ("parameters", "stack_pointer", "descriptor", "bank_window", "parameter_window")
            known_places = {t.word(w) + half for w in others if t.has_word(w) for half in (0, 4)}
            read = {int(place, 16) for place in re.findall(r"c\[0x0\]\[(0x[0-9a-f]+)\]", code)}
            assert read <= known_places, (word, code)
        # A word that moves is read less cluster_step times SR_CgaSize.
        step = re.search(r"IMAD R\d+, R\d+, -(0x[0-9a-f]+), RZ", code)
        assert (step is not None) == (t.has_word(word) and t.moves_with_cluster(word)), (word, code)
        assert step is None or int(step[1], 16) == t.number("cluster_step")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ALL)
def test_entry(name: str, tmp_path: Path) -> None:
    """Parameters, stack pointer and descriptor, with few parameters and with more than 4352 bytes of them."""
    t = TARGETS[name]
    large = (
        HEAD.format(target=name)
        + ".visible .entry k(.param .u64 p, .param .align 4 .b8 q[5000]) { .reg .u64 %rd1; .reg .b32 %r1; .local .u32 s[4];"
        " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [q+4996]; st.global.u32 [%rd1], %r1; ret; }"
    )
    path = tmp_path / "large.ptx"
    path.write_text(large)
    out = tmp_path / "large.cubin"
    subprocess.run([tool("ptxas"), f"-arch={name}", str(path), "-o", str(out)], check=True, capture_output=True)
    text = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, check=True).stdout
    assert re.search(pattern(t, "large_parameters"), text), text
    code = "\n".join(instructions(name, {"k": "mov.u32 %r1, %r10;"}, tmp_path)["k"])
    for word in ("parameters", "stack_pointer", "descriptor"):
        if t.has_word(word):
            assert re.search(pattern(t, word), code), (word, code)
        else:
            assert "desc[" not in code


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", PLAIN)
def test_forms(name: str, tmp_path: Path) -> None:
    """Features, products and spellings that an instruction shows."""
    t = TARGETS[name]
    rows = {**FEATURES, **PRODUCTS, **SPELLINGS}
    names = {row: row.replace(".", "_") for row in rows}
    found = instructions(name, {names[row]: ptx for row, (ptx, _) in rows.items()}, tmp_path)
    seen = 0
    for row, (_, regex) in rows.items():
        code = found.get(names[row], [])
        if row in SPELLINGS:
            if code:
                wanted = regex.format(re.escape(t.spelling(row)))
                assert any(re.search(wanted, c) for c in code), (row, code)
                seen += 1
            continue
        there = any(re.search(regex.lstrip("!"), c) for c in code) != regex.startswith("!")
        if row in PRODUCTS:
            assert t.multiplies(row) == there, (row, code)
        else:
            assert known(t, features.NAMES.index(row)) == there, (row, code)
        seen += 1
    assert seen >= 40


CALLS = {
    "call_target_address": (
        "{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;"
        " call.uni (c), vprintf, (a, b); ld.param.b32 %r1, [c]; }",
        r"LEPC R20, ",
    ),
    "driver_gradients": (
        "ld.global.u64 %rd2, [%rd1]; ld.global.f32 %f1, [%rd1+8]; tex.grad.cube.v4.f32.f32 {%f2, %f3, %f4, %f5},"
        " [%rd2, {%f1, %f1, %f1, %f1}], {%f1, %f1, %f1, %f1}, {%f1, %f1, %f1, %f1}; mov.b32 %r1, %f2;",
        r"CALL\.ABS",
    ),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("feature", CALLS)
def test_calls(feature: str, name: str, tmp_path: Path) -> None:
    """Features that a call of the driver shows, in a module of its own: beside references ptxas takes other ways."""
    ptx, regex = CALLS[feature]
    vprintf = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
    path, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    path.write_text(HEAD.format(target=name) + vprintf + kernel("k", ptx))
    subprocess.run([tool("ptxas"), f"-arch={name}", str(path), "-o", str(out)], check=True, capture_output=True)
    text = subprocess.run([tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, check=True).stdout
    assert TARGETS[name].has(features.NAMES.index(feature)) == bool(re.search(regex, text)), text


SUPPLIED = ".extern .func {0} (.param .b64 a);\n"
CALL = "{{ .param .b64 a; st.param.b64 [a], %rd1; call.uni {0}, (a); }}"


def test_functions_of_the_driver(tmp_path: Path) -> None:
    """What the driver supplies may be called without a definition, and its address is taken nowhere."""
    names = sorted(driver.CALLABLE)
    text = (
        HEAD.format(target="sm_90")
        + "".join(map(SUPPLIED.format, names))
        + kernel("k", "".join(map(CALL.format, names)))
    )
    path, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    path.write_text(text)
    subprocess.run([tool("ptxas"), "-arch=sm_90", str(path), "-o", str(out)], check=True, capture_output=True)
    undefined = [
        {s.name for s in ElfFile(data).symbols if s.section == 0 and s.type == elf.STT_FUNC}
        for data in (out.read_bytes(), orias.compile(text).data)
    ]
    assert undefined == [set(names), set(names)]


@pytest.mark.parametrize("name", ["cudaGraphSetParam", "cudaCGGetIntrinsicHandle", "cnpLaunch"])
@pytest.mark.parametrize("code", [CALL, "mov.u64 %rd1, {0}; st.global.u64 [%rd1], %rd1;"])
def test_functions_of_no_driver(code: str, name: str, tmp_path: Path) -> None:
    head = HEAD.format(target="sm_90") + SUPPLIED.format(name)
    path = tmp_path / "k.ptx"
    path.write_text(head + kernel("k", code.format(name)))
    done = subprocess.run(
        [tool("ptxas"), "-arch=sm_90", str(path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    with pytest.raises(orias.CompileError) as refused:
        orias.compile(path.read_text())
    said = [re.sub(r".*fatal *: *", "", line).strip() for line in done.stderr.splitlines() if "'" in line]
    assert len(said) == 1 and said[0] in str(refused.value), (said, str(refused.value))


@pytest.mark.parametrize("name", ALL)
def test_cubin(name: str, tmp_path: Path) -> None:
    """What a plain kernel's file holds."""
    t = TARGETS[name]
    facts = CubinFacts(t)
    shared = (
        HEAD.format(target=name)
        + ".visible .entry k() { .reg .b32 %r<3>; .shared .align 4 .b8 s[100]; st.shared.u32 [s], 1; bar.sync 0;"
        " ld.shared.u32 %r1, [s+4]; st.shared.u32 [s+8], %r1; ret; }"
    )
    path, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    path.write_text(shared)
    subprocess.run([tool("ptxas"), f"-arch={name}", str(path), "-o", str(out)], check=True, capture_output=True)
    file = ElfFile(out.read_bytes())
    sections = {s.name: s for s in file.sections}
    assert file.flags & 0xFF == t.number("cubin_kind")
    assert file.flags & 0xFFFF00 == facts.sm_flags
    assert sections[".nv.shared.k"].size == facts.system_shared + 100
    reserved = sections.get(".nv.shared.reserved.0")
    assert (reserved is not None) == t.has_number("reserved_section")
    assert reserved is None or reserved.size == t.number("reserved_section")
    records = {r.code: r for r in nvinfo.decode(sections[".nv.info.k"].data, "k")}
    assert (nvinfo.SW_WAR in records) == t.has_number("sw_war")
    if t.has_number("sw_war"):
        assert int.from_bytes(records[nvinfo.SW_WAR].payload, "little") == t.number("sw_war")
    assert (nvinfo.SW2861232_WAR in records) == t.has(features.SW2861232_WAR)
    assert records[nvinfo.MERCURY_ISA_VERSION].value == t.number("mercury_isa")
    assert (".nv.compat" in sections) == t.has(features.COMPAT_SECTION)
    if facts.compat_section:
        data = sections[".nv.compat"].data
        assert data[:4] == bytes((2, 9, facts.accelerator, 0))
        assert data[-8] == facts.compat_class
    rel = [s for s in file.sections if s.type == elf.SHT_REL]
    assert not rel or not t.has(features.ADDENDS_IN_RELOCATIONS)
    text = sections[".text.k"].data
    end = text.index(facts.stop_branch)
    assert end % 16 == 0
    assert pad_code(text[:end], facts) == text


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", PLAIN)
def test_limits(name: str, tmp_path: Path) -> None:
    """ptxas ignores .minnctapersm beyond what an SM holds, and refuses more shared memory than a kernel may have."""
    t = TARGETS[name]
    threads = t.number("threads_per_sm")
    cases = {
        "threads_fit": (512, threads // 512), "threads_do_not": (512, threads // 512 + 1),
        "ctas_fit": (32, t.number("ctas_per_sm")), "ctas_do_not": (32, t.number("ctas_per_sm") + 1),
    }  # fmt: skip
    path, out = tmp_path / "k.ptx", str(tmp_path / "k.cubin")
    kernels = [f".visible .entry {k}() .maxntid {n}, 1, 1 .minnctapersm {m} {{ ret; }}" for k, (n, m) in cases.items()]
    path.write_text(HEAD.format(target=name) + "\n".join(kernels))
    command = [tool("ptxas"), f"-arch={name}", str(path), "-o", out]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    for k in cases:
        assert (f"'{k}'" in said or f" {k}" in said) == k.endswith("_not"), said
    limit = t.number("shared_limit")
    for size in (limit, limit + 1):
        path.write_text(
            HEAD.format(target=name) + f".visible .entry k() {{ .shared .b8 s[{size}]; st.shared.u8 [s], 1; ret; }}"
        )
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode == 0) == (size == limit), run.stderr


def test_names() -> None:
    """The targets that ptxas offers are those of the table."""
    text = subprocess.run([tool("ptxas"), "--help"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"'(sm_\d+[af]?)'", text)) == set(TARGETS)
