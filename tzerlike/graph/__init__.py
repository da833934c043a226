"""Whole models: operators as data, models drawn from them, and what Relax makes of them."""
