"""What a search tried, as text and as JSON, which can be read again."""

import json
from typing import Any

from orias.knobs.knob_settings import value_text
from orias.tuning.tune_search import Tuned
from orias.tuning.tune_trial import Trial

FORMAT = 1


def table(result: Tuned, most: int = 20) -> str:
    """The default and the best trials of a kernel, and how many others there were."""
    d = result.default
    out = f"{result.kernel}: {len(result.trials)} trials, best {result.ratio:.3f} of the default's time\n"
    if not d.good:
        return out + f"  the untuned kernel has no time: {d.why}\n"
    code = not d.full_far
    unit = "warp" if code else "block"
    out += f"  {'time':>6} {'one near':>9} {'one far':>9} {'full near':>9} {'full far':>9} {'regs':>5} {'insts':>6}  knobs   (cycles; full SM: a {unit})\n"
    good = sorted((t for t in result.trials if t.good), key=lambda t: t.time)
    shown = [d, *[t for t in good if t is not d and t.code != d.code][:most]]
    for t in shown:
        knobs = " ".join(f"{n}={value_text(v)}" for n, v in t.knobs.items()) or "(default)"
        mark = "*" if t is result.best else " "
        far = f"{t.full_far:9.0f}" if t.full_far else f"{'-':>9}"
        out += f"{mark} {t.time / d.time:6.3f} {t.one:9.0f} {t.one_far:9.0f} {t.full:9.0f} {far} {t.registers:5} {t.instructions:6}  {knobs}\n"
    same = sum(1 for t in good if t is not d and t.code == d.code)
    rest = len(good) - same - len(shown) + (1 if d in good else 0)
    parts = [f"{same} trials with the default's code"]
    if rest > 0:
        parts.append(f"{rest} more")
    for state, text in (("different", "with other results (not used)"), ("failed", "failed")):
        count = sum(1 for t in result.trials if t.state == state)
        if count:
            parts.append(f"{count} {text}")
    return out + "  " + ", ".join(parts) + "\n"


def table_json(results: list[Tuned], about: dict[str, Any]) -> str:
    """All trials; `about`: what they are trials of, which :func:`known_trials` compares."""
    kernels = [
        {
            "kernel": r.kernel, "objective": r.objective, "interrupted": r.interrupted, "ratio": r.ratio, "best": r.best.knobs,
            "trials": [t._asdict() for t in r.trials],
        }
        for r in results
    ]  # fmt: skip
    return json.dumps({"format": FORMAT, **about, "kernels": kernels}, indent=1) + "\n"


def known_trials(text: str, about: dict[str, Any], objective: str) -> dict[str, list[Trial]]:
    """The trials of a table by kernel, if it is about the same and had the same objective; else empty.

    Raises ValueError, KeyError, TypeError or AttributeError for a text that is no table.
    """
    data = json.loads(text)
    if data["format"] != FORMAT or any(data.get(k) != v for k, v in about.items()):
        return {}
    return {k["kernel"]: [Trial(**t) for t in k["trials"]] for k in data["kernels"] if k["objective"] == objective}
