"""``orias batch``: compiles many files, over processes or a cluster, and goes on where it was stopped."""

import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from orias.cli.drive import write_output
from orias.cli.option_table import allowed
from orias.cli.tool_arguments import Arguments, scan
from orias.cli.toolerror import ToolError
from orias.progress import Bar

if TYPE_CHECKING:
    from orias.batch.many import Outcome, Source

USAGE: Final = """\
usage: orias batch --out DIR [-arch sm_NN] [options] FILE.ptx|DIR ...

Compiles every file, and every *.ptx below a folder, each to a cubin of the same name in --out.  A file that is refused, kills its
process or runs past its time costs no other one.  The exit code is 1 if a file has no cubin.

  -arch sm_NN, -O N        target (default: the one that each file names), and optimisation level (default 3)
  --out DIR                folder of the cubins; created if needed
  --jobs N                 processes (default: one a CPU)
  --timeout S              seconds for one file
  --scheduler ADDRESS      compile on the Dask cluster of this scheduler instead (needs the extra "cluster")
  --again                  compile all; without it, files whose cubin is there and made of the same text by the same code are left
  --json                   the outcomes as JSON on standard output
  --quiet                  no progress bar and no summary
"""
_JOURNAL: Final = "batch.jsonl"
"""A line of JSON for each finished file, in --out."""
_VALUES: Final = ("-arch", "-O", "--out", "--jobs", "--timeout", "--scheduler")
_FLAGS: Final = ("--again", "--json", "--quiet", "-h", "--help")


