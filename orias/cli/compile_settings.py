"""What a command line sets: compile options, and messages about the line."""

from orias.options import Options


class Settings:
    """Compile options, and messages about the command line.

    ``refused``: why the command is refused once its inputs are checked, "" if it is not; ``profile_option``:
    the first keyword of --profile-options; ``parse_only``: the target if it is a ``compute_`` or ``lto_`` one;
    ``messages``: (severity, text) to print at once; ``late``: warnings to print after the input has passed the front
    end. ``statistics``: parts of ``--compiler-stats``, to standard error or added to ``statistics_file``; ``trace``:
    the file of ``--fdevice-time-trace``, with the event before the compile and the process number that it shows (0: its
    own).
    """

    __slots__ = (
        "host_file", "late", "legacy_barriers", "link_info", "messages", "options", "output", "parse_only", "profile_option", "refused", "remark_kinds", "say_no_capsules", "says_stacks", "show_phases", "statistics", "statistics_file", "tensor_access", "trace",
        "trace_after", "trace_pid",
    )  # fmt: skip

    def __init__(self, options: Options, parse_only: str, output: str) -> None:
        self.options: Options = options
        self.parse_only: str = parse_only
        self.output: str = output
        self.messages: list[tuple[str, str]] = []
        self.late: list[str] = []
        self.refused: str = ""
        self.profile_option: str | None = None
        self.host_file: str | None = None
        """The file of --nv-host, whose bytes go into the cubin."""
        self.link_info: str = ""
        """The file of --link-info."""
        self.remark_kinds: list[str] = []
        """Kinds of remarks to print; empty: none."""
        self.say_no_capsules: bool = False
        """With -v: say why there are no capsules (where the option stands)."""
        self.says_stacks: bool = True
        """Warn of kernels whose need of stack is unknown."""
        self.show_phases: bool = False
        self.tensor_access: bool = False
        """An option on the checks of tensor memory accesses is given."""
        self.legacy_barriers: bool = False
        """An option on barriers of whole warps is given."""
        self.statistics: list[str] = []
        self.statistics_file: str = ""
        self.trace: str = ""
        self.trace_after: str = ""
        self.trace_pid: int = 0

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.messages.append(("warning", text))

    def ignored(self, kept: str, name: str) -> None:
        """Add the warning that an option is ignored because of another one."""
        self.warn(f"Conflicting options '{kept}' and '{name}' specified, ignoring '{name}' option")
