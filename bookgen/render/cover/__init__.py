"""Covers: composed and drawn here, with lettering set by the same typesetter as the book's pages."""
