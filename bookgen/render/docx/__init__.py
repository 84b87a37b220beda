"""The DOCX writer. python-docx makes the package; the body is written directly as XML."""
