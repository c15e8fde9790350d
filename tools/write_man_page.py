"""Writes ``docs/man/orias.1`` from the option table and the list of sub-commands: ``python -m tools.write_man_page``.

The wheel installs it below ``share/man``; ``tests/cli/test_man_page.py`` holds it against the tables.
"""

from pathlib import Path

from orias.cli.help_text import TOOLS
from orias.cli.option_table import OPTIONS, OWN, allowed
from orias.version import VERSION

PAGE = Path(__file__).resolve().parents[1] / "docs" / "man" / "orias.1"

HEAD = """\
.\\" Written by tools/write_man_page.py.
.TH ORIAS 1 "" "Orias {version}" "User Commands"
.SH NAME
orias \\- assemble PTX for NVIDIA GPUs
.SH SYNOPSIS
.B orias
[\\fIoptions\\fR] \\fIFILE.ptx\\fR ...
.br
.B orias
\\fISUB-COMMAND\\fR [\\fIoptions\\fR] ...
.SH DESCRIPTION
Compiles PTX to a cubin, as ptxas does: its options, messages and exit codes. \\(aq\\-\\(aq reads standard input. Called
by the name ptxas, nvdisasm or cuobjdump it answers as that program.
"""
TAIL = """\
.SH EXIT STATUS
0, or 255 for every failure; sub-commands that judge (check, verify, fuzz, audit, batch) exit with 1 if they find something.
.SH ENVIRONMENT
.TP
.B ORIAS_CACHE_DIR
A folder that keeps finished compiles; ORIAS_CACHE_MIB limits its size.
.TP
.B ORIAS_SERVER
1: ask the resident compiler (orias serve) first.
.TP
.B ORIAS_PTXAS_RELEASE
Under the name ptxas, the release to stand for.
.TP
.B ORIAS_TRACEBACK
Shows where an error that no command expects comes from.
"""


def roff(text: str) -> str:
    """A text as roff prints it: dashes stay ASCII, and no line begins a request."""
    out = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + out if out.startswith((".", "\\(aq")) else out


def entry(names: str, value: str, about: str, values: tuple[str, ...] = ()) -> str:
    head = f".TP\n.B {roff(names)}" + (f" {roff(value)}" if value else "")
    more = f"\nValues: {roff(', '.join(values))}." if values else ""
    return f"{head}\n{roff(about)}{more}\n"


def man_page() -> str:
    """The page as roff text."""
    out = HEAD.format(version=VERSION) + ".SH OPTIONS\n"
    for long, short, _, value, about in OPTIONS:
        out += entry(f"--{long}, -{short}", value, about, tuple(allowed(long)))
    out += ".SS Options of Orias alone\n"
    for long, _, value, about in OWN:
        out += entry(f"--{long}", value, about)
    out += ".SH SUB\\-COMMANDS\n"
    for line in TOOLS.splitlines():
        usage, _, about = line.strip().partition("  ")
        if usage.startswith("orias "):
            out += entry(usage, "", about.strip())
        else:
            assert usage in ("Tools:", "Each prints its own options with --help."), usage
    return out + "Each prints its own options with \\-\\-help.\n" + TAIL


def main() -> None:
    PAGE.write_text(man_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
