"""The PostgreSQL server: finds it at the configured URL, or runs one that is embedded in the data folder."""
