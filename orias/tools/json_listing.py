"""The code of a cubin as JSON, in the schema of ``nvdisasm -json`` 13.5: a list of a header and the functions.

``orias dis --json`` has more fields, in a form of its own (:mod:`orias.tools.structured`).
"""

import json
import re
from collections.abc import Sequence
from struct import unpack_from
from typing import Final

from orias.cubin import elf
from orias.cubin.elf import ElfFile, Section
from orias.cubin.relocs import CALL_RELOCS
from orias.identity import identity
from orias.isa.isa_table import IsaTable, load
from orias.target.decoder_class import table_of_name, table_of_sm
from orias.tools.cubin_annotations import annotations_of
from orias.tools.labels import HALF_RELOCS, INST_BYTES, code_sections
from orias.version import VERSION

Json = dict[str, object]

_SCHEMA: Final[Json] = {"major": 13, "minor": 5, "revision": 0}
_FLOW: Final = ("control-flow",)
_BARRIER: Final = ("inter-warp-barrier",)
_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "ACQBULK": _FLOW + _BARRIER, "ACQSHMINIT": _FLOW + _BARRIER, "BAR": _BARRIER, "BMOV": _FLOW, "BPT": _FLOW,
    "BRA": _FLOW, "BRX": _FLOW, "BRXU": _FLOW, "BSSY": _FLOW, "BSYNC": _FLOW, "CALL": _FLOW, "ELECT": _FLOW,
    "ENDCOLLECTIVE": _FLOW, "EXIT": _FLOW, "JMP": _FLOW, "JMX": _FLOW, "JMXU": _FLOW, "KILL": _FLOW, "NANOSLEEP": _FLOW,
    "PREEXIT": _FLOW, "RET": _FLOW, "RPCMOV": _FLOW, "SYNCS": _BARRIER, "UCGABAR_WAIT": _BARRIER, "UTCBAR": _FLOW,
    "WARPSYNC": _FLOW, "YIELD": _FLOW,
}  # fmt: skip
"""Mnemonic -> its attributes (nvdisasm 13.5.37, all its decoders)."""
_TOOL_NOTE: Final = ("tki_objFname", "tki_toolName", "tki_toolVersion", "tki_toolBranch", "tki_toolOptions")
_NOTE_HEADER: Final = 24
"""Bytes of a note before its payload: three words and the owner's name."""
_COUNTS: Final = r"instr/R-regs: (\d+) instructions, (\d+) R-regs"
"""The text on a function that ptxas writes with ``-annotate``."""
_SPILLED: Final = {"type": "program-analysis", "info": "SpillRefill"}
_RAW_ABI: Final = (51, 7)
"""``ei_osabi`` and ``ei_abiversion`` that bare code counts as."""


def json_listing(data: bytes, annotated: bool = False) -> str:
    """The JSON text of a cubin; a function is the code of a section with all that it calls in there; `annotated`: with its annotations.

    Raises CubinError if it is none or has words that are no instructions, KeyError if there is no table for its
    target.
    """
    file = ElfFile(data)
    head: Json = {
        "ELF": {"layout-id": file.flags & 0xFF, "ei_osabi": file.osabi, "ei_abiversion": file.abi_version},
        **_producer(file.sm),
        **_notes(file),
    }
    table = load(table_of_sm(file.sm))
    functions: list[Json] = []
    for s in code_sections(file):
        for x in file.symbols:
            if x.section == s.index and x.type == elf.STT_FUNC and not x.value:
                spills, texts = annotations_of(file, s) if annotated else ([], [])
                functions.append(_function(x.name, 0, s.data, table, _names(file, s, table), spills, texts))
    return json.dumps([head, functions], separators=(",", ":"))


def json_listing_raw(code: bytes, name: str) -> str:
    """The JSON text of bare code for a decoder such as ``SM90a``; KeyError if there is no such decoder."""
    number = int(re.sub(r"\D", "", name) or "0")
    osabi, abi = _RAW_ABI
    head: Json = {"ELF": {"layout-id": elf.KIND_SASS, "ei_osabi": osabi, "ei_abiversion": abi}, **_producer(number)}
    return json.dumps([head, [_function("Unknown", 0, code, load(table_of_name(name)), {})]], separators=(",", ":"))


