"""Reads debug information in PTX: .file, .loc, .section and its data.

Facts: docs/facts/front-end.md (debug text and pragmas).
"""

from typing import TYPE_CHECKING, Final

from orias.patterns import regex
from orias.ptx.ast import TYPE_WORDS, DebugSection, Loc, Module
from orias.ptx.expr import integer, plain_value, word_value
from orias.ptx.lexer import T_DOT, T_IDENT, T_STRING
from orias.ptx.opcode import is_word
from orias.ptx.parser_state import State

if TYPE_CHECKING:
    from re import Pattern

_SIZES: Final = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}
_RUN: Final = r"(?a)(?:[ \t\r\f\n]*\.b8[ \t]+(?:[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])(?=[ \t]*[\r\n]))+"
"""A run of ``.b8 N`` lines, which is most of a debug section."""
_FILE_NUMBERS: Final = 2
"""Numbers after the name of a file: its time and size."""
_LABEL_BYTES: Final = 4
"""Bytes of the smallest item that takes a label."""
_CHECKED_BYTES: Final = 2
"""Bytes of the largest item whose value is checked."""
_WORD: Final = (1 << 32) - 1
_OP_REGX: Final = b"\x90"
_LONGEST_NAME: Final = 10
"""Bytes of a number (LEB128) of 64 bits, which holds the name of a register."""
_LOC: Final = r"(?a)[ \t\r\f\n]*\.loc[ \t]+([0-9]{1,9})[ \t]+([0-9]{1,9})[ \t]+([0-9]{1,9})(?=[ \t]*\n)"


def plain_loc() -> "Pattern[str]":
    """The pattern of a ``.loc`` with three numbers; compiled on the first call, for most files have none."""
    return regex(_LOC)


def file_directive(state: State) -> None:
    """``.file N "name" [, time [, size]]``."""
    lex = state.lex
    lex.next()
    index = word_value(state)
    if lex.kind != T_STRING:
        state.syntax()
    name = lex.text[1:-1]
    lex.next()
    numbers: list[int] = []
    line = lex.line
    while len(numbers) < _FILE_NUMBERS and state.take(","):
        line = lex.line
        numbers.append(plain_value(state))
    if len(numbers) < _FILE_NUMBERS:
        line = lex.line  # a comma might follow
    if numbers:
        state.gate("timestamp", line)
    if index in state.module.files:
        state.error(f"Duplicate file index #{index}", line)
    numbers += [0] * (_FILE_NUMBERS - len(numbers))
    state.module.files[index] = (name, numbers[0], numbers[1])


def loc_directive(state: State, located: dict[tuple[int, int, int], Loc]) -> Loc:
    """``.loc file line column [, function_name label[+n], inlined_at file line column]``; ``located``: those before it."""
    lex = state.lex
    lex.next()
    loc = Loc(word_value(state), word_value(state), word_value(state))
    if not state.take(","):
        return loc
    _keyword(state, "function_name")
    name = lex.text
    if lex.kind == T_DOT and not is_word(name):
        lex.next()
    else:
        state.ident()
    loc.function_name = (name, plain_value(state) if state.take("+") else 0)
    state.punct(",")
    _keyword(state, "inlined_at")
    file, row = word_value(state), word_value(state)
    line = lex.line
    at = (file, row, word_value(state))
    state.gate("inlined_at", line)
    loc.inlined_at = at
    loc.caller = located.get(at)
    if at not in located:
        where = " ".join([str(n) for n in at])
        state.error(
            f"Source location {where} used in inlined_at directive must be used in a preceding .loc directive", line
        )
    return loc


def _keyword(state: State, word: str) -> None:
    if state.lex.kind != T_IDENT or state.lex.text != word:
        state.syntax()
    state.lex.next()


