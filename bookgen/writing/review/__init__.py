"""One reading of a written book by an editor, and the smallest revision that answers its findings."""
