"""ptxas's messages on its hidden options (measured on 13.0.88)."""

from orias.cli.parse import Command, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.cli.settings import Settings


def older_than(arch: str, number: int) -> bool:
    """True if a target name stands for an SM below a number."""
    return int("".join(ch for ch in arch if ch.isdecimal())) < number


def hidden_options(c: Command, s: "Settings") -> None:
    """Messages about hidden options that are given; raises UsageError where ptxas stops at once."""
    arch = s.options.arch
    if c.has("fast-compile") and c.values.get("cloning") == "yes":
        raise UsageError("Conflicting options -cloning=yes and --fast-compile specified")
    if c.values.get("abi-compile", "yes") != "yes":
        s.messages.append(("error", f"Invalid value '{c.values['abi-compile']}' for option -abi."))
    for name in ("sw1729687", "sw200764156"):
        if c.has(name) and (name == "sw1729687" or arch != "sm_90a"):
            s.warn(f"Conflicting options -arch={arch} and --{name} specified, ignoring --{name} option")
    if c.flag("sw2614554") and c.has("split-compile"):
        s.warn("Conflicting options '--sw2614554' and '--split-compile' specified, ignoring '--split-compile' option")
    if c.has("sw4575628") and older_than(arch, 100):
        s.warn(f"Command line option '--sw4575628' not supported for '{arch}', will be ignored")
    if c.has("sw200387803"):
        s.warn("'--sw200387803' is a deprecated option, It will be removed in future release and is not recommended")
    if c.flag("blocks-are-clusters") and older_than(arch, 90):
        s.warn(f"Command line option '--blocks-are-clusters' not supported for '{arch}', will be ignored")
    if c.flag("preserve-relocs") and not older_than(arch, 90):
        s.warn(f"'--preserve-relocs' option is not fully implemented for '{arch}' and may not work as expected")
    if c.has("disable-smem-reservation") and older_than(arch, 90):
        s.warn(f"Option 'disable-smem-reservation' not supported for gpu architecture '{arch}', will be ignored")
    if c.number("ptx-length", 0) and not c.has("okey"):
        s.warn("'--ptx-length' option is ignored unless '--okey' option is specified")
    if c.flag("sw4915215"):
        value = "=true" if "100" in arch else ""
        s.messages.append(("error", f"Option 'sw4915215{value}' not supported for gpu architecture '{arch}'"))
    for name, needs in (
        ("compiler-stats-file", "compiler-stats"),
        ("ftrace-phase-after", "fdevice-time-trace"),
        ("use-trace-pid", "fdevice-time-trace"),
    ):
        if c.has(name) and not c.has(needs):
            shown = "--use-trace-pid', '" if name == "use-trace-pid" else f"--{name}'"
            s.warn(f"Option '{shown} requires option '--{needs}'; ignoring since latter is not specified")
