"""ptxas's messages on its hidden options (measured on 13.0.88)."""

from orias.cli.compile_settings import Settings
from orias.cli.parse import Command


def older_than(arch: str, number: int) -> bool:
    """True if a target name stands for an SM below a number."""
    return int("".join(ch for ch in arch if ch.isdecimal())) < number


def clones(c: Command) -> bool:
    """Whether --cloning is given and not ``no``: any other value is ``yes``."""
    return c.values.get("cloning", "no") != "no"


def unmet(c: Command) -> list[str]:
    """Warnings on options without the one that they belong to, or with one that makes them idle; neither -w nor -Werror touch these."""
    found = []
    for name, needs in (
        ("compiler-stats-file", "compiler-stats"),
        ("use-trace-pid", "fdevice-time-trace"),
        ("ftrace-phase-after", "fdevice-time-trace"),
    ):
        if c.has(name) and not c.has(needs):
            shown = "--use-trace-pid', '" if name == "use-trace-pid" else f"--{name}'"
            found.append(f"Option '{shown} requires option '--{needs}'; ignoring since latter is not specified")
    if c.has("nv-host") and (c.flag("compile-only") or c.flag("extensible-whole-program")):
        other = "--extensible-whole-program or --compile-only"
        found.append(f"Command line option '--nv-host' not supported for '{other}', will be ignored")
    return found


def options_before(c: Command, s: Settings, arch: str) -> None:
    """Messages that precede those on other options; `arch`: the target as given, such as ``lto_80``."""
    known = "100" in arch and not arch.startswith("lto_")
    if c.flag("sw4915215") and known and not arch.endswith("a"):
        s.messages.append(("error", f"Option 'sw4915215=true' not supported for gpu architecture '{arch}'"))
    elif c.has("sw4915215") and not known:
        s.messages.append(("error", f"Option 'sw4915215' not supported for gpu architecture '{arch}'"))


def reservation(c: Command, s: Settings, arch: str) -> None:
    """The message on a shared-memory option, before those on cache operations."""
    if c.has("disable-smem-reservation") and (older_than(arch, 90) or arch.startswith("lto_")):
        s.warn(f"Option 'disable-smem-reservation' not supported for gpu architecture '{arch}', will be ignored")


def hidden_options(c: Command, s: Settings, arch: str) -> None:
    """Messages between those on cache operations and those on limits."""
    if c.has("sw1729687"):
        s.warn(f"Conflicting options -arch={arch} and --sw1729687 specified, ignoring --sw1729687 option")
    if c.has("sw200428197") and arch.startswith("lto_"):
        s.warn(f"Conflicting options -arch={arch} and --sw200428197 specified, ignoring --sw200428197 option")
    if c.has("sw4575628") and older_than(arch, 90):
        s.warn(f"Command line option '--sw4575628' not supported for '{arch}', will be ignored")
    if c.has("sw200387803"):
        s.warn("'--sw200387803' is a deprecated option, It will be removed in future release and is not recommended")
    if c.flag("blocks-are-clusters") and (older_than(arch, 90) or arch.startswith("lto_")):
        s.warn(f"Command line option '--blocks-are-clusters' not supported for '{arch}', will be ignored")
    if c.flag("print-potentially-overlapping-membermasks") and arch != "sm_75":
        name = "--print-potentially-overlapping-membermasks"
        s.warn(f"Command line option '{name}' not supported for '{arch}', will be ignored")


def options_after(c: Command, s: Settings, arch: str) -> None:
    """Messages after those on all other options."""
    key, length = (c.values.get(name, "0") != "0" for name in ("okey", "ptx-length"))
    if key and not length:
        s.warn("'--ptx-length' option should be specified when '--okey' option is given")
    if length and not key:
        s.warn("'--ptx-length' option is ignored unless '--okey' option is specified")
    if c.has("sw200764156") and arch != "sm_90a":
        s.warn(f"Conflicting options -arch={arch} and --sw200764156 specified, ignoring --sw200764156 option")
    if c.flag("preserve-relocs") and not older_than(arch, 90):
        s.warn(f"'--preserve-relocs' option is not fully implemented for '{arch}' and may not work as expected")
