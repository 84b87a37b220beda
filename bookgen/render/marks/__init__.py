"""Machine-readable marks of origin: how each format says that a model made its content, and how it is read back."""
