"""What each chapter says about the story, as facts with quotes, and where two of them cannot both be true."""
