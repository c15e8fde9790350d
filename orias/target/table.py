"""Reads the table of targets (``data/targets.txt``): one column per SM, entries by section and name."""

import os
from typing import Final

_PATH: Final = os.path.join(os.path.dirname(__file__), "data", "targets.txt")

Column = dict[str, dict[str, str]]
"""Section -> name -> text of the entry."""


def columns() -> dict[int, Column]:
    """The columns of the table, by SM number."""
    with open(_PATH, encoding="utf-8") as f:
        lines = f.read().splitlines()
    sms: list[int] = []
    out: dict[int, Column] = {}
    section = ""
    for line in lines:
        words = line.split()
        if not words or line[0] == "#":
            continue
        if line[0] == "[":
            section = line[1:-1]
            for sm in sms:
                out[sm][section] = {}
        elif not section:
            sms = [int(w) for w in words[1:]]
            out = {sm: {} for sm in sms}
        elif section == "spelling":
            for k in range(1, len(words), 2):
                first, _, last = words[k].partition("-")
                value = words[k + 1] if words[k + 1] != '""' else ""
                for sm in sms[sms.index(int(first)) : sms.index(int(last or first)) + 1]:
                    out[sm][section][words[0]] = value
        else:
            for sm, value in zip(sms, words[1:], strict=True):
                out[sm][section][words[0]] = value
    return out
