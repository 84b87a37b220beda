"""Turns a book into files: lays out its pages, writes PDF, EPUB and Word documents, and draws covers."""
