"""Compares two result files of a suite, test by test: the same tests with the code of two assemblers.

``python tools/clients/differences.py ONE.jsonl OTHER.jsonl`` prints the counts of the tests that both files have, and each
test whose state differs, with what was said of it.  The files are those of ``pytests.py``, ``unittests.py`` and
``cuda_programs.py``; where a test has several lines, the last one counts.  The exit code is 1 if something differs.
"""

import json
import sys
from collections import Counter
from pathlib import Path


def last_lines(path):
    """The last line of each test or program of a file."""
    lines = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    return {v.get("test") or v["program"]: v for v in lines}


def main():
    one, other = map(last_lines, sys.argv[1:3])
    both = [name for name in one if name in other]
    print(f"{len(both)} in both, {len(one) - len(both)} only in the first, {len(other) - len(both)} only in the second")
    for path, lines in zip(sys.argv[1:3], (one, other), strict=True):
        print(f"{path}: {dict(Counter(lines[name]['state'] for name in both))}")
    differ = [name for name in both if one[name]["state"] != other[name]["state"]]
    print(f"{len(differ)} differ")
    for name in differ:
        for v in (one[name], other[name]):
            print(f"{name}: {v['state']}: {v.get('why', '')[-300:]}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
