"""Backups: one sealed file with the rows of a snapshot and the files of the data folder, and the way back."""
