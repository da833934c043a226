"""Elementwise operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

erf = np.vectorize(math.erf, otypes=[np.float64])


def rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def gelu(x: Array) -> Array:
    return np.asarray(x * (1 + erf(x / math.sqrt(2))) / 2)


def gelu_tanh(x: Array) -> Array:
    return np.multiply(x, (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)


def selu(x: Array) -> Array:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return np.multiply(scale, np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))


def silu(x: Array) -> Array:
    return x * sigmoid(x)


def softplus(x: Array, beta: float, threshold: float) -> Array:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def leaky_relu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * x)


def multiply_add(x: Array, y: Array, z: Array) -> Array:
    return x * y + z


def clip(x: Array, min: float, max: float) -> Array:
    """ONNX's: where the bounds cross, the upper one holds."""
    return np.minimum(np.maximum(x, min), max)


def as_type(x: Array, dtype: str) -> Array:
    """Floats lose what is behind the point; the caller makes the dtype."""
    if x.dtype.kind == "f" and "float" not in dtype and dtype != "bool":
        return np.trunc(x)
    return x != 0 if dtype == "bool" else x
