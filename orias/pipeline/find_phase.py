"""Finds phases by the names that users write: ignores case, matches ``*`` and ``?``, suggests similar names."""

from orias.diag import CompileError, Diagnostic
from orias.pipeline.phases import PHASES, Phase


def find_phase(name: str) -> Phase:
    """The phase of this name; raises CompileError with suggestions if there is none."""
    for phase in PHASES:
        if phase.name.lower() == name.lower():
            return phase
    raise CompileError([Diagnostic("fatal", _unknown(name))])


def find_phases(pattern: str) -> list[Phase]:
    """The phases that match a name or pattern, at least one; raises CompileError if there is none."""
    if "*" not in pattern and "?" not in pattern:
        return [find_phase(pattern)]
    from fnmatch import fnmatchcase

    found = [p for p in PHASES if fnmatchcase(p.name.lower(), pattern.lower())]
    if not found:
        raise CompileError([Diagnostic("fatal", f"No phase matches '{pattern}'; 'orias opt --list' names them")])
    return found


def _unknown(name: str) -> str:
    """The message for a name that matches no phase of the pipeline."""
    from difflib import get_close_matches

    from orias.pipeline.documented import documented_phases

    for phase in documented_phases():
        if phase.name.lower() == name.lower():
            return f"Phase '{phase.name}' does nothing in Orias: {phase.text}"
    lower = {p.name.lower(): p.name for p in PHASES}
    close = get_close_matches(name.lower(), list(lower), 3, 0.5)
    hint = f"did you mean {', '.join(lower[c] for c in close)}?" if close else "'orias opt --list' names all phases"
    return f"Unknown phase '{name}'; {hint}"
