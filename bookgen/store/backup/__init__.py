"""Makes and restores backups: one sealed file with the rows of a snapshot and the files of the data folder."""
