"""The files of the hidden options ``--link-info``, ``--query-controls``, ``--apply-controls`` and ``--nv-host``.

ptxas 13.0.88 has lost the names that ``--link-info`` is about: it prints ``(null)`` for each symbol that is imported (89 of its own
first) and for each exported variable, and one unprintable byte for each exported function.  Its controls are in a format of NVIDIA's own;
those of Orias are its knobs, in a knob file whose first line says so.
"""

from orias.cli.hidden_settings import older_than
from orias.cli.parse import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.knobs.knob_settings import Setting

_OWN_IMPORTS = 89
_CHECK_IMPORTS = 3
_CHECK_EXPORTS = 4
"""How many more imports, and below sm_90 exports, there are with -sanitize."""
_NAMELESS = "(null)"
_FUNCTION = "\x05"
_CONTROLS = "# Controls of Orias (knobs)\n"


def link_info(sources: list[tuple[str, str | bytes]], arch: str, release: str, sanitized: bool) -> str:
    """The text of ``--link-info`` for inputs without errors; `sanitized`: with -sanitize."""
    from orias.ptx.module_inputs import input_lines, merge
    from orias.ptx.parser import parse
    from orias.ptx.targets import newest_of

    name, text = merge(sources, arch)
    module = parse(text, name, newest_of(release), input_lines(sources))
    declared = [v.linkage for v in module.variables] + [f.linkage for f in module.functions]
    imports = [_NAMELESS] * (_OWN_IMPORTS + (_CHECK_IMPORTS if sanitized else 0) + declared.count("extern"))
    exports = [_NAMELESS for v in module.variables if v.linkage == "visible"]
    exports += [_FUNCTION for f in module.functions if f.linkage == "visible" and f.body is not None]
    if sanitized and older_than(arch, 90):
        exports += [_NAMELESS] * _CHECK_EXPORTS
    return f" --import {','.join(imports)} --export {','.join(exports)}"


def read_host(path: str) -> bytes:
    """The bytes of the file of ``--nv-host``; raises UsageError with the message of ptxas."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except IsADirectoryError:
        raise UsageError("Memory allocation failure") from None
    except (OSError, ValueError):
        raise UsageError(f"Could not open input file '{path}'") from None
    if not data:
        raise UsageError(f"Input file '{path}' could not be opened")
    return data


def write_controls(path: str) -> None:
    """Write all controls with their defaults; raises UsageError with the message of ptxas if that cannot be."""
    from orias.knobs.knob_settings import Setting
    from orias.knobs.knob_table import KNOBS

    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(_CONTROLS + "[knobs]\n" + "".join(f"{Setting('', k, k.default).line()}\n" for k in KNOBS))
    except (OSError, ValueError):
        raise UsageError(f"File '{path}' could not be opened") from None


def read_controls(path: str) -> "list[Setting]":
    """The settings of a file of controls; raises UsageError with the message of ptxas for any other file."""
    from orias.knobs.knob_settings import KnobError, parse_knob_file

    try:
        with open(path, "rb") as f:
            text = f.read().decode("latin-1")
    except (OSError, ValueError):
        raise UsageError(f"File '{path}' could not be opened") from None
    if not text.startswith(_CONTROLS):
        raise UsageError(f"Input file '{path}' not in expected format")
    try:
        return parse_knob_file(text, path)
    except KnobError as e:
        raise UsageError(str(e)) from None
