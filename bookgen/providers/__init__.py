"""Access to external services: text and image models, with pacing and prices; mail; Google sign-in."""
