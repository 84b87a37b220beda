"""The commands of the program `bookgen`: the command line, and a module for each command."""
