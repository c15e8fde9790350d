"""Settings of knobs: read from text, checked, and resolved for each kernel.

The text of a setting is ``NAME=VALUE``, or ``KERNEL:NAME=VALUE`` for one kernel.  A knob file has settings below a
heading, ``[knobs]`` for all kernels or ``[knobs KERNEL]`` for one; lines that begin with ``#`` or ``;`` are comments.
"""

from collections.abc import Mapping
from typing import Final, final

from orias.knobs.knob_table import BY_NAME, KNOBS, Knob
from orias.knobs.knob_values import DEFAULTS, Knobs

Value = int | str
"""Of a knob: ``bool`` and ``int`` for numbers and switches."""
PRAGMA = "knob "
"""How the text of a pragma begins that sets a knob: ``.pragma "knob NAME=VALUE";``."""
_WORDS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


class KnobError(Exception):
    """A setting is wrong: an unknown name, a value of another type, or one out of range."""


@final
class Setting:
    """One checked setting; ``kernel``: the only kernel that it is for, or ""."""

    __slots__ = ("kernel", "knob", "value")

    def __init__(self, kernel: str, knob: Knob, value: Value) -> None:
        self.kernel: Final[str] = kernel
        self.knob: Final[Knob] = knob
        self.value: Final[Value] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and (self.kernel, self.line()) == (other.kernel, other.line())

    def __hash__(self) -> int:
        return hash((self.kernel, self.line()))

    def line(self) -> str:
        """The line of a knob file."""
        return f"{self.knob.name}={value_text(self.value)}"


def value_text(value: Value) -> str:
    """A value as it is written in settings."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_knob(name: str) -> Knob:
    """The knob of a name, whatever its case; raises KnobError with the closest names for others."""
    knob = BY_NAME.get(name.lower())
    if knob is None:
        from difflib import get_close_matches

        close = [BY_NAME[n].name for n in get_close_matches(name.lower(), list(BY_NAME), 3, 0.6)]
        hint = f"; did you mean {' or '.join(close)}?" if close else " (orias --list-knobs lists them)"
        raise KnobError(f"Unknown knob '{name}'{hint}")
    return knob


def checked(kernel: str, name: str, value: object) -> Setting:
    """A setting from a Python value; raises KnobError."""
    knob = find_knob(name)
    if isinstance(knob.default, bool):
        if not isinstance(value, bool):
            raise KnobError(f"Knob '{knob.name}' takes true or false, not {value!r}")
        return Setting(kernel, knob, value)
    if isinstance(knob.default, str):
        if not isinstance(value, str):
            raise KnobError(f"Knob '{knob.name}' takes a text, not {value!r}")
        return Setting(kernel, knob, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise KnobError(f"Knob '{knob.name}' takes a whole number, not {value!r}")
    if not knob.low <= value <= knob.high:
        raise KnobError(f"Value {value} of knob '{knob.name}' is out of range {knob.low}..{knob.high}")
    return Setting(kernel, knob, value)


def parse_setting(text: str, kernel: str = "") -> Setting:
    """A setting from its text; raises KnobError.  Numbers may be hexadecimal (``0x``)."""
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if ":" in name:
        kernel, _, name = name.rpartition(":")
    if not equals or not name:
        raise KnobError(f"'{text}': expected NAME=VALUE")
    knob = find_knob(name)
    if isinstance(knob.default, bool):
        if value.lower() not in _WORDS:
            raise KnobError(f"Knob '{knob.name}' takes true or false, not '{value}'")
        return checked(kernel, name, _WORDS[value.lower()])
    if isinstance(knob.default, str):
        return checked(kernel, name, value)
    try:
        number = int(value, 0)
    except ValueError:
        raise KnobError(f"Knob '{knob.name}' takes a whole number, not '{value}'") from None
    return checked(kernel, name, number)


@final
class KnobSettings:
    """The settings of a compile in the order in which they apply: a later one wins."""

    __slots__ = ("settings",)

    def __init__(self, settings: list[Setting] | None = None) -> None:
        self.settings: list[Setting] = settings or []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnobSettings) and self.settings == other.settings

    __hash__ = None  # type: ignore[assignment]

    def values(self, kernel: str, pragmas: list[Setting]) -> Knobs:
        """The knobs of a kernel; `pragmas`: settings in its PTX text, which come last."""
        if not self.settings and not pragmas:
            return DEFAULTS
        out = Knobs()
        for s in self.settings:
            if s.kernel in ("", kernel):
                setattr(out, s.knob.field, s.value)
        if not out.disable_pragma_knobs:
            for s in pragmas:
                setattr(out, s.knob.field, s.value)
        return out

    def text(self) -> str:
        """A knob file with these settings: those for all kernels, then those of each kernel."""
        out = "[knobs]\n" + "".join(s.line() + "\n" for s in self.settings if not s.kernel)
        for kernel in dict.fromkeys(s.kernel for s in self.settings if s.kernel):
            out += f"\n[knobs {kernel}]\n" + "".join(s.line() + "\n" for s in self.settings if s.kernel == kernel)
        return out


def from_dict(values: Mapping[str, object]) -> KnobSettings:
    """Settings from a dictionary: name of a knob -> value, or name of a kernel -> dictionary; raises KnobError."""
    out: list[Setting] = []
    kernels: list[Setting] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            kernels += [checked(name, knob, v) for knob, v in value.items()]
        else:
            out.append(checked("", name, value))
    return KnobSettings(out + kernels)


def parse_knob_file(text: str, name: str) -> list[Setting]:
    """The settings of a knob file; raises KnobError with the file's name and the line."""
    out: list[Setting] = []
    kernel: str | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        try:
            if line[0] == "[":
                words = line.removeprefix("[").removesuffix("]").split()
                if line[-1] != "]" or not words or words[0] != "knobs" or len(words) > 2:
                    raise KnobError(f"'{line}': expected [knobs] or [knobs KERNEL]")
                kernel = words[1] if len(words) == 2 else ""
            elif kernel is None:
                raise KnobError("A setting before the heading [knobs]")
            else:
                out.append(parse_setting(line, kernel))
        except KnobError as e:
            raise KnobError(f"{name}, line {number}: {e}") from None
    return out


