"""What happens to every HTTP request around its handler: authentication, limits, parsing, errors and logs."""
