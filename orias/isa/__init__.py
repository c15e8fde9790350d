"""The SASS instruction set: operands, operations, the instruction table, encode, decode and text."""
