"""Makes sample text without a model: outlines and prose put together from lists of phrases.

The same brief (a request as fields) always gets the same text.
"""
