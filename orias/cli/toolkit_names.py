"""The program under the names ``nvdisasm`` and ``cuobjdump``: what clients ask of those two (docs/toolkit.md).

The forms are those of nvdisasm and cuobjdump 13.5.37.  Other options are refused by name.
"""

import sys
from pathlib import Path
from typing import Final

from orias.cli.door import failure_text
from orias.cli.tool_arguments import Arguments, scan
from orias.cli.toolerror import ToolError

_CODE_NAMES: Final[dict[str, str]] = {
    "--print-code": "-c", "--print-line-info": "-g", "--print-line-info-inline": "-gi", "--print-line-info-ptx": "-gp",
    "--print-instruction-encoding": "-hex", "--binary": "-b", "--base-address": "-base", "--print-life-ranges": "-plr",
    "--life-range-mode": "-lrm", "--output-control-flow-graph": "-cfg", "--output-control-flow-graph-with-basic-blocks": "-bbcfg",
    "--print-instr-offsets-cfg": "-poff", "--emit-json": "-json",
}  # fmt: skip
_WORD: Final = "/* 0x"
"""The start of an instruction word in a listing."""
_LISTING_FLAGS: Final = ("-c", "-g", "-gi", "-gp", "-hex")
_OTHER_FLAGS: Final = ("-plr", "-cfg", "-bbcfg", "-poff", "-json")
_CODE_VALUES: Final = ("-b", "-base", "-lrm")
_DUMP_NAMES: Final[dict[str, str]] = {
    "--dump-sass": "-sass", "--list-elf": "-lelf", "--dump-resource-usage": "-res-usage", "--extract-elf": "-xelf",
    "--dump-elf": "-elf", "--dump-elf-symbols": "-symbols", "--function": "-fun", "--gpu-architecture": "-arch",
}  # fmt: skip
_DUMP_FLAGS: Final = ("-sass", "-lelf", "-res-usage", "-elf", "-symbols")
_DUMP_VALUES: Final = ("-xelf", "-fun", "-arch")
_UNKNOWN: Final = "Option '{}' is not supported by Orias"


def run_named(program: str, arguments: list[str]) -> int:
    """Run the program under one of the names; returns the exit code."""
    try:
        if "--version" in arguments or "-V" in arguments:
            sys.stdout.write(_version(program))
            return 0
        if program == "nvdisasm":
            return _nvdisasm(arguments)
        return _cuobjdump(arguments)
    except ToolError as e:
        message = str(e)
    except BrokenPipeError:
        return 0
    except OSError as e:
        message = f"Could not open input file '{e.filename}'"
    except Exception as e:
        message = failure_text(e)
    sys.stderr.write(f"{program} fatal   : {message}\n")
    return 255


def _version(program: str) -> str:
    from orias.cli.help_text import version_text
    from orias.identity import identity
    from orias.target.target_names import NEWEST_RELEASE
    from orias.version import VERSION

    return version_text(program, VERSION, identity(), NEWEST_RELEASE)


def _nvdisasm(arguments: list[str]) -> int:
    """Prints the code; without ``-c`` too, where nvdisasm prints the other sections as well."""
    from orias.cli.dis import run_dis

    found = scan(arguments, (*_LISTING_FLAGS, *_OTHER_FLAGS), _CODE_VALUES, _CODE_NAMES, _UNKNOWN)
    if not found.files:
        raise ToolError("No input file specified")
    if found.flags & set(_OTHER_FLAGS) or "-lrm" in found.values:
        for file in found.files:
            sys.stdout.write(_view(file, found))
        return 0
    decoder = ["-b", found.last("-b")] if "-b" in found.values else []
    base = ["--base", found.last("-base")] if "-base" in found.values else []
    return run_dis([*sorted(found.flags), *decoder, *base, "--quiet", *found.files])


