"""The names of the program and of its sub-commands."""

TOOLS = (
    "dis", "as", "run", "perf", "tune", "explore", "reference", "check", "audit", "verify", "bisect", "reduce", "fuzz", "opt", "exec", "serve",
    "toolkit", "completion", "batch",
)  # fmt: skip


def program_name(path: str) -> str:
    """The name at the start of messages: the base name of the program, ``orias`` for ``python -m orias``."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "orias" if name in ("__main__.py", "", "-c") else name.removesuffix(".exe")
