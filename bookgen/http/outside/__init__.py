"""Endpoints outside the API: pictures, health checks and metrics."""
