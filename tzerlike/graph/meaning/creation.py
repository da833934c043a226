"""Tensors made from attributes alone; the caller applies the dtype."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def zeros(shape: tuple[int, ...], dtype: str) -> Array:
    return np.zeros(shape)


def ones(shape: tuple[int, ...], dtype: str) -> Array:
    return np.ones(shape)


def full(shape: tuple[int, ...], fill_value: float, dtype: str) -> Array:
    return np.full(shape, fill_value)


def zeros_like(x: Array) -> Array:
    return np.zeros(x.shape)


def ones_like(x: Array) -> Array:
    return np.ones(x.shape)


def full_like(x: Array, fill_value: float) -> Array:
    return np.full(x.shape, fill_value)


def arange(start: int, end: int, step: int, dtype: str) -> Array:
    return np.arange(start, end, step)


def eye(n: int, m: int, k: int, dtype: str) -> Array:
    return np.eye(n, m, k)


def eye_like(x: Array, k: int) -> Array:
    return np.eye(x.shape[0], x.shape[1], k)


def hamming_window(window_size: int, periodic: bool, alpha: float, beta: float, dtype: str) -> Array:
    """ONNX's HammingWindow, with its two coefficients as attributes."""
    steps = window_size if periodic else window_size - 1
    return np.asarray(alpha - beta * np.cos(2 * np.pi * np.arange(window_size) / steps))
