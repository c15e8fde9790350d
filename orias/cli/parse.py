"""Parses arguments into a :class:`Command`, by the rules of ptxas (``docs/facts/command-line.md``, "Option forms").

Long names have two dashes and short names one; a value is the next argument or follows ``=``; ``-O`` and ``-m`` also
take a joined value.  ``-O`` never takes the next argument.
"""

from orias.cli.option_table import (
    ALIASES,
    BOOL,
    CHOICES,
    DEPRECATED,
    ENUM,
    FLAG,
    HIDDEN,
    JOINED,
    LIST,
    NOT_IN_NOTE,
    NUMBER,
    OPTIONAL,
    OPTIONS,
    ORIAS_ONLY,
    OWN,
    STATISTICS,
    TEXTS,
    allowed,
)

MAX_OPTION_FILES = 64
"""Largest number of options files per command line, including nested ones."""


BLANKS = " \t\n\v\f\r"
"""What C takes for blanks."""


class UsageError(Exception):
    """The command line is wrong; the text is the message without prefix."""


class Command:
    """A parsed command line.

    ``inputs``: (kind, text) with kind ``file`` or ``string``, in order; ``values``: last value of each option by long
    name (flags: ``""``); ``lists``: values of the options that accumulate; ``warnings``: messages about the options.
    """

    __slots__ = ("inputs", "lists", "values", "warnings")

    def __init__(self) -> None:
        self.inputs: list[tuple[str, str]] = []
        self.values: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.warnings: list[str] = []

    def has(self, name: str) -> bool:
        """True if the option was given."""
        return name in self.values or name in self.lists

    def number(self, name: str, default: int) -> int:
        """Value of a number option."""
        text = self.values.get(name)
        return default if text is None else parse_number(text)

    def flag(self, name: str, default: bool = False) -> bool:
        """Value of a flag or boolean option."""
        text = self.values.get(name)
        return default if text is None else text != "false"

    def note_text(self) -> str:
        """The options in the form of the cubin's tool note: short names in table order, each part followed by a blank."""
        out = ""
        for long, short, kind, _, _ in OPTIONS:
            if long in NOT_IN_NOTE:
                continue
            if long in self.lists:
                out += f"-{short} {','.join(self.lists[long])} "
            elif long in self.values:
                out += f"-{short} {'' if kind == FLAG else self.values[long]} "
        return out


def parse_number(text: str, unsigned: bool = False, long: bool = False) -> int:
    """A number in the syntax of C's ``strtol``: decimal, 0x hexadecimal, 0 octal, sign; empty is 0.

    `unsigned`: the option takes 32 bits without a sign; `long`: it takes the lowest 32 of 64 bits.
    """
    text = text.lstrip(BLANKS)
    body = text.lstrip("+-")
    sign = -1 if text[:1] == "-" else 1
    if len(text) - len(body) > 1 or "_" in body:
        raise UsageError(f"'{text}': expected a number")
    try:
        if body == "":
            value = 0
        elif body[:2] in ("0x", "0X"):
            value = int(body, 16)
        elif body[0] == "0":
            value = int(body, 8)
        else:
            value = int(body)
    except ValueError:
        raise UsageError(f"'{text}': expected a number") from None
    value *= sign
    if long:
        return low_word(value)
    if unsigned and not 0 <= value < 1 << 32:
        raise UsageError(f"32-bit hex value ({text}) out of range")
    if not unsigned and not -(1 << 31) <= value < 1 << 31:
        raise UsageError(f"32-bit integer value ({text}) out of range")
    return value


def low_word(value: int) -> int:
    """The lowest 32 bits, with sign, of a number that C's ``strtol`` brings into 64 bits."""
    return (max(-(1 << 63), min(value, (1 << 63) - 1)) + (1 << 31)) % (1 << 32) - (1 << 31)


def split_words(text: str) -> list[str]:
    """Words of an options file, separated by blanks; double quotes protect blanks, a backslash takes the next character as it
    is, except that a double quote never becomes part of a word.  Raises UsageError if the text ends in quotes or after a backslash.
    """
    out: list[str] = []
    word = ""
    inside = quoted = False
    i = 0
    while i < len(text):
        c = text[i]
        i += 1
        if c == "\\":
            if i == len(text):
                raise UsageError("Stray '\\' character")
            word += "" if text[i] == '"' else text[i]
            inside = True
            i += 1
        elif c == '"':
            quoted = not quoted
            inside = True
        elif c.isspace() and not quoted:
            if inside:
                out.append(word)
            word, inside = "", False
        else:
            word += c
            inside = True
    if quoted:
        raise UsageError("Stray '\"' character")
    if inside:
        out.append(word)
    return out


