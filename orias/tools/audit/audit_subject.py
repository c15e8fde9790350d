"""What is audited: a PTX file with cubins, or an entry of Triton's cache."""

import json
import re
from pathlib import Path
from typing import Any, Final, final

from orias.cubin.cubin_error import CubinError
from orias.cubin.reader import Reader
from orias.tools.audit.compilers import release_of

_LEVEL: Final = re.compile(r"-O\s*([0-3])")


@final
class Binary:
    """A cubin: its name in reports, its bytes, and what its notes say of its making."""

    def __init__(self, name: str, data: bytes, release: str = "") -> None:
        """`release`: that of the ptxas that made it, if known.  Raises CubinError for what is no cubin."""
        self.name: Final[str] = name
        self.data: Final[bytes] = data
        r = Reader(data)
        self.arch: Final[str] = r.target
        self.kernels: Final[list[str]] = sorted(r.kernels)
        noted = r.elf.section(".note.nv.tkinfo") is not None
        self.tool: Final[str] = r.module.tool if noted else "ptxas" if release else ""
        self.release: Final[str] = release or (release_of(r.module.tool_version) if noted else "")
        m = _LEVEL.search(r.module.options)
        self.level: Final[int] = int(m[1]) if m else -1


@final
class Subject:
    """A PTX text, cubins of it, and what is known of its launch (``shared`` -1: nothing)."""

    def __init__(self, name: str, ptx: str) -> None:
        self.name: Final[str] = name
        self.ptx: Final[str] = ptx
        self.binaries: list[Binary] = []
        self.refused: list[str] = []
        """Names of files that cannot be loaded, each with the reason."""
        self.shared = -1

    def add(self, name: str, data: bytes, release: str = "") -> None:
        """Adds a cubin; one that cannot be read is noted in ``refused``."""
        try:
            self.binaries.append(Binary(name, data, release))
        except (CubinError, ValueError, KeyError) as e:
            self.refused.append(f"{name}: {e}")


def _metadata(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) and "shared" in data else {}


def _entry(ptx: Path, subject: Subject) -> None:
    """The metadata and the cubin that Triton has beside a PTX file."""
    known = _metadata(ptx.with_suffix(".json"))
    if known:
        subject.shared = int(known["shared"])
        cubin = ptx.with_suffix(".cubin")
        if cubin.exists() and not subject.binaries:
            subject.add(str(cubin), cubin.read_bytes())


def subjects(files: list[str]) -> list[Subject]:
    """The subjects of a command line: a PTX file and its cubins, or folders of Triton's cache (at any depth).

    Raises ValueError for a line that names none, OSError for a file that cannot be read.
    """
    ptx: list[Path] = []
    cubins: list[Path] = []
    for name in files:
        path = Path(name)
        if path.is_dir():
            found = sorted(path.rglob("*.ptx"))
            if not found:
                raise ValueError(f"{name} has no PTX file")
            ptx.extend(found)
        elif path.suffix == ".json" and _metadata(path):
            ptx.append(path.with_suffix(".ptx"))
        elif path.suffix == ".cubin":
            cubins.append(path)
        else:
            ptx.append(path)
    if not ptx:
        raise ValueError("no PTX file given")
    if cubins and len(ptx) > 1:
        raise ValueError("cubins belong to one PTX file")
    out: list[Subject] = []
    for path in ptx:
        s = Subject(str(path), path.read_text(encoding="latin-1"))
        for cubin in cubins:
            s.add(str(cubin), cubin.read_bytes())
        _entry(path, s)
        out.append(s)
    return out
