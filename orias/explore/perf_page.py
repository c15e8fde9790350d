"""The report of ``orias perf`` as a page."""

from typing import Any

from orias.explore.page_writer import page
from orias.perf.report_text import compared


def perf_page(reports: list[dict[str, Any]]) -> str:
    """The page of one report, or of two that are compared.  NeedsJinja without Jinja2."""
    names = ", ".join(dict.fromkeys(str(r["kernel"]) for r in reports))
    rows = compared(reports[0], reports[1]) if len(reports) > 1 else []
    return page("perf", names, {"reports": reports, "comparison": rows})
