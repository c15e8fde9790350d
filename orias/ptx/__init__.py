"""PTX text to a typed module: lexer, parser, instruction table, checks, diagnostics."""
