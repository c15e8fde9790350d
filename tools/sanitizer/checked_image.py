"""A module in the simulator whose launches all run under the sanitizer."""

from typing import Any

from orias.sim import Image, SimError
from orias.sim.checks.checker import Checker
from orias.sim.checks.findings import Finding
from orias.sim.core.sim_errors import Deadlock, PartOfWarp, StepLimit

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


class Failed(AssertionError):
    """A launch ended with an error, which is a finding."""


class CheckedImage(Image):
    """An image that collects findings in ``findings``; a launch that fails raises Failed."""

    def __init__(self, cubin: bytes, tools: tuple[str, ...] = TOOLS) -> None:
        super().__init__(cubin)
        self.tools = tools
        self.findings: list[Finding] = []

    def launch(self, name: str, *arguments: Any, **options: Any) -> Any:
        """As :meth:`Image.launch`, with the tools."""
        checker = Checker(self, name, self.tools)
        if "hazards" in self.tools:
            options["hazards"] = "stale"
        else:
            options["timing"] = checker.start
        try:
            result = super().launch(name, *arguments, **options)
        except SimError as e:
            tool = "synccheck" if isinstance(e, (Deadlock, PartOfWarp, StepLimit)) else "memcheck"
            self.findings.append(Finding(tool, type(e).__name__, name, str(e), []))
            raise Failed(str(e)) from None
        finally:
            self.findings += checker.findings
        self.findings += [Finding("hazards", v.rule, name, v.what(), []) for v in result.hazards]
        return result
