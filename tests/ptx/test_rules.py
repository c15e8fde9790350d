"""The notation of rules, and that every row of the front end asks for facts, words and instructions that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orias.ptx import forms_arith, forms_async, forms_matrix, forms_memory, headers, modifier_messages
from orias.ptx.ast import TYPE_WORDS
from orias.ptx.facts import _KINDS, opcode_facts
from orias.ptx.form_table import ALIASES, names
from orias.ptx.gates import Place
from orias.ptx.names import _SLOTS, FLAGS, NAMES, WORDS
from orias.ptx.opcode import is_shape
from orias.ptx.rules import SETS, Rule, Rules, apply, parse_rows

OLD = Place(70, 80, "sm_80")
MATRIX = {"begins", "class", "factor", "operand", "operations", "shaped", "typed"}
NUMBERS = {"isa", "sm", "width", "bits", "count", "operations"}


def results(text: str, words: tuple[str, ...] = (), **facts: str) -> list[str]:
    return apply(parse_rows(text), facts, list(words), OLD)


@pytest.mark.parametrize(
    ("condition", "facts", "holds"),
    [
        ("a", {"a": "x"}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": "x"}, False),
        ("a=x/y", {"a": "y"}, True),
        ("a=x/y", {}, False),
        ("a=-/y", {}, True),
        ("a!=x/y", {"a": "z"}, True),
        ("a!=x/y", {}, True),
        ("a!=-/x", {}, False),
        ("a=FP8", {"a": "e5m2"}, True),
        ("a=0..15", {"a": "15"}, True),
        ("a=0..15", {"a": "16"}, False),
        ("a!=-/0..15", {}, False),
        ("a!=-/0..15", {"a": "-1"}, True),
        ("a=1..", {"a": "99999999999"}, True),
        ("a!=-/*32", {"a": "48"}, True),
        ("a!=-/*32", {"a": "64"}, False),
        ("a !b", {"a": "x"}, True),
        ("a b", {"a": "x"}, False),
        ("b | a", {"a": "x"}, True),
        ("", {}, True),
    ],
)
def test_conditions(condition: str, facts: dict[str, str], holds: bool) -> None:
    assert Rule(f"{condition} -> yes").holds(facts) is holds
    assert apply([Rule(f"{condition} -> yes")], facts, [], OLD) == ["yes"] * holds


def test_chains() -> None:
    rows = "a -> 1\nelse b -> 2\nelse -> 3\nb -> 4\n"
    assert results(rows, a="x", b="x") == ["1", "4"]
    assert results(rows, b="x") == ["2", "4"]
    assert results(rows) == ["3"]
    assert results("a =>\n-> 1", a="x") == []
    assert results("a => 1\n-> 2", a="x") == ["1"]
    assert results("a -> 1\nclean b -> 2", a="x", b="x") == ["1"]
    assert results("a -> 1\nclean b -> 2", b="x") == ["2"]


def test_results() -> None:
    assert results("-> {n} has {evict.tail} && {none}.", n="ld", evict="L1::evict_first") == ["ld has evict_first", "."]
    assert results("each word!=b -> {word}", ("a", "b", "c")) == ["a", "c"]
    assert results("-> @F90 Fv6.0 : .{n}", n="x") == ["Feature '.x' requires .target sm_90 or higher"]
    assert results("-> @N100a", n="x") == ["Instruction 'x' not supported on .target 'sm_80'"]


def test_rows_without_an_arrow_are_refused() -> None:
    with pytest.raises(ValueError, match="arrow"):
        parse_rows("a b")


FILES = (forms_arith, forms_memory, forms_async, forms_matrix)
TABLES = [
    (f"{file.__name__}.{kind}", getattr(file, kind))
    for file in FILES
    for kind in ("INSTEAD", "GATES", "LAST", "MODIFIERS", "OPERANDS", "VALUES")
    if hasattr(file, kind)
]


def own_slots() -> Iterator[str]:
    for text in NAMES.values():
        for item in text.split():
            yield from item.partition("=")[2].split("|")


FACTS = (
    set(_SLOTS)
    | FLAGS
    | set(own_slots())
    | {"shape", "word", "t1", "t2", "t3", "t4", "last", "count"}
    | {f"{kind}{number}" for kind in "auvwx" for number in range(6)}
    | MATRIX
    | set(opcode_facts("ld", [], ("u32",), {}, Place(90, 100, "sm_100a")))
)
VALUES = WORDS | set(NAMES) | {"-", "pred", "pair", "other", "reg1"} | {f"reg{n}" for n in (8, 16, 32, 64, 128)}
VALUES |= set(_KINDS.values()) | {
    "yes",
    "no",
    "unknown",
    "fp6",
    "fp8",
    "f32.bf16",
    "sync_restrict",
    "symbol",
    "absolute",
    "address64",
    "address16",
}
HEADER = set(headers._NUMBERS) | headers._PLAIN
SPECIAL = {"space", "plain", "full", "slot", "elsewhere", "only", "approx"}


def unknown(text: str, facts: set[str]) -> list[str]:
    """What the rows ask for that does not exist."""
    found = []
    for rule in parse_rows(text):
        for term in (term for terms in rule.alternatives() for term in terms):
            key = term.key
            if not (key[1:] in WORDS or is_shape(key[1:]) if key[0] == "." else key in facts):
                found.append(key)
            for value in term.values:
                known = value in VALUES or is_shape(value) or key in NUMBERS or value in SETS or key in ("n", "slot")
                if not known and not (key[0] in "uv" and value.isdigit()):
                    found.append(f"{key}={value}")
        for result in rule.results:
            found += [k for k in re.findall(r"\{([^}]*)\}", result) if k.removesuffix(".tail") not in facts]
    return found


@pytest.mark.parametrize(("where", "table"), TABLES, ids=[name for name, _ in TABLES])
def test_rows_ask_for_what_exists(where: str, table: dict[str, str]) -> None:
    every = [*names(), *ALIASES]
    for block, text in table.items():
        for name in block.split():
            assert any(n == name or (name[-1] == "*" and n.startswith(name[:-1])) for n in every), name
        assert unknown(text, FACTS) == [], block
        for rule in parse_rows(text):
            wanted = [v for terms in rule.alternatives() for term in terms if term.key == "n" for v in term.values]
            assert set(wanted) <= set(every), block


def test_rows_of_words_and_headers_ask_for_what_exists() -> None:
    rules = [*parse_rows(modifier_messages._ILLEGAL + modifier_messages._MISSING), *headers._CONFLICTS]
    keys = {term.key for rule in rules for terms in rule.alternatives() for term in terms}
    assert keys <= FACTS | SPECIAL | {word[1:] for word in HEADER}
    words = {v for r in rules for terms in r.alternatives() for t in terms if t.key == "word" for v in t.values}
    assert words <= WORDS | {"-"}


def test_every_set_is_used_and_holds_known_values() -> None:
    root = Path(__file__).parents[2]
    names = [file.__name__.replace(".", "/") for file in (*FILES, modifier_messages)]
    source = "".join((root / f"{name}.py").read_text(encoding="utf-8") for name in names)
    for name, values in SETS.items():
        assert name not in WORDS | TYPE_WORDS, name
        found = values.split("/")
        assert len(found) > 1 and len(set(found)) == len(found), name
        assert all(v in VALUES or is_shape(v) or v.isdigit() for v in found), name
        assert re.search(rf"[=/]{name}\b", source), name


def test_rows_of_a_name_come_from_all_its_blocks() -> None:
    rules = Rules([{"a.b c": "-> 1"}, {"a.*": "-> 2", "c": "-> 3"}])
    assert [rule.results for rule in rules.of("a.b")] == [["1"], ["2"]]
    assert [rule.results for rule in rules.of("c")] == [["1"], ["3"]]
    assert rules.of("d") == []
