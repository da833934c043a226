"""Forked processes: which starts which, what they exchange, what they may do, and how they end."""
