"""Decides what accounts may use and who pays for it: plans, quotas, credits, cost caps and payments."""
