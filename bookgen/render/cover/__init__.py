"""Covers: composed and drawn here, lettered by the interior's own typesetter."""