def section_directive(state: State) -> None:
    """``.section name { data }``."""
    lex = state.lex
    lex.next()
    if lex.kind != T_DOT or (is_word(lex.text) and lex.text != ".to"):
        state.syntax()
    name = lex.text
    lex.next()
    section = DebugSection(name)
    state.module.sections.append(section)
    state.punct("{")
    position = 0
    source = lex.source
    run_pattern = regex(_RUN)
    while not state.take("}"):
        if lex.kind == T_DOT:
            run = run_pattern.match(source, lex.start)
            if run is not None:
                values = run.group().split()[1::2]
                section.items.extend([(1, int(v)) for v in values])
                position += len(values)
                lex.seek(run.end(), lex.line + source.count("\n", lex.start, run.end()))
                continue
            type_ = lex.text
            size = _SIZES.get(type_, 0)
            if not size and type_[1:] not in TYPE_WORDS:
                state.syntax()
            lex.next()
            items = _items(state)
            _check(state, size, items)
            section.items.extend([(size, item) for item in items])
            position += size * len(items)
        elif lex.kind == T_IDENT:
            label = lex.text
            lex.next()
            line = lex.line
            state.punct(":")
            state.gate("section_label", line)
            if any(label in s.labels for s in state.module.sections):
                state.error(f"Duplicate definition of label '{label}'", line)
            section.labels[label] = position
        else:
            state.syntax()


def _check(state: State, size: int, items: list[int | tuple[str, int]]) -> None:
    """Reports a type that no item has, and values that do not fit: they are cut to 32 bits first."""
    line = state.lex.line
    labels = [item for item in items if isinstance(item, tuple)]
    if not size or (size < _LABEL_BYTES and labels):
        state.error("Illegal type for dwarf data", line)
    if size > _CHECKED_BYTES:
        return
    for item in items:
        if isinstance(item, int):
            value = item & _WORD if item >= 0 else -(-item & _WORD)
            if not -(1 << 8 * size) >> 1 <= value < 1 << 8 * size:
                state.error(f"Value out of range for type .b{8 * size} {value}", line)


def _items(state: State) -> list[int | tuple[str, int]]:
    """Several numbers, or a name: ``s``, ``s+n``, ``s-t``."""
    lex = state.lex
    if lex.kind in (T_IDENT, T_DOT) and lex.text != "WARP_SZ":
        if is_word(lex.text):
            state.syntax()
        name = lex.text
        lex.next()
        if state.take("-"):
            line = lex.line
            other = state.ident()
            state.gate("section_difference", line)
            return [(f"{name}-{other}", 0)]
        return [(name, integer(state) if state.take("+") else 0)]
    items: list[int | tuple[str, int]] = []
    while True:
        negative, line = state.take("-"), lex.line
        value = plain_value(state)
        if negative:
            state.gate("section_negative", line)
        items.append(-value if negative else value)
        if not state.take(","):
            return items


def variable_registers(module: Module) -> dict[str, dict[str, list[int]]]:
    """For each function the registers that the debug sections name, those of the program's variables, with the lines at which they end.

    A place is ``DW_OP_regx`` with the characters of the name as a number.  It belongs to the function of the code label before it and
    holds up to that label: in ``.debug_loc`` the second of the range, in ``.debug_info`` the end of the block that declares the
    variable.  Bytes that only look like a place may give a register too many.
    """
    owner = {label.name: (f.name, label.line) for f in module.functions for label in f.labels}
    found: dict[str, dict[str, list[int]]] = {}
    for section in module.sections:
        data = bytearray()
        function, end = "", 0
        for size, value in [*section.items, (0, ("", 0))]:
            if isinstance(value, int):
                data += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
                continue
            if function:
                there = found.setdefault(function, {})
                for name in _registers(data):
                    ends = there.setdefault(name, [])
                    if end not in ends:
                        ends.append(end)
            data.clear()
            if value[0] in owner:
                function, end = owner[value[0]]
    return found


def _registers(data: bytearray) -> set[str]:
    """The names after the operations ``DW_OP_regx``."""
    found: set[str] = set()
    at = data.find(_OP_REGX)
    while at >= 0:
        number = shift = 0
        for byte in bytes(data[at + 1 : at + 1 + _LONGEST_NAME]):
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        name = number.to_bytes(shift // 8 + 1, "big").lstrip(b"\0")
        if name.startswith(b"%") and name.isascii():
            found.add(name.decode())
        at = data.find(_OP_REGX, at + 1)
    return found


def dwarf_line(state: State) -> None:
    """Reads ``@@DWARF`` lines, the form of early compilers, and keeps them verbatim."""
    lex = state.lex
    end = lex.source.find("\n", lex.start)
    if end < 0:
        end = len(lex.source)
    state.module.dwarf.append(lex.source[lex.start : end].rstrip())
    lex.seek(end, lex.line)
