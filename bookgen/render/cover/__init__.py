"""Covers: composed and drawn by bookgen, with lettering set by the same typesetter as the book's pages."""
