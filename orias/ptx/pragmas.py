"""Pragmas: their names, first PTX versions, and places.

Facts: docs/facts/front-end.md (debug text and pragmas).
"""

from typing import Final

from orias.knobs.knob_settings import PRAGMA, KnobError, Setting, parse_setting
from orias.ptx.ast import Function, Pragma
from orias.ptx.lexer import T_STRING
from orias.ptx.parser_state import State

ABI_REGISTERS: Final = "abi_param_reg"
"""The pragma on the number of registers that pass arguments to a function."""
PRAGMAS: Final[dict[str, tuple[int, int]]] = {
    "nounroll": (0, 0),
    "used_bytes_mask": (8, 3),
    "enable_smem_spilling": (8, 7),
    "frequency": (9, 0),
    "mma_throughput": (9, 3),
    ABI_REGISTERS: (0, 0),
}
"""The pragmas of ptxas 13.5.37, with their first PTX version."""
BODY_PRAGMAS: Final = ("enable_smem_spilling", "used_bytes_mask", "frequency")
"""Pragmas that are legal only in a function's body."""


def read_pragma(state: State) -> list[str]:
    """Reads ``.pragma "a", "b";``."""
    lex = state.lex
    lex.next()
    texts: list[str] = []
    while True:
        if lex.kind != T_STRING:
            state.syntax()
        texts.append(lex.text[1:-1])
        lex.next()
        if not state.take(","):
            break
    state.punct(";")
    return texts


def known_pragma(state: State, text: str, line: int) -> None:
    """Warns of a pragma that ptxas does not know; reports one that the PTX version does not have."""
    if text.startswith(PRAGMA):
        _knob(state, text, line)
        return
    name = text.split(" ")[0]
    first = PRAGMAS.get(name)
    if first is None or (name == "nounroll" and text != name):
        state.closing.append(("warning", f"Pragma '{text}' unsupported"))
    elif state.module.version < first:
        state.error(f"Feature '{name}' requires PTX ISA .version {first[0]}.{first[1]} or later", line)
    else:
        check_value(state, text)


def check_value(state: State, text: str) -> None:
    """Reports the number of a pragma that is absent or illegal, when everything is read."""
    name, _, rest = text.partition(" ")
    invalid = f"Invalid value '{rest}' specified for .pragma '{text}'"
    value, whole = _number(rest)
    found: list[str] = []
    if name == "frequency":
        if not rest:
            found.append(f"Argument(s) to pragma '{name}' cannot be empty")
        elif not whole:
            found.append(invalid)
        if value <= 0:
            found.append(invalid)
    elif name == "used_bytes_mask" and state.function is not None and state.function.entry:
        if not rest:
            found.append(f"Argument(s) to pragma '{name}' cannot be empty")
        elif not whole:
            found.append(invalid)
    elif name == ABI_REGISTERS:
        value &= (1 << 32) - 1
        if rest[:1] == "-" or not rest:
            if rest:
                found.append(f"Invalid range '{rest}' specified for .pragma '{text}'")
            found.append(f"Unexpected number of arguments specified for pragma {text}")
        else:
            if not whole:
                found.append(invalid)
            if not 0 < value < 1 << 8:
                found.append(f"{name} {value} is invalid for {state.place.target}")
            elif value > _LAST_ARGUMENT - _FIRST_ARGUMENT:
                found.append(f"Parameter register {value + _FIRST_ARGUMENT} is invalid for {state.place.target}")
    state.closing.extend([("error", message) for message in found])


_FIRST_ARGUMENT: Final = 4
_LAST_ARGUMENT: Final = 252
"""Registers between which arguments may be passed."""


def _number(text: str) -> tuple[int, bool]:
    """The number at the beginning of a text, and whether it is all of it."""
    digits = text.lstrip()
    if digits[:2].lower() == "0x" and all(c in "0123456789abcdefABCDEF" for c in digits[2:]):
        return int(digits, 16) if len(digits) > 2 else 0, True
    end = 1 if digits[:1] in ("+", "-") else 0
    while end < len(digits) and digits[end] in "0123456789":
        end += 1
    number = digits[:end]
    return (int(number) if number.strip("+-") else 0), bool(number.strip("+-")) and end == len(digits)


def _knob(state: State, text: str, line: int) -> None:
    """Checks a pragma that sets a knob."""
    try:
        setting = parse_setting(text[len(PRAGMA) :])
    except KnobError as e:
        state.error(str(e), line)
        return
    if setting.kernel:
        state.error(
            f"Pragma '{text}' names a kernel: it is for the kernel that it stands in, or for all before the first", line
        )


def knob_pragmas(kernel: Function, of_module: list[str]) -> list[Setting]:
    """The settings of knobs in a kernel's pragmas, after those of its module (which are for all kernels)."""
    texts = [*of_module, *(key[len("pragma:") :] for key in kernel.directives if key.startswith("pragma:"))]
    texts += [s.text for s in kernel.body or () if isinstance(s, Pragma)]
    return [parse_setting(t[len(PRAGMA) :]) for t in texts if t.startswith(PRAGMA)]
