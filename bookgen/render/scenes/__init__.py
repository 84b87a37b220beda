"""Scenes for children's books, drawn by us: a place, a time of day, things of the story and its figures."""
