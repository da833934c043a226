"""Findings of many campaigns, grouped by what caused them."""
