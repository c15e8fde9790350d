"""What people do with cubins: disassemble, assemble, verify."""
