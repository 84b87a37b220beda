"""The layout: words to lines, lines to pages. It is independent of any file format."""
