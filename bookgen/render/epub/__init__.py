"""The EPUB 3.3 writer: EbookLib makes the package, every page is written here byte for byte."""
