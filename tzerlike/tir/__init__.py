"""Tensor IR: programs as trees, their meaning, the constructs that they may contain, seeds, and reducers."""
