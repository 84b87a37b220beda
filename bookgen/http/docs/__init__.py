"""The documentation that the service publishes: its OpenAPI document, a page to try the API, and guides."""
