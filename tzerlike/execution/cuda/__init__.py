"""CUDA without a GPU: finding a compiler for the source that TVM generates, and asking it.

Nothing here starts CUDA or needs TVM.
"""
