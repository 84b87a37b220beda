"""The composition root: builds every object from the settings, opens them in order, closes them in reverse."""
