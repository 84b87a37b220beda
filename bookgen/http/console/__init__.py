"""The web page for people who use the service in a browser."""
