"""The cubin file format: ELF writer and reader, attributes, relocations, symbols, debug sections."""
