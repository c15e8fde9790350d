"""The table of targets itself: every line has a meaning, and no fact of it stands anywhere else in the product."""

import ast
from functools import cache
from pathlib import Path

import pytest

from orias.cli import option_table
from orias.isa.rawtable import CLASSES
from orias.ptx import targets as ptx_targets
from orias.target import abi, driver, features, register_steps, vocabulary
from orias.target.profile import TARGETS
from orias.target.table import columns

PRODUCT = Path(__file__).parents[2] / "orias"
FILES = [p for p in sorted(PRODUCT.rglob("*.py")) if p.parent.name != "target"]


@cache
def trees() -> dict[Path, ast.Module]:
    """The product's files, read once and only where a test runs that asks for them."""
    return {p: ast.parse(p.read_text()) for p in FILES}


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a tree that the tests look at."""
    return [n for n in ast.walk(tree) if isinstance(n, (ast.Call, ast.Compare, ast.Constant, ast.Expr, ast.Tuple))]


def test_every_line_is_explained() -> None:
    for sm, column in columns().items():
        assert list(column["number"]) == list(dict.fromkeys(column["number"]))
        assert set(column["number"]) == set(vocabulary.NUMBERS), sm
        assert set(column["word"]) == set(vocabulary.WORDS), sm
        assert set(column["spelling"]) == set(vocabulary.SPELLINGS), sm
        assert tuple(column["feature"]) == features.NAMES, sm
        assert set(column["feature"].values()) <= {"y", "n", "?"}
        assert set(column["product"].values()) <= {"y", "n", "?"}
    for k, name in enumerate(features.NAMES):
        assert getattr(features, name.upper()) == k


def test_compiled_targets_are_known() -> None:
    """Nothing may be missing from the rows of targets that programs are compiled for."""
    for name, t in TARGETS.items():
        column = columns()[t.sm]
        for section, facts in column.items():
            assert "?" not in facts.values(), (name, section)
    assert set(TARGETS) == {t for t in option_table.allowed("gpu-name") if t.startswith("sm_")}
    assert {t.removeprefix("sm_") for t in TARGETS} <= set(ptx_targets.FIRST_VERSION)
    assert [tuple(map(int, v.split("."))) for v in option_table.ptx_versions("13.5")] == sorted(ptx_targets.VERSIONS)


def test_classes() -> None:
    """Decoder classes are the instruction tables; a class is named after an SM that belongs to it."""
    assert {f"sm_{c['number']['decoder_class']}" for c in columns().values()} == set(CLASSES)
    for column in columns().values():
        for kind in ("decoder_class", "latency_class"):
            name = column["number"][kind]
            assert columns()[int(name)]["number"][kind] == name


def test_words_do_not_overlap() -> None:
    wide = {"ntid": 12, "nctaid": 12, "cluster_size": 12, "cluster_reciprocal": 12, "cluster_count": 12, "texture_headers": 24,
            "environment_0": 64, "environment_16": 64}  # fmt: skip
    double = ("descriptor", "local_window", "shared_window", "bank_window", "parameter_window", "parameter_window_end",
              "constant_window", "grid_id", "graph_exec", "stack_guard", "checked_tables")  # fmt: skip
    for name, t in TARGETS.items():
        taken: dict[int, str] = {}
        for word in vocabulary.WORDS:
            if t.has_word(word) and word not in ("parameters", "large_parameters"):
                for at in range(t.word_base(word), t.word_base(word) + wide.get(word, 8 if word in double else 4), 4):
                    assert at not in taken or "reserved" in word + taken[at], (name, word, taken[at])
                    behind = at >= t.word("parameters") + abi.SMALL_PARAMETERS and at < t.word("large_parameters")
                    assert at < t.word("parameters") or behind, (name, word)
                    taken[at] = word


def test_no_comparison_of_sm_numbers() -> None:
    """Nobody compares the number of an SM: code asks for features."""
    for path, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.Compare) and any(
                (isinstance(n, ast.Name) and n.id == "sm") or (isinstance(n, ast.Attribute) and n.attr == "sm")
                for n in ast.walk(node)
            ):
                sides = [ast.unparse(x) for x in (node.left, *node.comparators)]
                bad = [s for s in sides if s == "sm" or s.endswith(".sm")]
                assert not bad or (isinstance(node.ops[0], ast.In | ast.NotIn) and not sides[1].startswith("(")), (
                    f"{path}:{node.lineno}: {ast.unparse(node)}"
                )


@cache
def literals(kind: type) -> dict[object, list[str]]:
    found: dict[object, list[str]] = {}
    for path, tree in trees().items():
        documentation = {id(n.value) for n in nodes(tree) if isinstance(n, ast.Expr)}
        for node in nodes(tree):
            if isinstance(node, ast.Constant) and type(node.value) is kind and id(node) not in documentation:
                found.setdefault(node.value, []).append(f"{path.relative_to(PRODUCT)}:{node.lineno}")
    return found


def test_no_place_in_bank_0_outside_the_table() -> None:
    """Constant bank 0 is addressed by names of words; offsets that are long enough to be sure of stand nowhere as numbers."""
    for path, tree in trees().items():
        for node in nodes(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "const"
                and len(node.args) == 2
            ):
                bank, offset = node.args
                assert not (
                    isinstance(bank, ast.Constant)
                    and bank.value == 0
                    and isinstance(offset, ast.Constant)
                    and offset.value
                ), f"{path}:{node.lineno}"
    numbers = literals(int)
    rare = {
        0x118,
        0x1A80,
        0x358,
        0x37C,
        0x2F8,
        0x198,
        0x1A0,
        0x348,
        0x10C,
        0x13C,
        0x15C,
        0x188,
        0x2AC,
        0x2BC,
        0x2CC,
        0x36C,
    }
    assert not {hex(n): numbers[n] for n in rare if n in numbers}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ["LDS.U", "IMNMX", "NANOSLEEP.WARP", ".SYS", ".DEFER_BLOCKING", "I2FP.F32.S32"])
def test_no_spelling_outside_the_table(name: str) -> None:
    """Lowering names nothing that the targets spell in more than one way."""
    found = {s: w for s, w in literals(str).items() if s == name or str(s).startswith(name + ".")}
    assert not [w for places in found.values() for w in places if w.startswith("lower/")]


def test_no_fact_of_the_driver_or_the_abi_outside() -> None:
    texts = literals(str)
    for function in driver.CALLABLE - {"malloc", "free", "vprintf"}:
        assert function not in texts, texts[function]
    assert not [w for s, w in texts.items() if str(s).startswith(driver.PREFIX)]
    assert texts["vprintf"] == [w for w in texts["vprintf"] if w.startswith("sim/core/syscalls.py")]
    numbers = literals(int)
    assert hex(abi.KEPT_B) == "0xfc0" and abi.KEPT_B not in numbers
    assert not numbers.get(abi.KEPT_R) and not numbers.get(abi.SCRATCH_R)


@pytest.mark.parametrize("name, lowest", [("sm_75", 64), ("sm_80", 32), ("sm_89", 40), ("sm_90a", 32), ("sm_120a", 40)])
def test_the_lowest_step_of_registers_is_that_of_a_full_sm(name: str, lowest: int) -> None:
    target = TARGETS[name]
    assert register_steps.steps(target)[0] == register_steps.lowest_step(target) == lowest
    assert register_steps.step_of(target, 1) == register_steps.step_of(target, lowest) == lowest
    assert register_steps.step_of(target, lowest + 1) > lowest
    warps = target.number("threads_per_sm") // 32
    assert register_steps.warps_with(lowest) >= warps > register_steps.warps_with(lowest + 1)


def test_register_steps() -> None:
    assert register_steps.STEPS == (32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255)
    for path, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.Tuple):
                values = [n.value for n in node.elts if isinstance(n, ast.Constant)]
                assert not {96, 128, 168, 255} <= {v for v in values if isinstance(v, int)}, f"{path}:{node.lineno}"
