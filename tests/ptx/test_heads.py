"""What the head of a module changes: the mode of textures, and no .address_size; with the messages of ptxas 13.0.88.

data/heads.txt holds lines and their messages, below the name of the head; ORIAS_BLESS=1 asks ptxas anew.
"""

import os
from pathlib import Path

import pytest

import orias
from orias.diag import CompileError
from tests.nvtools import tool
from tests.ptx.test_agreement import messages_of
from tests.rotation import rotating
from tools.front_end.compare import Judge
from tools.front_end.instructions import Program

DATA = Path(__file__).parent / "data" / "heads.txt"
HEADS = {
    "unified": ".target sm_90, texmode_unified\n.address_size 64\n",
    "independent": ".target sm_90, texmode_independent\n.address_size 64\n",
    "without a size": ".target sm_90\n",
    "old": ".target sm_11\n.tex .u64 tt; .tex .u32 t3;\n",
}
REFERENCES = ".global .texref t; .global .surfref f;\n"
BODY = """.global .b32 g; .shared .b8 sh[64];
.visible .entry k(.param .u32 p) {{
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .b8 %b<9>; .reg .f32 %f<9>; .reg .f64 %e<9>; .reg .pred %p<9>; .reg .v2 .b64 %v;
{}
ret; }}
"""


def text_of(head: str, line: str) -> str:
    """A module with the head whose kernel is the line; a sampler is declared where the line names one."""
    sampler = ".global .samplerref s;\n" if "s," in line or "[s" in line or " s;" in line else "\n"
    version, references = (1.4, "") if head == "old" else (8.7, REFERENCES)
    return f".version {version}\n{HEADS[head]}{references}{sampler}{BODY.format(line)}"


def rows() -> list[tuple[str, str, str]]:
    """(head, line, messages) of data/heads.txt."""
    found = []
    head = ""
    for text in DATA.read_text().splitlines():
        if text.startswith("# "):
            head = text[2:]
        else:
            line, _, messages = text.partition("\t")
            found.append((head, line, messages))
    return found


def said(head: str, line: str) -> str:
    return " & ".join(f"{severity}: {message}" for _, severity, message in messages_of(text_of(head, line)))


def asked(judge: Judge, head: str, line: str) -> str:
    answer = judge.alone(Program("sm_90", "", "", text_of(head, line)))
    assert answer is not None
    return " & ".join(m.split(" ", 1)[0] + ":" + m.partition(":")[2] for m in answer.messages)


def test_messages_are_those_of_ptxas() -> None:
    if os.environ.get("ORIAS_BLESS"):
        judge = Judge(None)
        text = ""
        head = ""
        for name, line, _ in rows():
            text += f"# {name}\n" if name != head else ""
            head = name
            text += f"{line}\t{asked(judge, name, line)}\n"
        DATA.write_text(text)
    found = rows()
    assert [row for row in found if said(row[0], row[1]) != row[2]] == []
    assert sum(not messages for _, _, messages in found) > 20
    assert sum("Arguments mismatch" in messages for _, _, messages in found) > 10


def test_some_of_the_records_are_ptxas_s() -> None:
    tool("ptxas")
    judge = Judge(None)
    for head, line, messages in rotating(rows(), 12, "heads"):
        assert asked(judge, head, line) == messages, line


def test_samplers_of_their_own_are_refused_in_unified_mode() -> None:
    """Ptxas takes the second handle for an offset, or leaves the fetch out."""
    line = "tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [t, %d0, {%r0}]; st.global.f32 [%d1], %f0;"
    with pytest.raises(CompileError, match="with a sampler in texmode_unified"):
        orias.compile(text_of("unified", line), arch="sm_90")
    orias.compile(text_of("independent", line), arch="sm_90")
