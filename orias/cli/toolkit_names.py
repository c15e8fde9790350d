"""The program under the names ``nvdisasm`` and ``cuobjdump``: what clients ask of those two (docs/toolkit.md).

The forms are those of nvdisasm and cuobjdump 13.5.37.  Other options are refused by name.
"""

import sys
from pathlib import Path
from typing import Final

from orias.cli.door import failure_text
from orias.cli.tool_arguments import Arguments, scan
from orias.cli.toolerror import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from orias.tools.fatbin_members import Member

_CODE_NAMES: Final[dict[str, str]] = {
    "--print-code": "-c", "--print-line-info": "-g", "--print-line-info-inline": "-gi", "--print-line-info-ptx": "-gp",
    "--print-instruction-encoding": "-hex", "--binary": "-b", "--base-address": "-base", "--print-life-ranges": "-plr",
    "--life-range-mode": "-lrm", "--output-control-flow-graph": "-cfg", "--output-control-flow-graph-with-basic-blocks": "-bbcfg",
    "--print-instr-offsets-cfg": "-poff", "--emit-json": "-json", "--separate-functions": "-sf", "--print-raw": "-raw",
    "--cuda-function-index": "-fun", "--no-dataflow": "-ndf", "--no-vliw": "-novliw", "--sort-sections": "-sort", "--annotate": "-annotate",
}  # fmt: skip
_WORD: Final = "/* 0x"
"""The start of an instruction word in a listing."""
_LISTING_FLAGS: Final = ("-c", "-g", "-gi", "-gp", "-hex")
_OTHER_FLAGS: Final = (
    "-plr",
    "-cfg",
    "-bbcfg",
    "-poff",
    "-json",
    "-sf",
    "-raw",
    "-ndf",
    "-novliw",
    "-sort",
    "-annotate",
)
_OTHER_VALUES: Final = ("-lrm", "-fun")
_CODE_VALUES: Final = ("-b", "-base", *_OTHER_VALUES)
_DUMP_NAMES: Final[dict[str, str]] = {
    "--dump-sass": "-sass", "--list-elf": "-lelf", "--dump-resource-usage": "-res-usage", "--extract-elf": "-xelf",
    "--dump-ptx": "-ptx", "--list-ptx": "-lptx", "--extract-ptx": "-xptx", "--dump-elf": "-elf", "--dump-elf-symbols": "-symbols", "--function": "-fun", "--gpu-architecture": "-arch",
    "--list-text": "-ltext", "--extract-text": "-xtext", "--function-index": "-findex", "--sort-functions": "-sort",
}  # fmt: skip
_DUMP_FLAGS: Final = ("-sass", "-lelf", "-res-usage", "-elf", "-symbols", "-ptx", "-lptx", "-ltext", "-sort")
_DUMP_VALUES: Final = ("-xelf", "-xptx", "-xtext", "-fun", "-findex", "-arch")
_ACCELERATORS: Final = "EF_CUDA_ACCELERATORS "
"""A flag that cuobjdump leaves out of the code of one function."""
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
    if found.flags & set(_OTHER_FLAGS) or any(x in found.values for x in _OTHER_VALUES):
        for file in found.files:
            sys.stdout.write(_view(file, found))
        return 0
    decoder = ["-b", found.last("-b")] if "-b" in found.values else []
    base = ["--base", found.last("-base")] if "-base" in found.values else []
    return run_dis([*sorted(found.flags), *decoder, *base, "--quiet", *found.files])


