"""Large JSON responses, sent in pieces and cached."""
