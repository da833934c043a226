"""Tensor IR: programs as trees, what they mean, what they may hold, seeds, and ways to make them smaller."""
