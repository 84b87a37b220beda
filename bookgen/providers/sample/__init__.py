"""Sample text without a model: outlines and prose put together from phrase lists, the same for the same brief."""
