"""What the cubin says of a module's variables beside their data: managed ones, and the initial fields of samplers."""

from orias.lower.frame.program import Program
from orias.lower.module import lower_module
from orias.ptx.parser import parse
from orias.target.profile import target


def lowered(text: str) -> Program:
    head = ".version 8.0\n.target sm_75, texmode_independent\n.address_size 64\n"
    return lower_module(parse(head + text), target("sm_75"))


def test_only_variables_with_the_attribute_are_managed() -> None:
    text = ".visible .global .attribute(.managed) .align 4 .u32 both;\n.visible .global .align 4 .u32 device;\n"
    assert {v.name: v.managed for v in lowered(text).variables} == {"both": True, "device": False}


def test_only_samplers_have_initial_fields_of_samplers() -> None:
    text = ".global .texref t;\n.global .samplerref s = { filter_mode = linear };\n.global .surfref u;\n"
    program = lowered(text)
    assert sorted(v.space for v in program.variables) == ["samplerref", "surfref", "texref"]
    assert [name for name, _ in program.samplers] == ["s"]