def _producer(number: int) -> Json:
    return {
        "SM": {"version": {"major": number // 10, "minor": number % 10}},
        "SchemaVersion": _SCHEMA,
        "Producer": f"nvdisasm Orias {VERSION} {identity()}",
        "Description": "",
    }


def _notes(file: ElfFile) -> Json:
    """The fields of the two notes, as far as the cubin has them."""
    out: Json = {}
    for s in sorted(file.sections, key=lambda s: s.name):
        body = s.data[_NOTE_HEADER:]
        if s.name == ".note.nv.cuinfo" and len(body) >= 8:
            version, sm, toolkit = unpack_from("<HHI", body)
            out[s.name] = {
                "nv_note_cuinfo": version, "nv_note_cuinfo_virt_sm": sm, "nv_note_cuinfo_toolVersion": toolkit,
            }  # fmt: skip
        elif s.name == ".note.nv.tkinfo" and len(body) >= 24:
            version, *offsets = unpack_from("<6I", body)
            strings = body[24:]
            texts = [strings[at:].split(b"\0", 1)[0].decode("utf-8", "replace") for at in offsets]
            out[s.name] = {"nv_note_tkinfo": version, **dict(zip(_TOOL_NOTE, texts, strict=True))}
    return out


def _names(file: ElfFile, s: Section, table: IsaTable) -> dict[int, str]:
    """The last operand of the instructions, by their address, where it is printed by name: functions and halves of addresses."""
    functions = {x.value: x.name for x in file.symbols if x.section == s.index and x.type == elf.STT_FUNC}
    out: dict[int, str] = {}
    for at in range(0, len(s.data) - INST_BYTES + 1, INST_BYTES):
        for target in table.targets(int.from_bytes(s.data[at : at + INST_BYTES], "little"), at):
            if target in functions:
                out[at] = functions[target]
    for r in file.relocations(s):
        symbol = file.symbol(r.symbol, s.name)
        name = file.symbol_name(r.symbol, s.name)
        if r.type in CALL_RELOCS:
            out[r.offset & ~15] = name
        elif r.type in HALF_RELOCS:
            text = f"({name} + {r.addend:#x})" if symbol.type == elf.STT_FUNC and r.addend else "0x0"
            out[r.offset & ~15] = f"{HALF_RELOCS[r.type]}({text})"
    return out


def _function(
    name: str,
    start: int,
    code: bytes,
    table: IsaTable,
    names: dict[int, str],
    spills: Sequence[int] = (),
    texts: Sequence[str] = (),
) -> Json:
    instructions = []
    for at in range(0, len(code) - INST_BYTES + 1, INST_BYTES):
        word = int.from_bytes(code[at : at + INST_BYTES], "little")
        instructions.append(_instruction(table.text(word, at, None), names.get(at, "")))
    for at in spills:
        if at // INST_BYTES < len(instructions):
            instructions[at // INST_BYTES]["annotations"] = [_SPILLED]
    notes = _notes_on(texts)
    return {
        "function-name": name,
        "start": start,
        "length": len(code),
        "other-attributes": [],
        **({"annotations": notes} if notes else {}),
        "sass-instructions": instructions,
    }


def _notes_on(texts: Sequence[str]) -> list[Json]:
    """The annotations of a function, from their texts."""
    out: list[Json] = []
    for text in texts:
        found = re.fullmatch(_COUNTS, text)
        if found is not None:
            out.append({"type": "instructions", "count": int(found[1])})
            out.append({"type": "register", "R-regs": int(found[2])})
    return out


def _instruction(text: str, name: str) -> Json:
    """The fields of an instruction; `name`: what stands in place of its last operand, or nothing."""
    out: Json = {}
    if text.startswith("@"):
        out["predicate"], _, text = text.partition(" ")
    opcode, _, operands = text.partition(" ")
    out["opcode"] = opcode
    mnemonic = opcode.partition(".")[0]
    attributes = dict.fromkeys(_ATTRIBUTES.get(mnemonic, ()), "True")
    goes = "control-flow" in attributes
    named = name if not goes or mnemonic in ("CALL", "RET") else ""
    if operands:
        operands = operands.replace(", ", ",")
        if goes:
            operands = operands.replace(" ", ",")
        if named:
            head, comma, _ = operands.rpartition(",")
            operands = head + comma + named
        out["operands"] = operands
    if mnemonic == "CALL" and named:
        attributes["subroutine-call"] = "True"
    if attributes:
        out["other-attributes"] = attributes
    return out