def _view(file: str, asked: Arguments) -> str:
    """What nvdisasm prints of a file besides its whole listing: JSON, a graph, the listing in another form or of some functions."""
    from orias.cubin.cubin_error import CubinError
    from orias.cubin.elf import ElfFile
    from orias.tools.chosen_functions import only_functions
    from orias.tools.disassemble import Listing, Style
    from orias.tools.flow_graph import flow_graph
    from orias.tools.json_listing import json_listing, json_listing_raw
    from orias.tools.live_ranges import MODES, live_range_listing

    mode = asked.last("-lrm", "wide")
    if "-annotate" in asked.flags and "-json" not in asked.flags:
        raise ToolError("Specify -annotate with -json option")
    if mode not in MODES:
        raise ToolError(f"Value '{mode}' is not defined for option 'life-range-mode'")
    data = Path(file).read_bytes()
    try:
        if "-b" in asked.values:
            if "-json" not in asked.flags:
                raise ToolError("Of bare code (-b), Orias prints the listing and -json only")
            return json_listing_raw(data, asked.last("-b"))
        if "-fun" in asked.values:
            data = only_functions(data, [_index(x) for text in asked.values["-fun"] for x in text.split(",")])
        if "-json" in asked.flags:
            return json_listing(data, "-annotate" in asked.flags)
        both = sorted(asked.flags & {"-sort", "-ndf"})
        if both and asked.flags & {"-cfg", "-bbcfg", "-plr"}:
            raise ToolError(f"Orias does not combine '{both[0]}' with a graph or live ranges")
        if asked.flags & {"-cfg", "-bbcfg"}:
            return flow_graph(data, "-bbcfg" in asked.flags, "-poff" in asked.flags)
        if "-plr" in asked.flags or "-lrm" in asked.values:
            return live_range_listing(data, mode, "-hex" in asked.flags)
        if "-poff" not in asked.flags:
            lines = next((x[1:] for x in ("-gi", "-gp", "-g") if x in asked.flags), "")
            raw = "-raw" in asked.flags
            style = Style(
                "-hex" in asked.flags and not raw,
                lines=lines,
                plain=raw,
                apart="-sf" in asked.flags,
                targets="-ndf" not in asked.flags,
                by_name="-sort" in asked.flags,
            )
            return Listing(ElfFile(data), style).text()
    except KeyError as e:
        raise ToolError(f"{file}: there is no instruction table for {e.args[0]}") from None
    except (CubinError, ValueError) as e:
        raise ToolError(f"{file}: {e}") from None
    raise ToolError("Option '-poff' needs '-cfg' or '-bbcfg'")


def _index(text: str) -> int:
    """The index of a symbol in an argument of ``-fun``."""
    if not text.isdecimal():
        raise ToolError(f"Value '{text}' is not defined for option 'cuda-function-index'")
    return int(text)


def _cuobjdump(arguments: list[str]) -> int:
    from orias.cubin.cubin_error import CubinError
    from orias.tools.fatbin_members import members

    found = scan(arguments, _DUMP_FLAGS, _DUMP_VALUES, _DUMP_NAMES, _UNKNOWN)
    if not found.files:
        raise ToolError("No input file specified")
    for file in found.files:
        try:
            inside = members(Path(file).name, Path(file).read_bytes())
        except (CubinError, ValueError) as e:
            raise ToolError(f"{file}: {e}") from None
        if "-ltext" in found.flags or "-xtext" in found.values:
            _texts(inside, found)
            continue
        inside = [m for m in inside if found.last("-arch", m.target) in (m.target, m.target.rstrip("af"))]
        if not _listed(file, inside, found):
            for m in inside:
                _dump(m, found, file)
    return 0


def _texts(inside: "Sequence[Member]", asked: Arguments) -> None:
    """List or extract the code sections of the cubins."""
    from orias.cubin.elf import ElfFile
    from orias.tools.labels import code_sections

    wanted = asked.last("-xtext")
    number = 0
    for m in inside:
        if m.ptx or asked.last("-arch", m.target) not in (m.target, m.target.rstrip("af")):
            continue
        for section in code_sections(ElfFile(m.data)):
            number += 1
            name = f"{m.source}-{section.name.removeprefix('.text.')}.{m.target}.elf.bin"
            if not wanted:
                sys.stdout.write(f"SASS text section {number} : {name}\n")
            elif wanted == "all" or wanted in name:
                sys.stdout.write(f"Extracting SASS text section {number} : {name}\n")
                Path(name).write_bytes(section.data)


