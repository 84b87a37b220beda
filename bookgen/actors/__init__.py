"""The writing of books while the service runs: an actor per book handles its commands and starts its model calls."""
