"""The PDF writer: reportlab's object model under our own layout."""
