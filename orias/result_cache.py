"""The cache of finished compiles that ``ORIAS_CACHE_DIR`` switches on: the same input, options, code and tables, the same cubin.

An entry is named after a hash of everything that decides a compile, states that in full once more, and holds a digest of its
content; whatever does not fit is a miss.  Entries are written beside and renamed, so that any number of processes may write.  An
entry is data, never code.  Failed compiles are not kept.
"""

import hashlib
import json
import os
import time
from typing import Final

from orias.diag import Diagnostic
from orias.identity import identity
from orias.knobs.knob_settings import KnobSettings
from orias.options import Options
from orias.output.result import CompileResult, KernelInfo

Sources = list[tuple[str, str | bytes]]

_FORMAT: Final = "orias-cache-1"
_FOLDERS: Final = 16
"""Folders of the cache; each keeps its own part of the size limit, so that few files are looked at."""
_LIMIT_MIB: Final = 1024
"""Size of the cache without ``ORIAS_CACHE_MIB``."""
_KEPT: Final = 0.75
"""Share of its limit that a folder is cut down to."""
_STALE_SECONDS: Final = 3600
"""Age from which an unfinished file belongs to a process that died."""
_RESULT: Final = ("arch", "gmem", "no_capsule", "unknown_stacks")


def cache_folder(options: Options) -> str:
    """The folder of the cache; empty if there is none, or if a compile with these options does more than make a cubin."""
    folder = os.environ.get("ORIAS_CACHE_DIR", "")
    if not folder or options.watches or options.stop_after or options.jobserver:
        return ""
    return folder


def cache_key(sources: Sources, options: Options) -> str:
    """The hash of everything that decides the result."""
    h = hashlib.blake2b(digest_size=24)
    for part in (_FORMAT, identity(), *_settings(options)):
        _add(h, part.encode("utf-8", "surrogateescape"))
    for name, text in sources:
        _add(h, name.encode("utf-8", "surrogateescape"))
        _add(h, b"text" if isinstance(text, str) else b"bytes")
        _add(h, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return h.hexdigest()


def _add(h: "hashlib.blake2b", data: bytes) -> None:
    h.update(b"%d " % len(data))
    h.update(data)


def _settings(options: Options) -> list[str]:
    out = []
    for name in sorted(Options.__slots__):
        value = getattr(options, name)
        if isinstance(value, KnobSettings):
            value = [(s.kernel, s.line()) for s in value.settings]
        out.append(f"{name}={value!r}")
    return out


def load(folder: str, key: str, options: Options) -> CompileResult | None:
    """The result of an earlier compile; None if there is none.  Sets the options that the input decided."""
    start = time.perf_counter()
    path = _path(folder, key)
    try:
        with open(path, "rb") as f:
            head, _, data = f.read().partition(b"\n")
        stated, _, text = head.partition(b" ")
        if stated.decode("ascii") != _digest(key, text, data):
            return None
        about = json.loads(text)
        os.utime(path)
    except (OSError, ValueError):
        return None
    result = CompileResult(about["arch"], data)
    for name in _RESULT:
        setattr(result, name, about[name])
    result.cmem = {int(bank): size for bank, size in about["cmem"].items()}
    result.diagnostics = [Diagnostic(*d) for d in about["diagnostics"]]
    result.kernels = {k["name"]: _info(k) for k in about["kernels"]}
    result.functions = {name: _info(f) for name, f in about["functions"].items()}
    options.debug, options.opt_level = about["debug"], about["opt_level"]
    result.times = {"cache": time.perf_counter() - start}
    return result


def store(folder: str, key: str, options: Options, result: CompileResult) -> None:
    """Keep a result; what cannot be written is left."""
    about = {name: getattr(result, name) for name in _RESULT}
    about["cmem"] = result.cmem
    about["diagnostics"] = [d.row() for d in result.diagnostics]
    about["kernels"] = [_fields(k) for k in result.kernels.values()]
    about["functions"] = {name: _fields(f) for name, f in result.functions.items()}
    about["debug"], about["opt_level"] = options.debug, options.opt_level
    text = json.dumps(about).encode("ascii")
    path = _path(folder, key)
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "xb") as f:
            f.write(_digest(key, text, result.data).encode("ascii") + b" " + text + b"\n" + result.data)
        os.replace(temporary, path)
        _trim(os.path.dirname(path), _limit() // _FOLDERS)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _path(folder: str, key: str) -> str:
    return os.path.join(folder, key[0], key[1:])


def _digest(key: str, text: bytes, data: bytes) -> str:
    h = hashlib.blake2b(digest_size=24)
    for part in (key.encode("ascii"), text, data):
        _add(h, part)
    return h.hexdigest()


def _fields(info: KernelInfo) -> dict[str, object]:
    return {name: getattr(info, name) for name in KernelInfo.__slots__}


def _info(fields: dict[str, object]) -> KernelInfo:
    info = KernelInfo(str(fields["name"]))
    for name in KernelInfo.__slots__:
        setattr(info, name, fields[name])
    info.constant = {int(bank): size for bank, size in info.constant.items()}
    return info


def _limit() -> int:
    """The size limit of the whole cache in bytes."""
    said = os.environ.get("ORIAS_CACHE_MIB", "")
    return (int(said) if said.isdecimal() else _LIMIT_MIB) << 20


def _trim(folder: str, limit: int) -> None:
    """Remove the entries that were not used for longest, if a folder holds more than `limit` bytes."""
    found: list[tuple[int, int, str]] = []
    now = time.time_ns()
    with os.scandir(folder) as entries:
        for e in entries:
            about = e.stat()
            if not e.name.endswith(".tmp"):
                found.append((about.st_mtime_ns, about.st_size, e.path))
            elif now - about.st_mtime_ns > _STALE_SECONDS * 1_000_000_000:
                os.unlink(e.path)
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return
    for _, size, path in sorted(found):
        if total <= limit * _KEPT:
            break
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        total -= size
