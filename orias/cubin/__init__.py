"""The cubin file: ELF writer and reader, attributes, relocations, symbols, debug sections."""
