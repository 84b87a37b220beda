"""The HTTP API: the routes, and for each kind of resource a module of handlers and a module of schemas."""