def read_knob_file(path: str) -> KnobSettings:
    """The settings of a knob file; raises KnobError for a wrong or missing one."""
    try:
        with open(path, encoding="utf-8") as f:
            return KnobSettings(parse_knob_file(f.read(), path))
    except OSError as e:
        raise KnobError(f"Knob file '{path}' could not be opened: {e.strerror}") from None
    except UnicodeDecodeError:
        raise KnobError(f"Knob file '{path}' is not UTF-8 text") from None


def parse_environment(text: str) -> list[Setting]:
    """The settings of the environment variable ORIAS_KNOBS: settings separated by blanks or commas, or ``@FILE``; raises KnobError."""
    out: list[Setting] = []
    for word in text.replace(",", " ").split():
        out += read_knob_file(word[1:]).settings if word[0] == "@" else [parse_setting(word)]
    return out


def changed(knobs: Knobs) -> list[Setting]:
    """The settings that make the default knobs these."""
    return [Setting("", k, v) for k in KNOBS if (v := getattr(knobs, k.field)) != k.default]


def knob_list() -> str:
    """All knobs as text, by phase."""
    out = ""
    phase = ""
    for k in KNOBS:
        if k.phase != phase:
            phase = k.phase
            out += f"\n{phase}\n" if out else f"{phase}\n"
        span = f" {k.low}..{k.high}" if k.kind == "int" else ""
        unit = f" {k.unit}" if k.unit else ""
        out += f"  {k.name}={value_text(k.default)}  ({k.kind}{span}{unit})\n      {k.about}\n"
    return out


def knob_objects() -> list[dict[str, object]]:
    """All knobs as plain objects, for JSON."""
    return [
        {
            "name": k.name, "type": k.kind, "default": k.default, "low": k.low if k.kind == "int" else None,
            "high": k.high if k.kind == "int" else None, "unit": k.unit, "phase": k.phase, "about": k.about, "ptxas": k.ptxas,
        }
        for k in KNOBS
    ]  # fmt: skip
