"""Planted contradictions, and what the rules find of them."""
