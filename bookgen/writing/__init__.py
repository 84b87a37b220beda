"""How a book is written: prompts in, prose out. These modules use neither the database nor HTTP."""
