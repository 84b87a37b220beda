"""The demo book, a finished book that everyone can read without an account."""
