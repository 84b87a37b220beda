"""What can be done with a book beside writing it: each module is one service to its author."""
