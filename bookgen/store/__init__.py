"""The database layer: each module has the SQL statements for one kind of data, such as books or plans."""
