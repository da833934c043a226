"""Findings of many campaigns, grouped by cause."""
