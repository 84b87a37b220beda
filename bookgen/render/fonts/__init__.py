"""Fonts: which file sets which character, shaped words, and how wide they are."""
