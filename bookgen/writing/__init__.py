"""How a book is written: prompts in, prose out. Knows no database and no HTTP."""
