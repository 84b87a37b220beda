"""Machine-readable marks of origin: how each format declares that a model made its content, and how to read it."""
