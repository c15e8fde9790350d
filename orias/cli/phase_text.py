"""Tables about phases for the terminal."""

from orias.pipeline.documented import documented_phases
from orias.pipeline.phases import PHASES


def phase_list() -> str:
    """The phases of Orias with their levels and descriptions."""
    rows = [("phase", "levels", ""), *((p.name, p.levels, p.about) for p in PHASES)]
    return "".join(f"{name:<34}{levels:<8}{about}".rstrip() + "\n" for name, levels, about in rows)


def documented_list() -> str:
    """All documented phases of ptxas, with their counterparts in Orias."""
    rows = [("phase", "gate", "in Orias", ""), *documented_phases()]
    return "".join(f"{name:<42}{gate:<14}{state:<11}{text}".rstrip() + "\n" for name, gate, state, text in rows)


def phase_times(phases: list[tuple[str, int, float]]) -> str:
    """Name, number of functions and seconds of each phase as a table with a sum."""
    total = sum(seconds for _, _, seconds in phases)
    out = f"{'phase':<34}{'functions':>9}{'ms':>11}{'%':>7}\n"
    for name, count, seconds in phases:
        share = 100 * seconds / total if total else 0.0
        out += f"{name:<34}{count:>9}{1000 * seconds:>11.3f}{share:>7.1f}\n"
    return out + f"{'all phases':<41}{1000 * total:>11.3f}{100.0:>7.1f}\n"
