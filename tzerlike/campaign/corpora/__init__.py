"""Corpora that outlive their campaign: carried into the next one, merged, minimized."""
