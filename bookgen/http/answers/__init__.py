"""Large answers, sent in pieces and cached."""
