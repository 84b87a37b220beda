"""Planted contradictions, and how many of them the rules find."""
