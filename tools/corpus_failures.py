"""Lists the files of a corpus that do not compile, each with its first unsupported instruction, as a Markdown table.

python tools/corpus_failures.py > failures.md        (the corpus as in tests/corpus/test_corpus.py)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orias
from tests.corpus.test_corpus import FILES, ROOT, arch_of, needs_objects


def main() -> int:
    done = skipped = 0
    rows = []
    for path in FILES:
        text = path.read_text(errors="replace")
        arch = arch_of(text)
        if arch is None:
            skipped += 1
            continue
        try:
            orias.compile(text, arch=arch, compile_only=needs_objects(text))
            done += 1
        except orias.CompileError as e:
            first = next(d for d in e.diagnostics if d.severity in ("error", "fatal"))
            rows.append(f"| `{path.relative_to(ROOT)}` | {arch} | line {first.line}: {first.message} |")
    print(
        f"{done} of {done + len(rows)} files compile for their own target; {skipped} are for targets that are not supported yet.\n"
    )
    print("| file | target | first refusal |\n|---|---|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