def batch_command(arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code.  Raises ToolError for wrong usage."""
    levels = [f"-O={a[2:]}" if a[:2] == "-O" and a[2:].isdecimal() else a for a in arguments]
    found = scan(levels, _FLAGS, _VALUES, {"--gpu-name": "-arch", "--opt-level": "-O"})
    if found.flags & {"-h", "--help"}:
        sys.stdout.write(USAGE)
        return 0
    if not found.files:
        raise ToolError(USAGE.splitlines()[0])
    if "--out" not in found.values:
        raise ToolError(f"the option --out is missing; {USAGE.splitlines()[0]}")
    return _Batch(found).run()


def _number(found: Arguments, name: str, default: str) -> float:
    text = found.last(name, default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ToolError(f"option {name} needs a number that is not negative, not '{text}'")
    return value


class _Batch:
    """One run: files, their cubins, and the journal."""

    def __init__(self, found: Arguments) -> None:
        self.folder: Final[Path] = Path(found.last("--out"))
        self.arch: Final[str] = found.last("-arch", "")
        self.level: Final[int] = int(_number(found, "-O", "3"))
        if self.arch and self.arch not in allowed("gpu-name"):
            raise ToolError(f"Value '{self.arch}' is not defined for option '-arch'")
        if self.level > 3:
            raise ToolError(f"Value '{found.last('-O')}' is not defined for option '-O'")
        self.jobs: Final[int] = int(_number(found, "--jobs", "0"))
        self.timeout: Final[float] = _number(found, "--timeout", "0")
        self.scheduler: Final[str] = found.last("--scheduler")
        self.json: Final[bool] = "--json" in found.flags
        self.quiet: Final[bool] = "--quiet" in found.flags
        if self.scheduler and self.timeout:
            raise ToolError("--timeout needs processes of this machine: leave --scheduler out")
        self.targets: Final[dict[str, Path]] = _targets(found.files, self.folder)
        self.records: Final[dict[str, dict[str, object]]] = {} if "--again" in found.flags else self._journal()
        self.keys: Final[dict[str, str]] = {}

    def _journal(self) -> dict[str, dict[str, object]]:
        """The last record of each file; a line that a kill cut off is none."""
        out: dict[str, dict[str, object]] = {}
        try:
            lines = (self.folder / _JOURNAL).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return out
        for line in lines:
            try:
                record = json.loads(line)
                out[record["file"]] = record
            except (ValueError, KeyError, TypeError):
                continue
        return out

    def run(self) -> int:
        from orias.batch.many import compile_many
        from orias.identity import identity
        from orias.spread import NoCluster, cluster

        self.folder.mkdir(parents=True, exist_ok=True)
        settings = f"{identity()} {self.arch} {self.level}"
        todo: list[str] = []
        for name, target in self.targets.items():
            try:
                data = Path(name).read_bytes()
            except OSError:
                data = b""
            self.keys[name] = blake2b(settings.encode() + b"\0" + data, digest_size=16).hexdigest()
            record = self.records.get(name, {})
            if not (record.get("ok") and record.get("key") == self.keys[name] and target.is_file()):
                todo.append(name)
        bar = Bar(self.quiet)
        with (self.folder / _JOURNAL).open("a", encoding="utf-8") as journal:

            def progress(done: int, total: int, outcome: "Outcome") -> None:
                self._finish(outcome, journal, bar)
                bar(done, total, bar.rest(done, total))

            if self.scheduler:
                texts = [_source(name) for name in todo]
                try:
                    with cluster(self.scheduler) as executor:
                        compile_many(texts, arch=self.arch, opt_level=self.level, executor=executor, progress=progress)
                except NoCluster as e:
                    raise ToolError(str(e)) from None
            elif todo:
                compile_many(
                    [Path(name) for name in todo],
                    arch=self.arch,
                    opt_level=self.level,
                    jobs=self.jobs or None,
                    timeout=self.timeout,
                    progress=progress,
                )
        return self._report(len(self.targets) - len(todo))

    def _finish(self, outcome: "Outcome", journal: TextIO, bar: Bar) -> None:
        """Write the cubin and the line of the journal; say what is wrong."""
        error = ""
        if outcome.cubin is not None:
            target = self.targets[outcome.name]
            target.parent.mkdir(parents=True, exist_ok=True)
            write_output(str(target), outcome.cubin.data)
        else:
            e = outcome.error
            error = (e.strerror if isinstance(e, OSError) else "") or str(e) or type(e).__name__
        record = {
            "file": outcome.name,
            "ok": outcome.ok,
            "seconds": round(outcome.seconds, 3),
            "key": self.keys[outcome.name],
            "error": error,
        }
        self.records[outcome.name] = record
        journal.write(json.dumps(record) + "\n")
        journal.flush()
        if error:
            bar.clear()
            sys.stderr.write(f"{outcome.name}: {error.strip()}\n")

    def _report(self, kept: int) -> int:
        bad = [name for name in self.targets if not self.records[name]["ok"]]
        if self.json:
            shown = [{k: v for k, v in self.records[name].items() if k != "key"} for name in self.targets]
            sys.stdout.write(json.dumps(shown, indent=1) + "\n")
        elif not self.quiet:
            good = len(self.targets) - len(bad)
            sys.stdout.write(f"{good} of {len(self.targets)} have a cubin in {self.folder} ({kept} from before)\n")
        return 1 if bad else 0


def _targets(arguments: list[str], folder: Path) -> dict[str, Path]:
    """File -> the cubin to make; ToolError if two files would make the same."""
    out: dict[str, Path] = {}
    makers: dict[Path, str] = {}
    for argument in arguments:
        path = Path(argument)
        below = sorted(path.rglob("*.ptx")) if path.is_dir() else [path]
        if not below:
            raise ToolError(f"{argument}: there is no *.ptx file in this folder")
        for file in below:
            relative = file.relative_to(path) if path.is_dir() else Path(file.name)
            target = folder / relative.with_suffix(".cubin")
            other = makers.setdefault(target, str(file))
            if other != str(file):
                raise ToolError(f"{other} and {file} would both make {target}; compile them with different --out")
            out[str(file)] = target
    return out


def _source(name: str) -> "Source":
    """The text of a file, for a machine that may not have it; its path if it cannot be read: the worker then says so."""
    try:
        return name, Path(name).read_bytes()
    except OSError:
        return Path(name)
