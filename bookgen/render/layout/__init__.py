"""The layout: words to lines, lines to pages. Knows no file format."""
