"""Pragmas: their names, first PTX versions, and places.

Facts: docs/facts/front-end.md (debug text and pragmas).
"""

from typing import Final

from orias.knobs.knob_settings import PRAGMA, KnobError, Setting, parse_setting
from orias.ptx.ast import Function, Pragma
from orias.ptx.lexer import T_STRING
from orias.ptx.parser_state import State

PRAGMAS: Final[dict[str, tuple[int, int]]] = {
    "nounroll": (0, 0),
    "used_bytes_mask": (8, 3),
    "enable_smem_spilling": (8, 7),
    "frequency": (9, 0),
    "mma_throughput": (9, 3),
    "abi_param_reg": (0, 0),
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


# bodies


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
