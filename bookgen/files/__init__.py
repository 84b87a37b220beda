"""Where the files of books are kept: in the database, in a folder or in a bucket."""
