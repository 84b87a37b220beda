"""Fonts: choosing a file for each character, shaping words, and measuring them."""
