"""Models in the words of PyTorch."""
