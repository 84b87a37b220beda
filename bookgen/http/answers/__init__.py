"""Large answers: sent in pieces, and kept while they are true."""
