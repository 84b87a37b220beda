"""Proofreads a book: corrections from rules, a grammar checker and a model, for the author to accept or dismiss."""
