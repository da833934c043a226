"""Forked processes: who starts which, what goes between them, what they may do, and how they end."""
