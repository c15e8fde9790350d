"""Checks the pipeline: every phase occurs once, has a function, and is in an order that satisfies the constraints."""

from collections.abc import Container

from orias.pipeline.phases import Phase


def check_order(phases: tuple[Phase, ...], order: tuple[tuple[str, str, str], ...], keys: Container[str]) -> None:
    """Raise ValueError, naming the first fault, if a table of phases is wrong or breaks its constraints.

    `order`: (a, b, why) for phase a before phase b; `keys`: keys of the existing functions.
    """
    place: dict[str, int] = {}
    for n, phase in enumerate(phases):
        if phase.name in place:
            raise ValueError(f"phase {phase.name} stands in the pipeline twice")
        if phase.key not in keys:
            raise ValueError(f"phase {phase.name} has the key '{phase.key}', which is no function")
        place[phase.name] = n
    for a, b, why in order:
        for name in (a, b):
            if name not in place:
                raise ValueError(f"the constraint '{a} before {b}' names {name}, which is not in the pipeline")
        if place[a] >= place[b]:
            raise ValueError(f"phase {a} must run before {b}: {why}")
