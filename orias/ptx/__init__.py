"""The PTX front end, from text to a typed module: lexer, parser, instruction table, checks, diagnostics."""
