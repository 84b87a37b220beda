"""The PDF writer: our own layout, written with reportlab's object model."""
