"""The EPUB 3.3 writer. EbookLib makes the package; the pages are written here."""
