"""Whole models: operators as data, models generated from them, and their translation to Relax."""
