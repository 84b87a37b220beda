"""What each chapter says about the story, as facts with quotes, and which facts contradict each other."""