def split_list(text: str) -> list[str]:
    """The values of a list, separated by commas, without the blanks around them; double quotes protect commas and are no part of a
    value.  Raises UsageError if the text ends in quotes.
    """
    if '"' not in text:
        return [value for part in text.split(",") if (value := part.strip(BLANKS))]
    parts = text.split('"')
    if len(parts) % 2 == 0:
        raise UsageError("Stray '\"' character")
    values = [""]
    for number, part in enumerate(parts):
        first, *rest = [part] if number % 2 else part.split(",")
        values[-1] += first
        values += rest
    return [value for part in values if (value := part.strip(BLANKS))]


class _Parser:
    __slots__ = ("command", "files", "kinds", "short")

    def __init__(self, own: bool) -> None:
        self.command: Command = Command()
        self.files: int = 0
        self.kinds: dict[str, int] = {}
        self.short: dict[str, str] = {}
        for name, kind, short_too in HIDDEN:
            self.kinds[name] = kind
            if short_too:
                self.short[name] = name
        self.short.update(ALIASES)
        for name, kind, _, _ in OWN:
            if own or name not in ORIAS_ONLY:
                self.kinds[name] = kind
        if own:
            self.short["knob"] = "knob"
        for long, short, kind, _, _ in OPTIONS:
            self.kinds[long] = kind
            self.short[short] = long

    def run(self, arguments: list[str]) -> None:
        i = 0
        while i < len(arguments):
            argument = arguments[i]
            i += 1
            if argument[:1] != "-" or argument == "-":
                self.command.inputs.append(("file", argument))
                continue
            shown, eq, value = argument.partition("=")
            if argument[:2] == "--":
                name = shown[2:]
                if name not in self.kinds:
                    raise UsageError(f"Unknown option '{shown[1:]}'")
            elif shown[1:] in self.short:
                name = self.short[shown[1:]]
            elif shown[1:2] in ("O", "m") and shown[1:]:
                name, eq, value = self.short[shown[1]], "=", argument[2:]
            else:
                raise UsageError(f"Unknown option '{shown[1:]}'")
            kind = self.kinds[name]
            if name in DEPRECATED:
                self.command.warnings.append(f"option '{name}' has been deprecated")
            if kind == FLAG:
                if eq:
                    raise UsageError(f"no argument expected after '{shown}'")
            elif kind == OPTIONAL:
                pass
            elif not eq and shown != "-O":
                if i >= len(arguments):
                    raise UsageError(f"argument expected after '{shown}'")
                value = arguments[i]
                i += 1
            self.take(name, kind, value)

    def take(self, name: str, kind: int, value: str) -> None:
        """Enter one option."""
        c = self.command
        if name == "input-as-string":
            c.inputs.append(("string", value))
            return
        if name == "options-file":
            for file in split_list(value):
                self.options_file(file)
            return
        if kind in (LIST, CHOICES):
            if name == "profile-options" and name in c.lists:
                raise UsageError(f"redefinition of argument '{name}'")
            values = split_list(value)
            for v in values:
                if kind == CHOICES and v not in allowed(name):
                    raise UsageError(f"Value '{v}' is not defined for option '{name}'")
                if name == "profile-options" and "=" not in v:
                    raise UsageError(f"'{v}' is not in 'keyword=value' format")
            c.lists.setdefault(name, []).extend([STATISTICS.get(v, v) for v in values] if kind == CHOICES else values)
            return
        if kind == TEXTS:
            c.lists.setdefault(name, []).append(value)
            return
        if kind == BOOL and value not in ("true", "false"):
            raise UsageError(f"'{value}': expected true or false")
        if kind in (NUMBER, JOINED):
            number = parse_number(value, name in ("okey", "ptx-length"))
            if name == "machine" and number != 64:
                raise UsageError(f"Value '{value}' is not defined for option 'machine'")
            if value == "" and name in c.values:
                return
            value = str(number)
        if kind == ENUM and value not in allowed(name):
            raise UsageError(f"Value '{value}' is not defined for option '{name}'")
        if kind != FLAG and c.values.get(name, value) != value:
            c.warnings.append(f"incompatible redefinition for option '{name}', the last value of this option was used")
        c.values[name] = value

    def options_file(self, name: str) -> None:
        """Take the options of a file."""
        self.files += 1
        if self.files > MAX_OPTION_FILES:
            raise UsageError(f"Too many options file opened '{name}'")
        try:
            with open(name, encoding="utf-8", errors="surrogateescape") as f:
                text = f.read()
        except IsADirectoryError:
            return  # ptxas opens it and finds nothing.
        except OSError:
            raise UsageError(f"Could not open options file '{name}'") from None
        self.run(split_words(text))


def parse_arguments(arguments: list[str], own: bool = True) -> tuple[Command, str]:
    """The command, and an error message or ""; after an error the command holds the arguments before it.

    `own`: the program is ``orias``, and has options that ptxas does not know.
    """
    parser = _Parser(own)
    try:
        parser.run(arguments)
    except UsageError as e:
        return parser.command, str(e)
    return parser.command, ""