def _view(file: str, asked: Arguments) -> str:
    """What nvdisasm prints of a file besides its listing: JSON, a graph, or the listing with live ranges."""
    from orias.cubin.cubin_error import CubinError
    from orias.tools.flow_graph import flow_graph
    from orias.tools.json_listing import json_listing, json_listing_raw
    from orias.tools.live_ranges import MODES, live_range_listing

    mode = asked.last("-lrm", "wide")
    if mode not in MODES:
        raise ToolError(f"Value '{mode}' is not defined for option 'life-range-mode'")
    data = Path(file).read_bytes()
    try:
        if "-b" in asked.values:
            if "-json" not in asked.flags:
                raise ToolError("Of bare code (-b), Orias prints the listing and -json only")
            return json_listing_raw(data, asked.last("-b"))
        if "-json" in asked.flags:
            return json_listing(data)
        if asked.flags & {"-cfg", "-bbcfg"}:
            return flow_graph(data, "-bbcfg" in asked.flags, "-poff" in asked.flags)
        if "-plr" in asked.flags or "-lrm" in asked.values:
            return live_range_listing(data, mode, "-hex" in asked.flags)
    except KeyError as e:
        raise ToolError(f"{file}: there is no instruction table for {e.args[0]}") from None
    except (CubinError, ValueError) as e:
        raise ToolError(f"{file}: {e}") from None
    raise ToolError("Option '-poff' needs '-cfg' or '-bbcfg'")


def _cuobjdump(arguments: list[str]) -> int:
    from orias.cubin.cubin_error import CubinError
    from orias.cubin.elf import ElfFile
    from orias.cubin.fatbin import cubins
    from orias.tools.cubin_target import target_name

    found = scan(arguments, _DUMP_FLAGS, _DUMP_VALUES, _DUMP_NAMES, _UNKNOWN)
    if not found.files:
        raise ToolError("No input file specified")
    for file in found.files:
        try:
            images = [(target_name(ElfFile(image)), image) for _, image in cubins(Path(file).read_bytes())]
        except (CubinError, ValueError) as e:
            raise ToolError(f"{file}: {e}") from None
        images = [(t, image) for t, image in images if found.last("-arch", t) == t]
        _dump(file, images, found)
    return 0


def _dump(file: str, images: list[tuple[str, bytes]], asked: Arguments) -> None:
    from orias.tools.elf_dump import elf_dump, symbol_names
    from orias.tools.resource_usage import resource_usage

    many: dict[str, int] = {}
    for number, (target, image) in enumerate(images, 1):
        many[target] = many.get(target, 0) + 1
        stem = Path(file).name.rpartition(".")[0] or Path(file).name
        name = f"{stem}{f'.{many[target]}' if many[target] > 1 else ''}.{target}.cubin"
        if "-lelf" in asked.flags:
            sys.stdout.write(f"ELF file {number:4}: {name}\n")
        wanted = asked.last("-xelf")
        if wanted and (wanted == "all" or wanted in name):
            sys.stdout.write(f"Extracting ELF file {number:4}: {name}\n")
            Path(name).write_bytes(image)
        if "-res-usage" in asked.flags:
            sys.stdout.write(resource_usage(image))
        if "-elf" in asked.flags:
            sys.stdout.write(elf_dump(image))
        if "-symbols" in asked.flags:
            sys.stdout.write(symbol_names(image))
        if "-sass" in asked.flags:
            sys.stdout.write(sass(image, target, asked.last("-fun")))


def sass(image: bytes, target: str, function: str) -> str:
    """The code of a cubin, of all functions or one, with words and numeric branch targets."""
    from orias.cubin.elf import ElfFile
    from orias.tools.cubin_target import sm_number
    from orias.tools.disassemble import Style, disassemble_raw
    from orias.tools.labels import code_sections

    file = ElfFile(image)
    style = Style(hex_words=True)
    listings: list[tuple[str, list[str]]] = []
    for section in code_sections(file):
        name = section.name.removeprefix(".text.")
        if not function or name == function:
            listings.append((name, disassemble_raw(bytes(section.data), "SM" + target[3:], 0, style).splitlines()))
    rows = [line for _, lines in listings for line in lines[2:]]
    width = max((len(line.rpartition(_WORD)[0].rstrip()) for line in rows), default=0) + 2
    out = f"\n\tcode for {target}\n" + ("" if function else f"\t.target\t{target}\n\n")
    for name, lines in listings:
        head = lines[:2] if function else [f'\t.headerflags\t@"EF_CUDA_SM{sm_number(file)}"']
        code = [_aligned(line, width) for line in lines[2:]]
        out += "\n".join([f"\t\tFunction : {name}", *head, *code, "\t\t..........\n\n\n"])
    return out


def _aligned(line: str, width: int) -> str:
    """A line whose instruction word, a comment at its end, starts in a column."""
    text, word, rest = line.rpartition(_WORD)
    return f"{text.rstrip():<{width}}{word}{rest}"
