"""``orias dis``: lists cubins, files that contain cubins, and bare code."""

import json
import sys
from pathlib import Path
from typing import Final

from orias.cli.tool_arguments import read_arguments
from orias.cli.toolerror import ToolError

USAGE: Final = """\
usage: orias dis [options] FILE...

Prints the SASS of cubins, of fat binaries, and of host programs, objects and libraries with cubins in them.

  -b SM90, --binary SM90   the files are bare code for this decoder
  --base ADDR              address of the first byte of bare code
  -hex, --hex              the instruction words too
  --control                control words (waits, barriers, stalls, reuse), as orias as reads them
  -g, -gi, -gp             source lines; with call sites; lines of the PTX text
  --full                   everything in the cubin, in the form that orias as turns back into the same bytes
  --json                   instructions by field
  --capsule                the capsules (Mercury form) of cubins from sm_100 on: items, records, sections
  --arch sm_90             only the cubins for this SM
  --list                   only the names of the cubins found
  --color                  coloured output (needs Pygments)
  --quiet                  no progress bar for large files
"""

_FLAGS: Final = (
    "-hex",
    "--hex",
    "--control",
    "-c",
    "-g",
    "-gi",
    "-gp",
    "--full",
    "--json",
    "--list",
    "--capsule",
    "--color",
    "--quiet",
)
_LONG: Final = 1 << 18
"""Size in bytes from which a file gets a progress bar."""
_VALUES: Final = ("-b", "--binary", "--base", "--arch")


def run_dis(arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code.  Raises ToolError for wrong usage and bad input."""
    files, flags, values = read_arguments(arguments, _FLAGS, _VALUES, USAGE)
    if not files:
        return 0
    text = "".join(_file(name, flags, values, len(files) > 1) for name in files)
    if "--color" in flags:
        text = coloured(text, "--json" in flags)
    sys.stdout.write(text)
    return 0


def coloured(text: str, is_json: bool = False) -> str:
    """A listing with terminal colours.  Raises ToolError if Pygments is not installed."""
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import JsonLexer

        from orias.tools.lexers import SassLexer
    except ImportError as e:
        raise ToolError(f"coloured output needs Pygments (pip install 'orias[color]'): {e}") from None
    out: str = highlight(text, JsonLexer() if is_json else SassLexer(stripnl=False), TerminalFormatter())
    return out


def _file(name: str, flags: set[str], values: dict[str, str], several: bool) -> str:
    from orias.cubin.cubin_error import CubinError

    data = Path(name).read_bytes()
    try:
        decoder = values.get("-b", values.get("--binary"))
        if decoder is not None:
            return _raw(data, decoder, int(values.get("--base", "0"), 0), flags)
        return _images(name, data, flags, values, several)
    except KeyError as e:
        raise ToolError(f"{name}: there is no instruction table for {e.args[0]}") from None
    except (CubinError, ValueError) as e:
        raise ToolError(f"{name}: {e}") from None


def _lines(flags: set[str]) -> str:
    return next((x[1:] for x in ("-gi", "-gp", "-g") if x in flags), "")


def _raw(data: bytes, decoder: str, base: int, flags: set[str]) -> str:
    from orias.tools.disassemble import Style, disassemble_raw
    from orias.tools.structured import raw_code

    if "--json" in flags:
        return json.dumps(raw_code(data, decoder, base), indent=1) + "\n"
    return disassemble_raw(data, decoder, base, Style("-hex" in flags or "--hex" in flags, "--control" in flags))


def _images(name: str, data: bytes, flags: set[str], values: dict[str, str], several: bool) -> str:
    from orias.cubin.elf import ElfFile
    from orias.cubin.fatbin import cubins
    from orias.progress import Bar
    from orias.tools.capsule_listing import capsule_listing
    from orias.tools.cubin_target import target_name
    from orias.tools.disassemble import disassemble
    from orias.tools.fullwrite import full_listing
    from orias.tools.structured import code_of

    found = cubins(data)
    bar = Bar("--quiet" in flags or len(data) < _LONG)
    out: list[str] = []
    objects: list[object] = []
    for label, image in found:
        target = target_name(ElfFile(image))
        if values.get("--arch", target) != target:
            continue
        if "--list" in flags:
            out.append(f"{label or name}: {target}, {len(image)} bytes\n")
            continue
        if "--json" in flags:
            objects.append({"file": name, "cubin": label, **code_of(image)})
            continue
        if several or len(found) > 1:
            out.append(f"\n// ==== {name}{' ' if label else ''}{label} ====\n\n")
        if "--capsule" in flags:
            out.append(capsule_listing(image))
            continue
        if "--full" in flags:
            out.append(full_listing(image))
            continue
        out.append(disassemble(image, "-hex" in flags or "--hex" in flags, "--control" in flags, _lines(flags), bar))
    if "--arch" in values and not out and not objects:
        raise ToolError(f"{name}: there is no cubin for {values['--arch']}")
    if objects:
        out.append(json.dumps(objects[0] if len(found) == 1 else objects, indent=1) + "\n")
    return "".join(out)
