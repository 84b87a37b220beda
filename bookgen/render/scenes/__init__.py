"""Drawn scenes for children's books: a place, a time of day, and things and figures from the story."""
