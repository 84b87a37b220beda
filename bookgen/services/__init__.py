"""Everything an author can do with a book besides generating it: editing, artwork, proofreading and exports."""
