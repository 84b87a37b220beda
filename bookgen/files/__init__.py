"""Stores the files of books: in the database, in a folder or in a bucket."""
