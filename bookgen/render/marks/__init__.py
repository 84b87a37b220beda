"""Machine-readable marks of origin: how each file format says that a model made its content, and how to read them."""
