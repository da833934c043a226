"""What operators compute, in NumPy."""
