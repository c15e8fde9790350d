"""Tools for cubins: disassembler, assembler, validation, random tests."""