def _listed(file: str, inside: "Sequence[Member]", asked: Arguments) -> bool:
    """List or extract the members of a file, if that is asked for: then nothing else is done."""
    done = False
    for ptx, kind, flag, option in ((False, "ELF file", "-lelf", "-xelf"), (True, "PTX file", "-lptx", "-xptx")):
        of_kind = [m for m in inside if m.ptx == ptx]
        wanted = asked.last(option)
        if wanted or flag in asked.flags:
            done = True
            if not of_kind:
                sys.stderr.write(
                    f"cuobjdump info    : No {kind} found to extract from '{Path(file).resolve()}'. "
                    "You may try with -all option.\n"
                )
        if flag in asked.flags:
            for number, m in enumerate(of_kind, 1):
                sys.stdout.write(f"{kind} {number:4}: {m.name}\n")
        for number, m in enumerate(of_kind, 1):
            if wanted and (wanted == "all" or wanted in m.name):
                with_options = f" -arch={m.target} {m.options}" if ptx else ""
                what = f"{kind} and ptxas options" if ptx else kind
                sys.stdout.write(f"Extracting {what} {number:4}: {m.name}{with_options}\n")
                Path(m.name).write_bytes(m.data)
    return done


def _dump(m: "Member", asked: Arguments, path: str) -> None:
    """Print what is asked for of one member of a file."""
    from orias.tools.elf_dump import elf_dump, symbol_names
    from orias.tools.resource_usage import resource_usage

    sys.stdout.write(m.heading)
    if m.ptx:
        if "-ptx" in asked.flags:
            sys.stdout.write(m.data.decode("utf-8", "replace") + "\n")
        return
    if "-res-usage" in asked.flags:
        sys.stdout.write(resource_usage(m.data))
    if "-elf" in asked.flags:
        sys.stdout.write(elf_dump(m.data))
    if "-symbols" in asked.flags:
        sys.stdout.write(symbol_names(m.data))
    if "-sass" in asked.flags:
        function = asked.last("-fun")
        if "-findex" in asked.values and asked.last("-findex") != "0":
            function = _function(m.data, asked.last("-findex"), path)
        sys.stdout.write(sass(m.data, m.target, function, "-sort" in asked.flags))


def _function(image: bytes, index: str, path: str) -> str:
    """The name of the code section of the function with an index; a text that none has for a name if the symbol is no function."""
    from orias.cubin.elf import STT_FUNC, ElfFile

    if not index.isdecimal():
        raise ToolError(f"'{index}': expected a number")
    file = ElfFile(image)
    number = int(index)
    if number >= len(file.symbols):
        raise ToolError(f"Invalid ELF in '{Path(path).resolve()}'")
    symbol = file.symbols[number]
    if symbol.type != STT_FUNC or not 0 < symbol.section < len(file.sections):
        return "\0"
    return file.sections[symbol.section].name.removeprefix(".text.")


def sass(image: bytes, target: str, function: str, by_name: bool = False) -> str:
    """The code of a cubin, of all functions or one, with words and numeric branch targets; `by_name`: functions sorted."""
    from orias.cubin.elf import ElfFile
    from orias.tools.cubin_target import header_flags
    from orias.tools.disassemble import Style, disassemble_raw
    from orias.tools.labels import code_sections

    file = ElfFile(image)
    style = Style(hex_words=True)
    listings: list[tuple[str, list[str]]] = []
    for section in code_sections(file):
        name = section.name.removeprefix(".text.")
        if not function or name == function:
            listings.append((name, disassemble_raw(bytes(section.data), "SM" + target[3:], 0, style).splitlines()))
    if by_name:
        listings.sort()
    rows = [line for _, lines in listings for line in lines[2:]]
    width = max((len(line.rpartition(_WORD)[0].rstrip()) for line in rows), default=0) + 2
    out = f"\n\tcode for {target}\n" + ("" if function else f"\t.target\t{target}\n\n")
    for name, lines in listings:
        head = [x.replace(_ACCELERATORS, "") for x in lines[:2]] if function else [header_flags(file)]
        code = [_aligned(line, width) for line in lines[2:]]
        out += "\n".join([f"\t\tFunction : {name}", *head, *code, "\t\t..........\n\n\n"])
    return out


def _aligned(line: str, width: int) -> str:
    """A line whose instruction word, a comment at its end, starts in a column."""
    text, word, rest = line.rpartition(_WORD)
    return f"{text.rstrip():<{width}}{word}{rest}"
